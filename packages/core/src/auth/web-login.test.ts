// A login in two halves, as a web server does it: against a real authorization server and a real identity provider.
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { AuthRefused } from './auth-refused.ts'
import { type AuthorizationServer, startAuthorizationServer } from './fixtures/authorization-server.ts'
import {
  type ResourceServer,
  type ResourceServerOptions,
  startResourceServer,
} from './fixtures/resource-server.ts'
import { type AuthSetup, authSetup, cleanUp, ping, remote } from './fixtures/setup.ts'
import { authFor } from './request-auth.ts'
import { loadLogin } from './stored-logins.ts'
import { beginIdentityCheck, beginWebLogin, finishIdentityCheck, finishWebLogin } from './web-login.ts'

const TO = { redirectUri: 'http://localhost/callback', state: 'the-state' }
const TOKEN_EXCHANGE = 'urn:ietf:params:oauth:grant-type:token-exchange'
const CLIENT = {
  client_id: 'company',
  client_secret: 'sesame',
  redirect_uris: [TO.redirectUri],
  application_type: 'native',
  grant_types: ['authorization_code', 'refresh_token', TOKEN_EXCHANGE],
}

let as: AuthorizationServer
let setup: AuthSetup
const open: { close(): Promise<void> }[] = []
beforeEach(async () => {
  as = await startAuthorizationServer({ xaaIdp: true, clients: [CLIENT] })
  open.push(as)
  setup = authSetup({
    env: { PLUGBOARD_XAA_CLIENT_SECRET: 'sesame', MCP_CLIENT_SECRET: 'sesame' },
    settings: { xaa: { issuer: as.issuer, clientId: 'company' } },
  })
})
afterEach(async () => {
  for (const server of open.splice(0)) await server.close()
  cleanUp(setup)
})

async function guarded(options: Partial<ResourceServerOptions> = {}): Promise<ResourceServer> {
  const server = await startResourceServer({ as, ...options })
  open.unshift(server)
  return server
}
const answerTo = async (url: string, account?: string) => new URL(await as.walk(url, account)).searchParams
const asked = (url: string, ...names: string[]) => names.map((name) => new URL(url).searchParams.get(name))

describe('a login at a server', () => {
  it('is begun with an address and finished with the answer, also by another process', async () => {
    const rs = await guarded()
    const server = remote('one', rs.url)
    const begun = await beginWebLogin(server, setup.context, TO)
    expect(asked(begun.url, 'state', 'redirect_uri', 'resource', 'code_challenge_method')).toEqual([
      TO.state,
      TO.redirectUri,
      rs.url,
      'S256',
    ])
    expect(begun.registered).toEqual(begun.pending.kind === 'server' && begun.pending.client)
    expect(begun.registered?.source).toBe('registered')
    const [scope, prompt] = asked(begun.url, 'scope', 'prompt')
    expect(prompt).toBe(scope?.split(' ').includes('offline_access') ? 'consent' : null)
    expect(begun.pending).toMatchObject({ kind: 'server', sendResource: true, dpop: false })
    expect('scope' in begun.pending ? begun.pending.scope : null).toBe(scope)
    const pending = JSON.parse(JSON.stringify(begun.pending))
    const answer = await answerTo(begun.url)
    expect(await finishWebLogin(server, setup.context, pending, answer, TO.state)).toEqual({
      issuer: as.issuer,
    })
    expect((await ping(authFor(server, setup.context), rs.url)).status).toBe(200)
    expect(await loadLogin(server, setup.context)).not.toHaveProperty('dpopKey')
    // A code counts once.
    await expect(finishWebLogin(server, setup.context, pending, answer, TO.state)).rejects.toThrow(
      /invalid_grant/,
    )
  })

  it('asks for consent where it wants to stay logged in, and not elsewhere', async () => {
    const prompt = async (scopes: string[]) => {
      const other = await startAuthorizationServer({ metadata: { scopes_supported: scopes } })
      open.push(other)
      const { url } = await guarded({ as: other })
      const begun = await beginWebLogin(remote('one', url, { oauth: { scopes } }), setup.context, TO)
      return [...asked(begun.url, 'scope', 'prompt'), 'scope' in begun.pending && begun.pending.scope]
    }
    const both = 'openid offline_access'
    expect(await prompt(['openid', 'offline_access'])).toEqual([both, 'consent', both])
    expect(await prompt(['openid'])).toEqual(['openid', null, 'openid'])
  })

  it('uses the client that is known for this server again, and does not register another', async () => {
    const rs = await guarded()
    const server = remote('one', rs.url)
    const { registered } = await beginWebLogin(server, setup.context, TO)
    if (!registered) throw new Error('no client')
    const again = await beginWebLogin(server, setup.context, TO, { issuer: as.issuer, client: registered })
    expect(asked(again.url, 'client_id')).toEqual([registered.clientId])
    expect(as.counts.registered).toBe(1)
    const configured = remote('one', rs.url, { oauth: { clientId: 'company' } })
    expect(await beginWebLogin(configured, setup.context, TO)).not.toHaveProperty('registered')
  })

  it('is bound to a key where the server wants that', async () => {
    const rs = await guarded({ dpop: true })
    const server = remote('one', rs.url)
    const { url, pending } = await beginWebLogin(server, setup.context, TO)
    expect(pending).toMatchObject({ dpop: true })
    await finishWebLogin(server, setup.context, pending, await answerTo(url), TO.state)
    expect((await loadLogin(server, setup.context))?.dpopKey).toBeDefined()
    expect((await ping(authFor(server, setup.context), rs.url)).status).toBe(200)
  })

  it('asks again for what was granted before', async () => {
    const rs = await guarded()
    const wide = remote('one', rs.url, { oauth: { scopes: ['openid', 'offline_access'] } })
    const { url, pending } = await beginWebLogin(wide, setup.context, TO)
    await finishWebLogin(wide, setup.context, pending, await answerTo(url), TO.state)
    const next = await beginWebLogin(remote('one', rs.url), setup.context, TO)
    expect(asked(next.url, 'scope')[0]?.split(' ')).toEqual(
      expect.arrayContaining(['openid', 'offline_access']),
    )
  })

  it('is refused for an answer that belongs to another visit', async () => {
    const rs = await guarded()
    const server = remote('one', rs.url)
    const { url, pending } = await beginWebLogin(server, setup.context, TO)
    const answer = await answerTo(url)
    await expect(finishWebLogin(server, setup.context, pending, answer, 'other')).rejects.toThrow(AuthRefused)
    expect(await loadLogin(server, setup.context)).toBeUndefined()
  })
})

