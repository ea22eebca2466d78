// Calls to tools that run as tasks: one call to the caller, with one time limit for all of it.
import { describe, expect, it } from 'vitest'
import type { LocalBoard } from '../board/local-board.ts'
import type { BoardOptions } from '../board.ts'
import { board, until } from '../connection/fixtures/kit.ts'

interface TaskServer {
  /** The answer to `tools/call`; a task with an id, when left out. */
  readonly started?: object | 'never'
  /** The answer to `tasks/result`; none, when left out. */
  readonly result?: object
  /** Refuses `tasks/cancel`. */
  readonly keepsTasks?: boolean
  /** Progress is reported this often, in milliseconds, for the call that starts the task. */
  readonly progressEveryMs?: number
  readonly status?: object
  /** How long `tools/call` takes. */
  readonly startMs?: number
}

/** A hand-written server in this process whose only tool runs as a task; `seen` are its requests by method. */
async function taskBoard(given: TaskServer = {}, taskSupport: unknown = 'required') {
  const seen: { method: string; params: Record<string, unknown> }[] = []
  const timers: NodeJS.Timeout[] = []
  const serve: NonNullable<BoardOptions['inProcess']>[string] = (end) => {
    const say = (message: object) => void end.send({ jsonrpc: '2.0', ...message } as never)
    const answers: Readonly<Record<string, (params: Record<string, unknown>) => object | undefined>> = {
      initialize: () => ({
        protocolVersion: '2025-11-25',
        capabilities: { tools: {}, tasks: { requests: { tools: { call: {} } } } },
        serverInfo: { name: 'tasks', version: '1' },
      }),
      'tools/list': () => ({
        tools: [{ name: 'slow', inputSchema: { type: 'object' }, execution: { taskSupport } }],
      }),
      'tools/call': (params) => {
        const meta = params['_meta'] as { progressToken?: unknown } | undefined
        if (given.progressEveryMs !== undefined)
          timers.push(
            setInterval(
              () =>
                say({
                  method: 'notifications/progress',
                  params: { progressToken: meta?.progressToken, progress: timers.length },
                }),
              given.progressEveryMs,
            ),
          )
        return given.started === 'never' ? undefined : (given.started ?? { task: { taskId: 'task-1' } })
      },
      'tasks/result': () => given.result,
      'tasks/get': () => given.status ?? { taskId: 'task-1', status: 'working' },
      'tasks/cancel': () => (given.keepsTasks ? undefined : { taskId: 'task-1', status: 'cancelled' }),
    }
    end.onmessage = (message) => {
      const { id, method, params = {} } = message as { id?: number; method?: string; params?: never }
      if (id === undefined || method === undefined) return
      seen.push({ method, params })
      if (method === 'tasks/cancel' && given.keepsTasks)
        return say({ id, error: { code: -32602, message: 'cannot be cancelled' } })
      const answer = answers[method]
      const result = answer?.(params)
      if (!answer) say({ id, error: { code: -32601, message: 'no' } })
      else if (result && method === 'tools/call') setTimeout(() => say({ id, result }), given.startMs ?? 0)
      else if (result) say({ id, result })
    }
    void end.start()
  }
  const made = await board({ servers: [], caller: 'user', inProcess: { s: serve } })
  await made.ready()
  const methods = () => seen.map(({ method }) => method).filter((name) => /^tasks\/|^tools\/call/.test(name))
  return { made, seen, methods, stop: () => timers.forEach(clearInterval) }
}

const call = (made: LocalBoard, context: Parameters<LocalBoard['call']>[2] = {}) =>
  made.call('s.slow', { a: 1 }, context)

