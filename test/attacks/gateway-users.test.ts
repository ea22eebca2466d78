// What one user of a real `plugboard serve --http --gateway` can learn of another: cached lists, servers of their own, shared servers,
// large results, streams; and what a client can make the gateway believe by headers.
import { request } from 'node:http'
import { networkInterfaces } from 'node:os'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { freePort } from '../support/free-port.mjs'
import {
  legacySession,
  modern,
  rawSession,
  SERVER,
  type ServedGateway,
  serveGateway,
  until,
} from '../support/gateway.ts'
import { hasNginx, startNginx } from '../support/nginx.ts'

let gateway: ServedGateway
let adminPort = 0
const tokens = new Map<string, string>()
const tokenOf = (name: string) => tokens.get(name) ?? ''
const TOOLS = 'read,grow,keep,recall,large'

beforeAll(async () => {
  adminPort = await freePort()
  const server = { command: process.execPath, args: [SERVER], env: { TOOLS } }
  gateway = await serveGateway({
    servers: { common: server, own: server, hidden: server },
    args: ['--large', 'reference'],
    gateway: () => ({
      publicUrl: 'https://mcp.example.com',
      auth: { tokens: 'tokens.json' },
      admin: { port: adminPort, token: 'admin-token' },
      roles: { dev: { expose: ['common', 'own'] }, ops: {} },
      isolation: { servers: { own: 'user', hidden: 'shared' } },
    }),
  })
  for (const [name, role] of [
    ['ada', 'dev'],
    ['eve', 'dev'],
    ['ops', 'ops'],
  ] as const) {
    const args = ['serve', 'token', 'add', name, '--role', role, '--gateway', 'gateway.json', '--json']
    tokens.set(name, (await gateway.place.run(...args)).json.token)
  }
  await until(async () => (await list('ops')).status === 200)
}, 120_000)
afterAll(() => gateway?.remove())

const list = (user: string, what = 'tools/list') => modern(gateway.url, tokenOf(user), what)
const namesOf = ({ message }: { message: { result: { tools: { name: string }[] } } }) =>
  message.result.tools.map(({ name }) => name)
const call = (user: string, name: string, args: object = {}) =>
  modern(gateway.url, tokenOf(user), 'tools/call', { name, arguments: args })
const textOf = async (user: string, name: string, args: object = {}) => {
  const { message } = await call(user, name, args)
  return String(message.result?.content?.[0]?.text ?? JSON.stringify(message.error))
}

describe('a list', () => {
  it('is that of its user, however the requests of several users are mixed, in both eras', async () => {
    const sessions = {
      ada: await legacySession(gateway.url, tokenOf('ada')),
      ops: await legacySession(gateway.url, tokenOf('ops')),
    }
    const asked = Array.from({ length: 60 }, (_, n) => (n % 2 ? 'ada' : 'ops') as 'ada' | 'ops')
    const answers = await Promise.all(
      asked.map((user, n) => (n % 3 ? list(user) : sessions[user].request('tools/list'))),
    )
    for (const [at, answer] of answers.entries())
      expect(namesOf(answer).some((name) => name.startsWith('mcp__hidden__'))).toBe(asked[at] === 'ops')
  }, 60_000)

  it('may be kept by its own user alone', async () => {
    for (const what of ['tools/list', 'resources/list', 'resources/templates/list', 'prompts/list']) {
      const { message, headers } = await list('ada', what)
      expect([what, message.result.cacheScope]).toEqual([what, 'private'])
      expect(headers.get('cache-control') ?? '').not.toMatch(/public|max-age/)
    }
    const status = await modern(gateway.url, tokenOf('ada'), 'resources/read', { uri: 'plugboard://status' })
    expect(JSON.stringify(status.message)).not.toContain('hidden')
  })

  it('does not show what a user made its own process offer, also not after a restart', async () => {
    expect(await textOf('ada', 'mcp__own__grow', { name: 'ada_secret_plan' })).toBe('grew')
    expect(await textOf('ada', 'mcp__own__recall')).toContain('has')
    for (const user of ['eve', 'ops']) expect(namesOf(await list(user)).join()).not.toContain('secret')
    expect(await textOf('eve', 'mcp__own__ada_secret_plan')).toContain('-32602')
    await gateway.stop()
    await gateway.start()
    expect(namesOf(await list('eve')).join()).not.toContain('secret')
    expect(namesOf(await list('eve'))).toContain('mcp__own__recall')
  }, 60_000)
})

