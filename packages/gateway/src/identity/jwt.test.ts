// Which access tokens are good, and what a token that is not good is told. A real issuer on loopback signs them.
import { generateKeyPair } from 'jose'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type IdentityProvider, startIdentityProvider } from '../../../../test/support/identity-provider.ts'
import { EVERYTHING } from '../access/exposure.ts'
import type { GatewayConfig, IssuerConfig } from '../config/schema.ts'
import { Identity } from './identity.ts'
import { claimedIssuer, JwtVerifier } from './jwt.ts'
import { challenge, protectedResource } from './protected-resource.ts'
import { VerifiedTokens } from './verified-tokens.ts'

const RESOURCE = 'https://gw.example/mcp'
let idp: IdentityProvider
beforeAll(async () => {
  idp = await startIdentityProvider(RESOURCE)
})
afterAll(() => idp.close())

const seconds = () => Math.floor(Date.now() / 1000)
async function verdict(
  claims: Readonly<Record<string, unknown>>,
  config: Partial<IssuerConfig> = {},
  header: Readonly<Record<string, unknown>> = {},
  now = Date.now(),
) {
  const verifier = new JwtVerifier({ issuer: idp.issuer, ...config }, RESOURCE)
  return await verifier.verify(await idp.token({ claims, header }), now)
}
const refused = (message: string) => ({ kind: 'invalid', message })

