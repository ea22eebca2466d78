// traffic.ts: the last messages between this process and its servers. While the recording has a reader, messages are kept as they
// were sent and received, within bounds; before that only what each one was, which costs a call next to nothing.
import { isObject } from '../json.ts'
import { type Era, META } from '../protocol.ts'

/** Memory is bounded by `chars`, which holds for all kept messages together; of a larger message only an outline is kept. */
const TRAFFIC_LIMITS = {
  messages: 10_000,
  chars: 32 * 1024 * 1024,
  messageChars: 256 * 1024,
  /** A longer method or name is not kept. */
  nameChars: 200,
  tellMs: 100,
  /** So long after the last reader left, messages are kept whole. */
  readMs: 10 * 60_000,
} as const

/** From the board to the server, or back. */
export type TrafficDirection = 'sent' | 'received'

interface Recorded {
  readonly number: number
  readonly at: number
  readonly link: TrafficLink
  readonly direction: TrafficDirection
  readonly facts: MessageFacts
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
  readonly kind: 'request' | 'response' | 'error' | 'notification'
  readonly id?: string | number
  readonly method?: string
  /** The tool, prompt or URI of a request. */
  readonly name?: string
  /** The number of the request that a response answers, and how long that took. */
  readonly answers?: number
  readonly durationMs?: number
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
export type TrafficSink = Pick<TrafficRecorder, 'link' | 'record'>

/** A ring of the last messages of all connections of a pool. */
export class TrafficRecorder {
  readonly #now: () => number
  /** By place in the ring. Arrays of their own, so that a message on the hot path makes no object. */
  readonly #messages: unknown[] = new Array(TRAFFIC_LIMITS.messages)
  readonly #ofLink: TrafficLink[] = new Array(TRAFFIC_LIMITS.messages)
  readonly #times = new Float64Array(TRAFFIC_LIMITS.messages)
  readonly #sizes = new Float64Array(TRAFFIC_LIMITS.messages)
  readonly #isSent = new Uint8Array(TRAFFIC_LIMITS.messages)
  #next = 1
  #first = 1
  #size = 0
  #links = 0
  readonly #listeners = new Set<() => void>()
  #isTold = false
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
    const place = number % TRAFFIC_LIMITS.messages
    this.#drop(place)
    this.#first = Math.max(this.#first, number - TRAFFIC_LIMITS.messages + 1)
    this.#times[place] = at
    this.#isSent[place] = direction === 'sent' ? 1 : 0
    this.#ofLink[place] = link
    if (this.#listeners.size === 0 && at > this.#keepsUntil) {
      this.#messages[place] = new MessageFacts(message)
    } else this.#keep(place, message)
  }

  #keep(place: number, message: unknown): void {
    const size = roughSize(message, 0)
    const isCut = size > TRAFFIC_LIMITS.messageChars
    this.#sizes[place] = size
    this.#messages[place] = isCut ? new MessageFacts(message) : message
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
    this.#read()
    const open = new Map<string, Recorded>()
    const found: TrafficEntry[] = []
    for (let number = this.#first; number < this.#next; number++) {
      const one = this.#at(number)
      if (!one) continue
      const entry = entryOf(one, open)
      if (number > after) found.push(entry)
    }
    return found.slice(-limit)
  }

  /** The message itself, or an outline; undefined when it was let go. */
  message(number: number): unknown {
    this.#read()
    if (number < this.#first || number >= this.#next) return undefined
    const kept = this.#messages[number % TRAFFIC_LIMITS.messages]
    return kept instanceof MessageFacts ? kept.outline() : kept
  }

  /** Told soon after new messages, at most once a turn of the event loop. */
  onRecorded(listener: () => void): () => void {
    this.#listeners.add(listener)
    return () => {
      this.#read()
      this.#listeners.delete(listener)
    }
  }

  /** From now on messages are kept whole, for a while. */
  #read(): void {
    this.#keepsUntil = this.#now() + TRAFFIC_LIMITS.readMs
  }

  #at(number: number): Recorded | undefined {
    const place = number % TRAFFIC_LIMITS.messages
    const link = this.#ofLink[place]
    if (!link) return undefined
    const size = this.#sizes[place] ?? 0
    const kept = this.#messages[place]
    const isFacts = kept instanceof MessageFacts
    return {
      number,
      at: this.#times[place] ?? 0,
      link,
      direction: this.#isSent[place] === 1 ? 'sent' : 'received',
      facts: isFacts ? kept : new MessageFacts(kept),
      size,
      kept: isFacts ? (size > 0 ? 'cut' : 'outline') : 'whole',
    }
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

/** What a message is. Texts of the message are referred to, never cut: a cut text would hold the whole one in memory. */
class MessageFacts {
  readonly id: string | number | undefined
  readonly method: string | undefined
  readonly name: string | undefined
  readonly isModern: boolean
  readonly isError: boolean
  readonly isToolError: boolean

  constructor(message: unknown) {
    const { id, method, params, error, result } = isObject(message) ? message : NOTHING
    this.id = typeof id === 'number' ? id : short(id)
    this.method = short(method)
    this.isError = error !== undefined
    this.isToolError = isObject(result) && result.isError === true
    if (isObject(params)) {
      this.name = short(params.name ?? params.uri)
      const { _meta: meta } = params
      this.isModern = isObject(meta) && meta[META.protocolVersion] !== undefined
    } else {
      this.name = undefined
      this.isModern = false
    }
  }

  get era(): Era {
    return this.isModern ? 'modern' : 'legacy'
  }

  outline(): object {
    const { id, method, name } = this
    return {
      jsonrpc: '2.0',
      ...(id !== undefined && { id }),
      ...(method !== undefined && { method, params: { ...(name !== undefined && { name }) } }),
      ...(method === undefined && (this.isError ? { error: NOT_KEPT } : { result: NOT_KEPT })),
    }
  }
}

const NOTHING: Readonly<Record<string, unknown>> = {}
const NOT_KEPT = '(not kept)'

function short(text: unknown): string | undefined {
  if (typeof text !== 'string') return undefined
  return text.length <= TRAFFIC_LIMITS.nameChars ? text : '(too long)'
}

/** What a message is, and which request it answers: `open` holds the requests before it that wait. */
function entryOf(recorded: Recorded, open: Map<string, Recorded>) {
  const { number, at, link, direction, facts, size, kept } = recorded
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
  const key = (by: TrafficDirection) => `${link.id} ${by} ${String(id)}`
  if (method !== undefined) {
    if (id !== undefined) open.set(key(direction), recorded)
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
  const of = request?.facts
  return {
    ...base,
    kind: facts.isError ? 'error' : 'response',
    ...(of?.method !== undefined && { method: of.method, era: of.era }),
    ...(of?.name !== undefined && { name: of.name }),
    ...(request && { answers: request.number, durationMs: at - request.at }),
    ...(facts.isToolError && { toolError: true }),
  } satisfies TrafficEntry
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
