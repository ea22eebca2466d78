import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { AuthRequired } from '../errors.ts'
import { serverKey } from './context.ts'
import { type AuthorizationServer, startAuthorizationServer } from './fixtures/authorization-server.ts'
import { type ResourceServer, startResourceServer } from './fixtures/resource-server.ts'
import { type AuthSetup, authSetup, cleanUp, pasting, ping, remote } from './fixtures/setup.ts'
import { login, logout } from './login.ts'
import { needsAuth, watchLogins } from './needs-auth.ts'
import { authFor } from './request-auth.ts'
import { loadLogin, saveLogin } from './stored-logins.ts'

let as: AuthorizationServer
let setup: AuthSetup
const open: { close(): Promise<void> }[] = []

beforeEach(async () => {
  as = await startAuthorizationServer()
  setup = authSetup()
})
afterEach(async () => {
  for (const server of open.splice(0)) await server.close()
  await as.close()
  cleanUp(setup)
})

async function serve(options: Parameters<typeof startResourceServer>[0]): Promise<ResourceServer> {
  const rs = await startResourceServer(options)
  open.push(rs)
  return rs
}

describe('an Authorization that the user wrote down', () => {
  it('leaves nothing for a login to do', async () => {
    const rs = await serve({ as })
    await login(remote('fixed', rs.url), setup.context, pasting(as))
    const server = remote('fixed', rs.url, { headers: { Authorization: 'Bearer PLANTED' } })
    const auth = authFor(server, setup.context)
    const error = await ping(auth, rs.url).catch((caught) => caught)
    expect(error).toBeInstanceOf(AuthRequired)
    expect(error.hint).toContain('settings.json')
    expect(JSON.stringify(error)).not.toContain('PLANTED')
    expect(rs.requests.at(-1)?.headers.authorization).toBeUndefined()
  })
})

it('costs an open server no look at its metadata', async () => {
  const rs = await serve({ accepts: () => true })
  expect((await ping(authFor(remote('open', rs.url), setup.context), rs.url)).status).toBe(200)
  expect(rs.requests.map(({ path }) => path)).toEqual(['/mcp'])
})

describe('a server that wants more', () => {
  it('gets it by a second login that keeps what the first had granted', async () => {
    const rs = await serve({ as, toolScope: 'tools:write' })
    const server = remote('stepwise', rs.url)
    await login(server, setup.context, pasting(as))
    const auth = authFor(server, setup.context)
    const call = () =>
      auth?.fetch(fetch)(rs.url, {
        method: 'POST',
        headers: { accept: 'application/json, text/event-stream', 'content-type': 'application/json' },
        body: '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"whoami"}}',
      })
    const error = await call()?.catch((caught) => caught)
    expect(error).toBeInstanceOf(AuthRequired)
    expect(error.hint).toContain('tools:write')
    expect(await needsAuth(server, setup.context)).toMatchObject({ scope: 'tools:write' })

    const result = await login(server, setup.context, pasting(as))
    expect(result.scope?.split(' ')).toEqual(expect.arrayContaining(['mcp', 'tools:write']))
    expect((await call())?.status).not.toBe(403)
    expect(rs.counts.forbidden).toBe(2)
  })

  it('says so as well when the login is found only after a first refusal', async () => {
    const rs = await serve({ as, toolScope: 'tools:write' })
    const server = remote('stepwise', rs.url)
    const auth = authFor(server, setup.context)
    await expect(ping(auth, rs.url)).rejects.toBeInstanceOf(AuthRequired)
    await login(server, setup.context, pasting(as))
    const body = '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"whoami"}}'
    const headers = { accept: 'application/json, text/event-stream', 'content-type': 'application/json' }
    const call = auth?.fetch(fetch)(rs.url, { method: 'POST', headers, body })
    await expect(call).rejects.toMatchObject({ code: 'AUTH_REQUIRED', wider: true })
    expect(await needsAuth(server, setup.context)).toMatchObject({ scope: 'tools:write' })
  })

  it('is tried again with the login of a sibling that has stepped up already', async () => {
    const rs = await serve({ as, toolScope: 'tools:write' })
    const server = remote('stepwise', rs.url)
    await login(server, setup.context, pasting(as))
    const auth = authFor(server, setup.context)
    expect((await ping(auth, rs.url)).status).toBe(200)
    const sibling = remote('stepwise', rs.url, { oauth: { scopes: ['mcp', 'tools:write'] } })
    await login(sibling, setup.context, pasting(as))
    const body = '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"whoami"}}'
    const headers = { accept: 'application/json, text/event-stream', 'content-type': 'application/json' }
    const response = await auth?.fetch(fetch)(rs.url, { method: 'POST', headers, body })
    expect(response?.status).not.toBe(403)
  })

  it('gets a renewal for a login that another process made and left to grow old', async () => {
    const rs = await serve({ as })
    const server = remote('late', rs.url)
    const auth = authFor(server, setup.context)
    await expect(ping(auth, rs.url)).rejects.toBeInstanceOf(AuthRequired)
    await login(server, setup.context, pasting(as))
    const known = await loadLogin(server, setup.context)
    if (known)
      await saveLogin(server, setup.context, {
        ...known,
        tokens: { ...known.tokens, accessToken: 'refused', obtainedAt: 1 },
      })
    expect((await ping(auth, rs.url)).status).toBe(200)
  })

  it('passes on a 403 that is about something else', async () => {
    const rs = await serve({ as })
    rs.intercept = (_request, response) => {
      response.writeHead(403).end('no')
      return true
    }
    expect((await ping(authFor(remote('strict', rs.url), setup.context), rs.url)).status).toBe(403)
  })
})

