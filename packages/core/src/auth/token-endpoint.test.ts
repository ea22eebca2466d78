// What a client sends to a token endpoint, and what it makes of each answer.
import { describe, expect, it } from 'vitest'
import { newDpopKey } from './dpop.ts'
import type { GuardedFetch } from './guarded-fetch.ts'
import type { ClientIdentity } from './stored-logins.ts'
import { requestTokens, type TokenRequest } from './token-endpoint.ts'

const NOW = 1_000_000
interface Sent {
  readonly headers: Headers
  readonly body: URLSearchParams
}

function endpoint(
  ...answers: readonly (readonly [
    status: number,
    body: unknown,
    headers?: Readonly<Record<string, string>>,
  ])[]
) {
  const sent: Sent[] = []
  const left = [...answers]
  const fetch = (async (_url, init) => {
    sent.push({ headers: new Headers(init?.headers), body: new URLSearchParams(String(init?.body)) })
    const [status = 200, body, headers = {}] = left.shift() ?? []
    const text = typeof body === 'string' ? body : JSON.stringify(body)
    return new Response(text, { status, headers: { 'content-type': 'application/json', ...headers } })
  }) as GuardedFetch
  const ask = (over: Partial<TokenRequest> = {}) =>
    requestTokens({
      server: 's',
      as: { issuer: 'https://as.test', token_endpoint: 'https://as.test/token' },
      client: { clientId: 'me' } as ClientIdentity,
      grant: 'refresh_token',
      params: { refresh_token: 'old-token', scope: undefined },
      fetch,
      now: () => NOW,
      ...over,
    })
  return { ask, sent }
}

describe('an answer of a token endpoint', () => {
  const base = { accessToken: 'a', type: 'bearer', obtainedAt: NOW }
  it.each<[string, unknown, object]>([
    ['the least', { access_token: 'a' }, base],
    ['a lifetime', { access_token: 'a', expires_in: 60 }, { ...base, expiresAt: NOW + 60_000 }],
    ['a lifetime as text', { access_token: 'a', expires_in: '60' }, { ...base, expiresAt: NOW + 60_000 }],
    ['no lifetime', { access_token: 'a', expires_in: 0 }, base],
    ['a lifetime that is none', { access_token: 'a', expires_in: 'soon' }, base],
    ['an endless lifetime', '{"access_token":"a","expires_in":1e999}', base],
    ['a refresh token', { access_token: 'a', refresh_token: 'r' }, { ...base, refreshToken: 'r' }],
    ['an empty refresh token', { access_token: 'a', refresh_token: '' }, base],
    ['a refresh token that is none', { access_token: 'a', refresh_token: 7 }, base],
    ['a scope', { access_token: 'a', scope: 'x y' }, { ...base, scope: 'x y' }],
    ['a scope that is none', { access_token: 'a', scope: ['x'] }, base],
    ['a bound token', { access_token: 'a', token_type: 'DPoP' }, { ...base, type: 'dpop' }],
    ['another type', { access_token: 'a', token_type: 'mac' }, base],
    ['a type that is none', { access_token: 'a', token_type: 7 }, base],
  ])('with %s', async (_, body, tokens) => {
    expect(await endpoint([200, body]).ask()).toEqual({ kind: 'tokens', tokens })
  })

  it('may carry more than tokens', async () => {
    const body = { access_token: 'a', id_token: 'i', issued_token_type: 't' }
    expect(await endpoint([200, body]).ask()).toMatchObject({ idToken: 'i', issuedType: 't' })
    const odd = await endpoint([200, { access_token: 'a', id_token: 7, issued_token_type: null }]).ask()
    expect(odd).not.toHaveProperty('idToken')
    expect(odd).not.toHaveProperty('issuedType')
  })

  it.each<[number, unknown, string, RegExp]>([
    [400, { error: 'invalid_grant' }, 'refused', /refused with invalid_grant\.$/],
    [
      400,
      { error: 'invalid_grant', error_description: 'old-token is gone' },
      'refused',
      /invalid_grant: \*\*\* is gone\.$/,
    ],
    [200, { error: 'odd' }, 'refused', /refused with odd/],
    [499, { error: 'odd' }, 'refused', /refused with odd/],
    [500, { error: 'server_error' }, 'trouble', /answered 500\.$/],
    [503, '<html>', 'trouble', /answered 503\.$/],
    [429, {}, 'trouble', /answered 429\.$/],
    [408, {}, 'trouble', /answered 408\.$/],
    [400, {}, 'trouble', /answered 400 with something that is not a token/],
    [400, { error: 7 }, 'trouble', /not a token/],
    [201, { access_token: 'a' }, 'trouble', /answered 201 with something/],
    [200, {}, 'trouble', /not a token/],
    [200, { access_token: '' }, 'trouble', /not a token/],
    [200, { access_token: 7 }, 'trouble', /not a token/],
    [200, 'access_token=a', 'trouble', /not a token/],
    [200, '["a"]', 'trouble', /not a token/],
  ])('%i %j: %s', async (status, body, kind, message) => {
    const answer = await endpoint([status, body]).ask()
    expect(answer).toMatchObject({ kind, error: { message: expect.stringMatching(message), server: 's' } })
  })

  it('is not asked for where there is no endpoint', async () => {
    const { ask, sent } = endpoint()
    await expect(ask({ as: { issuer: 'https://as.test' } })).rejects.toMatchObject({
      refusal: 'bad-metadata',
    })
    expect(sent).toEqual([])
  })
})

