// How a list is read: pages, bounds, faults and hints, with a server that answers as the test says; and its other states.
import { describe, expect, it } from 'vitest'
import { type Host, systemHost } from '../host.ts'
import { LIST_LIMITS } from '../limits.ts'
import {
  CachedList,
  isConcurrencySafe,
  type ListSpec,
  PROMPTS,
  type PromptDefinition,
  RESOURCES,
  readAnnotations,
  TEMPLATES,
} from './lists.ts'
import { JsonRpcError } from './request-errors.ts'
import { type Json, RPC } from './server-info.ts'

interface Timer {
  readonly ms: number
  readonly run: () => void
}

/** Answers with the pages in turn; an error is thrown, a function called. */
function listOf(pages: readonly unknown[], spec: ListSpec<PromptDefinition> = PROMPTS) {
  const asked: (Json | undefined)[] = []
  const told: string[] = []
  const timers = new Set<Timer>()
  const clock = { now: 0 }
  const left = [...pages]
  const host: Host = systemHost({
    now: () => clock.now,
    backgroundTimer: (ms, run) => {
      const timer = { ms, run }
      timers.add(timer)
      return () => timers.delete(timer)
    },
  })
  const list = new CachedList({
    spec,
    host,
    fetch: async (_method, params, signal) => {
      asked.push(params)
      const page = left.length > 1 ? left.shift() : left[0]
      if (page instanceof Error) throw page
      return (typeof page === 'function' ? await page(signal) : page) as Json
    },
    changed: (items) => void told.push(`changed ${items.length}`),
    warn: (text) => void told.push(`warn ${text}`),
    leftOut: (text) => void told.push(`left out ${text}`),
    used: () => void told.push('used'),
  })
  const fire = async () => {
    const due = [...timers]
    timers.clear()
    for (const { run } of due) run()
    await new Promise((done) => setImmediate(done))
  }
  return { list, asked, told, timers, fire, clock }
}
const names = (list: CachedList<PromptDefinition>) => list.items.map(({ name }) => name)
const page = (name: string, more: object = {}) => ({ prompts: [{ name }], ...more })

describe('the pages of a list', () => {
  it.each<[string, readonly unknown[], readonly string[], readonly (Json | undefined)[]]>([
    ['one', [page('a')], ['a'], [undefined]],
    ['two', [page('a', { nextCursor: 'c' }), page('b')], ['a', 'b'], [undefined, { cursor: 'c' }]],
    ['an empty cursor', [page('a', { nextCursor: '' }), page('b')], ['a'], [undefined]],
    ['a cursor that is none', [page('a', { nextCursor: 7 }), page('b')], ['a'], [undefined]],
    [
      'a cursor that repeats',
      [page('a', { nextCursor: 'c' }), page('b', { nextCursor: 'c' }), page('x')],
      ['a', 'b'],
      [undefined, { cursor: 'c' }],
    ],
    ['a method that is not known', [new JsonRpcError(RPC.methodNotFound, 'x')], [], [undefined]],
  ])('%s', async (_, pages, items, cursors) => {
    const { list, asked } = listOf(pages)
    expect((await list.get()).map(({ name }) => name)).toEqual(items)
    expect(asked).toEqual(cursors)
    expect([list.count, list.fresh, list.hasBeenRead, list.error]).toEqual([
      items.length,
      true,
      true,
      undefined,
    ])
  })

  it.each<[string, readonly unknown[], RegExp]>([
    ['another error', [new JsonRpcError(-1, 'no')], /no/],
    [
      'an unknown method on the second page',
      [page('a', { nextCursor: 'c' }), new JsonRpcError(RPC.methodNotFound, 'no')],
      /no/,
    ],
    ['a page without a list', [{}], /its prompts\/list result has no list of prompts/],
    ['a list that is none', [{ prompts: {} }], /has no list of prompts/],
  ])('%s fails the reading', async (_, pages, why) => {
    const { list, told } = listOf(pages)
    await expect(list.get()).rejects.toThrow(why)
    expect([list.hasBeenRead, list.fresh]).toEqual([false, false])
    expect(list.error).toBeDefined()
    expect(told.join()).toMatch(/warn prompts\/list failed: /)
  })

  it('are bounded', async () => {
    let at = 0
    const { list, told } = listOf([() => page('a', { nextCursor: `c${at++}` })])
    expect(await list.get()).toHaveLength(LIST_LIMITS.pages)
    expect(told).toContain(
      `warn prompts/list: more than ${LIST_LIMITS.pages} pages; reading stopped at ${LIST_LIMITS.pages} items`,
    )
    const many = (count: number) =>
      listOf([{ prompts: Array.from({ length: count }, () => ({ name: 'a' })) }])
    const fits = many(LIST_LIMITS.items)
    expect(await fits.list.get()).toHaveLength(LIST_LIMITS.items)
    expect(fits.told).toEqual(['used', `changed ${LIST_LIMITS.items}`])
    const over = many(LIST_LIMITS.items + 1)
    expect(await over.list.get()).toHaveLength(LIST_LIMITS.items)
    expect(over.told.join()).toContain(`more than ${LIST_LIMITS.items} items`)
  })
})