describe('a token', () => {
  it('names its user, its groups and its end', async () => {
    const exp = seconds() + 100
    expect(await verdict({ exp })).toEqual({
      issuer: idp.issuer,
      subject: 'ada',
      name: 'ada',
      groups: ['eng'],
      scopes: [],
      expires: (exp + 30) * 1000,
    })
    expect(await verdict({ exp }, { clockSkewSeconds: 0 })).toMatchObject({ expires: exp * 1000 })
    expect(await verdict({ groups: undefined })).toMatchObject({ groups: [] })
    expect(await verdict({ groups: 'ops' })).toMatchObject({ groups: ['ops'] })
    expect(await verdict({ groups: ['a', 5, 'b'] })).toMatchObject({ groups: ['a', 'b'] })
    expect(await verdict({ groups: { a: 1 } })).toMatchObject({ groups: [] })
  })

  it('has its claims where the configuration says', async () => {
    const realm = { realm: { roles: ['x'] }, 'https://x.example/groups': ['y'], email: 'a@b' }
    expect(await verdict(realm, { groupsClaim: 'realm.roles' })).toMatchObject({ groups: ['x'] })
    expect(await verdict(realm, { groupsClaim: 'https://x.example/groups' })).toMatchObject({ groups: ['y'] })
    expect(await verdict(realm, { groupsClaim: 'realm.none.deep' })).toMatchObject({ groups: [] })
    expect(await verdict(realm, { groupsClaim: 'realm.constructor' })).toMatchObject({ groups: [] })
    expect(await verdict(realm, { userClaim: 'email' })).toMatchObject({ name: 'a@b', subject: 'ada' })
    expect(await verdict({ email: 'x'.repeat(300) }, { userClaim: 'email' })).toMatchObject({
      name: 'x'.repeat(256),
    })
  })

  it.each([
    ['no user', { sub: undefined }, {}, refused('it names no user')],
    ['an empty user', { sub: '' }, {}, refused('it has no "sub"')],
    ['no name', {}, { userClaim: 'email' }, refused('it has no "email"')],
    ['an empty name', { email: '' }, { userClaim: 'email' }, refused('it has no "email"')],
    ['a name that is no text', { email: 5 }, { userClaim: 'email' }, refused('it has no "email"')],
    [
      'a name and an empty user',
      { email: 'x', sub: '' },
      { userClaim: 'email' },
      refused('it has no "email"'),
    ],
    ['a bound key', { cnf: { jkt: 'x' } }, {}, refused('it is bound to a key, and is no bearer token')],
    ['another audience', { aud: 'https://x' }, {}, refused('it was issued for another resource')],
    ['no end', { exp: undefined }, {}, refused('it has no end')],
    ['no scope', {}, { scopes: ['mcp'] }, { kind: 'scope', scopes: ['mcp'] }],
    ['another scope', { scope: 'a b' }, { scopes: ['mcp'] }, { kind: 'scope', scopes: ['mcp'] }],
    [
      'one of two scopes',
      { scope: 'mcp' },
      { scopes: ['mcp', 'x'] },
      { kind: 'scope', scopes: ['mcp', 'x'] },
    ],
  ])('with %s is refused', async (_, claims, config, wanted) => {
    expect(await verdict(claims, config)).toEqual(wanted)
  })

  it.each([
    [{ scope: 'mcp' }],
    [{ scope: 'a mcp b' }],
    [{ scp: 'mcp' }],
    [{ scp: ['a', 'mcp'] }],
    [{ scope: 'a', scp: ['mcp'] }],
  ])('has the scope mcp in %j', async (claims) => {
    expect(await verdict(claims, { scopes: ['mcp'] })).toMatchObject({ subject: 'ada' })
  })

  it('has its times, with the clocks a little apart', async () => {
    const now = 2_000_000_000_000
    const at = now / 1000
    const times = (claims: object, config = {}) =>
      verdict({ iat: at, exp: at + 100, ...claims }, config, {}, now)
    expect(await times({})).toMatchObject({ subject: 'ada' })
    expect(await times({ iat: undefined })).toMatchObject({ subject: 'ada' })
    expect(await times({ iat: at + 30 })).toMatchObject({ subject: 'ada' })
    expect(await times({ iat: at + 31 })).toEqual(refused('it was issued in the future'))
    expect(await times({ exp: at - 29 })).toMatchObject({ subject: 'ada' })
    expect(await times({ exp: at - 31 })).toEqual(refused('it has expired'))
    expect(await times({ exp: at - 29 }, { clockSkewSeconds: 10 })).toEqual(refused('it has expired'))
    expect(await times({ nbf: at + 31 })).toEqual(refused('it is not valid yet'))
    expect(await times({ nbf: 'x' })).toMatchObject({ kind: 'invalid' })
  })

  it.each([
    [undefined, true],
    ['JWT', true],
    ['at+jwt', true],
    ['application/AT+JWT', true],
    ['id+jwt', false],
    ['dpop+jwt', false],
  ])('of the type %s: %s', async (typ, isGood) => {
    const found = await verdict({}, {}, { typ })
    if (isGood) expect(found).toMatchObject({ subject: 'ada' })
    else expect(found).toEqual(refused('it is not an access token'))
  })

  it('with a key or an algorithm that is not the issuer’s says which', async () => {
    const verifier = new JwtVerifier({ issuer: idp.issuer }, RESOURCE)
    const { privateKey } = await generateKeyPair('ES256')
    const now = Date.now()
    const forged = await idp.token({ key: privateKey })
    expect(await verifier.verify(forged, now)).toEqual(refused('its signature is wrong'))
    const unknown = await idp.token({ header: { kid: 'other' } })
    expect(await verifier.verify(unknown, now)).toEqual(refused('its key is not one of the issuer'))
    const secret = new TextEncoder().encode('x'.repeat(32))
    const hmac = await idp.token({ key: secret, header: { alg: 'HS256' } })
    expect(await verifier.verify(hmac, now)).toEqual(refused('its algorithm is not accepted'))
    expect(await verifier.verify('a.b.c', now)).toEqual(refused('it cannot be read'))
  })
})

