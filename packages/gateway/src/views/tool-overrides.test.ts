// How the settings change what clients are shown of a tool, and how long they may keep a list.
import type { LocalBoard } from '@plugboard/core'
import { describe, expect, it } from 'vitest'
import { type CacheHints, cacheHints, LIST_TTL, passedHints } from './cache-hints.ts'
import { overridden, type ToolOverride, ToolOverrides } from './tool-overrides.ts'

describe('an override', () => {
  const made = (given: Record<string, ToolOverride>) => new ToolOverrides(given)
  it('is of the tools that its pattern fits; a later one wins', () => {
    const all = made({ 's.*': { title: 'T', hidden: true }, 's.get': { title: 'G' } })
    expect(all.of('s', 'get', 'mcp__s__get')).toEqual({ title: 'G', hidden: true })
    expect(all.of('s', 'set', 'mcp__s__set')).toEqual({ title: 'T', hidden: true })
    expect(all.of('x', 'get', 'mcp__x__get')).toBeUndefined()
    expect(made({}).of('s', 'get', 'mcp__s__get')).toBeUndefined()
    expect(new ToolOverrides().of('s', 'get', 'mcp__s__get')).toBeUndefined()
  })

  it('names the patterns that fit nothing', () => {
    const tools = [{ server: 's', tool: 'get', name: 'mcp__s__get' }]
    expect(made({ 's.get': {}, 's.nope': {}, 'x.*': {} }).unused(tools)).toEqual(['s.nope', 'x.*'])
  })

  it('refuses what cannot be meant', () => {
    expect(() => made({ 's/t': {} })).toThrow(/"s\/t" is not a rule/)
    expect(() => made({ 's.*': { name: 'one' } })).toThrow(/gives several tools one name/)
    expect(() => made({ 's.t': { name: 'one' }, 's.*': { title: 'x' } })).not.toThrow()
  })

  const definition = { name: 't', description: 'd', annotations: { title: 'old', readOnlyHint: true } }
  it.each<[ToolOverride | undefined, object]>([
    [undefined, definition],
    [{}, definition],
    [{ title: 'T' }, { ...definition, title: 'T', annotations: { title: 'T', readOnlyHint: true } }],
    [{ description: 'D' }, { ...definition, description: 'D' }],
    [
      { annotations: { readOnlyHint: false } },
      { ...definition, annotations: { title: 'old', readOnlyHint: false } },
    ],
  ])('%j', (override, shown) => expect(overridden(definition, override)).toEqual(shown))

  it('adds no annotations where there are none', () => {
    expect(overridden({ name: 't' }, { title: 'T' })).toEqual({ name: 't', title: 'T' })
    expect(overridden({ name: 't', annotations: 'x' }, { annotations: { a: true } })).toEqual({
      name: 't',
      annotations: { a: true },
    })
  })
})

