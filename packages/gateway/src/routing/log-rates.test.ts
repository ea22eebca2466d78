// A server that logs without end: its client gets some of it and the number of the rest, and other clients are served.
import { expect, it } from 'vitest'
import { LogRates } from './log-rates.ts'

it('passes on so many messages of a server in a second, and says how many it left out', () => {
  let now = 0
  const rates = new LogRates(2, () => now)
  expect([1, 2, 3, 4].map(() => rates.take('loud'))).toEqual([0, 0, 'drop', 'drop'])
  expect(rates.take('calm')).toBe(0)
  now = 1000
  expect(rates.take('loud')).toBe(2)
  expect(rates.take('loud')).toBe(0)
  expect(rates.take('loud')).toBe('drop')
})
