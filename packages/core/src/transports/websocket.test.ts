import { createServer } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { afterEach, describe, expect, it } from 'vitest'
import { type WebSocket as ServerSocket, WebSocketServer } from 'ws'
import type { AuthRequest, AuthResponse, Exchange } from '../auth/request-auth.ts'
import type { WsEntry } from '../config/entry.ts'
import { IoError } from '../errors.ts'
import { retimed } from '../fixtures/timers.ts'
import { systemHost } from '../host.ts'
import { CONNECT_LIMITS, WEBSOCKET_LIMITS } from '../limits.ts'
import { testContext, until, wire, within } from './fixtures/support.ts'
import { openTransport, type TransportContext } from './open.ts'
import { httpStatus, isTerminalError } from './transport-errors.ts'

const ends: (() => unknown)[] = []
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end()
})

interface Options {
  readonly autoPong?: boolean
  readonly admit?: (headers: Record<string, unknown>) => number
}

async function served(onSocket: (socket: ServerSocket, raw: Socket) => void, options: Options = {}) {
  const http = createServer()
  const sockets = new WebSocketServer({ noServer: true, autoPong: options.autoPong ?? true })
  const asked: Record<string, unknown>[] = []
  http.on('upgrade', (request, raw, head) => {
    asked.push(request.headers)
    const status = options.admit?.(request.headers) ?? 101
    if (status !== 101) return raw.end(`HTTP/1.1 ${status} No\r\ncontent-length: 0\r\n\r\n`)
    return sockets.handleUpgrade(request, raw, head, (socket) => onSocket(socket, request.socket))
  })
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve))
  ends.push(() => {
    for (const socket of sockets.clients) socket.terminate()
    http.closeAllConnections()
    return new Promise((resolve) => http.close(resolve))
  })
  return { url: `ws://127.0.0.1:${(http.address() as AddressInfo).port}/mcp`, asked, sockets }
}

async function opened(url: string, more: Partial<WsEntry> = {}, overrides: Partial<TransportContext> = {}) {
  const context = testContext(overrides)
  const transport = await openTransport({ type: 'ws', url, headers: {}, ...more }, context)
  const line = wire(transport)
  ends.push(() => transport.close())
  await transport.start()
  return { ...line, context }
}

/** Responds to every request with its own params. */
const echo = (socket: ServerSocket) =>
  socket.on('message', (data) => {
    const { id, params } = JSON.parse(String(data))
    if (id !== undefined) socket.send(JSON.stringify({ jsonrpc: '2.0', id, result: params }))
  })

const failure = (promise: Promise<unknown>) =>
  promise.then(
    () => undefined,
    (error: unknown) => error,
  )

