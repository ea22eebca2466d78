// What the checker says about a value, word for word: fixtures/verdicts.json has schemas, values and the issues found.
import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { SCHEMA_LIMITS } from '../../limits.ts'
import type { JsonSchema } from '../definition.ts'
import { compileSchema, partsOf } from './compile.ts'
import { loadZod, toZod } from './index.ts'
import { mapSubschemas, subschemas } from './positions.ts'
import { resolveReference, survey } from './reference.ts'
import { clip, pathText } from './run.ts'
import { typeScriptOf } from './typescript.ts'

interface Case {
  readonly schema: JsonSchema
  /** A value, and `valid` or its issues. */
  readonly verdicts: readonly (readonly [unknown, 'valid' | readonly string[]])[]
  readonly warnings: readonly string[]
}
const read = (name: string) =>
  JSON.parse(readFileSync(new URL(`./fixtures/${name}`, import.meta.url), 'utf8'))
const CASES: readonly Case[] = read('verdicts.json')
const TYPES: readonly { schema: unknown; type: string; options?: { output: boolean } }[] = read('types.json')

const verdictOf = (compiled: ReturnType<typeof compileSchema>, value: unknown) => {
  const result = compiled.check(value)
  return result.kind === 'invalid'
    ? result.issues.map(({ path, message }) => `${path} ${message}`.trim())
    : result.kind
}

describe('the verdict', () => {
  it.each(CASES)('of $schema', ({ schema, verdicts, warnings }) => {
    const compiled = compileSchema(schema)
    for (const [value, expected] of verdicts)
      expect([value, verdictOf(compiled, value)]).toEqual([value, expected])
    expect(compiled.warnings).toEqual(warnings)
  })

  it('inside a choice, a negation and a condition is the same', () => {
    for (const { schema, verdicts } of CASES)
      for (const [value, expected] of verdicts) {
        const fits = expected === 'valid'
        const wrapped = { $defs: { whole: schema }, anyOf: [{ $ref: '#/$defs/whole' }] }
        // References of such a schema start at its own root.
        if (JSON.stringify(schema).includes('$ref') || JSON.stringify(schema).includes('Ref"')) continue
        expect([schema, value, compileSchema(wrapped).check(value).kind]).toEqual([
          schema,
          value,
          fits ? 'valid' : 'invalid',
        ])
        expect(compileSchema({ not: schema }).check(value).kind).toBe(fits ? 'invalid' : 'valid')
        expect(partsOf({})(schema, value)).toBe(fits)
      }
  })

  it('of a missing value and of one that is no number', () => {
    expect(verdictOf(compileSchema({ type: 'string' }), undefined)).toEqual(['must be a string, not missing'])
    expect(verdictOf(compileSchema({ type: 'number' }), Number.NaN)).toHaveLength(1)
    expect(verdictOf(compileSchema({ minimum: 3 }), Number.NaN)).toBe('valid')
  })

  it('names the place step by step', () => {
    const result = compileSchema({ properties: { a: { items: { type: 'string' } } } }).check({ a: ['x', 1] })
    expect(result).toMatchObject({ issues: [{ path: 'a[1]', at: ['a', 1] }] })
  })

  it('goes back to where it was after a branch', () => {
    const schema = {
      properties: {
        a: { anyOf: [{ properties: { b: { type: 'string' } } }, { type: 'null' }] },
        c: { type: 'string' },
      },
    }
    expect(verdictOf(compileSchema(schema), { a: { b: 1 }, c: 2 })).toEqual([
      'a fits none of the 2 forms it may take (nearest: a.b must be a string, not a number)',
      'c must be a string, not a number',
    ])
  })

  it('lists twenty issues and twenty warnings at most', () => {
    const many = Object.fromEntries(Array.from({ length: 25 }, (_, at) => [`p${at}`, { type: `t${at}` }]))
    const compiled = compileSchema({ properties: many })
    expect(compiled.check({}).kind).toBe('valid')
    expect(compiled.warnings).toHaveLength(SCHEMA_LIMITS.issues)
    const twice = compileSchema({ properties: { a: { type: 'x' }, b: { type: 'x' } } })
    expect(twice.warnings).toHaveLength(1)
  })
})

