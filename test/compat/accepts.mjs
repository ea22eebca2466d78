// accepts.mjs: what each provider accepts, as complaints about one tool in its form. The originals come from
// servers; what is checked here is our conversion of them.
import { Ajv2020 } from 'ajv/dist/2020.js'

/** One for all: an Ajv costs far more to make than a schema to compile. */
const ajv = new Ajv2020({ strict: false, validateFormats: false, logger: false })
const NAME = /^[A-Za-z0-9_-]{1,64}$/
const ANTHROPIC_PROPERTY = /^[A-Za-z0-9_.-]{1,64}$/
const OPENAI_DESCRIPTION_CHARS = 1024
const NOT_AT_THE_ROOT = ['anyOf', 'oneOf', 'allOf', 'enum', 'not', '$ref']

export function anthropicComplaints({ name, description, input_schema: schema }) {
  const complaints = [...common(name, schema)]
  if (typeof description !== 'string') complaints.push('its description is no text')
  for (const part of schemasIn(schema))
    for (const key of Object.keys(part.properties ?? {}))
      if (!ANTHROPIC_PROPERTY.test(key)) complaints.push(`the property ${JSON.stringify(key)} is not allowed`)
  return complaints
}

export function openAiComplaints({ type, function: offered }) {
  const { name, description, parameters, strict } = offered
  const complaints = [...common(name, parameters)]
  if (type !== 'function') complaints.push('it is no function')
  if (description.length > OPENAI_DESCRIPTION_CHARS) complaints.push('its description is too long')
  for (const part of schemasIn(parameters)) {
    if (typesOf(part).includes('array') && part.items === undefined)
      complaints.push('an array does not say of what')
    if (typeof part.pattern === 'string' && needsBacktracking(part.pattern))
      complaints.push(`the pattern ${part.pattern} looks around`)
    for (const key of Object.keys(part.patternProperties ?? {}))
      if (needsBacktracking(key)) complaints.push(`the pattern ${key} looks around`)
  }
  if (strict) complaints.push(...strictComplaints(parameters))
  return complaints
}

/** Structured outputs, as documented: what a part may say, and how much there may be of everything. */
const STRICT_KEYWORDS = new Set([
  '$defs',
  '$ref',
  'additionalProperties',
  'anyOf',
  'const',
  'description',
  'enum',
  'exclusiveMaximum',
  'exclusiveMinimum',
  'format',
  'items',
  'maxItems',
  'maximum',
  'minItems',
  'minimum',
  'multipleOf',
  'pattern',
  'properties',
  'required',
  'title',
  'type',
])
const STRICT_FORMATS = new Set('date-time time date duration email hostname ipv4 ipv6 uuid'.split(' '))