describe('a request to a token endpoint', () => {
  it('has the parameters that have a value', async () => {
    const { ask, sent } = endpoint([200, { access_token: 'a' }])
    await ask()
    expect(Object.fromEntries(sent[0]?.body ?? [])).toEqual({
      grant_type: 'refresh_token',
      refresh_token: 'old-token',
      client_id: 'me',
    })
    expect(sent[0]?.headers.get('authorization')).toBeNull()
  })

  // What the client was registered with, what the server supports, and where the secret is.
  it.each<[ClientIdentity['authMethod'], readonly string[] | undefined, 'header' | 'body' | 'nowhere']>([
    [undefined, undefined, 'header'],
    [undefined, ['client_secret_basic', 'client_secret_post'], 'header'],
    [undefined, ['client_secret_post'], 'body'],
    [undefined, [], 'body'],
    ['client_secret_post', undefined, 'body'],
    ['client_secret_post', ['client_secret_basic', 'client_secret_post'], 'body'],
    ['client_secret_post', ['client_secret_basic'], 'header'],
    ['client_secret_basic', ['client_secret_post'], 'body'],
    ['none', ['none'], 'nowhere'],
    ['none', ['client_secret_basic'], 'header'],
  ])('registered with %s, supported %j: the secret is in the %s', async (authMethod, supported, place) => {
    const { ask, sent } = endpoint([200, { access_token: 'a' }])
    await ask({
      client: { clientId: 'me:1', clientSecret: 's c', ...(authMethod && { authMethod }) } as ClientIdentity,
      as: {
        issuer: 'https://as.test',
        token_endpoint: 'https://as.test/token',
        ...(supported && { token_endpoint_auth_methods_supported: [...supported] }),
      },
    })
    const [request] = sent
    const basic = request?.headers.get('authorization')
    expect(basic ? Buffer.from(basic.slice(6), 'base64').toString() : undefined).toBe(
      place === 'header' ? 'me%3A1:s+c' : undefined,
    )
    expect(request?.body.get('client_secret')).toBe(place === 'body' ? 's c' : null)
  })

  it('is made again with the nonce that the server requires, once', async () => {
    const dpopKey = await newDpopKey()
    const nonce = [400, { error: 'use_dpop_nonce' }, { 'dpop-nonce': 'n1' }] as const
    const { ask, sent } = endpoint(nonce, [200, { access_token: 'a', token_type: 'DPoP' }])
    expect(await ask({ dpopKey })).toMatchObject({ kind: 'tokens', tokens: { type: 'dpop' } })
    const proofs = sent.map(({ headers }) => {
      const [, payload = ''] = (headers.get('dpop') ?? '').split('.')
      return JSON.parse(Buffer.from(payload, 'base64url').toString()).nonce
    })
    expect(proofs).toEqual([undefined, 'n1'])
    const twice = endpoint(nonce, nonce)
    expect(await twice.ask({ dpopKey })).toMatchObject({ kind: 'refused', code: 'use_dpop_nonce' })
    expect(twice.sent).toHaveLength(2)
    const without = endpoint(nonce)
    expect(await without.ask()).toMatchObject({ kind: 'refused', code: 'use_dpop_nonce' })
    expect(without.sent).toHaveLength(1)
  })
})
