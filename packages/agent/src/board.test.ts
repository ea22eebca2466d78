// The loop over a real board: servers from npm as child processes, a scripted model in both wire formats.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Board, openBoard, type ServerEntry } from '@plugboard/core'
import { systemHost } from '@plugboard/core/host'
import { afterEach, describe, expect, it } from 'vitest'
import { SERVERS, serverCommand } from '../../../bench/lib/servers.mjs'
import { BoardTools } from './board-tools.ts'
import type { AgentEvent } from './events.ts'
import {
  type ModelServer,
  modelServer,
  type Reply,
  type ScriptedRequest,
  type WireApi,
} from './fixtures/model-server.mjs'
import { runAgent } from './loop.ts'
import { userMessage } from './messages.ts'
import { chooseModel } from './models/choose.ts'
import { recorded, replay } from './recording.ts'
import { agentTool } from './sub-agent.ts'
import { UserPrompts } from './user-prompts.ts'

const closers: (() => unknown)[] = []
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close()
})

const host = systemHost({ env: { ...process.env, ENABLE_TOOL_SEARCH: undefined } })

function folder(): string {
  const made = mkdtempSync(join(tmpdir(), 'plugboard-agent-'))
  closers.push(() => rmSync(made, { recursive: true, force: true, maxRetries: 3 }))
  return made
}

type RealServer = 'everything' | 'filesystem' | 'memory'

function real(name: RealServer, dir: string) {
  const { args, env } = serverCommand(SERVERS[name], dir)
  return configured(name, { type: 'stdio', command: process.execPath, args, env })
}

function configured(name: string, entry: ServerEntry) {
  return { name, scope: 'dynamic' as const, source: 'test', entry, signature: JSON.stringify(entry) }
}

async function scripted(
  api: WireApi,
  script: (request: ScriptedRequest, count: number) => Reply | undefined,
): Promise<{ server: ModelServer; model: ReturnType<typeof chooseModel> }> {
  const server = await modelServer(script)
  closers.push(() => server.close())
  return { server, model: chooseModel({ host, api, model: 'scripted', baseUrl: server.baseUrl(api) }) }
}

async function opened(options: Parameters<typeof openBoard>[0]): Promise<Board> {
  const board = await openBoard({ stateDir: folder(), host, ...options })
  closers.push(() => board.close())
  return board
}

function sumTask({ user, results }: ScriptedRequest): Reply | undefined {
  if (!user.startsWith('Add')) return undefined
  if (results.length === 0)
    return { calls: [{ name: 'mcp__everything__get-sum', arguments: { a: 20, b: 22 } }] }
  return { text: `The sum: ${results[0]?.text.match(/\d+\.?$/)?.[0]}` }
}

