// many-tools.mjs NAME COUNT: a small server with many tools, and one that sends thousands of notifications.
import { createInterface } from 'node:readline'

const [name, count] = process.argv.slice(2)
const schema = {
  type: 'object',
  properties: { text: { type: 'string' }, limit: { type: 'integer', default: 5 } },
  required: ['text'],
}
const tools = Array.from({ length: Number(count) - 1 }, (_, at) => ({
  name: `tool-${at}`,
  description: `Tool ${at} of ${name}: does what the text says, ${at} times`,
  inputSchema: schema,
  annotations: { readOnlyHint: at % 2 === 0 },
}))
tools.push({
  name: 'flood',
  description: 'Sends many notifications',
  inputSchema: { type: 'object', properties: {} },
})

const send = (message) => process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`)
const HANDLERS = {
  initialize: () => ({
    protocolVersion: '2025-11-25',
    capabilities: { tools: {}, logging: {} },
    serverInfo: { name, version: '1.0.0' },
  }),
  'tools/list': () => ({ tools }),
  'tools/call': ({ name: tool, arguments: given }) => {
    if (tool === 'flood')
      for (let at = 0; at < 10_000; at++)
        send({ method: 'notifications/message', params: { level: 'debug', data: `number ${at}` } })
    return { content: [{ type: 'text', text: `${given?.text ?? 'done'} from ${name}` }] }
  },
  ping: () => ({}),
}

for await (const line of createInterface({ input: process.stdin })) {
  const { id, method, params } = JSON.parse(line)
  if (id === undefined) continue
  const handler = HANDLERS[method]
  send(handler ? { id, result: handler(params ?? {}) } : { id, error: { code: -32601, message: 'Unknown' } })
}
