import { expect, it } from 'vitest'
import type { TrafficEntry } from '../state/types.ts'
import { exchangesOf } from './exchanges.ts'

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
