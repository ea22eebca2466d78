// What reaches the socket without being our command: every message is refused or answered with an error that says why, and
// the process goes on serving others.
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { BOARD_METHODS } from './board-methods.ts'
import { NODE_VARIABLES, PROTOCOL } from './protocol.ts'
import { type Resident, startResident } from './resident.ts'
import { residentPlace } from './socket-paths.ts'

const top = mkdtempSync(join(tmpdir(), 'plugboard-hostile-'))
const place = residentPlace(join(top, 'state'))
const env = {
  ...Object.fromEntries(NODE_VARIABLES.map((name) => [name, process.env[name] ?? ''])),
  PATH: process.env['PATH'] ?? '',
  HOME: join(top, 'home'),
  PLUGBOARD_MANAGED_DIR: join(top, 'managed'),
}
const OPEN = { cwd: top, env, strict: true, mcpConfig: ['{"mcpServers":{}}'], caller: 'user', asks: {} }
const COMMAND = { argv: ['tools'], cwd: top, env }
let resident: Resident | undefined
const ran: (readonly string[])[] = []

interface Answer {
  readonly id?: number
  readonly result?: Readonly<Record<string, unknown>>
  readonly error?: { readonly message: string; readonly data?: { readonly code: string } }
}

/** A connection that writes whatever it is told to. */
class RawClient {
  readonly socket: Socket
  readonly closed: Promise<void>
  readonly #answers = new Map<number, (answer: Answer) => void>()
  #id = 0

  constructor() {
    this.socket = connect(place.socket)
    this.socket.on('error', () => undefined)
    this.closed = new Promise((done) => this.socket.once('close', () => done()))
    createInterface({ input: this.socket }).on('line', (line) => {
      const answer = JSON.parse(line) as Answer
      if (answer.id !== undefined) this.#answers.get(answer.id)?.(answer)
    })
  }

  request(method: string, params: unknown): Promise<Answer> {
    const id = this.#id++
    return new Promise((done) => {
      this.#answers.set(id, done)
      void this.closed.then(() => done({ error: { message: 'closed' } }))
      this.socket.write(`${JSON.stringify({ jsonrpc: '2.0', id, method, params })}\n`)
    })
  }

  async greeted(): Promise<this> {
    const token = readFileSync(place.token, 'utf8')
    expect(await this.request('board/hello', { protocol: PROTOCOL, version: '1', token })).toMatchObject({
      result: { protocol: PROTOCOL },
    })
    return this
  }
}

/** A client that behaves gets a board. */
async function expectService(): Promise<void> {
  const client = await new RawClient().greeted()
  expect(await client.request('board/open', OPEN)).toMatchObject({ result: { kind: 'opened' } })
  expect(await client.request('board/state', {})).toMatchObject({ result: { tools: [] } })
  client.socket.destroy()
}

beforeAll(async () => {
  for (const dir of [env.HOME, join(top, 'state')]) mkdirSync(dir)
  resident = await startResident({
    place,
    version: '1.0.0',
    idleMs: 0,
    runCommand: async ({ argv }) => {
      ran.push(argv)
      return { exit: 0 }
    },
  })
})

afterAll(async () => {
  resident?.leave('the tests are over')
  await resident?.left
  rmSync(top, { recursive: true, force: true })
})

describe('a client without the token', () => {
  const token = 'f'.repeat(64)
  const hello = { protocol: PROTOCOL, version: '1', token }
  const line = (value: unknown) => `${JSON.stringify(value)}\n`
  it.each<readonly [string, string | Buffer]>([
    ['sends no JSON', 'GET / HTTP/1.1\r\nHost: localhost\r\n\r\n'],
    ['sends bytes', Buffer.from([0, 255, 254, 10, 0, 10])],
    ['sends a list', line([{ jsonrpc: '2.0', id: 1, method: 'board/hello', params: hello }])],
    ['sends a wrong token', line({ jsonrpc: '2.0', id: 1, method: 'board/hello', params: hello })],
    [
      'sends a token of another type',
      line({ id: 1, method: 'board/hello', params: { ...hello, token: {} } }),
    ],
    ['sends no parameters', line({ id: 1, method: 'board/hello' })],
    ['begins with another method', line({ id: 1, method: 'board/status', params: {} })],
    ['asks the process to leave', line({ id: 1, method: 'board/leave', params: { why: 'x' } })],
    ['greets without an id', line({ method: 'board/hello', params: hello })],
    [
      'speaks MCP with a wrong token',
      line({ method: 'board/mcp', params: { token, open: OPEN } }) + line({ id: 1, method: 'ping' }),
    ],
    ['speaks MCP without parameters', line({ method: 'board/mcp' })],
    [
      'has a command run with a wrong token',
      line({ id: 0, method: 'board/run', params: { ...hello, sentAt: Date.now(), ...COMMAND } }),
    ],
    ['has a command run without parameters', line({ id: 0, method: 'board/run' })],
    ['never ends its first line', 'x'.repeat(1024 * 1024 + 1)],
  ])('%s: the connection is closed', async (_, bytes) => {
    const client = new RawClient()
    client.socket.write(bytes)
    await client.closed
    await expectService()
  })
})

