// The local login as a client and a browser meet it: registration, the page with the code, tokens, and what is refused.
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { systemHost } from '@plugboard/core/host'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { LocalLogin, localIssuer } from './local-login.ts'
import { LoginCodes } from './login-codes.ts'

const REDIRECT = 'http://127.0.0.1:1/back'
const VERIFIER = 'v'.repeat(43)
// The S256 challenge of the verifier above.
const CHALLENGE = Buffer.from(
  await crypto.subtle.digest('SHA-256', new TextEncoder().encode(VERIFIER)),
).toString('base64url')

let dir: string
let server: Server
let login: LocalLogin
let origin: string
const told: string[] = []
/** A clock that stands still, where a test must not depend on how long it takes. */
let still: number | undefined

beforeAll(async () => {
  dir = mkdtempSync(join(tmpdir(), 'plugboard-local-login-'))
  server = createServer((req, res) => {
    if (!login.answer(req, res)) res.writeHead(418).end('not of the login')
  })
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const host = systemHost({ now: () => still ?? Date.now() })
  const options = { host, publicUrl: `${origin}/`, file: join(dir, 'login.json') }
  login = await LocalLogin.open({ ...options, tell: (text) => void told.push(text) })
})
afterAll(async () => {
  await login.close()
  await new Promise<void>((done) => {
    server.close(() => done())
    server.closeAllConnections()
  })
  rmSync(dir, { recursive: true, force: true })
})

const json = async (response: Response) => (await response.json()) as Record<string, unknown>

async function register(more: object = {}): Promise<string> {
  const grants = ['authorization_code', 'refresh_token']
  const client = { redirect_uris: [REDIRECT], client_name: 'A <b>client</b>', grant_types: grants }
  const body = JSON.stringify({ ...client, ...more })
  const headers = { 'content-type': 'application/json' }
  const response = await fetch(`${origin}/login/reg`, { method: 'POST', headers, body })
  expect(response.status).toBe(201)
  return String((await json(response))['client_id'])
}

/** A browser: it keeps cookies and follows nothing by itself. */
function browser() {
  const cookies = new Map<string, string>()
  return async (address: string, init: RequestInit = {}): Promise<Response> => {
    const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ')
    const headers = { ...init.headers, ...(cookie && { cookie }) }
    const response = await fetch(new URL(address, origin), { redirect: 'manual', ...init, headers })
    for (const set of response.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(set) ?? []
      cookies.set(name, value)
    }
    return response
  }
}

const ASKED = { response_type: 'code', code_challenge: CHALLENGE, code_challenge_method: 'S256' }
const authAddress = (clientId: string, more: Record<string, string> = {}) =>
  `/login/auth?${new URLSearchParams({ ...ASKED, client_id: clientId, redirect_uri: REDIRECT, state: 's', ...more })}`

/** Up to the page with the code. */
async function begun(clientId: string, more: Record<string, string> = {}) {
  const visit = browser()
  const asked = await visit(authAddress(clientId, more))
  expect([302, 303]).toContain(asked.status)
  const place = asked.headers.get('location') ?? ''
  const shown = await visit(place)
  return { visit, place, shown, page: await shown.text() }
}
const type = (visit: ReturnType<typeof browser>, place: string, code: string) =>
  visit(place, { method: 'POST', body: new URLSearchParams({ code }) })
const lastCode = () => /its code is (\S+)/.exec(told.at(-1) ?? '')?.[1] ?? ''

/** The code that the client gets back. */
async function granted(clientId: string, more: Record<string, string> = {}): Promise<string> {
  const { visit, place } = await begun(clientId, more)
  const right = await type(visit, place, lastCode())
  const back = await visit(right.headers.get('location') ?? '')
  const end = new URL(back.headers.get('location') ?? '')
  expect([`${end.origin}${end.pathname}`, end.searchParams.get('state')]).toEqual([REDIRECT, 's'])
  return end.searchParams.get('code') ?? ''
}
const token = async (params: Record<string, string>) => {
  const response = await fetch(`${origin}/login/token`, { method: 'POST', body: new URLSearchParams(params) })
  return { status: response.status, body: await json(response) }
}
const exchange = (clientId: string, code: string, more: Record<string, string> = {}) =>
  token({
    grant_type: 'authorization_code',
    client_id: clientId,
    code,
    redirect_uri: REDIRECT,
    code_verifier: VERIFIER,
    ...more,
  })
const claims = (jwt: unknown) =>
  JSON.parse(Buffer.from(String(jwt).split('.')[1] ?? '', 'base64url').toString()) as Record<string, unknown>

