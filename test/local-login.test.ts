// `plugboard serve --http --login local`: clients of both SDK versions that know only the address log in with a code that the terminal
// shows, and go on after a restart. And who does not see the terminal does not get in.
import { spawnSync } from 'node:child_process'
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Client, StreamableHTTPClientTransport, UnauthorizedError } from '@modelcontextprotocol/client'
import { Client as ClientV1 } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport as TransportV1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { modern, SERVER, type ServedGateway, serveGateway, until } from './support/gateway.ts'
import { Browser, Login } from './support/oauth-login.ts'

let gateway: ServedGateway
let base: string
beforeAll(async () => {
  gateway = await serveGateway({
    servers: { one: { command: process.execPath, args: [SERVER] } },
    gateway: (port) => ({
      publicUrl: `http://127.0.0.1:${port}`,
      isolation: { servers: { one: 'shared' } },
      auth: { tokens: 'tokens.json' },
    }),
    args: ['--login', 'local'],
  })
  base = `http://127.0.0.1:${gateway.port}`
}, 120_000)
afterAll(() => gateway?.remove())

const codes = () =>
  [...gateway.stderr().matchAll(/code is ([A-Z0-9]{4}-[A-Z0-9]{4})/g)].map(([, code]) => code)

/** Opens the login page as the user's browser does; the code appears on the terminal. */
async function openLogin(address: URL | undefined) {
  const browser = new Browser()
  const known = codes().length
  const { url, page } = await browser.open(String(address))
  expect(page?.status).toBe(200)
  const html = (await page?.text()) ?? ''
  await until(() => codes().length > known)
  return { browser, url, html, code: codes().at(-1) ?? '' }
}

describe('a client that knows only the address', () => {
  it.each(['legacy', 'auto'] as const)(
    'of the SDK 2 (%s) logs in with the code, and calls',
    async (mode) => {
      const login = new Login()
      const client = () => new Client({ name: 'test', version: '1' }, { versionNegotiation: { mode } })
      const transport = () => new StreamableHTTPClientTransport(new URL(gateway.url), { authProvider: login })
      const first = transport()
      await expect(client().connect(first)).rejects.toBeInstanceOf(UnauthorizedError)
      const { browser, url, html, code } = await openLogin(login.address)
      expect(html).toContain('http://127.0.0.1:9')
      const back = await browser.post(url, { code: code.toLowerCase() })
      await first.finishAuth(new URL(back.url).searchParams)
      const connected = client()
      await connected.connect(transport())
      const { content } = await connected.callTool({ name: 'mcp__one__read', arguments: {} })
      expect(JSON.stringify(content)).toContain('read ')
      await connected.close()
    },
    60_000,
  )

  it('of the SDK 1 logs in too, and goes on after a restart of the gateway, also with its refresh token', async () => {
    const login = new Login()
    const transport = () => new TransportV1(new URL(gateway.url), { authProvider: login as never })
    const first = transport()
    await expect(new ClientV1({ name: 'test', version: '1' }).connect(first as never)).rejects.toThrow()
    const { browser, url, code } = await openLogin(login.address)
    const back = await browser.post(url, { code })
    await first.finishAuth(new URL(back.url).searchParams.get('code') ?? '')
    await gateway.stop()
    await gateway.start()
    const connected = new ClientV1({ name: 'test', version: '1' })
    await connected.connect(transport() as never)
    expect((await connected.listTools()).tools.map(({ name }) => name)).toContain('mcp__one__read')
    await connected.close()
    const refreshed = await fetch(`${base}/login/token`, {
      method: 'POST',
      body: new URLSearchParams({
        grant_type: 'refresh_token',
        refresh_token: login.tokens()?.refresh_token ?? '',
        client_id: login.clientInformation()?.client_id ?? '',
      }),
    })
    const tokens = (await refreshed.json()) as { access_token: string }
    expect([refreshed.status, typeof tokens.access_token]).toEqual([200, 'string'])
    expect((await modern(gateway.url, tokens.access_token, 'tools/list')).status).toBe(200)
    const file = join(gateway.place.home, '.plugboard', 'state', 'gateway-login.json')
    expect(statSync(file).mode & 0o777).toBe(0o600)
    expect(Object.keys(JSON.parse(readFileSync(file, 'utf8')).entries).sort()).toEqual([
      'Client',
      'Grant',
      'RefreshToken',
    ])
  }, 120_000)
})

