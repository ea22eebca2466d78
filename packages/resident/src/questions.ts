// questions.ts: the questions of servers and permissions that wait for a user, wherever the user is: at the terminal of the
// client that called, or at a page of the board. The first answer counts, and the other place is told.
import { Cancelled } from '@plugboard/core/errors'

export type QuestionKind = 'permission' | 'elicitation' | 'consent'

export interface OpenQuestion {
  readonly id: number
  readonly kind: QuestionKind
  readonly server: string
  /** Where it comes from, and can be answered too: a terminal, a page, or a client of `connect`. */
  readonly from: 'terminal' | 'page' | 'client'
  /** What that client calls itself. */
  readonly who?: string
  readonly at: number
  /** What is asked: a PermissionQuestion, a Prompt or a SamplingRequest, as JSON. */
  readonly question: unknown
}

export interface ClosedQuestion {
  readonly id: number
  readonly by: 'page' | 'terminal' | 'client' | 'withdrawn'
}

export interface QuestionEvent {
  readonly opened?: OpenQuestion
  readonly closed?: ClosedQuestion
}

interface Waiting {
  readonly asked: OpenQuestion
  readonly settle: (answer: unknown) => void
}

/** What a terminal is told when a page was quicker. */
export const ANSWERED_IN_PAGE = 'answered in the browser'

export class OpenQuestions {
  readonly #waiting = new Map<number, Waiting>()
  readonly #listeners = new Set<(event: QuestionEvent) => void>()
  #next = 1

  list(): readonly OpenQuestion[] {
    return [...this.#waiting.values()].map(({ asked }) => asked)
  }

  onChange(listener: (event: QuestionEvent) => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /** False when it is not open any more: another place was quicker. */
  answer(id: number, answer: unknown): boolean {
    const waiting = this.#waiting.get(id)
    if (!waiting) return false
    this.#close({ id, by: 'page' })
    waiting.settle(answer)
    return true
  }

  /** Whether a page would show a question. */
  get isShown(): boolean {
    return this.#listeners.size > 0
  }

  /** Asks everywhere. `elsewhere` asks where the question comes from; its signal is aborted when a page was quicker. */
  async ask(
    about: Pick<OpenQuestion, 'kind' | 'server' | 'question' | 'from' | 'who'>,
    elsewhere: ((signal: AbortSignal) => Promise<unknown>) | undefined,
    signal: AbortSignal | undefined,
  ): Promise<unknown> {
    const id = this.#next++
    const answered = new AbortController()
    const withdraw = () => answered.abort(signal?.reason)
    if (signal?.aborted) throw new Cancelled()
    signal?.addEventListener('abort', withdraw, { once: true })
    const fromPage = new Promise<unknown>((settle, fail) => {
      const asked = { ...about, id, at: Date.now() }
      this.#waiting.set(id, { asked, settle })
      this.#emit({ opened: asked })
      signal?.addEventListener('abort', () => fail(new Cancelled()), { once: true })
    })
    try {
      return await (elsewhere ? Promise.race([fromPage, elsewhere(answered.signal)]) : fromPage)
    } finally {
      signal?.removeEventListener('abort', withdraw)
      fromPage.catch(() => undefined)
      if (this.#waiting.has(id)) this.#close({ id, by: signal?.aborted ? 'withdrawn' : about.from })
      else answered.abort(new Cancelled(ANSWERED_IN_PAGE))
    }
  }

  #close(closed: ClosedQuestion): void {
    this.#waiting.delete(closed.id)
    this.#emit({ closed })
  }

  #emit(event: QuestionEvent): void {
    for (const listener of this.#listeners) listener(event)
  }
}
