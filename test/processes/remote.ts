// remote.ts: the peer of these tests over HTTP, SSE and WebSocket, with one fault that happens once.
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { WebSocketServer } from 'ws'
import { answer, type Message } from './model.mjs'

/**
 * Asks to wait at `initialize` or at a call, drops the connection in the middle of a call, refuses the first request with 401, or
 * answers `look` with more than 64 MiB (always).
 */
export type RemoteFault =
  | 'none'
  | 'wait-at-initialize'
  | 'wait-at-call'
  | 'drops-call'
  | 'wants-login-once'
  | 'huge'
  | 'huge-stream'

export interface RemotePeer {
  readonly url: string
  readonly port: number
  /** The requests that came, in order. */
  readonly methods: readonly string[]
  close(): Promise<void>
}

class Trouble {
  readonly methods: string[] = []
  readonly #fault: RemoteFault
  #happened = false

  constructor(fault: RemoteFault) {
    this.#fault = fault
  }

  /** What goes wrong with this message. */
  meets({ method = '' }: Message): 'wait' | 'drop' | 'login' | undefined {
    this.methods.push(method)
    if (this.#fault.startsWith('huge')) return undefined
    if (this.#fault === 'wants-login-once') {
      const first = !this.#happened
      this.#happened = true
      return first ? 'login' : undefined
    }
    const wanted = this.#fault === 'wait-at-initialize' ? 'initialize' : 'tools/call'
    if (this.#fault === 'none' || this.#happened || method !== wanted) return undefined
    this.#happened = true
    return this.#fault === 'drops-call' ? 'drop' : 'wait'
  }
}

export async function httpPeer(fault: RemoteFault, port = 0): Promise<RemotePeer> {
  const trouble = new Trouble(fault)
  return listening('http', trouble, port, async (request, response) => {
    if (request.method !== 'POST') return void response.writeHead(405).end()
    const message = await bodyOf(request)
    const met = trouble.meets(message)
    if (met === 'drop') return void request.socket.destroy()
    if (met === 'wait') return void response.writeHead(429, { 'retry-after': '2' }).end()
    if (met === 'login') return void response.writeHead(401, { 'www-authenticate': 'Bearer' }).end()
    const said = answered(fault, message)
    if (!said) return void response.writeHead(202).end()
    if (fault === 'huge-stream')
      return void response.writeHead(200, { 'content-type': 'text/event-stream' }).end(`data: ${said}\n\n`)
    response.writeHead(200, { 'content-type': 'application/json' }).end(said)
  })
}

export async function ssePeer(fault: RemoteFault): Promise<RemotePeer> {
  const trouble = new Trouble(fault)
  let stream: ServerResponse | undefined
  return listening('http', trouble, 0, async (request, response) => {
    if (request.method === 'GET') {
      response
        .writeHead(200, { 'content-type': 'text/event-stream' })
        .write('event: endpoint\ndata: /post\n\n')
      stream = response
      return
    }
    const message = await bodyOf(request)
    const met = trouble.meets(message)
    if (met === 'wait') return void response.writeHead(429, { 'retry-after': '2' }).end()
    response.writeHead(202).end()
    if (met === 'drop') return void stream?.destroy()
    const said = answered(fault, message)
    if (said) stream?.write(`data: ${said}\n\n`)
  })
}

export async function wsPeer(fault: RemoteFault): Promise<RemotePeer> {
  const trouble = new Trouble(fault)
  const server = new WebSocketServer({ port: 0, host: '127.0.0.1' })
  await new Promise((done) => server.once('listening', done))
  server.on('connection', (socket) =>
    socket.on('message', (data) => {
      const message = JSON.parse(String(data)) as Message
      if (trouble.meets(message) === 'drop') return socket.terminate()
      const said = answered(fault, message)
      if (said) socket.send(said)
    }),
  )
  const { port } = server.address() as AddressInfo
  return {
    url: `ws://127.0.0.1:${port}`,
    port,
    methods: trouble.methods,
    close: async () => {
      for (const socket of server.clients) socket.terminate()
      await new Promise((done) => server.close(done))
    },
  }
}

const HUGE_BYTES = 70_000_000

function answered(fault: RemoteFault, message: Message): string | undefined {
  const said = answer(message)
  const isHuge =
    fault.startsWith('huge') && message.method === 'tools/call' && message.params?.['name'] === 'look'
  if (!isHuge) return said && JSON.stringify(said)
  const content = [{ type: 'text', text: 'x'.repeat(HUGE_BYTES) }]
  // The order in which the SDK's servers write it.
  return JSON.stringify({ result: { content }, jsonrpc: '2.0', id: message.id })
}

async function listening(
  scheme: string,
  trouble: Trouble,
  wanted: number,
  handle: (request: IncomingMessage, response: ServerResponse) => Promise<void>,
): Promise<RemotePeer> {
  const sockets = new Set<Socket>()
  const server = createServer((request, response) => void handle(request, response))
  server.on('connection', (socket) => sockets.add(socket))
  await new Promise<void>((done) => server.listen(wanted, '127.0.0.1', done))
  const { port } = server.address() as AddressInfo
  return {
    url: `${scheme}://127.0.0.1:${port}/`,
    port,
    methods: trouble.methods,
    close: async () => {
      for (const socket of sockets) socket.destroy()
      await new Promise((done) => server.close(done))
    },
  }
}

async function bodyOf(request: IncomingMessage): Promise<Message> {
  let text = ''
  for await (const chunk of request) text += chunk
  return JSON.parse(text) as Message
}
