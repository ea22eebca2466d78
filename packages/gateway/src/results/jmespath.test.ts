// Our evaluator and the `jmespath` package agree wherever both answer; ours also ends.
import fc from 'fast-check'
import { search } from 'jmespath'
import { describe, expect, it } from 'vitest'
import { schemaShape, shapeOf } from './describe-shape.ts'
import { evaluateJmesPath, parseJmesPath } from './jmespath.ts'
import { unknownName } from './output-schema.ts'

const select = (text: string, value: unknown) => evaluateJmesPath(parseJmesPath(text), value)

const DATA = {
  total: 3,
  name: 'all',
  none: null,
  'odd key': { deep: [[1, 2], [3], 4] },
  rows: [
    { id: 1, name: 'a', tags: ['x', 'y'], owner: { login: 'ada' }, size: 2.5 },
    { id: 2, name: 'b', tags: [], owner: null, size: 1 },
    { id: 3, name: 'c', tags: ['x'], owner: { login: 'ben' }, size: 7 },
  ],
}
const EXPRESSIONS = [
  'rows[*].name',
  'rows[0]',
  'rows[-1].owner.login',
  'rows[9]',
  'rows[::-1].id',
  'rows[1:].id',
  'rows[:2] | [0].name',
  'rows[?id > `1`].name',
  "rows[?name == 'b']",
  'rows[?owner].owner.login',
  'rows[?contains(tags, `"x"`)].id',
  'rows[*].tags[]',
  '"odd key".deep[]',
  '"odd key".deep[] | [?@ > `2`]',
  'rows[*].{id: id, who: owner.login}',
  'rows[*].[id, name]',
  'rows[].tags | []',
  'length(rows)',
  'sort_by(rows, &size)[*].id',
  'max_by(rows, &size).name',
  'min_by(rows, &size).id',
  'sum(rows[*].size)',
  'avg(rows[*].id)',
  'keys(@)',
  'values(rows[0].owner)',
  'join(`", "`, rows[*].name)',
  'map(&name, rows)',
  'merge(rows[0].owner, `{"a": 1}`)',
  'reverse(rows[*].id)',
  "starts_with(name, 'a')",
  "ends_with(name, 'l')",
  'to_string(rows[0].owner)',
  'to_number(`"4"`)',
  'to_array(total)',
  'type(rows)',
  'not_null(none, missing, name)',
  'abs(`-3`)',
  'ceil(rows[0].size)',
  'floor(rows[0].size)',
  'max(rows[*].id)',
  'min(rows[*].name)',
  'sort(rows[*].size)',
  'missing || name',
  'total && name',
  '!none',
  'total == `3`',
  'total != `3`',
  'rows[*].owner.*',
  '*.deep',
  'none.a.b',
  "'raw'",
  '`[1,2]`',
  '@.total',
  'rows[*].tags[0]',
  'rows[?size >= `2.5` && id < `3`].id',
  'rows[?!owner].id',
  'a.b.c',
  'rows.name',
  'total[0]',
  'rows[*].tags[*][]',
]