describe('a command that is to be run', () => {
  const run = async (more: object) => {
    const params = { protocol: PROTOCOL, version: '1.0.0', sentAt: Date.now(), ...COMMAND, ...more }
    return await new RawClient().request('board/run', { token: readFileSync(place.token, 'utf8'), ...params })
  }
  const other = NODE_VARIABLES[0]

  it.each<readonly [string, object, string]>([
    ['is of another version', { version: '0.9.0' }, 'another version'],
    ['speaks another protocol', { protocol: PROTOCOL + 1 }, 'another version'],
    ['was sent too long ago', { sentAt: Date.now() - 60_000 }, 'too long ago'],
    ['has other variables of Node', { env: { ...env, [other]: '--odd' } }, other],
  ])('and %s is refused', async (_, more, why) => {
    expect(await run(more)).toMatchObject({ result: { refused: expect.stringContaining(why) } })
  })

  it.each<readonly [string, object]>([
    ['words that are no texts', { argv: [1] }],
    ['no folder', { cwd: 'relative' }],
    ['variables that are no texts', { env: { A: 1 } }],
    ['no time', { sentAt: 'now' }],
  ])('and has %s is not begun', async (_, more) => {
    expect(await run(more)).toMatchObject({ error: { message: 'closed' } })
  })

  it('is run, and is the only one that was', async () => {
    expect(await run({})).toMatchObject({ result: { exit: 0 } })
    expect(ran).toEqual([['tools']])
  })
})

describe('a client with the token', () => {
  const deep = (depth: number) => JSON.parse(`${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}`) as unknown
  const WRONG: readonly unknown[] = [
    null,
    [],
    'text',
    7,
    {
      server: 5,
      name: {},
      args: [],
      context: 'x',
      types: 'state',
      folders: [1],
      of: null,
      entry: 1,
      uri: [],
    },
    { server: '', name: '', args: null, context: null, folders: ['relative'], names: [''], uri: '' },
    { server: 'x'.repeat(5000), name: 'x'.repeat(5000), uri: 'x'.repeat(5000) },
    {
      server: '__proto__',
      name: 'constructor',
      args: {},
      context: { timeoutMs: -1 },
      uri: 'x',
      timeoutMs: 1e99,
    },
    { server: 'a', name: 'a', args: { a: 1 }, context: { caller: 'root' }, uri: 'x', given: { a: 1 } },
  ]

  it('gets an error for wrong parameters of every method, and the connection stays', async () => {
    const client = await new RawClient().greeted()
    expect(await client.request('board/open', OPEN)).toMatchObject({ result: { kind: 'opened' } })
    const takesNothing = ['board/state', 'board/faults', 'board/reload', 'board/ready']
    const takesAny = ['board/resources', 'board/templates', 'board/prompts', 'board/skills']
    for (const method of [...BOARD_METHODS.keys(), 'board/events', 'board/leave'])
      for (const params of WRONG) {
        const { error, result } = await client.request(method, params)
        if (error)
          expect(error.message, `${method} ${JSON.stringify(params)}`).not.toMatch(
            /undefined|internal|closed/,
          )
        else expect([...takesNothing, ...takesAny], method).toContain(method)
        expect(error ?? result, method).toBeDefined()
      }
    expect(await client.request('board/state', {})).toMatchObject({ result: { tools: [] } })
    client.socket.destroy()
  })

  it.each([
    ['a relative folder', { cwd: '.' }, '"cwd": expected an absolute path'],
    ['a folder with a zero byte', { cwd: '/a\0b' }, '"cwd"'],
    ['no environment', { env: undefined }, '"env": expected an object of texts'],
    ['an environment of numbers', { env: { A: 1 } }, '"env"'],
    ['an unknown caller', { caller: 'client' }, '"caller": expected "user" or "agent"'],
    ['asks as a text', { asks: 'elicit' }, '"asks": expected an object'],
    ['a negative time', { timeoutMs: -5 }, '"timeoutMs": is below 0'],
    ['built-ins that are not switched', { builtins: { codebase: 'yes' } }, '"builtins"'],
    ['configurations that are no text', { mcpConfig: [{}] }, '"mcpConfig.0"'],
  ])('cannot open a board with %s', async (_, change, says) => {
    const client = await new RawClient().greeted()
    const { error } = await client.request('board/open', { ...OPEN, ...change })
    expect(error).toMatchObject({ data: { code: 'INVALID_INPUT' }, message: expect.stringContaining(says) })
    client.socket.destroy()
  })

  it('may nest as deep as JSON goes', async () => {
    const client = await new RawClient().greeted()
    const params = `{"name":"a.b","context":{},"args":${'{"a":'.repeat(100_000)}1${'}'.repeat(100_000)}}`
    expect(await client.request('board/open', OPEN)).toMatchObject({ result: { kind: 'opened' } })
    client.socket.write(`{"jsonrpc":"2.0","id":99,"method":"board/call","params":${params}}\n`)
    expect(await client.request('board/add', { name: 'deep', entry: deep(3000) })).toHaveProperty('error')
    client.socket.destroy()
    await expectService()
  })

  it('is closed when it uses an id twice at once, or writes what is not JSON', async () => {
    for (const bytes of ['{"id":1,"method":"board/open"}\n{"id":1,"method":"board/open"}\n', '{]\n']) {
      const client = await new RawClient().greeted()
      client.socket.write(bytes)
      await client.closed
    }
    await expectService()
  })

  it('has its progress and answers to nothing ignored', async () => {
    const client = await new RawClient().greeted()
    for (const message of [
      { method: 'notifications/progress', params: { progressToken: 0, value: 1 } },
      { method: 'notifications/cancelled', params: { requestId: { a: 1 } } },
      { method: 'notifications/cancelled' },
      { id: 5, result: 'nothing was asked' },
      { id: null, error: 'x' },
      {},
    ])
      client.socket.write(`${JSON.stringify(message)}\n`)
    expect(await client.request('board/status', {})).toMatchObject({ result: { pid: process.pid } })
    client.socket.destroy()
  })
})
