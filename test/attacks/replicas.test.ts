// What one user, or who can write to the store, can do to gateways that share sessions: two real `plugboard serve --http` with token
// files of their own and one real Redis.
import { randomBytes } from 'node:crypto'
import { cpSync } from 'node:fs'
import { join } from 'node:path'
import { Redis } from 'ioredis'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  legacySession,
  modern,
  rawSession,
  SERVER,
  type ServedGateway,
  serveGateway,
  until,
} from '../support/gateway.ts'
import { type RedisServer, startRedis } from '../support/redis.ts'

const key = (kid: string) => `${kid}:${randomBytes(32).toString('base64')}`
const [OLD, NEW] = [key('old'), key('new')]
let redis: RedisServer
let first: ServedGateway
let second: ServedGateway
const tokens = new Map<string, string>()
const tokenOf = (name: string) => tokens.get(name) ?? ''

const replica = (PLUGBOARD_KEYS: string, store = true) =>
  serveGateway({
    servers: {
      one: { command: process.execPath, args: [SERVER], env: { ERA: 'modern' } },
      own: { command: process.execPath, args: [SERVER], env: { TOOLS: 'keep,recall,slow' } },
    },
    env: { PLUGBOARD_KEYS },
    gateway: () => ({
      auth: { tokens: 'tokens.json' },
      isolation: { servers: { one: 'shared', own: 'user' } },
      ...(store && { store: redis.url, audit: { stream: true } }),
    }),
  })

const peers = async (port: number) =>
  ((await (await fetch(`http://127.0.0.1:${port}/ready`)).json()) as { peers: number }).peers

beforeAll(async () => {
  redis = await startRedis()
  first = await replica(`${NEW},${OLD}`)
  second = await replica(`${OLD},${NEW}`)
  for (const name of ['ada', 'eve', 'leaver']) {
    const ran = await first.place.run('serve', 'token', 'add', name, '--gateway', 'gateway.json', '--json')
    tokens.set(name, ran.json.token)
  }
  cpSync(join(first.place.project, 'tokens.json'), join(second.place.project, 'tokens.json'))
  const works = async (url: string) => (await modern(url, tokenOf('eve'), 'tools/list')).status === 200
  await until(async () => (await works(first.url)) && (await works(second.url)))
  await until(async () => (await peers(first.port)) === 1 && (await peers(second.port)) === 1)
}, 120_000)

afterAll(async () => {
  await first?.remove()
  await second?.remove()
  await redis?.stop()
})

const ORDER = { name: 'mcp__one__order', arguments: { key: 'book' } }
const answerTo = (requestState: unknown) => ({
  ...ORDER,
  requestState,
  inputResponses: { first: { action: 'accept', content: { name: 'Ada' } } },
})

describe('a session and a request state of one user', () => {
  it('are refused when another user replays them, on the replica that made them and on the other', async () => {
    for (const made of [first, second]) {
      const { id } = await legacySession(made.url, tokenOf('ada'))
      const asked = await modern(made.url, tokenOf('ada'), 'tools/call', ORDER)
      const answer = answerTo(asked.message.result.requestState)
      for (const { url } of [first, second]) {
        const stolen = rawSession(url, id, tokenOf('eve'))
        expect((await stolen.request('tools/list')).status).toBe(404)
        const streams = { headers: { ...stolen.headers, accept: 'text/event-stream' } }
        expect((await fetch(url, streams)).status).toBe(404)
        expect((await fetch(url, { method: 'DELETE', headers: stolen.headers })).status).toBe(404)
        const replayed = await modern(url, tokenOf('eve'), 'tools/call', answer)
        expect(replayed.message.error.code).toBe(-32602)
        // The attempts ended nothing.
        expect((await rawSession(url, id, tokenOf('ada')).request('tools/list')).status).toBe(200)
      }
      const own = await modern(second.url, tokenOf('ada'), 'tools/call', answer)
      expect(own.message.result.resultType).toBe('input_required')
    }
  }, 60_000)
})

