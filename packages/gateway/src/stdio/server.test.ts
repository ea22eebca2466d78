// The gateway on stdio: one client, which may be a script that writes its lines and closes the pipe.
import { PassThrough } from 'node:stream'
import { describe, expect, it } from 'vitest'
import { bare, folder, makeGateway, onEnd, seenIn, until, upstream } from '../fixtures/kit.ts'
import { type Gateway, serveStdio } from '../index.ts'

function piped(gateway: Gateway) {
  const input = new PassThrough()
  const output = new PassThrough()
  const handle = serveStdio(gateway, { input, output })
  onEnd(() => handle.close())
  const heard: Record<string, unknown>[] = []
  let rest = ''
  output.on('data', (chunk) => {
    const lines = (rest + String(chunk)).split('\n')
    rest = lines.pop() ?? ''
    for (const line of lines) heard.push(JSON.parse(line))
  })
  const say = (message: object) => input.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`)
  return { input, heard, say, closed: handle.closed }
}

function initialize(capabilities: object = {}) {
  const params = { protocolVersion: '2025-11-25', capabilities, clientInfo: { name: 'pipe', version: '1' } }
  return { id: 'hello', method: 'initialize', params }
}

describe('a pipe', () => {
  it('answers what was sent before it was closed', async () => {
    const gateway = await makeGateway([bare('one')])
    await gateway.wake(15_000)
    const { input, heard, say, closed } = piped(gateway)
    say(initialize())
    say({ method: 'notifications/initialized' })
    say({ id: 2, method: 'tools/call', params: { name: 'mcp__one__given', arguments: {} } })
    input.write('this is no JSON\n')
    input.write(`"${'x'.repeat(11 * 1024 * 1024)}"\n`)
    input.end()
    await closed
    expect(heard.filter(({ result }) => result !== undefined).map(({ id }) => id)).toEqual(['hello', 2])
    expect(heard).toContainEqual(
      expect.objectContaining({ error: expect.objectContaining({ code: -32700 }) }),
    )
    expect(heard).toContainEqual(
      expect.objectContaining({ error: expect.objectContaining({ code: -32600 }) }),
    )
  })

  it('refuses an id that is still open, passes over empty lines, and is quiet for what was cancelled', async () => {
    const gateway = await makeGateway([bare('one')])
    await gateway.wake(15_000)
    const { input, heard, say } = piped(gateway)
    input.write('\n  \n')
    say(initialize())
    const call = { method: 'tools/call', params: { name: 'mcp__one__given', arguments: {} } }
    say({ id: 1, ...call })
    say({ id: 1, ...call })
    await until(() => heard.filter(({ id }) => id === 1).length === 2)
    expect(heard.filter(({ id }) => id === 1).map(({ error }) => error !== undefined)).toEqual([true, false])
    // It is free again once it was answered.
    say({ id: 1, ...call })
    await until(() => heard.filter(({ id }) => id === 1).length === 3)
    expect(heard.at(-1)?.['error']).toBeUndefined()
    const meta = {
      'io.modelcontextprotocol/protocolVersion': '2026-07-28',
      'io.modelcontextprotocol/clientCapabilities': {},
    }
    say({
      id: 2,
      method: 'subscriptions/listen',
      params: { notifications: { toolsListChanged: true }, _meta: meta },
    })
    await until(() => heard.some(({ method }) => String(method).startsWith('notifications/')))
    say({ method: 'notifications/cancelled', params: { requestId: 2 } })
    say({ id: 3, method: 'tools/list', params: { _meta: meta } })
    await until(() => heard.some(({ id }) => id === 3))
    expect(heard.filter(({ id }) => id === null)).toEqual([])
    expect(heard.find(({ id }) => id === 3)).toHaveProperty('result')
  })

  it('takes many requests at once and writes nothing but the protocol', async () => {
    const gateway = await makeGateway([bare('one')])
    await gateway.wake(15_000)
    const warnings: string[] = []
    const onWarning = ({ message }: Error) => warnings.push(message)
    process.on('warning', onWarning)
    onEnd(() => process.off('warning', onWarning))
    const { heard, say } = piped(gateway)
    say(initialize())
    const calls = Array.from({ length: 30 }, (_, at) => at)
    for (const id of calls)
      say({ id, method: 'tools/call', params: { name: 'mcp__one__given', arguments: {} } })
    await until(() => calls.every((id) => heard.some((message) => message.id === id)))
    // Warnings are printed a turn later.
    await new Promise((done) => setImmediate(done))
    expect(warnings).toEqual([])
  })

  it('cancels what takes longer than the closing grace period', async () => {
    const dir = folder()
    const gateway = await makeGateway([upstream('one', 'legacy', dir)])
    await gateway.wake(15_000)
    const { input, say, closed } = piped(gateway)
    say(initialize())
    say({ id: 2, method: 'tools/call', params: { name: 'mcp__one__work', arguments: { ms: 60_000 } } })
    input.end()
    await closed
    await until(() => seenIn(dir).includes('cancelled'))
  })

  it('gives the client’s roots to servers that were up before it, and tells them when the roots change', async () => {
    const dir = folder()
    const gateway = await makeGateway([upstream('one', 'legacy', dir)])
    await gateway.wake(15_000)
    const { heard, say } = piped(gateway)
    say(initialize({ roots: { listChanged: true } }))
    await until(() => heard.length > 0)
    say({ method: 'notifications/initialized' })
    const asked = () => heard.filter(({ method }) => method === 'roots/list')
    await until(() => asked().length === 1)
    say({ id: asked()[0]?.id, result: { roots: [{ uri: 'file:///first' }] } })
    await until(() => seenIn(dir).includes('roots file:///first'))
    say({ method: 'notifications/roots/list_changed' })
    await until(() => asked().length === 2)
    say({ id: asked()[1]?.id, result: { roots: [{ uri: 'file:///second' }] } })
    await until(() => seenIn(dir).includes('roots file:///second'))
  })
})
