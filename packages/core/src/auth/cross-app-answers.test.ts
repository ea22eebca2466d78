// Single sign-on against answers made by hand: what an identity provider may say, and what each answer leads to.
import * as jose from 'jose'
import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { AuthRequired } from '../errors.ts'
import type { XaaSettings } from './context.ts'
import { loginToIdp, logoutOfIdp, renewByXaa } from './cross-app-access.ts'
import {
  type Json,
  type Reply,
  type ScriptedServer,
  startScriptedServer,
  visitor,
} from './fixtures/scripted-server.ts'
import { type AuthSetup, authSetup, cleanUp, remote } from './fixtures/setup.ts'

const ID_JAG = 'urn:ietf:params:oauth:token-type:id-jag'
const BEARER = 'urn:ietf:params:oauth:grant-type:jwt-bearer'
const EXCHANGE = 'urn:ietf:params:oauth:grant-type:token-exchange'
let keys: jose.GenerateKeyPairResult
let jwk: jose.JWK
beforeAll(async () => {
  keys = await jose.generateKeyPair('ES256', { extractable: true })
  jwk = { ...(await jose.exportJWK(keys.publicKey)), kid: 'k', alg: 'ES256' }
})

let server: ScriptedServer
let origin: string
let setup: AuthSetup
let settings: Partial<XaaSettings>
beforeEach(async () => {
  settings = {}
  server = await startScriptedServer()
  origin = server.origin
  server.documents['/jwks'] = { keys: [jwk] }
  Object.assign(server.answers, {
    authorization_code: async () => ({ access_token: 'x', id_token: await idToken(), refresh_token: 'r1' }),
    refresh_token: async () => ({ access_token: 'x', id_token: await idToken({ nonce: undefined }) }),
    [EXCHANGE]: () => ({ access_token: 'jag', issued_token_type: ID_JAG, token_type: 'N_A' }),
    [BEARER]: () => ({ access_token: 'at', token_type: 'bearer' }),
  })
})
afterEach(async () => {
  cleanUp(setup)
  await server.close()
})

function idToken(claims: Json = {}, lifetime = '1h', key: jose.CryptoKey = keys.privateKey): Promise<string> {
  const nonce = visits.at(-1)?.searchParams.get('nonce')
  const all: Json = { nonce, ...claims }
  return new jose.SignJWT(JSON.parse(JSON.stringify(all)))
    .setProtectedHeader({ alg: 'ES256', kid: 'k' })
    .setIssuer(String(claims['iss'] ?? origin))
    .setAudience(String(claims['aud'] ?? 'company'))
    .setSubject('ann')
    .setIssuedAt()
    .setExpirationTime(lifetime)
    .sign(key)
}

const mcp = (oauth: object = {}) => remote('one', `${origin}/mcp`, { oauth: { xaa: true, ...oauth } })
function open(env: Record<string, string> = {}): AuthSetup {
  setup = authSetup({ env, settings: { xaa: { issuer: origin, clientId: 'company', ...settings } } })
  return setup
}
const visits: URL[] = []
const user = visitor(visits)
const login = (context = open().context) => loginToIdp(mcp(), context, user)
const answerCode = (status: number, body: Json) =>
  (server.answers['authorization_code'] = () => ({ status, body }))
const grants = () => server.asked.map(({ what }) => what.split(':').at(-1))

