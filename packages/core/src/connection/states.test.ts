import { describe, expect, it } from 'vitest'
import { InitError, IoError } from '../errors.ts'
import { CONNECT_LIMITS } from '../limits.ts'
import { afterLoss, backoff, probeWait, reconnectPolicy, retryDelay } from './reconnect.ts'
import type { Session } from './session.ts'
import {
  attemptFailed,
  begin,
  type Connected,
  connected,
  disable,
  type Failed,
  idle,
  lost,
  reached,
  renew,
  retry,
  summary,
} from './states.ts'

const policy = { maxAttempts: 3, delayMs: 5000, retryMs: 30_000, retryMaxMs: 300_000, stableMs: 60_000 }
const error = new IoError('gone')
// The reducer only carries the session along.
const session = { protocolVersion: '2025-11-25' } as Session
const up = (from = begin(idle)) => connected(reached(from, 'server-info'), session, 1000, 12)

describe('states', () => {
  it('makes no quick attempts after a first connect that failed, but slow ones', () => {
    const fault = new InitError('no', { stage: 'tools' })
    const next = attemptFailed(begin(idle), fault, policy, 0.5)
    expect(next).toEqual({
      state: {
        kind: 'failed',
        stage: 'tools',
        error: fault,
        retryMs: 30_000,
        spent: 0,
        retries: 0,
      },
    })
  })

  it('retries a failed server without end, ever more slowly up to the limit', () => {
    let { state } = attemptFailed(begin(idle), error, policy, 0.5)
    const waits: number[] = []
    for (let n = 0; n < 8; n++) {
      if (state.kind !== 'failed') throw new Error('expected a failed server')
      waits.push(state.retryMs)
      state = attemptFailed(retry(state, true), error, policy, 0.5).state
    }
    expect(waits).toEqual([30_000, 60_000, 120_000, 240_000, 300_000, 300_000, 300_000, 300_000])
  })

  it('does not slow down because callers asked for it', () => {
    const first = attemptFailed(begin(idle), error, policy, 0.5).state
    if (first.kind !== 'failed') throw new Error('expected a failed server')
    expect(attemptFailed(retry(first, false), error, policy, 0.5).state).toMatchObject({ retryMs: 30_000 })
  })

  it('gives a server that came up late its quick attempts', () => {
    const first = attemptFailed(begin(idle), error, policy, 0.5).state
    if (first.kind !== 'failed') throw new Error('expected a failed server')
    expect(lost(up(retry(first, true)), error, policy, 2000, 0.5)).toMatchObject({
      state: { kind: 'pending', attempt: 1, of: 3 },
    })
  })

  it('fails when the quick attempts are used up, at the stage it had reached', () => {
    const spent = { ...up(), spent: 3 }
    expect(lost(spent, error, policy, 2000, 0.5)).toMatchObject({
      state: { kind: 'failed', stage: 'call' },
    })
  })

  it('counts one attempt of one as that', () => {
    const once = { ...policy, maxAttempts: 1 }
    const next = lost(up(), error, once, 2000, 0.5)
    expect(next).toMatchObject({ state: { kind: 'pending', attempt: 1, of: 1 } })
    if (!('afterMs' in next)) throw new Error('expected another attempt')
    expect(lost(up(next.state), error, once, 2000, 0.5)).toMatchObject({ state: { kind: 'failed' } })
  })

  it('opens a connection again at no cost when the line was not at fault', () => {
    const one = { ...up(), spent: 2, retries: 1 }
    expect(up(renew(one).state)).toMatchObject({ spent: 2, retries: 1 })
  })

  it('tries a lost connection again as often as the policy says, waiting longer each time', () => {
    const waits: number[] = []
    let next = lost(up(), error, policy, 2000, 0.5)
    while ('afterMs' in next) {
      waits.push(next.afterMs)
      next = attemptFailed(reached(next.state, 'transport'), error, policy, 0.5)
    }
    expect(waits).toEqual([5000, 10_000, 15_000])
    expect(next.state).toMatchObject({ kind: 'failed', stage: 'transport', error, retryMs: 30_000 })
  })

  it('goes on counting when a server comes back only to leave again', () => {
    const first = lost(up(), error, policy, 2000, 0.5)
    if (!('afterMs' in first)) throw new Error('expected another attempt')
    const again = lost(up(first.state), error, policy, 2000, 0.5)
    expect(again).toMatchObject({ state: { kind: 'pending', attempt: 2, of: 3 } })
    const muchLater = lost(up(first.state), error, policy, 1000 + policy.stableMs, 0.5)
    expect(muchLater).toMatchObject({ state: { kind: 'pending', attempt: 1, of: 3 } })
  })

  it('fails at once when there are no quick attempts', () => {
    expect(lost(up(), error, { ...policy, maxAttempts: 0 }, 2000, 0)).toMatchObject({
      state: { kind: 'failed' },
    })
  })

  it('tells an idle server from one that is being connected', () => {
    expect(summary(idle)).toEqual({ kind: 'pending', attempt: 0, of: 1 })
    expect(summary(begin(idle))).toEqual({ kind: 'pending', attempt: 1, of: 1, stage: 'client' })
  })

  it('has no way from failed to connected, from connected to a stage, nor out of disabled', () => {
    const failed: Failed = {
      kind: 'failed',
      stage: 'tools',
      error,
      retryMs: 1,
      spent: 0,
      retries: 0,
    }
    const off = disable(idle, { kind: 'config', text: 'off' })
    const live: Connected = up()
    const illegal = [
      // @ts-expect-error a failed server has to begin again first
      () => connected(failed, session, 0, 0),
      // @ts-expect-error a connected server has no stage to reach
      () => reached(live, 'tools'),
      // @ts-expect-error a disabled server does not begin
      () => begin(off),
      // @ts-expect-error only a connected server can be lost
      () => lost(idle, error, policy, 0, 0),
    ]
    expect(illegal).toHaveLength(4)
  })
})

