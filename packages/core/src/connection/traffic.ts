// traffic.ts: the last messages between this process and its servers. While the recording has a reader, messages are kept as they
// were sent and received, within bounds; before that only what each one was, which costs a call next to nothing. What is kept beside
// the messages is in traffic-notes.ts.
import { isObject } from '../json.ts'
import type { Era } from '../protocol.ts'
import type { WireExchange } from '../transports/wire-exchange.ts'
import type { Unanswered } from './json-rpc.ts'
import {
  EndNote,
  HookedCalls,
  HookNote,
  HttpNote,
  type TrafficHook,
  type TrafficHookRun,
  type TrafficHttp,
  type TrafficNote,
} from './traffic-notes.ts'
import { MessageFacts, Outlines } from './traffic-outlines.ts'

/** Memory is bounded by `chars`, which holds for all kept messages together; of a larger message only an outline is kept. */
const TRAFFIC_LIMITS = {
  messages: 10_000,
  chars: 32 * 1024 * 1024,
  messageChars: 256 * 1024,
  tellMs: 100,
  /** So long after the last reader left, messages are kept whole. */
  readMs: 10 * 60_000,
  /** The request of a hook that ran after it is looked for among so many of the last messages. */
  lookBack: 500,
} as const

/** From the board to the server, or back. */
export type TrafficDirection = 'sent' | 'received'

interface Recorded {
  readonly number: number
  readonly at: number
  readonly link: TrafficLink
  readonly direction: TrafficDirection
  readonly facts: MessageFacts | TrafficNote
  readonly size: number
  readonly kept: 'whole' | 'cut' | 'outline'
}

/** One connection whose messages are recorded. */
export interface TrafficLink {
  readonly id: number
  readonly server: string
}

/** A message as readers see it. */
export interface TrafficEntry {
  /** Grows by one with every message. */
  readonly number: number
  /** Milliseconds since the epoch. */
  readonly at: number
  readonly server: string
  readonly connection: number
  readonly era?: Era
  readonly direction: TrafficDirection
  /** `end` is a request that ended without an answer. */
  readonly kind: 'request' | 'response' | 'error' | 'notification' | 'http' | 'hook' | 'end'
  readonly id?: string | number
  readonly method?: string
  /** The tool, prompt or URI of a request. */
  readonly name?: string
  /** The number of the request that a response answers, or that ended without one, and how long that took. */
  readonly answers?: number
  readonly durationMs?: number
  readonly unanswered?: Unanswered
  /** A response to a request that had ended without one. */
  readonly isLate?: boolean
  /** Of an HTTP exchange: the number of the request that it carried. */
  readonly carries?: number
  readonly http?: TrafficHttp
  readonly hook?: TrafficHook
  /** A call and the hooks around it have the same. */
  readonly call?: number
  /** A tool's own error (`isError`). */
  readonly toolError?: boolean
  /** In characters, roughly; an upper limit is not looked beyond. */
  readonly size: number
  /** The message was too large to be kept. */
  readonly isCut?: boolean
  /** It was recorded while the recording had no reader: only what it was is known, and no size. */
  readonly isOutline?: boolean
}

/** Where a connection tells its messages. */
export type TrafficSink = Pick<TrafficRecorder, 'link' | 'record'> &
  Partial<Pick<TrafficRecorder, 'exchanged' | 'unanswered'>>

/** Only what the message was is known. */
const OUTLINE = Symbol('outline')

/**
 * A ring of the last messages of all connections of a pool.
 *
 * @example
 * const traffic = new TrafficRecorder()
 * const pool = new ConnectionPool({ traffic })
 * const stop = traffic.onRecorded(() => console.log(traffic.entries().at(-1)?.method))
 * stop()
 * await pool.close()
 */
export class TrafficRecorder {
  readonly #now: () => number
  /** By place in the ring. Arrays of their own, so that a message on the hot path makes no object. */
  readonly #messages: unknown[] = new Array(TRAFFIC_LIMITS.messages)
  readonly #ofLink: TrafficLink[] = new Array(TRAFFIC_LIMITS.messages)
  readonly #times = new Float64Array(TRAFFIC_LIMITS.messages)
  readonly #sizes = new Float64Array(TRAFFIC_LIMITS.messages)
  readonly #isSent = new Uint8Array(TRAFFIC_LIMITS.messages)
  readonly #outlines = new Outlines(TRAFFIC_LIMITS.messages)
  #next = 1
  #first = 1
  #size = 0
  #links = 0
  readonly #listeners = new Set<() => void>()
  #isTold = false
  readonly #hooked = new HookedCalls()
  /** By the number of the request. */
  readonly #calls = new Map<number, number>()
  /** Until when messages are kept whole; listeners count as readers for as long as they stay. */
  #keepsUntil = 0

  constructor(now: () => number = Date.now) {
    this.#now = now
  }

