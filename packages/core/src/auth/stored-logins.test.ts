// Under what names the vault keeps logins and secrets, and which secret a server is given.
import { describe, expect, it } from 'vitest'
import { systemHost } from '../host.ts'
import {
  type AuthContext,
  canonicalUrl,
  fetchFor,
  httpUrl,
  isRemote,
  mayUseCredentials,
  remoteServer,
  serverKey,
  usesSingleSignOn,
} from './context.ts'
import { remote } from './fixtures/setup.ts'
import {
  clientSecret,
  deleteLogin,
  type Login,
  loadLogin,
  saveClientSecret,
  saveLogin,
  unusable,
} from './stored-logins.ts'

function memory(env: Record<string, string> = {}) {
  const items = new Map<string, string>()
  const broken = new Set<string>()
  const context: AuthContext = {
    host: systemHost({ env }),
    stateDir: '/nowhere',
    vault: {
      kind: 'file',
      get: async (name) => {
        if (broken.has('get')) throw new Error('damaged')
        return items.get(name)
      },
      set: async (name, value) => void items.set(name, value),
      delete: async (name) => items.delete(name),
    },
  }
  return { items, broken, context }
}
const server = remote('git', 'https://git.example/mcp')
const login = (issuer = 'https://as.example', resource = 'https://git.example/mcp'): Login => ({
  version: 1,
  grant: 'authorization_code',
  server: 'git',
  url: server.entry.url,
  as: { issuer },
  resource,
  sendResource: true,
  client: { clientId: 'c', source: 'registered', redirectUri: 'http://localhost/callback' },
  tokens: { accessToken: 'a', type: 'bearer', obtainedAt: 0 },
  generation: 1,
})

describe('a stored login', () => {
  it.each<[string, Login]>([
    ['the same place', login()],
    ['another issuer', login('https://other.example')],
    ['another resource', login('https://as.example', 'https://git.example')],
  ])('is replaced by one of %s, and nothing is left of it', async (_, next) => {
    const { context, items } = memory()
    await saveLogin(server, context, login())
    expect(items.size).toBe(2)
    await saveLogin(server, context, next)
    expect(items.size).toBe(2)
    expect(await loadLogin(server, context)).toEqual(next)
  })

  it('belongs to one name and address', async () => {
    const { context } = memory()
    await saveLogin(server, context, login())
    expect(await loadLogin(remote('other', server.entry.url), context)).toBeUndefined()
    expect(await loadLogin(remote('git', 'https://else.example/mcp'), context)).toBeUndefined()
    expect(await loadLogin(remote('git', `${server.entry.url}#part`), context)).toEqual(login())
  })

  it('is deleted whole, and says whether there was one', async () => {
    const { context, items } = memory()
    expect(await deleteLogin(server, context)).toBe(false)
    await saveLogin(server, context, login())
    expect(await deleteLogin(server, context)).toBe(true)
    expect(items.size).toBe(0)
    await saveLogin(server, context, login())
    const pointer = [...items.keys()].find((name) => name.includes('"server"')) ?? ''
    items.delete([...items.keys()].find((name) => name !== pointer) ?? '')
    expect(await deleteLogin(server, context)).toBe(true)
    // A damaged pointer is removed too, although it leads nowhere.
    const damaged = memory()
    await saveLogin(server, damaged.context, login())
    damaged.broken.add('get')
    expect(await deleteLogin(server, damaged.context)).toBe(true)
    expect([...damaged.items.keys()].some((name) => name.startsWith('["server"'))).toBe(false)
  })

  it('is saved over one that cannot be read', async () => {
    const { context, items, broken } = memory()
    broken.add('get')
    await saveLogin(server, context, login())
    broken.clear()
    expect(await loadLogin(server, context)).toEqual(login())
    expect(items.size).toBe(2)
  })

  it('loses its registration when the server no longer knows it', () => {
    expect(unusable(login().client)).toEqual({ clientId: 'c', source: 'registered' })
  })
})

