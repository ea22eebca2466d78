// What each provider is sent for one schema, whole: fixtures/forms.json has the schema, and the form of every provider.
// `openai` stands there where it differs from `anthropic`; null means that there is no strict form, or no parameters.
import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import type { JsonSchema } from '../definition.ts'
import { fromAnthropic, toAnthropic } from './anthropic.ts'
import { Changes, decodeArguments } from './decode-arguments.ts'
import { describeDropped, describeShape } from './describe-limits.ts'
import { fromGemini, toGemini } from './gemini.ts'
import { labelled, typeOf, typesOf, valuesOf } from './gemini-values.ts'
import { mergeParts } from './merge-schemas.ts'
import { fromStrict, toOpenAiChat, toOpenAiResponses } from './openai.ts'
import { type Plain, portable } from './portable.ts'

interface Case {
  readonly what: string
  readonly schema: JsonSchema
  readonly anthropic: Plain
  readonly openai?: Plain
  readonly strict: Plain | null
  readonly gemini: Plain | null
}
const CASES: readonly Case[] = JSON.parse(
  readFileSync(new URL('./fixtures/forms.json', import.meta.url), 'utf8'),
)
const tool = (inputJsonSchema: JsonSchema, description = '') => ({ name: 't', description, inputJsonSchema })
const object = (properties: Plain, more: Plain = {}): Plain => ({ type: 'object', properties, ...more })
const str = { type: 'string' }
const int = { type: 'integer' }

describe('the form of each provider', () => {
  it.each(CASES)('for $what', ({ schema, anthropic, openai = anthropic, strict, gemini }) => {
    const before = JSON.stringify(schema)
    expect(toAnthropic(tool(schema)).input_schema).toEqual(anthropic)
    expect(toOpenAiChat(tool(schema)).function).toMatchObject({ parameters: openai, strict: false })
    const asked = toOpenAiChat(tool(schema), { strict: true }).function
    expect({ strict: asked.strict, parameters: asked.parameters }).toEqual({
      strict: strict !== null,
      parameters: strict ?? openai,
    })
    expect(toGemini(tool(schema)).parameters ?? null).toEqual(gemini)
    expect(JSON.stringify(schema)).toBe(before)
  })
})

describe('a description', () => {
  it.each([
    [1023, 1023],
    [1024, 1024],
    [1025, 1024],
  ])('of a tool with %i characters has %i for OpenAI', (given, kept) => {
    const { description } = toOpenAiResponses(tool({}, 'd'.repeat(given)))
    expect(description).toHaveLength(kept)
    expect(description.endsWith('…')).toBe(given > 1024)
  })

  it('of a property is cut too, and what it hides is removed', () => {
    const shown = (description: unknown) =>
      (portable(object({ a: { description } } as Plain)).properties as { a: Plain }).a.description
    expect(shown('w'.repeat(1024))).toBe('w'.repeat(1024))
    expect(String(shown('w'.repeat(1025))).length).toBeLessThanOrEqual(1024)
    expect(shown('w'.repeat(1025))).toMatch(/…$/)
    expect(shown('a\u200bb')).toBe('ab')
    expect(shown(7)).toBeUndefined()
  })

  it('says in words what a form leaves out', () => {
    const said = (schema: Plain, part: Plain = {}) =>
      describeDropped(part, schema, Object.keys(schema)).description
    expect(said({ minItems: 1, maxItems: 2, minimum: 3, maximum: 4 })).toBe(
      'At least 1 items. At most 2 items. At least 3. At most 4.',
    )
    expect(said({ const: [1], enum: ['a', 2] })).toBe('Always [1]. One of: "a", 2.')
    expect(said({ enum: 'no list', uniqueItems: false, unknown: 1 })).toBeUndefined()
    expect(said({ minItems: 1 }, { minItems: 1 })).toBeUndefined()
    expect(describeDropped({}, {}, ['default'])).toEqual({})
    const values = Array.from({ length: 51 }, (_, at) => at)
    expect(said({ enum: values })).toBe(`One of: ${values.slice(0, 50).join(', ')}.`)
    expect(said({ default: 'y'.repeat(98) })).toBe(`Default: "${'y'.repeat(98)}".`)
    expect(said({ default: 'y'.repeat(99) })).toBe(`Default: "${'y'.repeat(99)}….`)
  })

  it('of a shape names its first twenty properties', () => {
    expect(describeShape({ properties: [] })).toBe('')
    expect(describeShape({ properties: { a: {}, b: {} } })).toBe(' Its properties: a, b.')
    const names = Array.from({ length: 21 }, (_, at) => `p${at}`)
    const many = Object.fromEntries(names.map((name) => [name, {}]))
    expect(describeShape({ properties: many })).toBe(` Its properties: ${names.slice(0, 20).join(', ')}.`)
  })
})

