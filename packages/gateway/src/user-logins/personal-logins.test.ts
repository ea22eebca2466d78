// A user's own login from the question to the last page: the real logins, pages and steps, with one scripted server in place of
// the authorization server and the resource, and requests that are plain objects.
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type ConfiguredServer, type LocalBoard, systemHost } from '@plugboard/core'
import { memoryVault } from '@plugboard/core/auth'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type ScriptedServer, startScriptedServer } from '../../../core/src/auth/fixtures/scripted-server.ts'
import { remote } from '../../../core/src/auth/fixtures/setup.ts'
import type { ClientRequest } from '../client-request.ts'
import type { UserLoginsConfig } from '../config/schema.ts'
import { flush, type Given, requestOf } from '../fixtures/requests.ts'
import type { Json } from '../json-rpc.ts'
import { KeyRing } from '../sealing/key-ring.ts'
import { MemoryStore } from '../store/memory-store.ts'
import { loginPages } from './login-steps.ts'
import { UserLogins, type UserLoginsOptions } from './user-logins.ts'

let as: ScriptedServer
let dir: string
const ends: (() => unknown)[] = []
beforeEach(async () => {
  as = await startScriptedServer()
  dir = mkdtempSync(join(tmpdir(), 'plugboard-personal-'))
  as.metadata = {
    ...as.metadata,
    registration_endpoint: `${as.origin}/register`,
    code_challenge_methods_supported: ['S256'],
    response_types_supported: ['code'],
  }
  as.documents['/.well-known/oauth-protected-resource/mcp'] = {
    resource: `${as.origin}/mcp`,
    authorization_servers: [as.origin],
  }
  let clients = 0
  as.answers['/register'] = () => ({ status: 201, body: { client_id: `client-${++clients}` } })
  as.answers['authorization_code'] = () => ({ access_token: 'secret', token_type: 'Bearer', expires_in: 600 })
})
afterEach(async () => {
  for (const end of ends.splice(0)) await end()
  await as.close()
  rmSync(dir, { recursive: true, force: true })
})

const ada = { key: 'a'.repeat(64), name: 'ada', roles: [] }
const bob = { ...ada, key: 'b'.repeat(64), name: 'bob' }
const ring = () => new KeyRing([{ kid: 'k', key: Buffer.alloc(32, 1) }])

interface Made {
  readonly servers?: Record<string, ConfiguredServer>
  readonly config?: Partial<UserLoginsConfig>
  readonly options?: Partial<UserLoginsOptions>
  readonly env?: Record<string, string>
}

function made({ servers, config = {}, options = {}, env = {} }: Made = {}) {
  let now = Date.now()
  const known: Record<string, ConfiguredServer> = servers ?? { notes: remote('notes', `${as.origin}/mcp`) }
  const logins = new UserLogins({
    config: { servers: Object.fromEntries(Object.keys(known).map((name) => [name, {}])), ...config },
    publicUrl: 'https://gate.example/',
    host: systemHost({ env, now: () => now }),
    stateDir: dir,
    keys: ring(),
    loginKeys: ring(),
    operator: { vault: memoryVault() },
    ...options,
  })
  const gone: unknown[] = []
  const board = { link: { configured: (name: string) => known[name] } }
  logins.bind(board as unknown as LocalBoard, {
    gone: (...which) => gone.push(which),
    changed: () => undefined,
  })
  const advance = (ms: number) => {
    now += ms
  }
  return { logins, gone, advance }
}

function userRequest(given: Given & { era?: string; user?: object | undefined; prefersTask?: boolean } = {}) {
  const asked: Json[] = []
  const told: unknown[] = []
  const request = requestOf('session', {
    ...given,
    answer: async (method, params, origin) => {
      asked.push({ method, params, origin })
      return (await given.answer?.(method, params, origin)) ?? { action: 'accept' }
    },
  })
  const client = { ...request.client, era: given.era ?? 'legacy', user: 'user' in given ? given.user : ada }
  const notify = (...args: unknown[]) => told.push(args)
  const whole = { ...request, client, notify, ...(given.prefersTask && { prefersTask: true }) }
  return { request: whole as unknown as ClientRequest, asked, told }
}