describe('a login at the identity provider', () => {
  it('asks for the scopes that it supports, and for consent where it will be used offline', async () => {
    expect(await login()).toEqual({ askedUser: true })
    const [first] = visits.splice(0)
    expect([first?.searchParams.get('scope'), first?.searchParams.get('prompt')]).toEqual([
      'openid offline_access',
      'consent',
    ])
    cleanUp(setup)
    settings = { scopes: ['groups'] }
    server.metadata = { ...server.metadata, scopes_supported: ['openid', 'groups'] }
    await login()
    const [second] = visits.splice(0)
    expect([second?.searchParams.get('scope'), second?.searchParams.get('prompt')]).toEqual([
      'openid groups',
      null,
    ])
    cleanUp(setup)
    server.metadata = { ...server.metadata, scopes_supported: ['offline_access'] }
    await login()
    expect(visits.splice(0)[0]?.searchParams.get('scope')).toBe('openid offline_access groups')
  })

  it.each<[string, () => Promise<Reply>]>([
    ['none', async () => ({ access_token: 'x' })],
    [
      'one of another issuer',
      async () => ({ access_token: 'x', id_token: await idToken({ iss: 'https://x' }) }),
    ],
    ['one for another client', async () => ({ access_token: 'x', id_token: await idToken({ aud: 'else' }) })],
    ['one with another nonce', async () => ({ access_token: 'x', id_token: await idToken({ nonce: 'no' }) })],
    [
      'one without a nonce',
      async () => ({ access_token: 'x', id_token: await idToken({ nonce: undefined }) }),
    ],
    ['one that ended long ago', async () => ({ access_token: 'x', id_token: await idToken({}, '-1h') })],
    [
      'one of another key',
      async () => ({
        access_token: 'x',
        id_token: await idToken({}, '1h', (await jose.generateKeyPair('ES256')).privateKey),
      }),
    ],
  ])('needs an ID token, and refuses %s', async (_, reply) => {
    server.answers['authorization_code'] = reply
    await expect(login()).rejects.toMatchObject({ refusal: 'bad-id-token' })
    await expect(renewByXaa(mcp(), setup.context, undefined)).rejects.toBeInstanceOf(AuthRequired)
  })

  it.each<[string, () => unknown, object]>([
    ['refuses the code', () => answerCode(400, { error: 'invalid_grant' }), { refusal: 'token-refused' }],
    ['fails', () => answerCode(503, {}), { code: 'IO_ERROR' }],
    [
      'names another issuer',
      () => (server.metadata = { ...server.metadata, issuer: 'https://other.example' }),
      { refusal: 'issuer-mismatch' },
    ],
    ['publishes nothing', () => (settings = { issuer: `${origin}/elsewhere` }), { refusal: 'bad-metadata' }],
    ['is no address', () => (settings = { issuer: 'nonsense' }), { code: 'INVALID_INPUT' }],
  ])('fails where the provider %s', async (_, arrange, error) => {
    arrange()
    await expect(login()).rejects.toMatchObject(error)
  })

  it('authenticates with the secret of the settings, else of the environment, else with none', async () => {
    settings = { clientSecret: 'mine' }
    await login(open({ PLUGBOARD_XAA_CLIENT_SECRET: 'env' }).context)
    cleanUp(setup)
    settings = {}
    await login(open({ PLUGBOARD_XAA_CLIENT_SECRET: 'env' }).context)
    cleanUp(setup)
    await login()
    const basic = (secret: string) => `Basic ${Buffer.from(`company:${secret}`).toString('base64')}`
    expect(server.asked.map(({ headers }) => headers['authorization'] ?? '')).toEqual([
      basic('mine'),
      basic('env'),
      '',
    ])
  })

  it('is forgotten once', async () => {
    await login()
    expect(await logoutOfIdp(mcp(), setup.context)).toBe(true)
    expect(await logoutOfIdp(mcp(), setup.context)).toBe(false)
    await expect(renewByXaa(mcp(), setup.context, undefined)).rejects.toMatchObject({
      hint: expect.stringContaining('not logged in yet'),
    })
  })
})