describe('what a user leaves behind', () => {
  it('in a server of its own is for itself, in every era and with every session', async () => {
    await call('ada', 'mcp__own__keep', { text: 'ada-note' })
    expect(await textOf('ada', 'mcp__own__recall')).toBe('has ada-note')
    const again = await legacySession(gateway.url, tokenOf('ada'))
    expect((await again.call('mcp__own__recall')).message.result.content[0].text).toBe('has ada-note')
    expect(await textOf('eve', 'mcp__own__recall')).toBe('has ')
    const session = await legacySession(gateway.url, tokenOf('eve'))
    expect((await session.call('mcp__own__recall')).message.result.content[0].text).toBe('has ')
  }, 30_000)

  it('ends with its access', async () => {
    const admin = (...words: string[]) => gateway.place.run('gateway', ...words, '--gateway', 'gateway.json')
    expect((await admin('users', 'revoke', 'ada')).code).toBe(0)
    expect((await call('ada', 'mcp__own__recall')).status).toBe(401)
    expect((await admin('users', 'restore', 'ada')).code).toBe(0)
    expect(await textOf('ada', 'mcp__own__recall')).toBe('has ')
  }, 60_000)

  it('in a shared server is there for all: the operator was told so, by name', async () => {
    await call('ada', 'mcp__common__keep', { text: 'for-all' })
    expect(await textOf('eve', 'mcp__common__recall')).toBe('has for-all')
    const warning = /All users share one process of (.*?): what one user leaves/.exec(gateway.stderr())?.[1]
    // What gateway.json decides needs no warning.
    expect(warning).toBe('"common"')
  })

  it('as a large result is read by nobody else, by no way', async () => {
    const told = await textOf('ada', 'mcp__common__large', { text: 'ada-large' })
    const uri = /plugboard:\/\/results\/[\w-]+/.exec(told)?.[0] ?? ''
    expect(uri).not.toBe('')
    const read = (user: string) =>
      modern(gateway.url, tokenOf(user), 'resources/read', { uri: `${uri}?range=1-1` })
    expect(JSON.stringify((await read('ada')).message.result)).toContain('ada-large')
    for (const user of ['eve', 'ops']) {
      const { message } = await read(user)
      expect(message.error?.code).toBe(-32602)
      expect(JSON.stringify(message)).not.toContain('ada-large')
    }
  })

  it('as an open stream of HTTP+SSE takes no message of another user', async () => {
    const base = gateway.url.replace(/\/mcp$/, '')
    const stream = await fetch(`${base}/sse`, {
      headers: { authorization: `Bearer ${tokenOf('ada')}`, accept: 'text/event-stream' },
    })
    const reader = stream.body?.getReader()
    const first = new TextDecoder().decode((await reader?.read())?.value)
    const path = /data: (\S+)/.exec(first)?.[1] ?? ''
    const post = (user: string) =>
      fetch(new URL(path, base), {
        method: 'POST',
        headers: { authorization: `Bearer ${tokenOf(user)}`, 'content-type': 'application/json' },
        body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ping' }),
      })
    expect((await post('eve')).status).toBe(404)
    expect((await post('ada')).status).toBe(202)
    await reader?.cancel()
  })
})

