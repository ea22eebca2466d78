// The administration: which requests it takes, what it answers, and what happens on the other replicas.
import { describe, expect, it } from 'vitest'
import type { User } from '../access/access.ts'
import { bare, makeGateway, onEnd, stdio, until } from '../fixtures/kit.ts'
import type { Gateway } from '../gateway.ts'
import { userKey } from '../identity/identity.ts'
import type { Json } from '../json-rpc.ts'
import { Replicas } from '../replicas/replicas.ts'
import { freshKey, KeyRing } from '../sealing/key-ring.ts'
import { MemoryStore } from '../store/memory-store.ts'
import { AdminActions, AdminFault } from './admin-actions.ts'
import { serveAdmin } from './admin-server.ts'
import { Revocations } from './revocations.ts'
import { UserDirectory } from './user-directory.ts'

const user = (key: string, name = key): User => ({ key, name, roles: [] })

async function administered({
  users = [user('k-ada', 'ada'), user('k-eve', 'eve')],
  store,
  keys = new KeyRing([freshKey()]),
}: {
  users?: readonly User[]
  store?: MemoryStore
  keys?: KeyRing
} = {}) {
  const replicas = store && new Replicas(store, keys)
  const gateway = await makeGateway([bare('one'), stdio('broken', ['-e', 'process.exit(3)'])], {
    keys,
    ...(replicas && { replicas }),
  })
  await replicas?.announce('http://127.0.0.1:9')
  const ended: string[] = []
  const revocations = new Revocations(keys, replicas)
  const directory = new UserDirectory(replicas?.store, keys, () => users)
  onEnd(() => directory.close())
  const actions = new AdminActions({
    gateway,
    revocations,
    sessions: () => ['ada', 'ada', 'eve'].map((name, n) => ({ id: `s${n}`, user: name }) as never),
    endSession: async (sid) => sid === 's0' && ended.push(sid) > 0,
    users: () => users,
    known: () => directory.list(),
    issuers: () => ['https://idp.example'],
    metrics: () => 'metric 1\n',
    tokens: async () => [{ name: 'ada' }, { name: 'robot', key: 'k-robot' }],
    audit: async () => [{ tool: 'echo' }],
    verifyAudit: async () => ({ ok: true }),
  })
  const run = async (method: string, path: string): Promise<Json> => {
    try {
      return await actions.run(method, path.split('/'))
    } catch (error) {
      if (!(error instanceof AdminFault)) throw error
      return { status: error.status, error: error.message }
    }
  }
  return { gateway, actions, revocations, ended, run, directory }
}

const stateOf = ({ servers }: Json, name: string) =>
  (servers as readonly Json[]).find((one) => one.name === name)

