// Logins, renewals and requests against answers made by hand: what is sent, what is kept, and what each answer leads to.
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { AuthRequired, Cancelled } from '../errors.ts'
import { AUTH_LIMITS } from '../limits.ts'
import type { MachineSettings, RemoteServer } from './context.ts'
import { type Reply, type ScriptedServer, startScriptedServer, visitor } from './fixtures/scripted-server.ts'
import { type AuthSetup, authSetup, cleanUp, remote } from './fixtures/setup.ts'
import { login, logout } from './login.ts'
import { machineLoginFor, outcomeOf, refresherFor } from './login-renewal.ts'
import { needsAuth, rememberNeedsAuth } from './needs-auth.ts'
import { type AuthResponse, authFor, type LoginHeaders } from './request-auth.ts'
import { type Login, loadLogin, saveLogin } from './stored-logins.ts'

let server: ScriptedServer
let setup: AuthSetup
const visits: URL[] = []
beforeEach(async () => {
  server = await startScriptedServer()
  server.metadata = { ...server.metadata, registration_endpoint: `${server.origin}/register` }
  Object.assign(server.answers, {
    '/register': () => ({ client_id: `client-${server.asked.length}` }),
    authorization_code: () => ({ access_token: 'a1', refresh_token: 'r1', expires_in: 3600 }),
    refresh_token: () => ({ access_token: `a${server.asked.length + 1}`, expires_in: 3600 }),
    client_credentials: () => ({ access_token: 'machine', expires_in: 3600 }),
    'urn:ietf:params:oauth:grant-type:jwt-bearer': () => ({ access_token: 'bearer' }),
  })
  setup = authSetup()
  visits.splice(0)
})
afterEach(async () => {
  cleanUp(setup)
  await server.close()
})
const mcp = (oauth: object = {}): RemoteServer => remote('one', `${server.origin}/mcp`, { oauth })
const resource = (more: object = {}) => {
  server.documents['/.well-known/oauth-protected-resource/mcp'] = {
    resource: `${server.origin}/mcp`,
    ...more,
  }
}
const sent = (what: string) => server.asked.filter((one) => one.what === what)
const answer = (what: string, reply: Reply) => {
  server.answers[what] = () => reply
}
const signIn = (oauth: object = {}) => login(mcp(oauth), setup.context, visitor(visits))

