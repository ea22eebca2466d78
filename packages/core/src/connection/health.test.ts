import { describe, expect, it } from 'vitest'
import { RequestTimedOut } from '../async/wait-errors.ts'
import { systemHost } from '../host.ts'
import { CONNECT_LIMITS } from '../limits.ts'
import { Health } from './health.ts'
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
  const state = { heardCount: 0 }
  const session = {
    era,
    inFlight,
    closed: false,
    capabilities: tools ? { tools: {} } : {},
    get heardCount() {
      return state.heardCount
    },
    request: (method: string) => {
      asked.push(method)
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
  return { health, asked, dead, session: session as unknown as Session }
}

const silence = () => Promise.reject(new RequestTimedOut(20))

describe('a local server that let a request time out', () => {
  it('is dead when it says nothing at all', async () => {
    const { health, session, asked, dead } = watched({ answer: silence })
    await health.timedOut(session)
    expect(asked).toEqual(['ping', 'tools/list'])
    expect(dead).toHaveLength(1)
    await health.timedOut(session)
    expect(dead).toHaveLength(1)
  })

  it('is alive when it answers either question', async () => {
    const { health, session, dead } = watched({
      answer: (method) => (method === 'tools/list' ? Promise.resolve({}) : silence()),
    })
    await health.timedOut(session)
    expect(dead).toEqual([])
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

describe('a remote server', () => {
  it('is not restarted because of one request that took too long', async () => {
    const asked: string[] = []
    const health = new Health({ host: systemHost(), local: false, onDead: () => asked.push('dead') })
    // No request may be sent.
    await health.timedOut({} as Session)
    expect(asked).toEqual([])
  })
})
