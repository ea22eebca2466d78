// What a server says about itself and its tasks, read with caution, and its questions: case by case, without a wire.
import { describe, expect, it } from 'vitest'
import { retimed } from '../fixtures/timers.ts'
import { systemHost } from '../host.ts'
import { CALL_LIMITS, DEFINITION_LIMITS, INTERACTION_LIMITS, TASK_LIMITS } from '../limits.ts'
import { withRequestedSchema } from './older-elicitation.ts'
import { JsonRpcError } from './request-errors.ts'
import { type Json, META, parseCapabilities, parseDiscovery, parseServerInfo, RPC } from './server-info.ts'
import { capabilitiesOf, type RequestHandlers, ServerRequests } from './server-requests.ts'
import { followTask, type TaskFollowing } from './task-polling.ts'
import { inputRequestsOf, isTerminal, pollDelay, readTask } from './task-state.ts'
import { parseTool } from './tool-definition.ts'

describe('a discovery', () => {
  const whole = { supportedVersions: ['2026-07-28'], capabilities: {} }
  it.each<[unknown, unknown]>([
    [undefined, undefined],
    ['x', undefined],
    [{ capabilities: {} }, undefined],
    [{ ...whole, supportedVersions: ['2026-07-28', 7] }, undefined],
    [{ ...whole, supportedVersions: '2026-07-28' }, undefined],
    [{ ...whole, capabilities: undefined }, undefined],
    [{ ...whole, capabilities: 'all' }, undefined],
    [whole, whole],
    [{ ...whole, instructions: 7, ttlMs: -1, _meta: 7 }, whole],
    [{ ...whole, ttlMs: '5' }, whole],
    [
      { ...whole, instructions: 'i', ttlMs: 0, _meta: { [META.serverInfo]: { name: 'n' } } },
      { ...whole, instructions: 'i', ttlMs: 0, serverInfo: { name: 'n' } },
    ],
  ])('%j is %j', (value, found) => expect(parseDiscovery(value)).toEqual(found))

  it('has the capabilities that are objects, and a server with a name', () => {
    expect(parseCapabilities({ tools: {}, prompts: true, logging: null })).toEqual({ tools: {} })
    expect(parseCapabilities(undefined)).toEqual({})
    expect(parseServerInfo({ name: 'n', version: 7, title: 't' })).toEqual({ name: 'n', title: 't' })
    expect([parseServerInfo({ name: 7 }), parseServerInfo('n')]).toEqual([undefined, undefined])
  })
})

describe('a task', () => {
  const id = 'x'.repeat(TASK_LIMITS.idChars)
  it.each<[unknown, unknown]>([
    [undefined, undefined],
    [{ status: 'working' }, undefined],
    [{ taskId: '' }, undefined],
    [{ taskId: `${id}x` }, undefined],
    [
      { taskId: id, status: 'completed' },
      { taskId: id, status: 'completed' },
    ],
    [
      { taskId: 't', status: 'dancing', statusMessage: 7 },
      { taskId: 't', status: 'working' },
    ],
    [
      { taskId: 't', status: 'failed', ttl: 1.5, pollInterval: 2 },
      { taskId: 't', status: 'failed', ttlMs: 2, pollIntervalMs: 2 },
    ],
    [
      { taskId: 't', status: 'failed', ttlMs: 3, ttl: 4, pollIntervalMs: 5, pollInterval: 6 },
      { taskId: 't', status: 'failed', ttlMs: 3, pollIntervalMs: 5 },
    ],
    [
      { taskId: 't', status: 'working', ttlMs: 0, pollIntervalMs: Number.POSITIVE_INFINITY },
      { taskId: 't', status: 'working' },
    ],
  ])('of %j is %j', (value, task) => expect(readTask(value)).toEqual(task))

  it('is polled within bounds, and less and less often where the server names no interval', () => {
    const every = (pollIntervalMs: number) => pollDelay({ pollIntervalMs }, 9)
    expect([every(1), every(5000), every(1e9)]).toEqual([TASK_LIMITS.pollMinMs, 5000, TASK_LIMITS.pollMaxMs])
    expect([0, 1, 2, 30].map((polls) => pollDelay({}, polls))).toEqual([100, 200, 400, TASK_LIMITS.pollMs])
    expect(
      ['completed', 'failed', 'cancelled', 'working', 'input_required'].map((status) =>
        isTerminal({ status } as never),
      ),
    ).toEqual([true, true, true, false, false])
    expect([inputRequestsOf({ inputRequests: { a: 1 } }), inputRequestsOf({ inputRequests: 7 })]).toEqual([
      { a: 1 },
      {},
    ])
  })
})