describe('a login', () => {
  it('says what it got, and sends what the server published', async () => {
    resource({ scopes_supported: ['read'] })
    const result = await signIn()
    expect(result).toEqual({
      server: 'one',
      issuer: server.origin,
      resource: `${server.origin}/mcp`,
      scope: 'read',
      expiresAt: expect.any(Number),
      renewable: true,
      client: 'registered',
      askedUser: true,
      vault: 'file',
    })
    const page = visits[0]?.searchParams
    expect([page?.get('resource'), page?.get('scope'), page?.get('prompt')]).toEqual([
      `${server.origin}/mcp`,
      'read',
      null,
    ])
    expect(sent('authorization_code')[0]?.params.get('resource')).toBe(`${server.origin}/mcp`)
    expect(await loadLogin(mcp(), setup.context)).toMatchObject({
      generation: 1,
      requestedScope: 'read',
      sendResource: true,
    })
  })

  it('leaves out what the server did not publish and the answer did not say', async () => {
    answer('authorization_code', { access_token: 'a1' })
    const result = await signIn()
    expect(result).not.toHaveProperty('scope')
    expect(result).not.toHaveProperty('expiresAt')
    expect(result.renewable).toBe(false)
    expect(visits[0]?.searchParams.has('resource')).toBe(false)
    expect(sent('authorization_code')[0]?.params.has('resource')).toBe(false)
    const kept = await loadLogin(mcp(), setup.context)
    expect([kept?.sendResource, kept && 'requestedScope' in kept, kept && 'dpopKey' in kept]).toEqual([
      false,
      false,
      false,
    ])
  })

  it('asks for consent where it will be used offline, and for a bound token where one is needed', async () => {
    server.metadata = { ...server.metadata, scopes_supported: ['a', 'offline_access'] }
    resource({ dpop_bound_access_tokens_required: true })
    await signIn()
    expect(visits[0]?.searchParams.get('prompt')).toBe('consent')
    expect(sent('authorization_code')[0]?.headers['dpop']).toEqual(expect.any(String))
    expect((await loadLogin(mcp(), setup.context))?.dpopKey).toBeDefined()
  })

  it('keeps the scopes, the registration and the port of the last one at the same place', async () => {
    resource()
    await signIn({ scopes: ['old'] })
    await signIn({ scopes: ['old'] })
    expect(sent('/register')).toHaveLength(1)
    await signIn({ scopes: ['new'] })
    // A registration names its scopes.
    expect(sent('/register')).toHaveLength(2)
    const [first, second, third] = visits.map(({ searchParams }) => searchParams)
    expect(third?.get('scope')).toBe('old new')
    expect(second?.get('redirect_uri')).toBe(first?.get('redirect_uri'))
    expect((await loadLogin(mcp(), setup.context))?.generation).toBe(3)
  })

  it('that fails throws what the server said, keeps the old one, and registers anew next time', async () => {
    await signIn()
    answer('authorization_code', { status: 400, body: { error: 'invalid_grant' } })
    await expect(signIn()).rejects.toMatchObject({ refusal: 'token-refused' })
    const kept = await loadLogin(mcp(), setup.context)
    expect([kept?.tokens.accessToken, kept?.client.redirectUri]).toEqual(['a1', undefined])
    answer('authorization_code', { access_token: 'a9' })
    await signIn()
    expect(sent('/register')).toHaveLength(2)
  })

  it('that fails leaves a login alone that another process made meanwhile', async () => {
    await signIn()
    const newer = { ...(await stored()), generation: 9 }
    server.answers['authorization_code'] = async () => {
      await saveLogin(mcp(), setup.context, newer)
      return { status: 400, body: { error: 'invalid_grant' } }
    }
    await expect(signIn()).rejects.toMatchObject({ refusal: 'token-refused' })
    expect((await stored()).client.redirectUri).toBe(newer.client.redirectUri)
  })

  it('is not begun where it could not be kept', async () => {
    const full = { ...setup.context.vault, set: () => Promise.reject(new Error('full')) }
    const context = { ...setup.context, vault: full }
    await expect(login(mcp(), context, visitor(visits))).rejects.toThrow('full')
    expect(visits).toEqual([])
  })

  it('is cancelled by its signal, before it and while it waits', async () => {
    const silent = { openBrowser: false, onUrl: () => undefined }
    await expect(login(mcp(), setup.context, { ...silent, signal: AbortSignal.abort() })).rejects.toThrow(
      Cancelled,
    )
    const stop = new AbortController()
    const waiting = login(mcp(), setup.context, { ...silent, onUrl: () => stop.abort(), signal: stop.signal })
    await expect(waiting).rejects.toThrow(Cancelled)
  })
})

const stored = async (): Promise<Login> => {
  const found = await loadLogin(mcp(), setup.context)
  if (!found) throw new Error('no login')
  return found
}

