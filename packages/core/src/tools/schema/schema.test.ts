import { describe, expect, it } from 'vitest'
import type { JsonSchema } from '../definition.ts'
import { compileSchema, loadZod, toZod } from './index.ts'

const issues = (schema: JsonSchema, value: unknown) => {
  const verdict = compileSchema(schema).check(value)
  return verdict.kind === 'invalid'
    ? verdict.issues.map(({ path, message }) => `${path} ${message}`.trim())
    : verdict.kind
}

const edit = {
  type: 'object',
  properties: {
    path: { type: 'string' },
    edits: {
      type: 'array',
      items: {
        type: 'object',
        properties: { oldText: { type: 'string' }, newText: { type: 'string' } },
        required: ['oldText', 'newText'],
        additionalProperties: false,
      },
    },
    dryRun: { type: 'boolean', default: false },
  },
  required: ['path', 'edits'],
} as const

describe('argument checking', () => {
  it('accepts what the server asks for', () => {
    expect(issues(edit, { path: 'a', edits: [{ oldText: 'x', newText: 'y' }] })).toBe('valid')
  })

  it.each([
    ['a wrong type', { path: 1, edits: [] }, ['path must be a string, not a number']],
    ['a missing property', { edits: [] }, ['path is required']],
    [
      'a place deep inside',
      { path: 'a', edits: [{ oldText: 'x', newText: 'y' }, { oldText: 'x' }] },
      ['edits[1].newText is required'],
    ],
    [
      'an extra property, with the one that was meant',
      { path: 'a', edits: [{ oldText: 'x', newText: 'y', new_text: 'z' }] },
      ['edits[0].new_text is not a known property; "newText" is'],
    ],
    [
      'everything that is wrong, not only the first',
      { path: null, edits: 'no' },
      ['path must be a string, not null', 'edits must be an array, not a string'],
    ],
    ['something that is no object', [], ['must be an object, not an array']],
  ])('names %s', (_, value, expected) => {
    expect(issues(edit, value)).toEqual(expected)
  })

  it('says what the nearest of several forms misses', () => {
    const schema = {
      anyOf: [
        { type: 'object', properties: { at: { type: 'object', required: ['line'] } }, required: ['at'] },
        { type: 'string' },
      ],
    }
    expect(issues(schema, { at: {} })).toEqual([
      'fits none of the 2 forms it may take (nearest: at.line is required)',
    ])
  })

  it.each<[string, JsonSchema, unknown, unknown]>([
    ['nullable', { type: 'string', nullable: true }, null, 1],
    ['a list of types', { type: ['string', 'null'] }, null, 1],
    ['const', { const: { a: [1, { b: 2 }] } }, { a: [1, { b: 2 }] }, { a: [1, { b: 3 }] }],
    ['enum of mixed values', { enum: ['a', 1, null, [1]] }, [1], [2]],
    ['draft 7 tuples', { items: [{ type: 'string' }], additionalItems: false }, ['a'], ['a', 'b']],
    ['2020-12 tuples', { prefixItems: [{ type: 'string' }], items: false }, ['a'], ['a', 'b']],
    [
      'a reference into properties',
      { properties: { a: { type: 'string' }, b: { $ref: '#/properties/a' } } },
      { b: 'x' },
      { b: 1 },
    ],
    ['$defs', { $defs: { s: { type: 'string' } }, $ref: '#/$defs/s' }, 'x', 1],
    ['an anchor', { $defs: { s: { $anchor: 'here', type: 'string' } }, $ref: '#here' }, 'x', 1],
    ['an escaped pointer', { $defs: { 'a/b~c': { type: 'string' } }, $ref: '#/$defs/a~1b~0c' }, 'x', 1],
    [
      'recursion',
      { type: 'object', properties: { next: { $ref: '#' } }, additionalProperties: false },
      { next: { next: {} } },
      { next: { last: {} } },
    ],
    ['keywords without a type', { minLength: 2 }, 5, 'a'],
    ['not', { not: { type: 'string' } }, 1, 'a'],
    [
      'if, then, else',
      JSON.parse('{"if": {"type": "string"}, "then": {"minLength": 2}, "else": {"type": "number"}}'),
      'ab',
      true,
    ],
    ['dependentRequired', { dependentRequired: { a: ['b'] } }, { a: 1, b: 1 }, { a: 1 }],
    [
      'draft 7 dependencies',
      { dependencies: { a: ['b'], c: { required: ['d'] } } },
      { c: 1, d: 1 },
      { c: 1 },
    ],
    [
      'unevaluatedProperties',
      { allOf: [{ properties: { a: {} } }], unevaluatedProperties: false },
      { a: 1 },
      { b: 1 },
    ],
    ['unevaluatedItems', { prefixItems: [{}], unevaluatedItems: false }, [1], [1, 2]],
    [
      'patternProperties',
      { patternProperties: { '^x-': { type: 'string' } }, additionalProperties: false },
      { 'x-a': 'b' },
      { y: 'b' },
    ],
    ['propertyNames', { propertyNames: { maxLength: 2 } }, { ab: 1 }, { abc: 1 }],
    ['contains', { contains: { const: 1 }, maxContains: 1 }, [1, 2], [1, 1]],
    [
      'uniqueItems',
      { uniqueItems: true },
      [{ a: 1, b: 2 }, { a: 1 }],
      [
        { a: 1, b: 2 },
        { b: 2, a: 1 },
      ],
    ],
    ['draft 4 exclusive bounds', { minimum: 1, exclusiveMinimum: true }, 2, 1],
    ['decimal steps', { multipleOf: 0.1 }, 0.3, 0.35],
    ['sums that were rounded', { multipleOf: 0.1 }, 0.1 + 0.2, 0.31],
    ['cents of a large amount', { multipleOf: 0.01 }, 19_999_999.99, 19_999_999.995],
    ['cents of a very large amount', { multipleOf: 0.01 }, -90_071_992_547.41, -90_071_992_547.415],
    ['tiny steps', { multipleOf: 1e-9 }, 3e-9, 3.5e-9],
    ['large steps', { multipleOf: 1e21 }, 3e21, 3.5e21],
    ['whole steps', { multipleOf: 7 }, 49, 50],
    ['zero', { multipleOf: 0.07 }, 0, 0.01],
    ['length in characters', { maxLength: 1 }, '😀', 'ab'],
    ['a format', { type: 'string', format: 'date-time' }, '2026-02-28T12:00:00Z', '2026-02-30T12:00:00Z'],
    ['true and false', { properties: { a: true, b: false } }, { a: 1 }, { b: 1 }],
  ])('knows %s', (_, schema, good, bad) => {
    expect(compileSchema(schema).check(good).kind).toBe('valid')
    expect(compileSchema(schema).check(bad).kind).toBe('invalid')
  })
})