describe('the administration', () => {
  it('takes only the requests that it knows', async () => {
    const { run, ended } = await administered()
    const unknown = [
      ['GET', ''],
      ['GET', 'other'],
      ['GET', 'servers/one'],
      ['DELETE', 'servers/one'],
      ['PUT', 'servers'],
      ['POST', 'servers'],
      ['GET', 'servers/one/reconnect'],
      ['POST', 'servers/one/reconnect/more'],
      ['POST', 'sessions'],
      ['DELETE', 'sessions'],
      ['POST', 'sessions/s0'],
      ['DELETE', 'sessions/s0/more'],
      ['POST', 'users'],
      ['DELETE', 'users/ada'],
      ['GET', 'users/ada/revoke'],
      ['GET', 'replicas/x'],
      ['POST', 'replicas'],
      ['POST', 'tokens'],
      ['GET', 'tokens/ada'],
      ['POST', 'limits'],
      ['POST', 'audit'],
      ['GET', 'audit/verify'],
      ['POST', 'audit/verify/more'],
    ] as const
    for (const [method, path] of unknown)
      expect([method, path, await run(method, path)]).toEqual([
        method,
        path,
        { status: 404, error: expect.stringContaining('There is GET /servers') },
      ])
    expect(ended).toEqual([])
    expect(await run('POST', 'servers/one')).toEqual({
      status: 404,
      error: 'There is no action "": reconnect, drain, disable, enable.',
    })
    expect(await run('POST', 'users/ada')).toEqual({
      status: 404,
      error: 'There is no action "": revoke, restore.',
    })
    expect(await run('POST', 'servers/one/burn')).toMatchObject({ error: expect.stringContaining('"burn"') })
    expect(await run('POST', 'users/ada/burn')).toMatchObject({ error: expect.stringContaining('"burn"') })
    expect(await run('GET', 'replicas')).toEqual({ replicas: [] })
  })

  it('shows tokens, limits and the audit log', async () => {
    const { run, gateway } = await administered()
    expect(await run('GET', 'tokens')).toMatchObject({ tokens: [{ name: 'ada' }, {}] })
    expect(await run('GET', 'limits')).toEqual({ calls: {}, running: [], gateway: gateway.limits })
    expect(await run('GET', 'audit/log')).toEqual({ entries: [{ tool: 'echo' }] })
    expect(await run('POST', 'audit/verify')).toEqual({ ok: true })
  })

  it('shows servers, and switches them off and on', async () => {
    const { run, gateway } = await administered()
    await gateway.wake(20_000)
    const before = await run('GET', 'servers')
    expect(stateOf(before, 'one')).toEqual({
      name: 'one',
      type: 'stdio',
      state: 'connected',
      tools: 1,
      running: 0,
      circuit: { state: 'closed', failures: 0 },
    })
    expect(stateOf(before, 'broken')).toMatchObject({ state: 'failed', error: expect.any(String) })
    expect(await run('POST', 'servers/none/reconnect')).toEqual({
      status: 404,
      error: 'There is no server "none".',
    })
    expect(await run('POST', 'servers/one/reconnect')).toMatchObject({ server: 'one', state: 'connected' })
    expect(await run('POST', 'servers/one/enable')).toMatchObject({ action: 'enable', state: 'enabled' })
    expect(await run('POST', 'servers/one/disable')).toMatchObject({ action: 'disable', state: 'disabled' })
    expect(gateway.board.servers().map(({ name }) => name)).toEqual(['broken'])
    expect(stateOf(await run('GET', 'servers'), 'one')).toMatchObject({ state: 'disabled', tools: 0 })
    expect(await run('POST', 'servers/one/reconnect')).toMatchObject({ status: 409 })
    expect(await run('POST', 'servers/one/disable')).toMatchObject({ state: 'disabled' })
    expect(await run('POST', 'servers/one/enable')).toMatchObject({ state: 'enabled' })
    expect((await run('GET', 'servers')).servers).toHaveLength(2)
    await until(() => gateway.board.servers().some(({ name }) => name === 'one'))
    expect(await run('POST', 'servers/one/reconnect')).toMatchObject({ state: 'connected' })
  })

  it('shows and ends sessions, and withdraws and gives back the access of users', async () => {
    const { run, revocations, ended } = await administered({
      users: [user('k-ada', 'ada'), user('k-eve', 'eve'), user('k1', 'twin'), user('k2', 'twin')],
    })
    expect((await run('GET', 'sessions')).sessions).toHaveLength(3)
    expect(await run('DELETE', 'sessions/s0')).toEqual({ ended: 's0' })
    expect(await run('DELETE', 'sessions/s9')).toMatchObject({ status: 404 })
    expect(ended).toEqual(['s0'])
    const { users } = await run('GET', 'users')
    expect((users as readonly Json[]).map(({ name, sessions }) => [name, sessions])).toEqual([
      ['ada', 2],
      ['eve', 1],
      ['twin', 0],
      ['twin', 0],
    ])
    expect(await run('POST', 'users/none/revoke')).toMatchObject({ status: 404 })
    expect(await run('POST', 'users/twin/revoke')).toMatchObject({ status: 409 })
    expect(await run('POST', 'users/k1/revoke')).toEqual({ user: 'twin', key: 'k1', action: 'revoke' })
    expect(await run('POST', 'users/ada/restore')).toMatchObject({ status: 404 })
    expect(await run('POST', 'users/ada/revoke')).toEqual({ user: 'ada', key: 'k-ada', action: 'revoke' })
    expect((await revocations.list()).map(({ key }) => key)).toEqual(['k1', 'k-ada'])
    expect((await run('GET', 'users')).revoked).toHaveLength(2)
    expect(await run('POST', 'users/twin/restore')).toEqual({ user: 'twin', key: 'k1', action: 'restore' })
    expect((await revocations.list()).map(({ key }) => key)).toEqual(['k-ada'])
  })

  it('does the same on every replica, and says when they cannot be told', async () => {
    const store = new MemoryStore()
    const keys = new KeyRing([freshKey()])
    const here = await administered({ store, keys })
    const there = await administered({ store, keys })
    await until(() => here.gateway.replicas?.peers().length === 1)
    expect(await here.run('GET', 'replicas')).toEqual({
      id: here.gateway.replicas?.id,
      storeUp: true,
      replicas: [{ id: there.gateway.replicas?.id, url: 'http://127.0.0.1:9', seen: expect.any(Number) }],
    })
    const names = ({ gateway }: { gateway: Gateway }) => gateway.board.servers().map(({ name }) => name)
    await here.run('POST', 'servers/one/disable')
    expect([names(here), names(there)]).toEqual([['broken'], ['broken']])
    // What a replica cannot do does not keep the others from it.
    await there.run('POST', 'servers/one/enable')
    expect(names(here)).toContain('one')
    store.setUp(false)
    expect(await here.run('POST', 'users/ada/revoke')).toMatchObject({ status: 503 })
    expect(await here.run('GET', 'replicas')).toMatchObject({ storeUp: false })
    store.setUp(true)
  })
})