describe('an item that is wrong', () => {
  it('is left out, told once, and told again when it is another', async () => {
    const { list, told } = listOf([
      { prompts: [{ name: 'a' }, 7] },
      { prompts: [{ name: 'a' }, 7, { name: '' }] },
    ])
    expect((await list.get()).map(({ name }) => name)).toEqual(['a'])
    expect(list.faults).toEqual(['a prompt that is not an object; it is left out'])
    list.forget()
    await list.get()
    expect(told.filter((text) => text.startsWith('left out'))).toEqual([
      'left out a prompt that is not an object; it is left out',
      'left out a prompt without a name; it is left out',
    ])
  })

  it('is told for so many only', async () => {
    const { list, told } = listOf([{ prompts: Array.from({ length: LIST_LIMITS.warnings + 5 }, () => 7) }])
    await list.get()
    expect(list.faults).toHaveLength(LIST_LIMITS.warnings)
    expect(told.filter((text) => text.startsWith('warn'))).toHaveLength(LIST_LIMITS.warnings)
  })

  it.each<[ListSpec<never>, unknown, unknown]>([
    [RESOURCES as never, { uri: 'u' }, { uri: 'u', name: 'u' }],
    [RESOURCES as never, { uri: 'u', name: 'n' }, { uri: 'u', name: 'n' }],
    [RESOURCES as never, { uri: 'u', name: 7 }, { uri: 'u', name: 'u' }],
    [RESOURCES as never, { name: 'n' }, 'a resource without a uri'],
    [RESOURCES as never, { uri: '' }, 'a resource without a uri'],
    [RESOURCES as never, null, 'a resource that is not an object'],
    [TEMPLATES as never, { uriTemplate: 't' }, { uriTemplate: 't', name: 't' }],
    [TEMPLATES as never, {}, 'a resource template without a uriTemplate'],
    [PROMPTS as never, { name: 'p' }, { name: 'p' }],
    [PROMPTS as never, { name: 7 }, 'a prompt without a name'],
  ])('%# is read', (spec, item, parsed) => {
    expect(spec.parse(item, () => undefined)).toEqual(parsed)
  })
})

describe('what a server says about the life of a list', () => {
  const hint = async (...hints: object[]) => {
    const pages = hints.map((one, at) =>
      page('a', { ...one, ...(at < hints.length - 1 && { nextCursor: `c${at}` }) }),
    )
    const { list, clock } = listOf(pages)
    clock.now = 5
    await list.get()
    return list.cacheHint
  }
  it.each<[object[], object | undefined]>([
    [[{}], undefined],
    [[{ ttlMs: 10 }], { ttlMs: 10, cacheScope: 'private', at: 5 }],
    [[{ ttlMs: 0, cacheScope: 'public' }], { ttlMs: 0, cacheScope: 'public', at: 5 }],
    [[{ ttlMs: -1 }], undefined],
    [[{ ttlMs: '10' }], undefined],
    [[{ ttlMs: Number.NaN }], undefined],
    [[{ ttlMs: 10 }, {}], undefined],
    [[{}, { ttlMs: 10 }], undefined],
    [
      [
        { ttlMs: 10, cacheScope: 'public' },
        { ttlMs: 5, cacheScope: 'public' },
      ],
      { ttlMs: 5, cacheScope: 'public', at: 5 },
    ],
    [[{ ttlMs: 5, cacheScope: 'public' }, { ttlMs: 10 }], { ttlMs: 5, cacheScope: 'private', at: 5 }],
    [[{ ttlMs: 5 }, { ttlMs: 10, cacheScope: 'public' }], { ttlMs: 5, cacheScope: 'private', at: 5 }],
  ])('%j: %j', async (hints, result) => expect(await hint(...hints)).toEqual(result))
})

