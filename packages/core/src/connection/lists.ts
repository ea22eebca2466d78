// lists.ts: one cached list, for tools, resources, templates, prompts and skills alike: read page by page with
// bounds, refreshed once however often it is requested, and kept through errors. It does not know what the items
// mean.

import { RequestAborted } from '../async/wait-errors.ts'
import type { ListKind } from '../events.ts'
import type { Host } from '../host.ts'
import { LIST_LIMITS } from '../limits.ts'
import { parseSkill, type SkillEntry } from '../skills/index.ts'
import { BadResponse, JsonRpcError } from './request-errors.ts'
import { isObject, type Json, RPC } from './server-info.ts'
import { parseTool } from './tool-definition.ts'

export interface ListSpec<T> {
  readonly kind: ListKind
  readonly method: string
  /** Where in a page the items are. */
  readonly field: string
  /**
   * The item, or a sentence on what is wrong with it: one bad item affects only itself. `note` receives what was
   * changed in an item that stays.
   */
  parse(item: unknown, note: (text: string) => void): T | string
}

/** What a server says about how long its list stays true, and for whom (2026-07-28). */
export interface CacheHint {
  readonly ttlMs: number
  readonly cacheScope: 'public' | 'private'
  /** When the list was read. */
  readonly at: number
}

export interface ListOptions<T> {
  readonly spec: ListSpec<T>
  readonly host: Host
  fetch(method: string, params: Json | undefined, signal: AbortSignal): Promise<Json>
  /** A new read has finished. */
  changed(items: readonly T[]): void
  warn(text: string): void
  /** An item was left out of the list. */
  leftOut?(text: string): void
  /** The items were used. */
  used?(): void
}

export class CachedList<T> {
  readonly #options: ListOptions<T>
  #items: readonly T[] = []
  #count = 0
  #fresh = false
  #hasBeenRead = false
  #error: unknown
  #faults: readonly string[] = []
  #cacheHint: CacheHint | undefined
  #reading: Promise<readonly T[]> | undefined
  /** Ends what is being read; made when there is something to end, because a server may say "changed" without end. */
  #stop: AbortController | undefined
  #staleSince: number | undefined
  #stopTimer: (() => void) | undefined

  constructor(options: ListOptions<T>) {
    this.#options = options
  }

  /** The last known items, also while the server is away. */
  get items(): readonly T[] {
    return this.#items
  }
  /** How many there are, also when the items themselves were dropped. */
  get count(): number {
    return this.#count
  }
  /** False while the items are those of an earlier process, or there are none yet. */
  get hasBeenRead(): boolean {
    return this.#hasBeenRead
  }
  get fresh(): boolean {
    return this.#fresh
  }
  /** Why the last read failed, if it did. */
  get error(): unknown {
    return this.#error
  }

  /** What the server said about the list that was read last; of several pages, the shortest time. */
  get cacheHint(): CacheHint | undefined {
    return this.#cacheHint
  }

  /** What the last read left out or changed, and why. */
  get faults(): readonly string[] {
    return this.#faults
  }

