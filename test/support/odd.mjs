// A server for what real ones seldom do: it answers with whatever it is told to, asks whatever it is told to, and
// records what it is sent. Plain JSON-RPC, so that no library prevents a wrong response.
import { appendFileSync } from 'node:fs'
import { createInterface } from 'node:readline'

const { SEEN, TOOLS } = process.env
const OPEN = { type: 'object' }
const tools = TOOLS
  ? JSON.parse(TOOLS)
  : [
      { name: 'answer', description: 'Answers with the given result.', inputSchema: OPEN },
      { name: 'ask', description: 'Asks the given question.', inputSchema: OPEN },
      {
        name: 'long',
        description: 'Says much.',
        inputSchema: { type: 'object', properties: { chars: { type: 'integer' } } },
      },
      { name: 'never', description: 'Does not answer.', inputSchema: OPEN },
      { name: 'crash', description: 'Leaves.', inputSchema: OPEN },
      {
        name: 'strict',
        description: 'Takes exactly what it says.',
        annotations: { readOnlyHint: true },
        inputSchema: {
          type: 'object',
          properties: {
            text: { type: 'string' },
            count: { type: 'integer', minimum: 1 },
            ratio: { type: 'number' },
            on: { type: 'boolean' },
            kind: { enum: ['a', 'b', 3] },
            tags: { type: 'array', items: { type: 'string' } },
            where: { $ref: '#/$defs/place' },
            maybe: { anyOf: [{ type: 'integer' }, { type: 'null' }] },
          },
          required: ['text'],
          additionalProperties: false,
          $defs: { place: { type: 'object', properties: { x: { type: 'number' } } } },
        },
      },
    ]
const waiting = new Map()
let next = 1

const send = (message) => process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`)
const ask = (method, params) =>
  new Promise((done) => {
    const id = `q${next++}`
    waiting.set(id, done)
    send({ id, method, params })
  })
const text = (value) => ({
  content: [{ type: 'text', text: typeof value === 'string' ? value : JSON.stringify(value) }],
})

async function call({ name, arguments: args = {} }) {
  if (name === 'answer') return args.result
  if (name === 'ask') return text(await ask(args.method ?? 'elicitation/create', args.params))
  if (name === 'long') return text(`${'x'.repeat(99)}\n`.repeat(Math.ceil(args.chars / 100)))
  if (name === 'crash') {
    process.stderr.write('fatal: out of memory\n')
    process.exit(3)
  }
  if (name === 'never') return undefined
  return text(args)
}

createInterface({ input: process.stdin }).on('line', async (line) => {
  if (SEEN) appendFileSync(SEEN, `${line}\n`)
  const message = JSON.parse(line)
  if (message.method === undefined)
    return waiting.get(message.id)?.(message.result ?? { error: message.error })
  if (message.id === undefined) return
  const { id, method, params } = message
  if (method === 'initialize')
    send({
      id,
      result: {
        protocolVersion: '2025-11-25',
        capabilities: { tools: {}, resources: { subscribe: true } },
        serverInfo: { name: 'odd', version: '0' },
      },
    })
  else if (method === 'tools/list') send({ id, result: { tools } })
  else if (method === 'ping') send({ id, result: {} })
  else if (method === 'resources/list')
    send({ id, result: { resources: [{ uri: 'odd:clock', name: 'clock' }] } })
  else if (method === 'resources/read') {
    const blob = params.uri === 'odd:broken' ? '!!!' : undefined
    send({
      id,
      result: { contents: [{ uri: params.uri, ...(blob ? { blob } : { text: `tick ${next++}` }) }] },
    })
  } else if (method === 'resources/subscribe') {
    send({ id, result: {} })
    send({ method: 'notifications/resources/updated', params: { uri: params.uri } })
    send({ method: 'notifications/resources/updated', params: { uri: 'odd:other' } })
  } else if (method === 'tools/call') {
    const result = await call(params)
    if (result !== undefined) send({ id, result })
  } else send({ id, error: { code: -32601, message: 'no such method' } })
})
