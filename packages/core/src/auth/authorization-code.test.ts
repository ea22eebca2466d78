// The answer of the browser: state and issuer are checked before anything else in it counts.
import type { ChildProcess } from 'node:child_process'
import { EventEmitter } from 'node:events'
import { createServer } from 'node:net'
import { afterEach, describe, expect, it } from 'vitest'
import { systemHost } from '../host.ts'
import { type AuthorizationRequest, prepareAuthorization } from './authorization-code.ts'

const ISSUER = 'https://as.example'
const open: AuthorizationRequest[] = []
afterEach(() => Promise.all(open.splice(0).map((request) => request.close())))

interface Pasted {
  readonly iss?: boolean
  readonly paste: (state: string, redirectUri: string) => string | undefined
  readonly params?: Readonly<Record<string, string | undefined>>
}

/** Runs a login whose user pastes an answer; the address that was shown, and the outcome. */
async function login({ iss = false, paste, params = {} }: Pasted) {
  let url = new URL('http://unset')
  const request = await prepareAuthorization({
    host: systemHost(),
    server: 's',
    interaction: {
      openBrowser: false,
      onUrl: (shown) => {
        url = new URL(shown)
      },
      readPasted: async () => paste(url.searchParams.get('state') ?? '', request.redirectUri),
    },
  })
  open.push(request)
  const as = {
    issuer: ISSUER,
    authorization_endpoint: `${ISSUER}/authorize?tenant=1`,
    ...(iss && { authorization_response_iss_parameter_supported: true }),
  }
  return { url: () => url, outcome: request.go(as, params) }
}

describe('an answer', () => {
  const issuer = encodeURIComponent(ISSUER)
  const other = encodeURIComponent('https://evil.example')
  it.each<[string, (state: string) => string, boolean, string]>([
    ['a code', (state) => `code=c&state=${state}`, false, 'c'],
    ['a whole address', (state) => ` http://localhost:1/callback?code=c&state=${state} `, false, 'c'],
    ['a query with its mark', (state) => `?code=c&state=${state}`, false, 'c'],
    ['a path with a query', (state) => `/callback?state=${state}&code=c`, false, 'c'],
    ['its issuer', (state) => `code=c&state=${state}&iss=${issuer}`, true, 'c'],
    ['its issuer, unasked', (state) => `code=c&state=${state}&iss=${issuer}`, false, 'c'],
    ['no issuer where one is promised', (state) => `code=c&state=${state}`, true, 'issuer-mismatch'],
    ['another issuer', (state) => `code=c&state=${state}&iss=${other}`, false, 'issuer-mismatch'],
    ['another state', () => 'code=c&state=x', false, 'state-mismatch'],
    ['no state', () => 'code=c', false, 'state-mismatch'],
    ['an error with a wrong state', () => 'error=access_denied&state=x', false, 'state-mismatch'],
    ['an error', (state) => `error=access_denied&state=${state}`, false, 'access-denied'],
    [
      'an error of another issuer',
      (state) => `error=x&state=${state}&iss=${other}`,
      false,
      'issuer-mismatch',
    ],
    ['an empty code', (state) => `code=&state=${state}`, false, 'bad-response'],
    ['no code', (state) => `http://localhost/callback?state=${state}`, false, 'bad-response'],
    ['something else', () => 'hello', false, 'state-mismatch'],
  ])('with %s', async (_, paste, iss, expected) => {
    const { outcome } = await login({ paste, iss })
    const result = await outcome.then(
      ({ code }) => code,
      (error) => error.refusal ?? error,
    )
    expect(result).toBe(expected)
  })

  it('says why the server refused, with its description where there is one', async () => {
    const words = (state: string, more = '') => `error=access_denied&state=${state}${more}`
    const plain = await login({ paste: (state) => words(state) })
    await expect(plain.outcome).rejects.toThrow(/refused the login: \S*access_denied\S*\.$/)
    const told = await login({ paste: (state) => words(state, '&error_description=too+late') })
    await expect(told.outcome).rejects.toThrow(/too late/)
  })

  it('that is never pasted leaves the callback', async () => {
    const { outcome } = await login({
      paste: (state, redirectUri) => {
        void fetch(`${redirectUri}?code=c&state=${state}`).then((page) => page.text())
        return undefined
      },
    })
    expect((await outcome).code).toBe('c')
  })
})

