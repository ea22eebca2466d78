// Single sign-on against answers made by hand: what an identity provider may say, and what each answer leads to.
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import * as jose from 'jose'
import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { AuthRequired } from '../errors.ts'
import type { XaaSettings } from './context.ts'
import { loginToIdp, logoutOfIdp, renewByXaa } from './cross-app-access.ts'
import { type AuthSetup, authSetup, cleanUp, remote } from './fixtures/setup.ts'

const ID_JAG = 'urn:ietf:params:oauth:token-type:id-jag'
const EXCHANGE = 'urn:ietf:params:oauth:grant-type:token-exchange'
type Json = Record<string, unknown>
type Reply = Json | { readonly status: number; readonly body: Json }

let keys: jose.GenerateKeyPairResult
let jwk: jose.JWK
beforeAll(async () => {
  keys = await jose.generateKeyPair('ES256', { extractable: true })
  jwk = { ...(await jose.exportJWK(keys.publicKey)), kid: 'k', alg: 'ES256' }
})

/** One server plays the identity provider, the authorization server and the resource. */
let server: Server
let origin: string
let metadata: Json
let tokens: Record<string, (params: URLSearchParams) => Promise<Reply> | Reply>
let asked: { readonly grant: string; readonly params: URLSearchParams; readonly authorization: string }[]
let setup: AuthSetup
let settings: Partial<XaaSettings>
let nonce: string

beforeEach(async () => {
  asked = []
  settings = {}
  server = createServer((request, response) => {
    const reply = (status: number, body: unknown) =>
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
    const { pathname } = new URL(request.url ?? '', origin)
    if (pathname === '/jwks') return reply(200, { keys: [jwk] })
    if (pathname === '/.well-known/openid-configuration') return reply(200, metadata)
    if (pathname === '/.well-known/oauth-authorization-server') return reply(200, { ...metadata })
    if (pathname !== '/token') return reply(404, {})
    let body = ''
    request.on('data', (chunk) => {
      body += String(chunk)
    })
    request.on('end', () => {
      const params = new URLSearchParams(body)
      const grant = params.get('grant_type') ?? ''
      asked.push({ grant, params, authorization: request.headers.authorization ?? '' })
      void Promise.resolve(tokens[grant]?.(params) ?? { status: 400, body: { error: 'unknown' } }).then(
        (given) => {
          const full = 'status' in given && 'body' in given
          reply(full ? Number(given['status']) : 200, full ? given['body'] : given)
        },
      )
    })
    return undefined
  })
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  metadata = {
    issuer: origin,
    authorization_endpoint: `${origin}/authorize`,
    token_endpoint: `${origin}/token`,
    jwks_uri: `${origin}/jwks`,
  }
  tokens = {
    authorization_code: async () => ({ access_token: 'x', id_token: await idToken(), refresh_token: 'r1' }),
    refresh_token: async () => ({ access_token: 'x', id_token: await idToken({ nonce: undefined }) }),
    [EXCHANGE]: () => ({ access_token: 'jag', issued_token_type: ID_JAG, token_type: 'N_A' }),
    'urn:ietf:params:oauth:grant-type:jwt-bearer': () => ({ access_token: 'at', token_type: 'bearer' }),
  }
})
afterEach(async () => {
  cleanUp(setup)
  await new Promise((done) => server.close(done))
})

function idToken(claims: Json = {}, lifetime = '1h', key: jose.CryptoKey = keys.privateKey): Promise<string> {
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
/** Walks to the page as a browser does, and comes back with a code. */
const visits: URL[] = []
const user = {
  openBrowser: false,
  onUrl: (url: string) => {
    const page = new URL(url)
    visits.push(page)
    nonce = page.searchParams.get('nonce') ?? ''
    const back = new URL(page.searchParams.get('redirect_uri') ?? '')
    back.search = new URLSearchParams({
      code: 'code',
      state: page.searchParams.get('state') ?? '',
    }).toString()
    void fetch(back).then((answer) => answer.text())
  },
}
const login = (context = open().context) => loginToIdp(mcp(), context, user)
const grants = () => asked.map(({ grant }) => grant.split(':').at(-1))

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
    metadata = { ...metadata, scopes_supported: ['openid', 'groups'] }
    await login()
    const [second] = visits.splice(0)
    expect([second?.searchParams.get('scope'), second?.searchParams.get('prompt')]).toEqual([
      'openid groups',
      null,
    ])
    cleanUp(setup)
    metadata = { ...metadata, scopes_supported: ['offline_access'] }
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
    tokens['authorization_code'] = reply
    await expect(login()).rejects.toMatchObject({ refusal: 'bad-id-token' })
    await expect(renewByXaa(mcp(), setup.context, undefined)).rejects.toBeInstanceOf(AuthRequired)
  })

  it.each<[string, () => void, object]>([
    [
      'refuses the code',
      () =>
        (tokens = {
          ...tokens,
          authorization_code: () => ({ status: 400, body: { error: 'invalid_grant' } }),
        }),
      { refusal: 'token-refused' },
    ],
    [
      'fails',
      () => (tokens = { ...tokens, authorization_code: () => ({ status: 503, body: {} }) }),
      { code: 'IO_ERROR' },
    ],
    [
      'names another issuer',
      () => (metadata = { ...metadata, issuer: 'https://other.example' }),
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
    expect(asked.map(({ authorization }) => authorization)).toEqual([basic('mine'), basic('env'), ''])
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
    asked.splice(0)
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
    const [exchange, bearer] = asked
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
    tokens[grant] = () => reply
    expect(await renewByXaa(mcp(), setup.context, undefined)).toMatchObject(expected)
  })

  it.each([undefined, 'urn:ietf:params:oauth:token-type:access_token'])(
    'needs a grant from the exchange, not %s',
    async (type) => {
      await login()
      tokens[EXCHANGE] = () => ({ access_token: 'x', ...(type && { issued_token_type: type }) })
      await expect(renewByXaa(mcp(), setup.context, undefined)).rejects.toMatchObject({
        refusal: 'bad-response',
      })
    },
  )

  it('renews an ID token that has ended, and keeps the refresh token that is not replaced', async () => {
    await login()
    asked.splice(0)
    for (const hours of [2, 4]) {
      setup.advance(2 * 3_600_000)
      expect(await renewByXaa(mcp(), setup.context, undefined)).toMatchObject({ kind: 'renewed' })
      expect(grants()).toEqual(['refresh_token', 'token-exchange', 'jwt-bearer'])
      expect([hours, asked[0]?.params.get('refresh_token')]).toEqual([hours, 'r1'])
      asked.splice(0)
    }
    expect(await loginToIdp(mcp(), setup.context, user)).toEqual({ askedUser: false })
    tokens['refresh_token'] = async () => ({
      access_token: 'x',
      id_token: await idToken(),
      refresh_token: 'r2',
    })
    setup.advance(2 * 3_600_000)
    await renewByXaa(mcp(), setup.context, undefined)
    asked.splice(0)
    setup.advance(2 * 3_600_000)
    await renewByXaa(mcp(), setup.context, undefined)
    expect(asked[0]?.params.get('refresh_token')).toBe('r2')
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
    if (reply) tokens['refresh_token'] = () => reply
    else tokens['authorization_code'] = async () => ({ access_token: 'x', id_token: await idToken() })
    await login()
    setup.advance(2 * 3_600_000)
    await expect(renewByXaa(mcp(), setup.context, undefined)).rejects.toMatchObject(error)
  })
})
