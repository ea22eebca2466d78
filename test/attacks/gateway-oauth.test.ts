// Token confusion at the real `plugboard serve --http --gateway`: tokens that look right and are not, sessions of other users, and
// headers that a client makes up.
import * as jose from 'jose'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  legacySession,
  modern,
  rawSession,
  SERVER,
  type ServedGateway,
  serveGateway,
  until,
} from '../support/gateway.ts'
import { type IdentityProvider, startIdentityProvider, type TokenWish } from '../support/identity-provider.ts'

const AUDIENCE = 'https://mcp.example.com/mcp'
let gateway: ServedGateway
let idp: IdentityProvider
let other: IdentityProvider

beforeAll(async () => {
  idp = await startIdentityProvider(AUDIENCE)
  other = await startIdentityProvider(AUDIENCE)
  gateway = await serveGateway({
    servers: {
      one: { command: process.execPath, args: [SERVER] },
      two: { command: process.execPath, args: [SERVER] },
    },
    gateway: () => ({
      publicUrl: 'https://mcp.example.com',
      auth: {
        issuers: [
          { issuer: idp.issuer, userClaim: 'sub' },
          { issuer: other.issuer, scopes: ['mcp'] },
        ],
      },
      roles: { dev: { groups: ['eng'], expose: ['one'] }, ops: { groups: ['ops'] } },
    }),
  })
}, 120_000)

afterAll(async () => {
  await gateway?.remove()
  await idp?.close()
  await other?.close()
})

const list = (token: string | undefined) => modern(gateway.url, token, 'tools/list')
const unsigned = (claims: object) =>
  [{ alg: 'none', typ: 'at+jwt' }, claims]
    .map((part) => Buffer.from(JSON.stringify(part)).toString('base64url'))
    .join('.')

const now = () => Math.floor(Date.now() / 1000)

describe('an access token', () => {
  it('of the issuer, for this resource, opens what its groups allow', async () => {
    const { status, message } = await list(await idp.token())
    expect(status).toBe(200)
    const names: string[] = message.result.tools.map(({ name }: { name: string }) => name)
    expect(names.length).toBeGreaterThan(0)
    expect(names.every((name) => name.startsWith('mcp__one__'))).toBe(true)
    const wide = await list(await idp.token({ claims: { groups: ['ops'] } }))
    expect(JSON.stringify(wide.message)).toContain('mcp__two__')
  })

  it.for([
    ['for another resource', { claims: { aud: 'https://other.example/mcp' } }],
    ['for no resource', { claims: { aud: undefined } }],
    ['that has expired', { claims: { iat: 1, exp: 1000 } }],
    ['without an end', { claims: { exp: undefined } }],
    ['that is not valid yet', { claims: { nbf: 4_000_000_000 } }],
    ['issued in the future', { claims: { iat: 4_000_000_000, exp: 4_000_000_100 } }],
    ['without a user', { claims: { sub: undefined } }],
    ['that names an unknown issuer', { claims: { iss: 'https://evil.example' } }],
    ['that is bound to a key', { claims: { cnf: { jkt: 'x' } } }],
    ['that is a logout token', { header: { typ: 'logout+jwt' } }],
    ['with a key id of nobody', { header: { kid: 'third' } }],
    ...[
      '../../../../dev/null',
      '/dev/null',
      "first' OR '1'='1",
      'first\u0000',
      'FIRST',
      '',
      '__proto__',
      'constructor',
      'http://127.0.0.1:9/jwks#first',
      'k'.repeat(4000),
      5,
      ['first'],
      { first: 1 },
    ].map(
      (kid) =>
        [`with an injected key id (${JSON.stringify(kid).slice(0, 40)})`, { header: { kid } }] as const,
    ),
    ['with an unknown critical header', { header: { crit: ['x'], x: 1 } }],
  ] as readonly (readonly [string, TokenWish])[])('%s is refused', async ([, wish]) => {
    const { status, headers } = await list(await craft(wish))
    expect(status).toBe(401)
    expect(headers.get('www-authenticate')).toContain('error="invalid_token"')
  })

  it('with algorithm none, with the public key as secret, with a key of its own, or of the other issuer is refused', async () => {
    const claims = {
      iss: idp.issuer,
      aud: AUDIENCE,
      sub: 'eve',
      groups: ['ops'],
      iat: now(),
      exp: now() + 300,
    }
    const stolen = await jose.generateKeyPair('ES256', { extractable: true })
    const jwk = await jose.exportJWK(stolen.publicKey)
    const pem = new TextEncoder().encode(await idp.publicPem())
    const tokens = [
      `${unsigned(claims)}.`,
      `${unsigned(claims)}`,
      await new jose.SignJWT(claims).setProtectedHeader({ alg: 'HS256', kid: 'first' }).sign(pem),
      await new jose.SignJWT(claims)
        .setProtectedHeader({ alg: 'ES256', kid: 'first', jwk })
        .sign(stolen.privateKey),
      await idp.token({ key: stolen.privateKey, header: { jku: `${other.issuer}/jwks` } }),
      // The other issuer is trusted too, but not to speak for this one.
      await other.token({ claims: { iss: idp.issuer } }),
    ]
    for (const token of tokens) expect((await list(token)).status).toBe(401)
  })

  it('whose groups were changed is refused, and one without a role gets 403', async () => {
    const [head, body = '', signature] = (await idp.token()).split('.')
    const claims = JSON.parse(Buffer.from(body, 'base64url').toString())
    const forged = Buffer.from(JSON.stringify({ ...claims, groups: ['ops'] })).toString('base64url')
    expect((await list(`${head}.${forged}.${signature}`)).status).toBe(401)
    expect((await list(await idp.token({ claims: { groups: ['sales'] } }))).status).toBe(403)
    expect((await list(await idp.token({ claims: { groups: undefined } }))).status).toBe(403)
  })

  it('without the scope of its issuer gets 403, and is told which one', async () => {
    const lacking = await list(await other.token({ claims: { scope: 'openid' } }))
    expect(lacking.status).toBe(403)
    expect(lacking.headers.get('www-authenticate')).toMatch(/error="insufficient_scope".*scope="mcp"/)
    expect((await list(await other.token({ claims: { scope: 'openid mcp' } }))).status).toBe(200)
    expect((await list(await other.token({ claims: { scp: ['mcp'] } }))).status).toBe(200)
  })
})

