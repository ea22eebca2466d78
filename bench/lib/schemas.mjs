// Generated (schema, value) pairs, and Ajv's verdict on each. Used by the differential test and the benchmark.
import { Ajv } from 'ajv'
import { Ajv2020 } from 'ajv/dist/2020.js'
import addFormatsModule from 'ajv-formats'
import fc from 'fast-check'

const addFormats = addFormatsModule.default ?? addFormatsModule
const KEYS = ['a', 'b', 'c', 'x-d', 'name']
const WORDS = [
  '',
  'a',
  'ab',
  'abc',
  'x-1',
  '2026-02-28',
  '10:00:00Z',
  'é😀',
  'a@b.co',
  'http://a.b/c?d#e',
  '1.2.3.4',
  '::1',
]
const PATTERNS = ['^a', 'b$', '^[a-c]{1,3}$', '\\d+', '^x-', '^$', '[^a]', '^(?:a|bc)*$']
const FORMATS = [
  'date',
  'time',
  'date-time',
  'email',
  'uri',
  'uuid',
  'ipv4',
  'ipv6',
  'hostname',
  'duration',
  'unheard-of',
]

const text = fc.oneof(fc.constantFrom(...WORDS), fc.string({ maxLength: 6 }))
const formatted = fc.oneof(
  fc
    .date({ noInvalidDate: true, min: new Date('1900-01-01'), max: new Date('2100-01-01') })
    .map((date) => date.toISOString()),
  fc
    .date({ noInvalidDate: true, min: new Date('1900-01-01'), max: new Date('2100-01-01') })
    .map((date) => date.toISOString().slice(0, 10)),
  fc.emailAddress({ size: 'xsmall' }),
  fc.webUrl({ size: 'xsmall', withFragments: true, withQueryParameters: true }),
  fc.uuid(),
  fc.ipV4(),
  fc.ipV6(),
  fc.domain({ size: 'xsmall' }),
  fc.constantFrom('P1D', 'PT5M', 'P1Y2M3DT4H5M6S', 'P2W', 'P', 'PT', 'P1W2D'),
)
const number = fc.oneof(
  fc.integer({ min: -5, max: 5 }),
  fc.double({ noNaN: true, noDefaultInfinity: true }),
  fc.constantFrom(0.5, 1.5, -0, 1e21),
)
const scalar = fc.oneof(text, formatted, number, fc.boolean(), fc.constant(null))
const key = fc.oneof(
  { weight: 8, arbitrary: fc.constantFrom(...KEYS) },
  { weight: 1, arbitrary: fc.string({ maxLength: 3 }) },
)

/** Any JSON, over the few keys that the schemas know. */
export const json = fc.letrec((tie) => ({
  value: fc.oneof({ depthSize: 'small', withCrossShrink: true }, scalar, tie('array'), tie('object')),
  array: fc.array(tie('value'), { maxLength: 4 }),
  object: fc.dictionary(key, tie('value'), { maxKeys: 4, noNullPrototype: true }),
})).value

const some = (arbitraries) => fc.record(arbitraries, { requiredKeys: [] })
const count = fc.integer({ min: 0, max: 3 })
const list = (arbitrary, least = 1) => fc.array(arbitrary, { minLength: least, maxLength: 3 })
const names = fc.uniqueArray(fc.constantFrom(...KEYS), { maxLength: 3 })