describe('proof of possession', () => {
  it('is given where the server asks for it, also after a renewal and by another process', async () => {
    const rs = await serve({ as, dpop: true })
    const server = remote('bound', rs.url)
    await login(server, setup.context, pasting(as))
    const known = await loadLogin(server, setup.context)
    expect(known?.tokens.type).toBe('dpop')
    expect((await ping(authFor(server, setup.context), rs.url)).status).toBe(200)
    if (known)
      await saveLogin(server, setup.context, {
        ...known,
        tokens: { ...known.tokens, obtainedAt: 0, expiresAt: 1 },
      })
    expect((await ping(authFor(server, setup.context), rs.url)).status).toBe(200)
    expect(as.counts.refresh).toBe(1)
  })

  it('carries the nonce that the server hands out', async () => {
    const rs = await serve({ as, dpop: true })
    const server = remote('bound', rs.url)
    await login(server, setup.context, pasting(as))
    let asked = 0
    rs.intercept = (request, response) => {
      const proof = String(request.headers.dpop ?? '').split('.')[1] ?? ''
      const { nonce } = JSON.parse(Buffer.from(proof, 'base64url').toString() || '{}')
      if (nonce === 'fresh') return false
      asked++
      response
        .writeHead(401, { 'www-authenticate': 'DPoP error="use_dpop_nonce"', 'dpop-nonce': 'fresh' })
        .end()
      return true
    }
    const auth = authFor(server, setup.context)
    expect((await ping(auth, rs.url)).status).toBe(200)
    expect((await ping(auth, rs.url)).status).toBe(200)
    expect(asked).toBe(1)
    expect(as.counts.refresh).toBe(0)
  })
})

describe('with the client of the SDK', () => {
  const connect = async (
    url: string,
    options: ConstructorParameters<typeof StreamableHTTPClientTransport>[1],
    mode: 'legacy' | 'auto',
  ) => {
    const client = new Client({ name: 't', version: '1' }, { versionNegotiation: { mode } })
    await client.connect(new StreamableHTTPClientTransport(new URL(url), options))
    return client
  }

  /** The SDK wraps what its fetch throws while it probes for the protocol version. */
  const ownError = (error: unknown): unknown =>
    error instanceof Error && !(error instanceof AuthRequired) && error.cause ? ownError(error.cause) : error

  it.each(['legacy', 'auto'] as const)('AuthRequired comes through, and a login helps (%s)', async (mode) => {
    const rs = await serve({ as })
    const server = remote('real', rs.url)
    const auth = authFor(server, setup.context)
    if (!auth) throw new Error('a remote server has an auth')
    const error = await connect(rs.url, { fetch: auth.fetch(fetch) }, mode).catch((caught) => caught)
    expect(ownError(error)).toBeInstanceOf(AuthRequired)
    await login(server, setup.context, pasting(as))
    const client = await connect(rs.url, { fetch: auth.fetch(fetch) }, mode)
    const result = await client.callTool({ name: 'whoami' })
    expect(result.content).toEqual([{ type: 'text', text: 'ada' }])
    await client.close()
  })

  it('eight refused calls at once end in one refresh and eight answers', async () => {
    const rs = await serve({ as })
    const server = remote('real', rs.url)
    await login(server, setup.context, pasting(as))
    const auth = authFor(server, setup.context)
    if (!auth) throw new Error('a remote server has an auth')
    const client = await connect(rs.url, { fetch: auth.fetch(fetch) }, 'legacy')
    const known = await loadLogin(server, setup.context)
    rs.intercept = (request, response) => {
      if (request.headers.authorization !== `Bearer ${known?.tokens.accessToken}`) return false
      response.writeHead(401, { 'www-authenticate': 'Bearer error="invalid_token"' }).end()
      return true
    }
    setup.advance(60_000)
    const results = await Promise.all(Array.from({ length: 8 }, () => client.callTool({ name: 'whoami' })))
    expect(results).toHaveLength(8)
    expect(as.counts).toMatchObject({ refresh: 1, refreshFailed: 0 })
    await client.close()
  })
})

