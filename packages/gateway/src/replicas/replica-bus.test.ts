// What replicas know of each other by the clock, what they tell each other, and requests that one passes on to another.
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { EVERYTHING } from '../access/exposure.ts'
import type { Gateway } from '../gateway.ts'
import {
  answeredBy,
  isPassedOn,
  replicaForEvent,
  replicaForMessage,
  replicaForSseSession,
} from '../http/replica-routing.ts'
import type { Json } from '../json-rpc.ts'
import type { NotificationHub } from '../routing/notifications.ts'
import { freshKey, KeyRing } from '../sealing/key-ring.ts'
import { MemoryStore } from '../store/memory-store.ts'
import type { ResourceUri } from '../views/resource-uris.ts'
import { NotificationRelay } from './notification-relay.ts'
import { type BusKind, Replicas } from './replicas.ts'
import { SharedSession } from './shared-session.ts'
import { SharedSpentIds } from './shared-spent-ids.ts'

const ends: (() => unknown)[] = []
afterEach(async () => {
  vi.useRealTimers()
  for (const end of ends.splice(0).reverse()) await end()
})

let now = 1_000_000
function cluster(count: number) {
  now = 1_000_000
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'setTimeout', 'clearTimeout'] })
  const store = new MemoryStore(() => now)
  const keys = new KeyRing([freshKey()])
  const all = Array.from({ length: count }, () => new Replicas(store, keys, () => now))
  ends.push(async () => {
    store.setUp(true)
    for (const one of all) await one.close()
  })
  return { store, keys, all }
}
/** Everything that is done without a timer. */
const settled = async () => {
  for (let turn = 0; turn < 20; turn++) await new Promise((done) => setImmediate(done))
}
/** What a replica that is not in this process writes about itself. */
const FAR = 'abcdefabcdef'

async function announced(count: number) {
  const made = cluster(count)
  for (const [at, one] of made.all.entries()) await one.announce(`http://r${at}`)
  await settled()
  return made
}
const beat = async (ms = 3000) => {
  now += ms
  vi.advanceTimersByTime(3000)
  await settled()
}

