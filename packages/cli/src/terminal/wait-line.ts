// wait-line.ts: one line on stderr that says which servers are still starting. On a terminal it updates and is erased
// before anything else is written; elsewhere one plain line is enough.
import type { Board } from '@plugboard/core'
import { cursor } from '../colors.ts'
import type { Output } from '../output.ts'
import { oneLine } from '../shared/one-line.ts'
import { canRedraw, columnsOf, transient, write } from '../streams.ts'

const QUIET_MS = 300
const FRAME_MS = 100
/** In a log, only a long wait is worth a line. */
const LOGGED_MS = 10_000
const NAMES = 4

export class WaitLine {
  readonly #output: Output
  readonly #board: Board
  readonly #redraws: boolean
  readonly #since = new Map<string, number>()
  readonly #logged = new Set<string>()
  readonly #timer: NodeJS.Timeout
  readonly #unlisten: () => void
  #hidden = 0
  #erase: (() => void) | undefined

  constructor(board: Board, output: Output) {
    this.#board = board
    this.#output = output
    this.#redraws = canRedraw(2)
    // A board in another process tells its states to those who listen.
    this.#unlisten = board.on('state', () => undefined)
    this.#timer = setInterval(() => this.#look(), FRAME_MS).unref()
  }

  /** Is hidden for a question, and comes back after it. */
  async aside<T>(work: () => Promise<T>): Promise<T> {
    this.#hidden++
    this.#erase?.()
    try {
      return await work()
    } finally {
      this.#hidden--
    }
  }

  end(): void {
    clearInterval(this.#timer)
    this.#unlisten()
    this.#erase?.()
  }

  #look(): void {
    if (this.#hidden > 0) return
    const now = Date.now()
    const starting = this.#board
      .servers()
      .filter(({ state, attempt = 0 }) => state === 'pending' && attempt > 0)
    for (const name of this.#since.keys())
      if (!starting.some((server) => server.name === name)) this.#since.delete(name)
    for (const { name } of starting) if (!this.#since.has(name)) this.#since.set(name, now)
    if (this.#redraws) this.#draw(now)
    else this.#log(now)
  }

  #draw(now: number): void {
    const late = [...this.#since].filter(([, since]) => now - since >= QUIET_MS)
    this.#erase?.()
    const [first] = late
    if (!first) return
    const names = late.slice(0, NAMES).map(([name]) => oneLine(name, 40))
    const more = late.length > NAMES ? ` and ${late.length - NAMES} more` : ''
    const text = `${names.join(', ')}${more} … starting ${((now - first[1]) / 1000).toFixed(1)} s`
    write(2, text.slice(0, columnsOf(2) - 1))
    this.#erase = transient(() => {
      this.#erase = undefined
      write(2, cursor.home() + cursor.eraseLine())
    })
  }

  #log(now: number): void {
    for (const [name, since] of this.#since)
      if (now - since >= LOGGED_MS && !this.#logged.has(name)) {
        this.#logged.add(name)
        this.#output.note(`${oneLine(name, 80)} is still starting after ${LOGGED_MS / 1000} s.`)
      }
  }
}
