// remote.mjs: the model server behind Streamable HTTP, legacy SSE, or a WebSocket, on a loopback socket.
// The `request` point of a misbehaviour sees the raw HTTP request first and may take it over.
import { randomUUID } from 'node:crypto'
import { createServer } from 'node:http'
import { WebSocketServer } from 'ws'
import { behaviourNamed } from './behaviours.mjs'
import { memory, modelServer } from './model.mjs'

const event = (message, id) => `${id === undefined ? '' : `id: ${id}\n`}data: ${JSON.stringify(message)}\n\n`

/** One peer: `{ port, close }`. */
export async function remotePeer(kind, behaviourName, dir, argument = '') {
  const channel = { kind, dir, argument }
  const behaviour = behaviourNamed(behaviourName)
  const serve = { http, sse, ws }[kind]
  const server = createServer()
  server.keepAliveTimeout = 60_000
  const sockets = new Set()
  server.on('connection', (socket) => {
    sockets.add(socket)
    socket.on('error', () => {})
    socket.on('close', () => sockets.delete(socket))
  })
  serve(server, behaviourName, behaviour, channel)
  await new Promise((done) => server.listen(0, '127.0.0.1', done))
  return {
    port: server.address().port,
    close: () => {
      server.close()
      for (const socket of sockets) socket.destroy()
    },
  }
}

function body(request, then) {
  let text = ''
  request.setEncoding('utf8')
  request.on('error', () => {})
  request.on('data', (chunk) => {
    text += chunk
  })
  request.on('end', () => then(text === '' ? {} : JSON.parse(text)))
}

/** A misbehaviour that takes the request over returns true; it sees every request, with its message when it has one. */
function taken(behaviour, channel, asked) {
  return behaviour.request?.({ ...channel, ...memory(channel.dir), ...asked }) === true
}

function http(server, behaviourName, behaviour, channel) {
  const sessions = new Set()
  const receive = modelServer(behaviourName, channel)
  server.on('request', (request, response) =>
    body(request, (message) => {
      response.on('error', () => {})
      const asked = { request, response, message, method: request.method, sessions, event }
      if (taken(behaviour, channel, asked)) return
      if (request.method === 'DELETE') return response.writeHead(200).end()
      if (request.method === 'GET') return push(behaviour, channel, response)
      if (!behaviour.modern) {
        if (message.method === 'server/discover') return response.writeHead(400).end('no such method')
        const session = request.headers['mcp-session-id']
        if (message.method !== 'initialize' && !sessions.has(session)) return response.writeHead(404).end()
      }
      if (message.id === undefined || message.method === undefined) {
        receive(message, { send: () => {}, raw: () => {}, die: () => response.socket?.destroy() })
        return response.writeHead(202).end()
      }
      // In 2026-07-28 this is how a request is cancelled.
      response.on('close', () => {
        if (!behaviour.discreet && !response.writableFinished) memory(channel.dir).note('seen', 'hung up')
      })
      receive(message, ways(message, response, behaviour.modern ? undefined : sessions))
    }),
  )
}

/** Answers as one JSON document, or as a stream from the moment that another message comes first. */
function ways(message, response, sessions) {
  const headers = {}
  if (sessions && message.method === 'initialize') {
    headers['mcp-session-id'] = randomUUID()
    sessions.add(headers['mcp-session-id'])
  }
  const stream = () => {
    if (!response.headersSent) response.writeHead(200, { ...headers, 'content-type': 'text/event-stream' })
  }
  return {
    response,
    stream,
    event,
    die: () => response.socket?.destroy(),
    raw: (text) => {
      stream()
      response.write(text)
    },
    send: (out) => {
      if (response.writableEnded) return
      const isAnswer = out.id === message.id && out.method === undefined
      if (isAnswer && !response.headersSent)
        return response
          .writeHead(200, { ...headers, 'content-type': 'application/json' })
          .end(JSON.stringify(out))
      stream()
      response.write(event(out))
      if (isAnswer) response.end()
    },
  }
}

function push(behaviour, channel, response) {
  if (!behaviour.push) return response.writeHead(405).end()
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  response.flushHeaders()
  behaviour.push({ ...channel, ...memory(channel.dir), response, event })
}

function sse(server, behaviourName, behaviour, channel) {
  const streams = new Map()
  const receive = modelServer(behaviourName, channel)
  server.on('request', (request, response) =>
    body(request, (message) => {
      response.on('error', () => {})
      if (taken(behaviour, channel, { request, response, message, method: request.method, event })) return
      const url = new URL(request.url, 'http://127.0.0.1')
      if (request.method === 'GET') return openStream(response)
      const stream = streams.get(url.searchParams.get('session'))
      if (!stream) return response.writeHead(404).end()
      response.writeHead(202).end()
      receive(message, {
        response: stream,
        event,
        stream: () => {},
        die: () => stream.socket?.destroy(),
        raw: (text) => stream.write(text),
        send: (out) => stream.writable && stream.write(event(out)),
      })
    }),
  )
  function openStream(response) {
    const session = randomUUID()
    streams.set(session, response)
    response.on('close', () => streams.delete(session))
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    if (behaviour.endpoint) return behaviour.endpoint({ ...channel, response, session })
    response.write(`event: endpoint\ndata: /messages?session=${session}\n\n`)
  }
}

function ws(server, behaviourName, behaviour, channel) {
  const wanted = new WebSocketServer({
    noServer: true,
    handleProtocols: () => 'mcp',
    maxPayload: 256 * 1024 * 1024,
  })
  const receive = modelServer(behaviourName, channel)
  server.on('upgrade', (request, socket, head) => {
    if (taken(behaviour, channel, { request, socket, method: 'UPGRADE' })) return
    wanted.handleUpgrade(request, socket, head, (web) => {
      web.on('error', () => {})
      web.on('message', (data) =>
        receive(JSON.parse(data.toString()), {
          web,
          socket,
          die: () => web.terminate(),
          raw: (text) => web.send(text),
          send: (out) => web.readyState === web.OPEN && web.send(JSON.stringify(out)),
        }),
      )
    })
  })
}