describe('following a task', () => {
  type Answer = Json | Error | (() => Json | Promise<Json>)
  /** The answers to `tasks/get` in turn, the last one again and again. */
  function followed(
    answers: readonly Answer[],
    more: Partial<TaskFollowing> = {},
    created: Json = { taskId: 't', status: 'working' },
  ) {
    const asked: [string, Json][] = []
    const told: unknown[] = []
    const questions: Json[] = []
    let at = 0
    const port = {
      host: retimed(systemHost(), () => 0),
      server: 's',
      request: async (method: string, params: Json): Promise<Json> => {
        asked.push([method, params])
        if (method !== 'tasks/get') return {}
        const answer = answers[Math.min(at++, answers.length - 1)] ?? {}
        if (answer instanceof Error) throw answer
        return typeof answer === 'function' ? answer() : answer
      },
      answerInputs: async (inputs: Json) => {
        questions.push(inputs)
        return { answered: Object.keys(inputs) }
      },
    }
    const onProgress: TaskFollowing['onProgress'] = ({ progress, message }) =>
      void told.push([progress, message])
    const outcome = followTask(port, created, { name: 'tool', wholeMs: 60_000, onProgress, ...more })
    outcome.catch(() => undefined)
    const count = (method: string) => asked.filter(([one]) => one === method).length
    return { outcome, asked, told, questions, count }
  }
  const working = { taskId: 't', status: 'working' }
  const done = { taskId: 't', status: 'completed', result: { content: [] } }
  const rpc = (code: number) => new JsonRpcError(code, 'no')

  it('ends with its result, and tells each change once', async () => {
    const { outcome, told, asked } = followed([
      working,
      { ...working, statusMessage: 'half' },
      { ...working, statusMessage: 'half' },
      done,
    ])
    expect(await outcome).toEqual({ content: [] })
    expect(told).toEqual([
      [0, undefined],
      [1, 'half'],
      [2, undefined],
    ])
    expect(asked[0]).toEqual(['tasks/get', { taskId: 't' }])
    const over = followed([done], {}, { taskId: 't', status: 'completed' })
    expect(await over.outcome).toEqual({ content: [] })
    expect(over.count('tasks/get')).toBe(1)
  })

  it.each<[string, Answer, object]>([
    [
      'another task',
      { taskId: 'other', status: 'working' },
      { message: expect.stringContaining('not the task') },
    ],
    ['no task', { status: 'working' }, { message: expect.stringContaining('not the task') }],
    [
      'no result',
      { taskId: 't', status: 'completed' },
      { message: expect.stringContaining('sent no result') },
    ],
    ['a cancellation', { taskId: 't', status: 'cancelled' }, { message: 'The server cancelled the task.' }],
    [
      'one with a reason',
      { taskId: 't', status: 'cancelled', statusMessage: 'why' },
      { message: 'The server cancelled the task: why' },
    ],
    [
      'an error',
      { taskId: 't', status: 'failed', error: { code: -7, message: 'm', data: 1 } },
      { code: -7, message: 'm', data: 1 },
    ],
    [
      'a failure with words',
      { taskId: 't', status: 'failed', statusMessage: 'why' },
      { code: RPC.internal, message: 'why' },
    ],
    [
      'a failure',
      { taskId: 't', status: 'failed', error: 7 },
      { message: expect.stringContaining('did not say why') },
    ],
    ['a task that is unknown', rpc(RPC.invalidParams), { code: 'OUTCOME_UNKNOWN' }],
    [
      'one that is unknown behind an error of ours',
      new Error('x', { cause: rpc(RPC.invalidParams) }),
      { code: 'OUTCOME_UNKNOWN' },
    ],
    ['a refusal', rpc(RPC.internal), { code: RPC.internal }],
  ])('fails for %s', async (_, answer, error) => {
    const { outcome, count } = followed([answer])
    await expect(outcome).rejects.toMatchObject(error)
    expect([count('tasks/get'), count('tasks/cancel')]).toEqual([1, 0])
  })

  it('survives polls that fail, up to so many in a row', async () => {
    const lost = new Error('lost')
    const most = TASK_LIMITS.failedPolls
    const some = followed([
      ...Array<Error>(most - 1).fill(lost),
      working,
      ...Array<Error>(most - 1).fill(lost),
      done,
    ])
    expect(await some.outcome).toEqual({ content: [] })
    const all = followed([lost])
    await expect(all.outcome).rejects.toBe(lost)
    expect(all.count('tasks/get')).toBe(most)
  })

  it('asks each question once, and not more of them than calls may have', async () => {
    const asking = (...keys: string[]) => ({
      taskId: 't',
      status: 'input_required',
      inputRequests: Object.fromEntries(keys.map((key) => [key, {}])),
    })
    const { outcome, questions, asked, count } = followed([
      asking('a'),
      asking('a'),
      asking('a', 'b'),
      asking(),
      done,
    ])
    expect(await outcome).toEqual({ content: [] })
    expect(questions).toEqual([{ a: {} }, { b: {} }])
    expect(count('tasks/update')).toBe(2)
    expect(asked.find(([method]) => method === 'tasks/update')).toEqual([
      'tasks/update',
      { taskId: 't', inputResponses: { answered: ['a'] } },
    ])
    const most = CALL_LIMITS.inputRounds * CALL_LIMITS.inputsPerRound
    const names = (length: number) => Array.from({ length }, (_, at) => `q${at}`)
    expect(await followed([asking(...names(most)), done]).outcome).toEqual({ content: [] })
    await expect(followed([asking(...names(most + 1)), done]).outcome).rejects.toThrow(
      `more than ${most} times`,
    )
  })

  it('is cancelled when its time is over or the caller gives up, unless it may go on', async () => {
    const late = followed([working], { wholeMs: 0 })
    await expect(late.outcome).rejects.toThrow(/did not finish tool within \d+ ms; its task was cancelled/)
    expect([late.count('tasks/get'), late.count('tasks/cancel')]).toEqual([0, 1])
    const left = followed([working], { wholeMs: 0, detachable: 'always' })
    await expect(left.outcome).rejects.toThrow('its task goes on')
    expect(left.count('tasks/cancel')).toBe(0)
    for (const [detachable, cancels] of [
      [undefined, 1],
      [true, 0],
    ] as const) {
      const stop = new AbortController()
      const aborting = () => {
        stop.abort()
        return working
      }
      const given = followed([aborting], { signal: stop.signal, detachable })
      await expect(given.outcome).rejects.toThrow()
      expect([given.count('tasks/get'), given.count('tasks/cancel')]).toEqual([1, cancels])
    }
    const stop = new AbortController()
    const during = followed(
      [
        () => {
          stop.abort()
          throw new Error('mine')
        },
      ],
      { signal: stop.signal },
    )
    await expect(during.outcome).rejects.toThrow('mine')
    expect(during.count('tasks/get')).toBe(1)
  })

  it('is nothing without an id', async () => {
    await expect(followed([working], {}, { status: 'working' }).outcome).rejects.toThrow(
      'without a usable id',
    )
  })
})