describe('logging out', () => {
  const REVOKE = '/revoke'
  beforeEach(() => {
    server.metadata = { ...server.metadata, revocation_endpoint: `${server.origin}${REVOKE}` }
  })

  it.each<[string, (hint: string) => number, boolean, boolean, number]>([
    ['takes back both tokens', () => 200, true, true, 2],
    [
      'stops where the refresh token is refused',
      (hint) => (hint === 'refresh_token' ? 400 : 200),
      true,
      false,
      1,
    ],
    [
      'does not mind an access token that cannot be taken back',
      (hint) => (hint === 'access_token' ? 400 : 200),
      true,
      true,
      2,
    ],
    ['needs it where there is no other', () => 400, false, false, 1],
    ['takes back the only one', () => 200, false, true, 1],
  ])('%s', async (_, status, renewable, revoked, requests) => {
    if (!renewable) answer('authorization_code', { access_token: 'a1' })
    await signIn()
    server.answers[REVOKE] = (params) => ({ status: status(params.get('token_type_hint') ?? ''), body: {} })
    const result = await logout(mcp(), setup.context)
    expect([result.forgotten, result.revoked, sent(REVOKE).length]).toEqual([true, revoked, requests])
    expect(result.reason).toBe(revoked ? undefined : 'The authorization server answered 400.')
    expect(await loadLogin(mcp(), setup.context)).toBeUndefined()
  })

  it('says why nothing was taken back', async () => {
    expect(await logout(mcp(), setup.context)).toEqual({
      server: 'one',
      forgotten: false,
      revoked: false,
      reason: 'There was no login.',
    })
    const { revocation_endpoint: _, ...without } = server.metadata
    server.metadata = without
    await signIn()
    expect(await logout(mcp(), setup.context)).toMatchObject({
      forgotten: true,
      reason: 'The authorization server has no revocation endpoint.',
    })
  })
})

describe('the outcome of a renewal', () => {
  const error = new AuthRequired('s')
  it.each([
    ['invalid_grant', 'grant-dead'],
    ['something', 'grant-dead'],
    ['invalid_client', 'client-dead'],
    ['unauthorized_client', 'client-dead'],
    ['temporarily_unavailable', 'temporary'],
    ['server_error', 'temporary'],
    ['slow_down', 'temporary'],
  ])('after %s is %s', (code, failure) => {
    const build = () => {
      throw new Error('not built')
    }
    expect(outcomeOf({ kind: 'refused', code, error }, build)).toEqual({ kind: 'failed', failure, error })
    expect(outcomeOf({ kind: 'trouble', error }, build)).toMatchObject({ failure: 'temporary' })
  })

  it.each([true, false])('sends the resource only where it was published: %s', async (published) => {
    if (published) resource()
    await signIn({ scopes: ['s'] })
    const renewed = await refresherFor(mcp(), setup.context).get({ rejected: undefined })
    expect(renewed.tokens.accessToken).toBe('a1')
    setup.advance(3_600_000)
    const again = await refresherFor(mcp(), setup.context).get()
    expect(again).toMatchObject({ generation: 2, tokens: { refreshToken: 'r1' } })
    const params = sent('refresh_token')[0]?.params
    expect([params?.get('refresh_token'), params?.has('resource')]).toEqual(['r1', published])
  })

  it('keeps the scope that was granted, unless the answer names another', async () => {
    answer('authorization_code', { access_token: 'a1', refresh_token: 'r1', expires_in: 3600, scope: 'x' })
    await signIn()
    setup.advance(3_600_000)
    expect((await refresherFor(mcp(), setup.context).get()).tokens.scope).toBe('x')
    answer('refresh_token', { access_token: 'a3', refresh_token: 'r2', scope: 'y' })
    setup.advance(3_600_000)
    expect((await refresherFor(mcp(), setup.context).get()).tokens).toMatchObject({
      scope: 'y',
      refreshToken: 'r2',
    })
  })

  it('is awaited no longer than its signal allows, and goes on for others', async () => {
    await signIn()
    setup.advance(3_600_000)
    const refresher = refresherFor(mcp(), setup.context)
    const stop = new AbortController()
    const one = refresher.get({ signal: stop.signal })
    const two = refresher.get()
    stop.abort()
    await expect(one).rejects.toThrow()
    expect((await two).generation).toBe(2)
    expect(sent('refresh_token')).toHaveLength(1)
  })

  it('begins ahead of time by a part of the margin that differs, and only for a new token', async () => {
    answer('authorization_code', { access_token: 'a1', refresh_token: 'r1', expires_in: 36_000 })
    await signIn()
    let random = 0
    const context = { ...setup.context, host: { ...setup.context.host, random: () => random } }
    const refresher = refresherFor(mcp(), context)
    await refresher.get()
    const { expiresAt = 0 } = (await stored()).tokens
    const left = (ms: number) => setup.advance(expiresAt - setup.context.host.now() - ms)
    left(AUTH_LIMITS.refreshAheadMs + 1000)
    expect((await refresher.get()).generation).toBe(1)
    random = 1
    left(AUTH_LIMITS.refreshAheadMs - AUTH_LIMITS.refreshJitterMs + 500)
    expect((await refresher.get()).generation).toBe(2)
  })
})

