// The number of sessions is bounded and shared fairly, and a session that is no longer in memory is rebuilt from its id.
import { describe, expect, it } from 'vitest'
import { EVERYTHING } from '../access/exposure.ts'
import { ConcurrencyLimit } from '../access/fair-slots.ts'
import { readHandshake } from '../eras/legacy.ts'
import { makeGateway, onEnd } from '../fixtures/kit.ts'
import { flush } from '../fixtures/requests.ts'
import type { GatewayLimits } from '../index.ts'
import { KeyRing, SpentIds } from '../parts.ts'
import type { SpentRecord } from '../sealing/spent-ids.ts'
import { type HttpSession, Sessions } from './sessions.ts'

const HANDSHAKE = readHandshake({
  protocolVersion: '2025-11-25',
  capabilities: { elicitation: { form: {}, url: {} }, roots: {} },
})
const authorized = (owner: string) => ({ owner, exposure: EVERYTHING, narrow: false })
const keys = KeyRing.ephemeral()

async function opened(limits: Partial<GatewayLimits>, spent: SpentRecord = new SpentIds()) {
  const gateway = await makeGateway([], { limits, keys, spent })
  const sessions = new Sessions(
    gateway,
    new ConcurrencyLimit(gateway.limits.streams, gateway.limits.streamsPerOwner),
  )
  onEnd(() => sessions.close())
  const open = (owner: string): HttpSession | undefined => {
    const made = sessions.make(authorized(owner), HANDSHAKE)
    if (made) sessions.keep(made)
    return made
  }
  return { sessions, open }
}

describe('a place for a session', () => {
  it('is given up by the owner that has used its share, and never by another', async () => {
    const { sessions, open } = await opened({ sessions: 100, sessionsPerOwner: 10 })
    const own = open('modest')
    for (let n = 0; n < 50; n++) expect(open('greedy')).toBeDefined()
    expect(sessions.count).toBe(11)
    expect(await sessions.find(own?.id ?? '', authorized('modest'))).toBe(own)
  })

  it('is given up by the owner that holds most when all are taken, also by a session that only listens', async () => {
    const { sessions, open } = await opened({ sessions: 10, sessionsPerOwner: 8 })
    const theirs = Array.from({ length: 8 }, () => open('greedy'))
    for (const one of theirs) if (one) Object.defineProperty(one, 'idle', { value: false })
    expect(open('a')).toBeDefined()
    expect(open('b')).toBeDefined()
    expect(open('c')).toBeDefined()
    expect(sessions.count).toBe(10)
    // Its own share is used up by sessions that are in use: it has to wait, the others do not.
    for (let n = 0; n < 3; n++) open('greedy')
    expect(open('d')).toBeDefined()
  })

  it('that is not there is told to every request of a session that cannot be rebuilt for now', async () => {
    const { id = '' } = (await opened({})).open('ada') ?? {}
    const { sessions, open } = await opened({ sessions: 1 })
    const busy = open('ada')
    if (busy) Object.defineProperty(busy.session, 'busy', { value: true })
    const tries = [1, 2, 3].map(() => sessions.find(id, authorized('ada')))
    expect(await Promise.all(tries)).toEqual(['full', 'full', 'full'])
  })

  it('is not taken from a session that works on a call', async () => {
    const { open } = await opened({ sessions: 2, sessionsPerOwner: 2 })
    for (const one of [open('a'), open('a')])
      if (one) Object.defineProperty(one.session, 'busy', { value: true })
    expect(open('a')).toBeUndefined()
    expect(open('b')).toBeUndefined()
  })
})

describe('a session id', () => {
  it('opens the session again in another process, for its owner only', async () => {
    const { id = '' } = (await opened({})).open('ada') ?? {}
    const { sessions } = await opened({})
    expect(await sessions.find(id, authorized('eve'))).toBeUndefined()
    const [one, two] = await Promise.all([
      sessions.find(id, authorized('ada')),
      sessions.find(id, authorized('ada')),
    ])
    expect(one).toBe(two)
    expect(one).toMatchObject({
      id,
      session: { protocolVersion: '2025-11-25', capabilities: HANDSHAKE.capabilities },
    })
    expect(await sessions.find(id, authorized('eve'))).toBeUndefined()
    expect(sessions.count).toBe(1)
  })

  it('still opens a session that was evicted', async () => {
    const { sessions, open } = await opened({ sessionsPerOwner: 1 })
    const first = open('ada')
    open('ada')
    expect(await sessions.find(first?.id ?? '', authorized('ada'))).toMatchObject({ id: first?.id })
  })

  it('opens nothing after the client ended the session, here and in the next process', async () => {
    const spent = new SpentIds()
    const { sessions, open } = await opened({}, spent)
    const made = open('ada')
    if (made) await sessions.end(made)
    expect(await sessions.find(made?.id ?? '', authorized('ada'))).toBeUndefined()
    expect(await (await opened({}, spent)).sessions.find(made?.id ?? '', authorized('ada'))).toBeUndefined()
  })

  it('opens nothing in a process that rebuilds the session while another one ends it', async () => {
    const spent = new SpentIds()
    const ending = await opened({}, spent)
    const made = ending.open('ada')
    // The other process looks just before the end is recorded, and gets the answer just after.
    let answer: (isSpent: boolean) => void = () => undefined
    const slow: SpentRecord = {
      isDurable: true,
      add: spent.add.bind(spent),
      has: () => {
        slow.has = spent.has.bind(spent)
        return new Promise<boolean>((done) => {
          answer = done
        })
      },
    }
    const { sessions } = await opened({}, slow)
    const found = sessions.find(made?.id ?? '', authorized('ada'))
    await flush()
    if (made) await ending.sessions.end(made)
    answer(false)
    expect(await found).toBeUndefined()
    expect(sessions.count).toBe(0)
  })

  it('opens nothing at the process that ended it, also when that could not be recorded', async () => {
    const away = { isDurable: false, add: async () => false, has: async () => false }
    const { sessions, open } = await opened({}, away)
    const made = open('ada')
    if (made) await sessions.end(made)
    expect(await sessions.find(made?.id ?? '', authorized('ada'))).toBeUndefined()
  })

  it('opens nothing when it has expired, was changed, or belongs to another gateway', async () => {
    const { id = '' } = (await opened({})).open('ada') ?? {}
    const later = await opened({ sessionMaxMs: 1 })
    await new Promise((done) => setTimeout(done, 5))
    expect(await later.sessions.find(id, authorized('ada'))).toBeUndefined()
    const { sessions } = await opened({})
    for (let at = 0; at < id.length; at += 7) {
      const changed = `${id.slice(0, at)}${id[at] === 'A' ? 'B' : 'A'}${id.slice(at + 1)}`
      expect(await sessions.find(changed, authorized('ada'))).toBeUndefined()
    }
    const other = await makeGateway([])
    const foreign = new Sessions(other, new ConcurrencyLimit(1, 1))
    onEnd(() => foreign.close())
    expect(await foreign.find(id, authorized('ada'))).toBeUndefined()
  })
})