async function refused(asking: Promise<unknown>): Promise<string> {
  return await asking.then(
    () => 'it went through',
    (error: Error & { hint?: string }) => `${error.message} ${error.hint ?? ''}`.trim(),
  )
}
const ticketIn = (text: string) => /ticket=([\w.-]+)/.exec(text)?.[1] ?? ''

describe('the servers that users log in to', () => {
  it.each([
    [{}, true],
    [{ login: true }, true],
    [{ login: false, headers: { 'X-User': 'x' } }, false],
    [{ exchange: { issuer: 'https://idp', clientId: 'c' } }, false],
  ])('%j: a user is asked: %s', async (config, asks) => {
    const { logins } = made({ config: { servers: { notes: config } } })
    expect([logins.serves('notes'), logins.asks('notes'), logins.servers]).toEqual([true, asks, ['notes']])
    expect([logins.serves('toString'), logins.asks('toString'), logins.asks('other')]).toEqual([
      false,
      false,
      false,
    ])
    expect(await logins.mayConnect('notes', ada)).toBe(!asks)
  })

  it('are remote, and not configured by a repository', () => {
    const local = {
      name: 'local',
      scope: 'user',
      source: 'x',
      signature: 'x',
      entry: { type: 'stdio', command: 'x' },
    }
    const { logins } = made({
      servers: {
        notes: remote('notes', `${as.origin}/mcp`),
        local: local as unknown as ConfiguredServer,
        cloned: { ...remote('cloned', as.origin), author: 'repository' } as ConfiguredServer,
      },
    })
    expect(logins.configured('notes').name).toBe('notes')
    for (const name of ['local', 'cloned', 'none'])
      expect(() => logins.configured(name)).toThrow('no server that users can log in to')
  })

  it('get headers made for the user, and no login where none is wanted', () => {
    const servers = {
      notes: remote('notes', `${as.origin}/mcp`),
      own: remote('own', `${as.origin}/mcp`, { headers: { AUTHORIZATION: 'Bearer x' } }),
      other: remote('other', `${as.origin}/mcp`, { headers: { 'X-A': 'b' } }),
    }
    const headers = { 'X-User': '${user.name}' }
    const { logins } = made({
      servers,
      config: { servers: { notes: { login: false, headers }, own: { login: false }, other: { headers } } },
    })
    expect(logins.instanceLogin('notes', ada)).toEqual({ headers: { 'X-User': 'ada' } })
    expect(logins.instanceLogin('own', ada)).toEqual({})
    expect(logins.instanceLogin('other', ada)).toEqual({
      headers: { 'X-User': 'ada' },
      auth: expect.any(Function),
    })
    expect(logins.variant('own', ada)).toBe('')
    expect(logins.variant('notes', ada)).toMatch(/^[\w-]{16}$/)
    expect(logins.variant('notes', ada)).not.toBe(logins.variant('notes', bob))
    const strict = made({ servers })
    expect(() => strict.logins.instanceLogin('own', ada)).toThrow('Authorization header in its entry')
    expect(Object.keys(strict.logins.instanceLogin('other', ada))).toEqual(['auth'])
  })

  it('that are configured differently are connected anew, and no others', () => {
    const { logins, gone } = made({ config: { servers: { notes: {}, same: { login: false }, old: {} } } })
    const context = logins.contextOf(ada)
    expect(logins.contextOf(ada)).toBe(context)
    logins.replace({ servers: { notes: { login: false }, same: { login: false }, fresh: {} } })
    expect(gone).toEqual([
      [undefined, 'notes'],
      [undefined, 'old'],
    ])
    expect(logins.contextOf(ada)).not.toBe(context)
    expect(logins.config.servers).toHaveProperty('fresh')
  })

  it('exchange the last token of a user of their issuer, and of no other', () => {
    const exchange = { issuer: 'https://idp', clientId: 'c', clientSecretEnv: 'SECRET' }
    const config = { servers: { notes: { exchange }, plain: {} } }
    const { logins } = made({ config, env: { SECRET: 'sesame' } })
    const of = (issuer?: string) => ({ ...ada, ...(issuer && { issuer }) })
    const token = (issuer?: string) => {
      logins.replace(config)
      return logins.contextOf(of(issuer)).settings?.exchanges?.['notes']?.subjectToken()
    }
    logins.present(of('https://other'), () => 'foreign')
    logins.present(of(), () => 'none')
    expect([token('https://idp'), token('https://other')]).toEqual([undefined, undefined])
    logins.present(of('https://idp'), () => 'first')
    logins.present(of('https://idp'), () => 'second')
    expect([token('https://idp'), token('https://other'), token()]).toEqual(['second', undefined, undefined])
    const exchanges = logins.contextOf(ada).settings?.exchanges
    expect(exchanges).toMatchObject({ notes: { issuer: 'https://idp', clientSecret: 'sesame' } })
    expect(Object.keys(exchanges ?? {})).toEqual(['notes'])
    const bare = made({
      config: { servers: { notes: { exchange: { issuer: 'https://idp', clientId: 'c' } } } },
    })
    expect(bare.logins.contextOf(ada).settings?.exchanges?.['notes']).toMatchObject({
      clientSecret: undefined,
    })
  })

  it("take the operator's settings into the context of a user", () => {
    const resolve = (async () => undefined) as unknown as NonNullable<
      UserLoginsOptions['operator']['resolve']
    >
    const xaa = { issuer: 'https://idp', clientId: 'c' }
    const settings = { xaa, clientMetadataUrl: 'https://gate.example/client' }
    const store = new MemoryStore()
    const bus = { on: () => undefined, tell: async () => true }
    const full = made({
      options: { operator: { vault: memoryVault(), settings, resolve }, shared: { store, bus } },
    })
    const context = full.logins.contextOf(ada)
    expect(context.settings).toMatchObject(settings)
    expect([context.resolve, context.lock !== undefined]).toEqual([resolve, true])
    expect(context.stateDir).toBe(join(dir, 'user-logins', 'a'.repeat(32)))
    const bare = made().logins.contextOf(ada)
    expect(Object.keys(bare.settings ?? {})).toEqual(['exchanges'])
    expect(['resolve' in bare, 'lock' in bare]).toEqual([false, false])
  })
})

