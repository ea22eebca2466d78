// A server over stdio without a library, for tests of the gateway. ERA=modern speaks 2026-07-28 only. TOOLS names
// its tools, FILE is where `write` and `order` append a line; `grow` adds the tools of LATER and announces it; STDERR is printed at
// the start, and with FAIL it ends there. With DELAY it answers the handshake after so many milliseconds.
import { appendFileSync } from 'node:fs'

const {
  ERA = 'legacy',
  TOOLS = 'write,read,slow,ask,order,grow',
  LATER = '',
  FILE,
  STDERR,
  FAIL,
  DELAY,
} = process.env
if (STDERR) process.stderr.write(`${STDERR}\n`)
if (FAIL) process.exit(1)
const say = (message) => process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`)
const text = (value) => ({ content: [{ type: 'text', text: String(value) }] })
const note = (line) => FILE && appendFileSync(FILE, `${line}\n`)
const names = TOOLS.split(',')
const SCHEMAS = process.env.SCHEMAS ? JSON.parse(process.env.SCHEMAS) : {}
const define = (name) => ({
  name,
  inputSchema: name in SCHEMAS ? SCHEMAS[name] : { type: 'object' },
  ...(name === 'read' && { annotations: { readOnlyHint: true } }),
})
const form = (message) => ({
  mode: 'form',
  message,
  requestedSchema: { type: 'object', properties: { name: { type: 'string' } } },
})
const kept = []
const questions = new Map()
let asked = 0

const calls = {
  write: (_id, { key }) => {
    note(key)
    return text('written')
  },
  keep: (_id, { text: note }) => {
    kept.push(note)
    return text('kept')
  },
  recall: () => text(`has ${kept.join(' ')}`),
  large: (_id, { text: note }) => text(`${note} `.repeat(20_000)),
  read: () => text(`read ${process.pid}`),
  slow: (id, { ms }) => void setTimeout(() => say({ id, result: text('slow') }), ms),
  /** A legacy question: a request of its own. */
  ask: (id, { who }) => {
    const question = `q${++asked}`
    questions.set(question, (reply) =>
      say({
        id,
        result: text(reply.error ? reply.error.message : `${who} said ${reply.result.content?.name}`),
      }),
    )
    say({ id: question, method: 'elicitation/create', params: form(`Is it ${who}?`) })
  },
  /** Two questions of 2026-07-28, one after the other, with a state of the server's own. */
  order: (_id, args, { inputResponses, requestState }) => {
    const { first, second } = inputResponses ?? {}
    if (requestState === `two ${args.key} secret` && second) {
      note(`${args.key} ${second.content?.name}`)
      return text(`ordered ${second.content?.name}`)
    }
    if (requestState === `one ${args.key} secret` && first)
      return asks('second', `Sure, ${first.content?.name}?`, `two ${args.key} secret`)
    return asks('first', 'Your name?', `one ${args.key} secret`)
  },
  grow: (_id, { name }) => {
    names.push(...(name ? [name] : LATER.split(',')))
    setImmediate(() => say({ method: 'notifications/tools/list_changed' }))
    return text('grew')
  },
}
const asks = (key, message, requestState) => ({
  resultType: 'input_required',
  inputRequests: { [key]: { method: 'elicitation/create', params: form(message) } },
  requestState,
})

const capabilities = { tools: { listChanged: true }, logging: {} }
const answers = {
  initialize: ({ protocolVersion }) => ({
    protocolVersion: protocolVersion === '2026-07-28' ? '2025-11-25' : protocolVersion,
    capabilities,
    serverInfo: { name: 'fixture', version: '1' },
  }),
  'server/discover': () => ({ supportedVersions: ['2026-07-28'], capabilities }),
  ping: () => ({}),
  'logging/setLevel': ({ level }) => {
    note(`level ${level}`)
    return {}
  },
  'tools/list': () => ({ tools: names.map(define) }),
}

function receive(message) {
  const { id, method, params = {} } = message
  if (method === undefined) {
    const answer = questions.get(id)
    questions.delete(id)
    return answer?.(message)
  }
  if (id === undefined) return
  const modern = ERA === 'modern'
  if (method === 'subscriptions/listen') {
    const _meta = { 'io.modelcontextprotocol/subscriptionId': id }
    return say({ method: 'notifications/subscriptions/acknowledged', params: { notifications: {}, _meta } })
  }
  const unknown = (method === 'initialize' && modern) || (method === 'server/discover' && !modern)
  const call =
    method === 'tools/call'
      ? (calls[params.name] ?? (() => text(`${params.name} of ${process.env.NAME}`)))
      : undefined
  const answer = call
    ? () => call(id, params.arguments ?? {}, params)
    : answers[method] && (() => answers[method](params))
  if (unknown || !answer) return say({ id, error: { code: -32601, message: 'Method not found' } })
  if (method === 'initialize' && DELAY)
    return void setTimeout(() => say({ id, result: answer() }), Number(DELAY))
  const result = answer()
  if (result) say({ id, result: modern ? { resultType: 'complete', ...result } : result })
}

let rest = ''
process.stdin.setEncoding('utf8')
process.stdin.on('data', (chunk) => {
  const lines = (rest + chunk).split('\n')
  rest = lines.pop()
  for (const line of lines) receive(JSON.parse(line))
})
process.stdin.on('end', () => process.exit(0))
