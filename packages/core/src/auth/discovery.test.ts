// Which scopes a login requests, source by source.
import { describe, expect, it } from 'vitest'
import type { RemoteServer } from './context.ts'
import { chooseScope, type Discovered } from './discovery.ts'

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