describe('the question for a login', () => {
  it('needs a user, a client that opens addresses, and an answer', async () => {
    const { logins } = made()
    const ask = (given: Parameters<typeof userRequest>[0]) =>
      refused(logins.ask('notes', userRequest(given).request))
    expect(await ask({ user: undefined })).toContain('is for users with a name')
    const byHand = 'Open this address in a browser'
    expect(await ask({ capabilities: { elicitForm: true } })).toContain(byHand)
    expect(await ask({ capabilities: { elicitForm: true } })).toContain('https://gate.example/logins?ticket=')
    expect(await ask({ answer: async () => Promise.reject(new Error('cannot')) })).toContain(byHand)
    expect(await ask({ answer: async () => ({ action: 'decline' }) })).toContain('The login was declined')
    const left = new AbortController()
    const answer = async () => {
      left.abort()
      throw new Error('the client left')
    }
    expect(await refused(logins.ask('notes', userRequest({ answer, signal: left.signal }).request))).toBe(
      'the client left',
    )
  })

  it.each([
    ['legacy', true],
    ['modern', false],
  ])('of a %s client carries an id: %s, and ends with the login', async (era, hasId) => {
    const { logins } = made()
    const { request, asked, told } = userRequest({ era })
    const done = logins.ask('notes', request)
    await expect.poll(() => asked.length).toBe(1)
    const { params, origin } = asked[0] as { params: Json; origin: Json }
    expect(params).toMatchObject({
      mode: 'url',
      message: expect.stringContaining('"notes" needs your own login'),
    })
    expect(['elicitationId' in params, origin]).toEqual([
      hasId,
      { server: '', key: 'login-notes', requestState: undefined },
    ])
    const attempt = logins.attempts.openTicket(ticketIn(String(params.url)))
    if (!attempt) throw new Error('the address has no ticket')
    await logins.attempts.finish(attempt, { ok: true })
    await done
    expect(told).toEqual(
      hasId ? [['notifications/elicitation/complete', { elicitationId: params.elicitationId }]] : [],
    )
  })

  it('ends with the reason why a login failed, and with its time', async () => {
    const { logins, advance } = made({ config: { minutes: 1 } })
    const { request, asked, told } = userRequest()
    const failed = refused(logins.ask('notes', request))
    await expect.poll(() => asked.length).toBe(1)
    const params = (asked[0] as { params: Json }).params
    const attempt = logins.attempts.openTicket(ticketIn(String(params.url)))
    if (!attempt) throw new Error('the address has no ticket')
    await logins.attempts.finish(attempt, { ok: false, reason: 'It is closed.' })
    await logins.changed(attempt)
    expect(await failed).toContain('The login did not go through: It is closed. To try again, open')
    const second = userRequest()
    const late = refused(logins.ask('notes', second.request))
    await expect.poll(() => second.asked.length).toBe(1)
    advance(60_001)
    expect(await late).toContain('was not finished in time')
    expect(told).toEqual([])
  })

  it('is put once for several calls of a session, and again by the next when the first gives up', async () => {
    const { logins } = made()
    const left = new AbortController()
    const first = userRequest({
      signal: left.signal,
      answer: () =>
        new Promise((_, no) => left.signal.addEventListener('abort', () => no(new Error('gone')))),
    })
    const decline = { answer: async () => ({ action: 'decline' }) }
    const [second, third, task, modern] = [
      userRequest(decline),
      userRequest(decline),
      userRequest({ ...decline, prefersTask: true }),
      userRequest({ ...decline, era: 'modern' }),
    ]
    const asks = [first, second, third].map(({ request }) => refused(logins.ask('notes', request)))
    for (const { request } of [task, modern])
      expect(await refused(logins.ask('notes', request))).toContain('declined')
    await expect.poll(() => first.asked.length).toBe(1)
    await flush()
    expect([second.asked.length, third.asked.length]).toEqual([0, 0])
    left.abort()
    expect(await asks[0]).toBe('gone')
    expect(await asks[1]).toContain('declined')
    expect(await asks[2]).toContain('declined')
    expect(second.asked.length + third.asked.length).toBe(1)
    const fourth = userRequest(decline)
    await refused(logins.ask('notes', fourth.request))
    expect(fourth.asked).toHaveLength(1)
  })

  it('shows one address while an attempt is fresh, and another one for another user or server, or later', async () => {
    const servers = { notes: remote('notes', `${as.origin}/mcp`), wiki: remote('wiki', `${as.origin}/mcp`) }
    const { logins, advance } = made({ servers })
    const attemptOf = async (user: object = ada, server = 'notes') => {
      const text = await refused(logins.ask(server, userRequest({ user, capabilities: {} }).request))
      return logins.attempts.openTicket(ticketIn(text))
    }
    const first = await attemptOf()
    expect(first?.until).toBeGreaterThan(Date.now() + 9.5 * 60_000)
    expect((await attemptOf())?.id).toBe(first?.id)
    const others = [await attemptOf(bob), await attemptOf(ada, 'wiki')]
    expect(others.map((one) => one?.id)).not.toContain(first?.id)
    advance(4.9 * 60_000)
    expect((await attemptOf())?.id).toBe(first?.id)
    advance(0.2 * 60_000)
    const later = await attemptOf()
    expect(later?.id).not.toBe(first?.id)
    if (later) await logins.attempts.finish(later, { ok: false, reason: 'no' })
    const fresh = await attemptOf()
    expect(fresh?.id).not.toBe(later?.id)
    if (fresh) await logins.changed(fresh)
    expect((await attemptOf())?.id).not.toBe(fresh?.id)
  })
})

