// catalog-store.ts: what servers listed when they were last connected (tools, resources, prompts, capabilities,
// instructions), one file for each entry in the state folder, so that lists are known before a server starts. What a
// file says is treated like the answer of a server: checked item by item, and never more than a memory.
import { isAbsolute, join, resolve } from 'node:path'
import type { ServerEntry } from '../config/entry.ts'
import { hashOf } from '../config/fingerprints.ts'
import { isInProcess, startsCommand } from '../config/transport-traits.ts'
import type { ConfiguredServer } from '../config/types.ts'
import { uniqueName } from '../files/unique-name.ts'
import type { Host } from '../host.ts'
import { lazyModule } from '../lazy.ts'
import { CATALOG_LIMITS, DEFINITION_LIMITS, LIST_LIMITS } from '../limits.ts'
import { VERSION } from '../version.ts'
import {
  type ListSpec,
  PROMPTS,
  type PromptDefinition,
  RESOURCES,
  type ResourceDefinition,
  TEMPLATES,
  type TemplateDefinition,
  TOOLS,
  type ToolDefinition,
} from './lists.ts'
import {
  isObject,
  parseCapabilities,
  parseServerInfo,
  type ServerCapabilities,
  type ServerInfo,
} from './server-info.ts'
import { excessOf } from './tool-definition.ts'

/** What one server said about itself when it was last connected. */
export interface CatalogRecord {
  /** When it was read, in milliseconds since the epoch. */
  readonly at: number
  readonly capabilities: ServerCapabilities
  readonly instructions?: string
  readonly serverInfo?: ServerInfo
  readonly tools: readonly ToolDefinition[]
  readonly resources: readonly ResourceDefinition[]
  readonly prompts: readonly PromptDefinition[]
  readonly templates: readonly TemplateDefinition[]
  /** Which of the lists besides the tools were read whole; what is missing here may be longer than it is kept. */
  readonly whole: readonly SideList[]
}

/** The lists besides the tools. */
export type SideList = 'resources' | 'templates' | 'prompts'

type Named = Pick<ConfiguredServer, 'name' | 'entry' | 'author'>

export class CatalogStore {
  readonly #folder: string
  readonly #host: Pick<Host, 'now'>
  /** By file: what was written or read last, without its time, so that the same is not written again and again. */
  readonly #last = new Map<string, { readonly text: string; readonly at: number }>()
  readonly #waiting = new Map<string, string>()
  #writing: Promise<void> | undefined
  /** Once in the life of a store. */
  #pruning: Promise<void> | undefined

  constructor(stateDir: string, host: Pick<Host, 'now'>) {
    this.#folder = join(stateDir, 'catalog')
    this.#host = host
  }

  /**
   * What is known about a server with exactly this entry; undefined when nothing is, when it is too old, or when a
   * file that its command line names has changed since.
   */
  recall(server: Named): CatalogRecord | undefined {
    const read = readOwnFile(join(this.#folder, fileOf(server)))
    if (!isObject(read) || read.version !== 1 || read.name !== server.name) return undefined
    if (typeof read.at !== 'number' || read.stamp !== sourceStamp(server.entry)) return undefined
    const age = this.#host.now() - read.at
    if (age < 0 || age > CATALOG_LIMITS.ages.keepMs) return undefined
    return parseRecord(read, read.at)
  }

  /** Takes effect for the next process soon; it never fails. `stamp` is that of the moment when the server started. */
  remember(server: Named, stamp: string, record: Omit<CatalogRecord, 'at'>): void {
    const file = fileOf(server)
    const text = bounded({ version: 1, name: server.name, stamp, ...record })
    if (text === undefined) return
    const at = this.#host.now()
    const last = this.#last.get(file)
    if (last?.text === text && at - last.at < CATALOG_LIMITS.ages.renewMs) return
    this.#last.set(file, { text, at })
    this.#waiting.set(file, `{"at":${at},${text.slice(1)}`)
    this.#writing ??= this.#write().finally(() => {
      this.#writing = undefined
    })
  }

  /** Resolves when everything is on disk, or could not be written. */
  async flush(): Promise<void> {
    await this.#writing
  }

