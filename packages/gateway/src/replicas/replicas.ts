// replicas.ts: this process as one of several gateways behind a load balancer: its id, which others are alive and where, and
// sealed messages between them. The store is believed only as far as the seal goes: who can write to it but has no key can
// neither pose as a replica nor send a message.
import { randomBytes } from 'node:crypto'
import { isObject, type Json } from '../json-rpc.ts'
import type { KeyRing } from '../sealing/key-ring.ts'
import type { Store } from '../store/store.ts'
import { type ReplicaStatus, readStatus } from './replica-status.ts'

const BEAT_MS = 3000
/** A replica whose entry did not change for this long is gone. */
const GONE_MS = 12_000
/** Older messages and entries are replayed ones, or the clocks of the machines differ by more than is sound. */
const STALE_MS = 5 * 60_000
/** How long a sender waits until the others have done what it told them. */
const DONE_MS = 2000
/** Replicas whose last message and entry are known. */
const REMEMBERED = 1000
const DIRECTORY = 'replicas'
const CHANNEL = 'bus'

/** What replicas tell each other. */
export type BusKind =
  | 'here'
  | 'done'
  | 'follow'
  | 'unfollow'
  | 'updated'
  | 'list-changed'
  | 'session'
  | 'session-ended'
  | 'session-stream'
  | 'session-message'
  | 'cancelled'
  | 'revoked'
  | 'server-action'
  | 'login-changed'

export interface Peer {
  readonly id: string
  readonly url: string
  /** When its last beat was read, by our own clock. */
  readonly seen: number
  /** Not of a replica whose version tells none. */
  readonly status?: ReplicaStatus
}

interface KnownPeer extends Peer {
  readonly entry: string
}

/** A promise is waited for before the sender hears that it is done. */
type Receive = (value: Json, from: string) => unknown

/** The other processes of this gateway that share its store, and messages between them. */
export class Replicas {
  readonly id = randomBytes(6).toString('hex')
  readonly store: Store
  readonly #keys: KeyRing
  readonly #now: () => number
  readonly #peers = new Map<string, KnownPeer>()
  readonly #receivers = new Map<BusKind, Set<Receive>>()
  readonly #beats = new Set<() => unknown>()
  /** By replica: the last message that was heard of it, and the time of the last entry that was read. Older ones are replayed. */
  readonly #lastHeard = new Map<string, number>()
  readonly #lastEntry = new Map<string, number>()
  readonly #stops: (() => void)[] = []
  readonly #closing: (() => Promise<void>)[] = []
  /** What this replica told and waits for: by round, those that are not done yet. */
  readonly #waiting = new Map<string, { readonly missing: Set<string>; end(): void }>()
  #rounds = 0
  #sent = 0
  #lastBeat = 0
  #url: string | undefined
  #status: (() => ReplicaStatus) | undefined
  #timer: NodeJS.Timeout | undefined

  constructor(store: Store, keys: KeyRing, now: () => number = Date.now) {
    this.store = store
    this.#keys = keys
    this.#now = now
  }