describe('a session', () => {
  it('opens for its user alone, with any of that user’s tokens of the same roles', async () => {
    const session = await legacySession(gateway.url, await idp.token())
    expect((await session.request('tools/list')).status).toBe(200)
    const renewed = rawSession(gateway.url, session.id, await idp.token({ claims: { jti: 'second' } }))
    expect((await renewed.request('tools/list')).status).toBe(200)
    for (const claims of [{ sub: 'eve' }, { groups: ['ops'] }, { groups: ['eng', 'ops'] }]) {
      const replayed = rawSession(gateway.url, session.id, await idp.token({ claims }))
      expect((await replayed.request('tools/list')).status).toBe(404)
    }
    // The same subject at another issuer is another user.
    const foreign = rawSession(gateway.url, session.id, await other.token({ claims: { scope: 'mcp' } }))
    expect((await foreign.request('tools/list')).status).toBe(404)
  })

  it('ends its stream when the token has expired', async () => {
    // Clocks may differ by 30 seconds.
    const token = await idp.token({ claims: { sub: 'short', exp: now() - 26 } })
    const session = await legacySession(gateway.url, token)
    const stream = await fetch(gateway.url, { headers: { ...session.headers, accept: 'text/event-stream' } })
    expect(stream.status).toBe(200)
    await stream.text()
    expect((await session.request('tools/list')).status).toBe(401)
  }, 60_000)
})

describe('the way to the identity provider', () => {
  it('is in the challenge and the metadata, and no header of the client changes it', async () => {
    const spoofed = {
      'x-forwarded-host': 'evil.example',
      'x-forwarded-proto': 'http',
      forwarded: 'host=evil.example',
    }
    const refused = await fetch(gateway.url, { method: 'POST', headers: spoofed })
    expect(refused.status).toBe(401)
    const metadataUrl = 'https://mcp.example.com/.well-known/oauth-protected-resource/mcp'
    expect(refused.headers.get('www-authenticate')).toBe(
      `Bearer realm="plugboard", scope="mcp", resource_metadata="${metadataUrl}"`,
    )
    // And what an operator pastes into clients is that address, without a token.
    expect(gateway.stderr()).toContain('board https://mcp.example.com/mcp\n')
    for (const path of ['', '/mcp']) {
      const address = new URL(`/.well-known/oauth-protected-resource${path}`, gateway.url)
      const metadata = await (await fetch(address, { headers: spoofed })).json()
      expect(metadata).toMatchObject({
        resource: AUDIENCE,
        authorization_servers: [idp.issuer, other.issuer],
        bearer_methods_supported: ['header'],
      })
      expect(JSON.stringify(metadata)).not.toContain('evil')
    }
    // A name that is not served stays refused, whatever a proxy header says.
    const { port } = gateway
    const evil = await fetch(`http://127.0.0.1:${port}/mcp`, {
      headers: { ...spoofed, origin: 'https://evil.example' },
    })
    expect(evil.status).toBe(403)
  })

  it('follows a rotated key, and refuses the old one', async () => {
    const before = await idp.token()
    await idp.rotate('second')
    const fetched = idp.fetches()
    await until(async () => (await list(await idp.token())).status === 200, 60_000)
    // The old token was verified before? It was not: this one is new, and its key is gone.
    expect((await list(before)).status).toBe(401)
    // Unknown key ids do not make the gateway ask the issuer each time.
    await Promise.all(
      Array.from({ length: 20 }, async (_, at) => list(await idp.token({ header: { kid: `x${at}` } }))),
    )
    expect(idp.fetches() - fetched).toBeLessThanOrEqual(6)
  }, 120_000)
})

function craft(wish: TokenWish): Promise<string> {
  const crit = wish.header?.['crit'] !== undefined
  if (!crit) return idp.token(wish)
  // The library refuses to sign such a header, so it is put in afterwards; the signature is wrong then as well.
  return idp.token().then((token) => {
    const [, body, signature] = token.split('.')
    const head = Buffer.from(JSON.stringify({ alg: 'ES256', kid: 'first', ...wish.header })).toString(
      'base64url',
    )
    return `${head}.${body}.${signature}`
  })
}
