// Where JMESPath's rules turn: slices at their ends, values of every kind in every function, what a step costs, and the shape
// that a model is shown.
import { search } from 'jmespath'
import { describe, expect, it } from 'vitest'
import { resolved, schemaShape, shapeOf } from './describe-shape.ts'
import { evaluateJmesPath, parseJmesPath } from './jmespath.ts'
import { typeName } from './jmespath-nodes.ts'
import { unknownName } from './output-schema.ts'

const select = (text: string, value: unknown, work?: number) =>
  evaluateJmesPath(parseJmesPath(text), value, work)

/** The least work that is enough. */
function leastWork(text: string, value: unknown): number {
  for (let work = 0; work < 1000; work++)
    try {
      select(text, value, work)
      return work
    } catch (error) {
      if (!String(error).includes('too much work')) throw error
    }
  throw new Error('it has no end')
}

it('slices as the package does, at every bound and step', () => {
  const bounds = ['', -4, -3, -2, -1, 0, 1, 2, 3, 4]
  for (const value of [[], ['a'], ['a', 'b', 'c']])
    for (const from of bounds)
      for (const to of bounds)
        for (const by of ['', -3, -2, -1, 1, 2, 3]) {
          const text = `[${from}:${to}:${by}]`
          expect([text, select(text, value)]).toEqual([text, search(value, text)])
        }
})

describe('a value', () => {
  it.each([
    // The specification's false values, and a few that are not.
    ["a || 'x'", { a: [] }, 'x'],
    ["a || 'x'", { a: {} }, 'x'],
    ["a || 'x'", { a: '' }, 'x'],
    ["a || 'x'", { a: false }, 'x'],
    ["a || 'x'", { a: null }, 'x'],
    ["a || 'x'", {}, 'x'],
    ["a || 'x'", { a: 0 }, 0],
    ["a || 'x'", { a: [0] }, [0]],
    ["a || 'x'", { a: { b: 0 } }, { b: 0 }],
    ["a && 'x'", { a: [] }, []],
    ["a && 'x'", { a: [0] }, 'x'],
    ['!a', { a: [] }, true],
    ['!a', { a: 'y' }, false],
    ['[?a].b', [{ a: [], b: 1 }, { a: [0], b: 2 }, { b: 3 }], [2]],
    // Order is for two numbers, or two texts.
    ["'a' < 'b'", null, true],
    ["'b' < 'a'", null, false],
    ["'a' < 'a'", null, false],
    ["'a' <= 'a'", null, true],
    ["'b' <= 'a'", null, false],
    ["'a' > 'a'", null, false],
    ["'b' > 'a'", null, true],
    ["'a' >= 'a'", null, true],
    ["'a' >= 'b'", null, false],
    ['`1` < `1`', null, false],
    ['`1` <= `1`', null, true],
    ['`1` > `1`', null, false],
    ['`1` >= `1`', null, true],
    ["`1` < 'a'", null, null],
    ["'a' > `1`", null, null],
    ['`true` > `false`', null, null],
    ['`[1]` < `[2]`', null, null],
    ['a < b', {}, null],
    ["'a' == 'a'", null, true],
    ["'a' != 'a'", null, false],
    ['`[1]` == `[1]`', null, true],
    ['`{"a": 1}` != `{"a": 2}`', null, true],
    ['a[0]', { a: {} }, null],
    ['a[5]', { a: [1] }, null],
    ['a[0:1]', { a: 'text' }, null],
    ['a[]', { a: 'text' }, null],
    ['a[*]', { a: { b: 1 } }, null],
    ['a.*', { a: [1] }, null],
    ['a.*', { a: { b: 1, c: null } }, [1]],
    ['a[]', { a: [[], [1, [2]], 3] }, [1, [2], 3]],
    ['a.[b]', {}, null],
    ['a.{b: b}', {}, null],
    ['a.[b]', { a: {} }, [null]],
  ])('%s of %j', (text, value, wanted) => {
    expect(select(text, value)).toStrictEqual(wanted)
  })
})

