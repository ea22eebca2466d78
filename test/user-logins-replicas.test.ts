// Users' logins over two replicas that share a real Redis: begun at one and finished at the other, renewed once for both, sealed
// against the store, and gone with the key.
import { randomBytes } from 'node:crypto'
import { cpSync } from 'node:fs'
import { join } from 'node:path'
import { Redis } from 'ioredis'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  type AuthorizationServer,
  startAuthorizationServer,
} from '../packages/core/src/auth/fixtures/authorization-server.ts'
import {
  type ResourceServer,
  startResourceServer,
} from '../packages/core/src/auth/fixtures/resource-server.ts'
import { Browser } from './support/browser.ts'
import { modern, type ServedGateway, serveGateway, until } from './support/gateway.ts'
import { type RedisServer, startRedis } from './support/redis.ts'

const key = () => randomBytes(32).toString('base64')
const [SEALS, OLD, NEW] = [`k:${key()}`, `old:${key()}`, `new:${key()}`]
const ACCESS_SECONDS = 8
let as: AuthorizationServer
let rs: ResourceServer
let redis: RedisServer
let first: ServedGateway
let second: ServedGateway
const tokens = new Map<string, string>()

const replica = () =>
  serveGateway({
    servers: { notes: { type: 'http', url: rs.url } },
    env: { PLUGBOARD_KEYS: SEALS, LOGIN_KEY: OLD },
    gateway: (port) => ({
      publicUrl: `http://127.0.0.1:${port}`,
      store: redis.url,
      auth: { tokens: 'tokens.json' },
      userLogins: {
        servers: { notes: {} },
        key: { command: [process.execPath, '-e', 'console.log(process.env.LOGIN_KEY)'] },
      },
    }),
  })

const peers = async (port: number) =>
  ((await (await fetch(`http://127.0.0.1:${port}/ready`)).json()) as { peers: number }).peers

beforeAll(async () => {
  as = await startAuthorizationServer({ accessTokenSeconds: ACCESS_SECONDS })
  rs = await startResourceServer({ as })
  redis = await startRedis()
  first = await replica()
  second = await replica()
  for (const name of ['ada', 'bob', 'cleo']) {
    const ran = await first.place.run('serve', 'token', 'add', name, '--gateway', 'gateway.json', '--json')
    tokens.set(name, ran.json.token)
  }
  cpSync(join(first.place.project, 'tokens.json'), join(second.place.project, 'tokens.json'))
  const works = async (url: string) => (await modern(url, tokens.get('cleo'), 'tools/list')).status === 200
  await until(async () => (await works(first.url)) && (await works(second.url)))
  await until(async () => (await peers(first.port)) === 1 && (await peers(second.port)) === 1)
}, 180_000)

afterAll(async () => {
  await first?.remove()
  await second?.remove()
  await redis?.stop()
  await rs?.close()
  await as?.close()
})

const WHOAMI = { name: 'mcp__notes__whoami', arguments: {} }
const URL_MODE = { elicitation: { url: {} } }
const call = (to: ServedGateway, user: string, more: object = {}) =>
  modern(to.url, tokens.get(user), 'tools/call', { ...WHOAMI, ...more }, URL_MODE)
// biome-ignore lint/suspicious/noExplicitAny: tests look into whatever was answered
const textOf = (answer: any): string => answer.message.result?.content?.[0]?.text ?? answer.text

/** Asks at one replica; returns the link, as the other replica serves it, and what the retry needs. */
async function asked(at: ServedGateway, user: string, page: ServedGateway) {
  const { message } = await call(at, user)
  const [[name, question]] = Object.entries<{ params: { url: string } }>(message.result.inputRequests) as [
    [string, { params: { url: string } }],
  ]
  const link = new URL(question.params.url)
  link.port = String(page.port)
  const { requestState } = message.result
  return { link: link.href, retry: { requestState, inputResponses: { [name]: { action: 'accept' } } } }
}