describe('replicas', () => {
  it('hear of a login that changed, and of one that was taken back', async () => {
    const told: unknown[] = []
    let hear: (value: Json) => unknown = () => undefined
    const bus = {
      on: (_: string, receive: typeof hear) => {
        hear = receive
      },
      tell: async (kind: string, value: Json) => told.push([kind, value]) > 0,
    }
    const { logins, gone } = made({ options: { shared: { store: new MemoryStore(), bus } } })
    const attempt = logins.attempts.begin(ada, 'notes', 60_000)
    await logins.changed(attempt)
    expect(told.splice(0)).toEqual([['login-changed', { id: attempt.id, user: ada.key, server: 'notes' }]])
    const context = logins.contextOf(ada)
    hear({ id: attempt.id, user: ada.key, server: 'notes' })
    expect([gone.length, logins.contextOf(ada)]).toEqual([0, context])
    hear({ user: ada.key, server: 'notes', gone: true })
    hear({ user: ada.key, gone: true })
    expect(gone.splice(0)).toEqual([
      [ada.key, 'notes'],
      [ada.key, undefined],
    ])
    expect(logins.contextOf(ada)).not.toBe(context)
    expect(await logins.revoke(ada, 'notes')).toBeUndefined()
    expect(await logins.revoke(ada)).toBeUndefined()
    expect(told).toEqual([
      ['login-changed', { user: ada.key, gone: true, server: 'notes' }],
      ['login-changed', { user: ada.key, gone: true }],
    ])
    expect(gone).toHaveLength(2)
  })
})

