// What one client, or one server, of a shared gateway can do to the others: every test attacks the real `plugboard serve
// --http`.
import { once } from 'node:events'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import {
  type Answer,
  type GatewayOptions,
  legacySession,
  modern,
  probe,
  type RawSession,
  SERVER,
  type ServedGateway,
  serveGateway,
  until,
} from '../support/gateway.ts'

const ADA = 'the-token-of-ada-4711'
const EVE = 'the-token-of-eve-0815'
const FORMS = { elicitation: { form: {} } }

const ends: (() => unknown)[] = []
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end()
})

async function served(options: GatewayOptions): Promise<ServedGateway> {
  const gateway = await serveGateway({ tokens: [ADA, EVE], ...options })
  ends.push(() => gateway.remove())
  return gateway
}

function server(name: string, env: Readonly<Record<string, string>> = {}) {
  return { command: process.execPath, args: [SERVER], env: { NAME: name, ...env } }
}

/** Opens the stream of a session and keeps it open. */
async function listen(url: string, { headers }: RawSession): Promise<{ status: number; text(): string }> {
  return reading(await fetch(url, { headers: { ...headers, accept: 'text/event-stream' } }))
}

/** What has arrived of a response so far; it is read until the test ends. */
function reading(response: Response): { status: number; text(): string } {
  let text = ''
  const reader = response.body?.getReader()
  ends.push(() => reader?.cancel().catch(() => undefined))
  const read = async () => {
    for (;;) {
      const part = await reader?.read()
      if (!part || part.done) return
      text += new TextDecoder().decode(part.value)
    }
  }
  read().catch(() => undefined)
  return { status: response.status, text: () => text }
}

const textOf = ({ message }: Answer): string => message?.result?.content?.[0]?.text ?? ''
const toolsOf = async (session: RawSession): Promise<string[]> =>
  ((await session.request('tools/list')).message.result.tools as { name: string }[]).map(({ name }) => name)

describe('one owner that takes everything', () => {
  it('cannot keep others from a session, and 2,000 users are all served', async () => {
    const users = Array.from({ length: 2000 }, (_, n) => `the-token-of-user-${String(n).padStart(4, '0')}`)
    const { url } = await served({ servers: { one: server('one') }, tokens: users })
    const sessions: RawSession[] = []
    for (let from = 0; from < users.length; from += 50)
      sessions.push(
        ...(await Promise.all(users.slice(from, from + 50).map((token) => legacySession(url, token)))),
      )
    const failed: number[] = []
    const some = sessions.filter((_, n) => n % 4 === 0)
    for (let from = 0; from < some.length; from += 50) {
      const pings = await Promise.all(some.slice(from, from + 50).map((one) => one.request('ping')))
      failed.push(...pings.map(({ status }) => status).filter((status) => status !== 200))
    }
    expect(failed).toEqual([])
  }, 600_000)

  it('holds no more than its share of sessions and streams, and evicts no other owner', async () => {
    const { url } = await served({
      servers: { one: server('one') },
      settings: { gateway: { limits: { sessions: 20, sessionsPerOwner: 15, streamsPerOwner: 5 } } },
    })
    const ada = await legacySession(url, ADA)
    const statuses: number[] = []
    for (let n = 0; n < 15; n++) statuses.push((await listen(url, await legacySession(url, EVE))).status)
    expect(statuses.filter((status) => status === 200)).toHaveLength(5)
    expect(statuses.filter((status) => status === 503)).toHaveLength(10)
    // Her idle sessions make room for her own new ones, and for those of others.
    for (let n = 0; n < 20; n++) await legacySession(url, EVE)
    for (let n = 0; n < 10; n++) await legacySession(url, ADA)
    expect((await ada.request('ping')).status).toBe(200)
  }, 120_000)

  it('gets an error for limits that make no sense', async () => {
    const gateway = await served({ servers: {} })
    gateway.place.write('~/.plugboard/settings.json', { gateway: { limits: { sessions: 'many' }, drain: 5 } })
    const { stderr } = await gateway.place.run('list')
    expect(stderr).toContain('gateway.limits.sessions')
    expect(stderr).toContain('drain')
  }, 60_000)
})

