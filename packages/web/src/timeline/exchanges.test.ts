import { expect, it } from 'vitest'
import type { TrafficEntry } from '../state/types.ts'
import { EMPTY_FILTER, exchangesOf, matching } from './exchanges.ts'

const request = (number: number, connection: number, more: Partial<TrafficEntry> = {}): TrafficEntry => ({
  number,
  at: number,
  server: 'memory',
  connection,
  direction: 'sent',
  kind: 'request',
  method: 'tools/call',
  name: 'add',
  id: number,
  size: 1,
  ...more,
})
const answer = (number: number, to: number, connection: number): TrafficEntry => ({
  number,
  at: number,
  server: 'memory',
  connection,
  direction: 'received',
  kind: 'response',
  answers: to,
  durationMs: number - to,
  size: 2,
})

it('makes one row of a request and its answer', () => {
  expect(exchangesOf([request(1, 1), answer(2, 1, 1)])).toMatchObject([
    { number: 1, answer: 2, outcome: 'ok', size: 3, durationMs: 1 },
  ])
})

it('says which lost request is sent again, and takes no other for it', () => {
  const again = (...traffic: TrafficEntry[]) => exchangesOf(traffic).at(-1)?.retryOf
  expect(again(request(1, 1), request(2, 2))).toBe(1)
  // Answered; another tool; the same connection; long ago.
  expect(again(request(1, 1), answer(2, 1, 1), request(3, 2))).toBeUndefined()
  expect(again(request(1, 1), request(2, 2, { name: 'other' }))).toBeUndefined()
  expect(again(request(1, 1), request(2, 1))).toBeUndefined()
  expect(again(request(1, 1), request(2, 2, { at: 500_000 }))).toBeUndefined()
})

const end = (number: number, to: number, unanswered: TrafficEntry['unanswered'] & string): TrafficEntry => ({
  ...answer(number, to, 1),
  direction: 'sent',
  kind: 'end',
  unanswered,
  size: 0,
})
const broken = (number: number, carries: number): TrafficEntry => ({
  ...answer(number, carries, 1),
  answers: undefined as never,
  kind: 'http',
  carries,
  http: { method: 'POST', url: 'http://127.0.0.1/mcp', attempt: 1, failure: 'cancelled' },
})

it.each(['cancelled', 'timed out', 'connection closed'] as const)(
  'shows a request that %s as over, whatever comes after it',
  (why) => {
    const over = { number: 1, outcome: why, durationMs: 2 }
    const late = { ...answer(5, 1, 1), isLate: true }
    expect(exchangesOf([request(1, 1), end(3, 1, why)])).toMatchObject([over])
    const rows = exchangesOf([request(1, 1), end(3, 1, why), broken(4, 1), late, end(6, 99, why)])
    expect(rows).toMatchObject([{ ...over, answer: 5 }])
    const kept = (kind: 'cancelled' | 'error') => matching(rows, { ...EMPTY_FILTER, kind }).length
    expect([kept('cancelled'), kept('error')]).toEqual(why === 'cancelled' ? [1, 0] : [0, 1])
  },
)

it('takes a request that ended with its connection for lost, and a cancelled one not', () => {
  const again = (why: 'cancelled' | 'connection closed') =>
    exchangesOf([request(1, 1), end(2, 1, why), request(3, 2)]).at(-1)?.retryOf
  expect(again('connection closed')).toBe(1)
  expect(again('cancelled')).toBeUndefined()
})