/** The pages behind an address of their own, and a browser that keeps cookies. */
async function browsing(logins: UserLogins) {
  const pages = loginPages(logins)
  const server = createServer((req, res) => {
    const path = (req.url ?? '').split('?')[0] ?? ''
    if (!pages?.owns(path)) return void res.writeHead(404).end()
    void pages.answer(req, res, path)
  })
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  ends.push(() => {
    server.closeAllConnections()
    server.close()
  })
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  let cookie = ''
  const open = async (path: string, init: RequestInit = {}) => {
    const headers = { ...(cookie && { cookie }), ...init.headers }
    const response = await fetch(`${origin}${path}`, { redirect: 'manual', ...init, headers })
    const set = response.headers.get('set-cookie')
    if (set) cookie = `other=1; ${set.split(';')[0]}`
    const text = await response.text()
    const title = /<title>(.*?)<\/title>/.exec(text)?.[1]
    return {
      status: response.status,
      title,
      text,
      to: response.headers.get('location') ?? '',
      set,
      headers: response.headers,
    }
  }
  const press = (ticket: string, text: string, more: Record<string, string> = {}) =>
    open('/logins', {
      method: 'POST',
      headers: { 'content-type': 'application/x-www-form-urlencoded', ...more },
      body: new URLSearchParams({
        ticket,
        browser: /name="browser" value="(.*?)"/.exec(text)?.[1] ?? '',
      }).toString(),
    })
  const back = (to: string, answer: Record<string, string> = { code: 'code' }) =>
    open(
      `/logins/callback?${new URLSearchParams({ ...answer, state: new URL(to).searchParams.get('state') ?? '' })}`,
    )
  return { open, press, back, forget: () => (cookie = ''), cookie: () => cookie }
}

