// catalog.ts: the lists of one server together: first read, refresh, and what the tool list says about a single tool.
// lists.ts reads one list.

import type { Lru } from '../async/lru.ts'
import { atMost } from '../async/waits.ts'
import type { ListKind } from '../events.ts'
import type { Host } from '../host.ts'
import { CONNECT_LIMITS } from '../limits.ts'
import type { SkillEntry } from '../skills/index.ts'
import type { CatalogRecord, SideList } from './catalog-store.ts'
import {
  CachedList,
  type ListSpec,
  PROMPTS,
  type PromptDefinition,
  RESOURCES,
  type ResourceDefinition,
  SKILLS,
  TEMPLATES,
  type TemplateDefinition,
  TOOLS,
  type ToolDefinition,
} from './lists.ts'
import { type HeaderScan, paramHeaders, scanHeaders } from './param-headers.ts'
import { ChannelClosed, isSessionExpired } from './request-errors.ts'
import type { Json, ServerCapabilities } from './server-info.ts'
import type { Session } from './session.ts'

export interface CatalogOptions {
  readonly host: Host
  readonly recent: Lru<CachedList<unknown>>
  /** How long a page of a list may take now. */
  timeoutMs(): number
  /** The server forgot the session: a new one reads the lists again. */
  expired(session: Session): void
  listed(kind: ListKind, count: number): void
  warn(text: string): void
  /** A tool of the server is not offered, and why. */
  leftOut?(text: string): void
  /** Messages are posted over HTTP: in 2026-07-28 tools may then require headers besides their arguments. */
  readonly posts: boolean
}

interface KnownTool {
  readonly tool: ToolDefinition
  readonly headers: HeaderScan | undefined
}

export class Catalog {
  readonly tools: CachedList<ToolDefinition>
  readonly resources: CachedList<ResourceDefinition>
  readonly templates: CachedList<TemplateDefinition>
  readonly prompts: CachedList<PromptDefinition>
  /** Read only on demand. */
  readonly skills: CachedList<SkillEntry>
  readonly #options: CatalogOptions
  /** The session that the lists are read from. */
  #session: Session | undefined
  #byName = new Map<string, KnownTool>()
  #remembered: CatalogRecord | undefined
  /** Of the last session. */
  #capabilities: ServerCapabilities | undefined

  constructor(options: CatalogOptions) {
    this.#options = options
    this.tools = this.#list({ ...TOOLS, parse: (item, note) => this.#usable(TOOLS.parse(item, note)) })
    this.resources = this.#list(RESOURCES)
    this.templates = this.#list(TEMPLATES)
    this.prompts = this.#list(PROMPTS)
    this.skills = this.#list(SKILLS)
  }

  /** What an earlier process read is known until the server itself is asked. */
  seed(record: CatalogRecord): void {
    this.#remembered = record
    this.tools.seed(record.tools)
    this.resources.seed(record.resources)
    this.prompts.seed(record.prompts)
    this.templates.seed(record.templates)
  }

  /** A list besides the tools, where it is known whole: from the server, or from the catalog of an earlier process. */
  known<K extends SideList>(kind: K): Catalog[K]['items'] | undefined {
    const offered = this.#capabilities
    // A record has a list of each kind, with items of that kind.
    if (!offered) return this.#remembered?.whole.includes(kind) ? this.#remembered[kind] : undefined
    const list = this[kind]
    if (!offered[kind === 'templates' ? 'resources' : kind]) return []
    return list.hasBeenRead && !list.error && list.items.length === list.count ? list.items : undefined
  }

  /** Where the tools come from: the server, or the catalog of an earlier process; undefined when none are known yet. */
  get listedBy(): 'server' | 'catalog' | undefined {
    if (this.tools.hasBeenRead) return 'server'
    return this.#remembered && 'catalog'
  }

  /** What an earlier process knew of the server. Once it is connected, its session says more. */
  get remembered(): CatalogRecord | undefined {
    return this.#remembered
  }

