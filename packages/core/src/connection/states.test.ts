import { describe, expect, it } from 'vitest'
import { InitError, IoError } from '../errors.ts'
import { afterLoss, backoff, reconnectPolicy } from './reconnect.ts'
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
  summary,
} from './states.ts'

const policy = { maxAttempts: 3, delayMs: 5000, stableMs: 60_000 }
const error = new IoError('gone')
// The reducer only carries the session along.
const session = { protocolVersion: '2025-11-25' } as Session
const up = (from = begin(idle)) => connected(reached(from, 'server-info'), session, 1000, 12)

describe('states', () => {
  it('does not try a first connect again by itself', () => {
    const fault = new InitError('no', { stage: 'tools' })
    expect(attemptFailed(begin(idle), fault, policy, 0)).toEqual({
      state: { kind: 'failed', stage: 'tools', error: fault },
    })
  })

  it('tries a lost connection again as often as the policy says, waiting longer each time', () => {
    const waits: number[] = []
    let next = lost(up(), error, policy, 2000, 0.5)
    while ('afterMs' in next) {
      waits.push(next.afterMs)
      next = attemptFailed(reached(next.state, 'transport'), error, policy, 0.5)
    }
    expect(waits).toEqual([5000, 10_000, 15_000])
    expect(next.state).toEqual({ kind: 'failed', stage: 'transport', error })
  })

  it('goes on counting when a server comes back only to leave again', () => {
    const first = lost(up(), error, policy, 2000, 0.5)
    if (!('afterMs' in first)) throw new Error('expected another attempt')
    const again = lost(up(first.state), error, policy, 2000, 0.5)
    expect(again).toMatchObject({ state: { kind: 'pending', attempt: 2, of: 3 } })
    const muchLater = lost(up(first.state), error, policy, 1000 + policy.stableMs, 0.5)
    expect(muchLater).toMatchObject({ state: { kind: 'pending', attempt: 1, of: 3 } })
  })

  it('fails at once when reconnecting is switched off', () => {
    expect(lost(up(), error, { ...policy, maxAttempts: 0 }, 2000, 0)).toMatchObject({
      state: { kind: 'failed' },
    })
  })

  it('tells an idle server from one that is being connected', () => {
    expect(summary(idle)).toEqual({ kind: 'pending', attempt: 0, of: 1 })
    expect(summary(begin(idle))).toEqual({ kind: 'pending', attempt: 1, of: 1, stage: 'client' })
  })

  it('has no way from failed to connected, from connected to a stage, nor out of disabled', () => {
    const failed: Failed = { kind: 'failed', stage: 'tools', error }
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
    expect(afterLoss(1, { maxAttempts: 1, delayMs: 10, stableMs: 0 }, 0)).toEqual({ do: 'fail' })
  })
})