describe('revocations', () => {
  it('tell of every change, once, and hold while the store is away', async () => {
    const store = new MemoryStore()
    const keys = new KeyRing([freshKey()])
    const told: string[][] = []
    const make = async () => {
      const replicas = new Replicas(store, keys)
      onEnd(() => replicas.close())
      const heard: string[][] = []
      const made = new Revocations(keys, replicas, (now) => heard.push([...now]))
      await replicas.announce('http://127.0.0.1:9')
      return { made, heard, replicas }
    }
    const one = await make()
    const two = await make()
    await until(() => one.replicas.peers().length === 1)
    await one.made.add('b', 'bob')
    await one.made.add('a', 'ada')
    expect(one.heard).toEqual([['b'], ['a', 'b']])
    expect(two.heard).toEqual([['b'], ['a', 'b']])
    await one.made.read()
    expect(one.heard).toHaveLength(2)
    store.setUp(false)
    await one.made.read()
    await expect(one.made.add('c', 'c')).rejects.toThrow()
    expect(one.heard).toHaveLength(2)
    store.setUp(true)
    await two.made.remove('b')
    expect(one.heard.at(-1)).toEqual(['a'])
    expect(told).toEqual([])
  })

  it('hold when the store loses them, when another program deletes or replays them, and are written again', async () => {
    const store = new MemoryStore()
    const keys = new KeyRing([freshKey()])
    const make = (sharing: Replicas) => {
      const heard: string[][] = []
      return { heard, made: new Revocations(keys, sharing, (now) => heard.push([...now])) }
    }
    const replicas = new Replicas(store, keys)
    onEnd(() => replicas.close())
    const one = make(replicas)
    await one.made.add('ada', 'ada')
    await one.made.remove('ada')
    const restored = (await store.fields('revoked')).get('ada') ?? ''
    await one.made.add('ada', 'ada')
    const losses = [
      () => store.delete('revoked'),
      () => store.deleteField('revoked', 'ada'),
      () => store.setField('revoked', 'ada', restored, 60_000),
      () => store.setField('revoked', 'ada', 'rubbish', 60_000),
    ]
    for (const lose of losses) {
      await lose()
      await one.made.read()
      expect(one.heard.at(-1)).toEqual(['ada'])
      // A replica that starts now learns it from the store.
      expect(await make(replicas).made.list()).toMatchObject([{ key: 'ada', name: 'ada' }])
    }
    expect(one.heard).toEqual([['ada'], [], ['ada']])
  })

  it('believe only entries that were sealed for this user', async () => {
    const store = new MemoryStore()
    const keys = new KeyRing([freshKey()])
    const replicas = new Replicas(store, keys)
    onEnd(() => replicas.close())
    const made = new Revocations(keys, replicas)
    const good = { key: 'ada', name: 'ada', at: 1 }
    const entries: [string, string][] = [
      ['eve', keys.seal('revocation', good)],
      ['plain', JSON.stringify({ ...good, key: 'plain' })],
      ['other', keys.seal('session', { ...good, key: 'other' })],
      ['nameless', keys.seal('revocation', { key: 'nameless', at: 1 })],
      ['timeless', keys.seal('revocation', { key: 'timeless', name: 'x', at: 'now' })],
      ['ada', keys.seal('revocation', good)],
    ]
    for (const [field, value] of entries) await store.setField('revoked', field, value, 60_000)
    expect(await made.list()).toEqual([good])
  })
})

