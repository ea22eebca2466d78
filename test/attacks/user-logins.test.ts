// What one user can do to the login of another at a server behind the gateway, and to the tasks that run there: the built command, a
// real authorization server, and a real server with tasks behind a check of its tokens.
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { type IncomingMessage, type ServerResponse, request as send } from 'node:http'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  type AuthorizationServer,
  startAuthorizationServer,
} from '../../packages/core/src/auth/fixtures/authorization-server.ts'
import {
  type ResourceServer,
  startResourceServer,
} from '../../packages/core/src/auth/fixtures/resource-server.ts'
import { Browser } from '../support/browser.ts'
import { legacySession, modern, type ServedGateway, serveGateway, until } from '../support/gateway.ts'

const SUITE = fileURLToPath(new URL('../../packages/gateway/src/fixtures/suite.mjs', import.meta.url))
const TASKS = { extensions: { 'io.modelcontextprotocol/tasks': {} } }
const URL_MODE = { elicitation: { url: {} } }
let as: AuthorizationServer
let rs: ResourceServer
let suite: ChildProcess
let gateway: ServedGateway
const tokens = new Map<string, string>()
const tokenOf = (user: string) => tokens.get(user) ?? ''
/** Who asked the server for which method. */
const asked: string[] = []

beforeAll(async () => {
  as = await startAuthorizationServer({})
  rs = await startResourceServer({ as })
  suite = spawn(process.execPath, [SUITE, '--http'], { stdio: ['pipe', 'pipe', 'ignore'] })
  if (!suite.stdout) throw new Error('There is no output.')
  const [line] = (await once(createInterface(suite.stdout), 'line')) as [string]
  const { url } = JSON.parse(line) as { url: string }
  rs.intercept = (request, response) => {
    // Without a token the answer is the challenge.
    if (request.url !== '/mcp' || request.headers.authorization === undefined) return false
    void passOn(request, response, url)
    return true
  }
  gateway = await serveGateway({
    servers: { jobs: { type: 'http', url: rs.url } },
    gateway: (port) => ({
      publicUrl: `http://127.0.0.1:${port}`,
      auth: { tokens: 'tokens.json' },
      userLogins: { servers: { jobs: {} } },
    }),
  })
  for (const name of ['ada', 'eve', 'mallory']) {
    const ran = await gateway.place.run('serve', 'token', 'add', name, '--gateway', 'gateway.json', '--json')
    tokens.set(name, ran.json.token)
  }
  await until(async () => (await modern(gateway.url, tokenOf('mallory'), 'tools/list')).status === 200)
}, 120_000)

afterAll(async () => {
  await gateway?.remove()
  await rs?.close()
  await as?.close()
  suite?.kill('SIGKILL')
})

async function passOn(request: IncomingMessage, response: ServerResponse, to: string): Promise<void> {
  const { authorization = '', host: _, ...headers } = request.headers
  const found = await as.find(authorization.split(' ')[1] ?? '')
  if (!found || found.isExpired) return void response.writeHead(401).end()
  asked.push(`${found.account} ${request.headers['mcp-method'] ?? request.method}`)
  const onward = send(to, { method: request.method ?? 'GET', headers }, (answer) => {
    response.writeHead(answer.statusCode ?? 502, answer.headers)
    answer.pipe(response)
  })
  onward.on('error', () => response.destroy())
  response.on('close', () => onward.destroy())
  request.pipe(onward)
}

const linkIn = (text: string) => /http:\/\/127\.0\.0\.1:\d+\/logins\?ticket=[\w.-]+/.exec(text)?.[0] ?? ''
const call = (
  user: string,
  name: string,
  args: object = {},
  capabilities: object = TASKS,
  more: object = {},
) =>
  modern(
    gateway.url,
    tokenOf(user),
    'tools/call',
    { name: `mcp__jobs__${name}`, arguments: args, ...more },
    capabilities,
  )
const linkFor = async (user: string) => linkIn((await call(user, 'test_simple_text', {}, {})).text)
const isCallback = (url: string) => url.includes('/logins/callback')
const callback = async (browser: Browser, user: string) =>
  (await browser.submit(await browser.open(await linkFor(user)), isCallback)).url
const isLoggedIn = async (user: string) => (await linkFor(user)) === ''

