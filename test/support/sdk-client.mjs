// A client of the official SDK in a process of its own, that connects once and then calls a writing tool again and again,
// with a key of its own for every call: `node sdk-client.mjs v1|v2-legacy|v2-modern URL TOKEN TOOL`. It prints one JSON line
// for each call, and ends with its standard input. A call that fails is not made again.
import { randomUUID } from 'node:crypto'

const [kind, url, token, tool] = process.argv.slice(2)
const headers = { Authorization: `Bearer ${token}` }
const info = { name: kind, version: '1' }

async function v1() {
  const { Client } = await import('@modelcontextprotocol/sdk/client/index.js')
  const { StreamableHTTPClientTransport } = await import('@modelcontextprotocol/sdk/client/streamableHttp.js')
  const client = new Client(info, { capabilities: {} })
  await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } }))
  return (params, options) => client.callTool(params, undefined, options)
}

async function v2(mode) {
  const { Client, StreamableHTTPClientTransport } = await import('@modelcontextprotocol/client')
  const client = new Client(info, { capabilities: {}, versionNegotiation: { mode } })
  await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } }))
  return (params, options) => client.callTool(params, options)
}

const call = await (kind === 'v1' ? v1() : v2(kind === 'v2-modern' ? 'auto' : 'legacy'))
const say = (line) => process.stdout.write(`${JSON.stringify(line)}\n`)
say({ connected: kind })
process.stdin.on('end', () => process.exit(0)).resume()
for (;;) {
  const key = randomUUID()
  try {
    const { isError, content } = await call({ name: tool, arguments: { key } }, { timeout: 5000 })
    say(isError ? { key, error: content?.[0]?.text } : { key, ok: true })
  } catch (error) {
    say({ key, error: String(error?.message ?? error) })
    await new Promise((done) => setTimeout(done, 50))
  }
  await new Promise((done) => setTimeout(done, 5))
}