describe('the address of a login', () => {
  it('keeps the query of the endpoint, and has the parameters that are set', async () => {
    const { url, outcome } = await login({
      paste: (state) => `code=c&state=${state}`,
      params: { client_id: 'me', scope: undefined },
    })
    await outcome
    const query = Object.fromEntries(url().searchParams)
    expect(query).toMatchObject({
      tenant: '1',
      response_type: 'code',
      client_id: 'me',
      code_challenge_method: 'S256',
    })
    expect(query).not.toHaveProperty('scope')
  })
})

describe('a port that is taken', () => {
  const taken = async () => {
    const server = createServer()
    await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
    const address = server.address()
    const port = typeof address === 'object' ? (address?.port ?? 0) : 0
    return { port, close: () => new Promise((done) => server.close(done)) }
  }

  it('ends a login by browser, and not one by pasting', async () => {
    const { port, close } = await taken()
    try {
      const options = { host: systemHost(), server: 's', port }
      await expect(prepareAuthorization({ ...options, interaction: { openBrowser: false } })).rejects.toThrow(
        String(port),
      )
      const request = await prepareAuthorization({
        ...options,
        interaction: { openBrowser: false, readPasted: async () => undefined },
      })
      open.push(request)
      expect(request.redirectUri).toBe(`http://localhost:${port}/callback`)
      const as = { issuer: ISSUER, authorization_endpoint: `${ISSUER}/authorize` }
      await expect(request.go(as, {})).rejects.toThrow('Nothing was pasted.')
    } finally {
      await close()
    }
  })
})

describe('the user', () => {
  it.each([true, false])('is led by a browser only where that is wanted (%s)', async (openBrowser) => {
    const started: string[] = []
    const host = systemHost({
      spawn: (_command, args) => {
        started.push(...args)
        const child = new EventEmitter()
        setImmediate(() => child.emit('exit', 0))
        // What the opener uses of a child.
        return Object.assign(child, { unref: () => undefined }) as unknown as ChildProcess
      },
    })
    const told: unknown[] = []
    const request = await prepareAuthorization({
      host,
      server: 's',
      interaction: {
        openBrowser,
        onUrl: (_url, opened) => told.push(opened),
        readPasted: async () => 'error=access_denied',
      },
    })
    open.push(request)
    const going = request.go({ issuer: ISSUER, authorization_endpoint: `${ISSUER}/a` }, {})
    await expect(going).rejects.toMatchObject({ refusal: 'state-mismatch' })
    expect([started.length, told]).toEqual([openBrowser ? 1 : 0, [openBrowser]])
  })

  it('is asked for nothing any more once the browser has answered', async () => {
    let asking: AbortSignal | undefined
    const request = await prepareAuthorization({
      host: systemHost(),
      server: 's',
      interaction: {
        openBrowser: false,
        onUrl: (url) => {
          const state = new URL(url).searchParams.get('state')
          void fetch(`${request.redirectUri}?code=c&state=${state}`).then((page) => page.text())
        },
        readPasted: (signal) => {
          asking = signal
          return new Promise(() => undefined)
        },
      },
    })
    open.push(request)
    await request.go({ issuer: ISSUER, authorization_endpoint: `${ISSUER}/a` }, {})
    expect(asking?.aborted).toBe(true)
  })
})

describe('a login that is cancelled', () => {
  it.each([
    ['before', true],
    ['while it waits', false],
  ])('%s ends at once', async (_, early) => {
    const stop = new AbortController()
    if (early) stop.abort()
    const request = await prepareAuthorization({
      host: systemHost(),
      server: 's',
      interaction: { openBrowser: false, signal: stop.signal },
    })
    open.push(request)
    const going = request.go({ issuer: ISSUER, authorization_endpoint: `${ISSUER}/a` }, {})
    stop.abort()
    await expect(going).rejects.toMatchObject({ code: 'CANCELLED' })
  })
})
