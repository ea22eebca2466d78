// Parts of large results: what a result's value is, ranges of it, its shape, names that a schema lacks, and where it is kept.
import { existsSync, mkdtempSync, readdirSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { resolved, schemaShape, shapeOf } from './describe-shape.ts'
import { parseJmesPath } from './jmespath.ts'
import { unknownName } from './output-schema.ts'
import { ResultStore } from './result-store.ts'
import {
  extentOf,
  isLonger,
  parseRange,
  type ResultValue,
  rangeOf,
  resultValue,
  selectFrom,
  written,
} from './result-value.ts'

const text = (...texts: string[]) => ({ content: texts.map((one) => ({ type: 'text', text: one })) })

describe('the value of a result', () => {
  it.each<[object, ResultValue]>([
    [
      { structuredContent: 0, ...text('x') },
      { kind: 'json', value: 0 },
    ],
    [text('{"a":1}'), { kind: 'json', value: { a: 1 } }],
    [text(' [1]'), { kind: 'json', value: [1] }],
    [text('[not json'), { kind: 'text', text: '[not json' }],
    [text('7'), { kind: 'text', text: '7' }],
    [text('a', 'b'), { kind: 'text', text: 'a\nb' }],
    [{}, { kind: 'text', text: '' }],
    [
      { content: [7, { type: 'image', data: 'x', text: 'no' }, { type: 'text', text: 7 }] },
      { kind: 'text', text: '' },
    ],
    [{ content: [{ type: 'resource', resource: { text: 'r' } }] }, { kind: 'text', text: 'r' }],
    [
      {
        content: [
          { type: 'resource', resource: { text: 7 } },
          { type: 'other', resource: { text: 'r' } },
          { type: 'resource', resource: 'x' },
        ],
      },
      { kind: 'text', text: '' },
    ],
  ])('%j is %j', (result, value) => expect(resultValue(result as never)).toEqual(value))

  it.each<[string, { from: number; to: number } | undefined]>([
    ['1-3', { from: 1, to: 3 }],
    ['2-', { from: 2, to: Number.MAX_SAFE_INTEGER }],
    ['3-3', { from: 3, to: 3 }],
    ['3-2', undefined],
    ['0-2', undefined],
    ['-2', undefined],
    ['x', undefined],
    ['', undefined],
  ])('the range %s is %j', (given, range) => expect(parseRange(given)).toEqual(range))

  it('has rows or lines', () => {
    const rows: ResultValue = { kind: 'json', value: [1, 2, 3] }
    const lines: ResultValue = { kind: 'text', text: 'a\nb\nc' }
    const object: ResultValue = { kind: 'json', value: { a: 1 } }
    expect([rangeOf(rows, { from: 2, to: 3 }), extentOf(rows)]).toEqual([
      { kind: 'json', value: [2, 3] },
      { unit: 'rows', count: 3 },
    ])
    expect([rangeOf(lines, { from: 1, to: 2 }), extentOf(lines)]).toEqual([
      { kind: 'text', text: 'a\nb' },
      { unit: 'lines', count: 3 },
    ])
    expect([rangeOf(object, { from: 2, to: 2 }), extentOf(object)]).toEqual([
      { kind: 'text', text: ' "a": 1' },
      { unit: 'lines', count: 3 },
    ])
    expect([written(rows), written(lines)]).toEqual(['[1,2,3]', 'a\nb\nc'])
    expect(selectFrom(object, parseJmesPath('a'))).toBe(1)
    expect(() => selectFrom(lines, parseJmesPath('a'))).toThrow('the result is text, not JSON')
  })

  it.each<[unknown, number]>([
    ['abc', 5],
    [[1, 2], 12],
    [{ key: 'v' }, 10],
    [[], 2],
    [null, 4],
  ])('%j is longer than %i characters only from there on', (value, chars) => {
    expect([isLonger(value, chars), isLonger(value, chars - 1)]).toEqual([false, true])
  })
})

describe('the shape', () => {
  it.each<[unknown, string]>([
    [null, 'null'],
    ['x', 'string'],
    [true, 'boolean'],
    [[], '[]'],
    [[1], '[number]'],
    [[1, 2], '[number] × 2'],
    [[1, 'a', null], '[number | string | null] × 3'],
    [{ a: 1, 'b c': {} }, '{a: number, "b c": {}}'],
    [[{ a: null }, { a: 1, b: 'x' }], '[{a: number, b: string}] × 2'],
    [[{ a: 1 }, { a: 'x' }], '[{a: number}] × 2'],
    [{ a: { a: { a: { a: { a: { a: 1 } } } } } }, '{a: {a: {a: {a: {a: {…}}}}}}'],
    [[[[[[[1]]]]]], '[[[[[[…]]]]]]'],
  ])('of %j is %s', (value, shape) => expect(shapeOf(value)).toBe(shape))

  it('is cut: many members, a long line', () => {
    const many = (count: number) =>
      Object.fromEntries(Array.from({ length: count }, (_, at) => [`k${at}`, 1]))
    expect(shapeOf(many(24))).not.toContain('more')
    expect(shapeOf(many(25))).toMatch(/, … 1 more\}$/)
    expect(shapeOf({ ['k'.repeat(1600)]: 1 })).toMatch(/^\{k{1499}…$/)
  })

  const defs = { $defs: { id: { type: 'integer' }, loop: { $ref: '#/$defs/loop' }, 'a/b': { type: 'null' } } }
  it.each<[object, string]>([
    [{ type: 'string' }, 'string'],
    [{ type: ['string', 'null'] }, 'string | null'],
    [{}, 'any'],
    [{ enum: [1, 'a'] }, '1 | "a"'],
    [{ enum: [1, 2, 3, 4, 5, 6, 7] }, '1 | 2 | 3 | 4 | 5 | 6'],
    [{ type: 'array' }, '[any]'],
    [{ items: { type: 'number' } }, '[number]'],
    [{ properties: { a: { $ref: '#/$defs/id' } }, ...defs }, '{a: integer}'],
    [{ properties: { a: { $ref: '#/$defs/loop' } }, ...defs }, '{a: any}'],
    [{ properties: { a: { $ref: '#/$defs/a~1b' } }, ...defs }, '{a: null}'],
    [{ properties: { a: { $ref: 'https://x' } } }, '{a: any}'],
    [{ properties: { a: { $ref: '#/$defs/toString' } }, ...defs }, '{a: any}'],
  ])('of the schema %j is %s', (schema, shape) => expect(schemaShape(schema)).toBe(shape))

  it('follows references a few times', () => {
    const chain = (length: number): Record<string, unknown> =>
      Object.fromEntries(
        Array.from({ length }, (_, at) => [
          `r${at}`,
          at === length - 1 ? { type: 'null' } : { $ref: `#/r${at + 1}` },
        ]),
      )
    expect(resolved({ $ref: '#/r0' }, chain(7))).toEqual({ type: 'null' })
    expect(resolved({ $ref: '#/r0' }, chain(8))).toBeUndefined()
    expect(resolved(7, {})).toBe(7)
  })
})

describe('a name that a schema does not have', () => {
  const schema = {
    type: 'object',
    properties: {
      rows: {
        type: 'array',
        items: { type: 'object', properties: { id: {}, sub: { properties: { x: {} } } } },
      },
      open: { properties: { a: {} }, additionalProperties: true },
      typed: { properties: { a: {} }, additionalProperties: { type: 'string' } },
      closed: { properties: { a: {} }, additionalProperties: false },
      either: { properties: { a: {} }, anyOf: [{}] },
      any: {},
    },
  }
  it.each<[string, string | undefined]>([
    ['rows', undefined],
    ['nope', 'nope'],
    ['rows[*].id', undefined],
    ['rows[*].nope', 'nope'],
    ['rows[0].nope', 'nope'],
    ['rows[1:].nope', 'nope'],
    ['rows[].sub.nope', undefined],
    ['rows[?nope].id', 'nope'],
    ["rows[?id == 'x'].nope", 'nope'],
    ['rows[*].{i: id}', undefined],
    ['rows[*].{i: nope}', 'nope'],
    ['rows[*].{i: id} | [0].nope', 'nope'],
    ['open.b', undefined],
    ['typed.b', undefined],
    ['closed.b', 'b'],
    ['either.b', undefined],
    ['any.b', undefined],
    ['length(nope)', 'nope'],
    ['sort_by(rows, &nope)', undefined],
    ['rows[*].[id, nope]', 'nope'],
    ['nope || rows', 'nope'],
    ['first.a || second', 'first'],
  ])('in %s: %s', (path, name) => expect(unknownName(parseJmesPath(path), schema)).toBe(name))
})

describe('kept results', () => {
  let folder: string
  let now: number
  const stores: ResultStore[] = []
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'results-'))
    now = Date.now()
  })
  afterEach(async () => {
    for (const store of stores.splice(0)) await store.close()
    rmSync(folder, { recursive: true, force: true })
  })
  const made = (limits: object = {}, onDisk = false) => {
    const store = new ResultStore({ now: () => now, limits, ...(onDisk && { folder }) })
    stores.push(store)
    return store
  }
  const result = (chars: number) => ({ server: 's', tool: 't', result: { t: 'x'.repeat(chars - 8) } })
  const has = async (store: ResultStore, owner: string, ids: readonly (string | undefined)[]) =>
    Promise.all(ids.map(async (id) => (await store.get(owner, id ?? '')) !== undefined))

  it('are found by their owner until their time is over', async () => {
    const store = made({ keepMs: 100 })
    const id = store.put('a', result(50)) ?? ''
    expect(await store.get('a', id)).toEqual(result(50))
    expect(await has(store, 'b', [id])).toEqual([false])
    now += 99
    expect(await has(store, 'a', [id])).toEqual([true])
    now += 1
    expect(await has(store, 'a', [id])).toEqual([false])
  })

  it('of one owner make room for each other, then the oldest of all', async () => {
    const store = made({ memoryChars: 400, ownerShare: 1 / 4, count: 100 })
    expect(store.put('a', result(101))).toBeUndefined()
    const whole = store.put('a', result(100))
    expect(await has(store, 'a', [whole])).toEqual([true])
    const half = [store.put('a', result(50)), store.put('a', result(50))]
    expect(await has(store, 'a', [whole, ...half])).toEqual([false, true, true])
    for (const owner of ['b', 'c', 'd', 'e']) store.put(owner, result(100))
    expect(await has(store, 'a', half)).toEqual([false, false])
    const few = made({ count: 8, ownerShare: 1 / 4 })
    const ids = [1, 2, 3].map(() => few.put('a', result(20)))
    expect(await has(few, 'a', ids)).toEqual([false, true, true])
  })

  it('that are large are in files of their owner, which go with them', async () => {
    const store = made({ spillChars: 50, keepMs: 1000 }, true)
    const [small, large] = [store.put('a', result(50)), store.put('a', result(51))]
    await expect.poll(() => readdirSync(folder)).toHaveLength(1)
    await expect.poll(() => statSync(join(folder, `${large}.json`)).size).toBe(51)
    expect(statSync(join(folder, `${large}.json`)).mode & 0o777).toBe(0o600)
    expect(await has(store, 'a', [small, large])).toEqual([true, true])
    now += 1000
    store.put('a', result(10))
    await expect.poll(() => readdirSync(folder)).toEqual([])
  })

  it('of an earlier process are removed when their time is over', async () => {
    for (const [name, age] of [
      ['old', 2000],
      ['young', 100],
    ] as const) {
      writeFileSync(join(folder, name), 'x')
      utimesSync(join(folder, name), new Date(now - age), new Date(now - age))
    }
    const store = made({ spillChars: 10, keepMs: 1000 }, true)
    store.put('a', result(50))
    await expect.poll(() => existsSync(join(folder, 'old'))).toBe(false)
    expect(existsSync(join(folder, 'young'))).toBe(true)
  })

  it('are gone when the store is closed, and nothing is kept after that', async () => {
    const store = made({ spillChars: 10 }, true)
    const id = store.put('a', result(50))
    await expect.poll(() => readdirSync(folder)).toHaveLength(1)
    await store.close()
    expect(readdirSync(folder)).toEqual([])
    expect(await has(store, 'a', [id])).toEqual([false])
    expect(store.put('a', result(20))).toBeUndefined()
  })
})
