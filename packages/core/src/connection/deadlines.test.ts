import { describe, expect, it } from 'vitest'
import { RequestTimedOut } from '../async/wait-errors.ts'
import type { Host } from '../host.ts'
import { systemHost } from '../host.ts'
import { linkedPair } from '../transports/linked-pair.ts'
import { SharedTimer } from './deadlines.ts'
import { JsonRpcPeer } from './json-rpc.ts'

/** A clock that is turned by hand, and its timers. */
function handClock() {
  let now = 0
  const timers = new Set<{ at: number; run: () => void }>()
  const timer: Host['awaitedTimer'] = (ms, run) => {
    const one = { at: now + ms, run }
    timers.add(one)
    return () => void timers.delete(one)
  }
  const turn = (ms: number) => {
    now += ms
    for (const one of [...timers])
      if (one.at <= now) {
        timers.delete(one)
        one.run()
      }
  }
  return { timer, turn, now: () => now, count: () => timers.size }
}

describe('a shared timer', () => {
  it('is one for all deadlines, and set anew only for an earlier one', () => {
    const clock = handClock()
    const looks: number[] = []
    const shared = new SharedTimer(clock.timer, clock.now, () => {
      looks.push(clock.now())
      return clock.now() < 100 ? 100 : clock.now() < 300 ? 300 : undefined
    })
    for (const ms of [200, 300, 100]) shared.within(ms, clock.now())
    expect(clock.count()).toBe(1)
    // The first look comes soon, for all that end before it.
    clock.turn(20)
    expect(looks).toEqual([20])
    clock.turn(80)
    expect(looks).toEqual([20, 100])
    shared.within(250, clock.now())
    expect(clock.count()).toBe(1)
    clock.turn(200)
    expect(looks).toEqual([20, 100, 300])
    expect(clock.count()).toBe(0)
  })

  it('is set once for requests that follow each other quickly', () => {
    let set = 0
    const clock = handClock()
    const timer: Host['awaitedTimer'] = (ms, run) => {
      set++
      return clock.timer(ms, run)
    }
    const shared = new SharedTimer(timer, clock.now, () => undefined)
    for (let n = 0; n < 19; n++) {
      shared.within(60_000, clock.now())
      clock.turn(1)
      shared.rest(clock.now())
    }
    expect(set).toBe(1)
    clock.turn(1)
    expect(clock.count()).toBe(0)
  })

  it('of a long request ends with it', () => {
    const clock = handClock()
    const shared = new SharedTimer(clock.timer, clock.now, () => 60_000)
    shared.within(60_000, clock.now())
    clock.turn(20)
    expect(clock.count()).toBe(1)
    shared.rest(clock.now())
    expect(clock.count()).toBe(0)
  })

  it('leaves nothing behind when no deadline is left', () => {
    const clock = handClock()
    const shared = new SharedTimer(clock.timer, clock.now, () => undefined)
    shared.within(100, clock.now())
    shared.end()
    expect(clock.count()).toBe(0)
    shared.within(50, clock.now())
    expect(clock.count()).toBe(1)
  })
})

describe('requests of one connection', () => {
  async function peer() {
    const [near, far] = linkedPair()
    const clock = handClock()
    const held = handClock()
    const host: Host = {
      ...systemHost(),
      now: clock.now,
      awaitedTimer: clock.timer,
      backgroundTimer: held.timer,
    }
    const quiet = () => undefined
    const made = new JsonRpcPeer(near, host, {
      request: () => ({}),
      notification: quiet,
      closed: quiet,
      trouble: quiet,
      odd: quiet,
    })
    await made.start()
    await far.start()
    return { made, far, clock, background: held }
  }

  it('each end at their own time, with one timer', async () => {
    const { made, clock } = await peer()
    const ends: string[] = []
    const ask = (name: string, timeoutMs: number) =>
      made.request('tools/call', { name }, { timeoutMs }).catch((error: unknown) => {
        expect(error).toBeInstanceOf(RequestTimedOut)
        ends.push(`${name} at ${clock.now()}`)
      })
    const all = [ask('long', 300), ask('short', 100)]
    clock.turn(50)
    all.push(ask('late', 100))
    expect(clock.count()).toBe(1)
    for (let n = 0; n < 6; n++) {
      clock.turn(50)
      await new Promise(setImmediate)
    }
    await Promise.all(all)
    expect(ends).toEqual(['short at 100', 'late at 150', 'long at 300'])
    expect(clock.count()).toBe(0)
  })

  it('hold the process only while a caller awaits one of them', async () => {
    const { made, far, clock, background } = await peer()
    far.onmessage = (message) => {
      if ('id' in message && 'method' in message && message.method === 'ping')
        void far.send({ jsonrpc: '2.0', id: message.id ?? 0, result: {} })
    }
    const heartbeat = made.request('silence', {}, { timeoutMs: 1000, background: true })
    expect([clock.count(), background.count()]).toEqual([0, 1])
    await made.request('ping', {}, { timeoutMs: 1000 })
    // For a moment, in which the next request may come.
    clock.turn(20)
    expect([clock.count(), background.count()]).toEqual([0, 1])
    await made.close()
    await expect(heartbeat).rejects.toThrow()
    expect([clock.count(), background.count()]).toEqual([0, 0])
  })
})
