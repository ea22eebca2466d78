// Which call may start and which question waits, and what is found while servers come up: each with plain objects in place of
// servers and clients.
import type { LocalBoard } from '@plugboard/core'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { flush, type Given, requestOf } from '../fixtures/requests.ts'
import { ClientTurns, type TurnCall } from './client-turns.ts'
import { findWhenUp } from './find-when-up.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

describe('turns between clients', () => {
  const call = (name: string, what?: string, given: Given = {}): TurnCall => ({
    server: 'one',
    request: requestOf(name, given),
    what,
    hasAsked: false,
  })
  function taking(...running: TurnCall[]) {
    const list = [...running]
    const turns = new ClientTurns((server) => (server === 'one' ? list : []))
    const enter = (one: TurnCall) => {
      let begun = false
      const waits = turns.enter(one, one.what ?? '', () => {
        begun = true
        list.push(one)
      })
      return { begun: () => begun, waits }
    }
    const leave = (one: TurnCall, answered = true) => {
      list.splice(list.indexOf(one), 1)
      turns.left(one, answered)
    }
    return { turns, enter, leave, list }
  }

  it('a call starts at once beside those of its own client, and waits for those of others', () => {
    const ada = call('ada', 'a')
    const { enter, leave } = taking(ada)
    expect([enter(call('ada', 'b')).begun(), enter(call('ada', 'b')).waits]).toEqual([true, undefined])
    const { enter: other, leave: left } = taking(ada)
    const alan = other(call('alan', 'b'))
    expect(alan.begun()).toBe(false)
    left(ada)
    expect(alan.begun()).toBe(true)
    leave(ada)
  })

  it('a tool that never asked waits for none, and none waits for it', () => {
    const first = call('ada', 'quiet')
    const { enter, leave, turns, list } = taking()
    enter(first)
    leave(first)
    const ada = call('ada', 'loud')
    enter(ada)
    expect(enter(call('alan', 'quiet')).begun()).toBe(true)
    const grace = enter(call('grace', 'loud too'))
    expect(grace.begun()).toBe(false)
    leave(ada)
    // Only a quiet one is left.
    expect([grace.begun(), list.length]).toEqual([true, 2])
    const asking = call('eve', 'quiet')
    turns.asked('one', [asking])
    expect(asking.hasAsked).toBe(true)
    expect(enter(call('edsger', 'quiet')).begun()).toBe(false)
  })

  it.each([
    ['it asked', true, true, 'x'],
    ['its server did not answer it', false, false, 'x'],
    ['it is no tool', false, true, undefined],
  ])('a tool is not quiet because %s', (_, hasAsked, answered, what) => {
    const { enter, leave } = taking(call('other', 'y'))
    const one = { ...call('other', what), hasAsked }
    enter(one)
    leave(one, answered)
    expect(enter(call('ada', what ?? '')).begun()).toBe(false)
  })

  it('a call that waits starts after ten seconds, or when its client leaves, and only once', async () => {
    const { enter, list } = taking(call('ada', 'a'))
    const left = new AbortController()
    const [slow, gone] = [enter(call('alan', 'b')), enter(call('eve', 'b', { signal: left.signal }))]
    left.abort()
    await gone.waits
    expect([slow.begun(), gone.begun()]).toEqual([false, true])
    vi.advanceTimersByTime(9999)
    expect(slow.begun()).toBe(false)
    vi.advanceTimersByTime(1)
    await slow.waits
    vi.advanceTimersByTime(60_000)
    expect([slow.begun(), list.length]).toEqual([true, 3])
    expect(vi.getTimerCount()).toBe(0)
  })

  it('a question waits until it is clear whose it is; meanwhile no call of another client starts', async () => {
    const [ada, alan] = [call('ada', 'a'), call('alan', 'b')]
    const { turns, enter, leave, list } = taking(ada, alan)
    let over = false
    const held = turns
      .hold('one', () => list.length === 1, new AbortController().signal)
      .then(() => {
        over = true
      })
    const grace = enter(call('grace', 'b'))
    expect(grace.begun()).toBe(false)
    leave(alan)
    await held
    expect(over).toBe(true)
    expect([grace.begun(), vi.getTimerCount()]).toEqual([true, 0])
  })

  it('a question of several waits no longer than it must', async () => {
    const running = [call('ada', 'a'), call('alan', 'b')]
    const { turns, leave } = taking(...running)
    const ended: string[] = []
    const hold = (name: string, signal = new AbortController().signal) =>
      void turns.hold('one', () => false, signal).then(() => ended.push(name))
    const withdrawn = new AbortController()
    hold('withdrawn', withdrawn.signal)
    await flush()
    expect(ended).toEqual([])
    // Both clients would wait: the second is refused at once.
    hold('second')
    await flush()
    expect(ended).toEqual(['second'])
    withdrawn.abort()
    await flush()
    hold('late')
    vi.advanceTimersByTime(29_999)
    await flush()
    expect(ended).toEqual(['second', 'withdrawn'])
    vi.advanceTimersByTime(1)
    await flush()
    expect(ended).toEqual(['second', 'withdrawn', 'late'])
    hold('unanswered')
    await flush()
    for (const one of running) leave(one, one.what === 'b')
    await flush()
    expect(ended.at(-1)).toBe('unanswered')
    expect(vi.getTimerCount()).toBe(0)
  })

  it('of three clients two may wait', async () => {
    const { turns } = taking(call('ada', 'a'), call('alan', 'b'), call('grace', 'c'))
    let ended = 0
    for (let n = 0; n < 3; n++)
      void turns.hold('one', () => false, new AbortController().signal).then(() => ended++)
    await flush()
    expect(ended).toBe(1)
  })

  it('nothing happens for a server that takes no turns', () => {
    const { turns } = taking()
    turns.left({ ...call('ada', 'a'), server: 'two' }, true)
    const two = { ...call('ada', 'a'), server: 'two' }
    turns.asked('two', [two])
    expect(two.hasAsked).toBe(false)
  })
})

