// retrying-server.mjs: an MCP server over HTTP that answers the first call of its tool with 429 and a time to wait, and sends
// secrets in the headers of its answers.
import { createServer } from 'node:http'

const TOOL = {
  name: 'forecast',
  description: 'The weather of a city',
  inputSchema: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
  annotations: { readOnlyHint: true },
}

/** @returns {Promise<{ url: string, close(): Promise<void> }>} */
export async function startRetryingServer() {
  let calls = 0
  const answer = ({ method, params }) => {
    if (method === 'initialize')
      return {
        protocolVersion: params.protocolVersion,
        capabilities: { tools: {} },
        serverInfo: { name: 'weather', version: '1.0.0' },
      }
    if (method === 'tools/list') return { tools: [TOOL] }
    if (method === 'tools/call')
      return { content: [{ type: 'text', text: `Sunny in ${params.arguments.city}` }] }
    return {}
  }
  const server = createServer(async (request, response) => {
    if (request.method !== 'POST') return void response.writeHead(405).end()
    let body = ''
    for await (const chunk of request) body += chunk
    const message = JSON.parse(body)
    response.setHeader('Set-Cookie', 'sid=cookie-of-the-server')
    if (message.id === undefined) return void response.writeHead(202).end()
    if (message.method === 'tools/call' && ++calls % 2 === 1)
      return void response.writeHead(429, { 'Retry-After': '1' }).end()
    const headers = { 'Content-Type': 'application/json' }
    if (message.method === 'initialize') headers['Mcp-Session-Id'] = 'id-of-the-session'
    const known = message.method === 'server/discover' ? undefined : answer(message)
    const outcome = known ? { result: known } : { error: { code: -32601, message: 'Method not found' } }
    response.writeHead(200, headers).end(JSON.stringify({ jsonrpc: '2.0', id: message.id, ...outcome }))
  })
  await new Promise((done) => server.listen(0, '127.0.0.1', done))
  return {
    url: `http://127.0.0.1:${server.address().port}/mcp`,
    close: () =>
      new Promise((done) => {
        server.close(done)
        server.closeAllConnections()
      }),
  }
}
