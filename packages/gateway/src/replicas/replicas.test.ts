// Several gateways that share one store, in one process, with clients whose every request goes to the next one. `npm run replicas` does
// the same with processes, nginx and Redis.
import { fileURLToPath } from 'node:url'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { describe, expect, it } from 'vitest'
import { legacySession, modern, rawSession } from '../../../../test/support/gateway.ts'
import {
  firstText,
  folder,
  makeGateway,
  modernListen,
  modernRequest,
  onEnd,
  seenIn,
  serve,
  stdio,
  until,
  upstream,
} from '../fixtures/kit.ts'
import type { Gateway, GatewayOptions, HttpHandle } from '../index.ts'
import { KeyRing } from '../parts.ts'
import { freshKey } from '../sealing/key-ring.ts'
import { MemoryStore } from '../store/memory-store.ts'
import { Replicas } from './replicas.ts'
import { SharedSpentIds } from './shared-spent-ids.ts'

const ADA = 'token-of-ada-0123456789'
const EVE = 'token-of-eve-0123456789'
const NOTE = 'plugboard://one/test://note'

interface Running {
  readonly store: MemoryStore
  readonly keys: KeyRing
  readonly all: readonly { readonly gateway: Gateway; readonly handle: HttpHandle; readonly dir: string }[]
}

async function running(
  count: number,
  era: 'legacy' | 'modern',
  servers = (dir: string) => [upstream('one', era, dir)],
  options: GatewayOptions = {},
): Promise<Running> {
  const store = new MemoryStore()
  const keys = new KeyRing([freshKey()])
  const all: Running['all'][number][] = []
  for (let n = 0; n < count; n++) {
    const dir = folder()
    const replicas = new Replicas(store, keys)
    const gateway = await makeGateway(servers(dir), {
      ...options,
      keys,
      replicas,
      spent: new SharedSpentIds(store),
    })
    await gateway.wake(20_000)
    const grants = [ADA, EVE].map((token) => ({ token, exposure: gateway.expose }))
    all.push({ gateway, handle: await serve(gateway, grants), dir })
  }
  await until(() => all.every(({ gateway }) => gateway.replicas?.peers().length === count - 1))
  return { store, keys, all }
}

/** Every request goes to the next replica. */
async function connectRoundRobin({ all }: Running, era: 'legacy' | 'modern', heard: string[] = []) {
  let next = 0
  const fetchNext = (address: string | URL, init?: RequestInit) => {
    const url = new URL(address)
    url.port = String(all[next++ % all.length]?.handle.port)
    return fetch(url, init)
  }
  const client = new Client(
    { name: 'test', version: '1' },
    {
      capabilities: { elicitation: { form: {} }, roots: {} },
      versionNegotiation: { mode: era === 'modern' ? 'auto' : 'legacy' },
    },
  )
  client.setRequestHandler('elicitation/create', async () => ({ action: 'accept', content: { name: 'Ada' } }))
  client.setRequestHandler('roots/list', async () => ({ roots: [{ uri: 'file:///ada' }] }))
  client.setNotificationHandler(
    'notifications/resources/updated',
    ({ params }) => void heard.push(params.uri),
  )
  client.setNotificationHandler('notifications/message', ({ params }) => void heard.push(String(params.data)))
  const requestInit = { headers: { Authorization: `Bearer ${ADA}` } }
  const url = new URL(all[0]?.handle.url ?? '')
  await client.connect(new StreamableHTTPClientTransport(url, { requestInit, fetch: fetchNext }))
  onEnd(() => client.close())
  return client
}

const PAIRS = (['legacy', 'modern'] as const).flatMap((client) =>
  (['legacy', 'modern'] as const).map((server) => ({ client, server })),
)