describe('the callback of a login that one user began', () => {
  it('is not finished by another, with or without a login that it began itself, and not used up by the try', async () => {
    const [ada, eve] = [new Browser('ada'), new Browser('eve')]
    const back = await callback(ada, 'ada')
    expect((await eve.open(back)).status).toBe(400)
    // With the cookie of a login of its own, and with its own state and the other's code, and the other way round.
    const own = new URL(await callback(eve, 'eve'))
    const other = new URL(back)
    expect((await eve.open(back)).status).toBe(400)
    const mixed = new URL(back)
    mixed.searchParams.set('state', own.searchParams.get('state') ?? '')
    const answer = await eve.open(mixed.href)
    expect(answer.text).not.toContain('is logged in')
    other.searchParams.set('code', own.searchParams.get('code') ?? '')
    expect((await eve.open(other.href)).status).toBe(400)
    expect([await isLoggedIn('ada'), await isLoggedIn('eve')]).toEqual([false, false])
    expect((await ada.open(back)).text).toContain('ada is logged in')
    expect([await isLoggedIn('ada'), await isLoggedIn('eve')]).toEqual([true, false])
    expect((await ada.open(back)).status).toBe(400)
  }, 60_000)

  it('is of the user that asked: a request state of that call goes on for no other', async () => {
    const { message } = await call('eve', 'test_simple_text', {}, URL_MODE)
    const [name = ''] = Object.keys(message.result.inputRequests)
    const retry = {
      requestState: message.result.requestState,
      inputResponses: { [name]: { action: 'accept' } },
    }
    const stolen = await call('mallory', 'test_simple_text', {}, URL_MODE, retry)
    expect(stolen.message.error.code).toBe(-32602)
    const { url } = message.result.inputRequests[name].params
    expect((await new Browser('eve').logIn(url)).text).toContain('eve is logged in')
    const resumed = await call('eve', 'test_simple_text', {}, URL_MODE, retry)
    expect(resumed.message.result.content[0].text).toContain('simple text')
  }, 60_000)
})

describe('a task of one user at a server with a login of each user', () => {
  const about = (user: string, method: string, params: object) =>
    modern(gateway.url, tokenOf(user), method, params as Record<string, unknown>, TASKS)

  it('is not read, answered or cancelled by another user of the same server', async () => {
    const { message } = await call('ada', 'slow_compute', { seconds: 60, label: 'secret of ada' })
    const { taskId } = message.result
    expect(message.result).toMatchObject({ resultType: 'task', taskId: expect.any(String) })
    const before = asked.length
    for (const user of ['eve', 'mallory'])
      for (const [method, more] of [
        ['tasks/get', {}],
        ['tasks/update', { inputResponses: {} }],
        ['tasks/cancel', {}],
      ] as const) {
        const answer = await about(user, method, { taskId, ...more })
        expect([user, method, answer.message.error?.code]).toEqual([user, method, -32602])
        expect(answer.text).not.toContain('secret of ada')
      }
    // Nothing of it reached the server in the name of another.
    expect(asked.slice(before).filter((one) => !one.startsWith('ada '))).toEqual([])
    const own = await about('ada', 'tasks/get', { taskId })
    expect(own.message.result).toMatchObject({ status: 'working', statusMessage: 'computing secret of ada' })
    expect((await about('ada', 'tasks/cancel', { taskId })).message.error).toBeUndefined()
    await until(async () => {
      const { message } = await about('ada', 'tasks/get', { taskId })
      return message.result.status === 'cancelled'
    })
    // The server was asked with the login of its own user.
    expect(asked).toContain('ada tasks/cancel')
  }, 60_000)

  it('is not listed, read or cancelled by another user of 2025-11-25', async () => {
    const [ada, eve] = [
      await legacySession(gateway.url, tokenOf('ada')),
      await legacySession(gateway.url, tokenOf('eve')),
    ]
    const params = { name: 'mcp__jobs__slow_compute', arguments: { seconds: 60, label: 'x' }, task: {} }
    const { message } = await ada.request('tools/call', params)
    const { taskId } = message.result.task
    const idsOf = (answer: { message: { result: { tasks: { taskId: string }[] } } }) =>
      answer.message.result.tasks.map((task) => task.taskId)
    expect(idsOf(await ada.request('tasks/list'))).toEqual([taskId])
    expect(idsOf(await eve.request('tasks/list'))).toEqual([])
    for (const method of ['tasks/get', 'tasks/result', 'tasks/cancel'])
      expect((await eve.request(method, { taskId })).message.error.code).toBe(-32602)
    expect((await ada.request('tasks/cancel', { taskId })).message.result.status).toBe('cancelled')
  }, 60_000)

  it('ends with the access of its user, and is nobody else’s then', async () => {
    const { message } = await call('ada', 'slow_compute', { seconds: 60, label: 'y' })
    const { taskId } = message.result
    const revoked = await gateway.place.run('serve', 'token', 'revoke', 'ada', '--gateway', 'gateway.json')
    expect(revoked.code).toBe(0)
    await until(async () => (await about('ada', 'tasks/get', { taskId })).status === 401)
    expect((await about('eve', 'tasks/get', { taskId })).message.error.code).toBe(-32602)
  }, 60_000)
})