describe('replicas', () => {
  it('that are closed close their store, and leave no entry', async () => {
    const { store, all } = await announced(2)
    const closed = vi.spyOn(store, 'close')
    const before = (await store.fields('replicas')).size
    await all[0]?.close()
    expect([closed.mock.calls.length, before - (await store.fields('replicas')).size]).toEqual([1, 1])
  })

  it('know each other at once, and forget one that is gone', async () => {
    const { all, store } = await announced(3)
    const [one, two, three] = all as [Replicas, Replicas, Replicas]
    expect(
      one
        .peers()
        .map(({ url }) => url)
        .sort(),
    ).toEqual(['http://r1', 'http://r2'])
    expect(one.peer(two.id)?.url).toBe('http://r1')
    expect(one.peer(one.id)).toBeUndefined()
    await three.close()
    await beat()
    expect(one.peers().map(({ id }) => id)).toEqual([two.id])
    expect((await store.fields('replicas')).size).toBe(2)
  })

  it('tell how they do with every beat, and nothing else is taken for it', async () => {
    const { all, store, keys } = cluster(2)
    const [one, two] = all as [Replicas, Replicas]
    const status = { version: '1.2.3', startedAt: 1, sessions: 2, running: 3, calls: 4, memory: 5 }
    let draining = false
    await one.announce('http://r0')
    await two.announce('http://r1', () => ({ ...status, draining }))
    await settled()
    expect(one.peer(two.id)).toMatchObject({ seen: now, status: { ...status, draining: false } })
    expect(two.peer(one.id)).not.toHaveProperty('status')
    draining = true
    await beat()
    expect(one.peer(two.id)).toMatchObject({ seen: now, status: { draining: true } })
    for (const odd of [7, {}, { ...status, calls: '4' }, { ...status, version: 'x'.repeat(41) }]) {
      const entry = keys.seal('replica', { id: FAR, url: 'http://far', at: ++now, status: odd })
      await store.setField('replicas', FAR, entry, 600_000)
      await beat()
      expect(one.peer(FAR)).toMatchObject({ url: 'http://far' })
      expect(one.peer(FAR)).not.toHaveProperty('status')
    }
  })

  it('forget one that says nothing for twelve seconds, and drop its entry', async () => {
    const { all, store, keys } = await announced(1)
    const [one] = all as [Replicas]
    const entry = (id: string, more: object = {}) =>
      keys.seal('replica', { id, url: 'http://x', at: now, ...more })
    await store.setField('replicas', 'silent', entry('silent'), 600_000)
    await beat()
    expect(one.peer('silent')?.url).toBe('http://x')
    await beat(12_000)
    expect(one.peer('silent')).toBeDefined()
    await beat(1)
    expect(one.peer('silent')).toBeUndefined()
    expect((await store.fields('replicas')).has('silent')).toBe(false)
  })

  it('believe only fresh entries that are about their own replica', async () => {
    const { all, store, keys } = await announced(1)
    const [one] = all as [Replicas]
    const entries: [string, Json][] = [
      ['other', { id: 'another', url: 'http://x', at: now }],
      ['bare', { id: 'bare', at: now }],
      ['old', { id: 'old', url: 'http://x', at: now - 300_000 + 3000 }],
      ['timeless', { id: 'timeless', url: 'http://x' }],
      ['ahead', { id: 'ahead', url: 'http://x', at: now + 400_000 }],
      ['good', { id: 'good', url: 'http://x', at: now - 299_999 + 3000 }],
    ]
    for (const [id, value] of entries)
      await store.setField('replicas', id, keys.seal('replica', value), 600_000)
    await beat()
    expect(one.peers().map(({ id }) => id)).toEqual(['good'])
  })

  it('keep what they know while the store is away, and beat when it is back', async () => {
    const { all, store } = await announced(2)
    const [one, two] = all as [Replicas, Replicas]
    let beats = 0
    one.onBeat(() => beats++)
    store.setUp(false)
    await beat()
    expect([one.peers().length, beats, await one.publish('here', {})]).toEqual([1, 0, false])
    expect(await one.tell('revoked', {})).toBe(false)
    store.setUp(true)
    await settled()
    expect([one.peers().map(({ id }) => id), beats]).toEqual([[two.id], 1])
    await one.close()
    beats = 0
    await beat()
    store.setUp(true)
    await settled()
    expect(beats).toBe(0)
  })

  it('wait until the others have done what they were told, and not for ever', async () => {
    const { all } = await announced(3)
    const [one, two, three] = all as [Replicas, Replicas, Replicas]
    let finish: () => void = () => undefined
    const heard: string[] = []
    two.on('revoked', (value, from) => {
      heard.push(`${from} ${value['n']}`)
      return new Promise<void>((done) => {
        finish = done
      })
    })
    const stop = three.on('revoked', () => Promise.reject(new Error('x')))
    let told: boolean | undefined
    void one.tell('revoked', { n: 1 }).then((value) => {
      told = value
    })
    await settled()
    expect([heard, told]).toEqual([[`${one.id} 1`], undefined])
    finish()
    await settled()
    expect(told).toBe(true)
    told = undefined
    stop()
    void one.tell('revoked', { n: 2 }).then((value) => {
      told = value
    })
    await settled()
    expect(told).toBeUndefined()
    vi.advanceTimersByTime(2000)
    await settled()
    expect(told).toBe(true)
    const [alone] = (await announced(1)).all as [Replicas]
    expect(await alone.tell('revoked', {})).toBe(true)
  })

  it('hear neither themselves nor old messages, and answer only what wants an answer', async () => {
    const { all, store, keys } = await announced(2)
    const [one, two] = all as [Replicas, Replicas]
    const heard: unknown[] = []
    one.on('updated', ({ n }) => heard.push(n))
    await one.publish('updated', { n: 'own' })
    const send = (value: Json) =>
      store.publish('bus', keys.seal('replica-message', { kind: 'updated', ...value }))
    await send({ n: 'old', from: 'x', at: now - 300_000 })
    await send({ n: 'fresh', from: 'x', at: now - 299_999 })
    await send({ n: 'timeless', from: 'x' })
    await settled()
    expect(heard).toEqual(['fresh'])
    const published = vi.spyOn(store, 'publish')
    await two.publish('updated', { n: 'plain' })
    await settled()
    expect(published).toHaveBeenCalledTimes(1)
    await two.publish('updated', { n: 'round', round: '9' })
    await settled()
    expect(published).toHaveBeenCalledTimes(3)
  })

  it('hear a message once, and read no entry that is older than the last, whoever sends them again', async () => {
    const { all, store } = await announced(2)
    const [one, two] = all as [Replicas, Replicas]
    const [heard, sent]: [unknown[], string[]] = [[], []]
    one.on('server-action', ({ action }) => heard.push(action))
    await store.subscribe('bus', (text) => sent.push(text))
    for (const action of ['disable', 'enable']) await two.publish('server-action', { action })
    await settled()
    expect(heard).toEqual(['disable', 'enable'])
    for (const text of [...sent, ...sent]) await store.publish('bus', text)
    await settled()
    expect(heard).toEqual(['disable', 'enable'])
    // Its own next message is heard.
    await two.publish('server-action', { action: 'drain' })
    await settled()
    expect(heard).toEqual(['disable', 'enable', 'drain'])

    const old: string[] = []
    for (let n = 0; n < 2; n++) {
      old.push((await store.fields('replicas')).get(two.id) ?? '')
      await beat()
    }
    await two.close()
    await beat()
    expect(one.peers()).toEqual([])
    for (const entry of old) {
      await store.setField('replicas', two.id, entry, 600_000)
      await beat()
      expect(one.peers()).toEqual([])
    }
  })

  it('know a request that one of them passed on to them, for a while', async () => {
    const { all } = await announced(2)
    const [one, two] = all as [Replicas, Replicas]
    const forwardToken = one.forwardToken(two.id)
    expect([
      two.isForwardToken(forwardToken),
      one.isForwardToken(forwardToken),
      two.isForwardToken('x'),
    ]).toEqual([true, false, false])
    now += 300_000
    expect(two.isForwardToken(forwardToken)).toBe(false)
  })
})