describe('backoff', () => {
  it('moves by a fifth either way, so that servers lost together do not return together', () => {
    expect(backoff(1, 5000, 0)).toBe(4000)
    expect(backoff(1, 5000, 0.999_999)).toBe(6000)
    expect(backoff(3, 5000, 0.5)).toBe(15_000)
  })

  it('takes attempts and delay from the entry, else the defaults', () => {
    expect(reconnectPolicy(undefined)).toMatchObject({ maxAttempts: 3, delayMs: 5000 })
    expect(reconnectPolicy({ maxAttempts: 1, delayMs: 10 })).toMatchObject({ maxAttempts: 1, delayMs: 10 })
    expect(reconnectPolicy({ retryMs: 1000 })).toMatchObject({ retryMs: 1000, retryMaxMs: 300_000 })
    expect(reconnectPolicy({ retryMs: 900_000 })).toMatchObject({ retryMaxMs: 900_000 })
    expect(afterLoss(1, { ...policy, maxAttempts: 1 }, 0)).toEqual({ do: 'fail' })
  })

  it('of slow retries doubles up to its limit, with jitter', () => {
    expect([0, 1, 4, 5000].map((retries) => retryDelay(retries, policy, 0.5))).toEqual([
      30_000, 60_000, 300_000, 300_000,
    ])
    expect(retryDelay(9, policy, 0)).toBe(240_000)
  })
})

describe('a failed server that a caller asks for', () => {
  const quick = { tookMs: 5 }

  it('is tried at once when the last try is a while ago', () => {
    expect(probeWait(undefined, false)).toBe(0)
    expect(probeWait({ ...quick, sinceMs: CONNECT_LIMITS.probeEveryMs }, false)).toBe(0)
  })

  it('is tried in a moment when the caller needs it and the last try is fresh', () => {
    expect(probeWait({ ...quick, sinceMs: 500 }, true)).toBe(CONNECT_LIMITS.probeEveryMs - 500)
  })

  it('is as it was when the caller only wants to know', () => {
    expect(probeWait({ ...quick, sinceMs: CONNECT_LIMITS.probeEveryMs - 1 }, false)).toBeUndefined()
  })

  it('rests as long as its last try took, whatever callers need', () => {
    expect(probeWait({ tookMs: 30_000, sinceMs: 29_000 }, true)).toBeUndefined()
    expect(probeWait({ tookMs: 30_000, sinceMs: 30_000 }, true)).toBe(0)
  })

  it('is not locked out by a clock that was set back', () => {
    expect(probeWait({ ...quick, sinceMs: -3_600_000 }, false)).toBe(0)
  })
})