function schemas(modern) {
  return fc.letrec((tie) => {
    const sub = tie('schema')
    const properties = fc.dictionary(fc.constantFrom(...KEYS), sub, { maxKeys: 4, noNullPrototype: true })
    return {
      schema: fc.oneof(
        { depthSize: 'small', withCrossShrink: true },
        { weight: 6, arbitrary: tie('leaf') },
        { weight: 5, arbitrary: tie('object') },
        { weight: 3, arbitrary: tie('array') },
        { weight: 3, arbitrary: tie('combination') },
        { weight: 1, arbitrary: fc.constantFrom({ $ref: '#/$defs/one' }, { $ref: '#/$defs/two' }) },
      ),
      leaf: fc.oneof(
        {
          weight: 4,
          arbitrary: fc
            .tuple(
              fc.constant({ type: 'string' }),
              some({
                minLength: count,
                maxLength: count,
                pattern: fc.constantFrom(...PATTERNS),
                format: fc.constantFrom(...FORMATS),
              }),
            )
            .map(merge),
        },
        {
          weight: 3,
          arbitrary: fc
            .tuple(
              fc.constantFrom({ type: 'number' }, { type: 'integer' }),
              some({
                minimum: number,
                maximum: number,
                exclusiveMinimum: number,
                exclusiveMaximum: number,
                multipleOf: fc.constantFrom(1, 2, 3, 0.5, 0.25),
              }),
            )
            .map(merge),
        },
        {
          weight: 2,
          arbitrary: fc.constantFrom(
            { type: 'boolean' },
            { type: 'null' },
            {},
            true,
            false,
            { type: ['string', 'null'] },
            { type: ['integer', 'object'] },
            { type: 'string', nullable: true },
          ),
        },
        {
          weight: 2,
          arbitrary: fc
            .uniqueArray(fc.oneof(scalar, json), {
              minLength: 1,
              maxLength: 4,
              selector: (value) => JSON.stringify(value),
            })
            .map((values) => ({ enum: values })),
        },
        { weight: 1, arbitrary: json.map((value) => ({ const: value })) },
        {
          weight: 1,
          arbitrary: some({ minLength: count, minimum: number, required: names, minItems: count }),
        },
      ),
      object: fc
        .tuple(
          fc.constantFrom({ type: 'object' }, { type: 'object' }, {}),
          some({ properties, required: names, additionalProperties: fc.oneof(fc.boolean(), sub) }),
          fc.oneof(
            { weight: 4, arbitrary: fc.constant({}) },
            {
              weight: 1,
              arbitrary: some({
                patternProperties: fc.dictionary(fc.constantFrom('^x-', '^a', 'b'), sub, {
                  maxKeys: 2,
                  noNullPrototype: true,
                }),
                propertyNames: fc.constantFrom(
                  { maxLength: 1 },
                  { pattern: '^[a-c]$' },
                  { enum: ['a', 'b'] },
                ),
                minProperties: count,
                maxProperties: count,
                ...(modern
                  ? {
                      dependentRequired: fc.dictionary(fc.constantFrom(...KEYS), names, {
                        maxKeys: 2,
                        noNullPrototype: true,
                      }),
                      dependentSchemas: fc.dictionary(fc.constantFrom(...KEYS), sub, {
                        maxKeys: 1,
                        noNullPrototype: true,
                      }),
                      unevaluatedProperties: fc.oneof(fc.constant(false), sub),
                    }
                  : {
                      dependencies: fc.dictionary(fc.constantFrom(...KEYS), fc.oneof(names, sub), {
                        maxKeys: 2,
                        noNullPrototype: true,
                      }),
                    }),
              }),
            },
          ),
        )
        .map(merge),
      array: fc
        .tuple(
          fc.constantFrom({ type: 'array' }, { type: 'array' }, {}),
          modern
            ? some({ prefixItems: list(sub), items: sub, unevaluatedItems: fc.constant(false) })
            : fc.oneof(some({ items: sub }), some({ items: list(sub), additionalItems: sub })),
          some({ minItems: count, maxItems: count, uniqueItems: fc.boolean() }),
          fc.oneof(
            { weight: 4, arbitrary: fc.constant({}) },
            { weight: 1, arbitrary: sub.map((contains) => ({ contains })) },
          ),
        )
        .map(merge),
      combination: fc.oneof(
        list(sub).map((anyOf) => ({ anyOf })),
        list(sub).map((oneOf) => ({ oneOf })),
        list(sub).map((allOf) => ({ allOf })),
        sub.map((not) => ({ not })),
        fc.tuple(sub, sub, sub).map(conditional),
      ),
      root: fc
        .tuple(fc.oneof(tie('object'), tie('schema')), tie('leaf'), tie('object'))
        .map(([schema, one, two]) =>
          typeof schema === 'object'
            ? { ...schema, $defs: { one, two: { ...two, description: 'two' } } }
            : schema,
        ),
    }
  }).root
}

