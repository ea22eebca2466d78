// A company's gateway as its operator runs it: limits, the access log, metrics, and the administration on its own port. Real processes.
import { execFileSync, spawn, spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { connect } from 'node:tls'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { COMMAND, makePlace } from './support/cli.ts'
import { freePort } from './support/free-port.mjs'
import { legacySession, modern, SERVER, type ServedGateway, serveGateway, until } from './support/gateway.ts'

let served: ServedGateway
let adminPort = 0
const tokens = new Map<string, string>()
const TRACE = '0af7651916cd43dd8448eb211c80319c'

const tokenOf = (name: string) => tokens.get(name) ?? ''
const call = (name: string, key: string, tool = 'write') =>
  modern(served.url, tokenOf(name), 'tools/call', { name: `mcp__one__${tool}`, arguments: { key } })

/** The spans that a collector was sent. */
// biome-ignore lint/suspicious/noExplicitAny: tests look into what was sent
const spans: any[] = []
const collector = createServer((req, res) => {
  const parts: Buffer[] = []
  req.on('data', (part) => parts.push(part))
  req.on('end', () => {
    const { resourceSpans } = JSON.parse(Buffer.concat(parts).toString())
    for (const { scopeSpans } of resourceSpans) for (const one of scopeSpans) spans.push(...one.spans)
    res.end('{}')
  })
})

beforeAll(async () => {
  await new Promise<void>((done) => collector.listen(0, '127.0.0.1', done))
  adminPort = await freePort()
  served = await serveGateway({
    servers: { one: { command: process.execPath, args: [SERVER], env: {} } },
    env: { OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${(collector.address() as AddressInfo).port}` },
    gateway: () => ({
      auth: { tokens: 'tokens.json' },
      roles: { slow: { expose: ['one'] } },
      accessLog: 'access.log',
      admin: { port: adminPort, token: 'admin-token' },
      limits: {
        user: { perMinute: 600, burst: 100 },
        roles: { slow: { perMinute: 1, burst: 2 } },
        tools: { 'one.read': { perDay: 3 }, 'one.slow': { concurrent: 1 } },
      },
    }),
  })
  for (const [name, ...more] of [['ada'], ['eve'], ['bob', '--role', 'slow'], ['old']]) {
    const args = ['serve', 'token', 'add', name ?? '', '--gateway', 'gateway.json', ...more, '--json']
    tokens.set(name ?? '', (await served.place.run(...args)).json.token)
  }
  await until(async () => (await call('old', 'first')).status === 200)
}, 120_000)
afterAll(async () => {
  await served?.remove()
  collector.close()
})

const admin = (path: string, method = 'GET', headers: Record<string, string> = {}) =>
  fetch(`http://127.0.0.1:${adminPort}${path}`, {
    method,
    headers: {
      authorization: `Bearer ${readFileSync(join(served.place.project, 'admin-token'), 'utf8').trim()}`,
      ...headers,
    },
  })
const command = (...words: string[]) =>
  served.place.run('gateway', ...words, '--gateway', 'gateway.json', '--json')

describe('limits', () => {
  it('a role, a tool and the number at a time are limited for one user; others go on', async () => {
    const answers = []
    for (let n = 0; n < 3; n++) answers.push(await call('bob', `b${n}`))
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 429])
    const refused = answers[2]
    expect(answers.map(({ headers }) => headers.get('ratelimit'))).toEqual([
      expect.stringMatching(/^"user-minute";r=1;t=60$/),
      expect.stringMatching(/^"user-minute";r=0;t=120$/),
      expect.stringMatching(/^"user-minute";r=0;t=\d+$/),
    ])
    expect(answers[0]?.headers.get('ratelimit-policy')).toBe('"user-minute";q=1;w=60')
    expect(Date.parse(refused?.message.error.data.retryAt)).toBeGreaterThan(Date.now())
    expect(Number(refused?.headers.get('retry-after'))).toBeGreaterThan(30)
    expect(refused?.message.error).toMatchObject({ code: -32029, data: { code: 'RATE_LIMITED' } })
    expect(refused?.message.error.message).toMatch(/1 calls per minute\. Try again in \d+ seconds/)
    const session = await legacySession(served.url, tokenOf('bob'))
    expect((await session.call('mcp__one__write', { key: 'b' })).status).toBe(429)

    for (let n = 0; n < 3; n++) {
      const answer = await call('ada', '', 'read')
      expect(answer.status).toBe(200)
      expect(answer.headers.get('ratelimit')).toContain(`"one.read-day";r=${2 - n};t=`)
    }
    const over = await call('ada', '', 'read')
    expect([over.status, over.message.error.message]).toEqual([
      429,
      expect.stringContaining('3 calls of one.read per day'),
    ])
    expect((await call('eve', '', 'read')).status).toBe(200)
    expect((await call('ada', 'more')).status).toBe(200)

    const slow = { name: 'mcp__one__slow', arguments: { ms: 1500 } }
    const running = modern(served.url, tokenOf('ada'), 'tools/call', slow)
    await until(async () => (await modern(served.url, tokenOf('ada'), 'tools/call', slow)).status === 429)
    expect((await running).status).toBe(200)
  }, 30_000)
})

describe('the access log and the metrics', () => {
  it('say who called what, how it ended and how long it took; never the arguments', async () => {
    const answer = await fetch(served.url, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${tokenOf('ada')}`,
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        'mcp-protocol-version': '2026-07-28',
        'mcp-method': 'tools/call',
        'mcp-name': 'mcp__one__write',
        traceparent: `00-${TRACE}-b7ad6b7169203331-01`,
      },
      body: JSON.stringify({
        jsonrpc: '2.0',
        id: 1,
        method: 'tools/call',
        params: {
          name: 'mcp__one__write',
          arguments: { key: 'a-secret-argument' },
          _meta: {
            'io.modelcontextprotocol/protocolVersion': '2026-07-28',
            'io.modelcontextprotocol/clientCapabilities': {},
          },
        },
      }),
    })
    expect(answer.status).toBe(200)
    const log = () => readFileSync(join(served.place.project, 'access.log'), 'utf8')
    await until(() => log().includes(TRACE))
    const lines = log()
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line))
    expect(lines.find(({ traceId }) => traceId === TRACE)).toMatchObject({
      level: 'info',
      user: 'ada',
      server: 'one',
      tool: 'write',
      outcome: 'ok',
      ms: expect.any(Number),
    })
    expect(log()).not.toContain('a-secret-argument')
    // By OTLP: the gateway's span under the client's, and that of the server under it.
    const traced = () => spans.filter(({ traceId }) => traceId === TRACE)
    await until(() => traced().length >= 2)
    const server = traced().find(({ kind }) => kind === 2)
    expect(server).toMatchObject({ parentSpanId: 'b7ad6b7169203331', name: 'tools/call mcp__one__write' })
    expect(traced().find(({ kind }) => kind === 3)).toMatchObject({ parentSpanId: server.spanId })
    expect(JSON.stringify(traced())).not.toContain('a-secret-argument')
    const text = await (await admin('/metrics')).text()
    expect(text).toContain('plugboard_calls_total{server="one",tool="write",outcome="ok"}')
    for (const [, name] of text.matchAll(/^# TYPE (\S+)/gm)) expect(text).toContain(`# HELP ${name} `)
    for (const name of [
      'plugboard_build_info',
      'process_resident_memory_bytes',
      'nodejs_eventloop_lag_seconds',
    ])
      expect(text).toContain(`\n${name}`)
  })
})

describe('the administration', () => {
  it('needs its own token, takes none of a user, and answers no web page', async () => {
    expect((await admin('/servers')).status).toBe(200)
    expect((await admin('/servers', 'GET', { authorization: '' })).status).toBe(401)
    expect((await admin('/servers', 'GET', { authorization: `Bearer ${tokenOf('ada')}` })).status).toBe(401)
    expect((await admin('/servers', 'GET', { origin: 'http://127.0.0.1' })).status).toBe(403)
    const token = readFileSync(join(served.place.project, 'admin-token'), 'utf8').trim()
    expect((await modern(served.url, token, 'tools/list')).status).toBe(401)
    expect(
      (
        await fetch(`http://127.0.0.1:${served.port}/servers`, {
          headers: { authorization: `Bearer ${tokenOf('ada')}` },
        })
      ).status,
    ).toBe(404)
  })

  it('withdraws a user: streams end and calls are refused within a second, and again allows', async () => {
    const session = await legacySession(served.url, tokenOf('eve'))
    const stream = await fetch(served.url, { headers: { ...session.headers, accept: 'text/event-stream' } })
    const ended = stream.text()
    expect((await command('users')).json.users.map(({ name }: { name: string }) => name)).toContain('eve')
    const since = Date.now()
    expect((await command('users', 'revoke', 'eve')).code).toBe(0)
    await ended
    expect((await session.request('tools/list')).status).toBe(401)
    expect(Date.now() - since).toBeLessThan(10_000)
    expect((await call('ada', 'still')).status).toBe(200)
    expect((await command('users')).json.revoked).toMatchObject([{ name: 'eve' }])
    await command('users', 'restore', 'eve')
    expect((await call('eve', 'again')).status).toBe(200)
  }, 30_000)

  it('switches servers, ends sessions, and says what it does not know', async () => {
    expect((await command('servers', 'disable', 'one')).json).toMatchObject({ state: 'disabled' })
    expect((await call('ada', 'x')).message.error?.message).toContain('mcp__one__write')
    expect((await command('servers')).json.servers).toContainEqual(
      expect.objectContaining({ name: 'one', state: 'disabled' }),
    )
    await command('servers', 'enable', 'one')
    await until(async () => (await call('ada', 'x')).message.result !== undefined)
    expect((await command('servers', 'reconnect', 'one')).json).toMatchObject({ state: 'connected' })
    const session = await legacySession(served.url, tokenOf('ada'))
    const { sessions } = (await command('sessions')).json
    const own = sessions.find(({ user }: { user: string }) => user === 'ada')
    expect((await served.place.run('gateway', 'sessions', '--gateway', 'gateway.json')).stdout).toMatch(
      new RegExp(`^${own.id} +ada +\\S+ +- +idle \\d+ s$`, 'm'),
    )
    const ended = await served.place.run('gateway', 'sessions', 'end', own.id, '--gateway', 'gateway.json')
    expect([ended.code, ended.stdout.trim()]).toEqual([0, `Done: end ${own.id}.`])
    expect((await command('sessions')).json.sessions.map(({ id }: { id: string }) => id)).not.toContain(
      own.id,
    )
    // Its id is still sealed, and opens nothing: the client starts anew.
    expect((await session.request('tools/list')).status).toBe(404)
    expect((await legacySession(served.url, tokenOf('ada'))).id).not.toBe(session.id)
    const again = await served.place.run('gateway', 'sessions', 'end', own.id, '--gateway', 'gateway.json')
    expect([again.code, again.stderr]).toEqual([2, expect.stringContaining('no such session')])
    for (const words of [
      ['servers', 'disable', 'nope'],
      ['servers', 'explode', 'one'],
      ['users', 'revoke', 'nope'],
      ['sessions', 'end'],
    ])
      expect((await command(...words)).code).toBe(2)
    expect((await served.place.run('gateway', 'servers')).stderr).toContain('--gateway')
    served.place.write('closed.json', { publicUrl: 'https://mcp.example.com' })
    const closed = await served.place.run('gateway', 'servers', '--gateway', 'closed.json')
    expect([closed.code, closed.stderr]).toEqual([2, expect.stringContaining('"admin": {"port": 7338}')])
  }, 30_000)
})

describe('one server', () => {
  it('is drained: running calls end, new ones are refused, then it is off until it is enabled', async () => {
    const slow = modern(served.url, tokenOf('ada'), 'tools/call', {
      name: 'mcp__one__slow',
      arguments: { ms: 5000 },
    })
    // Asked over HTTP: on a busy machine a command takes longer than the state lasts.
    const running = async () => {
      const { servers } = (await (await admin('/servers')).json()) as {
        servers: { name: string; state: string; running?: number }[]
      }
      return servers.find(({ name }) => name === 'one')
    }
    await until(async () => (await running())?.running === 1)
    const draining = command('servers', 'drain', 'one')
    await until(async () => (await running())?.state === 'draining')
    expect(JSON.stringify((await call('ada', 'x')).message)).toContain('is being stopped')
    expect((await slow).message.result.content[0].text).toBe('slow')
    expect((await draining).json).toMatchObject({ action: 'drain', state: 'disabled' })
    expect((await running())?.state).toBe('disabled')
    await command('servers', 'enable', 'one')
    await until(async () => (await call('ada', 'x')).message.result?.isError === undefined)
  }, 60_000)

  it('has a circuit breaker, which the administration and the metrics show', async () => {
    expect((await command('servers')).json.servers).toContainEqual(
      expect.objectContaining({ name: 'one', circuit: { state: 'closed', failures: 0 } }),
    )
    const text = await (await admin('/metrics')).text()
    expect(text).toContain('plugboard_circuit_state{server="one"} 0')
    expect(text).toContain('plugboard_server_calls{server="one"} 0')
  })
})

describe('tokens and limits', () => {
  it('are shown by the command, without secrets', async () => {
    const text = async (topic: string) =>
      (await served.place.run('gateway', topic, '--gateway', 'gateway.json')).stdout
    const listed = await text('tokens')
    expect(listed).toMatch(/^bob +slow +no end +/m)
    for (const token of tokens.values()) expect(listed).not.toContain(token)
    const limits = await text('limits')
    expect(limits).toMatch(/^every user +600 per minute; 100 at once$/m)
    expect(limits).toMatch(/^role slow +1 per minute; 2 at once$/m)
    expect(limits).toMatch(/^tools one\.read +3 per day$/m)
  }, 30_000)
})

describe('the audit log', () => {
  it('names the user of each call, and holds together', async () => {
    await call('ada', 'for the audit')
    const entries = async () => (await served.place.run('audit', '--json')).json.entries
    await until(async () => JSON.stringify(await entries()).includes('for the audit'))
    const entry = (await entries()).find((one: object) => JSON.stringify(one).includes('for the audit'))
    expect(entry).toMatchObject({ caller: 'client', user: 'ada', server: 'one', tool: 'write' })
    expect((await served.place.run('audit', '--verify', '--json')).json).toMatchObject({ ok: true })
  }, 30_000)
})

describe('TLS', () => {
  const certificate = (place: ServedGateway['place'], name: string) =>
    execFileSync(
      'openssl',
      [
        'req',
        '-x509',
        '-newkey',
        'ec',
        '-pkeyopt',
        'ec_paramgen_curve:prime256v1',
        '-nodes',
        '-days',
        '2',
        '-subj',
        `/CN=${name}`,
        '-keyout',
        'key.pem',
        '-out',
        'cert.pem',
      ],
      { cwd: place.project, stdio: 'ignore' },
    )
  const seenName = (port: number) =>
    new Promise<string>((done) => {
      const socket = connect({ port, host: '127.0.0.1', rejectUnauthorized: false }, () => {
        done(String(socket.getPeerCertificate().subject?.CN))
        socket.destroy()
      })
      socket.on('error', () => done('none'))
    })

  it.skipIf(spawnSync('openssl', ['version']).status !== 0)(
    'serves https with files that may be replaced',
    async () => {
      const place = makePlace()
      const port = await freePort()
      certificate(place, 'first')
      place.write('gateway.json', {
        tls: { cert: 'cert.pem', key: 'key.pem' },
        auth: { tokens: 'tokens.json' },
      })
      const args = [COMMAND, 'serve', '--http', '--port', String(port), '--gateway', 'gateway.json']
      const env = { PATH: process.env['PATH'] ?? '', HOME: place.home }
      const child = spawn(process.execPath, args, {
        cwd: place.project,
        env,
        stdio: ['ignore', 'ignore', 'pipe'],
      })
      let stderr = ''
      child.stderr?.on('data', (chunk) => {
        stderr += chunk
      })
      try {
        await until(async () => (await seenName(port)) === 'first')
        certificate(place, 'second')
        await until(async () => (await seenName(port)) === 'second')
        place.write('key.pem', 'not a key')
        await until(() => stderr.includes('cannot be used'))
        expect(await seenName(port)).toBe('second')
      } finally {
        child.kill('SIGKILL')
        place.remove()
      }
    },
    60_000,
  )
})
