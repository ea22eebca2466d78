// Tasks towards clients of both eras, over servers of both: each client sees the form of its own era, and its own tasks only.
import { fileURLToPath } from 'node:url'
import type { Client } from '@modelcontextprotocol/client'
import { describe, expect, it } from 'vitest'
import { EVERYTHING } from '../access/exposure.ts'
import {
  connect,
  firstText,
  makeGateway,
  modernListen,
  modernRequest,
  rawRequest,
  serve,
  stdio,
  until,
} from '../fixtures/kit.ts'

type Json = Record<string, unknown>
const TASKS = { extensions: { 'io.modelcontextprotocol/tasks': {} } }
const CAPABILITIES = { elicitation: { form: {} }, ...TASKS }

const fixture = (file: string) => fileURLToPath(new URL(`../fixtures/${file}`, import.meta.url))
const modern = () => stdio('m', [fixture('suite.mjs')])
const legacy = (support = 'required') => stdio('l', [fixture('legacy-tasks.mjs')], { SUPPORT: support })

async function endpoint(servers = [modern(), legacy()]) {
  const gateway = await makeGateway(servers)
  await gateway.wake(30_000)
  const grants = ['ann', 'bob'].map((name) => ({ token: `the-token-of-${name}`, exposure: EVERYTHING }))
  const { url } = await serve(gateway, grants)
  const log = (name: string) => gateway.board.link.connection(name).log.tail()
  return { url, log }
}

/** A modern client that polls by hand. */
function modernClient(url: string, who = 'ann', capabilities: object = CAPABILITIES) {
  const token = `the-token-of-${who}`
  const send = (method: string, params: Json) => modernRequest(url, method, params, { token, capabilities })
  const get = (taskId: unknown) => send('tasks/get', { taskId })
  const reach = async (taskId: unknown, ...statuses: readonly string[]) => {
    let found: Json = {}
    await until(async () => {
      found = await get(taskId)
      return statuses.includes(String(found['status']))
    }, 20_000)
    return found
  }
  return { send, get, reach }
}

/** A client of 2025-11-25 that accepts every form. */
async function legacyClient(url: string, who = 'ann') {
  const asked: Json[] = []
  const client = await connect(url, {
    token: `the-token-of-${who}`,
    capabilities: { elicitation: {} },
    prepare: (made: Client) =>
      made.setRequestHandler('elicitation/create', async ({ params }) => {
        asked.push(params as Json)
        return { action: 'accept', content: { confirm: true } }
      }),
  })
  const send = (method: string, params: Json) => rawRequest(client, method, params)
  return { client, send, asked }
}

const JOBS = [
  ['modern', 'mcp__m__confirm_delete', { filename: 'a.txt' }],
  ['legacy', 'mcp__l__job', { ask: true }],
] as const

