// The forms on schemas that servers really send, one case at a time.
import { describe, expect, it } from 'vitest'
import { geminiComplaints, openAiComplaints } from '../../../../../test/compat/accepts.mjs'
import type { JsonSchema } from '../definition.ts'
import { compileSchema } from '../schema/index.ts'
import { fromAnthropic, toAnthropic } from './anthropic.ts'
import { fromGemini, toGemini } from './gemini.ts'
import { mergeParts } from './merge-schemas.ts'
import { fromStrict, toOpenAiChat } from './openai.ts'
import { isPlainPattern } from './openai-strict.ts'
import { type Plain, portable } from './portable.ts'

const tool = (inputJsonSchema: JsonSchema) => ({ name: 't', description: '', inputJsonSchema })
const object = (properties: Plain, more: Plain = {}): Plain => ({ type: 'object', properties, ...more })
const strict = (schema: JsonSchema) => {
  const offered = toOpenAiChat(tool(schema), { strict: true })
  expect(openAiComplaints(offered)).toEqual([])
  return offered.function.strict ? offered.function.parameters : undefined
}
const plain = (schema: JsonSchema) => toOpenAiChat(tool(schema)).function.parameters
const gemini = (schema: JsonSchema) => {
  const offered = toGemini(tool(schema))
  expect(geminiComplaints(offered)).toEqual([])
  return offered.parameters?.properties as Plain
}

