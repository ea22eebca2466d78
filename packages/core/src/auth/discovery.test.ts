// Which scopes a login requests, what a server asks for, and where its metadata is found.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import { systemHost } from '../host.ts'
import { type AuthContext, type RemoteServer, serverKey } from './context.ts'
import { challengeOf, chooseScope, type Discovered, discover } from './discovery.ts'
import type { GuardedFetch, GuardedInit } from './guarded-fetch.ts'
import { memoryVault } from './vault.ts'

const server = (scopes?: readonly string[]): RemoteServer => ({
  name: 'guarded',
  scope: 'user',
  source: 'settings.json',
  entry: {
    type: 'http',
    url: 'https://mcp.example.com/mcp',
    headers: {},
    ...(scopes && { oauth: { scopes } }),
  },
  signature: 'guarded',
})
const found = (resource: readonly string[], authorization?: readonly string[]): Discovered => ({
  as: {
    issuer: 'https://as.example.com',
    ...(authorization && { scopes_supported: [...authorization] }),
  },
  resource: 'https://mcp.example.com/mcp',
  sendResource: true,
  resourceScopes: resource,
  dpop: false,
})

describe('the scope of a login', () => {
  const everywhere = found(['of-resource'], ['of-server'])

  it('is what the entry configures, whatever others say', () => {
    expect(chooseScope(server(['mine']), everywhere, undefined, undefined)).toBe('mine')
  })
  it('is what the challenge wants, before what is listed', () => {
    expect(chooseScope(server(), everywhere, 'challenged', undefined)).toBe('challenged')
  })
  it('is what the resource lists, without a challenge', () => {
    expect(chooseScope(server(), everywhere, undefined, undefined)).toBe('of-resource')
  })
  it('is what the authorization server lists, when the resource lists nothing', () => {
    const listed = ['read', 'write', 'offline_access']
    expect(chooseScope(server(), found([], listed), undefined, undefined)).toBe('read write offline_access')
  })
  it('is left out when no one names any', () => {
    expect(chooseScope(server(), found([]), undefined, undefined)).toBeUndefined()
    expect(chooseScope(server(), found([], []), undefined, undefined)).toBeUndefined()
  })
  it('keeps what was granted before', () => {
    expect(chooseScope(server(), everywhere, 'more', 'old')).toBe('old more')
  })
  it('adds offline_access only where the authorization server knows it', () => {
    expect(chooseScope(server(), found(['mcp'], ['offline_access']), undefined, undefined)).toBe(
      'mcp offline_access',
    )
    expect(chooseScope(server(), found(['mcp'], ['openid']), undefined, undefined)).toBe('mcp')
  })
})

describe('the challenge of a server', () => {
  const asking = (note?: object): AuthContext => {
    const stateDir = mkdtempSync(join(tmpdir(), 'plugboard-challenge-'))
    folders.push(stateDir)
    const context = { host: systemHost({ now: () => 1000 }), stateDir, vault: memoryVault() }
    const key = serverKey(server())
    if (note)
      writeFileSync(
        join(stateDir, 'needs-auth.json'),
        JSON.stringify({ needs: { [key]: { since: 1000, ...note } } }),
      )
    return context
  }
  const folders: string[] = []
  afterEach(() => {
    for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true })
  })
  /** A server that answers so, and what it was sent. */
  const answering = (status: number) => {
    const sent: GuardedInit[] = []
    const fetch: GuardedFetch = async (_url, init = {}) => {
      sent.push(init)
      return new Response('', { status, headers: { 'www-authenticate': 'DPoP scope="asked"' } })
    }
    return { fetch, sent }
  }

  it.each<[string, object | undefined, number, object]>([
    ['its last 401, with a scope', { scope: 'noted' }, 0, { scope: 'noted', dpop: false }],
    [
      'its last 401, with metadata',
      { resourceMetadata: 'm', dpop: true },
      0,
      { resourceMetadata: 'm', dpop: true },
    ],
    ['a request, where that 401 said nothing', { dpop: true }, 1, { scope: 'asked', dpop: true }],
    ['a request, without such a record', undefined, 1, { scope: 'asked', dpop: true }],
  ])('is that of %s', async (_, note, requests, expected) => {
    const { fetch, sent } = answering(401)
    expect(await challengeOf(server(), asking(note), fetch)).toMatchObject(expected)
    expect(sent).toHaveLength(requests)
  })

  it.each<[number, object]>([
    [401, { scope: 'asked', dpop: true }],
    [403, { scope: 'asked', dpop: true }],
    [200, { dpop: false }],
    [404, { dpop: false }],
    [500, { dpop: false }],
  ])('counts with status %i', async (status, expected) => {
    expect(await challengeOf(server(), asking(), answering(status).fetch)).toStrictEqual(expected)
  })

  it.each<['http' | 'sse', object, boolean]>([
    [
      'http',
      {
        method: 'POST',
        headers: { accept: 'application/json, text/event-stream', 'content-type': 'application/json' },
      },
      true,
    ],
    ['sse', { method: 'GET', headers: { accept: 'text/event-stream' } }, false],
  ])('is asked for as %s asks', async (type, expected, hasBody) => {
    const { fetch, sent } = answering(401)
    const one = server()
    await challengeOf({ ...one, entry: { ...one.entry, type } }, asking(), fetch)
    const { body, ...rest } = sent[0] ?? {}
    expect(rest).toStrictEqual({ ...expected, headersOnly: true })
    expect(body !== undefined).toBe(hasBody)
  })
})