describe('the limits', () => {
  const nested = (levels: number): JsonSchema => {
    let schema: JsonSchema = { type: 'string' }
    for (let level = 0; level < levels; level++) schema = { not: schema }
    return schema
  }

  it('of nesting and of parts are where they are said to be', () => {
    expect(compileSchema(nested(SCHEMA_LIMITS.depth)).check('x').kind).not.toBe('unchecked')
    expect(compileSchema(nested(SCHEMA_LIMITS.depth + 1)).check('x')).toEqual({
      kind: 'unchecked',
      reason: `the schema is nested deeper than ${SCHEMA_LIMITS.depth} levels`,
    })
    // The schema itself, the list and each of its members.
    const parts = (count: number) => ({ anyOf: Array.from({ length: count - 2 }, () => ({})) })
    expect(compileSchema(parts(SCHEMA_LIMITS.nodes)).check(1).kind).toBe('valid')
    expect(compileSchema(parts(SCHEMA_LIMITS.nodes + 1)).check(1)).toEqual({
      kind: 'unchecked',
      reason: `the schema has more than ${SCHEMA_LIMITS.nodes} parts`,
    })
  })

  it('of references that go in a circle and of work are told', () => {
    expect(compileSchema({ $ref: '#' }).check(1)).toEqual({
      kind: 'unchecked',
      reason: 'the schema refers to itself without end',
    })
    const chain = (count: number) => ({
      $ref: '#/$defs/d0',
      $defs: Object.fromEntries(
        Array.from({ length: count }, (_, at) => [
          `d${at}`,
          at === count - 1 ? { type: 'string' } : { $ref: `#/$defs/d${at + 1}` },
        ]),
      ),
    })
    expect(compileSchema(chain(SCHEMA_LIMITS.nesting - 1)).check('x').kind).toBe('valid')
    expect(compileSchema(chain(SCHEMA_LIMITS.nesting)).check('x').kind).toBe('unchecked')
    const list = Array.from({ length: 1000 }, (_, at) => at)
    const slow = compileSchema({ items: { allOf: Array.from({ length: 1000 }, () => ({ type: 'number' })) } })
    expect(slow.check(list)).toEqual({ kind: 'unchecked', reason: 'checking the value would take too long' })
    expect(slow.warnings).toEqual(['checking the value would take too long'])
    expect(partsOf({})({ $ref: '#/x' }, 1)).toBe(true)
    const circle = { $defs: { c: { $ref: '#/$defs/c' } } }
    expect(partsOf(circle)({ $ref: '#/$defs/c' }, 1)).toBe(true)
    expect(partsOf(nested(300))({ type: 'string' }, 1)).toBe(true)
  })

  it('hold for a chain of branches too: they leave the nesting as they found it', () => {
    const branch = { anyOf: [{ type: 'null' }, { not: { type: 'string' } }] }
    const schema = { items: branch }
    expect(compileSchema(schema).check(Array.from({ length: 5000 }, () => 1)).kind).toBe('valid')
    expect(
      compileSchema({ items: { oneOf: [{ type: 'number' }, { type: 'string' }] } }).check(Array(5000).fill(1))
        .kind,
    ).toBe('valid')
  })
})

describe('text of a message', () => {
  it.each<[readonly (string | number)[], string]>([
    [[], ''],
    [['a', 0, 'b'], 'a[0].b'],
    [[0, 'a'], '[0].a'],
    [['a b'], '["a b"]'],
    [['$x', '1y'], '$x["1y"]'],
    [['!'.repeat(80)], `["${'!'.repeat(80)}"]`],
    [['!'.repeat(81)], `["${'!'.repeat(80)}…"]`],
  ])('names the place %j as %s', (path, text) => {
    expect(pathText(path)).toBe(text)
  })

  it('shows a value in eighty characters', () => {
    expect(clip(undefined)).toBe('undefined')
    expect(clip('x'.repeat(78))).toBe(`"${'x'.repeat(78)}"`)
    expect(clip('x'.repeat(79))).toBe(`"${'x'.repeat(79)}…`)
  })
})