describe('a function', () => {
  it.each([
    ["length('a𝒳c')", 3],
    ['length(`[1, 2]`)', 2],
    ['length(`{"a": 1, "b": 2, "c": 3}`)', 3],
    ["contains('abc', 'b')", true],
    ["contains('abc', 'x')", false],
    ["contains('a1', `1`)", false],
    ['contains(`[[1]]`, `[1]`)', true],
    ['contains(`["abc"]`, `"b"`)', false],
    ["reverse('a𝒳')", '𝒳a'],
    ['reverse(`[1, 2]`)', [2, 1]],
    ['not_null(`null`, `null`)', null],
    ['not_null(`null`, `0`)', 0],
    ['merge(`{"a": 1}`)', { a: 1 }],
    ['merge(`{"a": 1}`, `{"a": 2}`, `{"b": 3}`)', { a: 2, b: 3 }],
    ['avg(`[]`)', null],
    ['avg(`[1, 2]`)', 1.5],
    ['max(`[]`)', null],
    ['min(`[]`)', null],
    ['max(`[2, 3, 1]`)', 3],
    ['min(`["b", "a", "c"]`)', 'a'],
    ['max_by(`[]`, &k)', null],
    ['max_by(`[{"k": 1, "n": "first"}, {"k": 1, "n": "second"}]`, &k).n', 'first'],
    ['min_by(`[{"k": 2, "n": 0}, {"k": 1, "n": 1}, {"k": 1, "n": 2}]`, &k).n', 1],
    [
      'sort_by(`[{"k": 2, "n": 0}, {"k": 1, "n": 1}, {"k": 2, "n": 2}, {"k": 1, "n": 3}]`, &k)[*].n',
      [1, 3, 0, 2],
    ],
    ['sort_by(`[]`, &k)', []],
    ['sort(`[3, 1, 2]`)', [1, 2, 3]],
    ['to_array(`[1]`)', [1]],
    ['to_array(`1`)', [1]],
    ["to_string('a')", 'a'],
    ['to_string(`{"a": "b"}`)', '{"a":"b"}'],
    ['to_number(`4`)', 4],
    ["to_number('4.5')", 4.5],
    ["to_number('')", null],
    ["to_number(' ')", null],
    ["to_number('x')", null],
    ["to_number('1e999')", null],
    ['to_number(`true`)', null],
    ['to_number(`[1]`)', null],
    ['type(`null`)', 'null'],
    ['type(missing)', 'null'],
    ['type(`true`)', 'boolean'],
    ["type('')", 'string'],
    ['type(`1`)', 'number'],
    ['type(`[]`)', 'array'],
    ['type(`{}`)', 'object'],
    ['map(&a, `[{"a": 1}, {}]`)', [1, null]],
    ["join(', ', `[]`)", ''],
  ])('%s', (text, wanted) => {
    expect(select(text, {})).toStrictEqual(wanted)
  })

  it.each([
    ['sum(`[1, "a"]`)', 'sum() takes numbers, and got an array of number and string'],
    ["sum('12')", 'and got string'],
    ['join(\',\', `["a", 1]`)', 'join() takes strings, and got an array of string and number'],
    ["join(',', 'ab')", 'and got string'],
    ['abs(`[]`)', 'abs() takes number, and got an empty array'],
    ['merge(`{}`, `1`)', 'merge() takes object, and got number'],
    ['merge()', 'merge() takes at least 1 argument, not 0'],
    ['contains(`[]`)', 'contains() takes 2 arguments, not 1'],
    ['abs(`1`, `2`)', 'abs() takes 1 argument, not 2'],
    ['length(&a)', 'and got expression'],
    ["map('a', `[]`)", 'map() takes expression, and got string'],
    ['constructor(`1`)', 'there is no function constructor()'],
    ['sort_by(`[{"k": 1}, {"k": "a"}]`, &k)', 'all be numbers, or all be texts'],
    ['sort_by(`[{"k": true}]`, &k)', 'all be numbers, or all be texts'],
    ['max_by(`[{"k": null}]`, &k)', 'all be numbers, or all be texts'],
    [' ', 'the expression is empty'],
    ['a'.repeat(4001), 'longer than 4000'],
  ])('that cannot be called says why: %.40s', (text, message) => {
    expect(() => select(text, {})).toThrow(message)
  })

  it('has a longest expression, that one included', () => {
    expect(select('a'.repeat(4000), {})).toBeNull()
  })

  it('knows the type of what is not there', () => {
    expect([typeName(undefined), typeName(null), typeName(() => 1)]).toEqual(['null', 'null', 'object'])
  })
})