describe('a question that is left open', () => {
  it.each(['a client of 2026-07-28 that never comes back', 'a client of 2025-11-25 that never answers'])(
    'by %s blocks no other client',
    async (who) => {
      const { url } = await served({ servers: { one: server('one') } })
      if (who.includes('2026')) {
        const call = { name: 'mcp__one__ask', arguments: { who: 'Eve' } }
        const left = await modern(url, EVE, 'tools/call', call)
        expect(left.message.result.resultType).toBe('input_required')
      } else {
        const eve = await legacySession(url, EVE, FORMS)
        const params = { name: 'mcp__one__ask', arguments: { who: 'Eve' } }
        const body = JSON.stringify({ jsonrpc: '2.0', id: 7, method: 'tools/call', params })
        const headers = {
          ...eve.headers,
          'content-type': 'application/json',
          accept: 'application/json, text/event-stream',
        }
        const heard = reading(await fetch(url, { method: 'POST', headers, body }))
        await until(() => heard.text().includes('Is it Eve?'))
      }
      const call = { name: 'mcp__one__ask', arguments: { who: 'Ada' } }
      const asked = await modern(url, ADA, 'tools/call', call)
      expect(asked.message.result).toMatchObject({
        resultType: 'input_required',
        inputRequests: { 'input-1': { params: { message: 'Is it Ada?' } } },
      })
      const answered = await modern(url, ADA, 'tools/call', {
        ...call,
        requestState: asked.message.result.requestState,
        inputResponses: { 'input-1': { action: 'accept', content: { name: 'Ada' } } },
      })
      expect(textOf(answered)).toBe('Ada said Ada')
    },
    60_000,
  )

  it('about a permission (--ask=elicit) does not hang the calls of others', async () => {
    const { url } = await served({
      servers: { one: server('one') },
      args: ['--ask=elicit'],
    })
    const call = { name: 'mcp__one__write', arguments: { key: 'k' } }
    const left = await modern(url, EVE, 'tools/call', call)
    expect(left.message.result.resultType).toBe('input_required')
    const asked = await modern(url, ADA, 'tools/call', call)
    const answered = await modern(url, ADA, 'tools/call', {
      ...call,
      requestState: asked.message.result.requestState,
      inputResponses: { 'input-1': { action: 'accept', content: { answer: 'once' } } },
    })
    expect(textOf(answered)).toBe('written')
  }, 60_000)
})