describe('a client of 2026-07-28', () => {
  it.each(JOBS)(
    'gets a task of a %s server, answers its question and gets the result',
    async (_, name, args) => {
      const { url } = await endpoint()
      const { send, reach } = modernClient(url)
      const created = await send('tools/call', { name, arguments: args })
      expect(created).toMatchObject({
        resultType: 'task',
        taskId: expect.any(String),
        ttlMs: expect.any(Number),
      })
      for (const member of ['task', 'result', 'error', 'inputRequests', 'ttl', 'pollInterval'])
        expect(created).not.toHaveProperty(member)
      const { taskId } = created
      const { inputRequests } = await reach(taskId, 'input_required')
      const [key = ''] = Object.keys(inputRequests as Json)
      expect((inputRequests as Json)[key]).toMatchObject({ method: 'elicitation/create' })
      const inputResponses = { [key]: { action: 'accept', content: { confirm: true } } }
      expect(await send('tasks/update', { taskId, inputResponses })).toMatchObject({ resultType: 'complete' })
      const { result } = await reach(taskId, 'completed')
      expect(firstText(result as Json)).toContain('"confirm":true')
      expect(JSON.stringify(result)).not.toContain('related-task')
    },
  )

  it('finds no task of another owner, and cannot change it', async () => {
    const { url } = await endpoint()
    const ann = modernClient(url, 'ann')
    const bob = modernClient(url, 'bob')
    const { taskId } = await ann.send('tools/call', {
      name: 'mcp__m__slow_compute',
      arguments: { seconds: 60 },
    })
    const unknown = { error: { code: -32602 } }
    expect(await bob.get(taskId)).toMatchObject(unknown)
    expect(await bob.send('tasks/cancel', { taskId })).toMatchObject(unknown)
    expect(await bob.send('tasks/update', { taskId, inputResponses: {} })).toMatchObject(unknown)
    expect(await ann.get(taskId)).toMatchObject({
      status: 'working',
      statusMessage: expect.stringContaining('computing'),
    })
    expect(await ann.send('tasks/cancel', { taskId })).toMatchObject({ resultType: 'complete' })
    expect(await ann.get(taskId)).toMatchObject({ status: 'cancelled' })
    const { send } = await legacyClient(url, 'ann')
    await expect(send('tasks/get', { taskId })).rejects.toMatchObject({ code: -32602 })
  })

  it('that declares no tasks waits for the result, or is told what it lacks', async () => {
    const { url } = await endpoint()
    const { send } = modernClient(url, 'ann', {})
    expect(firstText(await send('tools/call', { name: 'mcp__l__job', arguments: {} }))).toBe('done')
    const missing = { error: { code: -32021, data: { requiredCapabilities: TASKS } } }
    expect(await send('tools/call', { name: 'mcp__m__failing_job', arguments: {} })).toMatchObject(missing)
    for (const method of ['tasks/get', 'tasks/cancel'])
      expect(await send(method, { taskId: 'x' })).toMatchObject(missing)
    const listen = { notifications: { taskIds: ['x'] } }
    expect(await send('subscriptions/listen', listen)).toMatchObject(missing)
    for (const method of ['tasks/list', 'tasks/result'])
      expect(await modernClient(url).send(method, {})).toMatchObject({ error: { code: -32601 } })
  })

  it('that listens is told each state of its task once, and of no task of another owner', async () => {
    const { url } = await endpoint()
    const { send } = modernClient(url)
    const { taskId } = await send('tools/call', { name: 'mcp__l__job', arguments: { ask: true } })
    const listen = (who: string) =>
      modernListen(
        url,
        { taskIds: [taskId, 'x'] },
        { token: `the-token-of-${who}`, capabilities: CAPABILITIES },
      )
    const told = listen('ann')
    const foreign = listen('bob')
    await until(() => told.length > 0 && foreign.length > 0)
    const acknowledged = 'notifications/subscriptions/acknowledged'
    expect(told[0]).toMatchObject({ method: acknowledged, params: { notifications: { taskIds: [taskId] } } })
    expect(foreign[0]?.params).toMatchObject({ notifications: {} })
    await until(async () => (await send('tasks/get', { taskId }))['status'] === 'input_required', 20_000)
    const { inputRequests } = await send('tasks/get', { taskId })
    const [key = ''] = Object.keys(inputRequests as Json)
    const inputResponses = { [key]: { action: 'accept', content: { confirm: true } } }
    await send('tasks/update', { taskId, inputResponses })
    await until(() => told.at(-1)?.params?.['status'] === 'completed', 20_000)
    const last = told.at(-1)
    expect(last).toMatchObject({
      method: 'notifications/tasks',
      params: { taskId, ttlMs: expect.any(Number), result: { content: expect.any(Array) } },
    })
    // The same as a poll would have given.
    const { resultType, _meta: stamp, ...polled } = await send('tasks/get', { taskId })
    const { _meta, ...pushed } = last?.params ?? {}
    expect(pushed).toEqual(polled)
    expect(_meta).toBeDefined()
    const states = told
      .slice(1)
      .map(({ params }) => JSON.stringify([params?.['status'], params?.['statusMessage']]))
    for (const [at, state] of states.entries()) expect(state).not.toBe(states[at - 1])
    expect(JSON.stringify(foreign)).not.toContain(String(taskId))
  })

  it('cancels the task of the server with its own', async () => {
    const { url, log } = await endpoint([legacy()])
    const { send } = modernClient(url)
    const { taskId } = await send('tools/call', { name: 'mcp__l__job', arguments: { forever: true } })
    await send('tasks/cancel', { taskId })
    await until(() => log('l').some((line) => line.includes('cancelled own-1')))
  })
})

