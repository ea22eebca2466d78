// What a login makes of the documents that a server and its authorization server publish, each at its place.
import { describe, expect, it } from 'vitest'
import type { RemoteServer } from './context.ts'
import { checkedAuthorizationUrl, checkedMetadata, discover, isIssuer, wellKnownUrls } from './discovery.ts'
import type { GuardedFetch } from './guarded-fetch.ts'

const AS = 'https://as.example.com'
const RESOURCE = '/.well-known/oauth-protected-resource'
const SERVER = '/.well-known/oauth-authorization-server'
const OPENID = '/.well-known/openid-configuration'

const server = (url = 'https://mcp.example.com/a/mcp', oauth?: object): RemoteServer => ({
  name: 'guarded',
  scope: 'user',
  source: 'settings.json',
  entry: { type: 'http', url, headers: {}, ...(oauth && { oauth }) },
  signature: 'guarded',
})
const metadata = (issuer = AS, more: object = {}) => ({ issuer, token_endpoint: `${issuer}/token`, ...more })

/** A document, a text as it is, or a status without a body. */
type Answer = object | string | number
function published(documents: Readonly<Record<string, Answer>>) {
  const asked: string[] = []
  const fetch = (async (url: URL | string) => {
    const { href, origin, pathname } = new URL(url)
    asked.push(href)
    const answer =
      documents[href] ?? (origin === 'https://mcp.example.com' ? documents[pathname] : undefined) ?? 404
    if (typeof answer === 'number') return new Response('{}', { status: answer })
    return new Response(typeof answer === 'string' ? answer : JSON.stringify(answer))
  }) as unknown as GuardedFetch
  return { fetch, asked }
}
const found = (documents: Readonly<Record<string, Answer>>, one = server(), challenge: object = {}) =>
  discover(one, { dpop: false, ...challenge }, published(documents).fetch)
const refusal = (documents: Readonly<Record<string, Answer>>, one = server(), challenge: object = {}) =>
  found(documents, one, challenge).then(
    () => 'found',
    (error) => `${error.refusal ?? error.code}: ${error.message}`,
  )

describe('the metadata of the resource', () => {
  const good = {
    resource: 'https://mcp.example.com/a/mcp',
    authorization_servers: [AS],
    scopes_supported: ['x', 7],
  }
  const asks = { [`${AS}${SERVER}`]: metadata() }

  it.each<[string, Readonly<Record<string, Answer>>, string, object]>([
    ['at the path of the server', { [`${RESOURCE}/a/mcp`]: good }, 'https://mcp.example.com/a/mcp', {}],
    ['at the top', { [RESOURCE]: good }, 'https://mcp.example.com/a/mcp', {}],
    [
      'where the challenge says',
      { '/elsewhere': good },
      'https://mcp.example.com/a/mcp',
      { resourceMetadata: 'https://mcp.example.com/elsewhere' },
    ],
    [
      'not where the challenge says, but at its place',
      { [RESOURCE]: good },
      'https://mcp.example.com/a/mcp',
      { resourceMetadata: 'https://mcp.example.com/elsewhere' },
    ],
    [
      'for a path above the server',
      { [RESOURCE]: { ...good, resource: 'https://mcp.example.com/a' } },
      'https://mcp.example.com/a',
      {},
    ],
    [
      'for that path with a slash',
      { [RESOURCE]: { ...good, resource: 'https://mcp.example.com/a/' } },
      'https://mcp.example.com/a/',
      {},
    ],
    [
      'for the whole origin',
      { [RESOURCE]: { ...good, resource: 'https://mcp.example.com' } },
      'https://mcp.example.com',
      {},
    ],
    [
      'a page at the first place',
      { [`${RESOURCE}/a/mcp`]: '<html>', [RESOURCE]: good },
      'https://mcp.example.com/a/mcp',
      {},
    ],
    [
      'a list at the first place',
      { [`${RESOURCE}/a/mcp`]: '[]', [RESOURCE]: good },
      'https://mcp.example.com/a/mcp',
      {},
    ],
    [
      'another document at the first place',
      { [`${RESOURCE}/a/mcp`]: {}, [RESOURCE]: good },
      'https://mcp.example.com/a/mcp',
      {},
    ],
  ])('is found %s', async (_, documents, resource, challenge) => {
    const discovered = await found({ ...asks, ...documents }, server(), challenge)
    expect(discovered).toMatchObject({ resource, sendResource: true, resourceScopes: ['x'], dpop: false })
    expect(discovered.as.issuer).toBe(AS)
  })

  it('is asked for once at the top of an origin', async () => {
    const { fetch, asked } = published({})
    await discover(server('https://mcp.example.com/'), { dpop: false }, fetch)
    expect(asked.filter((url) => url.includes('protected-resource'))).toEqual([
      `https://mcp.example.com${RESOURCE}`,
    ])
    const below = published({})
    await discover(server('https://mcp.example.com/a/'), { dpop: false }, below.fetch)
    expect(below.asked.slice(0, 2)).toEqual([
      `https://mcp.example.com${RESOURCE}/a`,
      `https://mcp.example.com${RESOURCE}`,
    ])
  })

  it.each<[string, Readonly<Record<string, Answer>>, object, RegExp]>([
    [
      'at another origin',
      {},
      { resourceMetadata: 'https://evil.test/x' },
      /^cross-origin-metadata: .*evil\.test/,
    ],
    ['at no address', {}, { resourceMetadata: 'x' }, /^cross-origin-metadata/],
    [
      'that is a page where the challenge says',
      { '/x': '<html>' },
      { resourceMetadata: 'https://mcp.example.com/x' },
      /^bad-metadata: .*is not JSON/,
    ],
    [
      'of another path',
      { [RESOURCE]: { ...good, resource: 'https://mcp.example.com/b' } },
      {},
      /^resource-mismatch/,
    ],
    [
      'of a path that only begins the same',
      { [RESOURCE]: { ...good, resource: 'https://mcp.example.com/a/mc' } },
      {},
      /^resource-mismatch/,
    ],
    [
      'of another server',
      { [RESOURCE]: { ...good, resource: 'https://evil.test/a/mcp' } },
      {},
      /^resource-mismatch: .*evil\.test/,
    ],
    ['of no address', { [RESOURCE]: { ...good, resource: 'a' } }, {}, /^resource-mismatch/],
    [
      'without a resource where the challenge says',
      { '/x': {} },
      { resourceMetadata: 'https://mcp.example.com/x' },
      /^resource-mismatch/,
    ],
  ])('%s is refused', async (_, documents, challenge, why) => {
    expect(await refusal({ ...asks, ...documents }, server(), challenge)).toMatch(why)
  })

  it('or the challenge may ask for proofs of possession', async () => {
    const bound = { ...good, dpop_bound_access_tokens_required: true }
    expect((await found({ ...asks, [RESOURCE]: bound })).dpop).toBe(true)
    expect(
      (await found({ ...asks, [RESOURCE]: { ...bound, dpop_bound_access_tokens_required: 'yes' } })).dpop,
    ).toBe(false)
    expect((await found({ ...asks, [RESOURCE]: good }, server(), { dpop: true })).dpop).toBe(true)
  })
})