describe('a server that wants another one’s name (--names=plain)', () => {
  it('is left out, also after a restart of the first owner, and the operator is warned', async () => {
    const gateway = await served({
      servers: {
        // Before the other in every order.
        aweather: server('aweather', { TOOLS: 'grow', LATER: 'save_secret,forecast' }),
        zvault: server('zvault', { TOOLS: 'save_secret,die', NAME: 'zvault' }),
      },
      args: ['--names=plain'],
    })
    const session = await legacySession(gateway.url, ADA)
    await until(async () => (await toolsOf(session)).includes('save_secret'))
    expect(textOf(await session.call('save_secret'))).toBe('save_secret of zvault')
    await session.call('grow')
    await until(async () => (await toolsOf(session)).includes('forecast'))
    expect((await toolsOf(session)).filter((name) => name === 'save_secret')).toHaveLength(1)
    expect(textOf(await session.call('save_secret'))).toBe('save_secret of zvault')
    await until(() => gateway.stderr().includes('"save_secret" of "aweather" is left out'))
    const status = await session.request('resources/read', { uri: 'plugboard://status' })
    expect(status.message.result.contents[0].text).toContain('is left out')
    // The owner is configured anew, and down for a moment: the name stays its own.
    gateway.place.write('~/.plugboard/settings.json', {
      mcpServers: {
        aweather: server('aweather', { TOOLS: 'grow', LATER: 'save_secret,forecast' }),
        zvault: server('zvault', { TOOLS: 'save_secret,die', NAME: 'zvault the second' }),
      },
    })
    const answers: string[] = []
    await until(async () => {
      answers.push(textOf(await session.call('save_secret')))
      return answers.at(-1) === 'save_secret of zvault the second'
    })
    expect(answers.filter((text) => text.includes('aweather'))).toEqual([])
  }, 120_000)

  it('does not get it by being up first after a restart of the gateway', async () => {
    const late = { TOOLS: 'save_secret,die', NAME: 'zvault' }
    const gateway = await served({
      servers: { aweather: server('aweather', { TOOLS: 'forecast' }), zvault: server('zvault', late) },
      args: ['--names=plain'],
    })
    const session = await legacySession(gateway.url, ADA)
    await until(async () => (await toolsOf(session)).includes('save_secret'))
    const state = join(gateway.place.home, '.plugboard/state')
    const kept = () =>
      readdirSync(state)
        .filter((name) => name.startsWith('gateway-names'))
        .some((name) => readFileSync(join(state, name), 'utf8').includes('save_secret'))
    await until(kept)
    await gateway.stop('SIGKILL')
    gateway.place.write('~/.plugboard/settings.json', {
      mcpServers: {
        aweather: server('aweather', { TOOLS: 'forecast,save_secret' }),
        zvault: server('zvault', { ...late, DELAY: '6000' }),
      },
    })
    await gateway.start()
    await until(async () => (await toolsOf(session)).includes('forecast'))
    const early = await session.call('save_secret')
    expect(early.text).not.toContain('of aweather')
    await until(async () => textOf(await session.call('save_secret')) === 'save_secret of zvault')
  }, 120_000)
})

describe('a token with a narrow exposure', () => {
  const secret = 'postgres://app:STDERR-SECRET@db'
  const options = {
    servers: {
      one: server('one'),
      broken: server('broken', { STDERR: secret, FAIL: '1' }),
      hidden: server('hidden'),
    },
    settings: { permissions: { deny: ['mcp__one__write'] } },
    tokens: [ADA, `${EVE} one.read one.write broken`],
  }

  it('learns nothing about the rest, nor what a server wrote when it failed', async () => {
    const gateway = await served(options)
    const { url, port } = gateway
    const eve = await legacySession(url, EVE)
    const status = async (session: RawSession) => {
      const read = await session.request('resources/read', { uri: 'plugboard://status' })
      return JSON.parse(read.message.result.contents[0].text)
    }
    await until(async () =>
      (await status(eve)).servers.some(({ state }: { state: string }) => state === 'failed'),
    )
    const shown = await status(eve)
    expect(shown.servers.map(({ name }: { name: string }) => name)).toEqual(['broken', 'one'])
    expect(shown.servers[1]).toMatchObject({ tools: 1, resources: 0, prompts: 0 })
    expect(shown.servers[0].error).toEqual({
      code: 'INIT_ERROR',
      message: expect.stringContaining('reached'),
    })
    const answers = await Promise.all([
      eve.call('mcp__broken__x'),
      eve.call('mcp__one__write', { key: 'k' }),
      eve.call('mcp__hidden__read'),
      modern(url, EVE, 'tools/call', { name: 'mcp__broken__x', arguments: {} }),
      modern(url, EVE, 'server/discover'),
    ])
    const told = [JSON.stringify(shown), ...answers.map(({ text }) => text)].join('\n')
    expect(told).not.toContain('STDERR-SECRET')
    expect(told).not.toContain('settings.json')
    expect(told).not.toContain(gateway.place.home)
    expect(told).not.toMatch(/"hidden"|hidden is/)
    const metrics = (token: string) =>
      fetch(`http://127.0.0.1:${port}/metrics`, { headers: { authorization: `Bearer ${token}` } })
    expect((await metrics(EVE)).status).toBe(403)
    expect((await metrics(ADA)).status).toBe(200)
    // A client that sees everything also gets only the code of a failed server.
    const ada = await legacySession(url, ADA)
    expect(JSON.stringify(await status(ada))).not.toContain('STDERR-SECRET')
    expect((await status(ada)).servers).toHaveLength(4)
  }, 60_000)
})