describe('the port of the administration', () => {
  it('wants its token, no web page, and answers with the status of the fault', async () => {
    const { actions } = await administered()
    const handle = await serveAdmin({ port: 0, token: 'secret', actions })
    onEnd(() => handle.close())
    const get = async (path: string, headers: Record<string, string> = {}, method = 'GET') => {
      const response = await fetch(`${handle.url}${path}`, { method, headers })
      return { status: response.status, text: await response.text(), headers: response.headers }
    }
    const bearer = { authorization: 'Bearer secret' }
    expect((await get('/servers')).status).toBe(401)
    expect((await get('/servers')).headers.get('www-authenticate')).toContain('administration')
    for (const authorization of ['Bearer wrong', 'Basic secret', 'secret', 'Bearer  ', ''])
      expect((await get('/servers', { authorization })).status).toBe(401)
    expect((await get('/servers', { ...bearer, origin: 'http://evil.example' })).status).toBe(403)
    const servers = await get('/servers', bearer)
    expect([servers.status, JSON.parse(servers.text).servers.length]).toEqual([200, 2])
    expect(servers.headers.get('cache-control')).toBe('no-store')
    expect(await get('/metrics', bearer)).toMatchObject({ status: 200, text: 'metric 1\n' })
    expect((await get('/metrics', bearer, 'POST')).status).toBe(404)
    expect((await get('/metrics')).status).toBe(401)
    expect((await get('/', bearer)).status).toBe(404)
    expect((await get('/users/%61da/revoke', bearer, 'POST')).status).toBe(200)
    expect((await get('/users/%zz/revoke', bearer, 'POST')).text).toContain('%zz')
  })

  it('tells of a fault of its own, without a word about it', async () => {
    const actions = { run: () => Promise.reject(new Error('secret path')), metrics: () => '' }
    const handle = await serveAdmin({ port: 0, token: 't', actions: actions as never })
    const response = await fetch(`${handle.url}/servers`, { headers: { authorization: 'Bearer t' } })
    expect([response.status, await response.text()]).toEqual([500, '{"error":"Internal error."}'])
    // Closing does not wait for connections that are kept open.
    await handle.close()
    await expect(fetch(`${handle.url}/servers`)).rejects.toThrow()
    const six = await serveAdmin({ port: 0, host: '::1', token: 't', actions: actions as never })
    expect(six.url).toMatch(/^http:\/\/\[::1\]:\d+$/)
    await six.close()
    await expect(
      serveAdmin({ port: 0, host: '203.0.113.1', token: 't', actions: actions as never }),
    ).rejects.toThrow()
  })
})

describe('a user who is not active here', () => {
  const keys = new KeyRing([freshKey()])
  const expectRevoked = async (run: (method: string, path: string) => Promise<Json>, key: string) => {
    const { revoked } = await run('GET', 'users')
    expect((revoked as readonly Json[]).map((one) => one.key)).toContain(key)
  }

  it('but at another replica, or was at any of them, can lose access, and is shown', async () => {
    const store = new MemoryStore()
    const there = await administered({ store, keys, users: [user('k-zoe', 'zoe')] })
    const here = await administered({ store, keys, users: [user('k-ada', 'ada')] })
    expect(await here.run('POST', 'users/zoe/revoke')).toMatchObject({ status: 404 })
    await there.directory.note()
    expect(await here.run('GET', 'users')).toMatchObject({
      users: [
        { key: 'k-ada', sessions: 2 },
        { key: 'k-zoe', lastSeen: expect.any(Number) },
      ],
    })
    expect(await here.run('POST', 'users/zoe/revoke')).toMatchObject({ key: 'k-zoe', action: 'revoke' })
    await expectRevoked(there.run, 'k-zoe')
  })

  it('is named by a key, by provider and subject, or by the name of a token', async () => {
    const { run } = await administered({ keys })
    const unseen = userKey('https://idp.example', 'auth0|77')
    expect(await run('POST', 'users/https:%2F%2Fidp.example/revoke')).toMatchObject({ status: 404 })
    const { actions } = await administered({ keys })
    const revoke = (named: string) => actions.run('POST', ['users', named, 'revoke'])
    expect(await revoke('https://idp.example|auth0|77')).toMatchObject({ key: unseen, user: 'auth0|77' })
    expect(await revoke(unseen)).toMatchObject({ key: unseen })
    expect(await revoke('robot')).toMatchObject({ key: 'k-robot' })
    for (const wrong of ['https://other.example|1', 'https://idp.example|', '|1', 'nobody', 'f'.repeat(63)])
      await expect(revoke(wrong)).rejects.toMatchObject({ status: 404 })
  })

  it('shares a name with another: both keys are told', async () => {
    const users = [user('k-1', 'kim'), user('k-2', 'kim')]
    const { run } = await administered({ keys, users })
    const refused = await run('POST', 'users/kim/revoke')
    expect(refused).toMatchObject({ status: 409, error: expect.stringMatching(/k-1, k-2/) })
    expect(await run('POST', 'users/k-2/revoke')).toMatchObject({ key: 'k-2' })
  })

  it('is not believed from a store that another program wrote to, and is forgotten after a month', async () => {
    const store = new MemoryStore()
    let now = 1000
    const directory = new UserDirectory(
      store,
      keys,
      () => [user('k-ada', 'ada')],
      () => now,
    )
    onEnd(() => directory.close())
    await directory.note()
    const [sealed = ''] = (await store.fields('users')).values()
    await store.setField('users', 'k-eve', sealed, 1e9)
    await store.setField('users', 'k-bob', '{"key":"k-bob"}', 1e9)
    expect((await directory.list()).map(({ key }) => key)).toEqual(['k-ada'])
    now += 31 * 24 * 60 * 60_000
    expect(await directory.list()).toEqual([])
  })
})