describe('the metadata of the authorization server', () => {
  const named = (issuer: string) => ({
    [RESOURCE]: {
      resource: 'https://mcp.example.com/a/mcp',
      authorization_servers: [issuer, 'https://other.test'],
    },
  })

  it.each<[string, string, Readonly<Record<string, Answer>>]>([
    ['by OAuth', AS, { [`${AS}${SERVER}`]: metadata() }],
    ['by OpenID', AS, { [`${AS}${OPENID}`]: metadata() }],
    ['by OAuth, below its path', `${AS}/t`, { [`${AS}${SERVER}/t`]: metadata(`${AS}/t`) }],
    ['by OpenID, before its path', `${AS}/t`, { [`${AS}${OPENID}/t`]: metadata(`${AS}/t`) }],
    ['by OpenID, below its path', `${AS}/t`, { [`${AS}/t${OPENID}`]: metadata(`${AS}/t`) }],
    ['after a proxy that found nothing', AS, { [`${AS}${SERVER}`]: 502, [`${AS}${OPENID}`]: metadata() }],
    ['after a page', AS, { [`${AS}${SERVER}`]: '<html>', [`${AS}${OPENID}`]: metadata() }],
    ['with a slash more', `${AS}/`, { [`${AS}${SERVER}`]: metadata() }],
  ])('is found %s', async (_, issuer, documents) => {
    expect((await found({ ...named(issuer), ...documents })).as).toMatchObject({
      token_endpoint: expect.stringMatching(/token$/),
    })
  })

  it.each<[string, Readonly<Record<string, Answer>>, RegExp]>([
    ['that fails', { ...named(AS), [`${AS}${SERVER}`]: 500 }, /^bad-metadata: .*answered 500/],
    [
      'of another issuer',
      { ...named(AS), [`${AS}${SERVER}`]: metadata('https://evil.test') },
      /^issuer-mismatch: .*evil\.test/,
    ],
    ['that is nowhere', named(AS), /^bad-metadata: .*does not say where/],
    ['of an issuer that is no address', named('x'), /^bad-metadata: .*is not a URL/],
  ])('%s is refused', async (_, documents, why) => {
    expect(await refusal(documents)).toMatch(why)
  })

  it('is at fixed paths for a server that publishes nothing', async () => {
    expect(await found({})).toMatchObject({
      as: {
        issuer: 'https://mcp.example.com',
        authorization_endpoint: 'https://mcp.example.com/authorize',
        token_endpoint: 'https://mcp.example.com/token',
        registration_endpoint: 'https://mcp.example.com/register',
      },
      resource: 'https://mcp.example.com/a/mcp',
      sendResource: false,
      resourceScopes: [],
    })
    const own = { [SERVER]: metadata('https://mcp.example.com/', { token_endpoint: `${AS}/t` }) }
    expect((await found(own)).as.token_endpoint).toBe(`${AS}/t`)
  })

  it('is where the entry says, and nowhere else', async () => {
    const configured = server(undefined, { authServerMetadataUrl: `${AS}/mine` })
    const documents = { ...named('https://other.test'), [`${AS}/mine`]: metadata('https://any.test') }
    expect((await found(documents, configured)).as.issuer).toBe('https://any.test')
    expect(await refusal({ [`${AS}/mine`]: 404 }, configured)).toMatch(/^bad-metadata: .*is not JSON/)
    expect(await refusal({ [`${AS}/mine`]: '<html>' }, configured)).toMatch(/^bad-metadata: .*is not JSON/)
  })
})

