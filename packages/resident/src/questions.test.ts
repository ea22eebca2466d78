import { expect, it } from 'vitest'
import { ANSWERED_IN_PAGE, OpenQuestions, type QuestionEvent } from './questions.ts'

const ABOUT = { kind: 'permission', server: 'memory', question: {}, from: 'terminal' } as const

function asked(terminal?: (signal: AbortSignal) => Promise<unknown>, signal?: AbortSignal) {
  const questions = new OpenQuestions()
  const events: QuestionEvent[] = []
  questions.onChange((event) => events.push(event))
  return { questions, events, answer: questions.ask(ABOUT, terminal, signal) }
}

/** A terminal that waits until it is told that the question is closed. */
const waiting = (told: (reason: unknown) => void) => (signal: AbortSignal) =>
  new Promise((_, fail) => {
    signal.addEventListener('abort', () => {
      told(signal.reason)
      fail(signal.reason)
    })
  })

it('takes the answer of the page, and tells the terminal', async () => {
  let told: unknown
  const { questions, answer, events } = asked(
    waiting((reason) => {
      told = reason
    }),
  )
  expect(questions.list()).toMatchObject([{ id: 1, from: 'terminal' }])
  expect(questions.answer(1, 'once')).toBe(true)
  expect(await answer).toBe('once')
  expect(told).toMatchObject({ message: ANSWERED_IN_PAGE })
  expect(questions.answer(1, 'no')).toBe(false)
  expect(events.at(-1)).toEqual({ closed: { id: 1, by: 'page' } })
})

it('takes the answer of the terminal, and tells the pages', async () => {
  const { questions, answer, events } = asked(async () => 'no')
  expect(await answer).toBe('no')
  expect(events.at(-1)).toEqual({ closed: { id: 1, by: 'terminal' } })
  expect(questions.list()).toEqual([])
})

it('withdraws a question with the call that it belongs to', async () => {
  const controller = new AbortController()
  const { questions, answer, events } = asked(undefined, controller.signal)
  controller.abort()
  await expect(answer).rejects.toMatchObject({ code: 'CANCELLED' })
  expect(events.at(-1)).toEqual({ closed: { id: 1, by: 'withdrawn' } })
  expect(questions.list()).toEqual([])
})