describe('metadata of a server', () => {
  /** Documents by path; what is not there is a 404. */
  const serving =
    (documents: Record<string, [status: number, body: string]>): GuardedFetch =>
    async (url) => {
      const { origin, pathname } = new URL(url)
      const [status, body] = documents[pathname] ?? documents[`${origin}${pathname}`] ?? [404, '']
      return new Response(body, { status })
    }
  const AS = '/.well-known/oauth-authorization-server'
  const PR = '/.well-known/oauth-protected-resource'
  const issuer = JSON.stringify({ issuer: 'https://mcp.example.com/' })

  it.each<[string, string, [number, string], object]>([
    ['that the challenge names and is a page', '/doc', [200, '<html>'], { refusal: 'bad-metadata' }],
    ['that the challenge names and redirects', '/doc', [399, ''], { refusal: 'bad-metadata' }],
  ])('%s is an error', async (_, path, answer, error) => {
    const challenge = { dpop: false, resourceMetadata: `https://mcp.example.com${path}` }
    await expect(discover(server(), challenge, serving({ [path]: answer }))).rejects.toMatchObject(error)
  })

  it.each<[string, Record<string, [number, string]>, boolean]>([
    [
      'is found where the challenge says nothing',
      { [`${PR}/mcp`]: [200, '{"resource":"https://mcp.example.com/mcp"}'] },
      true,
    ],
    ['is found at the root', { [PR]: [200, '{"resource":"https://mcp.example.com/"}'] }, true],
    ['is none when it is a page', { [PR]: [200, '<html>'] }, false],
    ['is none when it names no resource', { [PR]: [200, '{}'] }, false],
    ['is none with another status', { [PR]: [203, '{"resource":"https://mcp.example.com/"}'] }, false],
  ])('%s', async (_, documents, sendResource) => {
    const found = await discover(server(), { dpop: false }, serving({ ...documents, [AS]: [200, issuer] }))
    expect([found.sendResource, found.as.issuer]).toEqual([sendResource, 'https://mcp.example.com/'])
  })

  it('that the challenge names and is gone is looked for in the usual places', async () => {
    const challenge = { dpop: true, resourceMetadata: 'https://mcp.example.com/doc' }
    const documents: Record<string, [number, string]> = {
      '/doc': [400, ''],
      [PR]: [200, '{"resource":"https://mcp.example.com","scopes_supported":["a",5]}'],
      [AS]: [200, issuer],
    }
    expect(await discover(server(), challenge, serving(documents))).toMatchObject({
      resource: 'https://mcp.example.com',
      resourceScopes: ['a'],
      dpop: true,
    })
  })

  it.each<[number, object | undefined]>([
    [500, { refusal: 'bad-metadata' }],
    [503, { refusal: 'bad-metadata' }],
    [502, undefined],
    [499, undefined],
    [404, undefined],
  ])('that answers %i', async (status, error) => {
    const looking = discover(server(), { dpop: false }, serving({ [AS]: [status, ''] }))
    if (error) await expect(looking).rejects.toMatchObject(error)
    else expect((await looking).as.token_endpoint).toBe('https://mcp.example.com/token')
  })
})
