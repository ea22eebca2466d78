// Attacks on gateways that share a store, by one who can read and write the store, and by users of an identity provider: what was sealed
// by a replica is sent again, entries are taken away, tokens name their own keys. Two real `plugboard serve --http --gateway`, one Redis.
import { randomBytes } from 'node:crypto'
import { Redis } from 'ioredis'
import * as jose from 'jose'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { freePort } from '../support/free-port.mjs'
import { legacySession, modern, SERVER, type ServedGateway, serveGateway, until } from '../support/gateway.ts'
import { type IdentityProvider, startIdentityProvider } from '../support/identity-provider.ts'
import { type RedisServer, startRedis } from '../support/redis.ts'

const AUDIENCE = 'https://mcp.example.com/mcp'
const PLUGBOARD_KEYS = `k:${randomBytes(32).toString('base64')}`
let redis: RedisServer
let idp: IdentityProvider
let thief: Redis
let first: ServedGateway
let second: ServedGateway

async function replica(): Promise<ServedGateway> {
  const port = await freePort()
  return await serveGateway({
    servers: { one: { command: process.execPath, args: [SERVER], env: { ERA: 'modern' } } },
    env: { PLUGBOARD_KEYS },
    gateway: () => ({
      publicUrl: 'https://mcp.example.com',
      auth: { issuers: [{ issuer: idp.issuer, jwksUri: `${idp.issuer}/jwks`, audience: AUDIENCE }] },
      isolation: { servers: { one: 'shared' } },
      admin: { port, token: 'admin-token' },
      store: redis.url,
    }),
  })
}

const both = () => [first, second]
const command = (on: ServedGateway, ...words: string[]) =>
  on.place.runWith({ PLUGBOARD_KEYS }, 'gateway', ...words, '--gateway', 'gateway.json')
const statuses = (token: string) =>
  Promise.all(both().map(async ({ url }) => (await modern(url, token, 'tools/list')).status))

const knowEachOther = () =>
  until(async () => {
    const ready = await Promise.all(
      both().map(async ({ port }) => (await fetch(`http://127.0.0.1:${port}/ready`)).json()),
    )
    return ready.every((one) => (one as { peers: number }).peers === 1)
  })

beforeAll(async () => {
  redis = await startRedis()
  idp = await startIdentityProvider(AUDIENCE)
  thief = new Redis(redis.url).on('error', () => undefined)
  first = await replica()
  second = await replica()
  const token = await idp.token()
  await until(async () => (await statuses(token)).every((status) => status === 200))
  await knowEachOther()
}, 120_000)

afterAll(async () => {
  thief?.disconnect()
  await first?.remove()
  await second?.remove()
  await idp?.close()
  await redis?.stop()
})

describe('the replicas', () => {
  it('are shown by the command, each with its address and how it does', async () => {
    const { json } = await first.place.runWith(
      { PLUGBOARD_KEYS },
      ...['gateway', 'replicas', '--gateway', 'gateway.json', '--json'],
    )
    const lines = (await command(first, 'replicas')).stdout.trim().split('\n')
    const how = String.raw`\d+\.\d+\.\d+\S* +up \d+ min +\d+ sessions +\d+ running +\d+ calls +\d+ MB`
    expect(lines).toEqual([
      expect.stringMatching(new RegExp(`^${json.id} +this one +${how}$`)),
      expect.stringMatching(
        new RegExp(`^${json.replicas[0].id} +http://127\\.0\\.0\\.1:${second.port} +${how}$`),
      ),
    ])
    expect(json).toMatchObject({ storeUp: true, replicas: [{ status: { draining: false } }] })
  }, 60_000)
})

describe('what the replicas told each other', () => {
  it('does nothing when it is sent again: a server that was switched on stays on', async () => {
    const [listener, sent]: [Redis, string[]] = [new Redis(redis.url), []]
    await listener.subscribe('pb:bus')
    listener.on('message', (_, text) => sent.push(text))
    const token = await idp.token()
    const call = async ({ url }: ServedGateway) =>
      (await modern(url, token, 'tools/call', { name: 'mcp__one__write', arguments: { key: 'x' } })).message
    expect((await command(first, 'servers', 'disable', 'one')).code).toBe(0)
    expect((await call(second)).error).toBeDefined()
    expect((await command(first, 'servers', 'enable', 'one')).code).toBe(0)
    for (const one of both()) await until(async () => (await call(one)).result !== undefined)
    // The first ones last: among them is that the server is switched off.
    const heard = [...sent].reverse()
    expect(heard.length).toBeGreaterThan(1)
    for (const text of heard) await thief.publish('pb:bus', text)
    // A message that is heard after them says that they were read.
    await command(first, 'users', 'revoke', 'nobody')
    const session = await legacySession(first.url, token)
    await session.request('logging/setLevel', { level: 'info' })
    for (const one of both()) for (let n = 0; n < 5; n++) expect((await call(one)).result).toBeDefined()
    listener.disconnect()
  }, 60_000)
})

