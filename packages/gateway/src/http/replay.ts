// replay.ts: the recent events of the streams of one session, so that a client whose connection broke can ask for
// the rest of a stream by the last event it has seen. It only keeps them; sessions.ts knows who is connected.
import { GATEWAY_LIMITS } from '@plugboard/core/limits'
import { type Id, isId, written } from '../json-rpc.ts'

interface Kept {
  readonly id: number
  readonly stream: number
  readonly frame: string
}

export interface Rest {
  readonly stream: number
  readonly frames: readonly string[]
}

/** The stream for what belongs to no request. */
export const STANDALONE = 0

const EVENT_ID = /^(\d{1,15})-(\d{1,15})(?:-([A-Za-z0-9_-]{1,200}))?(?:~([A-Za-z0-9]{1,32}))?$/

export class Replay {
  readonly #base: number
  #kept: Kept[] = []
  #chars = 0
  #lastId: number
  #lastStream: number
  /** By stream, the request that it answers, as it is written in event ids. */
  readonly #requests = new Map<number, string>()
  readonly #replica: string | undefined

  /** Numbers start after `base`, so those of an earlier process are never mistaken for its own. */
  constructor(base = 0, replica?: string) {
    this.#replica = replica
    this.#base = base
    this.#lastId = base
    this.#lastStream = base
  }

  /** The number of a new stream, and the request that it answers. */
  open(request?: Id): number {
    const stream = ++this.#lastStream
    const text = request === undefined ? '' : Buffer.from(JSON.stringify(request)).toString('base64url')
    if (text !== '' && text.length <= 200) this.#requests.set(stream, text)
    if (this.#requests.size > GATEWAY_LIMITS.replayEvents) {
      const [oldest] = this.#requests.keys()
      if (oldest !== undefined) this.#requests.delete(oldest)
    }
    return stream
  }

  /** A message as an event that can be asked for again. */
  event(stream: number, message: object): string {
    const id = ++this.#lastId
    const frame = `id: ${this.#named(stream, id)}\nevent: message\ndata: ${written(message)}\n\n`
    this.#kept.push({ id, stream, frame })
    this.#chars += frame.length
    while (this.#kept.length > GATEWAY_LIMITS.replayEvents || this.#chars > GATEWAY_LIMITS.replayChars)
      this.#chars -= this.#kept.shift()?.frame.length ?? 0
    return frame
  }

  #named(stream: number, id: number): string {
    const request = this.#requests.get(stream)
    const name = request === undefined ? `${stream}-${id}` : `${stream}-${id}-${request}`
    // The rest of an answer is had from the replica that gives it; the stream of the session can be anywhere.
    return this.#replica === undefined || stream === STANDALONE ? name : `${name}~${this.#replica}`
  }

  /** An event without a message: a stream can be resumed from it on. */
  mark(stream: number): string {
    return `id: ${this.#named(stream, ++this.#lastId)}\ndata: \n\n`
  }

  /** What is still kept of a stream after an event; undefined when no such event can have been sent. */
  after(eventId: string): Rest | undefined {
    const [, one, two] = EVENT_ID.exec(eventId) ?? []
    const [stream, id] = [Number(one), Number(two)]
    const isOurs = stream === STANDALONE || (stream > this.#base && stream <= this.#lastStream)
    if (!isOurs || !(id >= this.#base && id <= this.#lastId)) return undefined
    return { stream, frames: this.since(stream, id) }
  }

  since(stream: number, id: number): readonly string[] {
    return this.#kept.filter((one) => one.stream === stream && one.id > id).map(({ frame }) => frame)
  }

  get lastId(): number {
    return this.#lastId
  }
}

/** The replica that an event of an answer came from. */
export function replicaOf(eventId: string): string | undefined {
  return EVENT_ID.exec(eventId)?.[4]
}

/** The request whose stream an event was on, as far as its id tells; also for an earlier process. */
export function requestOf(eventId: string): Id | undefined {
  const [, , , request] = EVENT_ID.exec(eventId) ?? []
  if (request === undefined) return undefined
  try {
    const id: unknown = JSON.parse(Buffer.from(request, 'base64url').toString('utf8'))
    return isId(id) ? id : undefined
  } catch {
    // Not an event id of ours.
    return undefined
  }
}
