// behaviours-http.mjs: what an HTTP server or a proxy before it does wrong: statuses, headers, redirects, sessions, streams.
import { gzipSync } from 'node:zlib'
import { MIB, text } from './transports.mjs'

const rpc = (id, result) => JSON.stringify({ jsonrpc: '2.0', id, result })

/** The id of the call whose stream was cut. */
let interrupted

/** Takes over posts of one method, or all requests without one. */
const post = (method, work, { first = false } = {}) => ({
  request: (ways) => {
    if (method !== undefined && ways.message?.method !== method) return false
    if (method === 'tools/call' && !ways.message.params.name.startsWith('odd')) return false
    if (first && !ways.once('request')) return false
    work(ways)
    return true
  },
})
const refuse = ({ response, socket }, status, headers = {}, body = '') => {
  if (response) return response.writeHead(status, headers).end(body)
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
  socket.end(`HTTP/1.1 ${status} No\r\n${lines.join('')}connection: close\r\n\r\n${body}`)
}
const onCall = (work, options) => post('tools/call', work, options)
const PAGE = '<html><body>Sign in to the hotel network</body></html>'
const html = { 'content-type': 'text/html' }

export const WEB = {
  'discover-500': post('server/discover', (ways) => refuse(ways, 500)),
  'html-page': post(undefined, (ways) => refuse(ways, 200, html, PAGE)),
  'status-500': post(undefined, (ways) => refuse(ways, 500)),
  'status-404': post(undefined, (ways) => refuse(ways, 404)),
  'status-401': post(undefined, (ways) => refuse(ways, 401)),
  'status-403': post(undefined, (ways) => refuse(ways, 403)),
  'status-odd': post(undefined, (ways) => refuse(ways, 299)),
  'empty-200': post(undefined, (ways) => refuse(ways, 200, { 'content-type': 'application/json' })),
  'headers-never': post(undefined, () => {}),
  'redirect-elsewhere': post(undefined, (ways) => refuse(ways, 307, { location: ways.argument })),
  'redirect-loop': post(undefined, (ways) => refuse(ways, 307, { location: '/mcp' })),
  'headers-huge': post(undefined, (ways) => refuse(ways, 200, { 'x-big': 'h'.repeat(200_000) })),
  'call-500': onCall((ways) => refuse(ways, 500)),
  'call-401': onCall((ways) => refuse(ways, 401)),
  'call-403': onCall((ways) => refuse(ways, 403)),
  'call-429': onCall((ways) => refuse(ways, 429, { 'retry-after': '1' }), { first: true }),
  'call-429-for-ever': onCall((ways) => refuse(ways, 429, { 'retry-after': '100000' })),
  'call-html': onCall((ways) => refuse(ways, 200, html, PAGE)),
  'call-202': onCall((ways) => refuse(ways, 202)),
  'call-204': onCall((ways) => refuse(ways, 204)),
  'call-not-json': onCall((ways) => refuse(ways, 200, { 'content-type': 'application/json' }, '{"jsonrpc":')),
  'session-expires': onCall(
    (ways) => {
      ways.sessions.clear()
      refuse(ways, 404)
    },
    { first: true },
  ),
  'session-never-lasts': onCall((ways) => {
    ways.sessions.clear()
    refuse(ways, 404)
  }),
  'session-expires-32001': onCall(
    (ways) => {
      ways.sessions.clear()
      const error = { code: -32001, message: 'Session not found' }
      refuse(
        ways,
        400,
        { 'content-type': 'application/json' },
        JSON.stringify({ jsonrpc: '2.0', id: null, error }),
      )
    },
    { first: true },
  ),
  'chunked-cut': onCall(({ response, message }) => {
    const body = rpc(message.id, text('whole'))
    response.writeHead(200, { 'content-type': 'application/json', 'transfer-encoding': 'chunked' })
    response.write(body.slice(0, 20))
    setTimeout(() => response.socket?.destroy(), 30)
  }),
  'length-lies': onCall(({ response, message }) => {
    const body = rpc(message.id, text('whole'))
    response.socket?.end(
      `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${body.length * 3}\r\n\r\n${body}`,
    )
  }),
  'other-id': onCall(({ response, message }) => {
    response
      .writeHead(200, { 'content-type': 'application/json' })
      .end(rpc(message.id + 1000, text('not yours')))
  }),
  'gzip-bomb': onCall(({ response }) => {
    response
      .writeHead(200, { 'content-type': 'application/json', 'content-encoding': 'gzip' })
      .end(gzipSync(Buffer.alloc(100 * MIB, 'x')))
  }),
  'sse-duplicated': onCall(({ response, message, event }) => {
    const one = event(JSON.parse(rpc(message.id, text('first'))), 'e1')
    response.writeHead(200, { 'content-type': 'text/event-stream' }).end(one + one + one)
  }),
  'sse-cut-event': onCall(({ response, message }) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.end(`data: ${rpc(message.id, text('half')).slice(0, 30)}`)
  }),
  'sse-ends-early': onCall(({ response }) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' }).end(': nothing\n\n')
  }),
  'sse-comments-only': onCall(({ response }) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    const timer = setInterval(() => response.write(': still here\n\n'), 50)
    response.on('close', () => clearInterval(timer))
  }),
  'sse-resumes': {
    request: ({ method, request, response, message, event, once, note }) => {
      if (method === 'GET' && request.headers['last-event-id'] === 'e1') {
        note('seen', 'resumed')
        response.writeHead(200, { 'content-type': 'text/event-stream' })
        response.end(event({ jsonrpc: '2.0', id: interrupted, result: text('resumed') }, 'e2'))
        return true
      }
      if (message?.method !== 'tools/call' || message.params.name !== 'odd' || !once('cut')) return false
      interrupted = message.id
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      response.end('id: e1\nretry: 10\ndata: \n\n')
      return true
    },
  },
  'sse-never-resumes': {
    request: ({ method, request, response, message }) => {
      if (method === 'GET' && request.headers['last-event-id'] !== undefined) {
        response.writeHead(200, { 'content-type': 'text/event-stream' }).end('retry: 10\n\n')
        return true
      }
      if (message?.method !== 'tools/call' || !message.params.name.startsWith('odd')) return false
      response.writeHead(200, { 'content-type': 'text/event-stream' }).end('id: e1\nretry: 10\ndata: \n\n')
      return true
    },
  },
  'delete-hangs': { request: ({ method }) => method === 'DELETE' },
  'push-ends-at-once': {
    push: ({ response, note }) => {
      note('seen', 'push')
      response.end()
    },
  },
  'push-junk': {
    push: ({ response }) => {
      response.write('data: {broken\n\nevent: odd\ndata: x\n\ndata: 7\n\nretry: 99999999999999\n\n:\n\n\n\n')
    },
  },
  'ack-never': { request: ({ message }) => message?.id === undefined && message?.method !== undefined },
  'endpoint-elsewhere': {
    endpoint: ({ response, argument }) => response.write(`event: endpoint\ndata: ${argument}\n\n`),
  },
  'endpoint-nonsense': {
    endpoint: ({ response }) => response.write('event: endpoint\ndata: http://[::bad\n\n'),
  },
  'endpoint-missing': { endpoint: ({ response }) => response.write(': hello\n\n') },
  'binary-frames': {
    call: ({ web, message }) => {
      web.send(Buffer.from(rpc(message.id, text('ok'))))
      web.send(rpc(message.id, text('ok')))
      return true
    },
  },
  'bad-frame': {
    call: ({ socket }) => {
      socket.write(Buffer.from([0xff, 0xff, 0xff, 0xff, 0xff]))
      return true
    },
  },
  'orderly-close': {
    call: ({ web }) => {
      web.close(1000, 'bye')
      return true
    },
  },
}