describe('the memory of servers that want a login', () => {
  it('lasts a quarter of an hour, for this server at this address only', async () => {
    const rs = await serve({ as })
    const server = remote('asked', rs.url)
    await ping(authFor(server, setup.context), rs.url).catch(() => undefined)
    expect(await needsAuth(server, setup.context)).toBeDefined()
    expect(await needsAuth(remote('asked', 'http://127.0.0.1:1/mcp'), setup.context)).toBeUndefined()
    expect(await needsAuth(remote('other', rs.url), setup.context)).toBeUndefined()
    setup.advance(15 * 60_000 + 1)
    expect(await needsAuth(server, setup.context)).toBeUndefined()
  })

  it('is nothing when its file is damaged', async () => {
    const rs = await serve({ as })
    for (const text of [
      '',
      '[]',
      '{"needs":7}',
      '{"needs":{"__proto__":{"since":1}}}',
      'x'.repeat(2_000_000),
    ]) {
      writeFileSync(join(setup.dir, 'needs-auth.json'), text)
      expect(await needsAuth(remote('asked', rs.url), setup.context)).toBeUndefined()
    }
  })

  it('lets every watching board know of a login', async () => {
    const rs = await serve({ as })
    const server = remote('asked', rs.url)
    const heard: string[] = []
    const stop = await watchLogins(setup.context, (key) => heard.push(key))
    try {
      await ping(authFor(server, setup.context), rs.url).catch(() => undefined)
      await login(server, setup.context, pasting(as))
      await expect.poll(() => heard, { timeout: 10_000 }).toEqual([serverKey(server)])
    } finally {
      stop()
    }
    await login(server, setup.context, pasting(as))
    await new Promise((done) => setTimeout(done, 100))
    expect(heard).toHaveLength(1)
  })

  it('lets every watching board know of a logout, and connecting anew uses no login that is gone', async () => {
    const rs = await serve({ as })
    const server = remote('asked', rs.url)
    const auth = authFor(server, setup.context)
    await login(server, setup.context, pasting(as))
    expect((await ping(auth, rs.url)).status).toBe(200)
    const heard: string[] = []
    const stop = await watchLogins(setup.context, (key) => heard.push(key))
    try {
      await logout(server, setup.context)
      await expect.poll(() => heard, { timeout: 10_000 }).toEqual([serverKey(server)])
    } finally {
      stop()
    }
    // The server itself would go on taking the token until it expires.
    auth?.tryAgain()
    await expect(ping(auth, rs.url)).rejects.toThrow(AuthRequired)
  })
})

describe('the identity of this client', () => {
  it('is its own metadata document where the server takes one', async () => {
    const document = 'https://plugboard.example/client.json'
    const modern = await startAuthorizationServer({
      clientDocuments: {
        [document]: {
          client_id: document,
          client_name: 'Plugboard',
          redirect_uris: ['http://localhost/callback'],
          grant_types: ['authorization_code', 'refresh_token'],
          response_types: ['code'],
          token_endpoint_auth_method: 'none',
          application_type: 'native',
        },
      },
    })
    open.push(modern)
    const rs = await serve({ as: modern })
    const context = { ...setup.context, settings: { clientMetadataUrl: document } }
    const server = remote('modern', rs.url)
    expect(await login(server, context, pasting(modern))).toMatchObject({ client: 'metadata-document' })
    expect((await ping(authFor(server, context), rs.url)).status).toBe(200)
    expect(modern.counts.registered).toBe(0)
  })

  it('with a secret is not carried to an authorization server that the server names later', async () => {
    const client = {
      client_id: 'known',
      client_secret: 'sesame',
      redirect_uris: ['http://localhost:8976/callback'],
      application_type: 'native',
      grant_types: ['authorization_code', 'refresh_token'],
    }
    const first = await startAuthorizationServer({ clients: [client] })
    const second = await startAuthorizationServer({ clients: [client] })
    open.push(first, second)
    let issuer = first.issuer
    const rs = await serve({ accepts: () => false, metadata: () => ({}) })
    rs.intercept = (request, response) => {
      if (!request.url?.startsWith('/.well-known/')) return false
      response.setHeader('content-type', 'application/json')
      response.end(
        JSON.stringify({ resource: rs.url, authorization_servers: [issuer], scopes_supported: ['mcp'] }),
      )
      return true
    }
    const own = authSetup({ env: { MCP_CLIENT_SECRET: 'sesame' } })
    try {
      const server = remote('moving', rs.url, { oauth: { clientId: 'known' } })
      await login(server, own.context, pasting(first))
      issuer = second.issuer
      await expect(login(server, own.context, pasting(second))).rejects.toMatchObject({
        refusal: 'issuer-mismatch',
      })
      expect(second.requests.filter((request) => !request.includes('.well-known'))).toEqual([])
    } finally {
      cleanUp(own)
    }
  })
})