describe('the pages of a login', () => {
  async function begun(options: Made = {}, user: object = ada) {
    const whole = made(options)
    const browser = await browsing(whole.logins)
    const attempt = whole.logins.attempts.begin(user as typeof ada, 'notes', 600_000)
    return { ...whole, ...browser, attempt, ticket: whole.logins.attempts.ticket(attempt) }
  }

  it('lead from the link over the authorization server to a login that is kept for this user', async () => {
    const { logins, open, press, back, ticket, attempt } = await begun()
    const shown = await open(`/logins?ticket=${ticket}`)
    expect(shown).toMatchObject({ status: 200, title: 'Log in to &#34;notes&#34; for ada' })
    expect(shown.text).toContain('The user ada of the gateway gate.example')
    expect(shown.set).toMatch(
      /^__Host-plugboard-login=[\w-]{43}; Path=\/; HttpOnly; SameSite=Lax; Max-Age=3600; Secure$/,
    )
    expect([shown.headers.get('cache-control'), shown.headers.get('x-frame-options')]).toEqual([
      'no-store',
      'DENY',
    ])
    const gone = await press(ticket, shown.text)
    expect(gone.status).toBe(303)
    const visit = new URL(gone.to)
    expect([visit.origin + visit.pathname, visit.searchParams.get('client_id')]).toEqual([
      `${as.origin}/authorize`,
      'client-1',
    ])
    expect(visit.searchParams.get('redirect_uri')).toBe('https://gate.example/logins/callback')
    expect(await logins.mayConnect('notes', ada)).toBe(false)
    const done = await back(gone.to)
    expect(done).toMatchObject({ status: 200, title: 'ada is logged in to &#34;notes&#34;' })
    expect(await logins.attempts.outcome(attempt)).toEqual({ ok: true })
    expect([await logins.mayConnect('notes', ada), await logins.mayConnect('notes', bob)]).toEqual([
      true,
      false,
    ])
    expect(await logins.list()).toMatchObject([{ user: 'ada', server: 'notes', issuer: as.origin }])
    // What is finished is shown as finished, and a visit counts once.
    expect((await open(`/logins?ticket=${ticket}`)).title).toBe('You are logged in')
    expect((await press(ticket, shown.text)).title).toBe('You are logged in')
    expect((await back(gone.to)).status).toBe(400)
    // The registration serves the next user too.
    const next = logins.attempts.ticket(logins.attempts.begin(bob, 'notes', 600_000))
    const other = await press(next, (await open(`/logins?ticket=${next}`)).text)
    expect(new URL(other.to).searchParams.get('client_id')).toBe('client-1')
  })

  it('take a login back: it is gone for the user, and its connections end', async () => {
    const { logins, open, press, back, ticket, gone } = await begun()
    await back((await press(ticket, (await open(`/logins?ticket=${ticket}`)).text)).to)
    expect(await logins.revoke(bob, 'notes')).toBeUndefined()
    expect(await logins.revoke(ada, 'other')).toBeUndefined()
    expect(await logins.mayConnect('notes', ada)).toBe(true)
    gone.splice(0)
    expect(await logins.revoke(ada, 'notes')).toEqual({ servers: ['notes'] })
    expect([await logins.mayConnect('notes', ada), await logins.list(), gone]).toEqual([
      false,
      [],
      [[ada.key, 'notes']],
    ])
  })

  it('keep the registration of all users when one login fails', async () => {
    const { open, press, back, ticket } = await begun()
    const shown = await open(`/logins?ticket=${ticket}`)
    const clientOf = (to: string) => new URL(to).searchParams.get('client_id')
    as.answers['authorization_code'] = () => ({ status: 400, body: { error: 'invalid_grant' } })
    const { to } = await press(ticket, shown.text)
    await back(to)
    const denied = new URL((await press(ticket, shown.text)).to)
    expect(clientOf(denied.href)).toBe('client-1')
    for (let n = 0; n < 9; n++) expect(clientOf((await press(ticket, shown.text)).to)).toBe('client-1')
  })

  it('make the registration anew after visits that were not answered, once it is old', async () => {
    const { logins, open, press, back, advance } = await begun()
    const visit = async (user = ada) => {
      const ticket = logins.attempts.ticket(logins.attempts.begin(user, 'notes', 600_000))
      const { to } = await press(ticket, (await open(`/logins?ticket=${ticket}`)).text)
      return { to, client: new URL(to).searchParams.get('client_id') }
    }
    // Ten users who change their mind are no reason while the registration is young.
    for (let n = 0; n < 12; n++) expect((await visit()).client).toBe('client-1')
    advance(60 * 60_000 + 1)
    const renewed = await visit(bob)
    expect(renewed.client).toBe('client-2')
    // The visits before do not count against the new one, and a login that goes through begins the count anew.
    advance(60 * 60_000 + 1)
    for (let n = 0; n < 9; n++) expect((await visit()).client).toBe('client-2')
    expect((await back((await visit()).to)).title).toContain('ada is logged in')
    for (let n = 0; n < 10; n++) expect((await visit(bob)).client).toBe('client-2')
    expect((await visit(bob)).client).toBe('client-3')
  })

  it('tell the caller and the user when it goes wrong, and register anew where the server does not know the client', async () => {
    const { logins, open, press, back, ticket, attempt } = await begun()
    as.answers['authorization_code'] = () => ({ status: 401, body: { error: 'invalid_client' } })
    const shown = await open(`/logins?ticket=${ticket}`)
    const failed = await back((await press(ticket, shown.text)).to)
    expect(failed).toMatchObject({ status: 502, title: 'The login did not go through' })
    expect(await logins.attempts.outcome(attempt)).toMatchObject({
      ok: false,
      reason: expect.stringMatching(/\w+/),
    })
    expect(await logins.mayConnect('notes', ada)).toBe(false)
    const again = await press(ticket, shown.text)
    expect(new URL(again.to).searchParams.get('client_id')).toBe('client-2')
    as.answers['authorization_code'] = () => ({ access_token: 'secret', token_type: 'Bearer' })
    expect((await back(again.to)).status).toBe(200)
  })

  it('end a visit that is late: a login that was finished meanwhile stays', async () => {
    const { logins, open, press, back, ticket, attempt } = await begun()
    const { to } = await press(ticket, (await open(`/logins?ticket=${ticket}`)).text)
    await logins.attempts.finish(attempt, { ok: true })
    expect((await back(to)).status).toBe(400)
    expect(as.asked.some(({ what }) => what === 'authorization_code')).toBe(false)
  })

  it('tell a server that cannot be reached', async () => {
    const { open, press, ticket } = await begun()
    as.metadata = {}
    const failed = await press(ticket, (await open(`/logins?ticket=${ticket}`)).text)
    expect(failed).toMatchObject({ status: 502, title: 'The login did not go through' })
  })

  it('are not for what is not theirs', async () => {
    const { logins, open, press, back, ticket, forget, cookie } = await begun()
    const expired = { status: 410, title: 'This address is not valid any more' }
    expect(await open('/logins')).toMatchObject(expired)
    expect(await open('/logins?ticket=x')).toMatchObject({ ...expired, set: null })
    expect((await open('/login')).status).toBe(404)
    const foreign = logins.attempts.ticket(logins.attempts.begin(ada, 'other', 600_000))
    expect(await open(`/logins?ticket=${foreign}`)).toMatchObject(expired)
    expect((await open('/logins', { method: 'PUT' })).status).toBe(405)
    expect((await open('/logins/callback', { method: 'POST' })).status).toBe(405)
    expect((await open(`/logins?ticket=${ticket}`, { method: 'HEAD' })).status).toBe(200)
    expect((await open('/logins/callback')).status).toBe(400)
    forget()
    const { text } = await open(`/logins?ticket=${ticket}`)
    // A second login of the same browser has the same cookie.
    const before = cookie()
    await open(`/logins?ticket=${ticket}`)
    expect(cookie()).toBe(before)
    expect(await press('x', text)).toMatchObject(expired)
    expect(await press(foreign, text)).toMatchObject(expired)
    const no = { status: 403, title: 'Not started' }
    expect(await press(ticket, 'no such value')).toMatchObject(no)
    expect(await press(ticket, text, { 'sec-fetch-site': 'cross-site' })).toMatchObject(no)
    expect(await press(ticket, text, { 'content-type': 'text/plain' })).toMatchObject(no)
    expect(await press(`${ticket}${'x'.repeat(17_000)}`, text)).toMatchObject(no)
    expect((await press(ticket, text, { 'sec-fetch-site': 'same-origin' })).status).toBe(303)
    const { to } = await press(ticket, text, {
      'Content-Type': 'application/x-www-form-urlencoded; charset=utf-8',
    })
    expect(to).toContain('/authorize')
    forget()
    expect((await press(ticket, text)).status).toBe(403)
    expect((await press(ticket, 'no value')).status).toBe(403)
    expect((await back(to)).status).toBe(400)
    await open(`/logins?ticket=${ticket}`)
    expect((await back(to)).status).toBe(400)
  })

  it('have a plain cookie on plain http', async () => {
    const { open, ticket } = await begun({ options: { publicUrl: 'http://gate.example/base/' } })
    expect((await open(`/logins?ticket=${ticket}`)).set).toMatch(
      /^plugboard-login=[\w-]{43}; Path=\/; HttpOnly; SameSite=Lax; Max-Age=3600$/,
    )
  })

  it('ask the identity provider of the user first, where the operator says so', async () => {
    const known = { ...ada, issuer: as.origin, subject: 's1' }
    const verify = [{ issuer: as.origin, clientId: 'gate', clientSecretEnv: 'SECRET' }]
    const config = { servers: { notes: {} }, verify }
    for (const [user, client] of [
      [known, 'gate'],
      [{ ...known, issuer: 'https://other.example' }, 'client-1'],
      [{ ...ada, issuer: as.origin }, 'client-1'],
    ] as const) {
      const { open, press, ticket, back } = await begun({ config, env: { SECRET: 'x' } }, user)
      const { to } = await press(ticket, (await open(`/logins?ticket=${ticket}`)).text)
      expect(new URL(to).searchParams.get('client_id')).toBe(client)
      if (client !== 'gate') continue
      // No proof of who the user is: no login.
      expect((await back(to)).status).toBe(502)
    }
  })
})

it('without servers to log in to there are no pages', () => {
  expect(loginPages(undefined)).toBeUndefined()
})
