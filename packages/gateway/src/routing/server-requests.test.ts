// Two clients call one legacy server at the same time, and it asks both. Over Streamable HTTP a question comes on
// the stream of its call, and a task's question names the task, so each client gets its own.
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { fileURLToPath } from 'node:url'
import type { ConfiguredServer } from '@plugboard/core'
import { expect, it } from 'vitest'
import { connect, firstText, makeGateway, onEnd, serve, stdio } from '../fixtures/kit.ts'

type Message = { id?: number | string; method?: string; params?: Record<string, unknown>; result?: unknown }

/** Calls the tool as a named user, who answers questions with that name. */
function asker(url: string) {
  return async (name: string, signal?: AbortSignal) => {
    const heard: string[] = []
    const client = await connect(url, {
      capabilities: { elicitation: { form: {} } },
      prepare: (one) =>
        one.setRequestHandler('elicitation/create', async ({ params }) => {
          heard.push(params.message)
          return { action: 'accept', content: { name } }
        }),
    })
    const call = { name: 'mcp__one__ask', arguments: { name, who: name } }
    const answer = await client.callTool(call, signal && { signal })
    return { heard, answer: firstText(answer) }
  }
}

const tasks = (env: Record<string, string> = {}) =>
  stdio('one', [fileURLToPath(new URL('../fixtures/tasks.mjs', import.meta.url))], env)

it('routes the question of a task to the client whose call became the task', async () => {
  const gateway = await makeGateway([tasks()])
  const ask = asker((await serve(gateway)).url)
  expect(await Promise.all([ask('Ada'), ask('Alan')])).toEqual([
    { heard: ['Is it Ada?'], answer: 'Ada said Ada' },
    { heard: ['Is it Alan?'], answer: 'Alan said Alan' },
  ])
})

it('shows the question of a task to no other client when its caller has left', async () => {
  const gateway = await makeGateway([tasks()])
  const left = new AbortController()
  const waiting = new Promise<void>((begun) => {
    onEnd(gateway.board.on('log', ({ line }) => line.text.includes('is waited for') && begun()))
  })
  const ask = asker((await serve(gateway)).url)
  const gone = expect(ask('Ada', left.signal)).rejects.toThrow()
  await waiting
  left.abort()
  await gone
  expect(await ask('Alan')).toEqual({ heard: ['Is it Alan?'], answer: 'Alan said Alan' })
})

it('refuses one of two questions that cannot be told apart, says so in the log, and routes the other to its caller', async () => {
  const gateway = await makeGateway([tasks({ NAMELESS: '1' })])
  const logged: string[] = []
  onEnd(gateway.board.on('log', ({ line }) => logged.push(line.text)))
  const ask = asker((await serve(gateway)).url)
  const [ada, alan] = await Promise.all([ask('Ada'), ask('Alan')])
  const refused = { heard: [], answer: expect.stringContaining('which of 2 clients') }
  const routed = (name: string) => ({ heard: [`Is it ${name}?`], answer: `${name} said ${name}` })
  if (ada.heard.length > 0) expect([ada, alan]).toEqual([routed('Ada'), refused])
  else expect([ada, alan]).toEqual([refused, routed('Alan')])
  expect(logged.filter((text) => text.includes('(elicitation/create) got no answer'))).toHaveLength(1)
})

it('routes each question to the client whose call it came with', async () => {
  const gateway = await makeGateway([await asking('one')])
  const ask = asker((await serve(gateway)).url)
  for (let round = 0; round < 3; round++)
    expect(await Promise.all([ask('Ada'), ask('Alan')])).toEqual([
      { heard: ['Is it Ada?'], answer: 'Ada said Ada' },
      { heard: ['Is it Alan?'], answer: 'Alan said Alan' },
    ])
})

/** Speaks 2025-06-18 with one session; asks only when two calls are open, the later one first. */
async function asking(name: string): Promise<ConfiguredServer> {
  const open: { name: unknown; message: Message; res: ServerResponse }[] = []
  const waiting = new Map<unknown, (result: unknown) => void>()
  let questions = 0
  const event = (res: ServerResponse, message: object) =>
    res.write(`data: ${JSON.stringify({ jsonrpc: '2.0', ...message })}\n\n`)
  const put = ({ name: whose, message, res }: (typeof open)[number]) => {
    const id = `q${++questions}`
    waiting.set(id, (result) => {
      const said = (result as { content?: { name?: string } } | undefined)?.content?.name
      event(res, { id: message.id, result: { content: [{ type: 'text', text: `${whose} said ${said}` }] } })
      res.end()
    })
    const requestedSchema = { type: 'object', properties: { name: { type: 'string' } } }
    event(res, {
      id,
      method: 'elicitation/create',
      params: { message: `Is it ${whose}?`, requestedSchema },
    })
  }
  const results: Record<string, object> = {
    initialize: {
      protocolVersion: '2025-06-18',
      capabilities: { tools: {} },
      serverInfo: { name: 'asking', version: '1' },
    },
    'tools/list': {
      tools: [{ name: 'ask', inputSchema: { type: 'object' }, annotations: { readOnlyHint: true } }],
    },
    ping: {},
  }
  const server = createServer(async (req, res) => {
    if (req.method !== 'POST') return void res.writeHead(req.method === 'DELETE' ? 200 : 405).end()
    const message = JSON.parse(await textOf(req)) as Message
    if (message.method === undefined) waiting.get(message.id)?.(message.result)
    if (message.id === undefined || message.method === undefined) return void res.writeHead(202).end()
    if (message.method === 'tools/call') {
      res.writeHead(200, { 'Content-Type': 'text/event-stream' })
      res.flushHeaders()
      const given = message.params?.['arguments'] as { name?: unknown }
      open.push({ name: given.name, message, res })
      if (open.length === 2) for (const call of open.splice(0).reverse()) put(call)
      return
    }
    const result = results[message.method]
    const body = result ? { result } : { error: { code: -32601, message: 'Method not found' } }
    res.writeHead(200, { 'Content-Type': 'application/json' })
    res.end(JSON.stringify({ jsonrpc: '2.0', id: message.id, ...body }))
  })
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  onEnd(() => {
    server.closeAllConnections()
    server.close()
  })
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`
  return { name, scope: 'user', source: 'test', signature: url, entry: { type: 'http', url, headers: {} } }
}

async function textOf(req: IncomingMessage): Promise<string> {
  const pieces: Buffer[] = []
  for await (const piece of req as AsyncIterable<Buffer>) pieces.push(piece)
  return Buffer.concat(pieces).toString('utf8')
}
