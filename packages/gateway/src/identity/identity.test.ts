// Who a token belongs to: roles, what they expose, and what happens when tokens and roles change.
import { createHash } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import type { AccessRefusal, AuthorizedClient } from '../access/access.ts'
import { EVERYTHING } from '../access/exposure.ts'
import type { GatewayConfig } from '../config/schema.ts'
import { Identity } from './identity.ts'
import type { NamedToken } from './named-tokens.ts'
import { resourceOf } from './protected-resource.ts'
import { Roles } from './roles.ts'

const named = (name: string, more: Partial<NamedToken> = {}): NamedToken => ({
  id: name,
  name,
  sha256: createHash('sha256').update(`token-of-${name}`).digest('hex'),
  created: 0,
  ...more,
})

function identity(tokens: readonly NamedToken[], config: GatewayConfig = {}) {
  let now = 1000
  const made = new Identity({ config, tokens, expose: EVERYTHING, now: () => now })
  return { made, at: (time: number) => (now = time) }
}

const isClient = (found: unknown): found is AuthorizedClient =>
  typeof found === 'object' && found !== null && 'owner' in found
const client = (found: unknown): AuthorizedClient => {
  if (!isClient(found)) throw new Error(`refused: ${JSON.stringify(found)}`)
  return found
}

describe('roles', () => {
  const roles = new Roles(
    {
      dev: { groups: ['eng'], expose: ['github', 'docs'], deny: ['github.delete_*'] },
      ops: { groups: ['ops'], expose: ['github', 'cluster'] },
      all: { groups: ['*'], deny: ['secret'] },
    },
    EVERYTHING,
  )

  it('come from groups, in the order of the file', () => {
    expect(roles.ofGroups(['ops', 'eng'])).toEqual(['dev', 'ops', 'all'])
    expect(roles.ofGroups([])).toEqual(['all'])
    expect(new Roles({ dev: { groups: ['eng'] } }, EVERYTHING).ofGroups(['Eng', 'engineering'])).toEqual([])
  })

  it('expose what any of them exposes, without what any of them denies', () => {
    const both = roles.exposure(['dev', 'ops'])
    expect([
      both.tool('cluster', 'get'),
      both.tool('github', 'delete_repo'),
      both.tool('github', 'get'),
    ]).toEqual([true, false, true])
    expect([both.whole('github'), both.server('other')]).toEqual([true, false])
    const all = roles.exposure(['all'])
    expect([all.server('secret'), all.whole('secret'), all.tool('secret', 'x'), all.tool('x', 'y')]).toEqual([
      false,
      false,
      false,
      true,
    ])
  })

  it('give the same object for the same content, also after a reload', () => {
    expect(roles.exposure(['dev'])).toBe(roles.exposure(['dev']))
    const next = new Roles(
      { renamed: { expose: ['github', 'docs'], deny: ['github.delete_*'] } },
      EVERYTHING,
      roles,
    )
    expect(next.exposure(['renamed'])).toBe(roles.exposure(['dev']))
    expect(roles.exposure([])).not.toBe(EVERYTHING)
  })
})

describe('named tokens', () => {
  it('are found by their digest, expire, and need a role that exists', () => {
    const { made, at } = identity(
      [
        named('ada'),
        named('bob', { expires: 5000 }),
        named('eve', { role: 'gone' }),
        named('dev', { role: 'dev' }),
      ],
      { roles: { dev: { expose: ['docs'] } } },
    )
    expect(made.authorize('token-of-nobody')).toBeUndefined()
    expect(client(made.authorize('token-of-ada'))).toMatchObject({
      narrow: false,
      user: { name: 'ada', roles: [] },
    })
    expect(client(made.authorize('token-of-dev')).exposure.server('github')).toBe(false)
    expect(made.authorize('token-of-eve')).toMatchObject({ status: 403 } satisfies Partial<AccessRefusal>)
    expect(client(made.authorize('token-of-bob')).expires).toBe(5000)
    at(5000)
    expect(made.authorize('token-of-bob')).toMatchObject({ status: 401 })
  })

  it('say which owners lost access and which see other things, after a change and at their end', () => {
    const tokens = [named('ada'), named('bob', { expires: 5000 }), named('dev', { role: 'dev' })]
    const { made, at } = identity(tokens, { roles: { dev: { expose: ['docs'] } } })
    const [ada, bob, dev] = ['ada', 'bob', 'dev'].map(
      (name) => client(made.authorize(`token-of-${name}`)).owner,
    )
    const version = made.version
    expect(made.replace({ tokens: tokens.slice(1) })).toMatchObject({ removed: [ada], changed: [] })
    expect(made.version).not.toBe(version)
    expect(made.authorize('token-of-ada')).toBeUndefined()
    // The same name made again is another client.
    made.replace({ tokens: [named('ada', { id: 'second' }), ...tokens.slice(1)] })
    expect(client(made.authorize('token-of-ada')).owner).not.toBe(ada)
    expect(made.replace({ config: { roles: { dev: { expose: ['docs'] } } } })).toEqual({
      removed: [],
      changed: [],
    })
    const { changed } = made.replace({ config: { roles: { dev: { expose: ['github'] } } } })
    expect(changed.map(({ owner, exposure }) => [owner, exposure.server('docs')])).toEqual([[dev, false]])
    expect(made.replace({ config: {} }).removed).toEqual([dev])
    at(5000)
    expect(made.expired().removed).toEqual([bob])
    expect(made.expired().removed).toEqual([])
  })

  it('tell when they were used', () => {
    const { made } = identity([named('ada'), named('bob')])
    made.authorize('token-of-ada')
    expect([...made.takeUses()]).toEqual([['ada', 1000]])
    expect(made.takeUses().size).toBe(0)
  })
})

it.each([
  ['https://mcp.example.com', 'https://mcp.example.com/mcp'],
  ['https://mcp.example.com/', 'https://mcp.example.com/mcp'],
  ['https://example.com/tools/', 'https://example.com/tools/mcp'],
  ['https://example.com/tools/mcp', 'https://example.com/tools/mcp'],
])('the resource of %s is %s', (publicUrl, resource) => {
  expect(resourceOf(publicUrl)).toBe(resource)
})