describe('the logins of users', () => {
  const LOGINS = [
    { key: 'k-ada', user: 'ada', server: 'one' },
    { key: 'k-ada', user: 'ada', server: 'two' },
    { key: 'k-eve', user: 'eve', server: 'one' },
    { key: 'k-eve2', user: 'eve', server: 'one' },
  ]
  async function withLogins() {
    const revoked: unknown[] = []
    const found = await administered()
    const logins = {
      list: async () => LOGINS,
      users: async () => [],
      revoke: async (of: unknown, server?: string) => {
        revoked.push([of, server])
        return server === 'none' ? undefined : { servers: [server ?? 'all'] }
      },
    }
    // What the administration uses of them.
    Object.assign(found.gateway, { userServers: { logins } })
    onEnd(() => Object.assign(found.gateway, { userServers: undefined }))
    return { ...found, revoked }
  }

  it('are listed, and there are none where users have none of their own', async () => {
    const { run } = await withLogins()
    expect(await run('GET', 'logins')).toEqual({ logins: LOGINS })
    const plain = await administered()
    expect(await plain.run('GET', 'logins')).toEqual({ logins: [] })
    expect(await plain.run('DELETE', 'logins/ada')).toMatchObject({ status: 404 })
    for (const [method, path] of [
      ['POST', 'logins'],
      ['DELETE', 'logins'],
      ['POST', 'logins/ada'],
      ['GET', 'logins/ada'],
    ] as const)
      expect([method, path, await run(method, path)]).toMatchObject([method, path, { status: 404 }])
  })

  it('are taken back by the key or a name that one user has, at one server or all', async () => {
    const { run, revoked } = await withLogins()
    const ada = { key: 'k-ada', name: 'ada' }
    expect(await run('DELETE', 'logins/ada')).toEqual({
      user: 'ada',
      key: 'k-ada',
      servers: ['all'],
      action: 'revoke',
    })
    expect(await run('DELETE', 'logins/k-eve2/one')).toMatchObject({ key: 'k-eve2', servers: ['one'] })
    expect(await run('DELETE', 'logins/ada/none')).toEqual({
      status: 404,
      error: '"ada" has no login at "none".',
    })
    expect(await run('DELETE', 'logins/eve')).toMatchObject({ status: 409 })
    expect(await run('DELETE', 'logins/bob')).toMatchObject({ status: 404 })
    expect(revoked).toEqual([
      [ada, undefined],
      [{ key: 'k-eve2', name: 'eve' }, 'one'],
      [ada, 'none'],
    ])
  })
})

describe('the audit of all replicas', () => {
  it('is there only with a store', async () => {
    const { run } = await administered()
    expect(await run('GET', 'audit')).toMatchObject({
      status: 404,
      error: expect.stringContaining('no store'),
    })
  })
})

describe('a withdrawn name that two users have', () => {
  it('is given back by the key', async () => {
    const { run } = await administered({ users: [user('k1', 'eve'), user('k2', 'eve')] })
    for (const key of ['k1', 'k2']) expect(await run('POST', `users/${key}/revoke`)).toMatchObject({ key })
    expect(await run('POST', 'users/eve/restore')).toMatchObject({ status: 409 })
    expect(await run('POST', 'users/k1/restore')).toMatchObject({ key: 'k1' })
    expect(await run('POST', 'users/eve/restore')).toMatchObject({ key: 'k2' })
  })
})

describe('a server that is drained', () => {
  it('stays when it is enabled again before its calls have ended', async () => {
    const { run, gateway } = await administered()
    gateway.drains.enter('one')
    const draining = run('POST', 'servers/one/drain')
    await until(() => gateway.drains.isDraining('one'))
    expect(await run('POST', 'servers/one/enable')).toMatchObject({ state: 'enabled' })
    gateway.drains.leave('one')
    expect(await draining).toMatchObject({ state: 'enabled' })
    expect(stateOf(await run('GET', 'servers'), 'one')).not.toMatchObject({ state: 'disabled' })
  })
})