describe('the work of an expression', () => {
  it.each([
    ['a', {}, 1],
    ['a == b', { a: 1, b: 1 }, 4],
    ['a == b', { a: {}, b: 1 }, 23],
    ['a < b', { a: 1, b: 2 }, 3],
    ['[0:2]', [1, 2, 3], leastWork('[0:1]', [1, 2, 3]) + 3],
    ['[]', [[1, 2], 3], leastWork('[]', [[1], 3]) + 3],
    ['[]', [[], 3], leastWork('[]', [3]) + 1],
    ['[*]', [1, 2], leastWork('[*]', [1]) + 2],
    ["join('--', a)", { a: ['x'.repeat(10), 'x'.repeat(12)] }, leastWork("join('--', a)", { a: [] }) + 4],
    ['length(a)', { a: [1, 2, 3] }, leastWork('length(a)', { a: [] }) + 3],
    ['to_string(a)', { a: [1, 2] }, leastWork('to_string(a)', { a: [] }) + 4],
  ])('%s of %j', (text, value, wanted) => {
    expect(leastWork(text, value)).toBe(wanted)
  })

  it('ends for a value that is nested too deeply for the stack', () => {
    let deep: unknown = 0
    for (let level = 0; level < 200_000; level++) deep = [deep]
    expect(() => select('to_string(@)', deep, 1e9)).toThrow('the value is nested too deeply')
    // An error of another kind stays what it is.
    const odd = Object.defineProperty({}, 'a', {
      enumerable: true,
      get: () => {
        throw new TypeError('odd')
      },
    })
    expect(() => select('a', odd)).toThrow(TypeError)
  })
})

describe('a shape', () => {
  const many = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, at) => [`k${at}`, 1]))
  const nested = (levels: number, inner: unknown): unknown =>
    levels === 0 ? inner : { a: nested(levels - 1, inner) }
  it.each([
    [null, 'null'],
    ['x', 'string'],
    [[], '[]'],
    [[1], '[number]'],
    [[1, 2], '[number] × 2'],
    [[1, 'a', null, true, []], '[number | string | null | boolean] × 5'],
    [[{ a: 1 }, 2], '[{a: number} | number] × 2'],
    [[{ a: null }, { a: 1, b: 2 }], '[{a: number, b: number}] × 2'],
    [[{ a: 1 }, { a: 'x' }], '[{a: number}] × 2'],
    [{ 'odd key': 1, _ok: 2, '1st': 3 }, '{"odd key": number, _ok: number, "1st": number}'],
    [nested(5, 1), '{a: {a: {a: {a: {a: number}}}}}'],
    [nested(5, {}), '{a: {a: {a: {a: {a: {…}}}}}}'],
    [nested(5, [1]), '{a: {a: {a: {a: {a: […]}}}}}'],
    [nested(5, []), '{a: {a: {a: {a: {a: []}}}}}'],
  ])('of %j', (value, wanted) => {
    expect(shapeOf(value)).toBe(wanted)
  })

  it('has a limit of keys, of rows and of characters', () => {
    expect(shapeOf(many(24))).not.toContain('more')
    expect(shapeOf(many(25))).toContain('… 1 more}')
    const rows = [...Array.from({ length: 20 }, () => ({ a: 1 })), { b: 1 }]
    expect(shapeOf(rows)).toBe('[{a: number}] × 21')
    const name = (chars: number) => ({ ['x'.repeat(chars)]: 1 })
    expect(shapeOf(name(1490))).toHaveLength(1500)
    expect(shapeOf(name(1490))).not.toContain('…')
    expect(shapeOf(name(1491))).toHaveLength(1501)
    expect(shapeOf(name(1491)).endsWith('…')).toBe(true)
  })

  const deepSchema = (levels: number): object =>
    levels === 0 ? { type: 'string' } : { type: 'array', items: deepSchema(levels - 1) }
  it.each([
    [undefined, 'any'],
    [true, 'any'],
    [{}, 'any'],
    [{ type: 'string' }, 'string'],
    [{ type: ['string', 'null'] }, 'string | null'],
    [{ enum: [1, 'a', null, 4, 5, 6, 7] }, '1 | "a" | null | 4 | 5 | 6'],
    [{ type: 'array' }, '[any]'],
    [{ items: { type: 'string' } }, '[string]'],
    [{ type: 'object' }, 'object'],
    [{ properties: { a: { type: 'string' } } }, '{a: string}'],
    [deepSchema(4), '[[[[string]]]]'],
    [deepSchema(5), '[[[[[…]]]]]'],
    [{ $ref: '#/$defs/a', $defs: { a: { type: 'number' } } }, 'number'],
    [{ $ref: '#/$defs/a~1b~0c', $defs: { 'a/b~c': { type: 'number' } } }, 'number'],
    [{ $ref: '#/$defs/none', $defs: {} }, 'any'],
    [{ $ref: '#/toString' }, 'any'],
    [{ $ref: 'other.json#/x', 'her.json#': { x: { type: 'number' } } }, 'any'],
    [{ $ref: 5 }, 'any'],
    [{ $ref: '#/$defs/a', $defs: { a: { $ref: '#/$defs/a' } } }, 'any'],
  ])('of the schema %j', (schema, wanted) => {
    expect(schemaShape(schema)).toBe(wanted)
  })

  it('follows a chain of references, but not a long one', () => {
    const chain = (length: number) => ({
      $defs: Object.fromEntries(
        Array.from({ length: length + 1 }, (_, at) => [
          `r${at}`,
          at === length ? { type: 'null' } : { $ref: `#/$defs/r${at + 1}` },
        ]),
      ),
    })
    expect(resolved({ $ref: '#/$defs/r0' }, chain(6))).toEqual({ type: 'null' })
    expect(resolved({ $ref: '#/$defs/r0' }, chain(7))).toBeUndefined()
  })
})

