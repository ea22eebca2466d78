// Hostile servers, authorization servers and other programs. Each is refused by name, before any harm.
import { chmodSync, existsSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { Cancelled, Timeout } from '../errors.ts'
import { retimed } from '../fixtures/timers.ts'
import { systemHost } from '../host.ts'
import { openBrowser } from './browser.ts'
import { isIssuer } from './discovery.ts'
import { type AuthorizationServer, startAuthorizationServer, stop } from './fixtures/authorization-server.ts'
import {
  type ResourceServer,
  type ResourceServerOptions,
  startResourceServer,
} from './fixtures/resource-server.ts'
import { type AuthSetup, authSetup, browsing, cleanUp, pasting, ping, remote } from './fixtures/setup.ts'
import { login } from './login.ts'
import { authFor } from './request-auth.ts'
import { loadLogin } from './stored-logins.ts'

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

async function victimOf(options: ResourceServerOptions): Promise<ResourceServer> {
  const rs = await startResourceServer({ as, ...options })
  open.push(rs)
  return rs
}

/** A server inside the network; no request may reach it. */
async function inside(): Promise<{ origin: string; visits: () => number }> {
  let visits = 0
  const http: Server = createServer((_request, response) => {
    visits++
    response.end('{"secret":"of the inside"}')
  })
  http.on('connection', () => visits++)
  await new Promise<void>((done) => http.listen(0, '127.0.0.1', done))
  open.push({ close: () => stop(http) })
  return { origin: `http://127.0.0.1:${(http.address() as AddressInfo).port}`, visits: () => visits }
}

const attempt = (rs: ResourceServer, user = pasting(as), context = setup.context) =>
  login(remote('hostile', rs.url), context, user).catch((error) => error)

describe('metadata of a hostile server', () => {
  const naming = (issuer: string) => ({
    metadata: (url: string) => ({ resource: url, authorization_servers: [issuer] }),
  })

  it('may not point to the credentials of a cloud', async () => {
    expect(await attempt(await victimOf(naming('https://169.254.169.254/latest')))).toMatchObject({
      refusal: 'private-address',
    })
    expect(await attempt(await victimOf(naming('http://169.254.169.254/latest')))).toMatchObject({
      refusal: 'insecure-url',
    })
  })

  it('may not be at another port of this machine', async () => {
    const { origin, visits } = await inside()
    const rs = await victimOf({ challenge: () => `Bearer resource_metadata="${origin}/meta"` })
    expect(await attempt(rs)).toMatchObject({ refusal: 'cross-origin-metadata' })
    expect(visits()).toBe(0)
  })

  it('may not redirect to another port of this machine', async () => {
    const { origin, visits } = await inside()
    const rs = await victimOf({})
    rs.intercept = (request, response) => {
      if (!request.url?.startsWith('/.well-known/')) return false
      response.writeHead(302, { location: `${origin}/admin` }).end()
      return true
    }
    expect(await attempt(rs)).toMatchObject({ refusal: 'cross-origin-redirect' })
    expect(visits()).toBe(0)
  })

  it('may not use a name that resolves to the inside', async () => {
    const resolve = async () => [{ address: '169.254.169.254', family: 4 }]
    const rs = await victimOf(naming('https://metadata.evil.test/'))
    expect(await attempt(rs, pasting(as), { ...setup.context, resolve })).toMatchObject({
      refusal: 'private-address',
    })
  })

  it('may not claim to be another resource', async () => {
    for (const resource of ['https://bank.example/', 'http://127.0.0.1:1/mcp', 'not a url'])
      expect(
        await attempt(await victimOf({ metadata: () => ({ resource, authorization_servers: [as.issuer] }) })),
      ).toMatchObject({ refusal: 'resource-mismatch' })
    expect(as.requests).toEqual([])
  })

  it('may be anything but JSON, without effect', async () => {
    const rs = await victimOf({ metadata: () => undefined })
    rs.intercept = (request, response) => {
      if (!request.url?.startsWith('/.well-known/')) return false
      response.setHeader('content-type', 'text/html')
      response.end('<html>')
      return true
    }
    expect(await attempt(rs)).toMatchObject({ refusal: expect.any(String) })
  })

  it('may not be a hundred megabytes', async () => {
    const rs = await victimOf({})
    rs.intercept = (request, response) => {
      if (!request.url?.startsWith('/.well-known/')) return false
      response.writeHead(200, { 'content-length': 100_000_000 })
      response.write('{')
      return true
    }
    expect(await attempt(rs)).toMatchObject({ refusal: 'response-too-large' })
  })
})

describe('a hostile authorization server', () => {
  const bent = async (metadata: Record<string, unknown>) => {
    const other = await startAuthorizationServer({ metadata })
    open.push(other)
    return { other, rs: await victimOf({ as: other }) }
  }

  it.each([
    'javascript:alert(document.cookie)',
    'data:text/html,hi',
    'file:///etc/passwd',
    'http://evil.example/',
    'not a url',
    7,
  ])('may not send the browser to %s', async (authorization_endpoint) => {
    const { rs, other } = await bent({ authorization_endpoint })
    expect(await attempt(rs)).toMatchObject({ refusal: 'bad-authorization-url' })
    expect(other.requests.filter((request) => !request.includes('.well-known'))).toEqual([])
  })

  it('may not have tokens sent over http', async () => {
    const { rs } = await bent({ token_endpoint: 'http://evil.example/token' })
    expect(await attempt(rs)).toMatchObject({ refusal: 'insecure-url' })
  })

  it('may not have us register inside the network', async () => {
    const { rs } = await bent({ registration_endpoint: 'https://10.0.0.1/register' })
    expect(await attempt(rs)).toMatchObject({ refusal: 'private-address' })
  })

  it('may not speak for another issuer', async () => {
    const { rs } = await bent({ issuer: 'https://accounts.example' })
    expect(await attempt(rs)).toMatchObject({ refusal: 'issuer-mismatch' })
    const asked = 'https://as.example/tenant'
    expect([asked, `${asked}/`].every((said) => isIssuer(said, asked))).toBe(true)
    const others = [`${asked}//`, 'https://as.example', [asked], undefined, `${asked}#`, asked.toUpperCase()]
    expect(others.filter((said) => isIssuer(said, asked))).toEqual([])
  })

  it('may not do without PKCE', async () => {
    const { rs } = await bent({ code_challenge_methods_supported: ['plain'] })
    expect(await attempt(rs)).toMatchObject({ refusal: 'pkce-unsupported' })
  })

  it('that refuses to register us gets named, with what to do', async () => {
    const { rs, other } = await bent({})
    other.intercept = (request, response) => {
      if (request.url !== '/reg') return false
      response.writeHead(403, { 'content-type': 'application/json' })
      response.end('{"error":"access_denied","error_description":"not \\u001b[31mhere"}')
      return true
    }
    const error = await attempt(rs)
    expect(error).toMatchObject({
      refusal: 'registration-refused',
      hint: expect.stringContaining('oauth.clientId'),
    })
    expect(error.message).toContain('403, access_denied')
    expect(error.message).not.toContain('\u001b')
  })

  it('whose metadata is poisoned with prototypes poisons nothing', async () => {
    const { rs, other } = await bent(
      JSON.parse('{"__proto__":{"polluted":true},"constructor":{"prototype":{"polluted":true}}}'),
    )
    await login(remote('odd', rs.url), setup.context, pasting(other))
    expect(({} as { polluted?: boolean }).polluted).toBeUndefined()
  })
})

describe('answers that do not belong', () => {
  const answered = async (change: (redirect: URL) => void) => {
    const rs = await victimOf({})
    const before = as.requests.length
    const error = await attempt(
      rs,
      pasting(as, (redirect) => {
        const url = new URL(redirect)
        change(url)
        return url.href
      }),
    )
    return { error, tokenRequests: as.requests.slice(before).filter((request) => request === 'POST /token') }
  }

  it('by their issuer: a mix-up of two servers', async () => {
    const { error, tokenRequests } = await answered((url) =>
      url.searchParams.set('iss', 'https://other.example'),
    )
    expect(error).toMatchObject({ refusal: 'issuer-mismatch' })
    expect(tokenRequests).toEqual([])
  })

  it('by having no issuer where one was promised', async () => {
    const { error, tokenRequests } = await answered((url) => url.searchParams.delete('iss'))
    expect(error).toMatchObject({ refusal: 'issuer-mismatch' })
    expect(tokenRequests).toEqual([])
  })

  it('by their state', async () => {
    for (const change of [
      (url: URL) => url.searchParams.set('state', 'guessed'),
      (url: URL) => url.searchParams.delete('state'),
    ]) {
      const { error, tokenRequests } = await answered(change)
      expect(error).toMatchObject({ refusal: 'state-mismatch' })
      expect(tokenRequests).toEqual([])
    }
  })

  it('by being an answer to an earlier login', async () => {
    const rs = await victimOf({})
    let first = ''
    await login(
      remote('hostile', rs.url),
      setup.context,
      pasting(as, (redirect) => {
        first = redirect
        return redirect
      }),
    )
    expect(
      await attempt(
        rs,
        pasting(as, () => first),
      ),
    ).toMatchObject({ refusal: 'state-mismatch' })
  })

  it('by not being an address at all', async () => {
    const rs = await victimOf({})
    expect(
      await attempt(
        rs,
        pasting(as, () => 'just-a-code'),
      ),
    ).toMatchObject({ refusal: 'state-mismatch' })
  })

  it('an error of a wrong issuer is not even shown', async () => {
    const { error } = await answered((url) => {
      url.searchParams.set('iss', 'https://other.example')
      url.searchParams.set('error', 'please_call_0900')
    })
    expect(error.message).not.toContain('0900')
  })

  it('the refusal of the user is told', async () => {
    const { error } = await answered((url) => {
      url.searchParams.delete('code')
      url.searchParams.set('error', 'access_denied')
    })
    expect(error).toMatchObject({ refusal: 'access-denied' })
  })
})

describe('the callback', () => {
  it('is not fooled by a request of another program that comes first, and answers each by what is wrong', async () => {
    const rs = await victimOf({})
    const statuses: number[] = []
    await login(remote('hostile', rs.url), setup.context, {
      openBrowser: false,
      onUrl: async (url) => {
        const redirect = new URL(new URL(url).searchParams.get('redirect_uri') ?? '')
        const get = async (path: string, init?: RequestInit) =>
          statuses.push((await fetch(new URL(path, redirect), init)).status)
        await get('/callback?code=evil&state=guessed')
        await get('/callback?error=access_denied')
        await get('/favicon.ico')
        await get('/callback', { method: 'POST' })
        await get('/', {})
        const answer = await as.walk(url)
        const page = await fetch(answer)
        statuses.push(page.status)
        expect(await page.text()).toContain('go back')
      },
    })
    expect(statuses).toEqual([400, 400, 404, 405, 404, 200])
    expect(await loadLogin(remote('hostile', rs.url), setup.context)).toBeDefined()
  })

  it('listens on this machine only, takes one answer, and is gone afterwards', async () => {
    const rs = await victimOf({})
    let answer = ''
    await login(remote('hostile', rs.url), setup.context, {
      openBrowser: false,
      onUrl: async (url) => {
        answer = await as.walk(url)
        await fetch(answer)
      },
    })
    await expect(fetch(answer)).rejects.toThrow()
  })

  it('refuses a page that had its own name point here', async () => {
    const rs = await victimOf({})
    let status = 0
    await login(remote('hostile', rs.url), setup.context, {
      openBrowser: false,
      onUrl: async (url) => {
        const redirect = new URL(new URL(url).searchParams.get('redirect_uri') ?? '')
        const { request } = await import('node:http')
        await new Promise<void>((done) => {
          request(
            { port: redirect.port, host: '127.0.0.1', path: '/callback', headers: { host: 'evil.test' } },
            (response) => {
              status = response.statusCode ?? 0
              response.resume().once('end', done)
            },
          ).end()
        })
        await fetch(await as.walk(url))
      },
    })
    expect(status).toBe(403)
  })

  it('gives up after its time', async () => {
    const rs = await victimOf({})
    const hasty = retimed(systemHost({ env: {} }), (ms) => (ms === 300_000 ? 100 : ms))
    const error = await attempt(rs, { openBrowser: false }, { ...setup.context, host: hasty })
    expect(error).toBeInstanceOf(Timeout)
  })

  it('can be cancelled', async () => {
    const rs = await victimOf({})
    const abort = new AbortController()
    const error = await attempt(rs, { openBrowser: false, onUrl: () => abort.abort(), signal: abort.signal })
    expect(error).toBeInstanceOf(Cancelled)
  })
})

describe.runIf(process.platform === 'linux')('the browser', () => {
  /** Replaces the desktop's opener, and records its arguments. */
  function opener(body = ''): { host: ReturnType<typeof systemHost>; given: () => string[] } {
    const file = join(setup.dir, 'xdg-open')
    const log = join(setup.dir, 'opened')
    writeFileSync(file, `#!/bin/sh\nprintf '%s\\n' "$@" >> '${log}'\n${body}`)
    chmodSync(file, 0o755)
    const host = systemHost({ env: { PATH: `${setup.dir}:/usr/bin:/bin` }, platform: 'linux' })
    return { host, given: () => (existsSync(log) ? readFileSync(log, 'utf8').trim().split('\n') : []) }
  }

  it('gets the address as one argument, whatever is in it', async () => {
    const { host, given } = opener()
    const trap = join(setup.dir, 'pwned')
    const url = `https://as.example/auth?a=$(touch ${trap})&b=\`touch ${trap}\`;touch ${trap}|"'<>%26\n--version`
    expect(await openBrowser(host, url)).toBe(true)
    expect(given()).toEqual([new URL(url).href])
    expect(existsSync(trap)).toBe(false)
  })

  it.each(['javascript:alert(1)', 'file:///etc/passwd', 'vscode://run', 'data:text/html,x'])(
    'is not opened for %s',
    (url) => {
      const { host, given } = opener()
      expect(() => openBrowser(host, url)).toThrow(
        expect.objectContaining({ refusal: 'bad-authorization-url' }),
      )
      expect(given()).toEqual([])
    },
  )

  it('that cannot be started is no fault: the address is told', async () => {
    expect(
      await openBrowser(
        systemHost({ env: { PATH: '/nonexistent' }, platform: 'linux' }),
        'https://x.example/',
      ),
    ).toBe(false)
    expect(await openBrowser(opener('exit 3').host, 'https://x.example/')).toBe(false)
  })
})

describe('secrets', () => {
  it('appear in no error, notice, file or header but where they belong', async () => {
    const planted = {
      env: { PLUGBOARD_CLIENT_SECRET_HOSTILE: 'PLANTED-client-secret' },
    }
    const own = authSetup(planted)
    const said: unknown[] = []
    const echo = await startAuthorizationServer()
    open.push(echo)
    const rs = await victimOf({ as: echo })
    try {
      await login(remote('hostile', rs.url), own.context, browsing(echo))
      const known = await loadLogin(remote('hostile', rs.url), own.context)
      const secrets = [
        known?.tokens.accessToken,
        known?.tokens.refreshToken,
        'PLANTED-client-secret',
        'PLANTED-body',
      ]
      // An authorization server that repeats what it was sent, in every way it can.
      for (const status of [400, 401, 500, 200]) {
        echo.intercept = (request, response) => {
          if (request.url !== '/token') return false
          const chunks: Buffer[] = []
          request.on('data', (chunk) => chunks.push(chunk))
          request.on('end', () => {
            const sent = decodeURIComponent(Buffer.concat(chunks).toString())
            response.writeHead(status, { 'content-type': 'application/json' })
            response.end(
              JSON.stringify({
                error: 'invalid_request',
                error_description: sent,
              }),
            )
          })
          return true
        }
        own.advance(7_200_000)
        const shared = authFor(remote('hostile', rs.url), own.context)
        said.push(await ping(shared, rs.url).catch((error) => error))
      }
      echo.intercept = (request, response) => {
        if (request.url !== '/token') return false
        response.end('PLANTED-body not json')
        return true
      }
      said.push(await ping(authFor(remote('hostile', rs.url), own.context), rs.url).catch((error) => error))
      said.push(...own.notices)
      const { inspect } = await import('node:util')
      const everything = said
        .map((item) => `${inspect(item, { depth: 20, showHidden: true })} ${JSON.stringify(item)}`)
        .join('\n')
      for (const secret of secrets) if (secret) expect(everything).not.toContain(secret)
      for (const name of ['needs-auth.json', 'vault-choice.json']) {
        const file = join(own.dir, name)
        if (existsSync(file))
          for (const secret of secrets) if (secret) expect(readFileSync(file, 'utf8')).not.toContain(secret)
      }
    } finally {
      cleanUp(own)
    }
  })

  it('go to no other origin, though the server names one', async () => {
    const { origin } = await inside()
    const rs = await victimOf({})
    const server = remote('hostile', rs.url, { headers: { 'x-api-key': 'PLANTED' } })
    await login(server, setup.context, pasting(as))
    let seen: Headers | undefined
    const auth = authFor(server, setup.context)
    await auth?.fetch(async (_url, init) => {
      seen = new Headers(init?.headers)
      return new Response()
    })(`${origin}/mcp`)
    expect([...(seen ?? [])]).toEqual([])
  })
})