describe('a task', () => {
  const TASKS = { extensions: { 'io.modelcontextprotocol/tasks': {} }, elicitation: { form: {} } }
  const job = fileURLToPath(new URL('../fixtures/legacy-tasks.mjs', import.meta.url))

  it('of one replica is polled, answered, followed and cancelled at the other, by its owner alone', async () => {
    const { all } = await running(2, 'legacy', () => [stdio('l', [job], { SUPPORT: 'required' })])
    const [here, there] = all.map(({ handle }) => handle.url)
    const at = (url = '', method: string, params: Record<string, unknown>, token = ADA) =>
      modernRequest(url, method, params, { token, capabilities: TASKS })
    const start = async (args: object) =>
      (await at(here, 'tools/call', { name: 'mcp__l__job', arguments: args }))['taskId']
    const taskId = await start({ ask: true })
    const told = modernListen(there ?? '', { taskIds: [taskId] }, { token: ADA, capabilities: TASKS })
    await until(() => told.length > 0)
    expect(told[0]?.params).toMatchObject({ notifications: { taskIds: [taskId] } })
    let task: Record<string, unknown> = {}
    await until(async () => {
      task = await at(there, 'tasks/get', { taskId })
      return task['status'] === 'input_required'
    }, 20_000)
    expect(await at(there, 'tasks/get', { taskId }, EVE)).toMatchObject({ error: { code: -32602 } })
    const [key = ''] = Object.keys(task['inputRequests'] as object)
    const inputResponses = { [key]: { action: 'accept', content: { confirm: true } } }
    await at(there, 'tasks/update', { taskId, inputResponses })
    await until(() => told.some(({ params }) => params?.['status'] === 'completed'), 20_000)
    const other = await start({ forever: true })
    await at(there, 'tasks/cancel', { taskId: other })
    expect(await at(here, 'tasks/get', { taskId: other })).toMatchObject({ status: 'cancelled' })
  }, 60_000)
})

it('a large result of one replica is read at the other, in parts, by its owner alone', async () => {
  const tables = fileURLToPath(new URL('../fixtures/tables.mjs', import.meta.url))
  const cluster = await running(2, 'legacy', () => [stdio('t', [tables])], { mode: 'search' })
  const [here, there] = cluster.all.map(({ handle }) => handle.url)
  const read = (url = '', method: string, params: Record<string, unknown>, token = ADA) =>
    modernRequest(url, method, params, { token })
  const large = { name: 'mcp__t__rows', arguments: { count: 5000 } }
  const kept = await read(here, 'tools/call', { name: 'call_tool', arguments: large })
  const [uri = ''] = /plugboard:\/\/results\/[\w.-]+/.exec(JSON.stringify(kept)) ?? []
  expect(uri).toMatch(/results\/[0-9a-f]{12}\./)
  for (const url of [here, there]) {
    const part = await read(url, 'resources/read', { uri: `${uri}?range=1-1` })
    expect(part).toMatchObject({ contents: [{ text: expect.stringMatching(/./) }] })
    const called = await read(url, 'tools/call', {
      name: 'call_tool',
      arguments: { name: `${uri}?range=1-1` },
    })
    expect(called['isError']).not.toBe(true)
    expect(await read(url, 'resources/read', { uri }, EVE)).toHaveProperty('error')
  }
})