describe('the keys of an issuer', () => {
  const issuer = 'https://id.example/realm/'
  /** Answers by address; what is not there is a 404. */
  function fetcher(answers: Readonly<Record<string, unknown>>) {
    const asked: string[] = []
    const unread: Response[] = []
    const given = async (address: unknown, init?: RequestInit) => {
      asked.push(String(address))
      expect(init).toMatchObject({ redirect: 'error' })
      const answer = answers[String(address)]
      if (answer instanceof Error) throw answer
      if (answer === undefined) {
        const refused = new Response('{"issuer":"x"}', { status: 404 })
        unread.push(refused)
        return refused
      }
      return new Response(typeof answer === 'string' ? answer : JSON.stringify(answer))
    }
    return { asked, unread, given: given as typeof fetch }
  }
  const FIRST = 'https://id.example/.well-known/oauth-authorization-server/realm'
  const SECOND = 'https://id.example/realm/.well-known/openid-configuration'
  const THIRD = 'https://id.example/.well-known/openid-configuration/realm'
  const good = () => ({ issuer, jwks_uri: `${idp.issuer}/jwks` })
  const verified = async (answers: Readonly<Record<string, unknown>>) => {
    const { asked, unread, given } = fetcher(answers)
    const verifier = new JwtVerifier({ issuer }, RESOURCE, given)
    const found = await verifier.verify(await idp.token({ claims: { iss: issuer } }), Date.now())
    // An answer that is not read frees its connection.
    expect(unread.map(({ bodyUsed }) => bodyUsed)).toEqual(unread.map(() => true))
    return { found, asked }
  }

  it('are named by its metadata, at any of three addresses', async () => {
    expect(await verified({ [FIRST]: good() })).toMatchObject({ found: { subject: 'ada' }, asked: [FIRST] })
    expect(await verified({ [SECOND]: good() })).toMatchObject({
      found: { subject: 'ada' },
      asked: [FIRST, SECOND],
    })
    expect(await verified({ [THIRD]: good() })).toMatchObject({
      found: { subject: 'ada' },
      asked: [FIRST, SECOND, THIRD],
    })
  })

  it.each([
    ['about another issuer', () => ({ ...good(), issuer: 'https://other.example' })],
    ['that is no object', () => 'null'],
    ['without keys', () => ({ issuer })],
    ['with an address that is none', () => ({ issuer, jwks_uri: 'not an address' })],
    ['with an address that is no text', () => ({ issuer, jwks_uri: 5 })],
    ['with an address that can be read on the way', () => ({ issuer, jwks_uri: 'http://id.example/jwks' })],
    ['that is too long', () => JSON.stringify({ ...good(), more: 'x'.repeat(1024 * 1024) })],
  ])('are not taken from metadata %s', async (_, answer) => {
    const { found, asked } = await verified({ [FIRST]: answer(), [SECOND]: good() })
    expect(asked).toEqual([FIRST, SECOND])
    expect(found).toMatchObject({ subject: 'ada' })
    expect((await verified({ [FIRST]: answer() })).found).toMatchObject({ kind: 'unavailable' })
  })

  it('of metadata of the longest length are read', async () => {
    const whole = JSON.stringify(good())
    const padded = `${whole}${' '.repeat(1024 * 1024 - whole.length)}`
    expect((await verified({ [FIRST]: padded })).found).toMatchObject({ subject: 'ada' })
  })

  it('are looked for again a little after a failure, not at once', async () => {
    const { asked, given } = fetcher({ [FIRST]: new Error('down') })
    const verifier = new JwtVerifier({ issuer }, RESOURCE, given)
    const token = await idp.token({ claims: { iss: issuer } })
    const at = async (now: number) => {
      expect(await verifier.verify(token, now)).toEqual({
        kind: 'unavailable',
        message: `The keys of ${issuer} cannot be read at the moment.`,
      })
      return asked.length
    }
    expect([await at(10_000), await at(10_000), await at(11_999), await at(12_000)]).toEqual([1, 1, 1, 2])
    // A clock that was set back does not make it wait.
    expect(await at(5000)).toBe(3)
  })

  it('that cannot be read make a token unknown for now, not wrong', async () => {
    idp.down = true
    try {
      expect(await verdict({}, { jwksUri: `${idp.issuer}/jwks` })).toMatchObject({ kind: 'unavailable' })
      expect(await verdict({}, { jwksUri: 'http://127.0.0.1:9/jwks' })).toMatchObject({ kind: 'unavailable' })
    } finally {
      idp.down = false
    }
    expect(await verdict({}, { jwksUri: `${idp.issuer}/none` })).toMatchObject({ kind: 'unavailable' })
  })
})

