// One call, once, in a process of its own, against servers with a fault: what a user sees, and how the process ends.
import { readFileSync } from 'node:fs'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import {
  type Ended,
  type Home,
  makeHome,
  type RunOptions,
  stdioPeer,
  WAY_NAMES,
  WAYS,
  type Way,
} from './kit.ts'
import { httpPeer, type RemoteFault, type RemotePeer, ssePeer, wsPeer } from './remote.ts'

let home: Home
let peer: RemotePeer | undefined

beforeEach(() => {
  home = makeHome()
})
afterEach(async () => {
  await peer?.close()
  peer = undefined
  home.remove()
})

const ask = (way: Way, tool: string, options?: RunOptions) => WAYS[way](home, tool, options)

function expectAnswer(way: Way, { code, stdout, stderr }: Ended): void {
  expect({ code, stderr }).toMatchObject({ code: 0 })
  if (way === 'the command with --json')
    expect(JSON.parse(stdout)).toMatchObject({ isError: false, content: [{ text: 'the answer of look' }] })
  else expect(stdout).toBe('the answer of look\n')
}

/** The command has an exit code of its own for each kind of error; a script says what it likes. */
function expectError(way: Way, { code, stdout, stderr }: Ended, wanted: string, exit: number): void {
  const isCommand = way.startsWith('the command')
  expect({ code, stdout, stderr }).toMatchObject({ code: isCommand ? exit : 1 })
  if (way === 'the command with --json') expect(JSON.parse(stdout)).toMatchObject({ error: { code: wanted } })
  else {
    expect(stdout).toBe('')
    expect(stderr).toMatch(isCommand ? /\S/ : new RegExp(`^${wanted} `))
  }
}

interface Scene {
  readonly name: string
  /** The entry of the server. */
  readonly entry: () => Promise<object> | object
  readonly tool: 'look' | 'write'
  readonly error?: readonly [code: string, exit: number]
  /** What else must be in what was printed. */
  readonly says?: RegExp
}

const remote =
  (make: (fault: RemoteFault) => Promise<RemotePeer>, fault: RemoteFault, type: string) => async () => {
    peer = await make(fault)
    return { type, url: peer.url }
  }

const SCENES: readonly Scene[] = [
  { name: 'exits once after tools/list', entry: () => stdioPeer(home, 'exits-after-list'), tool: 'look' },
  { name: 'exits once inside a read-only call', entry: () => stdioPeer(home, 'exits-in-call'), tool: 'look' },
  {
    name: 'exits once inside a read-only call, with the shortest backoff',
    entry: () => stdioPeer(home, 'exits-in-call', { reconnect: { delayMs: 1 } }),
    tool: 'look',
  },
  {
    name: 'exits once inside a writing call',
    entry: () => stdioPeer(home, 'exits-in-call'),
    tool: 'write',
    error: ['OUTCOME_UNKNOWN', 4],
    says: /exited with code 3\.\\?n?\s*Last stderr lines:\\?n?\s*the disk is on fire/,
  },
  {
    name: 'never answers a call',
    entry: () => stdioPeer(home, 'never-answers', { timeout: 700 }),
    tool: 'look',
    error: ['TIMEOUT', 7],
  },
  {
    name: 'sends more than 64 MiB',
    entry: () => stdioPeer(home, 'huge'),
    tool: 'look',
    error: ['ANSWER_TOO_LARGE', 1],
    says: /64 MiB/,
  },
  {
    name: 'floods us with requests instead of answering',
    entry: () => stdioPeer(home, 'floods', { timeout: 1500 }),
    tool: 'look',
    error: ['TIMEOUT', 7],
  },
  {
    name: 'asks over HTTP to wait at initialize',
    entry: remote(httpPeer, 'wait-at-initialize', 'http'),
    tool: 'look',
  },
  {
    name: 'asks over HTTP to wait at the call',
    entry: remote(httpPeer, 'wait-at-call', 'http'),
    tool: 'look',
  },
  {
    name: 'drops the HTTP socket once in a call',
    entry: remote(httpPeer, 'drops-call', 'http'),
    tool: 'look',
  },
  { name: 'asks over SSE to wait at the call', entry: remote(ssePeer, 'wait-at-call', 'sse'), tool: 'look' },
  { name: 'drops the SSE stream once in a call', entry: remote(ssePeer, 'drops-call', 'sse'), tool: 'look' },
  { name: 'drops the WebSocket once in a call', entry: remote(wsPeer, 'drops-call', 'ws'), tool: 'look' },
  {
    name: 'drops the WebSocket once in a writing call',
    entry: remote(wsPeer, 'drops-call', 'ws'),
    tool: 'write',
    error: ['OUTCOME_UNKNOWN', 4],
  },
]

describe.each(SCENES)('a server that $name', (scene) => {
  it.each(WAY_NAMES)('by %s', async (way) => {
    home.servers({ s: await scene.entry() })
    const ended = await ask(way, scene.tool)
    if (scene.error) expectError(way, ended, ...scene.error)
    else expectAnswer(way, ended)
    if (scene.says) expect(ended.stdout + ended.stderr).toMatch(scene.says)
    const calls = peer?.methods.filter((method) => method === 'tools/call').length
    if (scene.name.includes('in a writing call')) expect(calls).toBe(1)
  })
})

