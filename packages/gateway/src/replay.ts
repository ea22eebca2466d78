// replay.ts: what went out on the streams of one session, for a while, so that a client whose connection broke can ask
// for the rest of a stream by the last event it has seen. It keeps; who is connected is sessions.ts's business.
import { GATEWAY_LIMITS } from '@plugboard/core/limits'
import { written } from './protocol.ts'

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

export class Replay {
  #kept: Kept[] = []
  #chars = 0
  #lastId = 0
  #lastStream = STANDALONE

  /** The number of a new stream. */
  open(): number {
    return ++this.#lastStream
  }

  /** A message as an event that can be asked for again. */
  event(stream: number, message: object): string {
    const id = ++this.#lastId
    const frame = `id: ${stream}-${id}\nevent: message\ndata: ${written(message)}\n\n`
    this.#kept.push({ id, stream, frame })
    this.#chars += frame.length
    while (this.#kept.length > GATEWAY_LIMITS.replayEvents || this.#chars > GATEWAY_LIMITS.replayChars)
      this.#chars -= this.#kept.shift()?.frame.length ?? 0
    return frame
  }

  /** An event without a message: from it on a stream can be asked for again. */
  mark(stream: number): string {
    return `id: ${stream}-${++this.#lastId}\ndata: \n\n`
  }

  /** What is still kept of a stream after an event; undefined when no such event can have been sent. */
  after(eventId: string): Rest | undefined {
    const [, stream, id] = /^(\d{1,15})-(\d{1,15})$/.exec(eventId) ?? []
    if (Number(stream) <= this.#lastStream && Number(id) <= this.#lastId)
      return { stream: Number(stream), frames: this.since(Number(stream), Number(id)) }
    return undefined
  }

  since(stream: number, id: number): readonly string[] {
    return this.#kept.filter((one) => one.stream === stream && one.id > id).map(({ frame }) => frame)
  }

  get lastId(): number {
    return this.#lastId
  }
}
