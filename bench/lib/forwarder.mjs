// forwarder.mjs: the floor of the gateway benchmark: JSON-RPC from HTTP to one stdio server and back, with nothing but new
// ids. No access check, no session, no limit, no permission, no audit: what any gateway must cost at least.
import { spawn } from 'node:child_process'
import { createServer } from 'node:http'
import { fileURLToPath } from 'node:url'

const script = fileURLToPath(new URL('./echo-server.mjs', import.meta.url))
const child = spawn(process.execPath, [script], { stdio: ['pipe', 'pipe', 'inherit'] })
const waiting = new Map()
let ids = 0
let rest = ''
child.stdout.setEncoding('utf8')
child.stdout.on('data', (chunk) => {
  const lines = (rest + chunk).split('\n')
  rest = lines.pop()
  for (const line of lines) {
    const message = JSON.parse(line)
    const { id, res } = waiting.get(message.id)
    waiting.delete(message.id)
    const text = JSON.stringify({ ...message, id })
    res.writeHead(200, { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(text) })
    res.end(text)
  }
})

const server = createServer((req, res) => {
  const chunks = []
  req.on('data', (chunk) => chunks.push(chunk))
  req.on('end', () => {
    const message = JSON.parse(Buffer.concat(chunks).toString('utf8'))
    if (message.id === undefined) return res.writeHead(202).end()
    const id = ++ids
    waiting.set(id, { id: message.id, res })
    child.stdin.write(`${JSON.stringify({ ...message, id })}\n`)
  })
})
server.keepAliveTimeout = 60_000
server.listen(0, '127.0.0.1', () => process.stdout.write(`http://127.0.0.1:${server.address().port}/mcp\n`))
process.stdin.on('end', () => process.exit(0)).resume()
process.on('message', () => {
  const { rss, heapUsed } = process.memoryUsage()
  const { user, system } = process.cpuUsage()
  process.send?.({ rss, heapUsed, cpuMs: (user + system) / 1000 })
})
