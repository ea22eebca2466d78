// Parsing a client's message; and results that cannot be serialized.
import { PassThrough } from 'node:stream'
import { describe, expect, it } from 'vitest'
import { bare, connect, makeGateway, onEnd, serve, until } from './fixtures/kit.ts'
import { serveStdio } from './index.ts'
import { parseMessage } from './parse-message.ts'

const nested = (levels: number) => `${'['.repeat(levels)}1${']'.repeat(levels)}`
const message = (args: string) =>
  `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"mcp__one__given","arguments":{"v":${args}}}}`

describe('a message', () => {
  it('may be nested, but not without end', () => {
    expect(parseMessage(message(nested(900))).kind).toBe('request')
    for (const levels of [1000, 20_000])
      expect(parseMessage(message(nested(levels)))).toMatchObject({
        kind: 'bad',
        reply: { id: 7, error: { code: -32600, message: expect.stringContaining('1000 levels') } },
      })
    expect(parseMessage(message(nested(1_000_000)))).toMatchObject({ kind: 'bad', reply: { id: null } })
  })

  it('may hold any number of brackets in strings, and side by side', () => {
    const texts = [
      '['.repeat(5000),
      `\\"${'{'.repeat(5000)}`,
      `\\\\${'['.repeat(3)}`,
      `${'[{'.repeat(2000)}\\\\`,
    ]
    for (const text of texts) expect(parseMessage(message(`"${text}"`)).kind).toBe('request')
    expect(parseMessage(message(`[${'[],{},'.repeat(5000)}1]`)).kind).toBe('request')
    expect(parseMessage(message(`"${'\\"'.repeat(2000)}`))).toMatchObject({
      reply: { error: { code: -32700 } },
    })
  })
})

describe('an answer that is nested too deeply to be passed on', () => {
  const call = { name: 'mcp__one__given', arguments: { nested: 20_000 } }
  const said = /nested too deeply/

  it('is reported to the client over HTTP, in both eras', async () => {
    const gateway = await makeGateway([bare('one')])
    await gateway.wake(15_000)
    const { url } = await serve(gateway)
    for (const era of ['legacy', 'modern'] as const) {
      const client = await connect(url, { era })
      await expect(client.callTool(call)).rejects.toThrow(said)
      expect((await client.listTools()).tools).toHaveLength(1)
    }
  })

  it('is reported to the client on stdio, which goes on', async () => {
    const gateway = await makeGateway([bare('one')])
    await gateway.wake(15_000)
    const input = new PassThrough()
    const output = new PassThrough()
    const handle = serveStdio(gateway, { input, output })
    onEnd(() => handle.close())
    let heard = ''
    output.on('data', (chunk) => {
      heard += String(chunk)
    })
    const params = {
      protocolVersion: '2025-11-25',
      capabilities: {},
      clientInfo: { name: 'p', version: '1' },
    }
    for (const [id, method, what] of [
      [1, 'initialize', params],
      [2, 'tools/call', call],
      [3, 'ping', {}],
    ])
      input.write(`${JSON.stringify({ jsonrpc: '2.0', id, method, params: what })}\n`)
    await until(() => heard.includes('"id":2') && heard.includes('"id":3'))
    expect(heard).toMatch(said)
  })
})