describe('what a part takes', () => {
  it.each<[Plain, readonly string[]]>([
    [{ type: ['string', 'null'] }, ['string', 'null']],
    [{ type: 'array', properties: {} }, ['array']],
    [{ properties: {}, items: {} }, ['object']],
    [{ items: {} }, ['array']],
    [{ prefixItems: [] }, ['array']],
    [{ properties: [], minLength: 1 }, []],
  ])('%j is %j', (schema, types) => {
    expect(typesOf(schema)).toEqual(types)
  })

  it.each<[Plain, readonly unknown[] | undefined]>([
    [{}, undefined],
    [{ enum: 'a' }, undefined],
    [{ enum: ['a', 1] }, ['a', 1]],
    [{ const: undefined }, [undefined]],
    [{ const: { a: 1, b: 2 }, enum: [{ b: 2, a: 1 }, 3] }, [{ b: 2, a: 1 }]],
    [{ const: 1, enum: [2] }, []],
    [{ type: 'number', enum: [1, 1.5, '1'] }, [1, 1.5]],
    [{ type: 'integer', enum: [1, 1.5] }, [1]],
    [{ type: ['string', 'boolean'], enum: ['a', true, null, []] }, ['a', true]],
    [{ type: 'array', const: [1] }, [[1]]],
  ])('%j lists %j', (schema, values) => {
    expect(valuesOf(schema)).toEqual(values)
  })

  it.each([
    [null, 'null'],
    [[], 'array'],
    [{}, 'object'],
    [1, 'integer'],
    [1.5, 'number'],
    ['', 'string'],
    [false, 'boolean'],
  ])('%j is of type %s', (value, type) => {
    expect(typeOf(value)).toBe(type)
  })

  it('has a label of its own for every value', () => {
    expect([...labelled([1, '1', 'JSON 1', '', null, undefined])]).toEqual([
      ['1', '1'],
      ['JSON 1', 'JSON 1'],
      ['JSON JSON 1', 1],
      ['""', ''],
      ['null', null],
      ['JSON null', undefined],
    ])
  })
})

describe('arguments', () => {
  const nested = object({
    list: { type: 'array', items: object({ 'x y': { type: 'integer' } }) },
    pair: { type: 'array', prefixItems: [object({ 'p q': str }), str], items: object({ 'r s': str }) },
    any: { anyOf: [object({ 'a a': { const: 1 } }, { required: ['a a'] }), object({ 'b b': str })] },
    one: { oneOf: [{ type: 'string' }, object({ 'c c': str })] },
    all: { allOf: [object({ 'd d': str }), object({ 'e e': str })] },
    map: { type: 'object', additionalProperties: object({ 'f f': str }) },
    ref: { $ref: '#/$defs/it' },
    $defs: str,
  })
  const schema = { ...nested, $defs: { it: object({ 'g g': { $ref: '#/$defs/it' } }) } }

  it('have their own names again, however deep', () => {
    const given = {
      list: [{ x_y: 1 }, 'odd'],
      pair: [{ p_q: 'a' }, { p_q: 'b' }, { r_s: 'c' }],
      any: { a_a: 1, b_b: 'x' },
      one: { c_c: 'x' },
      all: { d_d: '1', e_e: '2' },
      map: { k: { f_f: 'v' }, f_f: 3 },
      ref: { g_g: { g_g: {} } },
      other: { x_y: 1 },
    }
    expect(fromAnthropic(given, schema)).toEqual({
      list: [{ 'x y': 1 }, 'odd'],
      pair: [{ 'p q': 'a' }, { p_q: 'b' }, { 'r s': 'c' }],
      any: { 'a a': 1, b_b: 'x' },
      one: { 'c c': 'x' },
      all: { 'd d': '1', 'e e': '2' },
      map: { k: { 'f f': 'v' }, f_f: 3 },
      ref: { 'g g': { 'g g': {} } },
      other: { x_y: 1 },
    })
    expect(fromAnthropic({ any: { b_b: 'x' } }, schema)).toEqual({ any: { 'b b': 'x' } })
    expect(fromAnthropic([1], schema)).toEqual([1])
    expect(fromAnthropic(null, schema)).toBeNull()
  })

  it('follow a schema that goes in a circle for 128 levels, and are left as they are below', () => {
    const chain = (levels: number, name: string): Plain => {
      let part: Plain = {}
      for (let level = 0; level < levels; level++) part = { [name]: part }
      return part
    }
    const names = (value: unknown): string[] => {
      const found: string[] = []
      for (let at = value as Plain; Object.keys(at).length > 0; at = Object.values(at)[0] as Plain)
        found.push(Object.keys(at)[0] as string)
      return found
    }
    const decoded = names(fromAnthropic({ ref: chain(200, 'g_g') }, schema))
    expect(decoded).toHaveLength(201)
    expect(decoded.filter((name) => name === 'g g').length).toBeGreaterThan(100)
    expect(decoded.filter((name) => name === 'g_g').length).toBeGreaterThan(60)
    const circle: Plain = { properties: { a: {} }, allOf: [] }
    ;(circle.allOf as unknown[]).push(circle)
    const changes = new Changes()
    changes.names.set(circle, new Map([['a', 'b']]))
    expect(decodeArguments({ a: 1 }, { schema: circle, changes })).toEqual({ b: 1 })
  })

  it('of Gemini are read along the part that they belong to', () => {
    const asked = object({
      a: { anyOf: [{ enum: [1, 2] }, object({ deep: {} })] },
      b: { type: 'array', items: { enum: [true] } },
      c: object({ 'n m': { const: null } }),
      d: { enum: ['true', 'x'] },
    })
    expect(fromGemini({ a: '1', b: ['true', 'no'], c: { n_m: 'null' }, d: 'true' }, asked)).toEqual({
      a: 1,
      b: [true, 'no'],
      c: { 'n m': null },
      d: 'true',
    })
    expect(fromGemini({ a: { deep: '{"x":1}' } }, asked)).toEqual({ a: { deep: { x: 1 } } })
  })

  it('of the strict form lose the nulls that mean nothing, in lists and references too', () => {
    const asked = object(
      { a: { type: 'array', items: { $ref: '#/$defs/x' } }, b: { type: ['string', 'null'] } },
      { required: ['a'], $defs: { x: object({ y: str, z: { anyOf: [int, { type: 'null' }] } }) } },
    )
    expect(fromStrict({ a: [{ y: null, z: null }], b: null }, asked)).toEqual({ a: [{ z: null }], b: null })
    expect(fromStrict({ a: null }, asked)).toEqual({ a: null })
  })
})

