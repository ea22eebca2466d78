// A minimal MCP server, so that the client is what is measured: `echo` and `big` over stdio, or over HTTP with
// `http`. Without any library, and legacy, which every contender speaks.
import { appendFileSync } from 'node:fs'
import { createServer } from 'node:http'

const TOOLS = [
  {
    name: 'echo',
    description: 'Echoes a text.',
    inputSchema: { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] },
    annotations: { readOnlyHint: true },
  },
  {
    name: 'big',
    description: 'A text of so many bytes.',
    inputSchema: { type: 'object', properties: { bytes: { type: 'integer' } }, required: ['bytes'] },
    annotations: { readOnlyHint: true },
  },
]

function answer({ id, method, params }) {
  switch (method) {
    case 'initialize': {
      const { protocolVersion } = params
      const serverInfo = { name: 'echo', version: '1' }
      return { jsonrpc: '2.0', id, result: { protocolVersion, capabilities: { tools: {} }, serverInfo } }
    }
    case 'tools/list':
      return { jsonrpc: '2.0', id, result: { tools: TOOLS } }
    case 'tools/call': {
      const text = params.name === 'big' ? 'x'.repeat(params.arguments.bytes) : params.arguments.text
      return { jsonrpc: '2.0', id, result: { content: [{ type: 'text', text }] } }
    }
    case 'ping':
      return { jsonrpc: '2.0', id, result: {} }
    default:
      return { jsonrpc: '2.0', id, error: { code: -32601, message: 'Method not found' } }
  }
}

if (process.env.STARTS) appendFileSync(process.env.STARTS, `${process.pid}\n`)

if (process.argv[2] === 'http') {
  const server = createServer((request, response) => {
    if (request.method !== 'POST') return response.writeHead(405).end()
    const chunks = []
    request.on('data', (chunk) => chunks.push(chunk))
    request.on('end', () => {
      const message = JSON.parse(Buffer.concat(chunks).toString())
      if (message.id === undefined) return response.writeHead(202).end()
      const body = JSON.stringify(answer(message))
      response.writeHead(200, {
        'content-type': 'application/json',
        'content-length': Buffer.byteLength(body),
      })
      response.end(body)
    })
  })
  server.keepAliveTimeout = 60_000
  server.listen(0, '127.0.0.1', () => process.stdout.write(`${server.address().port}\n`))
  // Its input is not used here; it ends with the parent process.
  process.stdin.on('end', () => process.exit(0)).resume()
} else {
  let rest = ''
  process.stdin.setEncoding('utf8')
  process.stdin.on('data', (chunk) => {
    const lines = (rest + chunk).split('\n')
    rest = lines.pop()
    let out = ''
    for (const line of lines) {
      const message = JSON.parse(line)
      if (message.id !== undefined) out += `${JSON.stringify(answer(message))}\n`
    }
    if (out) process.stdout.write(out)
  })
  process.stdin.on('end', () => process.exit(0))
}
