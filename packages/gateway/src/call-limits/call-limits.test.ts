// How many calls a user may make: at a time, per minute, per day; by role and by tool; alone and with other replicas.
import { JsonRpcError } from '@plugboard/core'
import { describe, expect, it } from 'vitest'
import type { CallLimitsConfig } from '../config/schema.ts'
import { MemoryStore } from '../store/memory-store.ts'
import { CallLimits, type Counted } from './call-limits.ts'

const who = (key: string, ...roles: string[]): Counted => ({
  owner: `o-${key}`,
  user: { key, name: key, roles },
})

async function outcome(limits: CallLimits, caller: Counted, tool: string | undefined = 't', server = 's') {
  return Promise.resolve(limits.enter(caller, server, tool)).then(
    (admission) => () => admission.leave(),
    (error: unknown) => (error instanceof JsonRpcError ? error.message : String(error)),
  )
}
/** How many of so many calls that never end are let in. */
async function letIn(limits: CallLimits, caller: Counted, calls: number, tool?: string) {
  let count = 0
  for (let call = 0; call < calls; call++)
    if (typeof (await outcome(limits, caller, tool)) === 'function') count++
  return count
}

describe('calls at a time', () => {
  it('are as many as the limit, and one that ends makes room once', async () => {
    const limits = new CallLimits({ user: { concurrent: 2 } })
    const first = await limits.enter(who('a'), 's', 't')
    await limits.enter(who('a'), 's', undefined)
    expect(await outcome(limits, who('a'))).toBe(
      'RATE_LIMITED: you may make 2 calls at a time. Try again in 1 second.',
    )
    expect(await letIn(limits, who('b'), 3)).toBe(2)
    first.leave()
    first.leave()
    expect(await letIn(limits, who('a'), 3)).toBe(1)
  })

  it('are counted for the owner where the user has no name', async () => {
    const limits = new CallLimits({ user: { concurrent: 1 } })
    expect(await letIn(limits, { owner: 'x' }, 2)).toBe(1)
    expect(await letIn(limits, { owner: 'y' }, 2)).toBe(1)
  })

  it('that another limit refuses hold nothing', async () => {
    const limits = new CallLimits({ user: { concurrent: 5 }, tools: { 's.t': { concurrent: 1 } } })
    expect(await letIn(limits, who('a'), 3, 't')).toBe(1)
    expect(await letIn(limits, who('a'), 9, 'other')).toBe(4)
    const daily = new CallLimits({ user: { concurrent: 5, perDay: 1 } })
    const running = await daily.enter(who('a'), 's', 't')
    expect(await letIn(daily, who('a'), 9)).toBe(0)
    running.leave()
    daily.replace({ user: { concurrent: 5 } })
    expect(await letIn(daily, who('a'), 9)).toBe(5)
  })

  it('are not limited where nothing says so', async () => {
    expect(await letIn(new CallLimits({}), who('a'), 50)).toBe(50)
    expect(await letIn(new CallLimits({ user: {} }), who('a'), 50)).toBe(50)
  })
})

describe('calls per minute and per day', () => {
  it.each<[CallLimitsConfig['user'], number]>([
    [{ perMinute: 60 }, 10],
    [{ perMinute: 60, burst: 3 }, 3],
    [{ perMinute: 1 }, 1],
    [{ perDay: 4 }, 4],
  ])('%j lets %i in at once', async (user, count) => {
    expect(await letIn(new CallLimits({ user }), who('a'), 20)).toBe(count)
  })

  it('say when to come back', async () => {
    const rate = new CallLimits({ user: { perMinute: 6, burst: 1 } })
    await rate.enter(who('a'), 's', 't')
    await expect(rate.enter(who('a'), 's', 't')).rejects.toMatchObject({
      message: 'RATE_LIMITED: you may make 6 calls per minute. Try again in 10 seconds.',
      data: { code: 'RATE_LIMITED', retryAfterSeconds: 10 },
    })
    const day = new CallLimits({ user: { perDay: 1 } })
    await day.enter(who('a'), 's', 't')
    expect(await outcome(day, who('a'))).toMatch(/1 calls per day\. Try again in \d+ seconds?\.$/)
  })
})

describe('roles and tools', () => {
  const config: CallLimitsConfig = {
    user: { concurrent: 1 },
    roles: { many: { concurrent: 3 }, more: { concurrent: 5 }, free: { perDay: 100 } },
    tools: { 's.get_*': { concurrent: 2 } },
  }
  it.each<[string[], number]>([
    [[], 1],
    [['unknown'], 1],
    [['many'], 3],
    [['many', 'more'], 5],
    [['many', 'free'], 20],
  ])('of %j: %i', async (roles, count) => {
    expect(await letIn(new CallLimits(config), who('a', ...roles), 20)).toBe(count)
  })

  it('limit a tool by its pattern, named in the refusal', async () => {
    const limits = new CallLimits(config)
    expect(await letIn(limits, who('a', 'more'), 20, 'get_x')).toBe(2)
    expect(await outcome(limits, who('a', 'more'), 'get_y')).toContain('2 calls of s.get_* at a time')
    expect(typeof (await outcome(limits, who('a', 'more'), 'set_x'))).toBe('function')
  })
})

describe('several replicas', () => {
  const peerCount = 3
  it('share what is counted, and each has its part of what is not', async () => {
    const store = new MemoryStore()
    const [one, two] = [1, 2].map(() => new CallLimits({ user: { perDay: 4 } }, { store, peerCount })) as [
      CallLimits,
      CallLimits,
    ]
    expect([await letIn(one, who('a'), 3), await letIn(two, who('a'), 3)]).toEqual([3, 1])
    expect(await letIn(new CallLimits({ user: { concurrent: 8 } }, { store, peerCount }), who('a'), 20)).toBe(
      2,
    )
    expect(await letIn(new CallLimits({ user: { concurrent: 1 } }, { store, peerCount }), who('a'), 20)).toBe(
      1,
    )
    await store.close()
  })

  it('go on with their part while the store is away', async () => {
    const store = new MemoryStore()
    store.setUp(false)
    expect(await letIn(new CallLimits({ user: { perDay: 8 } }, { store, peerCount }), who('a'), 20)).toBe(2)
    expect(
      await letIn(new CallLimits({ user: { perMinute: 60, burst: 8 } }, { store, peerCount }), who('a'), 20),
    ).toBe(2)
    await store.close()
  })
})
