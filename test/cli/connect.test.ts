// `plugboard connect` as another MCP client runs it: over stdio, with the servers of the resident board.
import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, expect, it } from 'vitest'
import { COMMAND, makePlace, type Place } from '../support/cli.ts'

const RAW = fileURLToPath(new URL('../../packages/core/src/connection/fixtures/raw.mjs', import.meta.url))

const places: Place[] = []
const children: ChildProcess[] = []
afterEach(() => {
  for (const child of children.splice(0)) child.kill('SIGKILL')
  for (const place of places.splice(0)) place.remove()
})

function scene() {
  const place = makePlace()
  places.push(place)
  const file = join(place.home, 'pids')
  place.write('~/.plugboard/settings.json', {
    mcpServers: { raw: { command: process.execPath, args: [RAW], env: { PIDS: file } } },
  })
  const pids = () => (existsSync(file) ? readFileSync(file, 'utf8').split('\n').filter(Boolean) : [])
  return { ...place, pids }
}

type Message = Record<string, unknown> & { id?: unknown; method?: string }

/** A client that writes lines and keeps what it reads. */
function client(at: Place, ...args: string[]) {
  return clientWith({}, at, ...args)
}

function clientWith(env: Readonly<Record<string, string>>, at: Place, ...args: string[]) {
  const child = spawn(process.execPath, [COMMAND, 'connect', ...args], {
    cwd: at.project,
    env: { PATH: process.env['PATH'] ?? '', HOME: at.home, ...env },
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  children.push(child)
  const heard: Message[] = []
  let rest = ''
  child.stdout?.setEncoding('utf8').on('data', (chunk) => {
    const lines = (rest + String(chunk)).split('\n')
    rest = lines.pop() ?? ''
    for (const line of lines) heard.push(JSON.parse(line))
  })
  const say = (message: object) => child.stdin?.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`)
  let id = 0
  const ask = async (method: string, params: object = {}): Promise<Message> => {
    const mine = ++id
    say({ id: mine, method, params })
    for (const end = Date.now() + 40_000; ; ) {
      const answer = heard.find((message) => message.id === mine && message.method === undefined)
      if (answer) return answer
      if (Date.now() > end) throw new Error(`no answer to ${method}`)
      await new Promise((done) => setTimeout(done, 20))
    }
  }
  const begin = async () => {
    const clientInfo = { name: 'test', version: '1' }
    const answer = await ask('initialize', { protocolVersion: '2025-11-25', capabilities: {}, clientInfo })
    say({ method: 'notifications/initialized' })
    return answer
  }
  const echo = (n: number) => ask('tools/call', { name: 'mcp__raw__echo', arguments: { n } })
  const closed = new Promise<number | null>((done) => child.on('close', done))
  return { child, heard, ask, say, begin, echo, closed }
}

it('gives two clients one server, and goes on after the board was killed', async () => {
  const at = scene()
  const [one, two] = [client(at), client(at)]
  expect(await one.begin()).toMatchObject({ result: { serverInfo: expect.anything() } })
  await two.begin()
  expect(await one.echo(1)).toMatchObject({ result: { content: [{ text: '{"n":1}' }] } })
  expect(await two.echo(2)).toMatchObject({ result: { content: [{ text: '{"n":2}' }] } })
  expect(at.pids()).toHaveLength(1)
  const { pid, clients } = (await at.run('status', '--json')).json
  expect(clients).toBe(2)
  const before = one.heard.length
  process.kill(pid, 'SIGKILL')
  for (const end = Date.now() + 30_000; Date.now() < end && one.heard.length < before + 3; )
    await new Promise((done) => setTimeout(done, 20))
  expect(one.heard.slice(before).map(({ method }) => method)).toContain('notifications/tools/list_changed')
  // The client does not begin again: its session is carried over.
  expect(await one.echo(3)).toMatchObject({ result: { content: [{ text: '{"n":3}' }] } })
  expect(one.heard.filter(({ id }) => id === 1)).toHaveLength(1)
  expect((await at.run('status', '--json')).json.pid).not.toBe(pid)
  one.child.stdin?.end()
  expect(await one.closed).toBe(0)
})

it('tells a client that a call may have been carried out when the board was killed under it', async () => {
  const at = scene()
  const one = client(at)
  await one.begin()
  await one.echo(1)
  const call = one.ask('tools/call', { name: 'mcp__raw__write', arguments: { ms: 60_000 } })
  const { pid } = (await at.run('status', '--json')).json
  process.kill(pid, 'SIGKILL')
  expect(await call).toMatchObject({ error: { message: expect.stringContaining('unknown') } })
})

it('serves the client itself where no resident board may be used', async () => {
  const at = scene()
  const one = client(at, '--no-resident')
  await one.begin()
  expect(await one.echo(4)).toMatchObject({ result: { content: [{ text: '{"n":4}' }] } })
  expect((await at.run('status', '--json')).json).toEqual({ running: false })
  one.child.stdin?.end()
  expect(await one.closed).toBe(0)
})

/** With this variable Node would warn about the handles that are used without it: its streams are used instead. */
const WAYS = { 'handles of Node': {}, "Node's streams": { NODE_PENDING_DEPRECATION: '1' } }

it.each(Object.entries(WAYS))('moves large messages both ways by %s', async (_, env) => {
  const at = scene()
  await at.runWith({ PLUGBOARD_RESIDENT: '1' }, 'up')
  const one = clientWith(env, at)
  await one.begin()
  // More than a pipe, a socket and their buffers hold, in characters of several bytes, several at once.
  const text = 'größer '.repeat(300_000)
  const answers = await Promise.all(
    [1, 2, 3].map((n) => one.ask('tools/call', { name: 'mcp__raw__echo', arguments: { n, text } })),
  )
  expect(answers.map(({ result }) => JSON.parse((result as Echo).content[0].text))).toEqual(
    [1, 2, 3].map((n) => ({ n, text })),
  )
  one.child.stdin?.end()
  expect(await one.closed).toBe(0)
  const words = ['call', 'raw.echo', `text=${'ö'.repeat(50_000)}`, 'n=1']
  const ran = await at.runWith({ PLUGBOARD_RESIDENT: '1', LARGE: 'x'.repeat(100_000), ...env }, ...words)
  expect(ran).toMatchObject({ code: 0, stderr: '' })
  expect(JSON.parse(ran.stdout)).toMatchObject({ text: 'ö'.repeat(50_000) })
})

interface Echo {
  readonly content: readonly [{ readonly text: string }]
}

it.each([
  [
    'requests',
    [
      { id: 2, method: 'tools/call', params: { name: 'mcp__raw__echo', arguments: { n: 1 } } },
      { id: 3, method: 'ping' },
    ],
    [1, 2, 3],
  ],
  [
    'the same id twice',
    [
      { id: 2, method: 'ping' },
      { id: 2, method: 'ping' },
    ],
    [1, 2, 2],
  ],
  [
    'an id that is none',
    [
      { id: {}, method: 'ping' },
      { id: 2, method: 'ping' },
    ],
    [1, 2, null],
  ],
])('answers all that a client wrote before it closed its input: %s', async (_, messages, ids) => {
  const at = scene()
  await at.run('up')
  const { child, heard, say, closed } = client(at)
  const clientInfo = { name: 'test', version: '1' }
  say({
    id: 1,
    method: 'initialize',
    params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo },
  })
  say({ method: 'notifications/initialized' })
  for (const message of messages) say(message)
  child.stdin?.end()
  expect(await closed).toBe(0)
  const answered = heard.filter(({ method }) => method === undefined).map(({ id }) => id ?? null)
  expect(answered.sort()).toEqual([...ids].sort())
})
