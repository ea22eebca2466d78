// audit-stream.ts: the audit lines of this replica in the store, where one reader finds those of all replicas. Lines travel in
// batches; a batch is sealed, so that lines of another writer are told apart. The file of each replica stays the record.
import { createHash } from 'node:crypto'
import type { AuditListener } from '@plugboard/core/permissions'
import type { AuditStreamConfig } from '../config/schema.ts'
import { isObject } from '../json-rpc.ts'
import type { KeyRing } from '../sealing/key-ring.ts'
import type { Store } from '../store/store.ts'

const KEY = 'audit'
const PURPOSE = 'audit'
const KEEP_BATCHES = 100_000
const FLUSH_MS = 250
/** What waits while the store is away; more is dropped here, and counted. The file has it. */
const WAITING_LINES = 20_000
const BATCH_LINES = 500

/** A line of the stream, and whether a replica wrote it. */
export interface StreamedLine {
  readonly replica: string
  readonly sealed: boolean
  readonly line: unknown
}

/** This process among those that share the store. */
interface Replica {
  readonly id: string
  readonly store: Store
  /** The work is done before the store is closed. */
  onClose(work: () => Promise<void>): void
}

/** The audit lines of this replica in the store that all replicas share. */
export class AuditStream {
  readonly #store: Store
  readonly #keys: KeyRing
  readonly #replica: string
  readonly #config: AuditStreamConfig
  readonly #timer: NodeJS.Timeout
  #waiting: string[] = []
  #sending: Promise<void> | undefined
  #batches = 0
  #dropped = 0

  /** It ends with the replicas. */
  constructor(replicas: Replica, keys: KeyRing, config: AuditStreamConfig) {
    this.#store = replicas.store
    this.#replica = replicas.id
    this.#keys = keys
    this.#config = config
    this.#timer = setInterval(() => void this.flush(), FLUSH_MS)
    this.#timer.unref()
    replicas.onClose(() => this.#close())
  }

  readonly add: AuditListener = (line, args) => {
    if (this.#waiting.length >= WAITING_LINES) return void this.#dropped++
    const whole = this.#config.arguments && args !== undefined
    this.#waiting.push(whole ? `${line.slice(0, -1)},"arguments":${args}}` : line)
  }

  /** Sends what waits; what cannot be sent waits on. */
  flush(): Promise<void> {
    this.#sending ??= this.#send().finally(() => {
      this.#sending = undefined
    })
    return this.#sending
  }

  async #close(): Promise<void> {
    clearInterval(this.#timer)
    await this.flush()
  }

  async #send(): Promise<void> {
    while (this.#waiting.length > 0 && this.#store.isUp) {
      const lines = this.#waiting.slice(0, BATCH_LINES)
      if (this.#dropped > 0) lines.push(JSON.stringify({ kind: 'dropped', count: this.#dropped }))
      const text = lines.join('\n')
      const batch = this.#batches + 1
      const seal = this.#keys.seal(PURPOSE, { replica: this.#replica, batch, hash: hashOf(text) })
      const value = JSON.stringify({ replica: this.#replica, batch, lines: text, seal })
      try {
        await this.#store.append(KEY, value, this.#config.keep ?? KEEP_BATCHES)
      } catch {
        // The store went away, or did not say that it has it: then a reader may see this batch twice, by its number.
        return
      }
      this.#batches = batch
      this.#dropped = 0
      this.#waiting.splice(0, Math.min(BATCH_LINES, this.#waiting.length))
    }
  }
}

/** The last lines of all replicas. */
export async function readAuditStream(store: Store, keys: KeyRing, batches: number): Promise<StreamedLine[]> {
  return (await store.last(KEY, batches)).flatMap((text) => {
    const value = parsed(text)
    if (!isObject(value) || typeof value.lines !== 'string' || typeof value.replica !== 'string')
      return [{ replica: '', sealed: false, line: text.slice(0, 1000) }]
    const { lines, replica, batch, seal } = value
    const opened = keys.open(PURPOSE, seal)
    const sealed = opened?.hash === hashOf(lines) && opened.replica === replica && opened.batch === batch
    return lines.split('\n').map((line) => ({ replica, sealed, line: parsed(line) ?? line }))
  })
}

function hashOf(text: string): string {
  return createHash('sha256').update(text).digest('base64url')
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    // Another program wrote it.
    return undefined
  }
}