describe('a machine login', () => {
  const machine = (over: Partial<MachineSettings> = {}) => {
    const settings = {
      machines: { one: { clientId: 'bot', clientSecret: 'sesame', url: server.origin, ...over } },
    }
    return { ...setup.context, settings }
  }
  const renewed = (over: Partial<MachineSettings> = {}, oauth: object = {}) =>
    refresherFor(mcp(oauth), machine(over)).get()

  it.each<[string, () => Partial<MachineSettings>, object | undefined]>([
    ['its origin', () => ({ url: server.origin }), undefined],
    ['its address', () => ({ url: `${server.origin}/mcp` }), undefined],
    ['its address with a slash', () => ({ url: `${server.origin}/mcp/` }), undefined],
    ['its address as a WebSocket', () => ({ url: `${server.origin.replace('http', 'ws')}/mcp` }), undefined],
    ['a path beside it', () => ({ url: `${server.origin}/mc` }), { refusal: 'address-mismatch' }],
    ['a path below it', () => ({ url: `${server.origin}/mcp/x` }), { refusal: 'address-mismatch' }],
    ['another origin', () => ({ url: 'https://other.example/mcp' }), { refusal: 'address-mismatch' }],
    ['no address', () => ({ url: 'nonsense' }), { refusal: 'address-mismatch' }],
    ['nothing', () => ({ url: undefined as never }), { refusal: 'unbound-credentials' }],
    ['its issuer', () => ({ url: undefined as never, issuer: server.origin }), undefined],
    ['another issuer', () => ({ issuer: 'https://other.example' }), { refusal: 'issuer-mismatch' }],
  ])('for %s', async (_, over, error) => {
    const attempt = renewed(over())
    if (error) {
      await expect(attempt).rejects.toMatchObject(error)
      expect(sent('client_credentials')).toEqual([])
    } else expect((await attempt).tokens.accessToken).toBe('machine')
  })

  it('sends the scopes of the settings, else those of the resource without offline access', async () => {
    resource({ scopes_supported: ['a', 'offline_access'] })
    server.metadata = { ...server.metadata, scopes_supported: ['openid'] }
    const scopeOf = async (over: Partial<MachineSettings> = {}, oauth: object = {}) => {
      cleanUp(setup)
      setup = authSetup()
      const made = await renewed(over, oauth)
      return [sent('client_credentials').at(-1)?.params.get('scope') ?? null, made.requestedScope]
    }
    expect(await scopeOf({ scopes: ['x', 'y'] })).toEqual(['x y', 'x y'])
    expect(await scopeOf()).toEqual(['a', 'a'])
    resource({ scopes_supported: ['offline_access'] })
    expect(await scopeOf()).toEqual([null, undefined])
    resource()
    expect(await scopeOf()).toEqual([null, undefined])
    expect(sent('client_credentials').at(-1)?.params.get('resource')).toBe(`${server.origin}/mcp`)
  })

  it('keeps its secret out of the vault, and counts its renewals', async () => {
    const first = await renewed()
    expect(first).toMatchObject({ generation: 1, grant: 'client_credentials', sendResource: false })
    expect(first.client).toEqual({ clientId: 'bot', source: 'configured' })
    expect('dpopKey' in first).toBe(false)
    expect(sent('client_credentials')[0]?.params.has('resource')).toBe(false)
    expect(sent('client_credentials')[0]?.headers['authorization']).toBe(
      `Basic ${Buffer.from('bot:sesame').toString('base64')}`,
    )
    setup.advance(3_600_000)
    expect((await renewed()).generation).toBe(2)
    expect(await login(mcp(), machine(), visitor(visits))).toMatchObject({
      askedUser: false,
      renewable: true,
    })
    expect(visits).toEqual([])
  })

  it('is bound to one key where the server wants that', async () => {
    resource({ authorization_servers: [server.origin], dpop_bound_access_tokens_required: true })
    answer('client_credentials', { access_token: 'bound', token_type: 'DPoP', expires_in: 3600 })
    const first = await renewed()
    expect(first.dpopKey?.kty).toBe('EC')
    setup.advance(3_600_000)
    expect(await renewed()).toMatchObject({ generation: 2, dpopKey: first.dpopKey })
  })

  it('needs a private key that is one, and says nothing of it', async () => {
    const k = Buffer.from('a secret that is long enough').toString('base64url')
    const attempt = renewed({ privateKey: { kty: 'oct', k }, alg: 'HS256' })
    await expect(attempt).rejects.toMatchObject({
      refusal: 'token-refused',
      message: 'The private key of client "bot" is not a HS256 key.',
    })
  })

  it('is there before the first request, which carries it', async () => {
    const carried: LoginHeaders[] = []
    const run = async (headers: LoginHeaders) => {
      carried.push(headers)
      return { status: 200, header: () => undefined, discard: () => undefined }
    }
    const at = { method: 'POST', url: new URL(`${server.origin}/mcp`) }
    await authFor(mcp(), machine())?.send(at, run)
    answer('urn:ietf:params:oauth:grant-type:token-exchange', {
      access_token: 'exchanged',
      token_type: 'bearer',
      issued_token_type: 'x',
    })
    const exchanges = {
      two: { issuer: server.origin, clientId: 'gateway', subjectToken: () => 'mine' },
    }
    const two = remote('two', `${server.origin}/mcp`)
    await authFor(two, { ...setup.context, settings: { exchanges } })?.send(at, run)
    expect(carried).toEqual([{ authorization: 'Bearer machine' }, { authorization: 'Bearer exchanged' }])
  })

  it('exchanges an assertion, read anew each time', async () => {
    let count = 0
    const assertion = async () => `jwt-${++count}`
    expect((await renewed({ assertion })).tokens.accessToken).toBe('bearer')
    setup.advance(100)
    await refresherFor(mcp(), machine({ assertion }))
      .get({ rejected: 'bearer' })
      .catch(() => undefined)
    expect(sent('urn:ietf:params:oauth:grant-type:jwt-bearer')[0]?.params.get('assertion')).toBe('jwt-1')
    expect(sent('client_credentials')).toEqual([])
    cleanUp(setup)
    setup = authSetup()
    await renewed({ assertion: 'fixed' })
    expect(server.asked.at(-1)?.params.get('assertion')).toBe('fixed')
  })

  it('is had again by a login after the server refused it', async () => {
    await renewed()
    expect(sent('client_credentials')).toHaveLength(1)
    await login(mcp(), machine(), visitor())
    expect(sent('client_credentials')).toHaveLength(1)
    await rememberNeedsAuth(mcp(), setup.context)
    await login(mcp(), machine(), visitor())
    expect(sent('client_credentials')).toHaveLength(2)
    expect(await needsAuth(mcp(), setup.context)).toBeUndefined()
  })

  it('is found by the name of the server, for the user’s own', () => {
    const context = machine()
    expect(machineLoginFor(mcp(), context)?.clientId).toBe('bot')
    expect(machineLoginFor({ ...mcp(), author: 'repository' }, context)).toBeUndefined()
    expect(machineLoginFor(remote('toString', server.origin), context)).toBeUndefined()
    expect(machineLoginFor(mcp(), setup.context)).toBeUndefined()
  })
})