  link(server: string): TrafficLink {
    return { id: ++this.#links, server }
  }

  record(link: TrafficLink, direction: TrafficDirection, message: unknown): void {
    const at = this.#now()
    const number = this.#next++
    const place = this.#take(number, at, link, direction)
    if (!this.#hooked.isEmpty && direction === 'sent') this.#linkToHooks(number, message)
    if (this.#isRead(at)) this.#keep(place, message)
    else {
      this.#messages[place] = OUTLINE
      this.#outlines.set(place, message)
    }
  }

  /** An HTTP exchange of a connection. While there is no reader, only those are kept that did not go well at once. */
  exchanged(link: TrafficLink, exchange: WireExchange, hide: (text: string) => string): void {
    const { attempt, outcome } = exchange
    const isOrdinary = attempt === 1 && 'status' in outcome && outcome.status < 400
    if (isOrdinary && !this.#isRead(this.#now())) return
    this.#note(link, new HttpNote(exchange, hide))
  }

  /** A request that ended without an answer. */
  unanswered(link: TrafficLink, direction: TrafficDirection, id: string | number, why: Unanswered): void {
    this.#note(link, new EndNote(id, why), direction)
  }

  hookRan(run: TrafficHookRun): void {
    const call = this.#hooked.ran(run, (args) => {
      const number = this.#sentWith(args)
      return number === undefined ? undefined : (found) => this.#belongsTo(number, found)
    })
    this.#note({ id: 0, server: run.server }, new HookNote(run, call))
  }

  #note(link: TrafficLink, note: TrafficNote, direction: TrafficDirection = 'sent'): void {
    const number = this.#next++
    this.#keep(this.#take(number, this.#now(), link, direction), note)
  }

  #take(number: number, at: number, link: TrafficLink, direction: TrafficDirection): number {
    const place = number % TRAFFIC_LIMITS.messages
    this.#drop(place)
    this.#first = Math.max(this.#first, number - TRAFFIC_LIMITS.messages + 1)
    this.#times[place] = at
    this.#isSent[place] = direction === 'sent' ? 1 : 0
    this.#ofLink[place] = link
    return place
  }

  #isRead(at: number): boolean {
    return this.#listeners.size > 0 || at <= this.#keepsUntil
  }

  #linkToHooks(number: number, message: unknown): void {
    const args = argumentsOf(message)
    const call = args && this.#hooked.sent(args)
    if (call !== undefined) this.#belongsTo(number, call)
  }

  #belongsTo(number: number, call: number): void {
    this.#calls.set(number, call)
    for (const oldest of this.#calls.keys()) {
      if (oldest >= this.#first) break
      this.#calls.delete(oldest)
    }
  }

  /** The number of the request with these very arguments, if it is among the last messages. */
  #sentWith(args: object): number | undefined {
    const until = Math.max(this.#first, this.#next - TRAFFIC_LIMITS.lookBack)
    for (let number = this.#next - 1; number >= until; number--)
      if (argumentsOf(this.#messages[number % TRAFFIC_LIMITS.messages]) === args) return number
    return undefined
  }

  #keep(place: number, message: unknown): void {
    const size = roughSize(message, 0)
    const isCut = size > TRAFFIC_LIMITS.messageChars
    this.#sizes[place] = size
    this.#messages[place] = isCut ? MessageFacts.of(message) : message
    if (!isCut) this.#size += size
    // The newest message stays: alone it is far below the limit.
    while (this.#size > TRAFFIC_LIMITS.chars) this.#drop(this.#first++ % TRAFFIC_LIMITS.messages)
    if (!this.#isTold) this.#tell()
  }

  /** The number of the newest message; 0 before the first. */
  get last(): number {
    return this.#next - 1
  }

  /** Messages after a number, oldest first: at most `limit`, the newest ones. */
  entries(after = 0, limit: number = TRAFFIC_LIMITS.messages): readonly TrafficEntry[] {
    this.#extendReading()
    const open = new Map<string, Open>()
    const found: TrafficEntry[] = []
    for (let number = this.#first; number < this.#next; number++) {
      const one = this.#at(number)
      if (!one) continue
      const entry = entryOf(one, open)
      const call = this.#calls.get(number)
      if (number > after) found.push(call === undefined ? entry : { ...entry, call })
    }
    return found.slice(-limit)
  }

  /** The message itself, or an outline; undefined when it was let go. */
  message(number: number): unknown {
    this.#extendReading()
    if (number < this.#first || number >= this.#next) return undefined
    const kept = this.#keptAt(number % TRAFFIC_LIMITS.messages)
    if (isNote(kept)) return kept.shown
    return kept instanceof MessageFacts ? kept.outline() : kept
  }

  /** Told soon after new messages, at most once a turn of the event loop. */
  onRecorded(listener: () => void): () => void {
    this.#listeners.add(listener)
    return () => {
      this.#extendReading()
      this.#listeners.delete(listener)
    }
  }

  /** From now on messages are kept whole, for a while. */
  #extendReading(): void {
    this.#keepsUntil = this.#now() + TRAFFIC_LIMITS.readMs
  }

  #at(number: number): Recorded | undefined {
    const place = number % TRAFFIC_LIMITS.messages
    const link = this.#ofLink[place]
    if (!link) return undefined
    const size = this.#sizes[place] ?? 0
    const kept = this.#keptAt(place)
    const isFacts = kept instanceof MessageFacts
    return {
      number,
      at: this.#times[place] ?? 0,
      link,
      direction: this.#isSent[place] === 1 ? 'sent' : 'received',
      facts: isFacts || isNote(kept) ? kept : MessageFacts.of(kept),
      size,
      kept: isFacts ? (size > 0 ? 'cut' : 'outline') : 'whole',
    }
  }

  #keptAt(place: number): unknown {
    const kept = this.#messages[place]
    return kept === OUTLINE ? this.#outlines.at(place) : kept
  }

  #drop(place: number): void {
    const size = this.#sizes[place] ?? 0
    if (size <= TRAFFIC_LIMITS.messageChars) this.#size -= size
    this.#sizes[place] = 0
    this.#messages[place] = undefined
  }

  #tell(): void {
    this.#isTold = true
    setTimeout(() => {
      this.#isTold = false
      for (const listener of this.#listeners) listener()
    }, TRAFFIC_LIMITS.tellMs).unref()
  }
}