describe('what is found when servers come up', () => {
  type State = { kind: string; error?: Error }
  function finding(
    states: Record<string, State>,
    found: () => string | undefined,
    named = true,
    waitMs = 1000,
  ) {
    const needed: string[] = []
    const arrive = new Map<string, () => void>()
    const board = {
      servers: () => Object.entries(states).map(([name, { kind }]) => ({ name, state: kind })),
      link: {
        connection: (name: string) => ({
          state: states[name],
          needed: () => {
            needed.push(name)
            return new Promise<void>((ok, fail) =>
              arrive.set(name, () => (states[name]?.error ? fail(states[name]?.error) : ok())),
            )
          },
        }),
      },
    }
    const may = (name: string) => name !== 'hidden'
    const signal = new AbortController().signal
    const result = findWhenUp(board as unknown as LocalBoard, found, { may, named, waitMs, signal })
    result.catch(() => undefined)
    const bring = async (name: string) => {
      arrive.get(name)?.()
      await flush()
    }
    return { result, needed, arrive: bring }
  }

  it('is given at once where it is known', async () => {
    const { result, needed } = finding({ one: { kind: 'pending' } }, () => 'it')
    expect([await result, needed]).toEqual(['it', []])
  })

  it.each([
    [true, ['coming', 'broken']],
    [false, ['coming']],
  ])('waits for those that may have it (named: %s): %j', async (named, wanted) => {
    const states = {
      coming: { kind: 'pending' },
      broken: { kind: 'failed' },
      up: { kind: 'connected' },
      hidden: { kind: 'pending' },
    }
    const { needed, result } = finding(states, () => undefined, named)
    await flush()
    expect(needed).toEqual(wanted)
    await vi.advanceTimersByTimeAsync(999)
    let over = false
    void result.then(() => {
      over = true
    })
    await flush()
    expect(over).toBe(false)
    await vi.advanceTimersByTimeAsync(1)
    expect(await result).toBeUndefined()
  })

  it('is found when the first of them has it, and looked for after each', async () => {
    let looks = 0
    const { result, arrive } = finding({ a: { kind: 'pending' }, b: { kind: 'pending' } }, () =>
      ++looks === 3 ? 'it' : undefined,
    )
    await flush()
    await arrive('b')
    expect(looks).toBe(2)
    await arrive('a')
    expect(await result).toBe('it')
    expect(vi.getTimerCount()).toBe(0)
    const none = finding({ a: { kind: 'pending' } }, () => undefined)
    await flush()
    await none.arrive('a')
    expect([await none.result, vi.getTimerCount()]).toEqual([undefined, 0])
    const impatient = finding({ a: { kind: 'pending' } }, () => undefined, true, 0)
    expect([await impatient.result, impatient.needed]).toEqual([undefined, []])
  })

  it.each([
    ['failed', true, true],
    ['needs-auth', true, true],
    ['connected', true, false],
    ['failed', false, false],
  ])('of the only one, %s, named %s: its error is told: %s', async (kind, named, isTold) => {
    const error = new Error('it is down')
    const { result, arrive } = finding(
      { one: { kind, error }, hidden: { kind: 'pending' } },
      () => undefined,
      named,
    )
    await flush()
    await arrive('one')
    if (isTold) await expect(result).rejects.toBe(error)
    else expect(await result).toBeUndefined()
  })

  it('of several is told nothing', async () => {
    const error = new Error('it is down')
    const { result } = finding(
      { a: { kind: 'needs-auth', error }, b: { kind: 'connected' } },
      () => undefined,
    )
    expect(await result).toBeUndefined()
    expect(await finding({}, () => undefined).result).toBeUndefined()
  })
})