describe('a visit at the identity provider', () => {
  const ada = () => ({ issuer: as.issuer, subject: 'ada' })
  const sso = (url: string) => remote('one', url, { oauth: { xaa: true, clientId: 'company' } })

  it.each<[string, string, (() => object) | undefined, boolean]>([
    ['the user', 'ada', ada, true],
    ['the user, where no one is expected', 'ada', undefined, true],
    ['another user', 'eve', ada, false],
    [
      'someone of another provider, who cannot be compared',
      'eve',
      () => ({ issuer: 'https://o.example', subject: 'ada' }),
      true,
    ],
  ])('by %s (%s) opens the session', async (_, account, expected, opens) => {
    const rs = await guarded()
    const { url, pending } = await beginWebLogin(sso(rs.url), setup.context, TO)
    expect(asked(url, 'scope', 'prompt', 'client_id')).toEqual([
      'openid offline_access',
      'consent',
      'company',
    ])
    const finished = finishWebLogin(
      sso(rs.url),
      setup.context,
      pending,
      await answerTo(url, account),
      TO.state,
      expected?.() as ReturnType<typeof ada>,
    )
    if (opens) expect(await finished).toEqual({ issuer: as.issuer })
    else await expect(finished).rejects.toThrow('says that another user is logged in')
  })

  it.each<[string, () => object, boolean]>([
    ['ada', ada, true],
    ['eve', ada, false],
    ['ada', () => ({ ...ada(), issuer: 'https://o.example' }), false],
  ])('only tells who the user is: %s', async (account, expected, passes) => {
    const rs = await guarded()
    const settings = { issuer: as.issuer, clientId: 'company', clientSecret: 'sesame' }
    const { url, pending } = await beginIdentityCheck(sso(rs.url), setup.context, settings, TO)
    expect(asked(url, 'scope', 'prompt')).toEqual(['openid', null])
    const answer = await answerTo(url, account)
    const check = finishIdentityCheck(
      sso(rs.url),
      setup.context,
      settings,
      pending,
      answer,
      TO.state,
      expected() as ReturnType<typeof ada>,
    )
    if (passes) await check
    else
      await expect(check).rejects.toMatchObject({
        hint: 'Log out there, and open the address again as the right user.',
      })
  })

  it('asks for the scopes of the settings, and only for those that the provider has', async () => {
    const settings = { issuer: as.issuer, clientId: 'company', scopes: ['email', 'offline_access'] }
    const rs = await guarded()
    const scopes = async () =>
      asked((await beginIdentityCheck(sso(rs.url), setup.context, settings, TO)).url, 'scope', 'prompt')
    expect(await scopes()).toEqual(['openid email offline_access', 'consent'])
    as.intercept = (request, response) => {
      if (!request.url?.includes('.well-known')) return false
      response.setHeader('content-type', 'application/json')
      response.end(
        JSON.stringify({
          issuer: as.issuer,
          authorization_endpoint: `${as.issuer}/auth`,
          token_endpoint: `${as.issuer}/token`,
          jwks_uri: `${as.issuer}/jwks`,
          response_types_supported: ['code'],
          code_challenge_methods_supported: ['S256'],
          scopes_supported: ['openid', 'email'],
        }),
      )
      return true
    }
    expect(await scopes()).toEqual(['openid email', null])
  })
})
