// Which sessions stay in memory: how long idle ones do, whose go with their owner, and what an administrator sees of them.
import { afterEach, expect, it, vi } from 'vitest'
import { EVERYTHING, readExposure } from '../access/exposure.ts'
import { ConcurrencyLimit } from '../access/fair-slots.ts'
import { readHandshake } from '../eras/legacy.ts'
import { makeGateway, onEnd } from '../fixtures/kit.ts'
import { openSessionId, sealSessionId } from './session-ids.ts'
import { Sessions } from './sessions.ts'

afterEach(() => vi.useRealTimers())
const HANDSHAKE = readHandshake({
  protocolVersion: '2025-11-25',
  capabilities: {},
  clientInfo: { name: 'editor', version: '1' },
})

async function opened() {
  const gateway = await makeGateway([], { limits: { sessionIdleMs: 100_000, sessionMaxMs: 1_000_000 } })
  vi.useFakeTimers({ toFake: ['Date', 'setInterval', 'clearInterval'], now: 1_000_000 })
  const sessions = new Sessions(gateway, new ConcurrencyLimit(10, 10))
  onEnd(() => {
    vi.useRealTimers()
    return sessions.close()
  })
  const open = (owner: string, user?: string) => {
    const who = {
      owner,
      exposure: EVERYTHING,
      narrow: false,
      ...(user && { user: { key: user, name: user, roles: [] } }),
    }
    const made = sessions.make(who, HANDSHAKE)
    if (!made) throw new Error('there is no place')
    sessions.keep(made)
    return made
  }
  return { gateway, sessions, open }
}

it('a session that is not used for long is dropped, and can be had again by its id', async () => {
  const { sessions, open } = await opened()
  const [idle, used] = [open('a'), open('a')]
  const busy = open('a')
  Object.defineProperty(busy.session, 'busy', { value: true })
  vi.advanceTimersByTime(100_000)
  expect(sessions.count).toBe(3)
  sessions.inMemory(used.id, { owner: 'a', exposure: EVERYTHING, narrow: false })
  vi.advanceTimersByTime(10_000)
  expect(sessions.infos().map(({ id }) => id)).toEqual([used.claims.sid, busy.claims.sid])
  vi.useFakeTimers({ toFake: ['Date'], now: 1_200_000 })
  const who = { owner: 'a', exposure: EVERYTHING, narrow: false }
  const again = await sessions.find(idle.id, who)
  expect(again && again !== 'full' && again.claims.sid).toBe(idle.claims.sid)
  expect(await sessions.find(idle.id, { ...who, owner: 'b' })).toBeUndefined()
})

it('the sessions of an owner go with its access, and those of others stay', async () => {
  const { sessions, open } = await opened()
  const [one, two, other] = [open('a'), open('a'), open('b')]
  const narrow = readExposure(['one'])
  sessions.restrict({ owner: 'a', exposure: narrow, narrow: true })
  expect([one, two, other].map(({ session }) => session.exposure === narrow)).toEqual([true, true, false])
  sessions.dropOwner('a')
  sessions.dropOwner('nobody')
  expect([sessions.count, sessions.bySid(one.claims.sid), sessions.bySid(other.claims.sid)]).toEqual([
    1,
    undefined,
    other,
  ])
  await sessions.end(other)
  expect(sessions.count).toBe(0)
  expect(await sessions.find(other.id, { owner: 'b', exposure: EVERYTHING, narrow: false })).toBeUndefined()
})

it('an administrator sees whose a session is, and how long it was idle', async () => {
  const { sessions, open } = await opened()
  open('0123456789abcdef')
  const named = open('x', 'ada')
  named.session.restore(HANDSHAKE)
  vi.setSystemTime(1_009_400)
  expect(sessions.infos()).toEqual([
    { id: expect.any(String), user: '0123456789ab', streaming: false, busy: false, idleSeconds: 9 },
    {
      id: named.claims.sid,
      user: 'ada',
      userKey: 'ada',
      client: 'editor',
      protocolVersion: '2025-11-25',
      streaming: false,
      busy: false,
      idleSeconds: 9,
    },
  ])
})

it('an id opens its own session, for its own owner and purpose, until it ends', async () => {
  const { gateway } = await opened()
  const who = { owner: 'a', exposure: EVERYTHING, narrow: false }
  const { id, sid, until } = sealSessionId(gateway, 'session', who, HANDSHAKE, { name: 'editor' })
  const open = (owner = 'a', purpose: 'session' | 'sse-session' = 'session') =>
    openSessionId(gateway, purpose, { ...who, owner }, id)
  expect(open()).toEqual({ sid, until, handshake: { ...HANDSHAKE, clientName: 'editor' } })
  expect([open('b'), open('a', 'sse-session')]).toEqual([undefined, undefined])
  vi.setSystemTime(until - 1)
  expect(open()).toBeDefined()
  vi.setSystemTime(until)
  expect(open()).toBeUndefined()
  vi.setSystemTime(1_000_000)
  const good = { sid: 's', owner: 'a', version: '2025-11-25', can: {}, iat: 1_000_000 }
  const odd = (more: object) =>
    openSessionId(gateway, 'session', who, gateway.keys.seal('session', { ...good, ...more }))
  expect(odd({})).toBeDefined()
  for (const more of [{ sid: 5 }, { version: 5 }, { iat: 'x' }, { version: '1999-01-01' }, { owner: 5 }])
    expect(odd(more)).toBeUndefined()
})