describe('a question of a server', () => {
  const signal = new AbortController().signal
  function asked(handlers: RequestHandlers) {
    const refused: string[] = []
    const requests = new ServerRequests({
      server: 's',
      handlers,
      onRefused: (text) => void refused.push(text),
    })
    return { requests, refused }
  }
  const yes = () => ({ action: 'accept' })

  it('is announced exactly where there is who answers it', () => {
    expect(capabilitiesOf({})).toEqual({})
    expect(capabilitiesOf({ elicitForm: yes })).toEqual({ elicitation: { form: {} } })
    expect(capabilitiesOf({ elicitUrl: yes, sampling: yes, extensions: {} })).toEqual({
      elicitation: { url: {} },
      sampling: {},
    })
    expect(capabilitiesOf({ sampling: yes, samplingTools: true, roots: yes, extensions: { e: {} } })).toEqual(
      {
        sampling: { tools: {} },
        roots: { listChanged: true },
        extensions: { e: {} },
      },
    )
  })

  it('is answered by its handler, or refused with the reason', async () => {
    const { requests, refused } = asked({ elicitForm: yes, roots: () => ({ roots: [] }) })
    expect(await requests.answer('ping', {}, signal)).toEqual({})
    expect(await requests.answer('roots/list', {}, signal)).toEqual({ roots: [] })
    expect(await requests.answer('elicitation/create', {}, signal)).toEqual({ action: 'accept' })
    await expect(requests.answer('elicitation/create', { mode: 'url' }, signal)).rejects.toMatchObject({
      code: RPC.invalidParams,
    })
    for (const method of ['sampling/createMessage', 'other'])
      await expect(requests.answer(method, {}, signal)).rejects.toMatchObject({ code: RPC.methodNotFound })
    await expect(asked({}).requests.answer('elicitation/create', {}, signal)).rejects.toMatchObject({
      code: RPC.methodNotFound,
    })
    expect(refused).toEqual([])
    expect([asked({ together: true }).requests.together, requests.together]).toEqual([true, false])
  })

  it('that fails is told, except one that was withdrawn', async () => {
    const { requests, refused } = asked({
      sampling: () => {
        throw new Error('why')
      },
      roots: () => {
        throw 'words'
      },
    })
    await expect(requests.answer('sampling/createMessage', {}, signal)).rejects.toThrow('why')
    await expect(requests.answer('roots/list', {}, signal)).rejects.toBe('words')
    await expect(requests.answer('roots/list', {}, AbortSignal.abort())).rejects.toBe('words')
    expect(refused).toEqual([
      'Its question (sampling/createMessage) got no answer: why',
      'Its question (roots/list) got no answer: words',
    ])
  })

  it('of the older kind has as many buttons as a form has options, each of them a choice', () => {
    const choice = (buttons: unknown) =>
      (withRequestedSchema({ buttons })['requestedSchema'] as { properties: Json }).properties['button']
    const many = Array.from({ length: INTERACTION_LIMITS.formOptions }, (_, at) => `b${at}`)
    expect([choice(many) !== null, choice([...many, 'more']), choice([]), choice(['a', 7])]).toEqual([
      true,
      null,
      null,
      null,
    ])
  })
})

it('a tool may have a name as long as the limit', () => {
  const named = (length: number) => parseTool({ name: 'x'.repeat(length), inputSchema: {} }, () => undefined)
  expect(named(DEFINITION_LIMITS.nameChars)).toBeTypeOf('object')
  expect(named(DEFINITION_LIMITS.nameChars + 1)).toContain('name is longer')
})
