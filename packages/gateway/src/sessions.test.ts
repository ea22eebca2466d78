// Room for sessions is bounded, and shared fairly.
import { GATEWAY_LIMITS } from '@plugboard/core/limits'
import { describe, expect, it } from 'vitest'
import { makeGateway, onEnd } from './fixtures/kit.ts'
import { EVERYTHING } from './index.ts'
import { Sessions } from './sessions.ts'

describe('when there are too many sessions', () => {
  it('whoever has most of them makes room, and nobody is pushed out by another', async () => {
    const sessions = new Sessions(await makeGateway([]))
    onEnd(() => sessions.close())
    const greedy = { owner: 'greedy', exposure: EVERYTHING }
    const modest = { owner: 'modest', exposure: EVERYTHING }
    const open = (visitor: typeof greedy) => {
      const made = sessions.make(visitor)
      if (made) sessions.keep(made)
      return made?.id ?? ''
    }
    const own = open(modest)
    const first = open(greedy)
    for (let n = 0; n < 2 * GATEWAY_LIMITS.sessions; n++) expect(open(greedy)).not.toBe('')
    expect(sessions.count).toBe(GATEWAY_LIMITS.sessions)
    expect(sessions.find(own, modest)).toBeDefined()
    expect(sessions.find(first, greedy)).toBeUndefined()
    expect(sessions.find(own, greedy)).toBeUndefined()
  })
})