function merge(parts) {
  return Object.assign({}, ...parts)
}

function conditional([test, yes, no]) {
  return Object.fromEntries([
    ['if', test],
    ['then', yes],
    ['else', no],
  ])
}

/** A value that tries to fit, so that yes is as common as no. `pick(n)` is a number below n. */
export function example(schema, root, pick, depth = 0) {
  if (typeof schema !== 'object' || schema === null || depth > 6) return pick(2) ? 'a' : 1
  const next = (part) => example(part, root, pick, depth + 1)
  if (typeof schema.$ref === 'string')
    return next(
      schema.$ref
        .split('/')
        .slice(1)
        .reduce((at, step) => at?.[step], root),
    )
  if ('const' in schema) return schema.const
  if (Array.isArray(schema.enum)) return schema.enum[pick(schema.enum.length)]
  for (const key of ['anyOf', 'oneOf', 'allOf'])
    if (schema[key]?.length) return next(schema[key][pick(schema[key].length)])
  const type = Array.isArray(schema.type) ? schema.type[pick(schema.type.length)] : schema.type
  if (type === 'object' || schema.properties) {
    const wanted = Object.entries(schema.properties ?? {}).filter(
      ([name]) => schema.required?.includes(name) || pick(2),
    )
    const value = Object.fromEntries(wanted.map(([name, part]) => [name, next(part)]))
    for (const name of schema.required ?? []) value[name] ??= 'a'
    if (pick(6) === 0) value[KEYS[pick(KEYS.length)]] = 1
    return value
  }
  if (type === 'array') {
    const tuple = schema.prefixItems ?? (Array.isArray(schema.items) ? schema.items : [])
    const length = Math.max(schema.minItems ?? 0, pick(3))
    return Array.from({ length }, (_, index) =>
      next(tuple[index] ?? (Array.isArray(schema.items) ? {} : (schema.items ?? {}))),
    )
  }
  if (type === 'integer' || type === 'number')
    return Math.ceil(schema.minimum ?? schema.exclusiveMinimum ?? 0) + pick(3)
  if (type === 'boolean') return pick(2) === 1
  if (type === 'null') return null
  return WORDS[pick(WORDS.length)]
}

/** Ajv for one draft, as strict about values and as lenient about schemas as it can be. */
export function judge(modern) {
  const options = { strict: false, allErrors: false, logger: false, validateFormats: true }
  return addFormats(modern ? new Ajv2020(options) : new Ajv(options))
}

/** Yields { schema, value, expected } for `schemas` generated schemas with `values` values each. */
export function* pairs({ modern, count: howMany, values, seed }) {
  const drawn = fc.sample(
    fc.tuple(
      schemas(modern),
      fc.array(json, { minLength: values, maxLength: values }),
      fc.array(fc.nat(), { minLength: 400, maxLength: 400 }),
    ),
    { numRuns: howMany, seed },
  )
  const ajv = judge(modern)
  for (const [schema, random, chance] of drawn) {
    let validate
    try {
      validate = ajv.compile(schema)
    } catch {
      continue // A schema that Ajv itself refuses shows nothing.
    }
    let at = 0
    const pick = (below) => chance[at++ % chance.length] % below
    for (const [index, value] of random.entries()) {
      const tried = index % 2 ? example(schema, schema, pick) : value
      const plain = JSON.parse(JSON.stringify(tried ?? null))
      yield { schema, value: plain, expected: validate(plain) }
    }
  }
}
