// One contender of the gateway benchmark in a process of its own; prints its URL. `direct` serves the echo of the SDK over
// HTTP with the SDK, `gateway` puts the same echo, in-process, behind the gateway, `gateway-stdio` the bare one on a pipe,
// `gateway-tokens` the same for two users with a token each.
import { createServer } from 'node:http'
import { fileURLToPath } from 'node:url'
import { setFlagsFromString } from 'node:v8'
import { McpServer } from '@modelcontextprotocol/server'
import { serveStdio } from '@modelcontextprotocol/server/stdio'
import * as z from 'zod'
import { openBoard } from '../../packages/core/dist/index.js'
import { openGateway, serveHttp } from '../../packages/gateway/dist/index.js'

const [, , kind, stateDir] = process.argv

function build() {
  const server = new McpServer({ name: 'echo', version: '1.0.0' })
  const inputSchema = z.object({ text: z.string() })
  server.registerTool('echo', { inputSchema, annotations: { readOnlyHint: true } }, ({ text }) => ({
    content: [{ type: 'text', text }],
  }))
  return server
}

async function direct() {
  const { createMcpHandler } = await import('@modelcontextprotocol/server')
  const { toNodeHandler } = await import('@modelcontextprotocol/node')
  const handler = toNodeHandler(createMcpHandler(build))
  const server = createServer((req, res) => void handler(req, res))
  await new Promise((done) => server.listen(0, '127.0.0.1', done))
  return `http://127.0.0.1:${server.address().port}/mcp`
}

async function gateway(options, tokens = []) {
  // As `plugboard serve` does (serve/garbage-collection.ts).
  setFlagsFromString('--no-allocation-site-pretenuring')
  const made = await openGateway((wiring) => openBoard({ stateDir, ...options, ...wiring }), {
    names: 'plain',
  })
  await made.wake(15_000)
  return (await serveHttp(made, { grants: tokens.map((token) => ({ token, exposure: made.expose })) })).url
}

const script = fileURLToPath(new URL('./echo-server.mjs', import.meta.url))
const stdio = {
  name: 'echo',
  scope: 'user',
  source: 'bench',
  signature: 'echo',
  entry: { type: 'stdio', command: process.execPath, args: [script], env: {} },
}
const url =
  kind === 'direct'
    ? await direct()
    : kind === 'gateway'
      ? await gateway({ servers: [], inProcess: { echo: (end) => serveStdio(build, { transport: end }) } })
      : await gateway({ servers: [stdio] }, kind === 'gateway-tokens' ? ['quiet', 'noisy'] : [])
process.stdout.write(`${url}\n`)
process.stdin.on('end', () => process.exit(0)).resume()
process.on('message', (what) => {
  if (what === 'memory') globalThis.gc?.()
  const { rss, heapUsed } = process.memoryUsage()
  const { user, system } = process.cpuUsage()
  process.send?.({ rss, heapUsed, cpuMs: (user + system) / 1000 })
})