describe('a call that runs as a task', () => {
  it('returns the result of the task, and leaves it alone', async () => {
    const { made, seen, methods } = await taskBoard({ result: { content: [{ type: 'text', text: 'done' }] } })
    expect((await call(made)).content).toMatchObject([{ type: 'text', text: 'done' }])
    expect(methods()).toEqual(['tools/call', 'tasks/result'])
    expect(seen.find(({ method }) => method === 'tools/call')?.params).toMatchObject({
      name: 'slow',
      arguments: { a: 1 },
      task: { ttl: 3_600_000 },
    })
    expect(seen.find(({ method }) => method === 'tasks/result')?.params).toMatchObject({ taskId: 'task-1' })
  })

  it('returns at once what the server answered without a task', async () => {
    const { made, methods } = await taskBoard({ started: { content: [{ type: 'text', text: 'at once' }] } })
    expect((await call(made)).content).toMatchObject([{ text: 'at once' }])
    expect(methods()).toEqual(['tools/call'])
  })

  it.each(['optional', 'forbidden', null])('is an ordinary call where it is %s', async (support) => {
    const { made, seen } = await taskBoard({ started: { content: [] } }, support)
    await call(made)
    expect(seen.find(({ method }) => method === 'tools/call')?.params).not.toHaveProperty('task')
  })

  it('is sent as a task where the tool may run as one and the caller can leave it', async () => {
    const { made, methods } = await taskBoard({ result: { content: [] } }, 'optional')
    await call(made, { detachable: true })
    expect(methods()).toEqual(['tools/call', 'tasks/result'])
  })

  it('goes on without a caller that may leave it', async () => {
    const { made, methods } = await taskBoard()
    const stop = new AbortController()
    const running = call(made, { signal: stop.signal, detachable: true })
    await until('the result is waited for', () => methods().includes('tasks/result'))
    stop.abort()
    await expect(running).rejects.toMatchObject({ code: 'CANCELLED' })
    await made.ping('s').catch(() => undefined)
    expect(methods()).not.toContain('tasks/cancel')
  })

  it('is an error where the task has no id', async () => {
    const { made } = await taskBoard({ started: { task: { status: 'working' } } })
    await expect(call(made)).rejects.toThrow('started a task without an id')
  })

  it('reports what the server says about the task', async () => {
    const { made } = await taskBoard({ status: { status: 'working', statusMessage: 'half way' } })
    const told: unknown[] = []
    const stop = new AbortController()
    const running = call(made, { signal: stop.signal, onProgress: (progress) => told.push(progress) })
    await until('the status was told', () => told.length > 1)
    stop.abort()
    await expect(running).rejects.toMatchObject({ code: 'CANCELLED' })
    expect(told).toMatchObject([
      { progress: 0, task: { taskId: 'task-1', status: 'working' } },
      { progress: 1, message: 'half way', task: { taskId: 'task-1', statusMessage: 'half way' } },
    ])
  })
})

describe('the time limit of a call that runs as a task', () => {
  it.each([
    ['totalMs', { totalMs: 400 }],
    ['timeoutMs', { timeoutMs: 400 }],
    ['both', { timeoutMs: 400, totalMs: 400 }],
    ['a total below the timeout', { timeoutMs: 60_000, totalMs: 400 }],
  ])('(%s) ends it and cancels the task', async (_, limits) => {
    const { made, methods, seen } = await taskBoard()
    await expect(call(made, limits)).rejects.toMatchObject({
      code: 'TIMEOUT',
      message: expect.stringMatching(/^"s" did not finish slow within \d+ ms; its task was cancelled\.$/),
    })
    expect(methods()).toEqual(['tools/call', 'tasks/result', 'tasks/cancel'])
    expect(seen.at(-1)?.params).toMatchObject({ taskId: 'task-1' })
  })

  it('says that the task may still run where the server does not cancel it', async () => {
    const { made } = await taskBoard({ keepsTasks: true })
    await expect(call(made, { totalMs: 300 })).rejects.toThrow('its task could not be cancelled')
  })

  it('holds for the start too, however much progress is reported', async () => {
    const { made, methods, stop } = await taskBoard({ started: 'never', progressEveryMs: 50 })
    await expect(call(made, { timeoutMs: 300, totalMs: 900 })).rejects.toMatchObject({ code: 'TIMEOUT' })
    stop()
    expect(methods()).toEqual(['tools/call'])
  })

  it('is one for the start and the result together', async () => {
    const { made } = await taskBoard({ startMs: 1200 })
    const refused = call(made, { totalMs: 2000, timeoutMs: 60_000 })
    const { message } = await refused.then(
      () => new Error('it ended'),
      (error: Error) => error,
    )
    // Two limits, one for each request, would end it after 3,200 ms at the earliest.
    const afterMs = Number(/within (\d+) ms/.exec(message)?.[1])
    expect(afterMs).toBeGreaterThanOrEqual(1990)
    expect(afterMs).toBeLessThan(3200)
  })

  it('cancels the task when the caller gives up, and passes that on', async () => {
    const { made, methods } = await taskBoard()
    const stop = new AbortController()
    const running = call(made, { signal: stop.signal })
    await until('the result is waited for', () => methods().includes('tasks/result'))
    stop.abort()
    await expect(running).rejects.toMatchObject({ code: 'CANCELLED' })
    await until('the task is cancelled', () => methods().includes('tasks/cancel'))
  })
})
