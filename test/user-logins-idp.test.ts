// Users of an identity provider: who is in the browser is checked, single sign-on (XAA) and token exchange use the user's own
// assertion, and headers name the user to servers that the operator chose.
import { createHash, randomBytes } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  type AuthorizationServer,
  startAuthorizationServer,
} from '../packages/core/src/auth/fixtures/authorization-server.ts'
import {
  type ResourceServer,
  startResourceServer,
} from '../packages/core/src/auth/fixtures/resource-server.ts'
import { Browser } from './support/browser.ts'
import { freePort } from './support/free-port.mjs'
import { modern, type ServedGateway, serveGateway, until } from './support/gateway.ts'

const TOKEN_EXCHANGE = 'urn:ietf:params:oauth:grant-type:token-exchange'
const JWT_BEARER = 'urn:ietf:params:oauth:grant-type:jwt-bearer'
let idp: AuthorizationServer
let as: AuthorizationServer
let xaaAs: AuthorizationServer
let own: ResourceServer
let sso: ResourceServer
let exchanged: ResourceServer
let told: ResourceServer
let gateway: ServedGateway

beforeAll(async () => {
  const port = await freePort()
  const adminPort = await freePort()
  const callback = `http://127.0.0.1:${port}/logins/callback`
  const client = {
    client_id: 'gateway',
    client_secret: 'sesame',
    redirect_uris: [callback],
    application_type: 'native',
    grant_types: ['authorization_code', 'refresh_token', TOKEN_EXCHANGE],
  }
  idp = await startAuthorizationServer({
    xaaIdp: true,
    jwtClaims: { email: 'team@example.com' },
    clients: [client],
  })
  as = await startAuthorizationServer({})
  xaaAs = await startAuthorizationServer({
    xaaTrusts: [{ issuer: idp.issuer, jwks: idp.jwks }],
    clients: [
      {
        client_id: 'gateway',
        client_secret: 'sesame',
        redirect_uris: [],
        response_types: [],
        grant_types: [JWT_BEARER],
      },
    ],
  })
  own = await startResourceServer({ as })
  sso = await startResourceServer({ as: xaaAs })
  exchanged = await startResourceServer({ as: idp })
  told = await startResourceServer({ accepts: () => true })
  gateway = await serveGateway({
    port,
    servers: {
      own: { type: 'http', url: own.url },
      sso: { type: 'http', url: sso.url, oauth: { xaa: true, clientId: 'gateway' } },
      exchanged: { type: 'http', url: exchanged.url },
      told: { type: 'http', url: told.url },
    },
    settings: { logins: { xaa: { issuer: idp.issuer, clientId: 'gateway' } } },
    env: {
      PLUGBOARD_XAA_CLIENT_SECRET: 'sesame',
      PLUGBOARD_CLIENT_SECRET_SSO: 'sesame',
      GATEWAY_SECRET: 'sesame',
    },
    gateway: () => ({
      publicUrl: `http://127.0.0.1:${port}`,
      auth: { issuers: [{ issuer: idp.issuer }], tokens: 'tokens.json' },
      admin: { port: adminPort },
      userLogins: {
        verify: [{ issuer: idp.issuer, clientId: 'gateway', clientSecretEnv: 'GATEWAY_SECRET' }],
        servers: {
          own: {},
          sso: {},
          exchanged: {
            exchange: { issuer: idp.issuer, clientId: 'gateway', clientSecretEnv: 'GATEWAY_SECRET' },
          },
          told: { login: false, headers: { 'X-User': '${user.sub} <${user.email}>' } },
        },
      },
    }),
  })
}, 180_000)

afterAll(async () => {
  await gateway?.remove()
  for (const server of [own, sso, exchanged, told, idp, as, xaaAs]) await server?.close()
})

/** An access token of the provider for the gateway. */
async function tokenOf(account: string, scope = 'mcp'): Promise<string> {
  const redirect = 'http://127.0.0.1:9/callback'
  const post = async (path: string, body: string, type: string) =>
    (await (
      await fetch(`${idp.issuer}${path}`, { method: 'POST', headers: { 'content-type': type }, body })
    ).json()) as Record<string, string>
  const client = await post(
    '/reg',
    JSON.stringify({
      redirect_uris: [redirect],
      token_endpoint_auth_method: 'none',
      application_type: 'native',
    }),
    'application/json',
  )
  const verifier = randomBytes(32).toString('base64url')
  const query = {
    response_type: 'code',
    client_id: client['client_id'] ?? '',
    redirect_uri: redirect,
    scope,
    resource: gateway.url,
    code_challenge: createHash('sha256').update(verifier).digest('base64url'),
    code_challenge_method: 'S256',
  }
  const back = new URL(await idp.walk(`${idp.issuer}/auth?${new URLSearchParams(query)}`, account))
  const answer = await post(
    '/token',
    new URLSearchParams({
      grant_type: 'authorization_code',
      code: back.searchParams.get('code') ?? '',
      redirect_uri: redirect,
      code_verifier: verifier,
      client_id: client['client_id'] ?? '',
      resource: gateway.url,
    }).toString(),
    'application/x-www-form-urlencoded',
  )
  if (!answer['access_token']) throw new Error(JSON.stringify(answer))
  return answer['access_token']
}

const call = async (token: string, server: string) => {
  const { text } = await modern(
    gateway.url,
    token,
    'tools/call',
    { name: `mcp__${server}__whoami`, arguments: {} },
    {},
  )
  const link = /http:\/\/127\.0\.0\.1:\d+\/logins\?ticket=[\w.-]+/.exec(text)?.[0]
  return { text, link }
}