describe('what a session shares', () => {
  it('is its level and what it follows, and which replica has the stream', async () => {
    const { all, store } = await announced(2)
    const [one, two] = all as [Replicas, Replicas]
    const heard: string[] = []
    for (const kind of [
      'session',
      'session-stream',
      'session-ended',
      'cancelled',
      'session-message',
    ] as BusKind[])
      two.on(kind, ({ sid, request, message }) => heard.push(JSON.stringify([kind, sid, request, message])))
    const here = new SharedSession(one, 's')
    const there = new SharedSession(two, 's')
    expect(await here.read()).toEqual({ level: undefined, uris: [] })
    await here.setLevel('debug')
    await here.follow('a:b')
    await here.follow('c:d')
    await here.unfollow('a:b')
    expect(await there.read()).toEqual({ level: 'debug', uris: ['c:d'] })
    expect(await here.takeStream()).toBeUndefined()
    expect(await there.takeStream()).toBe(one.id)
    here.cancel(5)
    here.send({ a: 1 })
    await here.end()
    expect(await there.read()).toEqual({ level: undefined, uris: [] })
    const change = '["session","s",null,null]'
    expect(heard).toEqual([
      ...[change, change, change, change],
      '["session-stream","s",null,null]',
      '["cancelled","s",5,null]',
      '["session-message","s",null,{"a":1}]',
      '["session-ended","s",null,null]',
    ])
    store.setUp(false)
    expect([await here.read(), await here.takeStream()]).toEqual([undefined, undefined])
    await here.setLevel('info')
    const spent = new SharedSpentIds(store, () => now)
    expect([spent.isDurable, await spent.add('a', now + 10), await spent.has('a')]).toEqual([
      false,
      false,
      false,
    ])
    store.setUp(true)
    expect([spent.isDurable, await spent.add('a', now + 10), await spent.add('a', now + 10)]).toEqual([
      true,
      true,
      false,
    ])
    expect([await spent.has('a'), await spent.has('b')]).toEqual([true, false])
    now += 10
    expect(await spent.has('a')).toBe(false)
  })
})