function isNote(kept: unknown): kept is TrafficNote {
  return kept instanceof HttpNote || kept instanceof HookNote || kept instanceof EndNote
}

function argumentsOf(message: unknown): object | undefined {
  const params = isObject(message) && message.method === 'tools/call' ? message.params : undefined
  const args = isObject(params) ? params.arguments : undefined
  return isObject(args) ? args : undefined
}

/** A request that waits for its answer. */
interface Open {
  readonly number: number
  readonly at: number
  readonly facts: MessageFacts
  /** It ended without an answer; one may still come. */
  readonly isOver?: boolean
}

/** What a message is, and which request it answers: `open` holds the requests before it that wait. */
function entryOf(recorded: Recorded, open: Map<string, Open>): TrafficEntry {
  const { number, at, link, direction, facts, size, kept } = recorded
  if (!(facts instanceof MessageFacts)) return noteEntry(recorded, facts, open)
  const { id, method, name } = facts
  const base = {
    number,
    at,
    server: link.server,
    connection: link.id,
    direction,
    size,
    ...(kept === 'cut' && { isCut: true }),
    ...(kept === 'outline' && { isOutline: true }),
    ...(id !== undefined && { id }),
  }
  const key = (by: TrafficDirection) => openKey(link, by, id)
  if (method !== undefined) {
    if (id !== undefined) open.set(key(direction), { number, at, facts })
    return {
      ...base,
      kind: id === undefined ? 'notification' : 'request',
      method,
      era: facts.era,
      ...(name !== undefined && { name }),
    } satisfies TrafficEntry
  }
  const asked = key(direction === 'sent' ? 'received' : 'sent')
  const request = open.get(asked)
  open.delete(asked)
  return {
    ...base,
    kind: facts.isError ? 'error' : 'response',
    ...answering(request, at),
    ...(request?.isOver && { isLate: true }),
    ...(facts.isToolError && { toolError: true }),
  } satisfies TrafficEntry
}

/** What is known of the request that ended at a time. */
function answering(request: Open | undefined, at: number): Partial<TrafficEntry> {
  if (!request) return {}
  const { method, era, name } = request.facts
  return {
    ...(method !== undefined && { method, era }),
    ...(name !== undefined && { name }),
    answers: request.number,
    durationMs: at - request.at,
  }
}

function openKey({ id: link }: TrafficLink, by: TrafficDirection, id: string | number | undefined): string {
  return `${link} ${by} ${String(id)}`
}

function noteEntry(
  { number, at, link, direction, size }: Recorded,
  note: TrafficNote,
  open: Map<string, Open>,
): TrafficEntry {
  const base = { number, at, server: link.server, connection: link.id, direction, size }
  if (note instanceof HookNote) return { ...base, ...note.entry() }
  if (note instanceof EndNote) {
    const { messageId: id, why: unanswered } = note
    const key = openKey(link, direction, id)
    const request = open.get(key)
    if (request) open.set(key, { ...request, isOver: true })
    return { ...base, kind: 'end', id, unanswered, ...answering(request, at) }
  }
  const carried = note.messageId === undefined ? undefined : open.get(openKey(link, 'sent', note.messageId))
  return { ...base, ...note.entry(), ...(carried && { carries: carried.number }) }
}

/** `size` and the characters of all texts, and about four for anything else; counting stops past the limit of a message. */
function roughSize(value: unknown, size: number): number {
  let sum = size + 4
  if (typeof value === 'string') return sum + value.length
  if (typeof value !== 'object' || value === null) return sum
  if (Array.isArray(value)) {
    for (let at = 0; at < value.length && sum <= TRAFFIC_LIMITS.messageChars; at++)
      sum = roughSize(value[at], sum)
    return sum
  }
  for (const key in value) {
    if (sum > TRAFFIC_LIMITS.messageChars) return sum
    sum = roughSize((value as Readonly<Record<string, unknown>>)[key], sum + key.length)
  }
  return sum
}
