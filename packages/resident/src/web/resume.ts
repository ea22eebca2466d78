// resume.ts: messages over a connection that may be cut and made again, without a loss or a copy: each side numbers what it
// sends and keeps it until the other has seen it. Used by the resident process and by the page, so it needs neither.

/** A frame is a number, a colon and the message; a frame without a message says what was seen. */
export function messageFrame(number: number, text: string): string {
  return `${number}:${text}`
}

export function seenFrame(number: number): string {
  return `${number}:`
}

export type Frame =
  | { readonly kind: 'message'; readonly number: number; readonly text: string }
  | { readonly kind: 'seen'; readonly number: number }

/** Undefined for anything that is no frame. */
export function readFrame(data: string): Frame | undefined {
  const at = data.indexOf(':')
  const digits = at === -1 ? '' : data.slice(0, at)
  if (!/^\d{1,15}$/.test(digits)) return undefined
  const number = Number(digits)
  return at === data.length - 1
    ? { kind: 'seen', number }
    : { kind: 'message', number, text: data.slice(at + 1) }
}

/** What this side sent and the other has not confirmed. */
export class Outbox {
  #sent = 0
  #chars = 0
  #kept: { readonly number: number; readonly text: string }[] = []

  /** How much is kept, in characters. */
  get chars(): number {
    return this.#chars
  }

  add(text: string): string {
    const number = ++this.#sent
    this.#kept.push({ number, text })
    this.#chars += text.length
    return messageFrame(number, text)
  }

  seen(number: number): void {
    let gone = 0
    while (gone < this.#kept.length && (this.#kept[gone]?.number ?? 0) <= number) {
      this.#chars -= this.#kept[gone]?.text.length ?? 0
      gone++
    }
    if (gone > 0) this.#kept = this.#kept.slice(gone)
  }

  /** What has to be sent again to a side that has seen this much. */
  after(number: number): readonly string[] {
    this.seen(number)
    return this.#kept.map((one) => messageFrame(one.number, one.text))
  }
}

/** What this side has seen. A message that comes twice is taken once; one that is missing shows as a gap. */
export class Inbox {
  #seen = 0

  get seen(): number {
    return this.#seen
  }

  take(number: number): 'new' | 'known' | 'gap' {
    if (number <= this.#seen) return 'known'
    if (number > this.#seen + 1) return 'gap'
    this.#seen = number
    return 'new'
  }
}

/** After this many messages the other side is told what was seen. */
export const CONFIRM_EVERY = 16

/** The first thing the resident process says on a connection. `fresh`: it knows nothing of an earlier one. */
export interface Welcome {
  readonly session: string
  readonly seen: number
  readonly fresh: boolean
}