describe('the local login', () => {
  it('is found where clients look, and answers nothing else', async () => {
    for (const path of [
      '/.well-known/oauth-authorization-server/login',
      '/.well-known/openid-configuration/login',
      '/login/.well-known/openid-configuration',
    ]) {
      const found = await json(
        await fetch(`${origin}${path}`, {
          headers: { 'x-forwarded-host': 'evil.test', forwarded: 'host=evil' },
        }),
      )
      expect(found).toMatchObject({
        issuer: `${origin}/login`,
        token_endpoint: `${origin}/login/token`,
        registration_endpoint: `${origin}/login/reg`,
        revocation_endpoint: `${origin}/login/token/revocation`,
        client_id_metadata_document_supported: true,
      })
    }
    for (const path of [
      '/',
      '/mcp',
      '/loginx',
      '/x/login/',
      '/.well-known/oauth-authorization-server',
      '/.well-known/oauth-authorization-server/other',
    ])
      expect([path, (await fetch(`${origin}${path}`)).status]).toEqual([path, 418])
    expect((await fetch(`${origin}/login`)).status).toBe(404)
    expect(localIssuer(`${origin}/`, 'http://127.0.0.1:9')).toEqual({
      issuer: `${origin}/login`,
      jwksUri: 'http://127.0.0.1:9/login/jwks',
    })
  })

  it('lets a client in that shows the code of the terminal, for this gateway alone, and again by its refresh token', async () => {
    const clientId = await register()
    const { visit, place, shown, page } = await begun(clientId, { scope: 'openid' })
    expect(shown.status).toBe(200)
    expect(shown.headers.get('content-security-policy')).toContain("frame-ancestors 'none'")
    expect(page).toContain('<strong>A &#60;b&#62;client&#60;/b&#62;</strong>')
    expect(page).toContain('<strong>http://127.0.0.1:1</strong>')
    expect(page).not.toContain('role="alert"')
    expect(told.at(-1)).toContain(
      '"A <b>client</b>" wants to use this gateway, and goes to http://127.0.0.1:1.',
    )
    const lines = told.length
    expect((await visit(place)).status).toBe(200)
    expect(told).toHaveLength(lines)
    const wrong = await type(visit, place, 'AAAA-AAAA')
    expect([wrong.status, await wrong.text()]).toEqual([
      403,
      expect.stringContaining('This is not the code.'),
    ])
    const right = await type(visit, place, lastCode().toLowerCase())
    const back = await visit(right.headers.get('location') ?? '')
    const code = new URL(back.headers.get('location') ?? '').searchParams.get('code') ?? ''

    const first = await exchange(clientId, code)
    expect(first).toMatchObject({ status: 200, body: { token_type: 'Bearer', expires_in: 600 } })
    expect(String(first.body['scope']).split(' ')).toContain('mcp')
    const inside = claims(first.body['access_token'])
    expect(inside).toMatchObject({
      iss: `${origin}/login`,
      aud: `${origin}/mcp`,
      sub: 'local',
      groups: ['local'],
    })
    const renew = (refresh_token: unknown) =>
      token({ grant_type: 'refresh_token', client_id: clientId, refresh_token: String(refresh_token) })
    const second = await renew(first.body['refresh_token'])
    expect(second.status).toBe(200)
    expect(second.body['refresh_token']).not.toBe(first.body['refresh_token'])
    const gone = await fetch(`${origin}/login/token/revocation`, {
      method: 'POST',
      body: new URLSearchParams({ client_id: clientId, token: String(second.body['refresh_token']) }),
    })
    expect(gone.status).toBe(200)
    expect((await renew(second.body['refresh_token'])).status).toBe(400)
  })

  it('gives a token for the resource of this gateway, however it is written, and for no other', async () => {
    const clientId = await register()
    const resource = `${origin}/mcp`
    const named = await granted(clientId, { resource: `${resource}/` })
    expect(
      claims((await exchange(clientId, named, { resource: `${resource}/` })).body['access_token']),
    ).toMatchObject({
      aud: resource,
    })
    const other = await browser()(authAddress(clientId, { resource: 'https://other.example/mcp' }))
    expect(new URL(other.headers.get('location') ?? '').searchParams.get('error')).toBe('invalid_target')
  })

  it('takes no code without its proof key', async () => {
    const clientId = await register()
    const bare = new URLSearchParams({ response_type: 'code', client_id: clientId, redirect_uri: REDIRECT })
    const asked = await browser()(`/login/auth?${bare}`)
    expect(new URL(asked.headers.get('location') ?? '').searchParams.get('error')).toBe('invalid_request')
    const code = await granted(clientId)
    expect((await exchange(clientId, code, { code_verifier: 'w'.repeat(43) })).status).toBe(400)
  })

  it('is over after five wrong codes, and for a visit that it does not know', async () => {
    const clientId = await register()
    const { visit, place } = await begun(clientId)
    const answers: number[] = []
    for (let tries = 0; tries < 5; tries++) answers.push((await type(visit, place, 'wrong')).status)
    expect(answers).toEqual([403, 403, 403, 403, 403])
    expect(await (await type(visit, place, lastCode())).text()).toContain('This login is over')
    const stranger = await fetch(`${origin}${new URL(place, origin).pathname}`)
    expect([stranger.status, await stranger.text()]).toEqual([400, expect.stringContaining('is over')])
    const long = await begun(clientId)
    expect((await type(long.visit, long.place, 'x'.repeat(5000))).status).toBe(500)
  })

  it('says what a user can do about a client that it does not know', async () => {
    const page = await browser()(authAddress('nobody'))
    expect([page.status, page.headers.get('content-type')]).toEqual([
      400,
      expect.stringContaining('text/html'),
    ])
    expect(await page.text()).toContain('Remove the connection in your client and add it again')
    const clientId = await register()
    const elsewhere = await browser()(authAddress(clientId, { redirect_uri: 'http://127.0.0.1:1/other' }))
    expect(await elsewhere.text()).toContain('redirect_uri')
  })

  it('names the scheme of an application that it goes to', async () => {
    const clientId = await register({ redirect_uris: ['com.example.app:/back'], application_type: 'native' })
    const { page } = await begun(clientId, { redirect_uri: 'com.example.app:/back' })
    expect(page).toContain('<strong>com.example.app:</strong>')
  })

  it('registers only what says its length, and that is short', async () => {
    const post = (body: string | ReadableStream) =>
      fetch(`${origin}/login/reg`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body,
        duplex: 'half',
      } as RequestInit)
    const padded = (length: number) => {
      const text = JSON.stringify({ redirect_uris: [REDIRECT], client_name: '' })
      return text.replace('""', `"${'x'.repeat(length - text.length)}"`)
    }
    expect((await post(padded(8192))).status).toBe(201)
    const long = await post(padded(8193))
    expect([long.status, await json(long)]).toEqual([
      413,
      expect.objectContaining({
        error: 'invalid_request',
        error_description: expect.stringContaining('8192'),
      }),
    ])
    const silent = new ReadableStream({
      start(controller) {
        controller.enqueue(new TextEncoder().encode(padded(200)))
        controller.close()
      },
    })
    expect((await post(silent)).status).toBe(413)
  })

  it('lets one address begin only so many logins, and says how long to wait', async () => {
    still = Date.now() + 3_600_000
    let refused: Response | undefined
    let begins = 0
    for (; begins < 40 && !refused; begins++) {
      const response = await fetch(`${origin}/login/auth?client_id=nobody`)
      if (response.status === 429) refused = response
    }
    expect(begins).toBe(31)
    expect(Number(refused?.headers.get('retry-after'))).toBeGreaterThan(0)
    expect((await fetch(`${origin}/login/jwks`)).status).toBe(200)
    still += 3_600_000
    expect((await fetch(`${origin}/login/auth?client_id=nobody`)).status).toBe(400)
  })
})

