// A server of a dozen lines over stdio with one tool. It writes its name and pid to the file in PIDS when it starts, so
// that a test can tell whether it was started again.
import { appendFileSync } from 'node:fs'
import { createInterface } from 'node:readline'

const { PIDS, NAME = 'server' } = process.env
if (PIDS) appendFileSync(PIDS, `${NAME} ${process.pid}\n`)
const tools = [{ name: 'whoami', description: 'Says who answers.', inputSchema: { type: 'object' } }]
const answers = {
  initialize: ({ protocolVersion }) => ({
    protocolVersion,
    capabilities: { tools: {} },
    serverInfo: { name: NAME, version: '1' },
  }),
  'tools/list': () => ({ tools }),
  'tools/call': () => ({ content: [{ type: 'text', text: `${NAME} ${process.pid}` }] }),
  ping: () => ({}),
}
for await (const line of createInterface({ input: process.stdin })) {
  const { id, method, params } = JSON.parse(line)
  if (id === undefined || method === undefined) continue
  const result =
    Object.hasOwn(answers, method) && method !== 'server/discover' ? answers[method](params) : undefined
  const error = { code: -32601, message: 'no such method' }
  process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', id, ...(result ? { result } : { error }) })}\n`)
}