describe('a client of 2025-11-25', () => {
  it.each(JOBS)(
    'gets a task of a %s server, is asked on the way, and gets the result',
    async (_, name, args) => {
      const { url } = await endpoint()
      const { client, send, asked } = await legacyClient(url)
      expect(client.getServerCapabilities()).toMatchObject({
        tasks: { list: {}, cancel: {}, requests: { tools: { call: {} } } },
      })
      const { task } = (await send('tools/call', { name, arguments: args, task: { ttl: 30_000 } })) as {
        task: Json
      }
      const { taskId } = task
      expect(task).toMatchObject({ status: expect.stringMatching(/working|input_required/), ttl: 30_000 })
      expect(task).not.toHaveProperty('ttlMs')
      await until(async () => (await send('tasks/get', { taskId }))['status'] === 'input_required', 20_000)
      const result = await send('tasks/result', { taskId })
      expect(firstText(result)).toContain('"confirm":true')
      const related = { 'io.modelcontextprotocol/related-task': { taskId } }
      expect(result).toMatchObject({ _meta: related })
      expect(asked).toMatchObject([{ _meta: related }])
      expect(await send('tasks/get', { taskId })).toMatchObject({ taskId, status: 'completed' })
    },
  )

  it('is told the states of its task', async () => {
    const { url } = await endpoint()
    const { client, send } = await legacyClient(url)
    const told: Json[] = []
    client.fallbackNotificationHandler = async ({ method, params }) => {
      if (method === 'notifications/tasks/status') told.push(params as Json)
    }
    const { task } = (await send('tools/call', {
      name: 'mcp__l__job',
      arguments: { ask: true },
      task: {},
    })) as { task: Json }
    await send('tasks/result', { taskId: task['taskId'] })
    await until(() => told.some(({ status }) => status === 'completed'))
    expect(told.at(-1)).toMatchObject({ taskId: task['taskId'], ttl: expect.any(Number) })
    expect(told.map(({ status }) => status)).toContain('input_required')
  })

  it('lists its own tasks, and no others', async () => {
    const { url } = await endpoint()
    const [ann, bob] = [await legacyClient(url, 'ann'), await legacyClient(url, 'bob')]
    const name = 'mcp__m__slow_compute'
    const call = { name, arguments: { seconds: 60 }, task: {} }
    const { task } = (await ann.send('tools/call', call)) as { task: Json }
    const { taskId } = task
    expect(await ann.send('tasks/list', {})).toMatchObject({ tasks: [{ taskId }] })
    expect(await bob.send('tasks/list', {})).toEqual({ tasks: [] })
    for (const method of ['tasks/get', 'tasks/result', 'tasks/cancel'])
      await expect(bob.send(method, { taskId })).rejects.toMatchObject({ code: -32602 })
    expect(await ann.send('tasks/cancel', { taskId })).toMatchObject({ taskId, status: 'cancelled' })
    await expect(ann.send('tasks/cancel', { taskId })).rejects.toMatchObject({ code: -32602 })
    await expect(ann.send('tasks/result', { taskId })).rejects.toMatchObject({
      message: expect.stringContaining('cancelled'),
    })
  })

  it('sees which tools run as tasks, and may call them without one', async () => {
    const { url, log } = await endpoint([modern(), legacy('optional')])
    const { client, send } = await legacyClient(url)
    const { tools } = (await send('tools/list', {})) as { tools: { name: string; execution?: Json }[] }
    for (const name of ['mcp__l__job', 'mcp__m__slow_compute'])
      expect(tools.find((tool) => tool.name === name)?.execution).toEqual({ taskSupport: 'optional' })
    expect(firstText(await client.callTool({ name: 'mcp__l__job', arguments: {} }))).toBe('at once')
    expect(
      firstText(await client.callTool({ name: 'mcp__m__slow_compute', arguments: { label: 'x' } })),
    ).toBe('computed x')
    await expect(send('tools/call', { name: 'plugboard_nothing', arguments: {}, task: {} })).rejects.toThrow()
    await send('tools/call', { name: 'mcp__l__job', arguments: {}, task: {} })
    await until(() => log('l').some((line) => line.includes('called as a task')))
  })

  it('is told how a task failed', async () => {
    const { url } = await endpoint([modern()])
    const { send } = await legacyClient(url)
    const start = async (name: string) =>
      ((await send('tools/call', { name: `mcp__m__${name}`, arguments: {}, task: {} })) as { task: Json })
        .task['taskId']
    const broken = await start('protocol_error_job')
    await expect(send('tasks/result', { taskId: broken })).rejects.toMatchObject({
      code: -32603,
      message: expect.stringContaining('The job broke.'),
    })
    const failed = await start('failing_job')
    expect(await send('tasks/result', { taskId: failed })).toMatchObject({ isError: true })
    expect(await send('tasks/get', { taskId: failed })).toMatchObject({ status: 'failed' })
  })
})
