import { describe, expect, it } from 'vitest'
import { RequestTimedOut } from '../async/wait-errors.ts'
import { systemHost } from '../host.ts'
import { CONNECT_LIMITS } from '../limits.ts'
import { Health, type HealthOptions } from './health.ts'
import { ChannelClosed, JsonRpcError } from './request-errors.ts'
import type { Session } from './session.ts'

interface Script {
  readonly era?: Session['era']
  readonly tools?: boolean
  readonly inFlight?: number
  answer(method: string, session: { heardCount: number }): Promise<unknown>
}

function watched({ era = 'legacy', tools = true, inFlight = 0, answer }: Script) {
  const asked: string[] = []
  const sentWith: unknown[] = []
  const state = { heardCount: 0 }
  const session = {
    era,
    inFlight,
    closed: false,
    capabilities: tools ? { tools: {} } : {},
    get heardCount() {
      return state.heardCount
    },
    request: (method: string, _params: unknown, options: unknown) => {
      asked.push(method)
      sentWith.push(options)
      return answer(method, state)
    },
  }
  const dead: unknown[] = []
  const health = new Health({
    host: systemHost(),
    local: true,
    onDead: (error) => dead.push(error),
    deafMs: 20,
  })
  // Only the members of a session that are used here.
  return { health, asked, sentWith, dead, session: session as unknown as Session }
}

const silence = () => Promise.reject(new RequestTimedOut(20))

describe('a local server that let a request time out', () => {
  it('is dead when it says nothing at all', async () => {
    const { health, session, asked, sentWith, dead } = watched({ answer: silence })
    await health.timedOut(session)
    expect(asked).toEqual(['ping', 'tools/list'])
    const quietly = { timeoutMs: 20, quiet: true, background: true }
    expect(sentWith).toEqual([quietly, quietly])
    expect(dead).toHaveLength(1)
    await health.timedOut(session)
    expect(dead).toHaveLength(1)
  })

  it('is alive when it answers either question', async () => {
    const { health, session, asked, dead } = watched({
      answer: (method) => (method === 'tools/list' ? Promise.resolve({}) : silence()),
    })
    await health.timedOut(session)
    expect(dead).toEqual([])
    const before = asked.length
    await health.timedOut(session)
    expect(asked).toHaveLength(2 * before)
  })

  it('is alive when it only knows how to say no', async () => {
    const { health, session, dead } = watched({
      tools: false,
      answer: () => Promise.reject(new JsonRpcError(-32601, 'no such method')),
    })
    await health.timedOut(session)
    expect(dead).toEqual([])
  })

  it('is alive when it goes on reporting the progress of something else', async () => {
    const { health, session, dead } = watched({
      answer: (_method, state) => {
        state.heardCount++
        return silence()
      },
    })
    await health.timedOut(session)
    expect(dead).toEqual([])
  })

  it('is asked what its era has', async () => {
    const { health, session, asked } = watched({ era: 'modern', tools: false, answer: silence })
    await health.timedOut(session)
    expect(asked).toEqual(['server/discover'])
  })

  it('is asked more often while it may be busy with other requests', async () => {
    const { health, session, asked, dead } = watched({ inFlight: 2, tools: false, answer: silence })
    await health.timedOut(session)
    expect(asked).toHaveLength(CONNECT_LIMITS.deafChecks)
    expect(dead).toHaveLength(1)
  })

  it('is left alone when it ended meanwhile', async () => {
    const { health, session, dead } = watched({
      answer: () => {
        Object.assign(session, { closed: true })
        return Promise.reject(new ChannelClosed(true))
      },
    })
    await health.timedOut(session)
    expect(dead).toEqual([])
  })

  it('is asked once at a time, however many requests timed out', async () => {
    const { health, session, asked } = watched({ tools: false, answer: silence })
    await Promise.all([health.timedOut(session), health.timedOut(session), health.timedOut(session)])
    expect(asked).toHaveLength(1)
  })
})

/** A server whose heartbeat is watched by a clock that the test moves. */
function remote(options: Partial<HealthOptions> & { readonly era?: Session['era'] } = {}) {
  const { era = 'legacy', ...more } = options
  const timers: { readonly ms: number; readonly fire: () => void }[] = []
  const clock = { now: 1_000_000 }
  const host = systemHost({
    now: () => clock.now,
    backgroundTimer: (ms, callback) => {
      const stop = () => {
        if (timers.includes(timer)) timers.splice(timers.indexOf(timer), 1)
      }
      const fire = () => {
        stop()
        callback()
      }
      const timer = { ms, fire }
      timers.push(timer)
      return stop
    },
  })
  const pings: unknown[] = []
  let answer: () => Promise<unknown> = () => Promise.resolve({})
  const session = {
    era,
    lastHeard: clock.now,
    request: (method: string, params: unknown, how: unknown) => {
      pings.push([method, params, how])
      return answer()
    },
  }
  const dead: unknown[] = []
  const health = new Health({ host, local: false, onDead: (error) => dead.push(error), ...more })
  return {
    health,
    timers,
    pings,
    dead,
    // Only the members of a session that are used here.
    session: session as unknown as Session,
    /** The timer fires; the server was last heard so long ago and answers like this. */
    beat: async (quietFor: number, with_: () => Promise<unknown> = () => Promise.resolve({})) => {
      answer = with_
      session.lastHeard = clock.now - quietFor
      timers[0]?.fire()
      await new Promise((done) => setImmediate(done))
    },
  }
}