describe('a request', () => {
  interface Answered extends AuthResponse {
    readonly body: string
  }
  /** Answers in turn, and what each attempt carried. */
  const exchange = (...statuses: (number | readonly [number, Record<string, string>])[]) => {
    const carried: LoginHeaders[] = []
    const discarded: number[] = []
    const run = async (headers: LoginHeaders): Promise<Answered> => {
      const at = carried.push(headers) - 1
      const given = statuses[Math.min(at, statuses.length - 1)] ?? 200
      const [status, fields] = typeof given === 'number' ? [given, {} as Record<string, string>] : given
      return {
        status,
        header: (name) => fields[name],
        discard: () => discarded.push(at),
        body: `answer ${at}`,
      }
    }
    return { carried, discarded, run }
  }
  const url = () => new URL(`${server.origin}/mcp`)
  const send = (one: ReturnType<typeof exchange>, of = mcp(), context = setup.context, to = url()) => {
    const auth = authFor(of, context)
    if (!auth) throw new Error('no auth')
    return auth.send({ method: 'POST', url: to }, one.run)
  }
  const keep = (over: Partial<Login> = {}, of = mcp()) =>
    saveLogin(of, setup.context, {
      version: 1,
      grant: 'authorization_code',
      server: 'one',
      url: of.entry.url,
      as: { issuer: server.origin, token_endpoint: `${server.origin}/token` },
      resource: of.entry.url,
      sendResource: false,
      client: { clientId: 'c', source: 'registered' },
      tokens: { accessToken: 'kept', refreshToken: 'r', type: 'bearer', obtainedAt: 0 },
      generation: 1,
      ...over,
    })

  it('has an auth only where there is an address', () => {
    expect(authFor(remote('x', 'nonsense'), setup.context)).toBeUndefined()
    const local = { ...mcp(), entry: { type: 'stdio' as const, command: 'x', args: [], env: {} } }
    expect(authFor(local, setup.context)).toBeUndefined()
    expect(authFor(mcp(), setup.context)).toBeDefined()
  })

  it('carries the login to its own origin, and none elsewhere or without one', async () => {
    const open = exchange(200)
    await send(open)
    await keep()
    await send(open)
    await send(open, mcp(), setup.context, new URL('https://other.example/mcp'))
    expect(open.carried).toEqual([{}, { authorization: 'Bearer kept' }, {}])
    const refusedElsewhere = exchange(401)
    const response = await send(refusedElsewhere, mcp(), setup.context, new URL('https://other.example/mcp'))
    expect([response.status, refusedElsewhere.carried.length]).toEqual([401, 1])
  })

  it('carries the header of the entry alone, and says where it is when it is refused', async () => {
    await keep()
    const fixed = { ...mcp(), entry: { ...mcp().entry, headers: { AUTHORIZATION: 'Bearer mine' } } }
    const fine = exchange(200)
    await send(fine, fixed)
    expect(fine.carried).toEqual([{}])
    await expect(send(exchange(401), fixed)).rejects.toMatchObject({
      hint: expect.stringContaining('settings.json'),
    })
    const scope = exchange([403, { 'www-authenticate': 'Bearer error="insufficient_scope"' }])
    expect((await send(scope, fixed)).status).toBe(403)
  })

  it('is sent again with a renewed login after a 401, and gives up after the second', async () => {
    await keep()
    const once = exchange(401, 200)
    expect((await send(once)).body).toBe('answer 1')
    expect(once.carried).toEqual([{ authorization: 'Bearer kept' }, { authorization: 'Bearer a2' }])
    expect(once.discarded).toEqual([0])
    const twice = exchange(401)
    await expect(send(twice)).rejects.toBeInstanceOf(AuthRequired)
    expect(await needsAuth(mcp(), setup.context)).toBeDefined()
  })

  it('without a login is refused at once after a 401, and the challenge is kept for the login', async () => {
    const one = exchange([401, { 'www-authenticate': 'DPoP scope="s", error="invalid_token"' }])
    await expect(send(one)).rejects.toBeInstanceOf(AuthRequired)
    expect([one.carried.length, one.discarded]).toEqual([1, [0]])
    expect(await needsAuth(mcp(), setup.context)).toEqual({
      scope: 's',
      dpop: true,
      since: expect.any(Number),
    })
    const next = exchange(200)
    await expect(send(next)).rejects.toBeInstanceOf(AuthRequired)
    expect(next.carried).toEqual([])
    const plain = exchange([401, { 'www-authenticate': 'Bearer' }])
    const other = remote('two', `${server.origin}/two`)
    await expect(send(plain, other)).rejects.toBeInstanceOf(AuthRequired)
    expect(await needsAuth(other, setup.context)).toEqual({ since: expect.any(Number) })
  })

  it('is tried in spite of a record when the user asks, and the record goes where the server accepts', async () => {
    await rememberNeedsAuth(mcp(), setup.context)
    const auth = authFor(mcp(), setup.context)
    const refused = exchange(300)
    auth?.tryAgain()
    await auth?.send({ method: 'GET', url: url() }, refused.run)
    expect(await needsAuth(mcp(), setup.context)).toBeDefined()
    await auth?.send({ method: 'GET', url: url() }, exchange(299).run)
    expect(await needsAuth(mcp(), setup.context)).toBeUndefined()
    // Only the first success after the user asked looks at the record.
    await rememberNeedsAuth(mcp(), setup.context)
    await auth?.send({ method: 'GET', url: url() }, exchange(200).run)
    expect(await needsAuth(mcp(), setup.context)).toBeDefined()
  })

  it('looks at the record once', async () => {
    const auth = authFor(mcp(), setup.context)
    await auth?.send({ method: 'GET', url: url() }, exchange(200).run)
    await rememberNeedsAuth(mcp(), setup.context)
    const second = exchange(200)
    await auth?.send({ method: 'GET', url: url() }, second.run)
    expect(second.carried).toEqual([{}])
  })

  it('finds a login that was made after a first request without one', async () => {
    const auth = authFor(mcp(), setup.context)
    await auth?.send({ method: 'GET', url: url() }, exchange(200).run)
    await keep()
    const later = exchange(200)
    await auth?.send({ method: 'GET', url: url() }, later.run)
    expect(later.carried).toEqual([{}])
    const refused = exchange(401, 200)
    await auth?.send({ method: 'GET', url: url() }, refused.run)
    expect(refused.carried).toEqual([{}, { authorization: 'Bearer kept' }])
  })

  it('that lacks a scope is passed on, or says what to grant', async () => {
    await keep()
    const other = exchange([403, { 'www-authenticate': 'Bearer error="forbidden"' }])
    expect((await send(other)).status).toBe(403)
    expect(other.discarded).toEqual([])
    const scope = exchange([
      403,
      { 'www-authenticate': 'Bearer error="insufficient_scope", scope="more kept"' },
    ])
    const error = await send(scope).catch((caught) => caught)
    expect([error instanceof AuthRequired, error.hint]).toEqual([true, expect.stringContaining('(more ***)')])
    expect(scope.discarded).toEqual([0])
    const silent = await send(
      exchange([403, { 'www-authenticate': 'Bearer error="insufficient_scope"' }]),
    ).catch((caught) => caught)
    expect(silent.hint).toMatch(/requires more scopes than were granted\. Run/)
  })

  it('proves a bound token, and answers the nonce of the server once', async () => {
    const { newDpopKey } = await import('./dpop.ts')
    const dpopKey = await newDpopKey()
    await keep({ dpopKey, tokens: { accessToken: 'bound', refreshToken: 'r', type: 'dpop', obtainedAt: 0 } })
    const nonceOf = ({ dpop }: LoginHeaders) =>
      JSON.parse(Buffer.from(dpop?.split('.')[1] ?? '', 'base64url').toString()).nonce
    const one = exchange([401, { 'dpop-nonce': 'n1' }], 200)
    await send(one)
    expect(one.carried.map((headers) => [headers['authorization'], nonceOf(headers)])).toEqual([
      ['DPoP bound', undefined],
      ['DPoP bound', 'n1'],
    ])
    const long = exchange([401, { 'dpop-nonce': 'n'.repeat(513) }], 200)
    await send(long)
    expect(long.carried[1]?.['authorization']).toBe('Bearer a2')
    // A token that says it is bound, without a key, is an ordinary one.
    await keep(
      { tokens: { accessToken: 'odd', type: 'dpop', obtainedAt: 0 } },
      remote('one', `${server.origin}/odd`),
    )
    const odd = exchange(200)
    await send(odd, remote('one', `${server.origin}/odd`))
    expect(odd.carried).toEqual([{ authorization: 'Bearer odd' }])
    // A nonce beside a success is remembered; one for a plain token is no reason to try again.
    await keep({}, remote('one', `${server.origin}/plain`))
    const plain = exchange([401, { 'dpop-nonce': 'n' }], 200)
    await send(plain, remote('one', `${server.origin}/plain`))
    expect(plain.carried.map(({ authorization }) => authorization)).toEqual([
      'Bearer kept',
      expect.stringMatching(/^Bearer a/),
    ])
  })

  it('takes a nonce as long as the limit', async () => {
    const { newDpopKey } = await import('./dpop.ts')
    const tokens = { accessToken: 'bound', refreshToken: 'r', type: 'dpop', obtainedAt: 0 } as const
    await keep({ dpopKey: await newDpopKey(), tokens })
    const one = exchange([401, { 'dpop-nonce': 'n'.repeat(512) }], 200)
    await send(one)
    expect(one.carried[1]?.['authorization']).toBe('DPoP bound')
  })

  it('that is refused with every login says so, frees each answer and keeps the challenge', async () => {
    await keep()
    const one = exchange([401, { 'www-authenticate': 'Bearer scope="more"' }])
    await expect(send(one)).rejects.toMatchObject({
      code: 'AUTH_REQUIRED',
      hint: expect.stringContaining('The server refuses the stored login.'),
    })
    expect(one.carried.map(({ authorization }) => authorization)).toEqual([
      'Bearer kept',
      expect.stringMatching(/^Bearer a/),
    ])
    expect(one.discarded).toEqual([0, 1])
    expect(await needsAuth(mcp(), setup.context)).toMatchObject({ scope: 'more' })
  })

  it('that the user asks for again changes no record where there is none', async () => {
    const touched: string[] = []
    const needs = {
      get: () => undefined,
      set: () => void touched.push('set'),
      delete: () => void touched.push('delete'),
    }
    const auth = authFor(mcp(), { ...setup.context, needs })
    auth?.tryAgain()
    await auth?.send({ method: 'POST', url: url() }, exchange(200).run)
    expect(touched).toEqual([])
  })

  it('fails as it is where the failure is no lack of a login', async () => {
    await keep({
      tokens: { accessToken: 'kept', refreshToken: 'r', type: 'bearer', obtainedAt: 0, expiresAt: 1 },
    })
    answer('refresh_token', { status: 503, body: {} })
    const one = exchange(200)
    await expect(send(one)).rejects.toMatchObject({ code: 'IO_ERROR' })
    expect(one.carried).toEqual([])
    expect(await needsAuth(mcp(), setup.context)).toBeUndefined()
  })
})