describe('a tool with an invalid schema', () => {
  it('does not cost clients the list', async () => {
    const { ListToolsResultSchema } = await import('@modelcontextprotocol/sdk/types.js')
    const schemas = {
      rootless: { properties: { a: { type: 'string' } } },
      other: { type: 'string' },
      union: { type: ['object', 'null'], properties: { a: true, b: false }, required: ['a', 7] },
      ref: { $ref: '#/$defs/a', $defs: { a: { type: 'object' } }, $schema: 7 },
    }
    const { url } = await served({
      servers: {
        odd: server('odd', { TOOLS: Object.keys(schemas).join(), SCHEMAS: JSON.stringify(schemas) }),
      },
    })
    const session = await legacySession(url, ADA)
    await until(async () => (await toolsOf(session)).length >= 4)
    const { result } = (await session.request('tools/list')).message
    expect(ListToolsResultSchema.safeParse(result).error).toBeUndefined()
    expect(textOf(await session.call('mcp__odd__rootless', { a: 'x' }))).toBe('rootless of odd')
  }, 60_000)
})

describe('the operator', () => {
  it('is answered on /health and /ready by any host name and without a token, and on nothing else', async () => {
    const { port } = await served({ servers: { one: server('one') } })
    const { request } = await import('node:http')
    const status = async (path: string) => {
      const asked = request({ host: '127.0.0.1', port, path, headers: { host: '10.1.2.3:8080' } }).end()
      const [response] = await once(asked, 'response')
      response.resume()
      return response.statusCode
    }
    expect(await status('/health')).toBe(200)
    expect(await status('/ready')).toBe(200)
    expect(await status('/metrics')).toBe(403)
    expect(await status('/mcp')).toBe(403)
    expect(JSON.parse((await probe(port, '/ready')).body)).toEqual({
      status: 'ready',
      servers: { up: expect.any(Number), away: 0 },
    })
  }, 60_000)

  it('takes a token away while it is in use, and gives a new one, without a restart', async () => {
    const gateway = await served({ servers: { one: server('one') } })
    const { url } = gateway
    const file = join(gateway.place.project, 'tokens')
    const eve = await legacySession(url, EVE)
    const stream = await fetch(url, { headers: { ...eve.headers, accept: 'text/event-stream' } })
    const ended = stream.text()
    const running = eve.call('mcp__one__slow', { ms: 30_000 })
    const ada = await legacySession(url, ADA)
    const working = ada.call('mcp__one__slow', { ms: 2500 })
    await until(async () => (await eve.request('ping')).status === 200)
    writeFileSync(file, `${ADA}\nthe-token-of-zoe-1234\n`)
    await ended
    expect((await running).message.error.message).toContain('withdrawn')
    expect((await eve.request('ping')).status).toBe(401)
    await legacySession(url, 'the-token-of-zoe-1234')
    // An unusable file changes nothing, and is reported.
    writeFileSync(file, 'short\n')
    await until(() => gateway.stderr().includes('too short'))
    expect((await ada.request('ping')).status).toBe(200)
    gateway.child.kill('SIGHUP')
    await until(() => gateway.stderr().includes('read again'))
    expect(textOf(await working)).toBe('slow')
    expect(gateway.child.exitCode).toBeNull()
  }, 60_000)

  it('reloads the configuration with SIGHUP, and a broken file changes nothing', async () => {
    const gateway = await served({ servers: { one: server('one') } })
    const session = await legacySession(gateway.url, ADA)
    gateway.place.write('~/.plugboard/settings.json', { mcpServers: { two: server('two') } })
    gateway.child.kill('SIGHUP')
    await until(async () => (await toolsOf(session)).includes('mcp__two__read'))
    gateway.place.write('~/.plugboard/settings.json', '{ "mcpServers": {')
    gateway.child.kill('SIGHUP')
    await until(() => /error ~?\S*settings\.json:1/.test(gateway.stderr()))
    expect((await session.request('ping')).status).toBe(200)
    expect(gateway.child.exitCode).toBeNull()
  }, 60_000)

  it('stops it with SIGTERM: open calls are answered, new ones are not taken, and /health answers until the end', async () => {
    const gateway = await served({ servers: { one: server('one') }, args: ['--drain-ms', '3000'] })
    const { url, port } = gateway
    const ada = await legacySession(url, ADA)
    const short = ada.call('mcp__one__slow', { ms: 1500 })
    const long = ada.call('mcp__one__slow', { ms: 60_000 })
    const modernLong = modern(url, ADA, 'tools/call', { name: 'mcp__one__slow', arguments: { ms: 60_000 } })
    await until(async () => (await metricsOf(port)).includes('plugboard_in_flight 3'))
    const exited = gateway.stop('SIGTERM')
    await until(async () => (await probe(port, '/ready')).body.includes('draining'))
    expect((await probe(port, '/ready')).status).toBe(503)
    expect(await probe(port, '/health')).toMatchObject({
      status: 200,
      body: expect.stringContaining('draining'),
    })
    const refused = await ada.request('tools/list')
    expect(refused).toMatchObject({
      status: 503,
      message: { error: { message: expect.stringContaining('shutting down') } },
    })
    expect(refused.headers.get('retry-after')).toBe('5')
    await expect(legacySession(url, ADA)).rejects.toThrow('503')
    expect(textOf(await short)).toBe('slow')
    const unknown = { data: { code: 'OUTCOME_UNKNOWN' }, message: expect.stringContaining('shutting down') }
    expect((await long).message.error).toMatchObject(unknown)
    expect((await modernLong).message.error).toMatchObject(unknown)
    expect(await exited).toBe(0)
  }, 60_000)

  it('stops it at once with a second signal', async () => {
    const gateway = await served({ servers: { one: server('one') } })
    const ada = await legacySession(gateway.url, ADA)
    const cut = expect(ada.call('mcp__one__slow', { ms: 60_000 })).rejects.toThrow()
    await until(async () => (await metricsOf(gateway.port)).includes('plugboard_in_flight 1'))
    gateway.child.kill('SIGTERM')
    await until(async () => (await probe(gateway.port, '/ready')).status === 503)
    expect(await gateway.stop('SIGTERM')).toBe(130)
    await cut
  }, 60_000)

  it('says how much of the audit log is kept, and is told what was rotated away', async () => {
    const gateway = await served({
      servers: { one: server('one') },
      settings: { audit: { maxBytes: 65_536, files: 2 } },
    })
    const ada = await legacySession(gateway.url, ADA)
    for (let n = 0; n < 40; n++)
      await Promise.all(
        Array.from({ length: 20 }, () => ada.call('mcp__one__read', { note: 'x'.repeat(150) })),
      )
    expect(await gateway.stop('SIGTERM')).toBe(0)
    const verified = await gateway.place.run('audit', '--verify')
    expect(verified.code).toBe(0)
    expect(verified.stdout).toMatch(/Lines 1 to \d+ were rotated away/)
    const { json } = await gateway.place.run('audit', '--verify', '--json')
    expect(json.rotatedAway).toBe(json.firstSeq - 1)
    expect(json.rotatedAway + json.lines).toBe(800)
    // The current file, unless it was rotated away just now, and the one before it.
    const kept = readdirSync(join(gateway.place.home, '.plugboard/state')).filter((name) =>
      /^audit\.jsonl(\.\d+)?$/.test(name),
    )
    expect(kept.length).toBeLessThanOrEqual(2)
  }, 120_000)
})

async function metricsOf(port: number): Promise<string> {
  const headers = { authorization: `Bearer ${ADA}` }
  return await (await fetch(`http://127.0.0.1:${port}/metrics`, { headers })).text()
}