describe('the states of a list', () => {
  it('known from before: not fresh, and only until it is read', async () => {
    const { list } = listOf([page('new')])
    list.seed([{ name: 'old' }, { name: 'older' }])
    expect([names(list), list.count, list.fresh, list.hasBeenRead]).toEqual([
      ['old', 'older'],
      2,
      false,
      false,
    ])
    await list.get()
    list.seed([{ name: 'old' }])
    expect(names(list)).toEqual(['new'])
  })

  it('empty: told only where there was something', async () => {
    const { list, told } = listOf([page('a')])
    list.empty()
    expect([told, list.hasBeenRead]).toEqual([[], true])
    await list.get()
    list.empty()
    expect([told.at(-1), list.count, names(list)]).toEqual(['changed 0', 0, []])
  })

  it('forgotten: the number stays, and it is read again when it is needed', async () => {
    const { list, asked } = listOf([page('a')])
    await list.get()
    list.forget()
    expect([list.count, names(list), list.fresh]).toEqual([1, [], false])
    await list.get()
    expect([asked.length, names(list)]).toEqual([2, ['a']])
  })

  it('changed: stale at once, read again after a quiet moment, not later than the longest wait', async () => {
    const { list, asked, timers, fire, clock } = listOf([page('a')])
    await list.get()
    list.invalidate()
    expect([list.fresh, [...timers].map(({ ms }) => ms)]).toEqual([false, [LIST_LIMITS.debounceMs]])
    clock.now = LIST_LIMITS.maxWaitMs - 30
    list.invalidate()
    expect([...timers].map(({ ms }) => ms)).toEqual([30])
    clock.now = LIST_LIMITS.maxWaitMs + 30
    list.invalidate()
    expect([...timers].map(({ ms }) => ms)).toEqual([0])
    await fire()
    expect([list.fresh, asked.length]).toEqual([true, 2])
    // The wait begins anew.
    list.invalidate()
    expect([...timers].map(({ ms }) => ms)).toEqual([LIST_LIMITS.debounceMs])
  })

  it('dropped: no timer and no reading is left, and the items stay', async () => {
    const { list, timers, asked } = listOf([
      page('a'),
      (signal: AbortSignal) =>
        new Promise((_, no) => signal.addEventListener('abort', () => no(new Error('stopped')))),
      page('b'),
    ])
    await list.get()
    list.invalidate()
    const [timer] = timers
    list.drop()
    expect([timers.size, list.fresh, names(list)]).toEqual([0, false, ['a']])
    const reading = list.get()
    list.drop()
    await expect(reading).rejects.toThrow('stopped')
    expect(list.error).toBeUndefined()
    expect((await list.get()).map(({ name }) => name)).toEqual(['b'])
    // A timer that was about to run when the connection went reads once more at most.
    timer?.run()
    await new Promise((done) => setImmediate(done))
    expect(asked.length).toBeLessThanOrEqual(4)
  })

  it('changed while it is read: the result is stale, and the next reading makes it good', async () => {
    const { list, fire } = listOf([
      () => {
        list.invalidate()
        return page('old')
      },
      page('new'),
    ])
    await list.get()
    expect([names(list), list.fresh]).toEqual([['old'], false])
    await fire()
    expect([names(list), list.fresh]).toEqual([['new'], true])
  })
})

describe('the hints of a tool', () => {
  it.each<[unknown, object | undefined]>([
    [undefined, undefined],
    ['x', undefined],
    [{}, {}],
    [
      { readOnlyHint: true, destructive: false },
      { readOnlyHint: true, destructiveHint: false },
    ],
    [{ readOnlyHint: false, readOnly: true }, { readOnlyHint: false }],
    [{ readOnlyHint: 'yes', readOnly: true }, { readOnlyHint: true }],
    [{ readOnlyHint: 'yes' }, {}],
    [
      { title: 't', safeToRunConcurrently: true },
      { title: 't', safeToRunConcurrently: true },
    ],
    [{ title: 7, safeToRunConcurrently: 1 }, {}],
  ])('%j are %j', (raw, hints) => expect(readAnnotations(raw)).toEqual(hints))

  it.each<[Parameters<typeof isConcurrencySafe>[0], boolean]>([
    [undefined, false],
    [{}, false],
    [{ readOnlyHint: true }, true],
    [{ readOnlyHint: false }, false],
    [{ readOnlyHint: true, safeToRunConcurrently: false }, false],
    [{ safeToRunConcurrently: true }, true],
  ])('%j: beside others %s', (hints, safe) => expect(isConcurrencySafe(hints)).toBe(safe))
})
