// index-bar.ts: the progress of indexing on stderr: one line with a bar, percent and time left on a terminal, a line at each
// tenth elsewhere.
import { cursor } from '../colors.ts'
import type { Output } from '../output.ts'
import { canRedraw, columnsOf, transient, write } from '../streams.ts'
import { barOf } from './progress.ts'

/** As the code search server reports it; `of` may still grow. */
export interface IndexStep {
  readonly part: 'text' | 'meaning'
  readonly done: number
  readonly of: number
}

const BAR = 24
/** An estimate from less work than this would jump. */
const ESTIMATE_SHARE = 0.03

export class IndexBar {
  readonly #output: Output
  readonly #now: () => number
  readonly #redraws: boolean
  #part: IndexStep['part'] | undefined
  #since = 0
  #logged = ''
  #erase: (() => void) | undefined

  constructor(output: Output, now: () => number) {
    this.#output = output
    this.#now = now
    this.#redraws = canRedraw(2) && !output.quiet
  }

  step(step: IndexStep): void {
    // What is embedded is only known once everything is cut: until then the total grows and nothing is done.
    if (step.part !== this.#part || step.done === 0) this.#since = this.#now()
    this.#part = step.part
    if (this.#redraws) this.#draw(step)
    else this.#log(step)
  }

  end(): void {
    this.#erase?.()
  }

  #draw(step: IndexStep): void {
    this.#erase?.()
    write(2, indexLine(step, this.#now() - this.#since).slice(0, columnsOf(2) - 1))
    this.#erase = transient(() => {
      this.#erase = undefined
      write(2, cursor.home() + cursor.eraseLine())
    })
  }

  #log({ part, done, of }: IndexStep): void {
    const percent = Math.floor((done / Math.max(1, of)) * 10) * 10
    const key = `${part} ${percent}`
    if (key === this.#logged || of === 0) return
    this.#logged = key
    this.#output.note(`${LABEL[part]}: ${percent} % (${done} of ${of} ${UNIT[part]})`)
  }
}

const LABEL = { text: 'Indexing', meaning: 'Indexing by meaning' } as const
const UNIT = { text: 'files', meaning: 'chunks' } as const

/** `Indexing ████░░░░ 42 % (5000 of 11959 files) 12 s left` */
export function indexLine({ part, done, of }: IndexStep, elapsedMs: number): string {
  if (of === 0 || (part === 'meaning' && done === 0))
    return `${LABEL[part]} … ${of === 0 ? 'looking at the files' : `${of} ${UNIT[part]} so far`}`
  const { bar, percent } = barOf(done / of, BAR)
  const left = done / of < ESTIMATE_SHARE ? '' : ` ${timeLeft((elapsedMs / done) * (of - done))} left`
  return `${LABEL[part]} ${bar} ${percent} % (${done} of ${of} ${UNIT[part]})${left}`
}

function timeLeft(ms: number): string {
  const seconds = Math.ceil(ms / 1000)
  return seconds < 90 ? `${seconds} s` : `${Math.ceil(seconds / 60)} min`
}