describe('a WebSocket server', () => {
  it('is spoken to with the mcp subprotocol and the headers of the entry', async () => {
    const { url, asked } = await served(echo)
    const { request, transport } = await opened(url, { headers: { 'X-Key': 'k' } })
    expect(await request('echo', { text: 'žluť' })).toEqual({ text: 'žluť' })
    expect(asked[0]).toMatchObject({ 'sec-websocket-protocol': 'mcp', 'x-key': 'k' })
    await transport.close()
    expect(await failure(transport.send({ jsonrpc: '2.0', method: 'late' }))).toBeInstanceOf(IoError)
  })

  it('is asked with a login like any other server: its headers, and once more after a refusal', async () => {
    const { url, asked } = await served(echo, {
      admit: ({ authorization, dpop }) => (authorization === 'DPoP new' && dpop === 'proof' ? 101 : 401),
    })
    const urls: string[] = []
    const auth = {
      send: async <R extends AuthResponse>(request: AuthRequest, exchange: Exchange<R>): Promise<R> => {
        urls.push(`${request.method} ${request.url.href}`)
        const first = await exchange({ authorization: 'DPoP old', dpop: 'proof' })
        if (first.status !== 401) return first
        first.discard()
        return exchange({ authorization: 'DPoP new', dpop: 'proof' })
      },
    }
    const { request } = await opened(url, { headers: { Authorization: 'of the entry' } }, { auth })
    expect(await request('echo', { in: true })).toEqual({ in: true })
    expect(asked.map(({ authorization }) => authorization)).toEqual(['DPoP old', 'DPoP new'])
    expect(urls).toEqual([`GET ${url.replace('ws:', 'http:')}`])
  })

  it('may send noise: it becomes a log line', async () => {
    const { url } = await served((socket) => {
      socket.send('hello')
      socket.send('{"level":"info"}')
      echo(socket)
    })
    const { request, context, errors } = await opened(url)
    await request('echo')
    expect(context.lines.map(({ text }) => text)).toEqual(['hello', '{"level":"info"}'])
    expect(errors).toEqual([])
  })

  it('may send bytes and a message that cannot be handled: the connection goes on', async () => {
    const notice = '{"jsonrpc":"2.0","method":"bad"}'
    const { url } = await served((socket) => {
      socket.send(Buffer.from(notice))
      socket.on('message', () => socket.send(notice))
      echo(socket)
    })
    const { request, context, errors, transport } = await opened(url)
    const before = transport.onmessage
    transport.onmessage = (message) => {
      if ('method' in message) throw new Error('handler')
      before?.(message)
    }
    await request('echo')
    expect(context.lines.map(({ text }) => text)).toEqual([notice])
    expect(errors).toMatchObject([{ code: 'PARSE_ERROR', message: 'A message could not be handled.' }])
  })

  it('is sent nothing before it is opened and after it is closed', async () => {
    const { url } = await served(echo)
    const ping = { jsonrpc: '2.0', id: 1, method: 'ping' } as const
    const context = testContext()
    const transport = await openTransport({ type: 'ws', url, headers: {} }, context)
    const { errors, closes } = wire(transport)
    expect(await failure(transport.send(ping))).toMatchObject({ code: 'IO_ERROR', stage: 'connect' })
    await transport.start()
    await transport.close()
    expect(await failure(transport.send(ping))).toMatchObject({
      message: expect.stringContaining('is closed'),
    })
    expect([errors, closes()]).toEqual([[], 1])
  })

  it('that is closed while it is opened, or given up before, is not opened', async () => {
    const { url, sockets } = await served(() => {})
    const transport = await openTransport({ type: 'ws', url, headers: {} }, testContext())
    const { closes } = wire(transport)
    const starting = failure(transport.start())
    await transport.close()
    expect(await starting).toMatchObject({ code: 'IO_ERROR', message: expect.stringContaining('was closed') })
    expect(closes()).toBe(0)
    await until(() => sockets.clients.size === 0, 'it is gone')
    const signal = AbortSignal.abort()
    const never = await openTransport({ type: 'ws', url, headers: {} }, testContext({ signal }))
    expect(await failure(never.start())).toMatchObject({ code: 'CANCELLED' })
    expect(sockets.clients.size).toBe(0)
  })

  it.each([
    [4000, 'too bad', '4000, too bad'],
    [4001, '', '4001'],
  ])('that ends with %i %s is lost, with its reason', async (code, reason, told) => {
    const { url, sockets } = await served(() => {})
    const { closed, errors, closes } = await opened(url)
    for (const socket of sockets.clients) socket.close(code, reason)
    await within(closed, 'closed')
    expect(errors).toMatchObject([{ stage: 'call', message: expect.stringContaining(`(${told})`) }])
    expect(closes()).toBe(1)
  })

  it('that answers its pings is pinged again and again, and goes on', async () => {
    let pings = 0
    const { url } = await served((socket) => {
      socket.on('ping', () => pings++)
      echo(socket)
    })
    const often = (ms: number) => (ms === CONNECT_LIMITS.heartbeatMs ? 5 : ms)
    const { request, errors } = await opened(url, {}, { host: retimed(systemHost(), often) })
    await until(() => pings >= 3, 'three pings')
    expect(await request('echo', { n: 1 })).toEqual({ n: 1 })
    expect(errors).toEqual([])
  })

  it('that vanishes (1006) is lost, once', async () => {
    const lines: Socket[] = []
    const { url } = await served((_socket, raw) => lines.push(raw))
    const { closed, errors, closes } = await opened(url)
    lines[0]?.destroy()
    await within(closed, 'closed')
    expect(errors[0]?.message).toContain('1006')
    expect(isTerminalError(errors[0])).toBe(true)
    expect(closes()).toBe(1)
  })

  it('that announces a message past the limit is lost, and the error says that it is too large', async () => {
    // A text frame with a length of 64 bits, and nothing of its content.
    const header = Buffer.alloc(10)
    header.writeUInt16BE(0x817f)
    header.writeBigUInt64BE(BigInt(WEBSOCKET_LIMITS.frameBytes + 1), 2)
    const { url } = await served((socket, raw) => socket.on('message', () => raw.write(header)))
    const { transport, closed, errors, closes } = await opened(url)
    await transport.send({ jsonrpc: '2.0', id: 1, method: 'big' })
    await within(closed, 'closed')
    expect(errors).toMatchObject([{ code: 'ANSWER_TOO_LARGE', server: 'fixture' }])
    expect(closes()).toBe(1)
  })

  it('that says goodbye (1000) is closed without an error', async () => {
    const { url, sockets } = await served(() => {})
    const { closed, errors } = await opened(url)
    for (const socket of sockets.clients) socket.close(1000)
    await within(closed, 'closed')
    expect(errors).toEqual([])
  })

  it('that does not answer pings is lost', async () => {
    const { url } = await served(() => {}, { autoPong: false })
    const host = systemHost()
    /** Pings often, and waits for the pong as long as given. */
    const pinging = (answerMs: number) =>
      retimed(host, (ms) => (ms === CONNECT_LIMITS.heartbeatTimeoutMs ? answerMs : Math.min(ms, 30)))
    const { closed, errors } = await opened(url, {}, { host: pinging(30) })
    await within(closed, 'closed')
    expect(errors[0]?.message).toContain('pings')
    let pings = 0
    const good = await served((socket) => socket.on('ping', () => pings++))
    const kept = await opened(good.url, {}, { host: pinging(15_000) })
    await until(() => pings >= 3, 'three pings')
    expect(kept.errors).toEqual([])
  })

  it('that refuses says with which status; a helper is asked again once', async () => {
    const refusing = await served(echo, { admit: () => 401 })
    expect(httpStatus(await failure(opened(refusing.url)))).toBe(401)
    let asks = 0
    const late = await served(echo, { admit: () => (++asks === 1 ? 403 : 101) })
    const { request } = await opened(late.url, { headersHelper: 'echo "{}"' })
    expect(await request('echo', { in: true })).toEqual({ in: true })
  })

  it('that is not there fails with its code', async () => {
    const { url } = await served(echo)
    await ends.pop()?.()
    expect(isTerminalError(await failure(opened(url)))).toBe(true)
  })

  it('leaves no handle, a hundred times', { timeout: 60_000 }, async () => {
    const { url, sockets } = await served(echo)
    const cycle = async () => {
      const transport = await openTransport({ type: 'ws', url, headers: {} }, testContext())
      await transport.start()
      await transport.send({ jsonrpc: '2.0', method: 'ping' })
      await transport.close()
    }
    await cycle()
    const before = process.getActiveResourcesInfo().length
    for (let done = 0; done < (process.env['PLUGBOARD_LONG'] ? 1000 : 100); done += 10)
      await Promise.all(Array.from({ length: 10 }, cycle))
    await until(() => sockets.clients.size === 0, 'no client left')
    await until(() => process.getActiveResourcesInfo().length <= before, 'no handle left')
  })
})