describe('a client whose user did not answer', () => {
  it('may come again with the same registration, and is told to register anew where that was forgotten', async () => {
    const login = new Login()
    const client = () => new Client({ name: 'test', version: '1' })
    const transport = () => new StreamableHTTPClientTransport(new URL(gateway.url), { authProvider: login })
    const visit = async () => {
      const one = transport()
      await expect(client().connect(one)).rejects.toBeInstanceOf(UnauthorizedError)
      return one
    }
    for (let n = 0; n < 2; n++) {
      await visit()
      await openLogin(login.address)
    }
    const registered = login.clientInformation()?.client_id
    await gateway.stop()
    await gateway.start()
    await visit()
    expect(login.clientInformation()?.client_id).toBe(registered)
    const { page } = await new Browser().open(String(login.address))
    expect(page?.status).toBe(400)
    expect(await page?.text()).toContain('Remove the connection in your client and add it again')
    const fresh = new Login()
    const again = new StreamableHTTPClientTransport(new URL(gateway.url), { authProvider: fresh })
    await expect(client().connect(again)).rejects.toBeInstanceOf(UnauthorizedError)
    // Two visits without an answer, then one with: the registration is still good.
    await openLogin(fresh.address)
    const { browser, url, code } = await openLogin(fresh.address)
    const back = await browser.post(url, { code })
    await again.finishAuth(new URL(back.url).searchParams)
    expect((await modern(gateway.url, fresh.tokens()?.access_token, 'tools/list')).status).toBe(200)
  }, 120_000)
})

describe('who does not see the terminal', () => {
  const register = async (redirect: string, name = 'evil') => {
    const response = await fetch(`${base}/login/reg`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({
        client_name: name,
        redirect_uris: [redirect],
        token_endpoint_auth_method: 'none',
      }),
    })
    return (await response.json()) as { client_id: string }
  }
  const authorization = (client: string, more: Record<string, string> = {}) => {
    const url = new URL(`${base}/login/auth`)
    url.search = new URLSearchParams({
      client_id: client,
      response_type: 'code',
      redirect_uri: 'https://evil.example/cb',
      code_challenge: 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM',
      code_challenge_method: 'S256',
      resource: gateway.url,
      ...more,
    }).toString()
    return url
  }

  it('has five tries, in its own browser, and its name is shown as text', async () => {
    const { client_id } = await register('https://evil.example/cb', '<script>x</script>\u001b[2J\nLogin: ok')
    const { browser, url, html, code } = await openLogin(authorization(client_id))
    expect(html).not.toContain('<script>')
    expect(gateway.stderr()).not.toContain('\u001b[2J')
    expect(gateway.stderr()).not.toMatch(/^Login: ok/m)
    // Another browser with the address of the page has no part in it.
    expect((await new Browser().post(url, { code })).page?.status).toBe(400)
    for (let n = 0; n < 5; n++)
      expect((await browser.post(url, { code: 'AAAA-AAAA' })).page?.status).toBe(403)
    const late = await browser.post(url, { code })
    expect(late.page?.status).toBe(403)
    expect(await late.page?.text()).toContain('over')
  }, 30_000)

  it('gets no token for another resource, without PKCE, or for an address that was not registered', async () => {
    const { client_id } = await register('https://evil.example/cb')
    const ends = async (more: Record<string, string>) =>
      await new Browser().open(String(authorization(client_id, more)))
    expect((await ends({ resource: 'https://other.example/mcp' })).url).toContain('error=invalid_target')
    expect((await ends({ code_challenge: '', code_challenge_method: '' })).url).toContain('error=')
    expect((await ends({ redirect_uri: 'https://evil.example/other' })).page?.status).toBe(400)
  })

  it('cannot change by headers what the metadata say', async () => {
    const spoofed = {
      'x-forwarded-host': 'evil.example',
      'x-forwarded-proto': 'https',
      forwarded: 'host=evil.example',
    }
    for (const path of [
      '/.well-known/oauth-authorization-server/login',
      '/.well-known/openid-configuration/login',
      '/login/.well-known/openid-configuration',
    ]) {
      const metadata = await (await fetch(base + path, { headers: spoofed })).json()
      expect(metadata).toMatchObject({
        issuer: `${base}/login`,
        authorization_endpoint: `${base}/login/auth`,
        token_endpoint: `${base}/login/token`,
        registration_endpoint: `${base}/login/reg`,
        client_id_metadata_document_supported: true,
      })
      expect(JSON.stringify(metadata)).not.toContain('evil')
    }
    // A client's document is not fetched from inside the network.
    const inside = await new Browser().open(String(authorization('https://localhost:1/client.json')))
    expect(inside.page?.status).toBe(400)
  })
})