describe('a name that an output schema', () => {
  const row = { type: 'object', properties: { id: {}, tag: { type: 'object', properties: { key: {} } } } }
  const schema = {
    type: 'object',
    properties: {
      rows: { type: 'array', items: row },
      odd: { type: 'array' },
      open: { type: 'object', properties: { a: {} }, additionalProperties: { type: 'string' } },
      shut: { type: 'object', properties: { a: {} }, additionalProperties: false },
      bare: { type: 'object' },
      some: { type: 'object', properties: { a: {} }, patternProperties: { '^x': {} } },
      maybe: { properties: { a: {} }, if: {} },
      all: { properties: { a: {} }, allOf: [] },
      one: { properties: { a: {} }, oneOf: [] },
    },
  }
  it.each([
    ['rows[*].id', undefined],
    ['rows[*].no', 'no'],
    ['rows[*].tag.no', 'no'],
    ['rows[*].tag.key', undefined],
    ['rows[].no', undefined],
    ['rows.no', undefined],
    ['rows[0].no', 'no'],
    ['rows[1:].no', 'no'],
    ['rows[?id].no', 'no'],
    ['odd[*].no', undefined],
    ['odd[0].no', undefined],
    ['open.b', undefined],
    ['shut.b', 'b'],
    ['bare.b', undefined],
    ['some.b', undefined],
    ['maybe.b', undefined],
    ['all.b', undefined],
    ['one.b', undefined],
    ['@.no', 'no'],
    ['rows | [0].no', 'no'],
    ['{a: rows}.b', 'b'],
    ['{a: rows}.a[0].no', 'no'],
    ['{a: open.x}.a.y', undefined],
    ['[no, rows]', 'no'],
    ['no == rows', 'no'],
    ['rows || no', 'no'],
    ['!no', 'no'],
    ['`{"a": 1}`.no', undefined],
    ['map(&no, rows)', undefined],
    ['rows[*].[id, no]', 'no'],
    ['rows[*].[id] | [0].no', undefined],
    ['no.other', 'no'],
  ])('%s', (text, missing) => {
    expect(unknownName(parseJmesPath(text), schema)).toBe(missing)
  })
})