describe('a login over two replicas', () => {
  it('is begun at one and finished at the other, and the call goes on at either', async () => {
    const { link, retry } = await asked(first, 'ada', second)
    const waiting = call(second, 'ada', retry)
    expect((await new Browser('ada').logIn(link)).text).toContain('ada is logged in')
    expect(textOf(await waiting)).toBe('ada')
    expect(textOf(await call(first, 'ada'))).toBe('ada')
    // The answer was used.
    expect((await call(first, 'ada', retry)).message.error.code).toBe(-32602)
  }, 60_000)

  it('goes on at the other replica when the one that asked is gone', async () => {
    const { link, retry } = await asked(first, 'bob', second)
    expect((await call(second, 'ada', retry)).message.error.code).toBe(-32602)
    await first.stop('SIGKILL')
    await new Browser('bob').logIn(link)
    expect(textOf(await call(second, 'bob', retry))).toBe('bob')
    await first.start()
    await until(async () => (await peers(first.port)) === 1 && (await peers(second.port)) === 1)
    expect(textOf(await call(first, 'bob'))).toBe('bob')
  }, 90_000)

  it('is renewed once for all calls of all replicas', async () => {
    expect(textOf(await call(first, 'ada'))).toBe('ada')
    expect(textOf(await call(second, 'ada'))).toBe('ada')
    const { refresh } = as.counts
    await new Promise((done) => setTimeout(done, ACCESS_SECONDS * 1000 + 200))
    const answers = await Promise.all(
      [first, second, first, second, first, second].map((at) => call(at, 'ada')),
    )
    expect(answers.map(textOf)).toEqual(Array(6).fill('ada'))
    expect([as.counts.refresh - refresh, as.counts.refreshFailed]).toEqual([1, 0])
  }, 60_000)

  it('is of no use to who can write to the store', async () => {
    const store = new Redis(redis.url)
    try {
      const rows = await store.keys('pb:logins:*')
      expect(rows).toHaveLength(2)
      const all = JSON.stringify(await Promise.all(rows.map((row) => store.hgetall(row))))
      for (const { headers } of rs.requests)
        if (headers.authorization) expect(all).not.toContain(headers.authorization.split(' ')[1])
      // One user's rows put in the place of another's open nothing.
      const users = await store.hgetall('pb:login-users')
      const [one = '', other = ''] = Object.keys(users)
      const swapped = [await store.hgetall(`pb:logins:${one}`), await store.hgetall(`pb:logins:${other}`)]
      await store.hset(`pb:logins:${one}`, swapped[1] ?? {})
      await store.hset(`pb:logins:${other}`, swapped[0] ?? {})
      await second.stop()
      await second.start()
      for (const user of ['ada', 'bob']) {
        const { message } = await call(second, user)
        expect(message.result.resultType).toBe('input_required')
      }
      await store.hset(`pb:logins:${one}`, swapped[0] ?? {})
      await store.hset(`pb:logins:${other}`, swapped[1] ?? {})
      expect(textOf(await call(second, 'ada'))).toBe('ada')
    } finally {
      store.disconnect()
    }
  }, 90_000)
})

describe('the key of the logins', () => {
  it('can be replaced while the old one still opens; without it users log in again', async () => {
    const opened = async (LOGIN_KEY: string) => {
      const gateway = await serveGateway({
        servers: { notes: { type: 'http', url: rs.url } },
        env: { PLUGBOARD_KEYS: SEALS, LOGIN_KEY },
        gateway: (port) => ({
          publicUrl: `http://127.0.0.1:${port}`,
          store: redis.url,
          auth: { tokens: join(first.place.project, 'tokens.json') },
          userLogins: {
            servers: { notes: {} },
            key: { command: [process.execPath, '-e', 'console.log(process.env.LOGIN_KEY)'] },
          },
        }),
      })
      try {
        return (await call(gateway, 'ada')).message.result
      } finally {
        await gateway.remove()
      }
    }
    expect((await opened(`${NEW},${OLD}`)).content[0].text).toBe('ada')
    expect((await opened(`other:${key()}`)).resultType).toBe('input_required')
  }, 90_000)
})
