// result-store.ts: results that were too large to be sent, kept for a few minutes for the owner of the call: small ones in
// memory, large ones in files. What does not fit makes the oldest results of the same owner leave, then the oldest of all.
import { randomBytes } from 'node:crypto'
import { mkdir, open, readdir, readFile, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { Json } from '../json-rpc.ts'

const MINUTE = 60_000
const MIB = 1024 * 1024

export const RESULT_STORE_LIMITS = {
  keepMs: 10 * MINUTE,
  memoryChars: 64 * MIB,
  diskChars: 512 * MIB,
  /** Larger ones are written to a file. */
  spillChars: MIB,
  count: 2000,
  /** What one owner may hold of each. */
  ownerShare: 1 / 4,
} as const
type Limits = { readonly [K in keyof typeof RESULT_STORE_LIMITS]: number }

export interface StoredResult {
  readonly server: string
  readonly tool: string
  readonly result: Json
}

interface Entry {
  readonly id: string
  readonly owner: string
  readonly server: string
  readonly tool: string
  readonly chars: number
  readonly until: number
  /** Until it is in its file. */
  text: string | undefined
  readonly file: string | undefined
}

/** Where large results are kept, and how many. */
export interface ResultStoreOptions {
  /** Where large results are written, for this user alone; without it everything stays in memory. */
  readonly folder?: string | undefined
  readonly now?: () => number
  readonly limits?: Partial<Limits>
}

/** Keeps large results, so that a client can read them in parts. */
export class ResultStore {
  readonly #folder: string | undefined
  readonly #now: () => number
  readonly #limits: Limits
  /** The oldest first. */
  readonly #entries = new Map<string, Entry>()
  #sweeping: NodeJS.Timeout | undefined
  #opened: Promise<void> | undefined
  #closed = false

  constructor({ folder, now = Date.now, limits }: ResultStoreOptions = {}) {
    this.#folder = folder
    this.#now = now
    this.#limits = { ...RESULT_STORE_LIMITS, ...limits }
  }

  get keepMs(): number {
    return this.#limits.keepMs
  }

  /** The id under which the owner finds it again; undefined when it is too large even for that. */
  put(owner: string, { server, tool, result }: StoredResult): string | undefined {
    const text = JSON.stringify(result)
    const isLarge = this.#folder !== undefined && text.length > this.#limits.spillChars
    if (this.#closed || text.length > this.#most(isLarge) * this.#limits.ownerShare) return undefined
    const id = randomBytes(16).toString('base64url')
    const until = this.#now() + this.#limits.keepMs
    const file = isLarge && this.#folder ? join(this.#folder, `${id}.json`) : undefined
    const entry: Entry = { id, owner, server, tool, chars: text.length, until, text, file }
    this.#entries.set(id, entry)
    this.#makeRoom(entry)
    if (file) void this.#write(entry, file, text)
    this.#sweeping ??= setInterval(() => this.#sweep(), this.#limits.keepMs / 10).unref()
    return id
  }

  /** Undefined for another owner, and when it is no longer there. */
  async get(owner: string, id: string): Promise<StoredResult | undefined> {
    const entry = this.#entries.get(id)
    if (entry?.owner !== owner || entry.until <= this.#now()) return undefined
    const { server, tool, file } = entry
    const text = entry.text ?? (file && (await readFile(file, 'utf8').catch(() => undefined)))
    return text === undefined || text === '' ? undefined : { server, tool, result: JSON.parse(text) as Json }
  }

  async close(): Promise<void> {
    this.#closed = true
    clearInterval(this.#sweeping)
    const files = [...this.#entries.values()].flatMap(({ file }) => file ?? [])
    this.#entries.clear()
    await Promise.all(files.map((file) => rm(file, { force: true }).catch(() => undefined)))
  }

  #most(onDisk: boolean): number {
    return onDisk ? this.#limits.diskChars : this.#limits.memoryChars
  }

  #makeRoom({ owner, file }: Entry): void {
    this.#sweep()
    const { count, ownerShare } = this.#limits
    const same = (entry: Entry) => (entry.file === undefined) === (file === undefined)
    const most = this.#most(file !== undefined)
    this.#dropOldest((entry) => entry.owner === owner && same(entry), most * ownerShare, count * ownerShare)
    this.#dropOldest(same, most, count)
  }

  #dropOldest(which: (entry: Entry) => boolean, mostChars: number, mostCount: number): void {
    const entries = [...this.#entries.values()].filter(which)
    let chars = entries.reduce((total, entry) => total + entry.chars, 0)
    let { length } = entries
    for (const entry of entries) {
      if (chars <= mostChars && length <= mostCount) return
      this.#drop(entry)
      chars -= entry.chars
      length--
    }
  }

  #sweep(): void {
    const now = this.#now()
    for (const entry of this.#entries.values()) if (entry.until <= now) this.#drop(entry)
    if (this.#entries.size > 0) return
    clearInterval(this.#sweeping)
    this.#sweeping = undefined
  }

  #drop({ id, file }: Entry): void {
    this.#entries.delete(id)
    if (file) void rm(file, { force: true }).catch(() => undefined)
  }

  async #write(entry: Entry, file: string, text: string): Promise<void> {
    try {
      this.#opened ??= this.#prepare()
      await this.#opened
      const handle = await open(file, 'wx', 0o600)
      await handle.writeFile(text).finally(() => handle.close())
      entry.text = undefined
      if (!this.#entries.has(entry.id)) await rm(file, { force: true })
    } catch {
      // The disk is full or read-only: it stays in memory.
    }
  }

  /** Files that an earlier process left behind are removed when their time is over. */
  async #prepare(): Promise<void> {
    const folder = this.#folder ?? ''
    await mkdir(folder, { recursive: true, mode: 0o700 })
    for (const name of await readdir(folder)) {
      const path = join(folder, name)
      const info = await stat(path).catch(() => undefined)
      if (info?.isFile() && info.mtimeMs + this.#limits.keepMs < this.#now())
        await rm(path, { force: true }).catch(() => undefined)
    }
  }
}
