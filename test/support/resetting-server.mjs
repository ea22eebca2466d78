// A Streamable HTTP server whose tools run, write a line to the file in LOG, and lose the kept connection before they answer:
// by a reset or by an orderly end, always or the first time. It prints its URL.
import { appendFileSync } from 'node:fs'
import { createServer } from 'node:http'

const { LOG = '' } = process.env
const inputSchema = { type: 'object' }
const reads = { readOnlyHint: true }
const tools = [
  { name: 'write_reset', inputSchema },
  { name: 'write_end', inputSchema },
  { name: 'write_again', annotations: { idempotentHint: true }, inputSchema },
  { name: 'read_again', annotations: reads, inputSchema },
  { name: 'read_reset', annotations: reads, inputSchema },
]
const runs = new Map()

const server = createServer(async (request, response) => {
  if (request.method !== 'POST') return void response.writeHead(405).end()
  let text = ''
  for await (const chunk of request) text += chunk
  const { id, method, params } = JSON.parse(text)
  if (id === undefined) return void response.writeHead(202).end()
  const answer = (result) => {
    response.writeHead(200, { 'content-type': 'application/json' })
    response.end(JSON.stringify({ jsonrpc: '2.0', id, result }))
  }
  if (method === 'tools/list') return answer({ tools })
  if (method === 'initialize')
    return answer({
      protocolVersion: params.protocolVersion,
      capabilities: { tools: {} },
      serverInfo: { name: 'resetting', version: '1' },
    })
  if (method !== 'tools/call') {
    const error = { code: -32601, message: 'no such method' }
    response.writeHead(200, { 'content-type': 'application/json' })
    return void response.end(JSON.stringify({ jsonrpc: '2.0', id, error }))
  }
  const { name } = params
  const run = (runs.get(name) ?? 0) + 1
  runs.set(name, run)
  // How many requests came over the connection before shows that it was a kept one.
  const { socket } = request
  appendFileSync(LOG, `${name} ${socket.requests > 1 ? 'kept' : 'new'}\n`)
  if (name.endsWith('_again') && run > 1) return answer({ content: [{ type: 'text', text: `DONE ${run}` }] })
  if (name === 'write_end') socket.end()
  else socket.resetAndDestroy()
})
server.on('connection', (socket) => {
  socket.requests = 0
})
server.prependListener('request', ({ socket }) => {
  socket.requests++
})
server.listen(0, '127.0.0.1', () => console.log(`http://127.0.0.1:${server.address().port}/mcp`))
