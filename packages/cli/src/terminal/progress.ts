// progress.ts: one line on stderr with the progress of a call, on a terminal only; it is erased at the end.
import type { Progress } from '@plugboard/core/tools'
import { cursor } from '../colors.ts'
import type { Output } from '../output.ts'
import { oneLine } from '../shared/one-line.ts'
import { canRedraw, columnsOf, write } from '../streams.ts'

const QUIET_MS = 700
const FRAME_MS = 100
const BAR = 24

export class ProgressLine {
  readonly #output: Output
  readonly #visible: boolean
  #timer: NodeJS.Timeout | undefined
  #label = ''
  #since = 0
  #last: Progress | undefined
  #drawn = false
  #hidden = 0

  constructor(output: Output) {
    this.#output = output
    this.#visible = canRedraw(2) && !output.quiet
  }

  /** A call that ends quickly shows nothing. */
  start(label: string): void {
    this.#label = oneLine(label, 60)
    this.#since = Date.now()
    if (this.#visible) this.#timer = setInterval(() => this.#draw(), FRAME_MS).unref()
  }

  progress(progress: Progress): void {
    this.#last = progress
    if (this.#visible) this.#draw()
    else if (this.#output.verbose) this.#output.note(this.#text(80))
  }

  /** Is hidden for a question, and comes back after it. */
  async aside<T>(work: () => Promise<T>): Promise<T> {
    this.#hidden++
    this.#clear()
    try {
      return await work()
    } finally {
      this.#hidden--
    }
  }

  end(): void {
    clearInterval(this.#timer)
    this.#timer = undefined
    this.#clear()
  }

  #draw(): void {
    if (this.#hidden > 0 || !this.#timer) return
    if (!this.#last && Date.now() - this.#since < QUIET_MS) return
    write(2, `${cursor.home()}${cursor.eraseLine()}${this.#text(columnsOf(2) - 1)}`)
    this.#drawn = true
  }

  #clear(): void {
    if (this.#drawn) write(2, cursor.home() + cursor.eraseLine())
    this.#drawn = false
  }

  #text(columns: number): string {
    const seconds = `${((Date.now() - this.#since) / 1000).toFixed(1)} s`
    const { progress = 0, total, message } = this.#last ?? {}
    const said = message === undefined ? '' : ` ${oneLine(message, 80)}`
    if (total === undefined || !(total > 0))
      return `${this.#label} … ${this.#last && message === undefined ? `${progress} ` : ''}${seconds}${said}`.slice(
        0,
        columns,
      )
    const { bar, percent } = barOf(progress / total, BAR)
    return `${this.#label} ${bar} ${percent} % (${progress}/${total}) ${seconds}${said}`.slice(0, columns)
  }
}

/** A fraction, drawn and in numbers, whatever values a server sends. */
export function barOf(share: number, chars: number): { readonly bar: string; readonly percent: number } {
  const within = Math.min(1, Math.max(0, share))
  const full = Math.round(within * chars)
  return { bar: '█'.repeat(full) + '░'.repeat(chars - full), percent: Math.round(within * 100) }
}