describe('hostile schemas', () => {
  it('never fetch: a remote reference costs its own part and a warning', () => {
    const schema = compileSchema({
      properties: { a: { $ref: 'https://example.com/s.json' }, b: { type: 'string' } },
    })
    expect(schema.check({ a: 1, b: 'x' }).kind).toBe('valid')
    expect(schema.check({ b: 1 }).kind).toBe('invalid')
    expect(schema.warnings).toEqual([
      '"$ref" to "https://example.com/s.json" is not fetched; that part is not checked',
    ])
  })

  it('end, though they refer to themselves', () => {
    for (const schema of [
      { $ref: '#' },
      { anyOf: [{ $ref: '#' }, { $ref: '#' }] },
      { allOf: [{ $ref: '#/allOf/0' }] },
      { not: { $ref: '#' } },
      { $defs: { a: { $ref: '#/$defs/b' }, b: { $ref: '#/$defs/a' } }, $ref: '#/$defs/a' },
      { unevaluatedProperties: { $ref: '#' }, allOf: [{ $ref: '#' }] },
    ])
      expect(compileSchema(schema).check({ a: 1 }).kind).toBe('unchecked')
  })

  it('end, though every level doubles the work', () => {
    const $defs: Record<string, JsonSchema> = { d40: { const: 1 } }
    for (let level = 39; level >= 0; level--)
      $defs[`d${level}`] = { oneOf: [{ $ref: `#/$defs/d${level + 1}` }, { $ref: `#/$defs/d${level + 1}` }] }
    expect(compileSchema({ $defs, $ref: '#/$defs/d0' }).check(2).kind).toBe('unchecked')
  })

  it('end, though the pattern explodes', () => {
    const explosive = compileSchema({ pattern: '^(a+)+$' })
    expect(explosive.check(`${'a'.repeat(60)}b`).kind).toBe('valid')
    expect(explosive.warnings).toEqual(['the pattern "^(a+)+$" took too long and was skipped'])
    expect(explosive.check('b').kind).toBe('invalid')
    const polynomial = compileSchema({ pattern: 'a*a*a*a*a*b$' })
    expect(polynomial.check('a'.repeat(5000)).kind).toBe('valid')
  })

  it('are left unchecked when they are too large, too deep or run in a circle', () => {
    const wide = { enum: [], anyOf: Array.from({ length: 30_000 }, () => ({})) }
    let deep: JsonSchema = {}
    for (let level = 0; level < 5000; level++) deep = { items: deep }
    const circle: { properties: Record<string, unknown> } = { properties: {} }
    circle.properties.self = circle
    for (const schema of [wide, deep, circle as JsonSchema]) {
      const compiled = compileSchema(schema)
      expect(compiled.check({}).kind).toBe('unchecked')
      expect(compiled.warnings).toHaveLength(1)
    }
  })

  it('may say nonsense in any keyword; the rest still counts', () => {
    const nonsense = {
      properties: { a: 5, b: { type: 'string' } },
      required: 'a',
      minLength: 'x',
      pattern: '(',
      enum: 3,
      anyOf: {},
      type: 'objekt',
      format: 7,
      $ref: 9,
      items: null,
      multipleOf: 0,
      patternProperties: { '[': {} },
    } as unknown as JsonSchema
    expect(compileSchema(nonsense).check({ b: 'x' }).kind).toBe('valid')
    expect(compileSchema(nonsense).check({ b: 1 }).kind).toBe('invalid')
  })

  it('do not reach the prototype', () => {
    const value = JSON.parse('{"__proto__": {"a": 1}, "constructor": 2}')
    expect(issues({ properties: {}, additionalProperties: false }, value)).toHaveLength(2)
    expect(issues({ required: ['toString'] }, {})).toEqual(['toString is required'])
    expect(issues({ properties: { constructor: { type: 'string' } } }, {})).toBe('valid')
    expect(({} as Record<string, unknown>).a).toBeUndefined()
  })

  it('do not fall over values nested beyond reason', () => {
    const value = JSON.parse(`${'['.repeat(50_000)}${']'.repeat(50_000)}`)
    expect(compileSchema({ items: { $ref: '#' } }).check(value).kind).toBe('unchecked')
    expect(compileSchema({ uniqueItems: true }).check([value, value]).kind).toBe('unchecked')
  })
})

describe('the Zod form', () => {
  it('has the shape where Zod can say it, and the same verdict everywhere', async () => {
    const z = await loadZod()
    const zod = toZod(z, edit, compileSchema(edit))
    const good = { path: 'a', edits: [{ oldText: 'x', newText: 'y' }], extra: 1 }
    expect(zod.parse(good)).toEqual(good)
    const bad = zod.safeParse({ path: 'a', edits: [{ oldText: 'x' }] })
    expect(bad.error?.issues[0]?.path).toEqual(['edits', 0, 'newText'])
    expect(z.toJSONSchema(zod)).toMatchObject({ properties: { path: { type: 'string' } } })
  })

  it('exists for schemas that Zod cannot convert', async () => {
    const z = await loadZod()
    const schema = { not: { type: 'string' } }
    const zod = toZod(z, schema, compileSchema(schema))
    expect(zod.safeParse('x').success).toBe(false)
    expect(zod.safeParse(1).success).toBe(true)
  })
})
