// A stdio server that puts terminal control codes, and the secret it was given, into every text it sends.
import { createInterface } from 'node:readline'

const { WORDS = '', API_TOKEN = '' } = process.env
const OPEN = { type: 'object', properties: { note: { type: 'string', description: WORDS } } }
const tools = [
  { name: 'say', title: `Say ${WORDS}`, description: `Says. ${WORDS}`, inputSchema: OPEN },
  { name: 'fail', description: WORDS, inputSchema: OPEN },
  { name: 'leak', description: 'Echoes its token.', inputSchema: OPEN, annotations: { readOnlyHint: true } },
  { name: 'wipe', title: 'Tidy up', inputSchema: OPEN, annotations: { destructiveHint: true } },
]
const send = (message) => process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`)

console.error(`starting ${WORDS} with ${API_TOKEN}`)
console.error(
  `in base64 ${Buffer.from(`user:${API_TOKEN}`).toString('base64')} ${encodeURIComponent(API_TOKEN)}`,
)
createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method, params } = JSON.parse(line)
  if (id === undefined || method === undefined) return
  if (method === 'initialize')
    return send({
      id,
      result: {
        protocolVersion: '2025-11-25',
        capabilities: { tools: {}, resources: {}, prompts: {}, logging: {} },
        serverInfo: { name: `hostile ${WORDS}`, version: WORDS },
        instructions: WORDS,
      },
    })
  if (method === 'tools/list') return send({ id, result: { tools } })
  if (method === 'resources/list')
    return send({ id, result: { resources: [{ uri: `odd:${WORDS}`, name: WORDS, description: WORDS }] } })
  if (method === 'resources/read')
    return send({ id, result: { contents: [{ uri: params.uri, text: WORDS }] } })
  if (method === 'prompts/list')
    return send({ id, result: { prompts: [{ name: 'p', title: WORDS, description: WORDS }] } })
  if (method === 'prompts/get')
    return send({ id, result: { messages: [{ role: 'user', content: { type: 'text', text: WORDS } }] } })
  if (method === 'ping') return send({ id, result: {} })
  if (method !== 'tools/call') return send({ id, error: { code: -32601, message: `no ${method} ${WORDS}` } })
  send({ method: 'notifications/message', params: { level: 'error', data: `${WORDS} ${API_TOKEN}` } })
  if (params.name === 'fail')
    return send({ id, error: { code: -32000, message: `It failed ${WORDS} ${API_TOKEN}`, data: WORDS } })
  if (params.name === 'leak') return send({ id, error: { code: -32000, message: `bad token ${API_TOKEN}` } })
  send({ id, result: { content: [{ type: 'text', text: `said ${params.arguments?.note ?? ''} ${WORDS}` }] } })
})