  /** Tells the others where this replica is and how it does, from now on. */
  async announce(url: string, status?: () => ReplicaStatus): Promise<void> {
    this.#url = url
    this.#status = status
    this.#stops.push(await this.store.subscribe(CHANNEL, (text) => this.#received(text)))
    this.#stops.push(
      this.store.onChange((isUp) => {
        if (isUp) void this.#beat()
      }),
    )
    await this.#beat()
    await this.publish('here', {})
    this.#timer = setInterval(() => void this.#beat(), BEAT_MS)
    this.#timer.unref()
  }

  /** The other replicas that are alive. While the store is away: those that were when it went. */
  peers(): readonly Peer[] {
    return [...this.#peers.values()]
  }

  get peerCount(): number {
    return this.#peers.size
  }

  peer(id: string): Peer | undefined {
    return this.#peers.get(id)
  }

  /** False when the others cannot be told now. */
  async publish(kind: BusKind, value: Json): Promise<boolean> {
    const own = { kind, from: this.id, at: this.#now(), number: ++this.#sent }
    const text = this.#keys.seal('replica-message', { ...value, ...own })
    return await this.store.publish(CHANNEL, text).then(
      () => true,
      () => false,
    )
  }

  /** Resolves when every other replica has done what it was told, or has had its time. False when they cannot be told now. */
  async tell(kind: BusKind, value: Json): Promise<boolean> {
    const missing = new Set(this.#peers.keys())
    const round = `${++this.#rounds}`
    if (missing.size === 0) return await this.publish(kind, value)
    const done = new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, DONE_MS)
      this.#waiting.set(round, {
        missing,
        end: () => {
          clearTimeout(timer)
          resolve()
        },
      })
    }).finally(() => this.#waiting.delete(round))
    const told = await this.publish(kind, { ...value, round })
    if (!told) this.#waiting.get(round)?.end()
    await done
    return told
  }

  on(kind: BusKind, receive: Receive): () => void {
    const all = this.#receivers.get(kind) ?? new Set()
    this.#receivers.set(kind, all.add(receive))
    return () => all.delete(receive)
  }

  /** Called at every beat, while the store can be reached. */
  onBeat(beat: () => unknown): void {
    this.#beats.add(beat)
  }

  /** Called when this replica closes, while the store is still there. */
  onClose(work: () => Promise<void>): void {
    this.#closing.push(work)
  }

  /** A header by which the other replica knows that a request was forwarded by one of us, and to it. */
  forwardToken(to: string): string {
    return this.#keys.seal('replica-request', { from: this.id, to, at: this.#now() })
  }

  isForwardToken(text: unknown): boolean {
    const value = this.#keys.open('replica-request', text)
    return value?.to === this.id && this.#isFresh(value.at)
  }

  async close(): Promise<void> {
    clearInterval(this.#timer)
    for (const stop of this.#stops.splice(0)) stop()
    await Promise.all(this.#closing.map((work) => work()))
    // A store that is away forgets the entry by itself.
    await this.store.deleteField(DIRECTORY, this.id).catch(() => undefined)
    await this.store.close()
  }

  #isFresh(at: unknown): boolean {
    return typeof at === 'number' && Math.abs(this.#now() - at) < STALE_MS
  }

  async #beat(): Promise<void> {
    const { id } = this
    try {
      // Later than the last one, also when the clock was set back.
      this.#lastBeat = Math.max(this.#now(), this.#lastBeat + 1)
      const own = { id, url: this.#url, at: this.#lastBeat, ...(this.#status && { status: this.#status() }) }
      const entry = this.#keys.seal('replica', own)
      await this.store.setField(DIRECTORY, id, entry, STALE_MS)
      this.#read(await this.store.fields(DIRECTORY))
      for (const beat of this.#beats) beat()
    } catch {
      // The store is away: what is known of the others stays, and the next beat tries again.
    }
  }

  #read(entries: ReadonlyMap<string, string>): void {
    const now = this.#now()
    for (const [id, entry] of entries) {
      const known = this.#peers.get(id)
      if (id === this.id || known?.entry === entry) continue
      const value = this.#keys.open('replica', entry)
      if (!value || value.id !== id || typeof value.url !== 'string' || !this.#isFresh(value.at)) continue
      if (!isNewer(this.#lastEntry, id, value.at)) continue
      const status = readStatus(value.status)
      this.#peers.set(id, { id, url: value.url, entry, seen: now, ...(status && { status }) })
    }
    for (const [id, { seen }] of this.#peers) {
      if (now - seen <= GONE_MS && entries.has(id)) continue
      this.#peers.delete(id)
      if (entries.has(id)) this.store.deleteField(DIRECTORY, id).catch(() => undefined)
    }
  }

  #received(text: string): void {
    const value = this.#keys.open('replica-message', text)
    if (!isObject(value) || value.from === this.id || !this.#isFresh(value.at)) return
    const from = String(value.from)
    // The store keeps the order of one sender: what is not newer was heard before, and is sent again by another program.
    if (value.number !== undefined && !isNewer(this.#lastHeard, from, value.number)) return
    if (value.kind === 'here') void this.#beat()
    if (value.kind === 'done') this.#isDone(value, from)
    const receivers = [...(this.#receivers.get(value.kind as BusKind) ?? [])]
    const work = receivers.map((receive) => receive(value, from))
    if (value.round === undefined) return
    void Promise.allSettled(work).then(() => this.publish('done', { to: from, done: value.round }))
  }

  #isDone({ to, done }: Json, from: string): void {
    const waiting = to === this.id ? this.#waiting.get(String(done)) : undefined
    if (waiting?.missing.delete(from) && waiting.missing.size === 0) waiting.end()
  }
}

/** Remembers it when it is. Replicas that are long gone are forgotten. */
function isNewer(last: Map<string, number>, id: string, value: unknown): boolean {
  if (typeof value !== 'number' || value <= (last.get(id) ?? Number.NEGATIVE_INFINITY)) return false
  last.delete(id)
  last.set(id, value)
  const [oldest] = last.keys()
  if (last.size > REMEMBERED && oldest !== undefined) last.delete(oldest)
  return true
}