  /** The items; at most one read at a time, and none while they are fresh. */
  get(): Promise<readonly T[]> {
    this.#options.used?.()
    if (this.#fresh) return Promise.resolve(this.#items)
    this.#reading ??= this.#read().finally(() => {
      this.#reading = undefined
    })
    return this.#reading
  }

  /** The server announced a change: read again after a quiet moment, but not later than the maximum wait. */
  invalidate(): void {
    const now = this.#options.host.now()
    this.#fresh = false
    this.#staleSince ??= now
    const waitMs = Math.min(LIST_LIMITS.debounceMs, this.#staleSince + LIST_LIMITS.maxWaitMs - now)
    this.#stopTimer?.()
    this.#stopTimer = this.#options.host.backgroundTimer(Math.max(0, waitMs), () => void this.#refresh())
  }

  /** The connection is gone: reads end and nothing is fresh; the last known items stay. */
  drop(): void {
    this.#fresh = false
    this.#staleSince = undefined
    this.#stopTimer?.()
    this.#stop?.abort()
    this.#stop = undefined
    this.#reading = undefined
  }

  /** What an earlier process read: known, but not fresh. Nothing after the first read. */
  seed(items: readonly T[]): void {
    if (this.#hasBeenRead) return
    this.#items = items
    this.#count = items.length
  }

  /** The server has no such list. */
  empty(): void {
    const had = this.#items.length > 0
    this.#items = []
    this.#count = 0
    this.#hasBeenRead = true
    if (had) this.#options.changed([])
  }

  /** Drops the items to save memory; they are read again on demand. */
  forget(): void {
    this.#items = []
    this.#fresh = false
  }

  #stoppable(): AbortSignal {
    this.#stop ??= new AbortController()
    return this.#stop.signal
  }

  async #refresh(): Promise<void> {
    const stop = this.#stoppable()
    // A running read may have begun before the change.
    await this.#reading?.catch(() => undefined)
    if (stop.aborted) return
    this.#staleSince = undefined
    this.#fresh = false
    // The error is kept as state, and reported by #read.
    await this.get().catch(() => undefined)
  }

  async #read(): Promise<readonly T[]> {
    const signal = this.#stoppable()
    const staleBefore = this.#staleSince
    try {
      const items = await this.#pages(signal)
      if (signal.aborted) throw new RequestAborted(signal.reason)
      this.#items = items
      this.#hasBeenRead = true
      this.#count = items.length
      // A change announced during the read makes its result stale at once.
      this.#fresh = this.#staleSince === staleBefore || this.#staleSince === undefined
      this.#error = undefined
      this.#options.changed(items)
      return items
    } catch (error) {
      if (!signal.aborted) {
        this.#error = error
        this.#options.warn(`${this.#options.spec.method} failed: ${String(error)}`)
      }
      throw error
    }
  }

  async #pages(signal: AbortSignal): Promise<readonly T[]> {
    const { spec, fetch } = this.#options
    const items: T[] = []
    const seen = new Set<string>()
    let cursor: string | undefined
    const before = this.#faults
    const faults: string[] = []
    this.#faults = faults
    const note = (text: string) => this.#fault(faults, text)
    const began = this.#options.host.now()
    this.#cacheHint = undefined
    for (let page = 0; page < LIST_LIMITS.pages; page++) {
      let result: Json
      try {
        result = await fetch(spec.method, cursor === undefined ? undefined : { cursor }, signal)
      } catch (error) {
        // A server that does not know the method has nothing to list.
        if (page === 0 && error instanceof JsonRpcError && error.code === RPC.methodNotFound) return []
        throw error
      }
      const raw = result[spec.field]
      this.#cacheHint = shorter(this.#cacheHint, readHint(result, began), page)
      if (!Array.isArray(raw)) throw new BadResponse(`its ${spec.method} result has no list of ${spec.field}`)
      for (const item of raw) {
        if (items.length >= LIST_LIMITS.items) return this.#cut(items, `more than ${LIST_LIMITS.items} items`)
        const parsed = spec.parse(item, note)
        if (typeof parsed !== 'string') items.push(parsed)
        else {
          const text = `${parsed}; it is left out`
          // A list that is read again repeats its faults; they are reported once.
          if (note(text) && !before.includes(text)) this.#options.leftOut?.(text)
        }
      }
      const next = result.nextCursor
      if (typeof next !== 'string' || next === '') return items
      if (seen.has(next)) return this.#cut(items, 'a cursor repeats')
      seen.add(next)
      cursor = next
    }
    return this.#cut(items, `more than ${LIST_LIMITS.pages} pages`)
  }

  /** False when there were so many that this one is not reported. */
  #fault(faults: string[], text: string): boolean {
    if (faults.length >= LIST_LIMITS.warnings) return false
    faults.push(text)
    this.#options.warn(`${this.#options.spec.method}: ${text}`)
    return true
  }

  #cut(items: readonly T[], why: string): readonly T[] {
    this.#options.warn(`${this.#options.spec.method}: ${why}; reading stopped at ${items.length} items`)
    return items
  }
}

function readHint({ ttlMs, cacheScope }: Json, at: number): CacheHint | undefined {
  if (typeof ttlMs !== 'number' || !(ttlMs >= 0)) return undefined
  return { ttlMs, cacheScope: cacheScope === 'public' ? 'public' : 'private', at }
}