const { heartbeatMs, heartbeatTimeoutMs, terminalErrors } = CONNECT_LIMITS
const refused = () => Object.assign(new Error('refused'), { code: 'ECONNREFUSED' })

describe('a remote server', () => {
  it('is not restarted because of one request that took too long', async () => {
    const { health, session, pings, dead } = remote()
    await health.timedOut(session)
    expect([pings, dead]).toEqual([[], []])
  })

  it.each([
    ['just now', 0, 0],
    ['a moment ago', heartbeatMs - 1, 0],
    ['long ago', heartbeatMs, 1],
    ['in the future, because the clock was set back', -1, 1],
  ])('that was heard %s is pinged as often as it must be', async (_, quietFor, expected) => {
    const { health, session, timers, pings, beat } = remote()
    health.watch(session)
    expect(timers).toMatchObject([{ ms: heartbeatMs }])
    await beat(quietFor)
    const how = { timeoutMs: heartbeatTimeoutMs, background: true }
    expect(pings).toEqual(Array.from({ length: expected }, () => ['ping', undefined, how]))
    expect(timers).toHaveLength(1)
  })

  it('is watched by the times that it is given, by one timer, until it is stopped', async () => {
    const { health, session, timers, pings, beat } = remote({ heartbeatMs: 7, heartbeatTimeoutMs: 3 })
    health.watch(session)
    health.watch(session)
    expect(timers).toMatchObject([{ ms: 7 }])
    await beat(7)
    expect(pings).toMatchObject([['ping', undefined, { timeoutMs: 3 }]])
    health.stop()
    expect(timers).toEqual([])
  })

  it.each([{ local: true }, { era: 'modern' as const }])('is not watched when it is %j', (options) => {
    const { health, session, timers } = remote(options)
    health.watch(session)
    expect(timers).toEqual([])
  })

  it.each([
    ['times out', () => Promise.reject(new RequestTimedOut(3)), true],
    ['cannot be reached', () => Promise.reject(refused()), true],
    ['says no', () => Promise.reject(new JsonRpcError(-32601, 'no such method')), false],
    ['fails otherwise', () => Promise.reject(new Error('odd')), false],
    ['answers', () => Promise.resolve({}), false],
  ])('that %s on every ping', async (_, answer, isDead) => {
    const { health, session, timers, dead, beat } = remote()
    health.watch(session)
    for (let at = 1; at < terminalErrors; at++) await beat(heartbeatMs, answer)
    expect(dead).toEqual([])
    expect(timers).toHaveLength(1)
    await beat(heartbeatMs, answer)
    expect(dead).toHaveLength(isDead ? 1 : 0)
    expect(timers).toHaveLength(isDead ? 0 : 1)
  })

  it.each([
    ['answers', () => Promise.resolve({})],
    ['says no', () => Promise.reject(new JsonRpcError(-32601, 'no such method'))],
  ])('that %s in between starts again from zero', async (_, answer) => {
    const { health, session, dead, beat } = remote()
    health.watch(session)
    for (let round = 0; round < 2; round++) {
      for (let at = 1; at < terminalErrors; at++) health.bad(refused())
      await beat(heartbeatMs, answer)
    }
    expect(dead).toEqual([])
  })
})

describe('errors of the transport', () => {
  it('count once each, and only those that mean that the connection is lost', () => {
    const { health, dead } = remote()
    const last = refused()
    for (const error of ['text', undefined, null, 7, new Error('odd'), refused(), refused()])
      for (let times = 0; times < terminalErrors; times++) health.bad(error)
    expect(dead).toEqual([])
    health.bad(last)
    expect(dead).toEqual([last])
    for (let more = 0; more < 2 * terminalErrors; more++) health.bad(refused())
    expect(dead).toHaveLength(1)
  })

  it('do not count after the connection was closed, nor does silence', async () => {
    const { health, session, pings, dead } = remote({ local: true })
    health.stop()
    for (let more = 0; more < terminalErrors; more++) health.bad(refused())
    await health.timedOut(session)
    expect([pings, dead]).toEqual([[], []])
  })

  it('of a local server leave it the usual time', async () => {
    const asked: unknown[] = []
    const health = new Health({ host: systemHost(), local: true, onDead: (error) => asked.push(error) })
    const request = (_method: string, _params: unknown, how: unknown) => {
      asked.push(how)
      return silence()
    }
    // Only the members of a session that are used here.
    const session = { era: 'legacy', capabilities: {}, inFlight: 0, request } as unknown as Session
    await health.timedOut(session)
    const { deafMs: timeoutMs } = CONNECT_LIMITS
    expect(asked).toMatchObject([{ timeoutMs }, { message: new RequestTimedOut(timeoutMs).message }])
  })
})