describe('anybody who reaches the address', () => {
  const status = (path: string, headers: Record<string, string>, body?: string) =>
    new Promise<number | undefined>((done, fail) => {
      const method = body === undefined ? 'GET' : 'POST'
      const sent = request(base + path, { method, headers }, (response) => {
        response.resume()
        done(response.statusCode)
      })
      sent.on('error', fail)
      sent.end(body)
    })

  it('is refused under a host name that is not served', async () => {
    const host = 'rebound.example'
    for (const path of ['/login/auth', '/login/jwks', '/.well-known/oauth-authorization-server/login'])
      expect([path, await status(path, { host })]).toEqual([path, 403])
    expect(await status('/login/reg', { host, 'content-type': 'application/json' }, '{}')).toBe(403)
  })

  it('registers a bounded number of clients of a bounded size, and is told when to come back', async () => {
    const type = { 'content-type': 'application/json' }
    const body = JSON.stringify({ redirect_uris: ['https://evil.example/cb'] })
    expect(await status('/login/reg', type, JSON.stringify({ client_name: 'x'.repeat(9000) }))).toBe(413)
    expect(await status('/login/reg', { ...type, 'transfer-encoding': 'chunked' }, body)).toBe(413)
    const all: (number | undefined)[] = []
    for (let n = 0; n < 40; n++) all.push(await status('/login/reg', type, body))
    expect(all.at(-1)).toBe(429)
    const refused = await fetch(`${base}/login/auth?client_id=x`)
    expect([refused.status, Number(refused.headers.get('retry-after')) > 0]).toEqual([429, true])
    // What begins nothing is not counted.
    expect(await status('/login/jwks', {})).toBe(200)
  }, 30_000)
})

describe('the command', () => {
  it.each([
    [['serve', '--login', 'local'], '--http'],
    [['serve', '--http', '--login', 'local'], '--port'],
    [['serve', '--http', '--port', '7337', '--login', 'github'], '--login local'],
    [['serve', '--http', '--port', '7337', '--login', 'local', '--no-auth'], 'cannot be used together'],
  ])('refuses %j', async (words, why) => {
    const ran = await gateway.place.run(...words)
    expect([ran.code, ran.stderr]).toEqual([2, expect.stringContaining(why)])
  })

  it('says what is missing where oidc-provider is not installed', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'plugboard-login-'))
    const cli = fileURLToPath(new URL('../packages/cli/', import.meta.url))
    for (const part of ['bin', 'dist', 'package.json'])
      cpSync(join(cli, part), join(folder, part), { recursive: true })
    const words = ['serve', '--http', '--port', String(gateway.port + 1), '--login', 'local']
    // A package of the folder where it is started may be a repository's: it is not loaded.
    const hostile = join(folder, 'clone', 'node_modules', 'oidc-provider')
    mkdirSync(hostile, { recursive: true })
    writeFileSync(
      join(hostile, 'package.json'),
      '{"name":"oidc-provider","version":"9.0.0","main":"index.js"}',
    )
    writeFileSync(join(hostile, 'index.js'), "require('node:fs').writeFileSync(__dirname + '/ran', '')")
    const options = {
      cwd: join(folder, 'clone'),
      env: { PATH: process.env['PATH'] ?? '', HOME: folder },
      encoding: 'utf8',
    } as const
    const ran = spawnSync(process.execPath, [join(folder, 'bin', 'plugboard.cjs'), ...words], options)
    const isLoaded = existsSync(join(hostile, 'ran'))
    rmSync(folder, { recursive: true, force: true })
    expect(isLoaded).toBe(false)
    expect([ran.status, ran.stderr]).toEqual([2, expect.stringContaining('npm install -g oidc-provider')])
  }, 30_000)
})