it.each([
  ['', undefined],
  ['a', undefined],
  ['a.b', undefined],
  [`a.${Buffer.from('{"iss":"x"}').toString('base64url')}.c`, 'x'],
  [`a.${Buffer.from('{"iss":"x"}').toString('base64url')}.c.d`, undefined],
  [`a.${Buffer.from('{"iss":5}').toString('base64url')}.c`, undefined],
  [`a.${Buffer.from('"x"').toString('base64url')}.c`, undefined],
  [`a.${Buffer.from('{').toString('base64url')}.c`, undefined],
])('the issuer that %s claims is %s', (token, issuer) => {
  expect(claimedIssuer(token)).toBe(issuer)
})

describe('a verified token', () => {
  it('is believed for five minutes, or until it ends, and while its issuer is the same', async () => {
    const tokens = new VerifiedTokens()
    expect(tokens.verify('a.b.c', 0)).toBeUndefined()
    const config: GatewayConfig = {
      publicUrl: 'https://gw.example',
      auth: { issuers: [{ issuer: idp.issuer }] },
    }
    tokens.configure(config)
    expect([tokens.accepts(idp.issuer), tokens.accepts('x')]).toEqual([true, false])
    expect(tokens.verify('a.b.c', 0)).toBeUndefined()
    const now = Date.now()
    const iat = Math.floor(now / 1000)
    const long = await idp.token({ claims: { iat, exp: iat + 3600 } })
    const short = await idp.token({ claims: { iat, exp: iat + 60 } })
    const isKept = (token: string, at: number) => !(tokens.verify(token, at) instanceof Promise)
    expect([isKept(long, now), isKept(short, now)]).toEqual([false, false])
    await tokens.verify(long, now)
    await tokens.verify(short, now)
    expect([isKept(long, now + 299_999), isKept(long, now + 300_000)]).toEqual([true, false])
    const end = (iat + 90) * 1000
    expect([isKept(short, end - 1), isKept(short, end)]).toEqual([true, false])
    // What was refused is not kept.
    const wrong = await idp.token({ claims: { aud: 'https://x' } })
    expect(await tokens.verify(wrong, now)).toMatchObject({ kind: 'invalid' })
    expect(isKept(wrong, now)).toBe(false)
    tokens.configure({ ...config })
    expect(isKept(long, now)).toBe(false)
    // Nor is the answer of an issuer that was replaced while it was asked.
    const asked = tokens.verify(long, now)
    tokens.configure({ ...config, auth: { issuers: [{ issuer: idp.issuer, scopes: [] }] } })
    expect(await asked).toMatchObject({ subject: 'ada' })
    expect(isKept(long, now)).toBe(false)
  })
})