describe('with the input of the terminal', () => {
  it.each(WAY_NAMES)('a server that exits once inside a call is answered by %s', async (way) => {
    home.servers({ s: stdioPeer(home, 'exits-in-call') })
    expectAnswer(way, await ask(way, 'look', { stdin: 'inherited' }))
  })
})

const BOTH = ['top-level await', 'main()'] as const
const wrapped = (way: (typeof BOTH)[number], body: string) =>
  way === 'main()' ? `async function main() {${body}}\nmain()\n` : body

describe.each(BOTH)('a script with %s', (way) => {
  it('whose server was killed before the call gets its answer', async () => {
    home.servers({ s: stdioPeer(home, '') })
    const { code, stdout, stderr } = await home.script(
      wrapped(
        way,
        `
        const { readFileSync } = await import('node:fs')
        const board = await openBoard()
        await board.ready()
        process.kill(Number(readFileSync(${JSON.stringify(home.path('pids'))}, 'utf8')), 'SIGKILL')
        await new Promise((done) => setTimeout(done, 300))
        const result = await board.call('s.look', {}, { caller: 'user' })
        console.log(result.content[0].text)
        await board.close()
        `,
      ),
    )
    expect({ code, stdout, stderr }).toEqual({ code: 0, stdout: 'the answer of look\n', stderr: '' })
    expect(readFileSync(home.path('pids'), 'utf8').trim().split('\n')).toHaveLength(2)
  })

  it('whose in-process server never answers gets a timeout', async () => {
    const { code, stdout, stderr } = await home.script(
      wrapped(
        way,
        `
        const silent = (end) => {
          end.onmessage = ({ id, method }) => {
            const result =
              method === 'initialize'
                ? { protocolVersion: '2025-11-25', capabilities: { tools: {} }, serverInfo: { name: 'in', version: '1' } }
                : method === 'tools/list'
                  ? { tools: [{ name: 'look', inputSchema: { type: 'object' } }] }
                  : undefined
            if (result) end.send({ jsonrpc: '2.0', id, result })
            else if (id !== undefined && method !== 'tools/call')
              end.send({ jsonrpc: '2.0', id, error: { code: -32601, message: 'no' } })
          }
          return end.start()
        }
        const board = await openBoard({ servers: [], inProcess: { silent } })
        const error = await board.call('silent.look', {}, { caller: 'user', timeoutMs: 500 }).catch((fault) => fault)
        console.log(error.code)
        await board.close()
        `,
      ),
    )
    expect({ code, stdout, stderr }).toEqual({ code: 0, stdout: 'TIMEOUT\n', stderr: '' })
  })

  it('that awaits a server which never starts gets its error', async () => {
    home.servers({ s: stdioPeer(home, 'never-starts') })
    const { code, stdout } = await home.script(
      wrapped(
        way,
        `
        const board = await openBoard({ timeoutMs: 1500 })
        await board.ready()
        console.log(board.servers().find(({ name }) => name === 's').state)
        await board.close()
        `,
      ),
    )
    expect({ code, stdout }).toEqual({ code: 0, stdout: 'failed\n' })
  })

  it('ends by itself though a server that failed is retried in the background', async () => {
    home.servers({ s: { command: 'no-such-command-anywhere' } })
    const { code, stdout } = await home.script(
      wrapped(
        way,
        `
        const board = await openBoard()
        await board.ready()
        console.log(board.servers().find(({ name }) => name === 's').state)
        `,
      ),
    )
    expect({ code, stdout }).toEqual({ code: 0, stdout: 'failed\n' })
  })
})

describe('an answer of more than 64 MiB', () => {
  it.each([
    ['http', 'http', () => httpPeer('huge')],
    ['http, in a stream', 'http', () => httpPeer('huge-stream')],
    ['sse', 'sse', () => ssePeer('huge')],
    ['ws', 'ws', () => wsPeer('huge')],
  ])('over %s fails that call only, and is not asked for again', async (_name, type, make) => {
    peer = await make()
    home.servers({ s: { type, url: peer.url } })
    const { code, stdout, stderr } = await home.script(`
      const board = await openBoard({ caller: 'user' })
      for (let n = 0; n < 3; n++) console.log(await board.call('s.look').catch(({ code }) => code))
      const [one] = (await board.call('s.write')).content
      console.log(one.text, board.servers().find(({ name }) => name === 's').state)
      await board.close()
    `)
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(stdout).toBe(`${'ANSWER_TOO_LARGE\n'.repeat(3)}the answer of write connected\n`)
    const count = (wanted: string) => peer?.methods.filter((method) => method === wanted).length
    expect(count('tools/call')).toBe(4)
    expect(count('initialize')).toBe(1)
  })
})

describe('the board as a table', () => {
  it('waits for a server that asks it to wait', async () => {
    peer = await httpPeer('wait-at-initialize')
    home.servers({ s: { type: 'http', url: peer.url } })
    const { code, stdout } = await home.command(['list', '--json'])
    expect(code).toBe(0)
    expect(JSON.parse(stdout).servers).toContainEqual(
      expect.objectContaining({ name: 's', state: 'connected' }),
    )
  })
})