describe('a user whose access was withdrawn', () => {
  it('stays out of every replica when the store loses everything, and its calls of before are not continued', async () => {
    const token = await idp.token({ claims: { sub: 'mallory' } })
    expect(await statuses(token)).toEqual([200, 200])
    const order = { name: 'mcp__one__order', arguments: { key: 'book' } }
    const { requestState } = (await modern(first.url, token, 'tools/call', order)).message.result
    const answer = {
      ...order,
      requestState,
      inputResponses: { first: { action: 'accept', content: { name: 'Ada' } } },
    }
    expect((await command(first, 'users', 'revoke', 'mallory')).code).toBe(0)
    expect(await statuses(token)).toEqual([401, 401])
    const peersOf = () => thief.hkeys('pb:replicas')
    const alive = (await peersOf()).length
    await thief.flushall()
    // Both replicas have read the empty store when they are in it again.
    await until(async () => (await peersOf()).length === alive)
    await until(async () => (await thief.hkeys('pb:revoked')).length === 1)
    expect(await statuses(token)).toEqual([401, 401])
    const fresh = await idp.token({ claims: { sub: 'mallory', jti: 'another' } })
    expect(await statuses(fresh)).toEqual([401, 401])
    for (const { url } of both()) expect((await modern(url, fresh, 'tools/call', answer)).status).toBe(401)
    // They forgot each other with the store, until the next beat; the command waits for those that are known.
    await knowEachOther()
    expect((await command(second, 'users', 'restore', 'mallory')).code).toBe(0)
    expect(await statuses(fresh)).toEqual([200, 200])
  }, 60_000)
})

describe('a token', () => {
  it('that brings its own key, or asks for what is not understood, is refused by every replica', async () => {
    const own = await jose.generateKeyPair('ES256', { extractable: true })
    const jwk = { ...(await jose.exportJWK(own.publicKey)), kid: 'first', alg: 'ES256' }
    const keys = await startIdentityProvider(AUDIENCE)
    const jku = `${keys.issuer}/jwks`
    for (const header of [
      { jwk },
      { jku },
      { jku, jwk, kid: 'mine' },
      { x5u: jku },
      { x5c: ['MIIB'] },
      { kid: `${keys.issuer}/jwks` },
    ])
      expect(await statuses(await idp.token({ key: own.privateKey, header }))).toEqual([401, 401])
    expect(keys.fetches()).toBe(0)
    await keys.close()
    // Signed by the issuer, with an extension that must be understood and is not.
    const [head = '', body = '', signature = ''] = (await idp.token()).split('.')
    const changed = { ...JSON.parse(Buffer.from(head, 'base64url').toString()), crit: ['exp'], b64: false }
    const encoded = Buffer.from(JSON.stringify(changed)).toString('base64url')
    expect(await statuses(`${encoded}.${body}.${signature}`)).toEqual([401, 401])
    expect(await statuses(`${head}.${body}.`)).toEqual([401, 401])
    expect(await statuses(`${head}.${body}.${signature}.${signature}.${signature}`)).toEqual([401, 401])
  }, 60_000)
})

// The last: the store does not come back.
describe('a store that is killed', () => {
  it('is shown as away with the replicas that were there, and lets no withdrawn user in', async () => {
    const token = await idp.token({ claims: { sub: 'leaver' } })
    await knowEachOther()
    expect(await statuses(token)).toEqual([200, 200])
    expect((await command(second, 'users', 'revoke', 'leaver')).code).toBe(0)
    await redis.stop()
    await until(async () => (await command(first, 'replicas')).stdout.includes('cannot be reached'))
    const shown = (await command(first, 'replicas')).stdout
    expect(shown).toContain(`http://127.0.0.1:${second.port}`)
    expect(await statuses(token)).toEqual([401, 401])
    // What cannot be told to the others is refused.
    const late = await command(first, 'users', 'restore', 'leaver')
    expect(late.code).not.toBe(0)
    expect(await statuses(token)).toEqual([401, 401])
  }, 60_000)
})