  async #write(): Promise<void> {
    // Lists that arrive together are one write.
    await new Promise((done) => setImmediate(done))
    const fs = lazyModule('node:fs').promises
    for (const [file, text] of this.#waiting) {
      this.#waiting.delete(file)
      const draft = join(this.#folder, `.${uniqueName()}.tmp`)
      try {
        await fs.mkdir(this.#folder, { recursive: true, mode: 0o700 })
        this.#pruning ??= this.#prune()
        await this.#pruning
        await fs.writeFile(draft, text, { mode: 0o600, flag: 'wx' })
        await fs.rename(draft, join(this.#folder, file))
      } catch {
        // A full or read-only disk: the lists are read from the server again next time.
        await fs.rm(draft, { force: true }).catch(() => undefined)
      }
    }
  }

  /** Entries that were changed or removed leave their files behind. */
  async #prune(): Promise<void> {
    const fs = lazyModule('node:fs').promises
    const names = await fs.readdir(this.#folder)
    if (names.length <= CATALOG_LIMITS.files) return
    const dated = await Promise.all(
      names.map(async (name) => {
        const path = join(this.#folder, name)
        return { path, at: (await fs.lstat(path).catch(() => undefined))?.mtimeMs ?? 0 }
      }),
    )
    dated.sort((a, b) => a.at - b.at)
    for (const { path } of dated.slice(0, names.length - CATALOG_LIMITS.files))
      await fs.rm(path, { force: true }).catch(() => undefined)
  }
}

/** Whether a list of that age may be shown without asking the server. What a remote server lists may change at any time. */
export function isCurrent(
  { entry }: Pick<ConfiguredServer, 'entry'>,
  { at }: CatalogRecord,
  now: number,
): boolean {
  const local = startsCommand(entry) || isInProcess(entry)
  return now - at <= (local ? CATALOG_LIMITS.ages.localMs : CATALOG_LIMITS.ages.remoteMs)
}

/**
 * The state of the files that a command line names: a server that was edited or updated since may list other things.
 * Servers without a command line have none.
 */
export function sourceStamp(entry: ServerEntry): string {
  if (!startsCommand(entry)) return ''
  const words = [entry.command, ...entry.args].map((word) => word.replace(/^-[^=]*=/, ''))
  const { statSync } = lazyModule('node:fs')
  const stamps = words.slice(0, CATALOG_LIMITS.stampedWords).flatMap((word) => {
    const path = pathOf(word, entry.cwd)
    if (path === undefined) return []
    try {
      const info = statSync(path, { throwIfNoEntry: false })
      return info?.isFile() ? [`${path}:${info.mtimeMs}:${info.size}`] : []
    } catch {
      // Not a path after all, or one that may not be read.
      return []
    }
  })
  return stamps.length === 0 ? '' : hashOf(stamps)
}

function pathOf(word: string, cwd: string | undefined): string | undefined {
  if (isAbsolute(word)) return word
  // A name without an extension is a program to be found, a package or a value.
  return cwd !== undefined && /\.\w{1,5}$|^\.{1,2}\//.test(word) && !/\s|:\/\//.test(word)
    ? resolve(cwd, word)
    : undefined
}

/** What does not change what a server lists is not part of its name. */
function fileOf({ name, entry, author }: Named): string {
  const {
    permissions: _,
    alwaysLoad: __,
    description: ___,
    share: ____,
    timeout: _____,
    reconnect: ______,
    concurrentTools: _______,
    ...listed
  } = entry
  return `${hashOf([name, listed, author ?? 'user', isInProcess(entry) ? VERSION : ''])}.json`
}

/** Without resources and prompts when it is too large with them; undefined when it is too large even so. */
function bounded(record: Readonly<Record<string, unknown>>): string | undefined {
  const text = JSON.stringify(record)
  if (text.length <= CATALOG_LIMITS.bytes) return text
  const less = JSON.stringify({ ...record, resources: [], templates: [], prompts: [], whole: [] })
  return less.length <= CATALOG_LIMITS.bytes ? less : undefined
}

/** Undefined unless it is a regular file that only this user can read or write. */
function readOwnFile(path: string): unknown {
  const fs = lazyModule('node:fs')
  let file: number | undefined
  try {
    const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK } = fs.constants
    file = fs.openSync(path, O_RDONLY | (O_NOFOLLOW ?? 0) | (O_NONBLOCK ?? 0))
    const info = fs.fstatSync(file)
    const uid = process.getuid?.()
    const isOwn = uid === undefined || (info.uid === uid && (info.mode & 0o077) === 0)
    if (!info.isFile() || !isOwn || info.size > CATALOG_LIMITS.bytes + 100) return undefined
    return JSON.parse(fs.readFileSync(file, 'utf8'))
  } catch {
    // Missing, of another user, or cut off: nothing is known.
    return undefined
  } finally {
    if (file !== undefined) fs.closeSync(file)
  }
}

function parseRecord(read: Readonly<Record<string, unknown>>, at: number): CatalogRecord {
  const { instructions } = read
  const serverInfo = parseServerInfo(read.serverInfo)
  return {
    at,
    capabilities: excessOf(read.capabilities) === undefined ? parseCapabilities(read.capabilities) : {},
    ...(typeof instructions === 'string' && {
      instructions: instructions.slice(0, DEFINITION_LIMITS.textChars),
    }),
    ...(serverInfo && { serverInfo }),
    tools: parseItems(TOOLS, read.tools),
    resources: parseItems(RESOURCES, read.resources),
    prompts: parseItems(PROMPTS, read.prompts),
    templates: parseItems(TEMPLATES, read.templates),
    whole: SIDE_LISTS.filter((kind) => Array.isArray(read.whole) && read.whole.includes(kind)),
  }
}

export const SIDE_LISTS: readonly SideList[] = ['resources', 'templates', 'prompts']

/** An item is checked as if its server had sent it. */
function parseItems<T>(spec: ListSpec<T>, items: unknown): readonly T[] {
  if (!Array.isArray(items)) return []
  return items.slice(0, LIST_LIMITS.items).flatMap((item) => {
    if (excessOf(item) !== undefined && spec.kind !== 'tools') return []
    const parsed = spec.parse(item, () => undefined)
    return typeof parsed === 'string' ? [] : [parsed]
  })
}
