// How change notifications are kept coming: what is asked of a server of each era, what is repeated, and after which wait.
import { describe, expect, it } from 'vitest'
import { type Host, systemHost } from '../host.ts'
import { CONNECT_LIMITS } from '../limits.ts'
import { ChannelClosed, JsonRpcError } from './request-errors.ts'
import type { Session, Subscription } from './session.ts'
import { Subscriptions } from './subscriptions.ts'

interface Opened {
  readonly filter: object
  closed: boolean
  end(by: 'local' | 'remote'): void
}

function made() {
  let now = 0
  const waits: { ms: number; act(): void; stopped: boolean }[] = []
  const seen: string[] = []
  const host = {
    ...systemHost(),
    now: () => now,
    random: () => 0.5,
    backgroundTimer: (ms: number, act: () => void) => {
      const wait = { ms, act, stopped: false }
      waits.push(wait)
      return () => {
        wait.stopped = true
      }
    },
  } as unknown as Host
  const subscriptions = new Subscriptions({
    host,
    missed: () => seen.push('missed'),
    warn: (text) => seen.push(text),
  })
  return { subscriptions, waits, seen, set: (time: number) => (now = time) }
}

function session(
  era: 'legacy' | 'modern',
  capabilities: object = {},
  fails: () => unknown = () => undefined,
) {
  const asked: string[] = []
  const opened: Opened[] = []
  const one = {
    era,
    capabilities,
    request: async (method: string, params: { uri: string }) => {
      asked.push(`${method} ${params.uri}`)
      const error = fails()
      if (error) throw error
      return {}
    },
    listen: async (filter: object): Promise<Subscription> => {
      asked.push(`listen ${JSON.stringify(filter)}`)
      const error = fails()
      if (error) throw error
      let end: (by: 'local' | 'remote') => void = () => undefined
      const ended = new Promise<'local' | 'remote'>((done) => {
        end = done
      })
      const open: Opened = { filter, closed: false, end }
      opened.push(open)
      return {
        ended,
        close: () => {
          open.closed = true
          end('local')
        },
      }
    },
  }
  return { one: one as unknown as Session, asked, opened }
}
const soon = () => new Promise((done) => setImmediate(done))
const TOOLS = { tools: { listChanged: true } }

describe('a legacy server', () => {
  it('is asked for each resource, once, and again after a new connection', async () => {
    const { subscriptions, seen } = made()
    const first = session('legacy', TOOLS)
    await subscriptions.attach(first.one)
    await subscriptions.subscribe(first.one, 'a:b')
    await subscriptions.subscribe(first.one, 'c:d')
    await subscriptions.unsubscribe(first.one, 'a:b')
    await subscriptions.unsubscribe(first.one, 'a:b')
    await subscriptions.unsubscribe(first.one, 'x:y')
    expect(first.asked).toEqual([
      'resources/subscribe a:b',
      'resources/subscribe c:d',
      'resources/unsubscribe a:b',
    ])
    const second = session('legacy', {}, () => new Error('no'))
    await subscriptions.attach(second.one)
    expect([second.asked, seen]).toEqual([['resources/subscribe c:d'], ['Error: no']])
  })
})

describe('a modern server', () => {
  it('is asked for what it declares and what is followed, and for nothing where there is nothing', async () => {
    const all = {
      tools: { listChanged: true },
      prompts: { listChanged: true },
      resources: { listChanged: true },
    }
    const { subscriptions } = made()
    const bare = session('modern', { tools: {}, prompts: { listChanged: false } })
    await subscriptions.attach(bare.one)
    expect(bare.asked).toEqual([])
    const whole = session('modern', all)
    await subscriptions.attach(whole.one)
    await subscriptions.subscribe(whole.one, 'a:b')
    expect(whole.opened.map(({ filter, closed }) => [filter, closed])).toEqual([
      [{ toolsListChanged: true, promptsListChanged: true, resourcesListChanged: true }, true],
      [
        {
          toolsListChanged: true,
          promptsListChanged: true,
          resourcesListChanged: true,
          resourceSubscriptions: ['a:b'],
        },
        false,
      ],
    ])
    await subscriptions.unsubscribe(whole.one, 'a:b')
    expect(whole.opened.map(({ closed }) => closed)).toEqual([true, true, false])
    subscriptions.detach()
    expect(whole.opened.every(({ closed }) => closed)).toBe(true)
  })

  it('that ends a subscription is asked again, after waits that grow until one was stable', async () => {
    const { subscriptions, waits, seen, set } = made()
    const server = session('modern', TOOLS)
    await subscriptions.attach(server.one)
    const delays: number[] = []
    const again = async () => {
      server.opened.at(-1)?.end('remote')
      await soon()
      delays.push(waits.at(-1)?.ms ?? 0)
      waits.at(-1)?.act()
      await soon()
    }
    await again()
    expect(seen).toEqual(['missed'])
    await again()
    expect(delays[1]).toBeGreaterThan(delays[0] ?? 0)
    set(CONNECT_LIMITS.stableMs)
    await again()
    expect(delays[2]).toBe(delays[0])
    set(2 * CONNECT_LIMITS.stableMs - 1)
    await again()
    expect(delays[3]).toBeGreaterThan(delays[0] ?? 0)
    expect(server.opened).toHaveLength(5)
    for (let n = 0; n < 20; n++) await again()
    expect(delays.at(-1)).toBe(delays.at(-2))
  })

  it('is not asked again after we ended it ourselves, or for another connection', async () => {
    const { subscriptions, waits } = made()
    const first = session('modern', TOOLS)
    await subscriptions.attach(first.one)
    subscriptions.detach()
    await soon()
    expect(waits).toEqual([])
    await subscriptions.attach(first.one)
    first.opened.at(-1)?.end('remote')
    await soon()
    const second = session('modern', TOOLS)
    await subscriptions.attach(second.one)
    expect(waits[0]?.stopped).toBe(true)
    waits[0]?.act()
    await soon()
    expect([first.opened.length, second.opened.length]).toEqual([2, 1])
  })

  it('that answers after the connection changed has its subscription closed', async () => {
    const { subscriptions } = made()
    const slow = session('modern', TOOLS)
    const attaching = subscriptions.attach(slow.one)
    subscriptions.detach()
    await attaching
    expect(slow.opened.map(({ closed }) => closed)).toEqual([true])
  })

  it('that refuses is not asked again; one that cannot be reached is', async () => {
    for (const [error, retries] of [
      [new JsonRpcError(-32601, 'no'), 0],
      [new Error('down'), 1],
    ] as const) {
      const { subscriptions, waits, seen } = made()
      const server = session('modern', TOOLS, () => error)
      await subscriptions.attach(server.one)
      expect([waits.length, seen.length]).toEqual([retries, 1])
    }
  })
})

describe('a change', () => {
  it('is made once more when the server went away over it, and not for another failure', async () => {
    const { subscriptions } = made()
    let failures = 1
    const server = session('legacy', {}, () => (failures-- > 0 ? new ChannelClosed(true) : undefined))
    await subscriptions.change('subscribe', 'a:b', async () => server.one)
    expect(server.asked).toEqual(['resources/subscribe a:b', 'resources/subscribe a:b'])
    // The connection that failed is still the current one: it is given a moment to notice.
    await subscriptions.attach(server.one)
    failures = 1
    await subscriptions.change('subscribe', 'c:d', async () => server.one)
    const refusing = session('legacy', {}, () => new JsonRpcError(-32000, 'no'))
    await expect(subscriptions.change('subscribe', 'e:f', async () => refusing.one)).rejects.toThrow('no')
    expect(refusing.asked).toHaveLength(1)
  })
})