function* strictComplaints(root) {
  let properties = 0
  let chars = 0
  let values = 0
  for (const part of schemasIn(root)) {
    const types = typesOf(part)
    for (const key of Object.keys(part)) if (!STRICT_KEYWORDS.has(key)) yield `strict has no ${key}`
    if (part.$ref !== undefined && Object.keys(part).length > 1) yield 'a strict $ref has something beside it'
    if (part.$ref !== undefined && !/^#(\/\$defs\/[\w.-]+)?$/.test(part.$ref))
      yield `a strict $ref to ${part.$ref}`
    if (types.length === 0 && !part.anyOf && part.$ref === undefined) yield 'a strict part has no type'
    if (isObject(part) && !isClosed(part)) yield 'a strict object is open'
    if (part.format !== undefined && !STRICT_FORMATS.has(part.format))
      yield `the strict format ${part.format}`
    const names = Object.keys(part.properties ?? {})
    properties += names.length
    chars += [...names, ...Object.keys(part.$defs ?? {})].join('').length
    if (part.enum) {
      values += part.enum.length
      const texts = part.enum.filter((value) => typeof value === 'string').join('').length
      chars += texts
      if (part.enum.length > 250 && texts > 15_000) yield 'a strict enum is too long'
      for (const value of part.enum)
        if (!types.some((type) => fits(value, type))) yield 'an enum of another type'
    }
  }
  if (properties > 5000) yield 'too many strict properties'
  if (chars > 120_000) yield 'too many strict characters'
  if (values > 1000) yield 'too many strict values'
  if (objectDepth(root) > 10) yield 'strict is nested too deeply'
}

function fits(value, type) {
  if (type === 'integer') return Number.isInteger(value)
  if (type === 'null') return value === null
  return type === typeof value
}

function objectDepth(part, depth = 0) {
  const below = [...childrenOf(part)].map((child) => objectDepth(child, depth + (isObject(part) ? 1 : 0)))
  return Math.max(depth + (isObject(part) ? 1 : 0), ...below)
}

/** An engine without backtracking, such as RE2, refuses these. */
function needsBacktracking(source) {
  for (let at = 0, inClass = false; at < source.length; at++) {
    if (source[at] === '\\') {
      if (!inClass && /[1-9k]/.test(source[at + 1] ?? '')) return true
      at++
    } else if (inClass) inClass = source[at] !== ']'
    else if (source[at] === '[') inClass = true
    else if (/^\(\?(?:[=!]|<[=!])/.test(source.slice(at, at + 4))) return true
  }
  return false
}

const GEMINI_KEYWORDS = new Set(
  'type format title description nullable enum maxItems minItems properties required minLength maxLength pattern anyOf minimum maximum items'.split(
    ' ',
  ),
)

/** Gemini's Schema: a subset of OpenAPI 3.0. */
export function geminiComplaints({ name, parameters }) {
  const complaints = NAME.test(name) ? [] : [`the name ${JSON.stringify(name)} is not allowed`]
  if (parameters === undefined) return complaints
  if (parameters.type !== 'object') complaints.push('its schema has no object at the root')
  for (const part of schemasIn(parameters)) {
    const say = (text) => complaints.push(`${text}: ${JSON.stringify(part).slice(0, 200)}`)
    for (const key of Object.keys(part)) if (!GEMINI_KEYWORDS.has(key)) say(`${key} is not known`)
    if (part.anyOf === undefined && typeof part.type !== 'string') say('a part has no type')
    const names = Object.keys(part.properties ?? {})
    if (part.type === 'object' && names.length === 0) say('an object without properties')
    for (const key of names) if (!/^[A-Za-z_]\w{0,63}$/.test(key)) say(`the property ${key} is not allowed`)
    if (part.type === 'array' && part.items === undefined) say('an array does not say of what')
    if (
      part.enum &&
      (part.type !== 'string' || part.enum.some((value) => typeof value !== 'string' || value === ''))
    )
      say('an enum of something else than texts')
    for (const key of part.required ?? [])
      if (!names.includes(key)) say(`it requires ${key}, which it has not`)
    if (part.pattern !== undefined && needsBacktracking(part.pattern)) say('a pattern that looks around')
  }
  return complaints
}

/** A tool as the AI SDK passes it to the model's provider. */
export function aiSdkComplaints({ type, name, inputSchema }) {
  return type === 'function' ? common(name, inputSchema) : [`it became a ${type}`]
}

function* common(name, schema) {
  if (!NAME.test(name)) yield `the name ${JSON.stringify(name)} is not allowed`
  if (schema?.type !== 'object') yield 'its schema has no object at the root'
  for (const key of NOT_AT_THE_ROOT)
    if (Object.hasOwn(schema ?? {}, key)) yield `its schema has ${key} at the root`
  try {
    ajv.compile(schema)
  } catch (error) {
    yield `its schema is no valid 2020-12: ${error.message}`
  }
}

function isObject(part) {
  return typesOf(part).includes('object')
}

function typesOf({ type }) {
  return Array.isArray(type) ? type : type === undefined ? [] : [type]
}

function isClosed({ additionalProperties, required = [], properties = {} }) {
  return additionalProperties === false && Object.keys(properties).every((key) => required.includes(key))
}

const MAPS = new Set(['properties', '$defs', 'definitions', 'patternProperties', 'dependentSchemas'])
const VALUES = new Set(['enum', 'const', 'default', 'examples', 'required', 'type', 'dependentRequired'])

/** Every schema inside a schema, and nothing that only looks like one: a property may be called `properties`. */
function* schemasIn(schema) {
  if (typeof schema !== 'object' || schema === null) return
  if (Array.isArray(schema)) {
    for (const part of schema) yield* schemasIn(part)
    return
  }
  yield schema
  for (const part of childrenOf(schema)) yield* schemasIn(part)
}

function* childrenOf(schema) {
  for (const [key, value] of Object.entries(schema)) {
    if (VALUES.has(key) || typeof value !== 'object' || value === null) continue
    if (MAPS.has(key) || Array.isArray(value)) yield* Object.values(value)
    else yield value
  }
}
