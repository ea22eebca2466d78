// What the gateway passes on in the four combinations of eras, between SDK clients and real server processes. The result
// is the table in docs/gateway.md: UPDATE_DOCS=1 writes it, and without that a table that says otherwise fails.
import { readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import type { Client } from '@modelcontextprotocol/client'
import { describe, expect, it } from 'vitest'
import {
  connect,
  firstText,
  folder,
  makeGateway,
  modernRequest,
  rawRequest,
  seenIn,
  serve,
  stdio,
  until,
  upstream,
} from './fixtures/kit.ts'

const ERAS = ['legacy', 'modern'] as const
const VERSIONS = { legacy: '2025-11-25', modern: '2026-07-28' } as const
const COMBINATIONS = ERAS.flatMap((client) => ERAS.map((server) => ({ client, server })))
const PAGE = fileURLToPath(new URL('../../../docs/gateway.md', import.meta.url))
const PROBE_MS = 15_000
const NOTE = 'plugboard://one/test://note'
const BEARER = 'only-one-client-has-this'

interface Scene {
  readonly client: Client
  readonly era: (typeof ERAS)[number]
  /** The notifications that the client received. */
  readonly heard: string[]
  readonly seen: () => string
  call(tool: string, args?: object, options?: Parameters<Client['callTool']>[1]): Promise<string>
  /** A call that becomes a task, in the form of the client's era; its id. */
  startTask(args: { readonly ask?: true; readonly forever?: true }): Promise<unknown>
  task(method: string, taskId: unknown, more?: object): Promise<Record<string, unknown>>
  /** Answers what the task asks, and returns the text of its result, or its status. */
  endTask(taskId: unknown): Promise<string>
}

/** One row each: what it is, and how to see that it passes. A probe that fails says what it saw instead. */
const PROBES: Readonly<Record<string, (scene: Scene) => Promise<void>>> = {
  'elicitation, form': async ({ call }) => expect(await call('ask')).toBe('accept Ada'),
  'elicitation, URL': async ({ call, heard }) => {
    expect(await call('visit')).toBe('accept')
    expect(heard).toContain('https://example.com/login')
  },
  sampling: async ({ call }) => expect(await call('sample')).toBe('small hi'),
  roots: async ({ call }) => expect(await call('where')).toBe('file:///work/of/ada'),
  'questions of two calls at once': async ({ call }) => {
    const answers = await Promise.all([call('ask'), call('sample')])
    expect(answers).toEqual(['accept Ada', 'small hi'])
  },
  progress: async ({ call }) => {
    const steps: (string | undefined)[] = []
    await call('work', { ms: 1 }, { onprogress: ({ message }) => steps.push(message) })
    expect(steps).toEqual(['step 1', 'step 2'])
  },
  cancellation: async ({ call, seen }) => {
    const stop = new AbortController()
    const steps: unknown[] = []
    const options = { signal: stop.signal, onprogress: (step: unknown) => steps.push(step) }
    const work = call('work', { ms: PROBE_MS }, options).catch(() => 'gone')
    await until(() => steps.length > 0)
    stop.abort()
    expect(await work).toBe('gone')
    await until(() => seen().includes('cancelled'))
  },
  'subscriptions (resources/updated)': async ({ client, era, call, heard }) => {
    if (era === 'legacy') await client.subscribeResource({ uri: NOTE })
    else await client.listen({ resourceSubscriptions: [NOTE] })
    await call('touch')
    await until(() => heard.includes(NOTE))
  },
  list_changed: async ({ client, era, call, heard }) => {
    if (era === 'modern') await client.listen({ toolsListChanged: true })
    await call('grow')
    await until(() => heard.includes('tools'))
    await until(async () => (await client.listTools()).tools.some(({ name }) => name === 'mcp__one__grown'))
  },
  logging: async ({ client, era, heard }) => {
    if (era === 'legacy') await client.setLoggingLevel('info')
    await client.callTool({
      name: 'mcp__one__note',
      arguments: { text: 'careful' },
      _meta: era === 'modern' ? { 'io.modelcontextprotocol/logLevel': 'info' } : {},
    })
    await until(() => heard.includes('careful'))
  },
  'tasks, with a question inside': async ({ startTask, endTask }) =>
    expect(await endTask(await startTask({ ask: true }))).toContain('Ada'),
  'cancellation of a task': async ({ startTask, endTask, task }) => {
    const id = await startTask({ forever: true })
    await task('tasks/cancel', id)
    expect(await endTask(id).catch(() => 'cancelled')).toBe('cancelled')
  },
  completion: async ({ client }) => {
    const { completion } = await client.complete({
      ref: { type: 'ref/prompt', name: 'mcp__one__greet' },
      argument: { name: 'name', value: 'a' },
    })
    expect(completion.values).toEqual(['ada', 'alan'])
  },
}

const found = new Map<string, string[]>(Object.keys(PROBES).map((row) => [row, []]))

// The table is made of the results of the probes before it.
describe('the gateway between the eras', { shuffle: false }, () => {
  it.each(COMBINATIONS)(
    'probes a $client client in front of a $server server',
    async ({ client: era, server }) => {
      const scene = await setUp(era, server)
      for (const [row, probe] of Object.entries(PROBES)) found.get(row)?.push(await outcome(probe(scene)))
    },
    90_000,
  )

  it('finds what the table in docs/gateway.md says', () => {
    for (const cells of found.values()) expect(cells).toHaveLength(COMBINATIONS.length)
    const page = readFileSync(PAGE, 'utf8')
    const [before, rest = ''] = page.split('<!-- eras -->\n')
    const [table = '', after] = rest.split('<!-- end of eras -->')
    const made = tableOf(found)
    if (process.env['UPDATE_DOCS'])
      return writeFileSync(PAGE, `${before}<!-- eras -->\n\n${made}\n\n<!-- end of eras -->${after}`)
    expect(table.trim()).toBe(made)
  })
})

async function setUp(era: Scene['era'], server: Scene['era']): Promise<Scene> {
  const dir = folder()
  const gateway = await makeGateway([upstream('one', server, dir), jobs(server)])
  await gateway.wake(15_000)
  expect(gateway.board.link.connection('one').state).toMatchObject({ session: { era: server } })
  const { url } = await serve(gateway, [{ token: BEARER, exposure: gateway.expose }])
  const heard: string[] = []
  const client = await connect(url, {
    era,
    token: BEARER,
    capabilities: { elicitation: { form: {}, url: {} }, sampling: {}, roots: {} },
    prepare: (one) => answerAndListen(one, heard),
  })
  expect(client.getProtocolEra()).toBe(era)
  const call: Scene['call'] = async (tool, args = {}, options) =>
    firstText(await client.callTool({ name: `mcp__one__${tool}`, arguments: { ...args } }, options))
  return { client, era, heard, seen: () => seenIn(dir), call, ...tasksOf(client, era, url, server) }
}

/** A server of the era whose calls become tasks. */
function jobs(server: Scene['era']) {
  const file = server === 'modern' ? 'suite.mjs' : 'legacy-tasks.mjs'
  return stdio('jobs', [fileURLToPath(new URL(`./fixtures/${file}`, import.meta.url))])
}

function tasksOf(client: Client, era: Scene['era'], url: string, server: Scene['era']) {
  const capabilities = { elicitation: {}, extensions: { 'io.modelcontextprotocol/tasks': {} } }
  const send = (method: string, params: Record<string, unknown>) =>
    era === 'modern'
      ? modernRequest(url, method, params, { token: BEARER, capabilities })
      : rawRequest(client, method, params)
  const task: Scene['task'] = (method, taskId, more) => send(method, { taskId, ...more })
  const startTask: Scene['startTask'] = async (args) => {
    const { ask, forever } = args
    const own = ask ? ['confirm_delete', { filename: 'a' }] : ['slow_compute', { seconds: 60 }]
    const [name, given] = server === 'modern' ? own : ['job', { ask, forever }]
    const params = { name: `mcp__jobs__${name}`, arguments: given, ...(era === 'legacy' && { task: {} }) }
    const created = await send('tools/call', params)
    // 2025-11-25 has the task inside the result.
    return ((created['task'] as Record<string, unknown> | undefined) ?? created)['taskId']
  }
  const endTask: Scene['endTask'] = async (taskId) => {
    if (era === 'legacy') return firstText(await task('tasks/result', taskId))
    let found: Record<string, unknown> = {}
    const polled = async (...statuses: readonly string[]) => {
      await until(async () => {
        found = await task('tasks/get', taskId)
        return statuses.includes(String(found['status']))
      })
      return found
    }
    const { status, inputRequests } = await polled('input_required', 'completed', 'cancelled')
    if (status === 'cancelled') return 'cancelled'
    const answers = Object.keys(inputRequests ?? {}).map((key) => [
      key,
      { action: 'accept', content: { name: 'Ada' } },
    ])
    await task('tasks/update', taskId, { inputResponses: Object.fromEntries(answers) })
    return firstText((await polled('completed'))['result'] as object)
  }
  return { startTask, task, endTask }
}

function answerAndListen(client: Client, heard: string[]): void {
  client.setRequestHandler('elicitation/create', async ({ params }) => {
    if (params.mode === 'url') heard.push(params.url)
    return params.mode === 'url' ? { action: 'accept' } : { action: 'accept', content: { name: 'Ada' } }
  })
  client.setRequestHandler('sampling/createMessage', async () => ({
    role: 'assistant',
    model: 'small',
    content: { type: 'text', text: 'hi' },
  }))
  client.setRequestHandler('roots/list', async () => ({ roots: [{ uri: 'file:///work/of/ada' }] }))
  client.setNotificationHandler('notifications/tools/list_changed', () => void heard.push('tools'))
  client.setNotificationHandler(
    'notifications/resources/updated',
    ({ params }) => void heard.push(params.uri),
  )
  client.setNotificationHandler('notifications/message', ({ params }) => void heard.push(String(params.data)))
}

async function outcome(probe: Promise<void>): Promise<string> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<string>((done) => {
    timer = setTimeout(() => done('no: it did not end'), PROBE_MS)
  })
  const seen = probe.then(
    () => 'yes',
    (error: Error) => `no: ${error.message.split('\n', 1)[0]}`,
  )
  return await Promise.race([seen, late]).finally(() => clearTimeout(timer))
}

function tableOf(rows: ReadonlyMap<string, readonly string[]>): string {
  const head = COMBINATIONS.map(({ client, server }) => `${VERSIONS[client]} → ${VERSIONS[server]}`)
  const lines = [['client → server', ...head], ...[...rows].map(([row, cells]) => [row, ...cells])]
  const widths = head.concat('').map((_, at) => Math.max(...lines.map((cells) => cells[at]?.length ?? 0)))
  const line = (cells: readonly string[], fill = ' ') =>
    `| ${cells.map((cell, at) => cell.padEnd(widths[at] ?? 0, fill)).join(' | ')} |`
  const [first = [], ...others] = lines
  return [
    line(first),
    line(
      first.map(() => '---'),
      '-',
    ),
    ...others.map((cells) => line(cells)),
  ].join('\n')
}
