// The requests that are being answered, with plain objects in place of HTTP responses and a clock that the tests move.
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import type { Reply } from '../json-rpc.ts'
import { OpenResponses } from './open-responses.ts'

const TICK_MS = 1000
beforeEach(() => void vi.useFakeTimers({ now: 0 }))
afterEach(() => void vi.useRealTimers())

/** A response that notes what happens to it, in order. */
function noted() {
  const events: unknown[] = []
  return {
    events,
    finish: (reply: Reply | undefined) => void events.push(reply?.error),
    leave: () => void events.push('left'),
    keepAlive: (now: number) => void events.push(now),
  }
}

it('is kept alive at every tick while it is open, and no longer', () => {
  const open = new OpenResponses()
  const [first, second] = [noted(), noted()]
  const request = open.add(first, 1, 'ada')
  vi.advanceTimersByTime(TICK_MS)
  open.add(second, 2, 'ada')
  vi.advanceTimersByTime(TICK_MS)
  open.delete(request)
  vi.advanceTimersByTime(TICK_MS)
  expect(first.events).toEqual([TICK_MS, 2 * TICK_MS])
  expect(second.events).toEqual([2 * TICK_MS, 3 * TICK_MS])
})

it('needs one timer for all, none soon after the last is answered, and one again for the next', () => {
  const open = new OpenResponses()
  const requests = [open.add(noted(), 1, 'ada'), open.add(noted(), 2, 'ada')]
  expect(vi.getTimerCount()).toBe(1)
  for (const request of requests) open.delete(request)
  vi.advanceTimersByTime(TICK_MS)
  expect(vi.getTimerCount()).toBe(0)
  const next = noted()
  open.add(next, 3, 'ada')
  vi.advanceTimersByTime(TICK_MS)
  expect(next.events).toEqual([2 * TICK_MS])
})

it('of an owner that lost access is answered first and then left; those of others stay open', () => {
  const open = new OpenResponses()
  const [one, two, other] = [noted(), noted(), noted()]
  open.add(one, 1, 'ada')
  open.add(other, 2, 'eve')
  open.add(two, 3, 'ada')
  open.endOf('ada')
  const withdrawn = expect.objectContaining({ message: 'The token was withdrawn.' })
  expect([one.events, two.events, other.events]).toEqual([[withdrawn], [withdrawn], []])
  vi.advanceTimersByTime(0)
  expect([one.events, two.events, other.events]).toEqual([[withdrawn, 'left'], [withdrawn, 'left'], []])
})

it('is waited for at shutdown; the last answer ends the wait', async () => {
  const open = new OpenResponses()
  const [first, second] = [noted(), noted()]
  const requests = [open.add(first, 1, 'ada'), open.add(second, 2, 'ada')]
  let drained = false
  const drain = open.drain(60_000).then(() => {
    drained = true
  })
  for (const request of requests) {
    await vi.advanceTimersByTimeAsync(TICK_MS / 4)
    expect(drained).toBe(false)
    open.delete(request)
  }
  await drain
  expect([first.events, second.events]).toEqual([[], []])
  expect(vi.getTimerCount()).toBe(0)
})

it('has an unknown outcome when it is still open after the time of the shutdown', async () => {
  const open = new OpenResponses()
  const late = noted()
  open.add(late, 1, 'ada')
  const drain = open.drain(TICK_MS / 2)
  await vi.advanceTimersByTimeAsync(TICK_MS / 2)
  await drain
  await vi.advanceTimersByTimeAsync(2 * TICK_MS)
  expect(late.events).toEqual([
    expect.objectContaining({ data: expect.objectContaining({ code: 'OUTCOME_UNKNOWN' }) }),
    'left',
  ])
  expect(vi.getTimerCount()).toBe(0)
})

it('does not delay a shutdown when there is none', async () => {
  const open = new OpenResponses()
  const drain = open.drain(60_000)
  expect(vi.getTimerCount()).toBe(0)
  await drain
})
