// catalog.ts: the lists of one server together: first read, refresh, and what the tool list says about a single tool.
// lists.ts reads one list.

import type { Lru } from '../async/lru.ts'
import { atMost } from '../async/waits.ts'
import type { ListKind } from '../events.ts'
import type { Host } from '../host.ts'
import { CONNECT_LIMITS } from '../limits.ts'
import type { SkillEntry } from '../skills/index.ts'
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
import type { Json, ServerCapabilities } from './server-info.ts'

export interface CatalogOptions {
  readonly host: Host
  readonly recent: Lru<CachedList<unknown>>
  fetch(method: string, params: Json | undefined, signal: AbortSignal): Promise<Json>
  listed(kind: ListKind, count: number): void
  warn(text: string): void
  /** A tool of the server is not offered, and why. */
  leftOut?(text: string): void
  /** Whether tools may require headers besides their arguments: 2026-07-28 over HTTP. */
  wantsHeaders(): boolean
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
  #byName = new Map<string, KnownTool>()

  constructor(options: CatalogOptions) {
    this.#options = options
    this.tools = this.#list({ ...TOOLS, parse: (item, note) => this.#usable(TOOLS.parse(item, note)) })
    this.resources = this.#list(RESOURCES)
    this.templates = this.#list(TEMPLATES)
    this.prompts = this.#list(PROMPTS)
    this.skills = this.#list(SKILLS)
  }

  tool(name: string | undefined): ToolDefinition | undefined {
    return name === undefined ? undefined : this.#byName.get(name)?.tool
  }

  headers(name: string, args: unknown): Record<string, string> | undefined {
    const scan = this.#byName.get(name)?.headers
    return scan && paramHeaders(scan, args)
  }

  /** The first read. A failure other than of the tools is kept in its list and in the log. */
  async read(capabilities: ServerCapabilities): Promise<{ readonly aside: Promise<void> }> {
    this.drop()
    const { tools, resources, prompts } = capabilities
    const aside = Promise.allSettled([resources && this.resources.get(), prompts && this.prompts.get()])
    if (tools) await this.tools.get()
    return { aside: atMost(this.#options.host, CONNECT_LIMITS.sideListsMs, aside) }
  }

  refresh(capabilities: ServerCapabilities): void {
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

  drop(): void {
    for (const list of [this.tools, ...this.#side]) list.drop()
  }

  /** The tools are always kept; the other lists may be dropped and read again. */
  get #side(): readonly CachedList<unknown>[] {
    return [this.resources, this.templates, this.prompts, this.skills]
  }

  #list<T>(spec: ListSpec<T>): CachedList<T> {
    const { host, fetch, warn, recent, leftOut } = this.#options
    const list: CachedList<T> = new CachedList<T>({
      spec,
      host,
      fetch,
      warn,
      ...(leftOut && spec.kind === 'tools' && { leftOut }),
      changed: (items) => this.#changed(spec.kind, items.length),
      used: () => spec.kind !== 'tools' && recent.used(list),
    })
    return list
  }

  #changed(kind: ListKind, count: number): void {
    if (kind === 'tools') {
      const scan = this.#options.wantsHeaders()
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
    if (typeof tool === 'string' || !this.#options.wantsHeaders()) return tool
    const scan = scanHeaders(tool.inputSchema)
    return 'fault' in scan ? `the tool "${tool.name}" cannot be called: ${scan.fault}` : tool
  }
}