describe('what is sealed', () => {
  it('opens at every replica for its own user alone, and under a key that no longer seals', async () => {
    const session = await legacySession(second.url, tokenOf('ada'))
    expect((await rawSession(first.url, session.id, tokenOf('ada')).request('tools/list')).status).toBe(200)
    expect((await rawSession(first.url, session.id, tokenOf('eve')).request('tools/list')).status).toBe(404)
    const asked = await modern(first.url, tokenOf('ada'), 'tools/call', ORDER)
    const answer = answerTo(asked.message.result.requestState)
    expect((await modern(second.url, tokenOf('eve'), 'tools/call', answer)).message.error.code).toBe(-32602)
    const other = { ...answer, arguments: { key: 'another book' } }
    expect((await modern(second.url, tokenOf('ada'), 'tools/call', other)).message.error.code).toBe(-32602)
    expect((await modern(second.url, tokenOf('ada'), 'tools/call', answer)).message.result.resultType).toBe(
      'input_required',
    )
    // The answer was used: no replica passes it on again.
    for (const { url } of [first, second])
      expect((await modern(url, tokenOf('ada'), 'tools/call', answer)).message.error).toBeDefined()
  }, 30_000)

  it('is refused when one character differs, and under a retired key', async () => {
    const { id } = await legacySession(second.url, tokenOf('ada'))
    const at = id.length - 5
    const changed = id.slice(0, at) + (id[at] === 'A' ? 'B' : 'A') + id.slice(at + 1)
    for (const wrong of [changed, id.replace(/^old\./, 'new.'), id.replace(/^old\./, ''), `${id}A`])
      expect((await rawSession(first.url, wrong, tokenOf('ada')).request('tools/list')).status).toBe(404)
    const state: string = (await modern(second.url, tokenOf('ada'), 'tools/call', ORDER)).message.result
      .requestState
    const end = state.length - 5
    for (const wrong of [
      `${state}A`,
      state.slice(0, end) + (state[end] === 'A' ? 'B' : 'A') + state.slice(end + 1),
      // A sealed value of another kind.
      id,
    ])
      for (const { url } of [first, second]) {
        const answer = await modern(url, tokenOf('ada'), 'tools/call', answerTo(wrong))
        expect(answer.message.error.code).toBe(-32602)
      }
    const third = await replica(NEW)
    try {
      cpSync(join(first.place.project, 'tokens.json'), join(third.place.project, 'tokens.json'))
      await until(async () => (await modern(third.url, tokenOf('ada'), 'tools/list')).status === 200)
      expect((await rawSession(third.url, id, tokenOf('ada')).request('tools/list')).status).toBe(404)
      const late = await modern(third.url, tokenOf('ada'), 'tools/call', answerTo(state))
      expect(late.message.error.code).toBe(-32602)
    } finally {
      await third.remove()
    }
  }, 60_000)
})

describe('a third party that writes to the store', () => {
  it('is no replica, ends no session, withdraws no user', async () => {
    const client = new Redis(redis.url)
    const thief = JSON.stringify({ id: 'abcdefabcdef', url: 'http://127.0.0.1:9', at: Date.now() })
    const session = await legacySession(first.url, tokenOf('ada'))
    const entries = await client.hgetall('pb:replicas')
    // Also an entry of a real replica under another name.
    await client.hset('pb:replicas', { abcdefabcdef: thief, thief: Object.values(entries)[0] ?? '' })
    await client.hset('pb:revoked', {
      everyone: thief,
      [Object.keys(entries)[0] ?? '']: Object.values(entries)[0] ?? '',
    })
    for (const message of [thief, Object.values(entries)[0] ?? '', '{"kind":"session-ended"}', '\u0000'])
      await client.publish('pb:bus', message)
    await until(
      async () =>
        (await client.hgetall('pb:replicas'))[Object.keys(entries)[0] ?? ''] !== Object.values(entries)[0],
    )
    client.disconnect()
    // The replica of the test before is gone within seconds; the thief never was there.
    await until(async () => (await peers(first.port)) === 1 && (await peers(second.port)) === 1)
    expect((await session.request('tools/list')).status).toBe(200)
  }, 30_000)
})

describe('a server that a user has for itself', () => {
  const recall = async (url: string, user: string) => {
    const { message } = await modern(url, tokenOf(user), 'tools/call', { name: 'mcp__own__recall' })
    return String(message.result?.content?.[0]?.text)
  }
  const keep = (url: string, user: string, text: string) =>
    modern(url, tokenOf(user), 'tools/call', { name: 'mcp__own__keep', arguments: { text } })

  it('is one for all replicas, and of this user alone', async () => {
    await keep(first.url, 'ada', 'a')
    await keep(second.url, 'ada', 'b')
    expect([await recall(first.url, 'ada'), await recall(second.url, 'ada')]).toEqual(['has a b', 'has a b'])
    const session = await legacySession(second.url, tokenOf('ada'))
    expect((await session.call('mcp__own__recall')).message.result.content[0].text).toBe('has a b')
    expect([await recall(second.url, 'eve'), await recall(first.url, 'eve')]).toEqual(['has ', 'has '])
  }, 60_000)

  it('is not run twice when the store names another holder; the real one gives it up', async () => {
    await keep(first.url, 'eve', 'x')
    const client = new Redis(redis.url)
    const leases = (await client.keys('pb:{lease:*')).filter((name) => !name.endsWith(':fence'))
    expect(leases.length).toBeGreaterThan(0)
    // A third party gives all of them to a replica that is not there.
    for (const name of leases) await client.set(name, 'abcdefabcdef', 'PX', 4000)
    client.disconnect()
    // Never wrong: what was kept, or a new process, or a refusal that says when to come back.
    for (const { url } of [first, second, first, second])
      expect(await recall(url, 'eve')).toMatch(/^has( x)?\s*$|another replica/)
    // When the forged leases have run out, one replica has it again, and both reach that one.
    await until(async () => {
      const [here, there] = [await recall(first.url, 'eve'), await recall(second.url, 'eve')]
      return here === there && here.startsWith('has')
    })
  }, 60_000)
})