  tool(name: string | undefined): ToolDefinition | undefined {
    return name === undefined ? undefined : this.#byName.get(name)?.tool
  }

  headers(name: string, args: unknown): Record<string, string> | undefined {
    const scan = this.#byName.get(name)?.headers
    return scan && paramHeaders(scan, args)
  }

  /** The first read. A failure other than of the tools is kept in its list and in the log. */
  async read(session: Session): Promise<{ readonly aside: Promise<void> }> {
    this.drop()
    this.#session = session
    this.#capabilities = session.capabilities
    const { tools, resources, prompts } = session.capabilities
    const aside = Promise.allSettled([resources && this.resources.get(), prompts && this.prompts.get()])
    if (tools) await this.tools.get()
    else this.tools.empty()
    return { aside: atMost(this.#options.host, CONNECT_LIMITS.sideListsMs, aside) }
  }

  /** Changes may have been missed. */
  refresh(): void {
    const capabilities = this.#session?.capabilities ?? {}
    if (capabilities.tools) this.tools.invalidate()
    if (capabilities.resources) this.resources.invalidate()
    if (capabilities.prompts) this.prompts.invalidate()
  }

  /** True when the notification was about a list. */
  notified(method: string): boolean {
    switch (method) {
      case 'notifications/tools/list_changed':
        this.tools.invalidate()
        return true
      case 'notifications/prompts/list_changed':
        this.prompts.invalidate()
        return true
      case 'notifications/resources/list_changed':
        // Skills are made of resources, and have no notification of their own.
        this.templates.drop()
        this.skills.drop()
        this.resources.invalidate()
        return true
      default:
        return false
    }
  }

  /** The cached tools are out of date. */
  async relist(): Promise<void> {
    this.tools.drop()
    await this.tools.get()
  }

  /** The server was removed from the board. */
  end(): void {
    this.drop()
    for (const list of this.#side) this.#options.recent.remove(list)
  }

  /** The session is gone; the last known items stay. */
  drop(): void {
    this.#session = undefined
    for (const list of [this.tools, ...this.#side]) list.drop()
  }

  /** The tools are always kept; the other lists may be dropped and read again. */
  get #side(): readonly CachedList<unknown>[] {
    return [this.resources, this.templates, this.prompts, this.skills]
  }

  #list<T>(spec: ListSpec<T>): CachedList<T> {
    const { host, warn, recent, leftOut } = this.#options
    const list: CachedList<T> = new CachedList<T>({
      spec,
      host,
      fetch: (method, params, signal) => this.#fetch(method, params, signal),
      warn,
      ...(leftOut && spec.kind === 'tools' && { leftOut }),
      changed: (items) => this.#changed(spec.kind, items.length),
      used: () => spec.kind !== 'tools' && recent.used(list),
    })
    return list
  }

  async #fetch(method: string, params: Json | undefined, signal: AbortSignal): Promise<Json> {
    const session = this.#session
    if (!session) throw new ChannelClosed(false)
    try {
      const timeoutMs = this.#options.timeoutMs()
      return await session.request(method, params, { signal, timeoutMs, background: true })
    } catch (error) {
      if (isSessionExpired(error, session.hasHttpSession)) this.#options.expired(session)
      throw error
    }
  }

  get #wantsHeaders(): boolean {
    return this.#options.posts && this.#session?.era === 'modern'
  }

  #changed(kind: ListKind, count: number): void {
    if (kind === 'tools') {
      const scan = this.#wantsHeaders
      this.#byName = new Map(
        this.tools.items.map((tool) => [
          tool.name,
          { tool, headers: scan ? scanHeaders(tool.inputSchema) : undefined },
        ]),
      )
    }
    this.#options.listed(kind, count)
  }

  /** A tool with invalid header annotations must not be offered. */
  #usable(tool: ToolDefinition | string): ToolDefinition | string {
    if (typeof tool === 'string' || !this.#wantsHeaders) return tool
    const scan = scanHeaders(tool.inputSchema)
    return 'fault' in scan ? `the tool "${tool.name}" cannot be called: ${scan.fault}` : tool
  }
}