describe('places in a schema', () => {
  const schema = {
    items: [{ a: 1 }, true],
    properties: { $ref: { b: 1 } },
    dependencies: { x: ['y'], z: { c: 1 } },
    not: { d: 1 },
    allOf: { notAList: 1 },
    $defs: ['not a map'],
    additionalProperties: ['not one schema'],
    enum: [{ data: 1 }],
    anyOf: [false],
  }

  it('are found by the keyword, not by the look of a value', () => {
    expect([...subschemas(schema)]).toEqual([
      { keyword: 'items', key: 0, schema: { a: 1 } },
      { keyword: 'items', key: 1, schema: true },
      { keyword: 'properties', key: '$ref', schema: { b: 1 } },
      { keyword: 'dependencies', key: 'z', schema: { c: 1 } },
      { keyword: 'not', schema: { d: 1 } },
      { keyword: 'anyOf', key: 0, schema: false },
    ])
    expect([...subschemas({ properties: null, items: { e: 1 } })]).toEqual([
      { keyword: 'items', schema: { e: 1 } },
    ])
  })

  it('are changed there, and everything else stays', () => {
    const seen: unknown[] = []
    const changed = mapSubschemas(schema, (part, keyword, key) => {
      seen.push(key === undefined ? keyword : `${keyword}.${key}`)
      return typeof part
    })
    expect(changed).toEqual({
      ...schema,
      items: ['object', 'boolean'],
      properties: { $ref: 'object' },
      dependencies: { x: ['y'], z: 'object' },
      not: 'object',
      anyOf: ['boolean'],
    })
    expect(seen).toEqual(['items', 'items', 'properties.$ref', 'dependencies.z', 'not', 'anyOf'])
    expect(mapSubschemas({ $defs: 5, items: { e: 1 } }, () => 'new')).toEqual({ $defs: 5, items: 'new' })
  })

  it('have ids, anchors and pointers', () => {
    const document = {
      $id: 'https://a.example/dir/root',
      $defs: {
        a: { $id: 'inner', $anchor: 'n', $defs: { deep: { type: 'null' } } },
        b: { $id: 'https://a.example/dir/root', type: 'string' },
        c: { $id: 'http://[', $anchor: 'bad' },
        d: [{ type: 'array' }],
      },
      default: { $anchor: 'data' },
      'x-own': { $anchor: 'own' },
    }
    const surveyed = survey(document)
    if (!surveyed.ok) throw new Error(surveyed.reason)
    const to = (reference: string, from?: unknown) => resolveReference(reference, surveyed.names, from)
    expect(to('#')).toBe(document)
    expect(to('https://a.example/dir/root')).toBe(document)
    expect(to('root#')).toBe(document)
    expect(to('inner')).toBe(document.$defs.a)
    expect(to('inner#n')).toBe(document.$defs.a)
    expect(to('#n')).toBeUndefined()
    expect(to('#n', document.$defs.a)).toBe(document.$defs.a)
    expect(to('#/$defs/deep', document.$defs.a)).toBe(document.$defs.a.$defs.deep)
    expect(to('#/$defs/b', document.$defs.a)).toBe(document.$defs.b)
    expect(to('inner#/$defs/deep')).toBe(document.$defs.a.$defs.deep)
    expect(to('inner#/$defs/b')).toBeUndefined()
    expect(to('#bad')).toBe(document.$defs.c)
    expect(to('#data')).toBeUndefined()
    expect(to('#own')).toBe(document['x-own'])
    expect(to('#/$defs/d/0')).toEqual({ type: 'array' })
    expect(to('#/$defs/d/1')).toBeUndefined()
    expect(to('#/$defs/d/length')).toBeUndefined()
    expect(to('#/$id/x')).toBeUndefined()
    expect(to('#/toString')).toBeUndefined()
    expect(to('http://[')).toBeUndefined()
    expect(to('none')).toBeUndefined()
    expect(resolveReference('#', { root: true, named: new Map(), bases: new Map() })).toBe(true)
  })
})