describe('how long a list may be kept', () => {
  interface Server {
    readonly state?: string
    readonly kind?: string
    readonly capabilities?: object
    readonly hint?: { ttlMs: number; cacheScope: 'public' | 'private'; at: number }
  }
  function hints(
    servers: Record<string, Server>,
    {
      isShared = true,
      list = 'tools',
      shows = () => true,
    }: { isShared?: boolean; list?: 'tools' | 'templates'; shows?: (server: string) => boolean } = {},
  ) {
    const relisted: string[] = []
    const board = {
      servers: () => Object.entries(servers).map(([name, { state = 'connected' }]) => ({ name, state })),
      link: {
        connection: (name: string) => ({
          state: {
            kind: servers[name]?.kind ?? 'connected',
            session: { capabilities: servers[name]?.capabilities ?? { tools: {}, resources: {} } },
          },
          catalog: {
            tools: { cacheHint: servers[name]?.hint, invalidate: () => void relisted.push(name) },
            templates: { cacheHint: servers[name]?.hint, invalidate: () => void relisted.push(name) },
          },
        }),
      },
    } as unknown as LocalBoard
    return { ...cacheHints(board, list, shows, isShared, 100_000), relisted }
  }
  const hint = (ttlMs: number, age = 0, cacheScope: 'public' | 'private' = 'public') => ({
    ttlMs,
    cacheScope,
    at: 100_000 - age,
  })
  const told = { tools: { listChanged: true } }

  it.each<[string, Record<string, Server>, CacheHints]>([
    ['no server', {}, { ttlMs: LIST_TTL.usual, cacheScope: 'private' }],
    ['one that says nothing', { a: {} }, { ttlMs: LIST_TTL.usual, cacheScope: 'private' }],
    ['one without such a list', { a: { capabilities: {} } }, { ttlMs: LIST_TTL.usual, cacheScope: 'public' }],
    ['one that is coming up', { a: { kind: 'pending' } }, { ttlMs: 0, cacheScope: 'private' }],
    ['one that is down', { a: { kind: 'failed' } }, { ttlMs: LIST_TTL.away, cacheScope: 'private' }],
    [
      'one that is switched off',
      { a: { state: 'disabled', kind: 'failed' } },
      { ttlMs: LIST_TTL.usual, cacheScope: 'private' },
    ],
    ['one with a time', { a: { hint: hint(60_000.7) } }, { ttlMs: 60_000, cacheScope: 'public' }],
    ['some time later', { a: { hint: hint(60_000, 20_000) } }, { ttlMs: 40_000, cacheScope: 'public' }],
    ['too late', { a: { hint: hint(10_000, 20_000) } }, { ttlMs: 0, cacheScope: 'public' }],
    [
      'one that reports changes',
      { a: { capabilities: told, hint: hint(60_000, 20_000) } },
      { ttlMs: 60_000, cacheScope: 'public' },
    ],
    [
      'one that reports changes and gives no time',
      { a: { capabilities: told, hint: hint(0) } },
      { ttlMs: LIST_TTL.usual, cacheScope: 'public' },
    ],
    [
      'one that gives no time and reports nothing',
      { a: { hint: hint(0) } },
      { ttlMs: 0, cacheScope: 'public' },
    ],
    [
      'one for its own user',
      { a: { hint: hint(60_000, 0, 'private') } },
      { ttlMs: 60_000, cacheScope: 'private' },
    ],
    [
      'two',
      { a: { hint: hint(60_000) }, b: { hint: hint(50_000) } },
      { ttlMs: 50_000, cacheScope: 'public' },
    ],
    [
      'two, one for its own user',
      { a: { hint: hint(60_000) }, b: { hint: hint(70_000, 0, 'private') } },
      { ttlMs: 60_000, cacheScope: 'private' },
    ],
  ])('%s', (_, servers, expected) => expect(hints(servers)).toMatchObject(expected))

  it('is for this client alone where views differ, and what it does not see does not count', () => {
    expect(hints({ a: { hint: hint(60_000) } }, { isShared: false }).cacheScope).toBe('private')
    expect(
      hints({ a: { hint: hint(60_000) }, b: { kind: 'pending' } }, { shows: (name) => name === 'a' }).ttlMs,
    ).toBe(60_000)
    expect(
      hints({ a: { capabilities: { resources: {} }, hint: hint(60_000) } }, { list: 'templates' }).ttlMs,
    ).toBe(60_000)
  })

  it.each<[number, number, boolean]>([
    [40_000, 39_999, false],
    [40_000, 40_000, true],
    [0, LIST_TTL.relist - 1, false],
    [0, LIST_TTL.relist, true],
  ])('a list of %i ms is read again after %i ms: %s', (ttlMs, age, again) => {
    expect(hints({ a: { hint: hint(ttlMs, age) } }).relisted).toEqual(again ? ['a'] : [])
  })

  it.each<[object, boolean, CacheHints]>([
    [{ ttlMs: 5.5, cacheScope: 'public' }, true, { ttlMs: 5, cacheScope: 'public' }],
    [{ ttlMs: 5, cacheScope: 'public' }, false, { ttlMs: 5, cacheScope: 'private' }],
    [{ ttlMs: 0, cacheScope: 'x' }, true, { ttlMs: 0, cacheScope: 'private' }],
    [{ ttlMs: -1 }, true, { ttlMs: 0, cacheScope: 'private' }],
    [{ ttlMs: 'x' }, true, { ttlMs: 0, cacheScope: 'private' }],
    [{ ttlMs: Number.POSITIVE_INFINITY }, true, { ttlMs: 0, cacheScope: 'private' }],
  ])('a result with %j, shared %s', (result, isShared, expected) => {
    expect(passedHints(result as never, isShared)).toEqual(expected)
  })
})
