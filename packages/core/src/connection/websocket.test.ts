import type { AddressInfo } from 'node:net'
import { afterEach, describe, expect, it } from 'vitest'
import { type WebSocket, WebSocketServer } from 'ws'
import type { WsEntry } from '../config/entry.ts'
import { board, configured, textOf, until } from './fixtures/kit.ts'

const closers: (() => Promise<void>)[] = []
afterEach(async () => {
  await Promise.all(closers.splice(0).map((close) => close()))
})

/** A legacy server over WebSocket; `silentOnProbe` does not even respond that it does not know the modern era. */
async function socketServer({ silentOnProbe = false } = {}) {
  const server = new WebSocketServer({ port: 0, host: '127.0.0.1', handleProtocols: () => 'mcp' })
  await new Promise((done) => server.once('listening', done))
  closers.push(async () => {
    for (const client of server.clients) client.terminate()
    await new Promise((done) => server.close(done))
  })
  const sockets: WebSocket[] = []
  const heard: string[] = []
  server.on('connection', (socket) => {
    sockets.push(socket)
    socket.on('message', (data) => {
      const { id, method, params } = JSON.parse(data.toString())
      heard.push(method)
      if (id === undefined || (silentOnProbe && method === 'server/discover')) return
      const results: Record<string, object> = {
        initialize: {
          protocolVersion: params?.protocolVersion,
          capabilities: { tools: {} },
          serverInfo: { name: 'socket', version: '1' },
        },
        'tools/list': {
          tools: [{ name: 'read', inputSchema: { type: 'object' }, annotations: { readOnlyHint: true } }],
        },
        'tools/call': { content: [{ type: 'text', text: `answer of socket ${sockets.length}` }] },
      }
      if (method === 'tools/call' && params.arguments?.vanish && sockets.length === 1)
        return socket.terminate()
      const result = results[method]
      const fault = { error: { code: -32601, message: 'Method not found' } }
      socket.send(JSON.stringify({ jsonrpc: '2.0', id, ...(result ? { result } : fault) }))
    })
  })
  const { port } = server.address() as AddressInfo
  const entry: WsEntry = {
    type: 'ws',
    url: `ws://127.0.0.1:${port}/mcp`,
    headers: {},
    reconnect: { maxAttempts: 3, delayMs: 20 },
  }
  return { server: configured('socket', entry), sockets, heard }
}

const read = (args: object = {}) => ({ name: 'read', arguments: args })

describe('a server over WebSocket', () => {
  it('is connected, listed and called through the board', async () => {
    const { server, sockets } = await socketServer()
    const made = await board({ servers: [server] })
    await made.ready()
    expect(made.servers()[0]).toMatchObject({ state: 'connected', type: 'ws', tools: 1 })
    expect(textOf(await made.link.request('socket', 'tools/call', read()))).toBe('answer of socket 1')
    await made.close()
    await until('the socket is closed', () => sockets[0]?.readyState === 3)
  })

  it('that is silent about the newer era is met in the older one, on the same socket', async () => {
    const { server, sockets, heard } = await socketServer({ silentOnProbe: true })
    const made = await board({ servers: [server] })
    await made.ready()
    expect(made.servers()[0]).toMatchObject({ state: 'connected', protocolVersion: '2025-11-25' })
    expect([heard.slice(0, 2), sockets.length]).toEqual([['server/discover', 'initialize'], 1])
  })

  it('that vanishes in the middle of a reading call is connected again, and the call made again', async () => {
    const { server } = await socketServer()
    const made = await board({ servers: [server] })
    await made.ready()
    expect(textOf(await made.link.request('socket', 'tools/call', read({ vanish: true })))).toBe(
      'answer of socket 2',
    )
  })
})