describe('a login of a user of an identity provider', () => {
  it('begins only when the provider says that the browser is of the same user', async () => {
    const [ada, bob] = [await tokenOf('ada'), await tokenOf('bob')]
    const { link = '' } = await call(ada, 'own')
    // Ada sends her link to Bob, who is logged in at the provider as himself.
    const refused = await new Browser('bob').logIn(link)
    expect(refused.text).toContain('another user is logged in')
    expect(as.counts.codes).toBe(0)
    expect((await call(ada, 'own')).link).toBeDefined()
    const { link: again = '' } = await call(ada, 'own')
    expect((await new Browser('ada').logIn(again)).text).toContain('ada is logged in')
    expect((await call(ada, 'own')).text).toContain('"ada"')
    expect((await call(bob, 'own')).link).toBeDefined()
  }, 90_000)

  it('is one login at the provider for servers with single sign-on, by the user in person', async () => {
    const [ada, bob] = [await tokenOf('ada'), await tokenOf('bob')]
    const { link = '' } = await call(ada, 'sso')
    expect((await new Browser('bob').logIn(link)).text).toContain('another user is logged in')
    const { link: again = '' } = await call(ada, 'sso')
    expect((await new Browser('ada').logIn(again)).text).toContain('ada is logged in')
    expect((await call(ada, 'sso')).text).toContain('"ada"')
    expect((await call(bob, 'sso')).link).toBeDefined()
    expect(idp.counts.exchanged).toBeGreaterThan(0)
  }, 90_000)

  it('at the provider is listed, and goes with the login of a server that it made', async () => {
    const run = (...words: string[]) =>
      gateway.place.run('gateway', 'logins', ...words, '--gateway', 'gateway.json', '--json')
    const ada = await tokenOf('ada')
    const servers = async () =>
      (await run()).json.logins
        .filter(({ user }: Record<string, string>) => user === 'ada')
        .map(({ server }: Record<string, string>) => server)
    expect(await servers()).toEqual(expect.arrayContaining(['own', 'sso', '*']))
    const revoked = await run('revoke', 'ada', 'sso')
    expect(revoked.json.servers.sort()).toEqual(['*', 'sso'])
    expect(await servers()).not.toContain('*')
    expect(await servers()).toContain('own')
    // Without the session no token is made for the server unasked.
    expect((await call(ada, 'sso')).link).toBeDefined()
  }, 90_000)

  it('at the provider is asked for again for a token with fewer scopes', async () => {
    const before = idp.counts.exchanged
    const [wide, narrow] = [await tokenOf('cleo', 'mcp tools:read tools:write'), await tokenOf('cleo', 'mcp')]
    const seen = () => new Set(exchanged.requests.map(({ headers }) => String(headers.authorization)))
    const known = seen()
    expect((await call(wide, 'exchanged')).text).toContain('"cleo"')
    const ofWide = [...seen()].filter((one) => !known.has(one))
    expect((await call(narrow, 'exchanged')).text).toContain('"cleo"')
    const ofNarrow = [...seen()].filter((one) => !known.has(one) && !ofWide.includes(one))
    expect([ofWide.length > 0, ofNarrow.length > 0]).toEqual([true, true])
    expect(idp.counts.exchanged - before).toBe(2)
    // And each goes on with its own.
    await call(wide, 'exchanged')
    expect(exchanged.requests.at(-1)?.headers.authorization).toBe(ofWide.at(-1))
  }, 90_000)

  it('is not needed where the token of the user is exchanged, and the token itself reaches no server', async () => {
    const [ada, bob] = [await tokenOf('ada'), await tokenOf('bob')]
    expect((await call(ada, 'exchanged')).text).toContain('"ada"')
    expect((await call(bob, 'exchanged')).text).toContain('"bob"')
    const seen = [own, sso, exchanged, told].flatMap(({ requests }) =>
      requests.map(({ headers }) => String(headers.authorization)),
    )
    for (const token of [ada, bob]) expect(seen.some((one) => one.includes(token))).toBe(false)
  }, 90_000)
})

describe('headers that name the user', () => {
  it('say who it is, on a connection for this user alone', async () => {
    const [ada, bob] = [await tokenOf('ada'), await tokenOf('bob')]
    await call(ada, 'told')
    await call(bob, 'told')
    const users = new Set(told.requests.flatMap(({ headers }) => headers['x-user'] ?? []))
    expect(users).toEqual(new Set(['ada <team@example.com>', 'bob <team@example.com>']))
    const calls = told.requests.filter(({ headers }) => headers['mcp-name'] === 'whoami' || headers['x-user'])
    expect(calls.length).toBeGreaterThan(1)
  }, 90_000)

  it('refuse a user of whom the provider says nothing', async () => {
    const { code, json } = await gateway.place.run(
      'serve',
      'token',
      'add',
      'named',
      '--gateway',
      'gateway.json',
      '--json',
    )
    expect(code).toBe(0)
    const before = told.requests.length
    await until(async () => (await modern(gateway.url, json.token, 'tools/list')).status === 200)
    expect((await call(json.token, 'told')).text).toContain('PERMISSION_DENIED')
    expect(told.requests.slice(before).filter(({ headers }) => headers['x-user'] !== undefined)).toEqual([])
  }, 90_000)
})