describe('the codes of logins', () => {
  const LIFE = 5 * 60_000
  function codes() {
    const clock = { now: 0 }
    return { clock, of: new LoginCodes(() => clock.now) }
  }
  const codeOf = (started: ReturnType<LoginCodes['start']>) =>
    typeof started === 'string' ? started : started.code

  it('are good once, until their time is over or they were tried five times', () => {
    const { clock, of } = codes()
    const code = codeOf(of.start('a', 'x'))
    expect(code).toMatch(/^[A-HJ-NP-Z2-9]{4}-[A-HJ-NP-Z2-9]{4}$/)
    expect([
      of.start('a', 'x'),
      of.check('b', code),
      of.check('a', code.slice(1)),
      of.check('a', ` ${code.toLowerCase()} `),
    ]).toEqual(['known', 'over', 'wrong', 'right'])
    expect(of.check('a', code)).toBe('over')
    const second = codeOf(of.start('b', 'x'))
    const tries = Array.from({ length: 6 }, () => of.check('b', 'wrong'))
    expect([...tries, of.check('b', second)]).toEqual([
      'wrong',
      'wrong',
      'wrong',
      'wrong',
      'over',
      'over',
      'over',
    ])
    const third = codeOf(of.start('c', 'x'))
    clock.now += LIFE - 1
    expect(of.check('c', 'wrong')).toBe('wrong')
    clock.now += 1
    expect(of.check('c', third)).toBe('over')
  })

  it('are ten for an address at a time, and one that is over makes room', () => {
    const { clock, of } = codes()
    for (let at = 0; at < 10; at++) expect(of.start(`x${at}`, 'x')).toHaveProperty('code')
    expect(of.start('more', 'x')).toBe('busy')
    expect(of.start('other', 'y')).toHaveProperty('code')
    clock.now += LIFE
    expect(of.start('more', 'x')).toHaveProperty('code')
  })

  it('are five hundred in all: the oldest of the address with the most ends', () => {
    const { of } = codes()
    const first = codeOf(of.start('lone', 'alone'))
    const busy = codeOf(of.start('0-0', 'address 0'))
    for (let at = 1; at < 499; at++)
      of.start(`${Math.floor(at / 10)}-${at}`, `address ${Math.floor(at / 10)}`)
    expect(of.start('0-0', 'address 0')).toBe('known')
    of.start('last', 'last')
    expect([of.check('0-0', busy), of.check('lone', first)]).toEqual(['over', 'right'])
  })
})