describe.each(['anthropic', 'openai'] as const)('a whole conversation over %s', (api) => {
  it('uses three servers at once, asks the user, answers a server’s request, and starts a sub-agent', async () => {
    const dir = folder()
    writeFileSync(join(dir, 'note.txt'), 'the key is under the mat')
    const { server, model } = await scripted(api, (request) => {
      const { results, tools } = request
      const helper = sumTask(request)
      if (helper) return helper
      if (results.length === 0 && !tools.includes('mcp__memory__read_graph'))
        // A search waits for servers that are not up yet.
        return { calls: [{ name: 'tool_search', arguments: { query: 'read a file' } }] }
      if (results.length <= 1)
        return {
          text: 'Looking.',
          calls: [
            { name: 'mcp__filesystem__read_text_file', arguments: { path: join(dir, 'note.txt') } },
            { name: 'mcp__memory__read_graph', arguments: {} },
            { name: 'mcp__everything__echo', arguments: { message: 'hello' } },
            { name: 'agent', arguments: { task: 'Add 20 and 22', tools: ['everything'] } },
            { name: 'mcp__memory__create_entities', arguments: { entities: [] } },
            { name: 'mcp__everything__trigger-elicitation-request', arguments: {} },
          ],
        }
      return { text: results.map(({ name, isError, text }) => `${name} ${isError} ${text}`).join('\n') }
    })
    const asked: string[] = []
    const userPrompts = new UserPrompts({
      permit: async ({ request }) => {
        asked.push(request.name)
        return 'once'
      },
      elicit: async (prompt) => {
        asked.push(`form of ${prompt.server}`)
        return { action: 'accept', content: { name: 'Ada' } }
      },
      consent: async () => 'no',
    })
    const board = await opened({
      servers: [real('everything', dir), real('filesystem', dir), real('memory', dir)],
      rules: ['mcp__filesystem', 'mcp__everything'].map((rule) => ({
        action: 'allow' as const,
        rule,
        file: 'test',
        scope: 'dynamic' as const,
      })),
      ...userPrompts.ports(model),
    })
    const lines: string[] = []
    const toolbox = new BoardTools({ board, host, own: [agentTool({ board, model, host, run: runAgent })] })
    const tape = recorded(
      model,
      toolbox,
      (item) => lines.push(JSON.stringify(item)),
      (listener) => userPrompts.listen(listener),
    )
    const question = userMessage('Where is the key?')
    tape.input(question)
    const events: AgentEvent[] = []
    for await (const event of runAgent({ ...tape, host, userPrompts, system: 'Help.', messages: [question] }))
      events.push(event)

    const last = events.at(-1)
    if (last?.type !== 'done') throw new Error('no end')
    expect(last.reason).toBe('end')
    expect(last.text).toContain('mcp__filesystem__read_text_file false the key is under the mat')
    expect(last.text).toContain('mcp__memory__read_graph false')
    expect(last.text).toContain('mcp__everything__echo false Echo: hello')
    expect(last.text).toContain('agent false The sum: 42')
    expect(last.text).toContain('Ada')
    expect(asked).toContain('mcp__memory__create_entities')
    expect(asked).toContain('form of everything')

    // The first four may overlap, so all of them have begun before one has ended.
    const order = events
      .filter(({ type }) => type === 'tool-start' || type === 'tool-end')
      .map(({ type }) => type)
    const batch = order.slice(order.length - 12)
    expect(batch.slice(0, 4)).toEqual(['tool-start', 'tool-start', 'tool-start', 'tool-start'])
    const kinds = new Set(events.map(({ type }) => type))
    for (const kind of ['ask', 'answer', 'sub', 'tool-end', 'turn', 'usage'] as const)
      expect(kinds).toContain(kind)
    const helperTools = server.requests.find(({ user }) => user.startsWith('Add'))?.tools ?? []
    expect(helperTools.some((name) => name.startsWith('mcp__everything__'))).toBe(true)
    expect(helperTools.filter((name) => !name.startsWith('mcp__everything__'))).toEqual([])

    // The same file, without a model or a server, gives the same events.
    const again = replay(lines.join('\n'))
    const played: AgentEvent[] = []
    for await (const event of runAgent({ ...again, host, system: 'Help.', messages: again.inputs }))
      played.push(event)
    expect(played).toEqual(JSON.parse(JSON.stringify(events)))
  }, 60_000)

  it('answers at once while a server is still starting, and its tools join later', async () => {
    const { server, model } = await scripted(api, ({ results, user }) => {
      if (user === 'hi') return { text: 'hello' }
      if (results.length === 0)
        return { calls: [{ name: 'tool_search', arguments: { query: 'echo a message' } }] }
      if (results[0]?.name === 'tool_search')
        return { calls: [{ name: 'mcp__late__echo', arguments: { message: 'at last' } }] }
      return { text: results[0]?.text ?? '' }
    })
    const dir = folder()
    const { args, env } = serverCommand(SERVERS.everything, dir)
    const word = join(dir, 'start')
    const late = `import { existsSync } from 'node:fs'
      while (!existsSync(${JSON.stringify(word)})) await new Promise((done) => setTimeout(done, 20))
      await import(${JSON.stringify(args[0])})`
    const board = await opened({
      servers: [
        configured('late', {
          type: 'stdio',
          command: process.execPath,
          args: ['--input-type=module', '-e', late],
          env,
        }),
      ],
      rules: [{ action: 'allow', rule: 'mcp__late', file: 'test', scope: 'dynamic' }],
    })
    const toolbox = new BoardTools({ board, host })
    let messages = [userMessage('hi')] as readonly Parameters<typeof runAgent>[0]['messages'][number][]
    for await (const event of runAgent({ model, toolbox, host, messages }))
      if (event.type === 'done') {
        expect(event.text).toBe('hello')
        expect(board.servers()[0]?.state).toBe('pending')
        messages = [...event.messages, userMessage('now echo')]
      }
    expect(server.requests[0]?.tools).toEqual(['tool_search'])
    expect(server.requests[0]?.system).toContain('late')
    writeFileSync(word, '')
    let text = ''
    for await (const event of runAgent({ model, toolbox, host, messages }))
      if (event.type === 'done') text = event.text
    expect(text).toBe('Echo: at last')
    expect(server.requests.at(-1)?.tools).toContain('mcp__late__echo')
  }, 30_000)

  it('passes the abort of a run on to the server', async () => {
    const { model } = await scripted(api, () => ({
      calls: [
        { name: 'mcp__everything__trigger-long-running-operation', arguments: { duration: 30, steps: 60 } },
      ],
    }))
    const dir = folder()
    const board = await opened({
      servers: [real('everything', dir)],
      rules: [{ action: 'allow', rule: 'mcp__everything', file: 'test', scope: 'dynamic' }],
    })
    await board.ready()
    const outcomes: string[] = []
    board.on('call-ended', ({ outcome }) => outcomes.push(outcome))
    const stop = new AbortController()
    const events: AgentEvent[] = []
    for await (const event of runAgent({
      board,
      model,
      host,
      messages: [userMessage('go')],
      signal: stop.signal,
    })) {
      events.push(event)
      if (event.type === 'tool-progress') stop.abort()
    }
    expect(events.at(-1)).toMatchObject({ type: 'done', reason: 'aborted' })
    await expect.poll(() => outcomes, { timeout: 10_000 }).toContain('cancelled')
  }, 30_000)
})
