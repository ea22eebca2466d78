// Who may call: host names, web origins and tokens, and how long a token that was accepted on a connection is believed.
import type { IncomingMessage, ServerResponse } from 'node:http'
import { afterEach, describe, expect, it, vi } from 'vitest'
import {
  AccessControl,
  type AccessOptions,
  type AuthorizedClient,
  isLoopback,
  type TokenAuthority,
} from './access.ts'
import { EVERYTHING, readExposure } from './exposure.ts'

afterEach(() => vi.useRealTimers())

const ONE = readExposure(['one'])
const grant = (token: string, exposure = EVERYTHING, patterns?: readonly string[]) => ({
  token,
  exposure,
  ...(patterns && { patterns }),
})
const control = (more: Partial<AccessOptions> = {}) =>
  new AccessControl({ host: '127.0.0.1', grants: [], open: EVERYTHING, ...more })
const req = (headers: Record<string, string>, socket: object = {}) =>
  ({ headers, socket }) as unknown as IncomingMessage

function checked(access: AccessControl, headers: Record<string, string>, socket: object = {}) {
  const set = new Map<string, unknown>()
  const res = {
    setHeader: (name: string, value: unknown) => set.set(name, value),
  } as unknown as ServerResponse
  return { refusal: access.checkOrigin(req(headers, socket), res), set }
}

describe('a host name', () => {
  const access = control({ host: 'fe80::1', allowedHosts: ['Gw.Example'] })
  it.each([
    ['localhost', true],
    ['localhost:3000', true],
    ['LOCALHOST', true],
    ['127.0.0.1:1', true],
    ['[::1]:1', true],
    ['[::1]', true],
    ['[fe80::1]:80', true],
    ['gw.example:443', true],
    ['evil.example', false],
    ['localhost.evil.example', false],
    ['[::2]', false],
    ['', false],
  ])('%s is served: %s', (host, wanted) => {
    expect(checked(access, { host }).refusal === undefined).toBe(wanted)
  })
  it('is needed', () => {
    expect(checked(access, {}).refusal).toMatchObject({ status: 403 })
  })
})

describe('a web origin', () => {
  const access = control({ allowedOrigins: ['https://App.example'] })
  const host = 'localhost:80'
  it.each([
    ['http://localhost:80', {}, true],
    ['HTTP://LOCALHOST:80', {}, true],
    ['https://localhost:80', {}, false],
    ['https://localhost:80', { encrypted: true }, true],
    ['http://localhost:80', { encrypted: true }, false],
    ['https://app.example', {}, true],
    ['https://evil.example', {}, false],
    ['null', {}, false],
  ])('%s on %j may call: %s', (origin, socket, wanted) => {
    const { refusal, set } = checked(access, { host, origin }, socket)
    expect(refusal === undefined).toBe(wanted)
    expect(set.get('Vary')).toBe('Origin')
    expect(set.get('Access-Control-Allow-Origin')).toBe(wanted ? origin : undefined)
  })

  it('is not needed, and without one there are no headers for it', () => {
    expect(checked(access, { host })).toEqual({ refusal: undefined, set: new Map() })
  })

  it('may send the headers that tools ask for, and no others', () => {
    const asked = 'mcp-param-region, x-evil, MCP-Param-A.b ,mcp-param-'
    const { set } = checked(access, {
      host,
      origin: 'https://app.example',
      'access-control-request-headers': asked,
    })
    const allowed = String(set.get('Access-Control-Allow-Headers')).split(', ')
    expect(allowed.slice(-2)).toEqual(['mcp-param-region', 'MCP-Param-A.b'])
    expect(allowed).toContain('Authorization')
    expect(allowed).not.toContain('x-evil')
  })
})

describe('a token', () => {
  it('is not needed where there are no grants and no authority', () => {
    expect(control().authorize(req({}))).toMatchObject({ owner: 'anybody', narrow: false })
    expect(control({ grants: [grant('a')] }).authorize(req({}))).toBeUndefined()
  })

  it.each([
    ['Bearer first', 'first'],
    ['bearer   second', 'second'],
    ['Bearer third', undefined],
    ['Basic first', undefined],
    ['Bearer', undefined],
    ['Bearer first x', undefined],
    ['first', undefined],
  ])('in "%s" is %s', (authorization, wanted) => {
    const access = control({ grants: [grant('first'), grant('second', ONE)] })
    const found = access.authorize(req({ authorization })) as AuthorizedClient | undefined
    expect(found?.narrow).toBe(wanted === undefined ? undefined : wanted === 'second')
    expect(found?.exposure).toBe(wanted === undefined ? undefined : wanted === 'second' ? ONE : EVERYTHING)
  })

  it('with the exposure of the whole gateway is not narrow', () => {
    const access = control({ open: ONE, grants: [grant('a', ONE), grant('b', readExposure(['one']))] })
    const narrow = ['a', 'b'].map(
      (token) => (access.authorize(req({ authorization: `Bearer ${token}` })) as AuthorizedClient).narrow,
    )
    expect(narrow).toEqual([false, true])
  })

  it('that was removed, or sees other things, is told', () => {
    const access = control({ grants: [grant('a', ONE, ['one']), grant('b', ONE, ['one']), grant('c')] })
    const owner = (token: string) =>
      (access.authorize(req({ authorization: `Bearer ${token}` })) as AuthorizedClient).owner
    const [a, b] = [owner('a'), owner('b')]
    const changes = access.replace([grant('b', EVERYTHING, ['two']), grant('c')])
    expect(changes.removed).toEqual([a])
    expect(changes.changed).toMatchObject([{ owner: b, narrow: false }])
    expect(access.replace([grant('b', EVERYTHING, ['two']), grant('c')])).toEqual({
      removed: [],
      changed: [],
    })
  })
})