describe('references', () => {
  it.each<[string, Plain]>([
    ['definitions', { $ref: '#/definitions/x', definitions: { x: { type: 'integer' } } }],
    ['components', { $ref: '#/components/schemas/x', components: { schemas: { x: { type: 'integer' } } } }],
    ['an anchor', { $ref: '#x', $defs: { y: { $anchor: 'x', type: 'integer' } } }],
    ['a dynamic reference', { $dynamicRef: '#x', $defs: { y: { $dynamicAnchor: 'x', type: 'integer' } } }],
    ['an id', { $ref: 'x.json', $defs: { y: { $id: 'x.json', type: 'integer' } } }],
    [
      'an absolute id',
      { $ref: 'https://a.example/x', $defs: { y: { $id: 'https://a.example/x', type: 'integer' } } },
    ],
    [
      'an id with a pointer',
      { $ref: 'x.json#/$defs/z', $defs: { y: { $id: 'x.json', $defs: { z: { type: 'integer' } } } } },
    ],
    ['an old anchor', { $ref: '#x', definitions: { y: { $id: '#x', type: 'integer' } } }],
    ['escapes', { $ref: '#/$defs/a~1b%20c~0', $defs: { 'a/b c~': { type: 'integer' } } }],
    [
      'a reference to a reference',
      { $ref: '#/$defs/a', $defs: { a: { $ref: '#/$defs/b' }, b: { type: 'integer' } } },
    ],
    ['a list', { $ref: '#/$defs/a/anyOf/0', $defs: { a: { anyOf: [{ type: 'integer' }] } } }],
  ])('by %s lead to a definition of the result', (_, { $ref, $dynamicRef, ...more }) => {
    const part = $ref === undefined ? { $dynamicRef } : { $ref }
    const shown = portable(object({ a: part }, more))
    const { a } = shown.properties as { a: { $ref: string } }
    expect(a.$ref).toMatch(/^#\/\$defs\/[\w.-]+$/)
    expect(Object.values(shown.$defs as Plain)).toEqual([{ type: 'integer' }])
    expect(strict(object({ a: part }, more))).toBeDefined()
    expect(gemini(object({ a: part }, more)).a).toEqual({ type: 'integer' })
    expect(compileSchema(object({ a: part }, more)).check({ a: 'x' }).kind).toBe('invalid')
  })

  it('into properties lead to a definition too', () => {
    const schema = object({
      a: { type: 'string', minLength: 3 },
      b: { $ref: '#/properties/a', description: 'Too.' },
    })
    expect(portable(schema).properties).toMatchObject({ b: { $ref: '#/$defs/a', description: 'Too.' } })
    expect(strict({ ...schema, required: ['a', 'b'] })?.properties).toEqual({
      a: { type: 'string', description: 'At least 3 characters.' },
      b: { $ref: '#/$defs/a' },
    })
  })

  it('that lead nowhere, elsewhere or in a circle are left out', () => {
    const schema = object(
      {
        a: { $ref: '#/$defs/none' },
        b: { $ref: 'https://x.example/y' },
        c: { $ref: '#/$defs/c', title: 'C' },
      },
      { $defs: { c: { $ref: '#/$defs/d' }, d: { $ref: '#/$defs/c', description: 'd' } } },
    )
    expect(portable(schema)).toEqual(object({ a: {}, b: {}, c: { title: 'C' } }))
  })

  it('to the root stay when the root does, and have a definition when it changes', () => {
    expect(portable(object({ a: { $ref: '#' } })).properties).toEqual({ a: { $ref: '#' } })
    const choice = portable({ anyOf: [object({ a: { $ref: '#' } })] })
    expect(choice).toMatchObject({
      properties: { a: { $ref: '#/$defs/root' } },
      $defs: { root: { anyOf: [{}] } },
    })
  })

  it('with constraints beside them are written out in strict, and those of two names stay apart', () => {
    const schema = object(
      { a: { $ref: '#/$defs/x', minimum: 3 }, b: { $ref: '#/definitions/x' } },
      {
        required: ['a', 'b'],
        $defs: { x: { type: 'integer', maximum: 9 } },
        definitions: { x: { type: 'boolean' } },
      },
    )
    expect(strict(schema)).toMatchObject({
      properties: { a: { type: 'integer', minimum: 3, maximum: 9 }, b: { $ref: '#/$defs/x_2' } },
    })
  })

  it('of a property that is named like a keyword are followed like any other', () => {
    const schema = object(
      { properties: { $ref: '#/$defs/x' }, enum: { $ref: '#/$defs/x' }, $ref: { type: 'string' } },
      { $defs: { x: { type: 'integer' } } },
    )
    expect(toAnthropic(tool(schema)).input_schema).toMatchObject({
      properties: { properties: { $ref: '#/$defs/x' }, enum: { $ref: '#/$defs/x' } },
      $defs: { x: { type: 'integer' } },
    })
  })
})

describe('arrays', () => {
  it.each<[string, Plain, Plain]>([
    ['without items', { type: 'array' }, { type: 'array', items: {} }],
    ['or null, without items', { type: ['array', 'null'] }, { type: ['array', 'null'], items: {} }],
    ['as a tuple', { type: 'array', prefixItems: [{}] }, { type: 'array', prefixItems: [{}], items: {} }],
    [
      'as a tuple of draft 7',
      { items: [{ type: 'string' }] },
      { prefixItems: [{ type: 'string' }], items: {} },
    ],
    [
      'as a closed tuple',
      { type: 'array', items: [{}, {}], additionalItems: false, maxItems: 7 },
      { type: 'array', prefixItems: [{}, {}], items: {}, maxItems: 2 },
    ],
  ])('%s say of what', (_, part, shown) => {
    expect(portable(object({ a: part })).properties).toEqual({ a: shown })
  })
})

describe('a root that is a choice', () => {
  it('offers what every branch says about a property', () => {
    const branch = (kind: string, more: Plain) =>
      object({ kind: { const: kind }, ...more }, { required: ['kind'] })
    const shown = portable({
      oneOf: [branch('a', { x: { type: 'string' } }), branch('b', { x: { type: 'number' } })],
    })
    expect(shown).toEqual({
      type: 'object',
      properties: { kind: { enum: ['a', 'b'] }, x: { anyOf: [{ type: 'string' }, { type: 'number' }] } },
      required: ['kind'],
    })
  })

  it('keeps all that holds together, and adds what conditions mention', () => {
    const shown = portable({
      allOf: [object({ a: { type: 'integer' } }, { required: ['a'] }), object({ a: { minimum: 3 } })],
      if: object({ q: { const: 1 } }),
      // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema
      then: object({ b: { type: 'string' } }, { required: ['b'] }),
      else: { properties: { c: {} } },
    })
    expect(shown).toEqual({
      type: 'object',
      properties: { a: { allOf: [{ type: 'integer' }, { minimum: 3 }] }, b: { type: 'string' }, c: {} },
      required: ['a'],
    })
  })

  it('requires only what all branches require', () => {
    const two = { anyOf: [{ required: ['a', 'b'] }, { required: ['b'] }], properties: { a: {}, b: {} } }
    expect(portable(two).required).toEqual(['b'])
  })
})

describe('keywords that make no sense', () => {
  it('are left out', () => {
    const broken = {
      a: {
        type: ['string', 'string', 'text'],
        minLength: -1,
        maxLength: 2.5,
        multipleOf: 0,
        examples: 'x',
        format: 7,
      },
      b: {
        enum: [],
        required: 'x',
        pattern: '(',
        uniqueItems: 'yes',
        minimum: '3',
        deprecated: 1,
        enumNames: [],
      },
      c: { enum: [1, 1, 2], nullable: true },
      d: false,
      e: true,
    }
    expect(portable(object(broken, { required: ['a', 'zz', 7] })).properties).toEqual({
      a: { type: 'string' },
      b: {},
      c: { enum: [1, 2] },
      e: {},
      zz: {},
    })
  })

  it('and names that may not be there are not required', () => {
    expect(portable(object({ a: {} }, { required: ['zz'], additionalProperties: false }))).not.toHaveProperty(
      'required',
    )
    const inside = { type: 'object', required: ['zz'], additionalProperties: { type: 'integer' } }
    expect(portable(object({ a: inside })).properties).toMatchObject({
      a: { properties: { zz: { type: 'integer' } } },
    })
  })
})

describe('Anthropic', () => {
  const schema = object(
    {
      'a b': { type: 'string', description: 'First.' },
      a_b: { type: 'string' },
      list: { type: 'array', items: { $ref: '#/$defs/item' } },
      ['x'.repeat(65)]: { anyOf: [object({ 'c d': {} }), { type: 'null' }] },
    },
    {
      required: ['a b'],
      dependentRequired: { 'a b': ['a_b'] },
      $defs: { item: object({ é: { type: 'integer' } }) },
    },
  )

  it('gets names it takes, everywhere, and the model is told the real ones', () => {
    const { input_schema: shown } = toAnthropic(tool(schema))
    expect(Object.keys(shown.properties as Plain)).toEqual(['a_b_2', 'a_b', 'list', 'x'.repeat(60)])
    expect(shown).toMatchObject({ required: ['a_b_2'], dependentRequired: { a_b_2: ['a_b'] } })
    expect((shown.properties as Plain).a_b_2).toEqual({
      type: 'string',
      description: 'First. The real name is "a b".',
    })
  })

  it('and its answers have the real names again', () => {
    const args = { a_b_2: 'x', a_b: 'y', list: [{ _: 1 }], ['x'.repeat(60)]: { c_d: 5 }, other: { c_d: 6 } }
    expect(fromAnthropic(args, schema)).toEqual({
      'a b': 'x',
      a_b: 'y',
      list: [{ é: 1 }],
      ['x'.repeat(65)]: { 'c d': 5 },
      other: { c_d: 6 },
    })
    expect(fromAnthropic('no object', schema)).toBe('no object')
    const same = { a: 1 }
    expect(fromAnthropic(same, object({ a: {} }))).toBe(same)
  })
})

describe('OpenAI', () => {
  it.each([
    ['^a+$', true],
    ['\\(?=x', true],
    ['[(?=]', true],
    ['(?:a|b)(?<n>c)', true],
    ['\\0', true],
    ['^(?!\\.)(?!.*\\.\\.)([a-z]+)@x$', false],
    ['(?=a)', false],
    ['(?<=a)b', false],
    ['(?<!a)b', false],
    ['(a)\\1', false],
    ['(?<n>a)\\k<n>', false],
    ['\\\\(?=a)', false],
  ])('compiles the pattern %s: %s', (source, is) => {
    expect(isPlainPattern(source)).toBe(is)
    const part = { type: 'string', pattern: source }
    expect(plain(object({ a: part }, { required: ['a'] })).properties).toEqual({
      a: is ? part : { type: 'string', description: `Matches the pattern ${source}` },
    })
    expect(strict(object({ a: part }, { required: ['a'] }))?.properties).toEqual({
      a: is ? part : { type: 'string', description: `Matches the pattern ${source}` },
    })
  })

  it('gets no patterns of properties that it cannot compile', () => {
    expect(plain(object({}, { patternProperties: { '^a': {}, '(?=b)': {} } })).patternProperties).toEqual({
      '^a': {},
    })
  })

  it.each<[string, Plain]>([
    ['a part that takes anything', {}],
    ['an object of any keys', { type: 'object' }],
    [
      'an object of other keys',
      object({ a: { type: 'string' } }, { additionalProperties: { type: 'string' } }),
    ],
    ['a condition', { type: 'string', if: {} }],
    ['a negation', { not: { type: 'string' } }],
    ['values that are objects', { enum: [{ a: 1 }] }],
    ['no value at all', { type: 'string', enum: [1] }],
    ['a tuple', { type: 'array', prefixItems: [{ type: 'string' }] }],
    ['parts that exclude each other', { allOf: [{ type: 'string' }, { type: 'integer' }] }],
    ['an array of anything', { type: 'array' }],
    ['a thousand values and one', { enum: Array.from({ length: 1001 }, (_, at) => at) }],
    ['long values', { enum: Array.from({ length: 251 }, (_, at) => `${at}`.padEnd(60, 'x')) }],
    ['both kinds of choice', { anyOf: [{ type: 'string' }], oneOf: [{ type: 'string' }] }],
  ])('has no strict form for %s', (_, part) => {
    expect(strict(object({ a: part }))).toBeUndefined()
    expect(strict(object({ a: { type: 'array', items: part } }))).toBeUndefined()
  })

  it('has a strict form up to its limits', () => {
    const isStrict = (schema: JsonSchema) => toOpenAiChat(tool(schema), { strict: true }).function.strict
    const deep = (levels: number): Plain =>
      levels === 0 ? { type: 'string' } : object({ a: deep(levels - 1) })
    expect(isStrict(deep(10))).toBe(true)
    expect(isStrict(deep(11))).toBe(false)
    const wide = (count: number, chars = 4) =>
      object(
        Object.fromEntries(
          Array.from({ length: count }, (_, at) => [`${at}`.padEnd(chars, 'p'), { type: 'string' }]),
        ),
      )
    expect(isStrict(wide(5000))).toBe(true)
    expect(isStrict(wide(5001))).toBe(false)
    expect(isStrict(wide(2000, 60))).toBe(true)
    expect(isStrict(wide(2001, 60))).toBe(false)
    const values = (count: number) => object({ a: { enum: Array.from({ length: count }, (_, at) => at) } })
    expect(isStrict(values(1000))).toBe(true)
    const texts = (count: number, chars: number) =>
      object({ a: { enum: Array.from({ length: count }, (_, at) => `${at}`.padEnd(chars, 'x')) } })
    expect(isStrict(texts(250, 70))).toBe(true)
    expect(isStrict(texts(300, 50))).toBe(true)
    expect(isStrict(texts(300, 51))).toBe(false)
  })

  it('gives every part a type, and what is optional may be null', () => {
    const schema = object(
      {
        a: { enum: ['x', 1, null] },
        b: { const: true },
        c: { type: ['string', 'integer'], minimum: 3 },
        d: object({ e: { type: 'number' } }, { required: ['e'] }),
        f: { oneOf: [{ type: 'string' }, { type: 'null' }] },
        g: { allOf: [{ $ref: '#/$defs/g' }], description: 'G.' },
        h: { type: 'string', format: 'uri', default: 'x' },
        i: { type: ['integer', 'null'] },
      },
      { $defs: { g: { type: 'string', enum: ['p'] } } },
    )
    expect(strict(schema)?.properties).toEqual({
      a: { type: ['string', 'integer', 'null'], enum: ['x', 1, null] },
      b: { anyOf: [{ type: 'boolean', enum: [true] }, { type: 'null' }] },
      c: { anyOf: [{ type: 'string' }, { type: 'integer', minimum: 3 }, { type: 'null' }] },
      d: {
        type: ['object', 'null'],
        properties: { e: { type: 'number' } },
        required: ['e'],
        additionalProperties: false,
      },
      f: { anyOf: [{ type: 'string' }, { type: 'null' }] },
      g: { anyOf: [{ $ref: '#/$defs/g' }, { type: 'null' }] },
      h: { type: ['string', 'null'], description: 'Format: uri. Default: "x".' },
      i: { type: ['integer', 'null'] },
    })
    const nulls = { a: null, b: null, c: null, d: null, f: null, g: null, h: null, i: null }
    expect(fromStrict(nulls, schema)).toEqual({ a: null, f: null, i: null })
    expect(fromStrict({ ...nulls, d: { e: 1 } }, schema)).toEqual({ a: null, d: { e: 1 }, f: null, i: null })
  })

  it('is read back along the branch that fits, and as it is where there is no strict form', () => {
    const branch = (kind: string, more: Plain) =>
      object({ kind: { const: kind }, ...more }, { required: ['kind'] })
    const schema = object(
      { a: { anyOf: [branch('x', { n: { type: 'null' } }), branch('y', { n: { type: 'integer' } })] } },
      { required: ['a'] },
    )
    expect(fromStrict({ a: { kind: 'x', n: null } }, schema)).toEqual({ a: { kind: 'x', n: null } })
    expect(fromStrict({ a: { kind: 'y', n: null } }, schema)).toEqual({ a: { kind: 'y' } })
    expect(fromStrict({ a: null }, object({ a: {} }))).toEqual({ a: null })
  })
})

describe('Gemini', () => {
  it('asks for free-form values as text, and the text is read back', () => {
    const schema = object(
      {
        any: { description: 'Anything.' },
        map: { type: 'object', additionalProperties: { type: 'integer' } },
        list: { type: 'array' },
        maybe: { type: ['object', 'null'] },
      },
      { required: ['map'] },
    )
    expect(gemini(schema)).toMatchObject({
      any: { type: 'string', description: 'Anything. A JSON value, written as text.' },
      map: { type: 'string', description: 'A JSON object, written as text.' },
      list: { type: 'array', items: { type: 'string' } },
      maybe: { type: 'string', nullable: true },
    })
    const args = { any: '[1]', map: '{"a": 1}', list: ['7', 'words', '"7"'], maybe: '{}' }
    const own = fromGemini(args, schema)
    expect(own).toEqual({ any: [1], map: { a: 1 }, list: [7, 'words', '7'], maybe: {} })
    expect(compileSchema(schema).check(own).kind).toBe('valid')
    // A model that sends the value itself works too.
    expect(fromGemini({ map: { a: 1 } }, schema)).toEqual({ map: { a: 1 } })
  })

  it('lists values of every kind as text, and reads them back', () => {
    const schema = object({
      a: { enum: [1, '1', 'x', '', true, null, { k: 1 }] },
      b: { const: 5 },
      c: { type: 'null' },
      d: { anyOf: [{ const: 'p' }, { const: 2 }, { type: 'null' }] },
      e: { type: 'string', enum: ['u', 'v'] },
    })
    expect(gemini(schema)).toEqual({
      a: {
        type: 'string',
        format: 'enum',
        enum: ['1', 'x', 'JSON 1', '""', 'true', '{"k":1}'],
        nullable: true,
      },
      b: { type: 'string', format: 'enum', enum: ['5'] },
      c: { type: 'string', format: 'enum', enum: ['null'] },
      d: { type: 'string', format: 'enum', enum: ['p', '2'], nullable: true },
      e: { type: 'string', format: 'enum', enum: ['u', 'v'] },
    })
    for (const [given, own] of [
      ['JSON 1', 1],
      ['1', '1'],
      ['""', ''],
      ['true', true],
      ['{"k":1}', { k: 1 }],
    ] as const)
      expect(fromGemini({ a: given }, schema)).toEqual({ a: own })
    expect(fromGemini({ b: '5', c: 'null', d: '2', e: 'u' }, schema)).toEqual({ b: 5, c: null, d: 2, e: 'u' })
  })

  it('gets bounds in the words it has, and the others in the description', () => {
    expect(
      gemini(
        object({
          a: { type: 'integer', exclusiveMinimum: 1, exclusiveMaximum: 9.5, minimum: 5, maximum: 99 },
          b: { type: 'number', exclusiveMinimum: 1, multipleOf: 0.5, format: 'float' },
          c: { type: 'string', pattern: '(?=a)', minLength: 2, format: 'uri' },
          d: { type: ['string', 'integer', 'null'], description: 'D.' },
          e: object({ x: { type: 'string' } }, { anyOf: [{ required: ['x'] }, { required: ['y', 'z'] }] }),
          f: { type: 'array', prefixItems: [{ type: 'string' }, { type: 'integer' }], minItems: 2 },
        }),
      ),
    ).toEqual({
      a: { type: 'integer', minimum: 5, maximum: 9, description: 'More than 1. Less than 9.5.' },
      b: { type: 'number', format: 'float', description: 'More than 1. A multiple of 0.5.' },
      c: { type: 'string', minLength: 2, description: 'Matches the pattern (?=a) Format: uri.' },
      d: { anyOf: [{ type: 'string' }, { type: 'integer' }], nullable: true, description: 'D.' },
      e: { type: 'object', properties: { x: { type: 'string' } }, description: 'Needs one of: x; y and z.' },
      f: { type: 'array', items: { anyOf: [{ type: 'string' }, { type: 'integer' }] }, minItems: 2 },
    })
  })

  it('writes references out within a budget, and ends where they go in a circle', () => {
    const $defs: Plain = { leaf: object({ v: { type: 'string' } }) }
    for (let level = 0; level < 10; level++)
      $defs[`l${level}`] = object(
        Object.fromEntries(
          Array.from({ length: 6 }, (_, at) => [
            `p${at}`,
            { $ref: level === 0 ? '#/$defs/leaf' : `#/$defs/l${level - 1}` },
          ]),
        ),
      )
    const schema = object({ a: { $ref: '#/$defs/l9' } }, { $defs })
    const before = JSON.stringify(schema).length
    expect(JSON.stringify(gemini(schema)).length).toBeLessThan(20 * before)
    const tree = object({ v: { type: 'string' }, kids: { type: 'array', items: { $ref: '#/$defs/tree' } } })
    const recursive = object({ t: { $ref: '#/$defs/tree' } }, { $defs: { tree } })
    expect(gemini(recursive)).toMatchObject({
      t: {
        properties: { kids: { items: { type: 'string', description: expect.stringContaining('v, kids') } } },
      },
    })
    expect(fromGemini({ t: { kids: ['{"v": "x"}'] } }, recursive)).toEqual({ t: { kids: [{ v: 'x' }] } })
  })

  it('has no parameters where there are none, and names it takes where there are', () => {
    expect(toGemini(tool(object({})))).toEqual({ name: 't', description: '' })
    expect(Object.keys(gemini(object({ 'a-b': {}, '1st': {}, ok: {} })))).toEqual(['a_b', 'p_1st', 'ok'])
    expect(fromGemini({ a_b: 'x', p_1st: '1' }, object({ 'a-b': {}, '1st': {} }))).toEqual({
      'a-b': 'x',
      '1st': 1,
    })
  })
})

describe('schemas that all hold', () => {
  it.each<[Plain[], Plain | undefined]>([
    [[{ type: 'integer' }, { type: 'number', minimum: 1 }], { type: 'integer', minimum: 1 }],
    [
      [
        { minimum: 1, maximum: 9 },
        { minimum: 3, maximum: 7 },
      ],
      { minimum: 3, maximum: 7 },
    ],
    [[{ required: ['a'] }, { required: ['a', 'b'] }], { required: ['a', 'b'] }],
    [[{ enum: [1, 2] }, { enum: [2, 3] }], { enum: [2] }],
    [[{ enum: [1] }, { enum: [2] }], undefined],
    [[{ type: ['string', 'null'] }, { type: ['null', 'string', 'integer'] }], { type: ['string', 'null'] }],
    [[{ type: 'string' }, { type: 'boolean' }], undefined],
    [[{ pattern: 'a' }, { pattern: 'b' }], undefined],
    [[{ description: 'a' }, { description: 'b' }], { description: 'b' }],
    [
      [{ properties: { a: { type: 'string' } } }, { properties: { a: { minLength: 1 } } }],
      { properties: { a: { type: 'string', minLength: 1 } } },
    ],
    [[{ properties: { a: { $ref: '#' } } }, { properties: { a: { minLength: 1 } } }], undefined],
    [[{ properties: { a: {} }, additionalProperties: false }, { properties: { b: {} } }], undefined],
    [
      [{ properties: { a: {} }, additionalProperties: false }, { properties: { a: {} } }],
      { properties: { a: {} }, additionalProperties: false },
    ],
  ])('are one, where that can be said: %j', (parts, merged) => {
    expect(mergeParts(parts)).toEqual(merged)
  })
})