describe('what servers tell one replica', () => {
  const NOTE: ResourceUri = { server: 'one', uri: 'test://note' }
  function hub() {
    const seen: unknown[] = []
    let fails = false
    const made = {
      updatedElsewhere: (address: ResourceUri) => seen.push(['updated', address]),
      changedElsewhere: (...what: unknown[]) => seen.push(what),
      followForOthers: async (address: ResourceUri) => {
        seen.push(['follow', address.uri])
        if (fails) throw new Error('down')
        return async () => void seen.push(['stop', address.uri])
      },
    }
    return { made: made as unknown as NotificationHub, seen, fail: (yes: boolean) => (fails = yes) }
  }
  async function relays() {
    vi.useFakeTimers({ toFake: ['Date'], now: 5_000_000 })
    const { all, store } = await announced(2)
    vi.useFakeTimers({
      toFake: ['Date', 'setInterval', 'clearInterval', 'setTimeout', 'clearTimeout'],
      now: 5_000_000,
    })
    const [one, two] = all as [Replicas, Replicas]
    const [left, right] = [hub(), hub()]
    return {
      all: [one, two],
      store,
      left,
      right,
      from: new NotificationRelay(one, left.made),
      to: new NotificationRelay(two, right.made),
    }
  }

  it('is told to the others, and what is malformed is not', async () => {
    const { from, right, all } = await relays()
    from.updated(NOTE)
    from.listChanged('tools', 'one', ['a'])
    from.listChanged('prompts', undefined, undefined)
    await settled()
    expect(right.seen).toEqual([
      ['updated', NOTE],
      ['tools', 'one', ['a']],
      ['prompts', undefined, undefined],
    ])
    right.seen.length = 0
    for (const value of [{ server: 'one' }, { uri: 'x' }, { server: 5, uri: 'x' }])
      for (const kind of ['updated', 'follow', 'unfollow'] as const) await all[0]?.publish(kind, value)
    await all[0]?.publish('list-changed', { what: 'secrets', server: 'one' })
    await settled()
    expect(right.seen).toEqual([])
    await all[0]?.publish('list-changed', { what: 'resources', server: 5, tools: 'x' })
    await settled()
    expect(right.seen).toEqual([['resources', undefined, undefined]])
  })

  it('is followed while a client of another one follows it', async () => {
    const { from, right, all } = await relays()
    await from.followed(NOTE)
    await from.followed(NOTE)
    expect(right.seen).toEqual([['follow', NOTE.uri]])
    // Another replica wants it too: one of them is not enough to end it.
    const other = { ...NOTE }
    await all[0]?.publish('follow', other)
    from.unfollowed(NOTE)
    await settled()
    expect(right.seen).toEqual([
      ['follow', NOTE.uri],
      ['stop', NOTE.uri],
    ])
    from.unfollowed(NOTE)
    await settled()
    expect(right.seen).toHaveLength(2)
  })

  it('is followed again after its server was down, and dropped when the other says nothing', async () => {
    const { from, right } = await relays()
    right.fail(true)
    await from.followed(NOTE)
    right.fail(false)
    await from.followed(NOTE)
    expect(right.seen).toEqual([
      ['follow', NOTE.uri],
      ['follow', NOTE.uri],
    ])
  })
})

