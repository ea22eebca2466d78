// Login attempts at the edges of their time, and values of another release.
import { describe, expect, it } from 'vitest'
import { freshKey, KeyRing } from '../sealing/key-ring.ts'
import { MemoryStore } from '../store/memory-store.ts'
import { LoginAttempts, type LoginVisit } from './login-attempts.ts'

function scene() {
  const clock = { now: 1000 }
  const keys = new KeyRing([freshKey()])
  const store = new MemoryStore(() => clock.now)
  const attempts = new LoginAttempts(store, keys, () => clock.now)
  const attempt = attempts.begin({ key: 'k', name: 'ada', roles: [] }, 'one', 5000)
  const depart = async () => {
    let state = ''
    await attempts.depart(attempt, 'cookie', async (given) => {
      state = given
      return { step: 'login', pending: {} } as unknown as LoginVisit
    })
    return state
  }
  return { clock, keys, store, attempts, attempt, depart }
}

describe('a login attempt', () => {
  it('is good until its time is over, to the moment', async () => {
    const { clock, attempts, attempt, depart } = scene()
    const ticket = attempts.ticket(attempt)
    const [first, second] = [await depart(), await depart()]
    clock.now = attempt.until - 1
    expect(attempts.openTicket(ticket)).toEqual(attempt)
    expect(await attempts.arrive(first, 'cookie')).toMatchObject({ attempt, step: 'login' })
    clock.now = attempt.until
    expect([attempts.openTicket(ticket), await attempts.arrive(second, 'cookie')]).toEqual([
      undefined,
      undefined,
    ])
    expect(await attempts.wait(attempt, new AbortController().signal)).toBeUndefined()
  })

  it.each([
    { id: 7 },
    { server: undefined },
    { user: 'ada' },
    { user: { key: 'k' } },
    { user: { name: 'ada' } },
  ])('is nothing with %j of another release', async (wrong) => {
    const { keys, attempts, attempt } = scene()
    const sealed = (more: object) => keys.seal('user-login-ticket', { ...attempt, ...more })
    expect(attempts.openTicket(sealed({}))).toEqual(attempt)
    expect(attempts.openTicket(sealed({ challenge: { scope: 's' } }))).toEqual({
      ...attempt,
      challenge: { scope: 's' },
    })
    expect(attempts.openTicket(sealed({ challenge: 7 }))).toEqual(attempt)
    expect(attempts.openTicket(sealed(wrong))).toBeUndefined()
  })

  it('ends for who waits with its outcome, a login that is found elsewhere, or the caller', async () => {
    const { attempts, attempt } = scene()
    const { signal } = new AbortController()
    expect(await attempts.wait(attempt, signal, async () => true)).toEqual({ ok: true })
    const waiting = attempts.wait(attempt, signal, () => Promise.reject(new Error('away')))
    await attempts.finish(attempt, { ok: false, reason: 'declined' })
    expect(await waiting).toEqual({ ok: false, reason: 'declined' })
    expect(await attempts.outcome({ id: 'other' })).toBeUndefined()
    const stop = new AbortController()
    const other = attempts.begin(attempt.user, 'two', 5000)
    const given = attempts.wait(other, stop.signal)
    stop.abort()
    await expect(given).rejects.toThrow()
    await attempts.finish(other, { ok: true })
    expect(await attempts.wait(other, signal)).toEqual({ ok: true })
  })

  it('counts the visits to a place from which nothing came', async () => {
    const { attempts } = scene()
    await attempts.departed('https://a')
    await attempts.departed('https://a')
    expect([await attempts.unanswered('https://a'), await attempts.unanswered('https://b')]).toEqual([2, 0])
    await attempts.answered('https://a')
    expect(await attempts.unanswered('https://a')).toBe(0)
  })
})