describe('headers that a client makes up', () => {
  const spoofed = {
    'x-forwarded-user': 'ops',
    'x-forwarded-for': '127.0.0.1',
    'x-forwarded-host': 'mcp.example.com',
    'x-forwarded-proto': 'https',
    'x-real-ip': '127.0.0.1',
    forwarded: 'for=127.0.0.1;host=mcp.example.com;proto=https',
    'x-auth-request-email': 'ops@example.com',
    'plugboard-replica': 'a.b',
  }
  const rpc = (method: string) => ({
    method: 'POST',
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: {} }),
  })

  it('give no user, no host name and no origin', async () => {
    const headers = { 'content-type': 'application/json', ...spoofed }
    expect((await fetch(gateway.url, { ...rpc('ping'), headers })).status).toBe(401)
    const query = `${gateway.url}?access_token=${tokenOf('ops')}&token=${tokenOf('ops')}`
    expect((await fetch(query, { ...rpc('ping'), headers })).status).toBe(401)
    const authorization = `Bearer ${tokenOf('ada')}`
    const origin = { ...headers, authorization, origin: 'https://evil.example' }
    expect((await fetch(gateway.url, { ...rpc('ping'), headers: origin })).status).toBe(403)
    // A token of one user with the names of another is still the first user's.
    const session = await legacySession(gateway.url, tokenOf('ada'))
    Object.assign(session.headers, spoofed)
    expect(namesOf(await session.request('tools/list')).join()).not.toContain('hidden')
  })

  it.runIf(hasNginx)(
    'give nothing through the reverse proxy either (deploy/nginx.conf)',
    async () => {
      const proxy = await startNginx(gateway.port)
      try {
        const ask = (headers: Record<string, string>, path = '/mcp') =>
          new Promise<{ status: number | undefined; text: string }>((done, fail) => {
            const type = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' }
            const options = {
              port: proxy.port,
              path,
              method: 'POST',
              headers: { ...type, ...spoofed, ...headers },
            }
            const sent = request({ host: '127.0.0.1', ...options }, (response) => {
              let text = ''
              response.on('data', (chunk) => {
                text += chunk
              })
              response.on('end', () => done({ status: response.statusCode, text }))
            })
            sent.on('error', fail)
            sent.end(rpc('ping').body)
          })
        const ada = { authorization: `Bearer ${tokenOf('ada')}` }
        expect((await ask({})).status).toBe(401)
        expect((await ask({ host: 'mcp.example.com' })).status).toBe(401)
        // The host name of the request counts, not that of a header which any client can send through the proxy.
        expect((await ask({ ...ada, host: 'evil.example' })).status).toBe(403)
        expect((await ask({ ...ada, host: 'mcp.example.com', origin: 'https://evil.example' })).status).toBe(
          403,
        )
        const { id } = await legacySession(gateway.url, tokenOf('ada'))
        const own = { ...ada, host: 'mcp.example.com', 'mcp-session-id': id }
        expect((await ask(own)).status).toBe(200)
        const other = { ...own, authorization: `Bearer ${tokenOf('eve')}` }
        expect((await ask(other)).status).toBe(404)
        // The port of the administration is behind no proxy: its token is no client's, and its paths are not there.
        for (const path of ['/servers', '/users', '/audit', '/mcp/../servers']) {
          expect((await ask({ ...own, authorization: 'Bearer admin-token' }, path)).status).toBe(401)
          expect((await ask(own, path)).status).toBe(404)
        }
        // The challenge names the public address, whatever the headers say.
        const { headers } = await fetch(`http://127.0.0.1:${proxy.port}/mcp`, {
          method: 'POST',
          headers: { ...spoofed, 'x-forwarded-host': 'evil.example' },
        })
        expect(headers.get('www-authenticate') ?? '').not.toContain('evil')
      } finally {
        await proxy.stop()
      }
    },
    60_000,
  )

  it('do not open the administration, which listens on loopback alone', async () => {
    const loopback = `http://127.0.0.1:${adminPort}/servers`
    expect((await fetch(loopback, { headers: spoofed })).status).toBe(401)
    expect((await fetch(loopback, { headers: { authorization: `Bearer ${tokenOf('ops')}` } })).status).toBe(
      401,
    )
    const outside = Object.values(networkInterfaces())
      .flatMap((all) => all ?? [])
      .filter(({ internal, family }) => !internal && family === 'IPv4')
    for (const { address } of outside)
      await expect(fetch(`http://${address}:${adminPort}/servers`)).rejects.toThrow()
    for (const path of ['/servers', '/users', '/admin', '/audit', '/../servers'])
      expect(
        (
          await fetch(new URL(path, gateway.url), {
            headers: { ...spoofed, authorization: `Bearer ${tokenOf('ops')}` },
          })
        ).status,
      ).toBe(404)
    // Counts tell what others do: they are for the administration.
    const metrics = new URL('/metrics', gateway.url)
    expect((await fetch(metrics, { headers: { authorization: `Bearer ${tokenOf('ops')}` } })).status).toBe(
      403,
    )
  })

  it('of a session that is not the user’s open nothing, whatever else is right', async () => {
    const { id } = await legacySession(gateway.url, tokenOf('ada'))
    expect((await rawSession(gateway.url, id, tokenOf('eve')).request('tools/list')).status).toBe(404)
    const stolen = { authorization: `Bearer ${tokenOf('eve')}`, 'mcp-session-id': id, ...spoofed }
    expect((await fetch(gateway.url, { headers: { ...stolen, accept: 'text/event-stream' } })).status).toBe(
      404,
    )
    expect((await fetch(gateway.url, { method: 'DELETE', headers: stolen })).status).toBe(404)
    expect((await rawSession(gateway.url, id, tokenOf('ada')).request('tools/list')).status).toBe(200)
  })
})