describe('a request for another replica', () => {
  it('is one that answers it, or continues what it began', () => {
    const keys = new KeyRing([freshKey()])
    const gateway = { keys } as Gateway
    const id = 'abcdefabcdef'
    const client = { owner: 'o', exposure: EVERYTHING, narrow: false }
    const reply = (of: string) =>
      replicaForMessage(gateway, { kind: 'reply', message: { jsonrpc: '2.0', id: of, result: {} } }, client)
    expect([reply(`plugboard-${id}-7`), reply('plugboard-x-7'), reply('7')]).toEqual([
      id,
      undefined,
      undefined,
    ])
    const request = (params: Json) =>
      replicaForMessage(
        gateway,
        { kind: 'request', message: { jsonrpc: '2.0', id: 1, method: 'm', params } },
        client,
      )
    expect([request({}), request({ requestState: 'x' })]).toEqual([undefined, undefined])
    expect(
      replicaForMessage(
        gateway,
        { kind: 'notification', message: { jsonrpc: '2.0', method: 'm', params: {} } },
        client,
      ),
    ).toBeUndefined()
    expect([replicaForEvent(undefined), replicaForEvent('1-2'), replicaForEvent(`1-2~${id}`)]).toEqual([
      undefined,
      undefined,
      id,
    ])
    expect([replicaForSseSession(`${id}.x`), replicaForSseSession('x')]).toEqual([id, undefined])
  })

  const serverOf = async (answer: (req: IncomingMessage, res: ServerResponse) => void) => {
    const server = createServer(answer)
    await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
    ends.push(() => {
      server.closeAllConnections()
      server.close()
    })
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  }

  it('is passed on whole, once, and its answer comes back', async () => {
    const { all, store, keys } = await announced(1)
    vi.useRealTimers()
    const [one] = all as [Replicas]
    let got: { headers: IncomingHttpHeaders; body: string; url: string; method: string } | undefined
    const there = await serverOf(async (req, res) => {
      let body = ''
      for await (const piece of req) body += piece
      got = { headers: req.headers, body, url: req.url ?? '', method: req.method ?? '' }
      res.writeHead(207, { 'x-answer': 'yes', 'keep-alive': 'timeout=1' }).end('answer')
    })
    await store.setField('replicas', FAR, keys.seal('replica', { id: FAR, url: there, at: now }), 60_000)
    store.setUp(true)
    await settled()
    expect(one.peer(FAR)?.url).toBe(there)
    const gateway = { replicas: one, keys } as unknown as Gateway
    const outcomes: unknown[] = []
    const here = await serverOf(async (req, res) => {
      const target = String(req.headers['x-to'])
      const body = req.method === 'POST' ? 'body ä' : undefined
      const isPassed = await answeredBy(gateway, target === 'none' ? undefined : target, req, res, body)
      outcomes.push([target, isPassed, isPassedOn(gateway, req)])
      if (!isPassed) res.end('here')
    })
    const call = async (to: string, headers: Record<string, string> = {}) => {
      const response = await fetch(`${here}/mcp?x=1`, {
        method: 'POST',
        headers: { 'x-to': to, 'x-own': 'kept', te: 'trailers', ...headers },
        body: 'ignored',
      })
      return [response.status, response.headers.get('x-answer'), await response.text()]
    }
    expect(await call(FAR)).toEqual([207, 'yes', 'answer'])
    expect(got).toMatchObject({ url: '/mcp?x=1', method: 'POST', body: 'body ä' })
    expect(got?.headers).toMatchObject({ 'x-own': 'kept', 'content-length': '7' })
    expect(got?.headers['te']).toBeUndefined()
    expect(keys.open('replica-request', got?.headers['plugboard-replica'])).toMatchObject({
      from: one.id,
      to: FAR,
    })
    for (const to of ['none', one.id, 'unknown']) expect(await call(to)).toEqual([200, null, 'here'])
    // What was passed on to us is answered here: it does not go round.
    const forwardToken = new Replicas(store, keys, () => now).forwardToken(one.id)
    expect(await call(FAR, { 'plugboard-replica': forwardToken })).toEqual([200, null, 'here'])
    expect(await call(FAR, { 'plugboard-replica': 'forged' })).toEqual([207, 'yes', 'answer'])
    expect(outcomes.map((outcome) => (outcome as unknown[]).slice(1))).toEqual([
      [true, false],
      [false, false],
      [false, false],
      [false, false],
      [false, true],
      [true, false],
    ])
    const alone = await answeredBy({ keys } as Gateway, FAR, {} as never, {} as never)
    expect(alone).toBe(false)
  })

  it('is answered here when the other cannot be reached, and breaks off when the other does', async () => {
    const { all, store, keys } = await announced(1)
    vi.useRealTimers()
    const [one] = all as [Replicas]
    const gateway = { replicas: one, keys } as unknown as Gateway
    const here = await serverOf(async (req, res) => {
      if (!(await answeredBy(gateway, FAR, req, res, 'x'))) res.end('here')
    })
    const at = async (url: string) => {
      now++
      await store.setField('replicas', FAR, keys.seal('replica', { id: FAR, url, at: now }), 60_000)
      store.setUp(true)
      await settled()
      const response = await fetch(here, { method: 'POST', body: 'x' })
      return await response.text().catch(() => 'broken')
    }
    expect(await at('http://127.0.0.1:9')).toBe('here')
    expect(await at(await serverOf((req) => void req.socket.destroy()))).toBe('here')
    const half = await serverOf((req, res) => {
      res.writeHead(200)
      res.write('half')
      setTimeout(() => req.socket.destroy(), 20)
    })
    expect(await at(half)).toBe('broken')
  })
})