describe('the audit stream', () => {
  it('has the calls of all replicas by user, sealed, without arguments; what another program wrote is told apart', async () => {
    for (const { url } of [first, second])
      await modern(url, tokenOf('ada'), 'tools/call', {
        name: 'mcp__one__write',
        arguments: { key: 'secret-note' },
      })
    const client = new Redis(redis.url)
    const stream = async () => JSON.stringify(await client.xrange('pb:audit', '-', '+'))
    await until(
      async () =>
        new Set([...(await stream()).matchAll(/replica\\":\\"(\w+)/g)].map(([, id]) => id)).size >= 2,
    )
    const text = await stream()
    expect(text).toContain('ada')
    expect(text).not.toContain('secret-note')
    client.disconnect()
  }, 30_000)
})

describe('a token that is revoked at one replica', () => {
  it('is refused by all within a second, although their own files still have it', async () => {
    const session = await legacySession(second.url, tokenOf('leaver'))
    const stream = await fetch(second.url, { headers: { ...session.headers, accept: 'text/event-stream' } })
    const ended = stream.text()
    const env = { PLUGBOARD_KEYS: `${NEW},${OLD}` }
    const ran = await first.place.runWith(
      env,
      'serve',
      'token',
      'revoke',
      'leaver',
      '--gateway',
      'gateway.json',
    )
    expect(ran.code).toBe(0)
    await ended
    expect((await session.request('tools/list')).status).toBe(401)
    expect((await modern(second.url, tokenOf('leaver'), 'tools/list')).status).toBe(401)
    expect((await modern(second.url, tokenOf('ada'), 'tools/list')).status).toBe(200)
  }, 30_000)
})

// The last: users’ own servers are given up and started anew after it.
describe('a third party that overwrites every key of the store', () => {
  it.each([
    ['text', (client: Redis, key: string) => client.set(key, 'rubbish')],
    ['a list', (client: Redis, key: string) => client.rpush(key, 'rubbish', '{}')],
    ['fields', (client: Redis, key: string) => client.hset(key, { a: '1', at: 'x', level: 'none' })],
  ] as const)(
    'with %s gets no session, no call twice and no user in, and replicas go on',
    async (_, overwrite) => {
      const session = await legacySession(first.url, tokenOf('ada'))
      const asked = await modern(first.url, tokenOf('ada'), 'tools/call', ORDER)
      const answer = answerTo(asked.message.result.requestState)
      expect((await modern(second.url, tokenOf('ada'), 'tools/call', answer)).status).toBe(200)
      const client = new Redis(redis.url)
      try {
        const keys = await client.keys('*')
        expect(keys.length).toBeGreaterThan(0)
        for (const one of keys) {
          await client.del(one)
          await overwrite(client, one)
        }
        for (const { url } of [first, second]) {
          const own = rawSession(url, session.id, tokenOf('ada'))
          expect((await own.request('tools/list')).status).toBe(200)
          expect((await own.call('mcp__own__recall')).status).toBe(200)
          expect((await modern(url, tokenOf('ada'), 'tools/list')).status).toBe(200)
          expect((await rawSession(url, session.id, tokenOf('eve')).request('tools/list')).status).toBe(404)
          expect((await modern(url, 'rubbish', 'tools/list')).status).toBe(401)
          // What was used stays used: its mark was replaced, not taken away.
          expect((await modern(url, tokenOf('ada'), 'tools/call', answer)).message.error).toBeDefined()
        }
      } finally {
        await client.flushall()
        client.disconnect()
      }
      await until(async () => (await peers(first.port)) === 1 && (await peers(second.port)) === 1)
    },
    60_000,
  )
})
