// Calls that a server of 2026-07-28 turns into tasks (SEP-2663): one call to the caller, whatever the server makes of it.
import { describe, expect, it } from 'vitest'
import type { BoardOptions } from '../board.ts'
import { board, until } from '../connection/fixtures/kit.ts'
import type { LocalBoard } from './local-board.ts'

type Json = Record<string, unknown>
type Reply = Json | { readonly fault: { readonly code: number; readonly message: string } } | 'silence'

const TASK = {
  taskId: 't-1',
  status: 'working',
  createdAt: '2026-01-01T00:00:00Z',
  lastUpdatedAt: '2026-01-01T00:00:00Z',
}
const QUICK = { ...TASK, ttlMs: 60_000, pollIntervalMs: 1 }
const DONE = { ...QUICK, status: 'completed', result: { content: [{ type: 'text', text: 'done' }] } }

/** A hand-written server whose tool becomes a task; `states` are what `tasks/get` answers, the last one for ever. */
async function taskBoard(
  states: readonly Reply[],
  created: Json = QUICK,
  options: Partial<BoardOptions> = {},
) {
  const seen: { method: string; params: Json; at: number }[] = []
  let polls = 0
  const serve: NonNullable<BoardOptions['inProcess']>[string] = (end) => {
    const say = (message: object) => void end.send({ jsonrpc: '2.0', ...message } as never)
    const answers: Readonly<Record<string, () => Reply>> = {
      'server/discover': () => ({
        supportedVersions: ['2026-07-28'],
        capabilities: { tools: {}, extensions: { 'io.modelcontextprotocol/tasks': {} } },
        serverInfo: { name: 'tasks', version: '1' },
      }),
      'tools/list': () => ({
        tools: [{ name: 'slow', inputSchema: { type: 'object' } }],
        ttlMs: 0,
        cacheScope: 'private',
      }),
      'tools/call': () => ({ resultType: 'task', ...created }),
      'tasks/get': () => states[Math.min(polls++, states.length - 1)] ?? 'silence',
      'tasks/update': () => ({}),
      'tasks/cancel': () => ({}),
    }
    end.onmessage = (message) => {
      const { id, method = '', params = {} } = message as { id?: number; method?: string; params?: Json }
      if (id === undefined) return
      seen.push({ method, params, at: performance.now() })
      const reply = answers[method]?.() ?? { fault: { code: -32601, message: 'no' } }
      if (reply === 'silence') return
      if ('fault' in reply) say({ id, error: reply.fault })
      else say({ id, result: { resultType: 'complete', ...reply } })
    }
    void end.start()
  }
  const made = await board({
    servers: [],
    caller: 'user',
    inProcess: { s: serve },
    ...options,
  } as BoardOptions)
  await made.ready()
  const of = (method: string) => seen.filter((one) => one.method === method)
  return { made, seen, of }
}

const call = (made: LocalBoard, context: Parameters<LocalBoard['call']>[2] = {}) =>
  made.call('s.slow', {}, context)