describe('an expression', () => {
  it.each(EXPRESSIONS)('%s', (text) => {
    expect(select(text, DATA)).toEqual(search(DATA, text))
  })

  it('gives what the package gives, for made-up values and paths', () => {
    const key = fc.constantFrom('a', 'b', 'c')
    const value = fc.letrec((tie) => ({
      any: fc.oneof(
        { depthSize: 'small' },
        fc.integer(),
        fc.constantFrom('x', 'y'),
        fc.constant(null),
        fc.boolean(),
        fc.array(tie('any'), { maxLength: 4 }),
        fc.dictionary(key, tie('any'), { maxKeys: 3 }),
      ),
    })).any
    const step = fc.oneof(
      key.map((name) => `.${name}`),
      fc.constantFrom(
        '[0]',
        '[-1]',
        '[*]',
        '[]',
        '[1:]',
        '[::2]',
        '[?a]',
        '[?b==`1`]',
        '.*',
        ' | @',
        '.{x: a, y: b}',
        '.[a, c]',
      ),
    )
    const path = fc
      .tuple(key, fc.array(step, { maxLength: 5 }))
      .map(([first, steps]) => `${first}${steps.join('')}`)
    fc.assert(
      fc.property(path, value, (text, data) => {
        expect(select(text, data)).toEqual(search(data, text))
      }),
      { numRuns: 500 },
    )
  })

  it.each([
    ['', 'empty'],
    ['rows[', 'Expect|Unexpected|end'],
    ['nope(rows)', 'there is no function nope'],
    ['length(total)', 'takes string or array or object, and got number'],
    ['sum(rows[*].name)', 'got an array of string'],
    ['sort_by(rows, &owner)', 'keys to compare'],
    ['length()', 'takes 1 argument, not 0'],
    ['rows[::0]', 'cannot be 0'],
    ['x'.repeat(5000), 'longer than'],
    [`${'('.repeat(1900)}a${')'.repeat(1900)}`, 'nested too deeply|.*'],
  ])('that is wrong says so: %.20s', (text, message) => {
    let result: unknown
    try {
      result = select(text, DATA)
    } catch (error) {
      expect(String(error)).toMatch(new RegExp(message))
      return
    }
    // Brackets alone change nothing.
    expect(text).toMatch(/^\(/)
    expect(result).toBeNull()
  })

  it('that doubles its value at every step ends with an error', () => {
    const doubled = (step: string, times: number) => Array.from({ length: times }, () => step).join(' | ')
    const rows = Array.from({ length: 1000 }, (_, id) => ({ id }))
    expect(() => select(doubled('[@, @][]', 40), rows)).toThrow('too much work')
    expect(() => select(`${doubled('[@, @]', 40)} | to_string(@)`, rows)).toThrow('too much work')
    expect(() =>
      select(`${doubled('join(``, [to_string(@), to_string(@)])'.replace('``', "''"), 60)}`, 'x'),
    ).toThrow('too much work')
  })

  it('reads only what the value itself has', () => {
    for (const name of ['constructor', '__proto__', 'toString']) expect(select(name, { a: 1 })).toBeNull()
    expect(Object.getPrototypeOf(select('{"__proto__": a}', { a: { bad: 1 } }))).toBe(Object.prototype)
  })
})

describe('against an output schema', () => {
  const schema = {
    type: 'object',
    properties: {
      rows: { type: 'array', items: { $ref: '#/$defs/row' } },
      free: { type: 'object', additionalProperties: true, properties: {} },
      either: { anyOf: [{ type: 'object', properties: { a: {} } }] },
    },
    $defs: { row: { type: 'object', properties: { id: { type: 'integer' }, name: { type: 'string' } } } },
  }
  it.each([
    ['rows[*].id', undefined],
    ['rows[*].nam', 'nam'],
    ['rowz', 'rowz'],
    ['rows[?titel == `1`].id', 'titel'],
    ['rows[0].{a: id, b: wrong}', 'wrong'],
    ['free.anything', undefined],
    ['either.b', undefined],
    ['rows[*].{a: id} | [0].b', 'b'],
    ['length(rowz)', 'rowz'],
    ['rows[*].{a: id}[0].a', undefined],
    ['sort_by(rows, &whatever)', undefined],
    ['rows | length(@)', undefined],
    ['rows[-1].name', undefined],
  ])('%s', (text, missing) => {
    expect(unknownName(parseJmesPath(text), schema)).toBe(missing)
  })
  it('the shape is shown in a line', () => {
    expect(schemaShape(schema)).toBe('{rows: [{id: integer, name: string}], free: {}, either: any}')
    expect(shapeOf(DATA)).toBe(
      '{total: number, name: string, none: null, "odd key": {deep: [[number] × 2 | [number] | number] × 3}, rows: [{id: number, name: string, tags: [string] × 2, owner: {login: string}, size: number}] × 3}',
    )
    expect(shapeOf(Array.from({ length: 500 }, (_, at) => ({ [`k${at}`]: 1 }))).length).toBeLessThan(1600)
  })
})

it('selects from 1,000 rows in a few milliseconds', () => {
  const rows = Array.from({ length: 1000 }, (_, id) => ({
    id,
    name: `n${id}`,
    owner: { login: `u${id % 7}` },
  }))
  const path = parseJmesPath("[?owner.login == 'u3'].{id: id, who: owner.login}")
  for (let round = 0; round < 20; round++) evaluateJmesPath(path, rows)
  const began = process.cpuUsage()
  for (let round = 0; round < 20; round++) evaluateJmesPath(path, rows)
  const { user, system } = process.cpuUsage(began)
  // CPU time, so that a busy machine does not count; the goal is 10 ms.
  expect((user + system) / 20 / 1000).toBeLessThan(10)
})
