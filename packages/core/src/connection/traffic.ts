// traffic.ts: the last messages between this process and its servers, as they were sent and received. Recording keeps a
// reference and a rough size, nothing else; what a message means is worked out when somebody reads it.
import { isObject } from '../json.ts'
import { type Era, META } from '../protocol.ts'

/** Memory is bounded by `chars`, which holds for all kept messages together; of a larger message only an outline is kept. */
const TRAFFIC_LIMITS = {
  messages: 10_000,
  chars: 32 * 1024 * 1024,
  messageChars: 256 * 1024,
  tellMs: 100,
} as const

/** From the board to the server, or back. */
export type TrafficDirection = 'sent' | 'received'

interface Recorded {
  readonly number: number
  readonly at: number
  readonly link: TrafficLink
  readonly direction: TrafficDirection
  readonly message: unknown
  readonly size: number
  readonly isCut: boolean
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
}

/** Where a connection tells its messages. */
export type TrafficSink = Pick<TrafficRecorder, 'link' | 'record'>

/** A ring of the last messages of all connections of a pool. */
export class TrafficRecorder {
  readonly #now: () => number
  /** By place in the ring. Arrays of their own, so that a message on the hot path makes no object. */
  readonly #messages: unknown[] = new Array(TRAFFIC_LIMITS.messages)
  readonly #ofLink: TrafficLink[] = new Array(TRAFFIC_LIMITS.messages)
  readonly #numbers = new Float64Array(TRAFFIC_LIMITS.messages)
  readonly #times = new Float64Array(TRAFFIC_LIMITS.messages)
  readonly #sizes = new Float64Array(TRAFFIC_LIMITS.messages)
  readonly #isSent = new Uint8Array(TRAFFIC_LIMITS.messages)
  #next = 1
  #first = 1
  #size = 0
  #links = 0
  readonly #listeners = new Set<() => void>()
  #isTold = false

  constructor(now: () => number = Date.now) {
    this.#now = now
  }

  link(server: string): TrafficLink {
    return { id: ++this.#links, server }
  }

  record(link: TrafficLink, direction: TrafficDirection, message: unknown): void {
    const size = roughSize(message, 0)
    const number = this.#next++
    const place = number % TRAFFIC_LIMITS.messages
    this.#drop(place)
    const isCut = size > TRAFFIC_LIMITS.messageChars
    this.#numbers[place] = number
    this.#times[place] = this.#now()
    this.#sizes[place] = size
    this.#isSent[place] = direction === 'sent' ? 1 : 0
    this.#ofLink[place] = link
    this.#messages[place] = isCut ? outlineOf(message) : message
    if (!isCut) this.#size += size
    while (this.#size > TRAFFIC_LIMITS.chars && this.#first < number)
      this.#drop(this.#first++ % TRAFFIC_LIMITS.messages)
    if (number - this.#first >= TRAFFIC_LIMITS.messages) this.#first = number - TRAFFIC_LIMITS.messages + 1
    if (this.#listeners.size > 0 && !this.#isTold) this.#tell()
  }

  /** The number of the newest message; 0 before the first. */
  get last(): number {
    return this.#next - 1
  }

  /** Messages after a number, oldest first: at most `limit`, the newest ones. */
  entries(after = 0, limit: number = TRAFFIC_LIMITS.messages): readonly TrafficEntry[] {
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

  /** The message itself; undefined when it was let go. */
  message(number: number): unknown {
    return this.#at(number)?.message
  }

  /** Told soon after new messages, at most once a turn of the event loop. */
  onRecorded(listener: () => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  #at(number: number): Recorded | undefined {
    const place = number % TRAFFIC_LIMITS.messages
    const link = this.#ofLink[place]
    if (this.#numbers[place] !== number || !link) return undefined
    const size = this.#sizes[place] ?? 0
    return {
      number,
      at: this.#times[place] ?? 0,
      link,
      direction: this.#isSent[place] === 1 ? 'sent' : 'received',
      message: this.#messages[place],
      size,
      isCut: size > TRAFFIC_LIMITS.messageChars,
    }
  }

  #drop(place: number): void {
    if (this.#numbers[place] === 0) return
    const size = this.#sizes[place] ?? 0
    if (size <= TRAFFIC_LIMITS.messageChars) this.#size -= size
    this.#numbers[place] = 0
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

/** What a message is, and which request it answers: `open` holds the requests before it that wait. */
function entryOf(
  { number, at, link, direction, message, size, isCut }: Recorded,
  open: Map<string, Recorded>,
) {
  const given = isObject(message) ? message : {}
  const id = typeof given.id === 'string' || typeof given.id === 'number' ? given.id : undefined
  const method = typeof given.method === 'string' ? given.method : undefined
  const base = {
    number,
    at,
    server: link.server,
    connection: link.id,
    direction,
    size,
    ...(isCut && { isCut }),
  }
  const key = (by: TrafficDirection) => `${link.id} ${by} ${String(id)}`
  if (method !== undefined) {
    const name = nameOf(given.params)
    if (id !== undefined) open.set(key(direction), { number, at, link, direction, message, size, isCut })
    return {
      ...base,
      kind: id === undefined ? 'notification' : 'request',
      method,
      era: eraOf(given.params),
      ...(id !== undefined && { id }),
      ...(name !== undefined && { name }),
    } satisfies TrafficEntry
  }
  const asked = key(direction === 'sent' ? 'received' : 'sent')
  const request = open.get(asked)
  open.delete(asked)
  const params = isObject(request?.message) ? request.message : {}
  const name = nameOf(params.params)
  return {
    ...base,
    kind: given.error === undefined ? 'response' : 'error',
    ...(id !== undefined && { id }),
    ...(typeof params.method === 'string' && { method: params.method, era: eraOf(params.params) }),
    ...(name !== undefined && { name }),
    ...(request && { answers: request.number, durationMs: at - request.at }),
    ...(isObject(given.result) && given.result.isError === true && { toolError: true }),
  } satisfies TrafficEntry
}

function nameOf(params: unknown): string | undefined {
  if (!isObject(params)) return undefined
  const name = params.name ?? params.uri
  return typeof name === 'string' ? name : undefined
}

function eraOf(params: unknown): Era {
  const meta = isObject(params) ? params._meta : undefined
  return isObject(meta) && meta[META.protocolVersion] !== undefined ? 'modern' : 'legacy'
}

/** Enough of a large message to say what it was. */
function outlineOf(message: unknown): unknown {
  if (!isObject(message)) return undefined
  const { jsonrpc, id, method, params, error, result } = message
  const outline = isObject(params) ? { name: params.name, uri: params.uri, _meta: params._meta } : params
  return {
    jsonrpc,
    ...(id !== undefined && { id }),
    ...(method !== undefined && { method, params: outline }),
    ...(error !== undefined && { error: '(too large to be kept)' }),
    ...(result !== undefined && {
      result: { isError: isObject(result) ? result.isError : undefined, content: '(too large to be kept)' },
    }),
  }
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
