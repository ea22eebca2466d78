// era-memory.ts: caches between runs which era and transport a server uses, so that a later connect needs no probe.
// One file per state folder, shared by processes. session.ts finds the era out.
import { createHash } from 'node:crypto'
import { join } from 'node:path'
import type { ServerEntry } from '../config/entry.ts'
import { traitsOf } from '../config/transport-traits.ts'
import { readTextFile, withFileLock, writeFileAtomic } from '../files/index.ts'
import type { Host } from '../host.ts'
import { CONFIG_LIMITS, CONNECT_LIMITS } from '../limits.ts'
import {
  type Discovery,
  isObject,
  MODERN_VERSION,
  parseCapabilities,
  parseServerInfo,
} from './server-info.ts'

export interface EraRecord {
  /** Milliseconds since the epoch. */
  readonly at: number
  readonly era: 'legacy' | 'modern'
  readonly discovery?: Discovery
  /** A plain `url` turned out to be legacy SSE. */
  readonly became?: 'sse'
}

/** What connects start from: undefined means unknown. */
export interface KnownEra {
  readonly era: 'legacy' | Discovery
  /** The discovery is past its lifetime: use it, and refresh it meanwhile. */
  readonly stale: boolean
  readonly became?: 'sse'
}

export class EraMemory {
  readonly #file: string
  readonly #host: Host
  readonly #warn: (text: string) => void
  #records: Map<string, EraRecord> | undefined
  #loading: Promise<Map<string, EraRecord>> | undefined
  /** Unsaved changes; undefined is a record to remove. */
  readonly #dirty = new Map<string, EraRecord | undefined>()
  #saving: Promise<void> | undefined

  constructor(stateDir: string, host: Host, warn: (text: string) => void) {
    this.#file = join(stateDir, 'eras.json')
    this.#host = host
    this.#warn = warn
  }

  async recall(entry: ServerEntry, signature: string): Promise<KnownEra | undefined> {
    if (traitsOf(entry).era === 'legacy') return { era: 'legacy', stale: false }
    const record = (await this.#load()).get(keyOf(entry, signature))
    const age = record ? this.#host.now() - record.at : Number.POSITIVE_INFINITY
    if (!record || age < 0 || age >= CONNECT_LIMITS.eraMemoryMs) return undefined
    const became = record.became && { became: record.became }
    if (record.era === 'legacy') return { era: 'legacy', stale: false, ...became }
    if (!record.discovery) return undefined
    return { era: record.discovery, stale: age >= (record.discovery.ttlMs ?? 0), ...became }
  }

  /** Takes effect at once for this process, and is written to disk later. */
  remember(entry: ServerEntry, signature: string, record: Omit<EraRecord, 'at'>): void {
    if (traitsOf(entry).era !== 'remembered') return
    this.#set(keyOf(entry, signature), { ...record, at: this.#host.now() })
  }

  forget(entry: ServerEntry, signature: string): void {
    const key = keyOf(entry, signature)
    if (this.#records?.has(key)) this.#set(key, undefined)
  }

  /** Waits until everything is on disk. Never rejects: this is only a cache. */
  async flush(): Promise<void> {
    await this.#saving
  }

  #set(key: string, record: EraRecord | undefined): void {
    if (record) this.#records?.set(key, record)
    else this.#records?.delete(key)
    this.#dirty.set(key, record)
    this.#saving ??= this.#save().finally(() => {
      this.#saving = undefined
    })
  }

  #load(): Promise<Map<string, EraRecord>> {
    this.#loading ??= this.#read().then((records) => {
      this.#records = records
      return records
    })
    return this.#loading
  }

  async #read(): Promise<Map<string, EraRecord>> {
    const outcome = await readTextFile(this.#file, CONNECT_LIMITS.eraFileBytes)
    if (outcome.kind === 'problem') this.#warn(`${this.#file} ${outcome.message}`)
    if (outcome.kind !== 'text') return new Map()
    try {
      return parseRecords(JSON.parse(outcome.text))
    } catch {
      // A broken cache counts as empty; the next write replaces it.
      return new Map()
    }
  }

  async #save(): Promise<void> {
    try {
      while (this.#dirty.size > 0) {
        const lock = { waitMs: CONFIG_LIMITS.lockWaitMs, staleMs: CONFIG_LIMITS.lockStaleMs, dirMode: 0o700 }
        await withFileLock(this.#file, lock, async () => {
          const records = await this.#read()
          for (const [key, record] of [...this.#dirty]) {
            this.#dirty.delete(key)
            if (record) records.set(key, record)
            else records.delete(key)
          }
          await writeFileAtomic(this.#file, render(records, this.#host.now()), {
            mode: 0o600,
            dirMode: 0o700,
          })
        })
      }
    } catch (error) {
      this.#dirty.clear()
      this.#warn(`${this.#file} could not be written: ${error instanceof Error ? error.message : error}`)
    }
  }
}

/** The era belongs to the server and the transport: the same server may use another one elsewhere. */
function keyOf(entry: ServerEntry, signature: string): string {
  return createHash('sha256').update(`${entry.type}\n${signature}`).digest('hex')
}

function render(records: ReadonlyMap<string, EraRecord>, now: number): string {
  const kept = [...records]
    .filter(([, record]) => now - record.at < CONNECT_LIMITS.eraMemoryMs)
    .sort(([, a], [, b]) => b.at - a.at)
    .slice(0, CONNECT_LIMITS.eraRecords)
  return `${JSON.stringify({ version: 1, records: Object.fromEntries(kept) })}\n`
}

function parseRecords(value: unknown): Map<string, EraRecord> {
  const records = new Map<string, EraRecord>()
  if (!isObject(value) || value.version !== 1 || !isObject(value.records)) return records
  for (const [key, item] of Object.entries(value.records)) {
    const record = parseRecord(item)
    if (record) records.set(key, record)
  }
  return records
}

function parseRecord(item: unknown): EraRecord | undefined {
  if (!isObject(item) || typeof item.at !== 'number') return undefined
  const became = item.became === 'sse' && ({ became: 'sse' } as const)
  if (item.era === 'legacy') return { at: item.at, era: 'legacy', ...became }
  const raw = item.discovery
  if (item.era !== 'modern' || !isObject(raw)) return undefined
  const { supportedVersions, instructions, ttlMs } = raw
  if (!Array.isArray(supportedVersions) || !supportedVersions.includes(MODERN_VERSION)) return undefined
  const serverInfo = parseServerInfo(raw.serverInfo)
  return {
    at: item.at,
    era: 'modern',
    discovery: {
      supportedVersions: [MODERN_VERSION],
      capabilities: parseCapabilities(raw.capabilities),
      ...(typeof instructions === 'string' && { instructions }),
      ...(serverInfo && { serverInfo }),
      ...(typeof ttlMs === 'number' && { ttlMs }),
    },
    ...became,
  }
}