describe('schemas that all hold', () => {
  it.each<[string, Plain[], Plain | undefined]>([
    [
      'undefined keywords',
      [{ type: undefined, minimum: 1 }, { type: 'integer' }],
      { type: 'integer', minimum: 1 },
    ],
    [
      'equal keywords',
      [
        { pattern: 'a', enum: [1] },
        { enum: [1], pattern: 'a' },
      ],
      { pattern: 'a', enum: [1] },
    ],
    ['equal lists in another order', [{ required: ['a'] }, { required: ['a'] }], { required: ['a'] }],
    ['required that is no list', [{ required: ['a'] }, { required: 'b' }], undefined],
    ['no list that is required', [{ required: true }, { required: ['b'] }], undefined],
    ['an enum that is no list', [{ enum: ['a'] }, { enum: 'a' }], undefined],
    ['no list of values', [{ enum: 'a' }, { enum: ['a'] }], undefined],
    ['properties that are no map', [{ properties: {} }, { properties: [] }], undefined],
    ['no map of properties', [{ properties: [] }, { properties: {} }], undefined],
    ['numbers that have no smaller one', [{ multipleOf: 2 }, { multipleOf: 3 }], undefined],
    ['a bound that is no number', [{ minimum: 1 }, { minimum: '2' }], undefined],
    ['no number as a bound', [{ maximum: '1' }, { maximum: 2 }], undefined],
    [
      'lengths',
      [
        { minLength: 1, maxLength: 9 },
        { minLength: 2, maxLength: 3 },
      ],
      { minLength: 2, maxLength: 3 },
    ],
    [
      'items',
      [
        { minItems: 3, maxItems: 9 },
        { minItems: 2, maxItems: 10 },
      ],
      { minItems: 3, maxItems: 9 },
    ],
    ['number and integer', [{ type: 'number' }, { type: 'integer' }], { type: 'integer' }],
    ['integer and string', [{ type: 'integer' }, { type: 'string' }], undefined],
    ['number and string', [{ type: 'number' }, { type: 'string' }], undefined],
    ['one of two types', [{ type: ['string', 'null'] }, { type: 'null' }], { type: 'null' }],
    [
      'values by their content',
      [{ enum: [{ a: 1, b: 2 }] }, { enum: [{ b: 2, a: 1 }, 3] }],
      { enum: [{ b: 2, a: 1 }] },
    ],
    [
      'properties of both',
      [{ properties: { a: str } }, { properties: { b: int } }],
      { properties: { a: str, b: int } },
    ],
    ['a property that is true', [{ properties: { a: true } }, { properties: { a: str } }], undefined],
    ['a property that becomes true', [{ properties: { a: str } }, { properties: { a: true } }], undefined],
    [
      'a reference that comes second',
      [{ properties: { a: str } }, { properties: { a: { $ref: '#' } } }],
      undefined,
    ],
    [
      'properties that exclude each other',
      [{ properties: { a: str } }, { properties: { a: int } }],
      undefined,
    ],
    [
      'closed beside one of two',
      [{ properties: { a: {} }, additionalProperties: false }, { properties: { a: {}, b: {} } }],
      undefined,
    ],
    ['closed by a schema', [{ additionalProperties: int }, { properties: { b: {} } }], undefined],
    [
      'open',
      [{ properties: { a: {} }, additionalProperties: true }, { properties: { b: {} } }],
      { properties: { a: {}, b: {} }, additionalProperties: true },
    ],
    [
      'closed without others',
      [{ additionalProperties: false }, { minProperties: 1 }],
      { additionalProperties: false, minProperties: 1 },
    ],
    [
      'titles',
      [
        { title: 'a', default: 1 },
        { title: 'b', default: 2 },
      ],
      { title: 'b', default: 2 },
    ],
  ])('%s', (_, parts, merged) => {
    expect(mergeParts(parts)).toEqual(merged)
  })
})
