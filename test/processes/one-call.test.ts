// One call, once, in a process of its own, against servers with a fault: what a user sees, and how the process ends.
import { readFileSync } from 'node:fs'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type Home, makeHome, stdioPeer } from './kit.ts'
import { httpPeer, type RemotePeer, ssePeer, wsPeer } from './remote.ts'

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

describe('--timeout', () => {
  it.each([
    ['in words', []],
    ['as JSON', ['--json']],
  ])('ends a call that reports progress without end, %s', async (_, words) => {
    home.servers({ s: stdioPeer(home, 'only-progress') })
    const { code, stdout, stderr } = await home.command(['call', 's.look', '--timeout', '3000', ...words])
    expect(code).toBe(7)
    if (words.length > 0) expect(JSON.parse(stdout)).toMatchObject({ error: { code: 'TIMEOUT' } })
    else expect(stderr).toMatch(/did not answer look within \d+ ms/)
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