describe('a call that becomes a task of the extension', () => {
  it('returns what the task ends with, and names the task in every request', async () => {
    const { made, of } = await taskBoard([QUICK, QUICK, DONE])
    expect((await call(made)).content).toMatchObject([{ type: 'text', text: 'done' }])
    expect(of('tasks/get')).toHaveLength(3)
    for (const { params } of of('tasks/get')) expect(params).toMatchObject({ taskId: 't-1' })
    expect(of('tools/call')[0]?.params).toMatchObject({
      _meta: {
        'io.modelcontextprotocol/clientCapabilities': { extensions: { 'io.modelcontextprotocol/tasks': {} } },
      },
    })
    expect(of('tasks/cancel')).toEqual([])
  })

  it('tells each state once', async () => {
    const halfway = { ...QUICK, statusMessage: 'half way' }
    const { made } = await taskBoard([QUICK, halfway, halfway, DONE])
    const told: { message?: string; task?: { status: string } }[] = []
    await call(made, { onProgress: (progress) => told.push(progress) })
    expect(told.map(({ message, task }) => [message, task?.status])).toEqual([
      [undefined, 'working'],
      ['half way', 'working'],
      [undefined, 'completed'],
    ])
  })

  it('polls no faster than the server wishes', async () => {
    const slow = { ...QUICK, pollIntervalMs: 400 }
    const { made, of } = await taskBoard([slow, slow, { ...DONE, pollIntervalMs: 400 }], slow)
    await call(made)
    const times = [...of('tools/call'), ...of('tasks/get')].map(({ at }) => at)
    for (const [index, at] of times.entries())
      if (index > 0) expect(at - (times[index - 1] ?? 0)).toBeGreaterThanOrEqual(395)
  })

  it('asks each question once, and sends the answers', async () => {
    const asking = (keys: readonly string[]) => ({
      ...QUICK,
      status: 'input_required',
      inputRequests: Object.fromEntries(
        keys.map((key) => [
          key,
          {
            method: 'elicitation/create',
            params: { mode: 'form', message: key, requestedSchema: { type: 'object', properties: {} } },
          },
        ]),
      ),
    })
    const asked: string[] = []
    const { made, of } = await taskBoard([asking(['one']), asking(['one', 'two']), QUICK, DONE], QUICK, {
      elicit: async ({ message }: { message: string }) => {
        asked.push(message)
        return { action: 'accept', content: {} }
      },
    } as Partial<BoardOptions>)
    await call(made)
    expect(asked).toEqual(['one', 'two'])
    expect(of('tasks/update').map(({ params }) => params['inputResponses'])).toEqual([
      { one: { action: 'accept', content: {} } },
      { two: { action: 'accept', content: {} } },
    ])
  })

  it.each<[string, Reply, object]>([
    [
      'failed',
      { ...QUICK, status: 'failed', error: { code: -32000, message: 'rate limit' } },
      { code: 'TOOL_ERROR', message: expect.stringContaining('rate limit') },
    ],
    [
      'failed without an error',
      { ...QUICK, status: 'failed', statusMessage: 'no disk' },
      { message: expect.stringContaining('no disk') },
    ],
    [
      'cancelled',
      { ...QUICK, status: 'cancelled', statusMessage: 'by an operator' },
      { message: expect.stringContaining('by an operator') },
    ],
    [
      'completed without a result',
      { ...QUICK, status: 'completed' },
      { message: expect.stringContaining('no result') },
    ],
    [
      'forgotten',
      { fault: { code: -32602, message: 'Task not found' } },
      { code: 'OUTCOME_UNKNOWN', message: expect.stringContaining('does not know it any more') },
    ],
    ['another task', { ...QUICK, taskId: 't-2' }, { message: expect.stringContaining('not the task') }],
    ['no task at all', { hello: 1 }, { message: expect.stringContaining('not the task') }],
  ])('fails where the task is %s', async (_, state, error) => {
    const { made, of } = await taskBoard([state])
    await expect(call(made)).rejects.toMatchObject(error)
    expect(of('tasks/cancel')).toEqual([])
  })

  it('returns a tool error as a result', async () => {
    const { made } = await taskBoard([{ ...DONE, result: { isError: true, content: [] } }])
    expect(await call(made)).toMatchObject({ isError: true })
  })

  it.each([
    ['no id', { taskId: undefined }],
    ['an empty id', { taskId: '' }],
    ['a number as its id', { taskId: 7 }],
    ['an endless id', { taskId: 'x'.repeat(5000) }],
  ])('refuses a task with %s', async (_, odd) => {
    const { made, of } = await taskBoard([DONE], { ...QUICK, ...odd })
    await expect(call(made)).rejects.toThrow('without a usable id')
    expect(of('tasks/get')).toEqual([])
  })

  it('ends with an error that the server sends for the task', async () => {
    const { made, of } = await taskBoard([{ fault: { code: -32603, message: 'busy' } }, DONE])
    await expect(call(made)).rejects.toMatchObject({ code: 'TOOL_ERROR' })
    expect(of('tasks/get')).toHaveLength(1)
  })

  it('cancels the task when the caller gives up', async () => {
    const { made, of } = await taskBoard([QUICK])
    const stop = new AbortController()
    const running = call(made, { signal: stop.signal })
    await until('the task is polled', () => of('tasks/get').length > 1)
    stop.abort()
    await expect(running).rejects.toMatchObject({ code: 'CANCELLED' })
    await until('the task is cancelled', () => of('tasks/cancel').length === 1)
  })

  it('leaves it running when a caller that may leave it gives up', async () => {
    const { made, of } = await taskBoard([QUICK, QUICK, QUICK, QUICK, DONE])
    const stop = new AbortController()
    const running = call(made, { signal: stop.signal, detachable: true })
    await until('the task is polled', () => of('tasks/get').length > 1)
    stop.abort()
    await expect(running).rejects.toMatchObject({ code: 'CANCELLED' })
    expect(of('tasks/cancel')).toEqual([])
    expect((await made.awaitTask('s.slow', 't-1')).content).toMatchObject([{ text: 'done' }])
    await made.cancelTask('s', 't-1')
    expect(of('tasks/cancel')).toHaveLength(1)
  })

  it.each([
    ['totalMs', { totalMs: 400 }],
    ['timeoutMs', { timeoutMs: 400 }],
  ])('ends with the time limit (%s), and cancels the task', async (_, limits) => {
    const { made, of } = await taskBoard([QUICK])
    await expect(call(made, limits)).rejects.toMatchObject({
      code: 'TIMEOUT',
      message: expect.stringMatching(/^"s" did not finish slow within \d+ ms; its task was cancelled\.$/),
    })
    expect(of('tasks/cancel')).toHaveLength(1)
  })

  it('lets other calls of the server run meanwhile', async () => {
    const { made, of } = await taskBoard([QUICK])
    const stop = new AbortController()
    const first = call(made, { signal: stop.signal })
    await until('the task is polled', () => of('tasks/get').length > 0)
    const second = call(made, { signal: stop.signal })
    await until('the second call is sent', () => of('tools/call').length === 2)
    stop.abort()
    await Promise.allSettled([first, second])
  })
})