describe('a document', () => {
  const checked = (json: object) => {
    try {
      return checkedMetadata({ name: 's' }, json as never)
    } catch (error) {
      return (error as { refusal: string }).refusal
    }
  }

  it.each<[object, unknown]>([
    [{ issuer: AS }, { issuer: AS }],
    [{}, 'bad-metadata'],
    [{ issuer: 'x' }, 'bad-metadata'],
    [{ issuer: 7 }, 'bad-metadata'],
    [{ issuer: AS, token_endpoint: null, jwks_uri: undefined }, { issuer: AS }],
    [
      { issuer: AS, token_endpoint: `${AS}/t`, other: 1 },
      { issuer: AS, token_endpoint: `${AS}/t` },
    ],
    [{ issuer: AS, token_endpoint: 7 }, 'bad-metadata'],
    [{ issuer: AS, revocation_endpoint: 'x' }, 'bad-metadata'],
    [{ issuer: AS, registration_endpoint: 'http://as.example.com/r' }, 'insecure-url'],
    [
      { issuer: AS, registration_endpoint: 'http://127.0.0.1/r' },
      { issuer: AS, registration_endpoint: 'http://127.0.0.1/r' },
    ],
    [{ issuer: AS, authorization_endpoint: 'javascript:x' }, 'bad-authorization-url'],
    [
      { issuer: AS, authorization_endpoint: `${AS}/a` },
      { issuer: AS, authorization_endpoint: `${AS}/a` },
    ],
    [
      { issuer: AS, scopes_supported: ['a', 7], grant_types_supported: 'x' },
      { issuer: AS, scopes_supported: ['a'] },
    ],
    [
      { issuer: AS, client_id_metadata_document_supported: false },
      { issuer: AS, client_id_metadata_document_supported: false },
    ],
    [{ issuer: AS, client_id_metadata_document_supported: 'yes' }, { issuer: AS }],
    [
      { issuer: AS, code_challenge_methods_supported: ['plain', 'S256'] },
      { issuer: AS, code_challenge_methods_supported: ['plain', 'S256'] },
    ],
    [{ issuer: AS, code_challenge_methods_supported: ['plain'] }, 'pkce-unsupported'],
    [{ issuer: AS, code_challenge_methods_supported: [] }, 'pkce-unsupported'],
  ])('%j is read as %j', (json, result) => {
    expect(checked(json)).toEqual(result)
  })

  it('has at most 200 of a list', () => {
    const many = Array.from({ length: 201 }, (_, at) => `s${at}`)
    expect(
      (checked({ issuer: AS, scopes_supported: many }) as { scopes_supported: string[] }).scopes_supported,
    ).toHaveLength(200)
  })

  it.each<[unknown, boolean]>([
    ['https://as.test/login', true],
    ['http://localhost:1/login', true],
    ['http://as.test/login', false],
    ['https://user@as.test/', false],
    ['https://:secret@as.test/', false],
    ['file:///etc/passwd', false],
    ['x', false],
    [7, false],
  ])('the page %j is opened: %s', (value, opened) => {
    const open = () => checkedAuthorizationUrl('s', value)
    if (opened) expect(open()).toBe(new URL(value as string).href)
    else expect(open).toThrow(/is not an https page/)
  })

  it.each<[unknown, string, boolean]>([
    ['https://a', 'https://a', true],
    ['https://a/', 'https://a', true],
    ['https://a', 'https://a/', true],
    ['https://a//', 'https://a', false],
    ['https://b', 'https://a', false],
    [undefined, 'undefined', false],
  ])('that says %j is of the issuer %s: %s', (said, asked, same) => {
    expect(isIssuer(said, asked)).toBe(same)
  })

  it('has its places in order', () => {
    expect(wellKnownUrls(new URL('https://a/')).map(({ pathname }) => pathname)).toEqual([SERVER, OPENID])
    expect(wellKnownUrls(new URL('https://a/t/')).map(({ pathname }) => pathname)).toEqual([
      `${SERVER}/t`,
      `${OPENID}/t`,
      `/t${OPENID}`,
    ])
  })
})
