import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { AuthRequired, InvalidInput } from '../errors.ts'
import { type AuthorizationServer, startAuthorizationServer } from './fixtures/authorization-server.ts'
import { type ResourceServer, startResourceServer } from './fixtures/resource-server.ts'
import { type AuthSetup, authSetup, cleanUp, pasting, ping, remote } from './fixtures/setup.ts'
import { login } from './login.ts'
import { authFor } from './request-auth.ts'

let idp: AuthorizationServer
let as: AuthorizationServer
let one: ResourceServer
let two: ResourceServer
let setup: AuthSetup

const TOKEN_EXCHANGE = 'urn:ietf:params:oauth:grant-type:token-exchange'
const JWT_BEARER = 'urn:ietf:params:oauth:grant-type:jwt-bearer'

beforeEach(async () => {
  const client = {
    client_id: 'company',
    client_secret: 'sesame',
    redirect_uris: ['http://localhost/callback'],
    application_type: 'native',
    grant_types: ['authorization_code', 'refresh_token', TOKEN_EXCHANGE],
  }
  idp = await startAuthorizationServer({ xaaIdp: true, clients: [client] })
  as = await startAuthorizationServer({
    xaaTrusts: [{ issuer: idp.issuer, jwks: idp.jwks }],
    clients: [
      {
        client_id: 'company',
        client_secret: 'sesame',
        redirect_uris: [],
        response_types: [],
        grant_types: [JWT_BEARER],
      },
    ],
  })
  one = await startResourceServer({ as })
  two = await startResourceServer({ as })
  setup = authSetup({
    env: { PLUGBOARD_XAA_CLIENT_SECRET: 'sesame', MCP_CLIENT_SECRET: 'sesame' },
    settings: { xaa: { issuer: idp.issuer, clientId: 'company' } },
  })
})
afterEach(async () => {
  for (const server of [one, two, as, idp]) await server.close()
  cleanUp(setup)
})

const xaa = (name: string, { url }: ResourceServer) =>
  remote(name, url, { oauth: { xaa: true, clientId: 'company' } })
const noUser = {
  openBrowser: false,
  onUrl: () => {
    throw new Error('the user was asked')
  },
}

describe('single sign-on', () => {
  it('asks once for two servers', async () => {
    await expect(ping(authFor(xaa('one', one), setup.context), one.url)).rejects.toBeInstanceOf(AuthRequired)
    expect(await login(xaa('one', one), setup.context, pasting(idp))).toMatchObject({
      askedUser: true,
      issuer: as.issuer,
    })
    expect((await ping(authFor(xaa('one', one), setup.context), one.url)).status).toBe(200)
    expect((await ping(authFor(xaa('two', two), setup.context), two.url)).status).toBe(200)
    expect(await login(xaa('two', two), setup.context, noUser)).toMatchObject({ askedUser: false })
    expect(idp.counts.logins).toBe(1)
    expect(as.counts.logins).toBe(0)
  })

  it('keeps an access token until it ends, for every process', async () => {
    await login(xaa('one', one), setup.context, pasting(idp))
    for (let call = 0; call < 3; call++) await ping(authFor(xaa('one', one), setup.context), one.url)
    expect(as.counts.bearer).toBe(1)
    expect(idp.counts.exchanged).toBe(1)
  })

  it('renews the ID token silently when it has ended', async () => {
    await login(xaa('one', one), setup.context, pasting(idp))
    setup.advance(2 * 3_600_000)
    expect((await ping(authFor(xaa('two', two), setup.context), two.url)).status).toBe(200)
    expect(idp.counts).toMatchObject({ logins: 1, refresh: 1 })
  })

  it('renews it once when ten servers want it at the same time', async () => {
    await login(xaa('one', one), setup.context, pasting(idp))
    setup.advance(2 * 3_600_000)
    const calls = Array.from({ length: 10 }, (_, index) =>
      ping(authFor(xaa(`s${index}`, two), setup.context), two.url),
    )
    expect((await Promise.all(calls)).map(({ status }) => status)).toEqual(Array(10).fill(200))
    expect(idp.counts).toMatchObject({ refresh: 1, refreshFailed: 0 })
  })

  it('asks again when the identity provider has ended the session', async () => {
    await login(xaa('one', one), setup.context, pasting(idp))
    setup.advance(2 * 3_600_000)
    let left = 2
    idp.intercept = (request, response) => {
      if (request.url !== '/token' || left-- <= 0) return false
      response.writeHead(400, { 'content-type': 'application/json' })
      response.end('{"error":"invalid_grant"}')
      return true
    }
    const error = await ping(authFor(xaa('two', two), setup.context), two.url).catch((caught) => caught)
    expect(error).toBeInstanceOf(AuthRequired)
    expect(error.hint).toContain('single sign-on')
    expect(await login(xaa('two', two), setup.context, pasting(idp))).toMatchObject({ askedUser: true })
  })

  it('survives trouble at the identity provider', async () => {
    await login(xaa('one', one), setup.context, pasting(idp))
    setup.advance(2 * 3_600_000)
    let left = 1
    idp.intercept = (request, response) => {
      if (request.url !== '/token' || left-- <= 0) return false
      response.writeHead(503).end()
      return true
    }
    await expect(ping(authFor(xaa('two', two), setup.context), two.url)).rejects.toMatchObject({
      code: 'IO_ERROR',
    })
    expect((await ping(authFor(xaa('two', two), setup.context), two.url)).status).toBe(200)
    expect(idp.counts.logins).toBe(1)
  })

  it('tells that no identity provider is set up', async () => {
    const { settings: _none, ...bare } = setup.context
    await expect(login(xaa('one', one), bare, noUser)).rejects.toBeInstanceOf(InvalidInput)
  })

  it('believes no ID token that its provider did not sign', async () => {
    idp.intercept = (request, response) => {
      if (request.url !== '/jwks') return false
      response.setHeader('content-type', 'application/json')
      response.end(JSON.stringify({ keys: [] }))
      return true
    }
    await expect(login(xaa('one', one), setup.context, pasting(idp))).rejects.toMatchObject({
      refusal: 'bad-id-token',
    })
  })
})