describe('replicas behind round robin', () => {
  it.each(PAIRS)(
    'a $client client in front of $server servers',
    async ({ client: era, server }) => {
      const cluster = await running(3, server)
      const heard: string[] = []
      const client = await connectRoundRobin(cluster, era, heard)
      const call = async (tool: string, args = {}) =>
        firstText(await client.callTool({ name: `mcp__one__${tool}`, arguments: args }))
      for (let n = 0; n < 3; n++) {
        expect(await call('ask')).toBe('accept Ada')
        expect(await call('where')).toBe('file:///ada')
      }
      if (era === 'legacy') await client.subscribeResource({ uri: NOTE })
      else await client.listen({ resourceSubscriptions: [NOTE] })
      for (let n = 0; n < 3; n++) {
        heard.length = 0
        await call('touch')
        await until(() => heard.includes(NOTE))
      }
      const stop = new AbortController()
      let steps = 0
      const work = client
        .callTool(
          { name: 'mcp__one__work', arguments: { ms: 20_000 } },
          { signal: stop.signal, onprogress: () => steps++ },
        )
        .catch(() => 'gone')
      await until(() => steps > 0)
      stop.abort()
      await work
      await until(() => cluster.all.some(({ dir }) => seenIn(dir).includes('cancelled')))
    },
    60_000,
  )

  it('a session of one user is unknown to another on every replica, and ends on all of them', async () => {
    const cluster = await running(2, 'legacy')
    const [first, second] = cluster.all
    const session = await legacySession(first?.handle.url ?? '', ADA)
    const there = (token: string) => rawSession(second?.handle.url ?? '', session.id, token)
    expect((await there(EVE).request('tools/list')).status).toBe(404)
    expect((await there(ADA).request('tools/list')).status).toBe(200)
    await fetch(second?.handle.url ?? '', { method: 'DELETE', headers: there(ADA).headers })
    expect((await session.request('tools/list')).status).toBe(404)
    expect((await there(ADA).request('tools/list')).status).toBe(404)
  }, 30_000)

  it('a question is answered once, by its own user, on any replica', async () => {
    const cluster = await running(2, 'modern')
    const [first, second] = cluster.all.map(({ handle }) => handle.url)
    const params = { name: 'mcp__one__ask', arguments: {} }
    const asked = (await modern(first ?? '', ADA, 'tools/call', params)).message.result
    const inputResponses = { name: { action: 'accept', content: { name: 'Ada' } } }
    const answer = { ...params, requestState: asked.requestState, inputResponses }
    expect((await modern(second ?? '', EVE, 'tools/call', answer)).message.error.code).toBe(-32602)
    const both = await Promise.all([first, second].map((url) => modern(url ?? '', ADA, 'tools/call', answer)))
    expect(both.filter(({ message }) => message.result?.content?.[0]?.text === 'accept Ada')).toHaveLength(1)
    expect(both.filter(({ message }) => message.error !== undefined)).toHaveLength(1)
  }, 30_000)

  it('while the store is away replicas answer, and refuse what could happen twice', async () => {
    const cluster = await running(2, 'modern')
    const [first, second] = cluster.all.map(({ handle }) => handle.url)
    const params = { name: 'mcp__one__ask', arguments: {} }
    const inputResponses = { name: { action: 'accept', content: { name: 'Ada' } } }
    const ask = async () => (await modern(first ?? '', ADA, 'tools/call', params)).message.result.requestState
    const before = await ask()
    cluster.store.setUp(false)
    const during = await ask()
    const answered = async (url: string | undefined, requestState: unknown) =>
      (await modern(url ?? '', ADA, 'tools/call', { ...params, requestState, inputResponses })).message
    expect((await answered(second, before)).error.message).toContain('was not passed on')
    expect((await answered(second, during)).result.content[0].text).toBe('accept Ada')
    expect((await fetch(new URL('/ready', second))).status).toBe(200)
    expect(await (await fetch(new URL('/ready', second))).json()).toMatchObject({ status: 'degraded' })
    cluster.store.setUp(true)
    expect((await answered(second, await ask())).result.content[0].text).toBe('accept Ada')
  }, 30_000)
})

describe('a store that a third party writes to', () => {
  it('makes no replica, sends no message, and passes no request on', async () => {
    const cluster = await running(2, 'legacy')
    const { gateway, handle } = cluster.all[0] as Running['all'][number]
    const strange = new KeyRing([freshKey()])
    const id = 'abcdefabcdef'
    const at = Date.now()
    const thief = { id, url: 'http://127.0.0.1:9', at }
    await cluster.store.setField('replicas', id, strange.seal('replica', thief), 60_000)
    await cluster.store.setField('replicas', 'plain', JSON.stringify(thief), 60_000)
    // A message of ours under another purpose is none either.
    await cluster.store.setField('replicas', id, cluster.keys.seal('replica-message', thief), 60_000)
    const session = await legacySession(handle.url, ADA)
    const ended = { kind: 'session-ended', from: id, at }
    for (const text of [strange.seal('replica-message', ended), JSON.stringify(ended), 'x', ''])
      await cluster.store.publish('bus', text)
    await cluster.store.publish('bus', cluster.keys.seal('replica-message', { ...ended, at: at - 3_600_000 }))
    await gateway.replicas?.tell('here', {})
    expect(gateway.replicas?.peer(id)).toBeUndefined()
    expect(gateway.replicas?.peers()).toHaveLength(1)
    expect((await session.request('tools/list')).status).toBe(200)
  }, 30_000)

  it('a request that claims to come from a replica is checked like any other', async () => {
    const cluster = await running(2, 'legacy')
    const { handle, gateway } = cluster.all[0] as Running['all'][number]
    const strange = new KeyRing([freshKey()])
    const forged = strange.seal('replica-request', {
      to: gateway.replicas?.id ?? '',
      from: 'x',
      at: Date.now(),
    })
    const real = cluster.all[1]?.gateway.replicas?.forwardToken(gateway.replicas?.id ?? '') ?? ''
    const status = async (forwardToken: string, headers: Record<string, string>) =>
      (
        await fetch(handle.url, {
          method: 'POST',
          headers: { 'plugboard-replica': forwardToken, ...headers },
          body: '{}',
        })
      ).status
    expect(await status(forged, { host: 'evil.example', authorization: `Bearer ${ADA}` })).not.toBe(200)
    // Even a replica needs the token of the client it speaks for.
    expect(await status(real, { 'content-type': 'application/json' })).toBe(401)
  }, 30_000)
})
