import { readdirSync, readFileSync, statSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { freePort } from '../../../../test/support/free-port.mjs'
import { AuthRequired, Cancelled } from '../errors.ts'
import { type AuthorizationServer, startAuthorizationServer, stop } from './fixtures/authorization-server.ts'
import { type ResourceServer, startResourceServer } from './fixtures/resource-server.ts'
import { type AuthSetup, authSetup, browsing, cleanUp, pasting, ping, remote } from './fixtures/setup.ts'
import { login, logout } from './login.ts'
import { needsAuth } from './needs-auth.ts'
import { authFor } from './request-auth.ts'
import { loadLogin } from './stored-logins.ts'

let as: AuthorizationServer
let rs: ResourceServer
let setup: AuthSetup

beforeEach(async () => {
  as = await startAuthorizationServer()
  rs = await startResourceServer({ as })
  setup = authSetup()
})
afterEach(async () => {
  await rs.close()
  await as.close()
  cleanUp(setup)
})

describe('login', () => {
  it('asks for a login, remembers that, and works after one by browser', async () => {
    const server = remote('guarded', rs.url)
    const auth = authFor(server, setup.context)
    await expect(ping(auth, rs.url)).rejects.toBeInstanceOf(AuthRequired)
    expect(await needsAuth(server, setup.context)).toBeDefined()

    const result = await login(server, setup.context, browsing(as))
    expect(result).toMatchObject({
      server: 'guarded',
      issuer: as.issuer,
      resource: rs.url,
      client: 'registered',
      askedUser: true,
      renewable: true,
    })
    expect(await needsAuth(server, setup.context)).toBeUndefined()
    expect((await ping(auth, rs.url)).status).toBe(200)
    expect(as.counts).toMatchObject({ registered: 1, logins: 1, codes: 1 })
    // What was stored to see whether a login could be is gone.
    expect(await setup.context.vault.get('trial')).toBeUndefined()
  })

  it('works by pasting the redirect where there is no browser', async () => {
    const server = remote('guarded', rs.url)
    await login(server, setup.context, pasting(as))
    expect((await ping(authFor(server, setup.context), rs.url)).status).toBe(200)
  })

  it('reuses its registration and port at the next login', async () => {
    const server = remote('guarded', rs.url)
    await login(server, setup.context, browsing(as))
    await login(server, setup.context, browsing(as))
    expect(as.counts.registered).toBe(1)
  })

  it('registers anew after a login that came to nothing', async () => {
    const server = remote('guarded', rs.url)
    await login(server, setup.context, browsing(as))
    const abort = new AbortController()
    const given = { openBrowser: false, onUrl: () => abort.abort(), signal: abort.signal }
    await expect(login(server, setup.context, given)).rejects.toBeInstanceOf(Cancelled)
    expect((await ping(authFor(server, setup.context), rs.url)).status).toBe(200)
    await login(server, setup.context, browsing(as))
    expect(as.counts.registered).toBe(2)
  })

  it('finds the login of a WebSocket server by its HTTP address', async () => {
    const server = remote('guarded', rs.url.replace(/^http/, 'ws'))
    expect(await login(server, setup.context, pasting(as))).toMatchObject({ resource: rs.url })
    expect((await ping(authFor(server, setup.context), rs.url)).status).toBe(200)
  })

  it('logs out: the tokens are taken back at the server and gone from the vault', async () => {
    const server = remote('guarded', rs.url)
    await login(server, setup.context, browsing(as))
    const before = await loadLogin(server, setup.context)
    expect(await logout(server, setup.context)).toEqual({ server: 'guarded', forgotten: true, revoked: true })
    expect(await loadLogin(server, setup.context)).toBeUndefined()
    expect(await as.find(before?.tokens.accessToken ?? '')).toBeUndefined()
    await expect(ping(authFor(server, setup.context), rs.url)).rejects.toBeInstanceOf(AuthRequired)
    expect(await logout(server, setup.context)).toMatchObject({ forgotten: false, revoked: false })
  })

  it('forgets the login here even when the authorization server is gone', async () => {
    const server = remote('guarded', rs.url)
    await login(server, setup.context, browsing(as))
    as.intercept = (_request, response) => {
      response.destroy()
      return true
    }
    expect(await logout(server, setup.context)).toMatchObject({ forgotten: true, revoked: false })
    expect(await loadLogin(server, setup.context)).toBeUndefined()
  })

  it('keeps no secret in the clear and closes its folder to others', async () => {
    await login(remote('guarded', rs.url), setup.context, browsing(as))
    const login_ = await loadLogin(remote('guarded', rs.url), setup.context)
    const vault = join(setup.dir, 'vault')
    expect(statSync(vault).mode & 0o777).toBe(0o700)
    for (const name of readdirSync(vault)) {
      expect(statSync(join(vault, name)).mode & 0o777).toBe(0o600)
      const text = readFileSync(join(vault, name), 'utf8')
      expect(text).not.toContain(login_?.tokens.accessToken)
      expect(text).not.toContain(login_?.tokens.refreshToken)
    }
  })

  it('uses the client id and secret of the configuration', async () => {
    const port = await freePort()
    const other = await startAuthorizationServer({
      registration: false,
      clients: [
        {
          client_id: 'known',
          client_secret: 'open sesame: 100%',
          redirect_uris: [`http://localhost:${port}/callback`],
          grant_types: ['authorization_code', 'refresh_token'],
          application_type: 'native',
        },
      ],
    })
    const target = await startResourceServer({ as: other })
    const own = authSetup({ env: { PLUGBOARD_CLIENT_SECRET_MY_SERVER: 'open sesame: 100%' } })
    try {
      const server = remote('my-server', target.url, { oauth: { clientId: 'known', callbackPort: port } })
      expect(await login(server, own.context, browsing(other))).toMatchObject({ client: 'configured' })
      expect((await ping(authFor(server, own.context), target.url)).status).toBe(200)
    } finally {
      await target.close()
      await other.close()
      cleanUp(own)
    }
  })

  it('says which port is taken when the configured one is', async () => {
    const busy = createServer()
    await new Promise<void>((done) => busy.listen(0, '127.0.0.1', done))
    const { port } = busy.address() as AddressInfo
    try {
      await expect(
        login(remote('guarded', rs.url, { oauth: { callbackPort: port } }), setup.context, browsing(as)),
      ).rejects.toMatchObject({
        refusal: 'callback-port-busy',
        message: expect.stringContaining(String(port)),
      })
    } finally {
      await stop(busy)
    }
  })
})