describe('a token that was accepted on a connection', () => {
  function withAuthority(client: Partial<AuthorizedClient> = { user: { key: 'k', name: 'ada', roles: [] } }) {
    const asked: string[] = []
    let version = {}
    const authority: TokenAuthority = {
      get version() {
        return version
      },
      authorize: (token) => {
        asked.push(token)
        if (token === 'refused') return { status: 403, message: 'no' }
        if (token === 'unknown') return undefined
        const found = { owner: token, exposure: EVERYTHING, narrow: true, ...client }
        return token === 'later' ? Promise.resolve(found) : found
      },
      challenge: (hasToken) => `challenge ${hasToken}`,
      resource: { metadata: { a: 1 } },
    }
    return { access: control({ authority }), asked, change: () => (version = {}) }
  }
  const ask = (access: AccessControl, token: string, socket: object) =>
    access.authorize(req({ authorization: `Bearer ${token}` }, socket))

  it('is not asked about again for a minute, on that connection', async () => {
    vi.useFakeTimers({ now: 1_000_000 })
    const { access, asked } = withAuthority()
    const socket = {}
    const times = async (at: number, on: object = socket, token = 'good') => {
      vi.setSystemTime(at)
      asked.length = 0
      expect(await ask(access, token, on)).toMatchObject({ owner: token })
      return asked.length
    }
    expect(await times(1_000_000)).toBe(1)
    expect(await times(1_000_000)).toBe(0)
    expect(await times(1_059_999)).toBe(0)
    expect(await times(1_060_000)).toBe(1)
    expect(await times(1_059_999)).toBe(1)
    expect(await times(1_059_999, {})).toBe(1)
    expect(await times(1_059_999, socket, 'other')).toBe(1)
    expect(await times(1_059_999, socket, 'later')).toBe(1)
    expect(await times(1_059_999, socket, 'later')).toBe(0)
  })

  it('is asked about again when it ends, when the authority changed, and when it was refused', async () => {
    vi.useFakeTimers({ now: 1_000_000 })
    const { access, asked, change } = withAuthority({
      user: { key: 'k', name: 'ada', roles: [] },
      expires: 1_000_100,
    })
    const socket = {}
    await ask(access, 'good', socket)
    vi.setSystemTime(1_000_099)
    await ask(access, 'good', socket)
    expect(asked).toHaveLength(1)
    vi.setSystemTime(1_000_100)
    await ask(access, 'good', socket)
    expect(asked).toHaveLength(2)
    vi.setSystemTime(1_000_050)
    await ask(access, 'good', socket)
    change()
    await ask(access, 'good', socket)
    access.replace([])
    await ask(access, 'good', socket)
    expect(asked).toHaveLength(5)
    for (const token of ['refused', 'refused', 'unknown', 'unknown']) await ask(access, token, socket)
    expect(asked).toHaveLength(9)
  })

  it('of no user is believed as long as the grants are the same', async () => {
    vi.useFakeTimers({ now: 1_000_000 })
    const { access, asked } = withAuthority({})
    const socket = {}
    await ask(access, 'good', socket)
    vi.setSystemTime(9_000_000)
    await ask(access, 'good', socket)
    expect(asked).toHaveLength(1)
  })

  it('without one, and with an unknown one, there are two challenges', () => {
    const { access } = withAuthority()
    expect(access.challenge(req({}))).toBe('challenge false')
    expect(access.challenge(req({ authorization: 'x' }))).toBe('challenge true')
    expect(control().challenge(req({}))).toBe('Bearer realm="plugboard"')
    expect([access.resourceMetadata, control().resourceMetadata]).toEqual([{ a: 1 }, undefined])
  })
})

it.each([
  ['localhost', true],
  ['::1', true],
  ['127.0.0.1', true],
  ['127.1.2.3', true],
  ['127.0.0', false],
  ['0.0.0.0', false],
  ['localhost.example', false],
])('%s is this machine: %s', (host, wanted) => {
  expect(isLoopback(host)).toBe(wanted)
})