/** What holds for both: nothing when one page says nothing. */
function shorter(
  before: CacheHint | undefined,
  next: CacheHint | undefined,
  page: number,
): CacheHint | undefined {
  if (page === 0 || !before || !next) return page === 0 ? next : undefined
  return {
    ttlMs: Math.min(before.ttlMs, next.ttlMs),
    cacheScope: next.cacheScope === 'public' ? before.cacheScope : 'private',
    at: before.at,
  }
}

/** A tool as its server defines it. */
export interface ToolDefinition {
  readonly name: string
  readonly title?: string
  readonly description?: string
  readonly inputSchema: Json
  readonly outputSchema?: Json
  readonly annotations?: ToolAnnotations
  readonly [more: string]: unknown
}
/** What a server says about a tool; hints, not promises. */
export interface ToolAnnotations {
  readonly title?: string
  readonly readOnlyHint?: boolean
  readonly destructiveHint?: boolean
  readonly idempotentHint?: boolean
  readonly openWorldHint?: boolean
  /** Our extension: a tool that may run in parallel with others although it writes. */
  readonly safeToRunConcurrently?: boolean
}

/** Names that servers used before the protocol settled on `*Hint`. */
const PLAIN_NAMES = {
  readOnlyHint: 'readOnly',
  destructiveHint: 'destructive',
  idempotentHint: 'idempotent',
  openWorldHint: 'openWorld',
} as const

/** The hints of a tool under their current names; a `*Hint` wins over a plain name. Only a boolean is a hint. */
export function readAnnotations(raw: unknown): ToolAnnotations | undefined {
  if (!isObject(raw)) return undefined
  const hints: Record<string, unknown> = {}
  for (const [hint, plain] of Object.entries(PLAIN_NAMES)) {
    const value = typeof raw[hint] === 'boolean' ? raw[hint] : raw[plain]
    if (typeof value === 'boolean') hints[hint] = value
  }
  const { title, safeToRunConcurrently: concurrent } = raw
  return {
    ...(typeof title === 'string' && { title }),
    ...hints,
    ...(typeof concurrent === 'boolean' && { safeToRunConcurrently: concurrent }),
  }
}

/** May it run in parallel with other calls to its server? An explicit hint wins over one derived from read-only. */
export function isConcurrencySafe(hints: ToolAnnotations = {}): boolean {
  return hints.safeToRunConcurrently ?? hints.readOnlyHint === true
}
/** A resource as its server defines it. */
export interface ResourceDefinition {
  readonly uri: string
  readonly name: string
  readonly [more: string]: unknown
}
/** A template of resources as its server defines it. */
export interface TemplateDefinition {
  readonly uriTemplate: string
  readonly name: string
  readonly [more: string]: unknown
}
/** A prompt as its server defines it. */
export interface PromptDefinition {
  readonly name: string
  readonly [more: string]: unknown
}

export const TOOLS: ListSpec<ToolDefinition> = {
  kind: 'tools',
  method: 'tools/list',
  field: 'tools',
  parse: parseTool,
}

export const RESOURCES: ListSpec<ResourceDefinition> = {
  kind: 'resources',
  method: 'resources/list',
  field: 'resources',
  parse: (item) => missing('resource', item, 'uri') ?? named<ResourceDefinition>(item, 'uri'),
}

export const TEMPLATES: ListSpec<TemplateDefinition> = {
  kind: 'templates',
  method: 'resources/templates/list',
  field: 'resourceTemplates',
  parse: (item) =>
    missing('resource template', item, 'uriTemplate') ?? named<TemplateDefinition>(item, 'uriTemplate'),
}

export const PROMPTS: ListSpec<PromptDefinition> = {
  kind: 'prompts',
  method: 'prompts/list',
  field: 'prompts',
  parse: (item) => missing('prompt', item, 'name') ?? (item as PromptDefinition),
}

export const SKILLS: ListSpec<SkillEntry> = {
  kind: 'skills',
  method: 'skills/list',
  field: 'skills',
  parse: parseSkill,
}

function missing(what: string, item: unknown, key: string): string | undefined {
  if (!isObject(item)) return `a ${what} that is not an object`
  if (typeof item[key] !== 'string' || item[key] === '') return `a ${what} without a ${key}`
  return undefined
}

/** An item without a name is named by its address. */
function named<T>(item: unknown, key: string): T {
  const object = item as Json
  return (typeof object.name === 'string' ? object : { ...object, name: object[key] }) as T
}