describe('a user of an issuer', () => {
  const config: GatewayConfig = {
    publicUrl: 'https://gw.example',
    auth: { issuers: [{ issuer: '', scopes: ['mcp'] }] },
    roles: { dev: { groups: ['eng'], expose: ['docs'] } },
  }
  const made = (more: GatewayConfig = {}) => {
    const whole = { ...config, auth: { issuers: [{ issuer: idp.issuer, scopes: ['mcp'] }] }, ...more }
    return { whole, identity: new Identity({ config: whole, tokens: [], expose: EVERYTHING, now: Date.now }) }
  }

  it('is let in with its role, and told why not', async () => {
    const { identity, whole } = made()
    const good = await identity.authorize(await idp.token({ claims: { scope: 'mcp' } }))
    expect(good).toMatchObject({ narrow: true, user: { name: 'ada', roles: ['dev'] } })
    expect(identity.users().map(({ name }) => name)).toEqual(['ada'])
    const none = await identity.authorize(await idp.token({ claims: { scope: 'mcp', groups: ['x'] } }))
    expect(none).toMatchObject({ status: 403, message: expect.stringContaining('None of your groups') })
    expect(await identity.authorize(await idp.token())).toEqual({
      status: 403,
      message: 'The token lacks a scope: mcp.',
      challenge: expect.stringContaining('error="insufficient_scope"'),
    })
    const other = await idp.token({ claims: { scope: 'mcp', aud: 'https://x' } })
    expect(await identity.authorize(other)).toEqual({
      status: 401,
      message: 'The token is refused: it was issued for another resource.',
      challenge: expect.stringContaining('error="invalid_token"'),
    })
    const key = good && 'user' in good ? (good.user?.key ?? '') : ''
    expect(identity.withdraw(new Set([key])).removed).toHaveLength(1)
    expect(await identity.authorize(await idp.token({ claims: { scope: 'mcp' } }))).toMatchObject({
      status: 401,
      message: expect.stringContaining('withdrawn'),
    })
    expect(identity.users()).toEqual([])
    identity.withdraw(new Set())
    await identity.authorize(await idp.token({ claims: { scope: 'mcp' } }))
    // An issuer that is no longer configured has no users any more.
    expect(identity.replace({ config: { ...whole, auth: {} } }).removed).toHaveLength(1)
  })

  it('needs no role where there are none', async () => {
    const { identity } = made({ roles: {} })
    const found = await identity.authorize(await idp.token({ claims: { scope: 'mcp', groups: [] } }))
    expect(found).toMatchObject({ narrow: true, user: { roles: [] } })
  })

  it('stays until the last of its tokens ends', async () => {
    let now = Date.now()
    const { whole } = made()
    const identity = new Identity({ config: whole, tokens: [], expose: EVERYTHING, now: () => now })
    const iat = Math.floor(now / 1000)
    const token = (life: number) => idp.token({ claims: { scope: 'mcp', iat, exp: iat + life } })
    await identity.authorize(await token(200))
    await identity.authorize(await token(100))
    now = (iat + 130) * 1000
    expect(identity.expired().removed).toEqual([])
    now = (iat + 230) * 1000
    expect(identity.expired().removed).toHaveLength(1)
  })

  it('is sent to its login by the challenge', () => {
    const { identity } = made()
    expect(identity.challenge(false)).toBe(
      'Bearer realm="plugboard", scope="mcp", resource_metadata="https://gw.example/.well-known/oauth-protected-resource/mcp"',
    )
    expect(identity.challenge(true)).toContain('error="invalid_token"')
  })
})

describe('the metadata of the resource', () => {
  const issuers = [
    { issuer: 'https://a', scopes: ['x', 'y'] },
    { issuer: 'https://b', scopes: ['y'] },
    { issuer: 'https://c' },
  ]
  it.each([
    ['without an address', { auth: { issuers } }],
    ['without issuers', { publicUrl: 'https://gw.example' }],
    ['with an empty list', { publicUrl: 'https://gw.example', auth: { issuers: [] } }],
  ])('are not there %s', (_, config) => {
    expect(protectedResource(config)).toBeUndefined()
  })

  it('name the issuers and their scopes', () => {
    const publicUrl = 'https://gw.example/tools'
    expect(protectedResource({ publicUrl, auth: { issuers } })).toEqual({
      resource: 'https://gw.example/tools/mcp',
      metadataUrl: 'https://gw.example/.well-known/oauth-protected-resource/tools/mcp',
      scopes: ['x', 'y'],
      metadata: {
        resource: 'https://gw.example/tools/mcp',
        authorization_servers: ['https://a', 'https://b', 'https://c'],
        bearer_methods_supported: ['header'],
        scopes_supported: ['x', 'y'],
        resource_name: 'Plugboard',
      },
    })
    const bare = protectedResource({ publicUrl, auth: { issuers: [{ issuer: 'https://c' }] } })
    expect(bare?.metadata).not.toHaveProperty('scopes_supported')
    expect(challenge(bare)).not.toContain('scope=')
    expect(challenge(undefined)).toBe('Bearer realm="plugboard"')
    const error = { error: 'insufficient_scope', description: 'a "b"\n', scopes: ['z'] } as const
    expect(challenge(protectedResource({ publicUrl, auth: { issuers } }), error)).toContain(
      'error_description="a \'b\'?", scope="z"',
    )
  })
})
