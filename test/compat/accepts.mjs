// accepts.mjs: what each provider's front door takes, as complaints about one tool in its form. The originals come from
// servers; what is judged here is what we made of them.
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
    if (part.type === 'array' && part.items === undefined && part.prefixItems === undefined)
      complaints.push('an array does not say of what')
    if (strict && isObject(part) && !isClosed(part)) complaints.push('a strict object is open')
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
  return part.type === 'object' || (Array.isArray(part.type) && part.type.includes('object'))
}

function isClosed({ additionalProperties, required = [], properties = {} }) {
  return additionalProperties === false && Object.keys(properties).every((key) => required.includes(key))
}

const MAPS = new Set(['properties', '$defs', 'definitions', 'patternProperties', 'dependentSchemas'])
const VALUES = new Set(['enum', 'const', 'default', 'examples', 'required'])

/** Every schema inside a schema, and nothing that only looks like one: a property may be called `properties`. */
function* schemasIn(schema) {
  if (typeof schema !== 'object' || schema === null) return
  if (Array.isArray(schema)) {
    for (const part of schema) yield* schemasIn(part)
    return
  }
  yield schema
  for (const [key, value] of Object.entries(schema)) {
    if (VALUES.has(key)) continue
    if (MAPS.has(key)) for (const part of Object.values(value ?? {})) yield* schemasIn(part)
    else yield* schemasIn(value)
  }
}