describe('a TypeScript type', () => {
  it.each(TYPES)('of $schema', ({ schema, type, options }) => {
    expect(typeScriptOf(schema, options)).toBe(type)
  })

  it('ends where a schema does not', () => {
    const deep = (levels: number): unknown =>
      levels === 0 ? { type: 'string' } : { type: 'array', items: deep(levels - 1) }
    expect(typeScriptOf(deep(24))).toContain('string')
    expect(typeScriptOf(deep(25))).not.toContain('string')
    const wide = (count: number) => ({
      properties: Object.fromEntries(
        Array.from({ length: count }, (_, at) => [`p${at}`, { type: 'string' }]),
      ),
    })
    expect(typeScriptOf(wide(2000))).toContain('readonly p1999?: string')
    expect(typeScriptOf(wide(2001))).toBe('Readonly<Record<string, unknown>>')
    const line = /\/\*\* (y+) \*\//.exec(
      typeScriptOf({ properties: { a: { description: 'y'.repeat(2001) } } }),
    )?.[1]
    expect(line).toHaveLength(2000)
  })

  it('is indented below where it stands', () => {
    expect(typeScriptOf({ properties: { a: {} } }, {}, '    ')).toBe('{\n      readonly a?: unknown\n    }')
  })
})

describe('the shape in Zod', () => {
  const shapeOf = async (schema: JsonSchema) => {
    const z = await loadZod()
    const { $schema: _, ...shape } = z.toJSONSchema(toZod(z, schema, compileSchema(schema)))
    return shape
  }
  const object = { type: 'object', properties: {}, additionalProperties: {} }

  it.each<[string, JsonSchema, unknown]>([
    [
      'a string with a title',
      { type: 'string', title: 'T', description: 'D', minLength: 3 },
      { type: 'string', title: 'T', description: 'D' },
    ],
    ['a title that is no text', { type: 'string', title: 5 }, { type: 'string' }],
    ['an integer', { type: 'integer' }, { type: 'number' }],
    ['values', { type: 'string', enum: ['a', 'b'] }, { type: 'string', enum: ['a', 'b'] }],
    ['values of another type', { type: 'number', enum: [1] }, { type: 'number' }],
    ['no values', { type: 'string', enum: [] }, { type: 'string' }],
    ['values of two types', { type: 'string', enum: ['a', 1] }, { type: 'string' }],
    ['nullable', { type: 'string', nullable: true }, {}],
    ['a constant', { type: 'string', const: 'a' }, {}],
    ['two types', { type: ['string', 'null'] }, {}],
    ['no type', { minLength: 1 }, {}],
    ['a list', { type: 'array', items: { type: 'string' } }, { type: 'array', items: { type: 'string' } }],
    ['a list of anything', { type: 'array', items: { anyOf: [] } }, { type: 'array', items: {} }],
    [
      'a tuple',
      { type: 'array', prefixItems: [{ type: 'string' }], items: { type: 'number' } },
      { type: 'array', items: {} },
    ],
    [
      'an object',
      { type: 'object', properties: { a: { type: 'string' }, b: {} }, required: ['a', 5] },
      { ...object, properties: { a: { type: 'string' }, b: {} }, required: ['a'] },
    ],
    [
      'a closed object',
      { type: 'object', properties: { a: { type: 'string' } }, additionalProperties: false },
      { type: 'object', properties: { a: { type: 'string' } }, additionalProperties: false },
    ],
    [
      'an object that patterns open',
      { type: 'object', properties: {}, patternProperties: { a: {} }, additionalProperties: false },
      object,
    ],
    [
      'required that is no list',
      { type: 'object', properties: { a: { type: 'string' } }, required: 'a' },
      { ...object, properties: { a: { type: 'string' } } },
    ],
  ])('of %s', async (_, schema, shape) => {
    expect(await shapeOf(schema)).toEqual(shape)
  })

  it('is left out below forty levels', async () => {
    let deep: JsonSchema = { type: 'string', title: 'innermost' }
    for (let level = 0; level < 40; level++) deep = { type: 'array', items: deep }
    expect(JSON.stringify(await shapeOf(deep))).toContain('innermost')
    expect(JSON.stringify(await shapeOf({ type: 'array', items: deep }))).not.toContain('innermost')
  })

  it('reports every issue at its place', async () => {
    const z = await loadZod()
    const schema = { properties: { a: { minLength: 2 }, b: { items: { type: 'string' } } } }
    const parsed = toZod(z, schema, compileSchema(schema)).safeParse({ a: 'x', b: [1] })
    expect(parsed.error?.issues.map(({ path, message, code }) => [path, message, code])).toEqual([
      [['a'], 'must have at least 2 characters', 'custom'],
      [['b', 0], 'must be a string, not a number', 'custom'],
    ])
  })
})