describe('a token through single sign-on', () => {
  it('is had with the ID token while that lasts, and carries what both servers said', async () => {
    await login()
    server.asked.splice(0)
    const outcome = await renewByXaa(mcp({ scopes: ['read'] }), setup.context, undefined)
    expect(outcome).toMatchObject({
      kind: 'renewed',
      login: {
        grant: 'xaa',
        generation: 1,
        requestedScope: 'read',
        sendResource: false,
        client: { clientId: 'company', source: 'configured' },
        tokens: { accessToken: 'at' },
      },
    })
    expect(outcome.kind === 'renewed' && 'dpopKey' in outcome.login).toBe(false)
    expect(grants()).toEqual(['token-exchange', 'jwt-bearer'])
    const [exchange, bearer] = server.asked
    expect(Object.fromEntries(exchange?.params ?? [])).toMatchObject({
      requested_token_type: ID_JAG,
      audience: origin,
      resource: `${origin}/mcp`,
      scope: 'read',
    })
    expect(bearer?.params.get('assertion')).toBe('jag')
    expect([bearer?.params.has('resource'), bearer?.params.get('scope')]).toEqual([false, 'read'])
  })

  it('counts renewals, uses the client of the entry and leaves out what is not asked for', async () => {
    await login(open({ PLUGBOARD_CLIENT_SECRET_ONE: 'own' }).context)
    const first = await renewByXaa(mcp({ clientId: 'mine' }), setup.context, undefined)
    if (first.kind !== 'renewed') throw first.error
    expect(first.login.client).toEqual({ clientId: 'mine', clientSecret: 'own', source: 'configured' })
    expect('requestedScope' in first.login).toBe(false)
    const second = await renewByXaa(mcp(), setup.context, first.login)
    expect(second).toMatchObject({
      kind: 'renewed',
      login: { generation: 2, client: { clientId: 'company' } },
    })
  })

  it('is bound to one key where the server wants that', async () => {
    await login()
    server.documents['/.well-known/oauth-protected-resource/mcp'] = {
      resource: `${origin}/mcp`,
      authorization_servers: [origin],
      dpop_bound_access_tokens_required: true,
    }
    server.answers[BEARER] = () => ({ access_token: 'at', token_type: 'DPoP' })
    const first = await renewByXaa(mcp(), setup.context, undefined)
    if (first.kind !== 'renewed') throw first.error
    expect(first.login.dpopKey?.kty).toBe('EC')
    const second = await renewByXaa(mcp(), setup.context, first.login)
    expect(second).toMatchObject({ login: { dpopKey: first.login.dpopKey, tokens: { type: 'dpop' } } })
  })

  it.each<[string, string, Reply, object]>([
    [
      'the exchange is refused',
      EXCHANGE,
      { status: 400, body: { error: 'invalid_grant' } },
      { kind: 'failed', failure: 'grant-dead' },
    ],
    ['the exchange fails', EXCHANGE, { status: 503, body: {} }, { kind: 'failed', failure: 'temporary' }],
    [
      'the token is refused',
      'urn:ietf:params:oauth:grant-type:jwt-bearer',
      { status: 400, body: { error: 'invalid_grant' } },
      { kind: 'failed', failure: 'grant-dead' },
    ],
    [
      'the token fails',
      'urn:ietf:params:oauth:grant-type:jwt-bearer',
      { status: 500, body: {} },
      { kind: 'failed', failure: 'temporary' },
    ],
  ])('is not had where %s', async (_, grant, reply, expected) => {
    await login()
    server.answers[grant] = () => reply
    expect(await renewByXaa(mcp(), setup.context, undefined)).toMatchObject(expected)
  })

  it.each([undefined, 'urn:ietf:params:oauth:token-type:access_token'])(
    'needs a grant from the exchange, not %s',
    async (type) => {
      await login()
      server.answers[EXCHANGE] = () => ({ access_token: 'x', ...(type && { issued_token_type: type }) })
      await expect(renewByXaa(mcp(), setup.context, undefined)).rejects.toMatchObject({
        refusal: 'bad-response',
      })
    },
  )

  it('renews an ID token that has ended, and keeps the refresh token that is not replaced', async () => {
    await login()
    server.asked.splice(0)
    for (const hours of [2, 4]) {
      setup.advance(2 * 3_600_000)
      expect(await renewByXaa(mcp(), setup.context, undefined)).toMatchObject({ kind: 'renewed' })
      expect(grants()).toEqual(['refresh_token', 'token-exchange', 'jwt-bearer'])
      expect([hours, server.asked[0]?.params.get('refresh_token')]).toEqual([hours, 'r1'])
      server.asked.splice(0)
    }
    expect(await loginToIdp(mcp(), setup.context, user)).toEqual({ askedUser: false })
    server.answers['refresh_token'] = async () => ({
      access_token: 'x',
      id_token: await idToken(),
      refresh_token: 'r2',
    })
    setup.advance(2 * 3_600_000)
    await renewByXaa(mcp(), setup.context, undefined)
    server.asked.splice(0)
    setup.advance(2 * 3_600_000)
    await renewByXaa(mcp(), setup.context, undefined)
    expect(server.asked[0]?.params.get('refresh_token')).toBe('r2')
  })

  it.each<[string, Reply | undefined, object]>([
    [
      'without a refresh token',
      undefined,
      { code: 'AUTH_REQUIRED', hint: expect.stringContaining('has ended') },
    ],
    [
      'that is refused',
      { status: 400, body: { error: 'invalid_grant' } },
      { code: 'AUTH_REQUIRED', hint: expect.stringContaining('has ended') },
    ],
    ['that fails', { status: 503, body: {} }, { code: 'IO_ERROR' }],
  ])('is not had with an ended login %s', async (_, reply, error) => {
    if (reply) server.answers['refresh_token'] = () => reply
    else server.answers['authorization_code'] = async () => ({ access_token: 'x', id_token: await idToken() })
    await login()
    setup.advance(2 * 3_600_000)
    await expect(renewByXaa(mcp(), setup.context, undefined)).rejects.toMatchObject(error)
  })
})