describe('the secret of a client', () => {
  const ISSUER = 'https://as.example'
  it.each<[string, Record<string, string>, string | undefined, 'user' | 'repository', string | undefined]>([
    ['none', {}, undefined, 'user', undefined],
    ['of its own variable', { PLUGBOARD_CLIENT_SECRET_GIT: 'own' }, 'kept', 'user', 'own'],
    ['of the vault', { MCP_CLIENT_SECRET: 'shared' }, 'kept', 'user', 'kept'],
    ['that is shared', { MCP_CLIENT_SECRET: 'shared' }, undefined, 'user', 'shared'],
    [
      'that is empty',
      { PLUGBOARD_CLIENT_SECRET_GIT: '', MCP_CLIENT_SECRET: '' },
      undefined,
      'user',
      undefined,
    ],
    [
      'for a repository',
      { PLUGBOARD_CLIENT_SECRET_GIT: 'own', MCP_CLIENT_SECRET: 'shared' },
      undefined,
      'repository',
      undefined,
    ],
    ['kept for a repository', { MCP_CLIENT_SECRET: 'shared' }, 'kept', 'repository', 'kept'],
  ])('%s', async (_, env, kept, author, expected) => {
    const { context } = memory(env)
    if (kept !== undefined) await saveClientSecret(server, context, kept)
    expect(await clientSecret({ ...server, author }, context, ISSUER)).toBe(expected)
  })

  it('has a variable named by the server', async () => {
    const { context } = memory({ PLUGBOARD_CLIENT_SECRET_MY_GIT_2: 'own' })
    expect(await clientSecret(remote('my-git.2', server.entry.url), context, ISSUER)).toBe('own')
  })

  it('that is shared stays with the authorization server that had it first', async () => {
    const { context } = memory({ MCP_CLIENT_SECRET: 'shared' })
    expect(await clientSecret(server, context, ISSUER)).toBe('shared')
    expect(await clientSecret(remote('b', 'https://b.example'), context, ISSUER)).toBe('shared')
    const elsewhere = clientSecret(remote('b-c', 'https://b.example'), context, 'https://other.example')
    await expect(elsewhere).rejects.toMatchObject({
      refusal: 'issuer-mismatch',
      hint: expect.stringContaining('PLUGBOARD_CLIENT_SECRET_B_C'),
    })
  })
})

describe('a server with a login', () => {
  it('has an address that can be used', () => {
    expect(remoteServer(server)).toBe(server)
    expect(() => remoteServer(remote('git', 'https://${HOST}:x/'))).toThrow('is not a URL')
    const local = { ...server, entry: { type: 'stdio' as const, command: 'x', args: [], env: {} } }
    expect(isRemote(local)).toBe(false)
    expect(() => remoteServer(local)).toThrow('is a stdio server, which has no login')
  })

  it('is known by its name and address, without the fragment', () => {
    expect(canonicalUrl(remote('a', 'https://x/y?z=1#f'))).toBe('https://x/y?z=1')
    expect(serverKey(remote('a', 'https://x/y#f'))).toBe(serverKey(remote('a', 'https://x/y')))
    expect(serverKey(remote('a', 'https://x/y'))).not.toBe(serverKey(remote('a', 'https://x/z')))
    expect(['ws://x/', 'wss://x/', 'https://ws:1/'].map((url) => httpUrl(remote('a', url)))).toEqual([
      'http://x/',
      'https://x/',
      'https://ws:1/',
    ])
  })

  it.each<['user' | 'repository' | undefined, boolean | undefined, boolean, boolean]>([
    [undefined, true, true, true],
    ['user', true, true, true],
    ['user', false, true, false],
    ['user', undefined, true, false],
    ['repository', true, false, false],
  ])('of %s with xaa: %s may use credentials: %s, single sign-on: %s', (author, xaa, may, sso) => {
    const one = {
      ...remote('a', 'https://x/', xaa === undefined ? {} : { oauth: { xaa } }),
      ...(author && { author }),
    }
    expect([mayUseCredentials(one), usesSingleSignOn(one)]).toEqual([may, sso])
  })

  it.each<[string, object, string | undefined, boolean]>([
    ['nothing', {}, undefined, false],
    ['a document there', { authServerMetadataUrl: 'https://10.0.0.9/doc' }, undefined, true],
    ['a document elsewhere', { authServerMetadataUrl: 'https://10.0.0.8/doc' }, undefined, false],
    ['a document that is none', { authServerMetadataUrl: 'nonsense' }, undefined, false],
    ['an identity provider there, in use', { xaa: true }, 'https://10.0.0.9/', true],
    ['an identity provider there, not in use', {}, 'https://10.0.0.9/', false],
  ])('with %s configured: an inner address may be asked: %#', async (_, oauth, issuer, reaches) => {
    const { context } = memory()
    const fetch = fetchFor(remote('a', 'https://93.184.216.34/', { oauth }), {
      ...context,
      ...(issuer && { settings: { xaa: { issuer, clientId: 'c' } } }),
    })
    const aborted = AbortSignal.abort()
    const error = await fetch('https://10.0.0.9/x', { signal: aborted }).catch((caught) => caught)
    expect(error.refusal === 'private-address').toBe(!reaches)
  })
})
