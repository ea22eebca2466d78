// definition-repair.ts: definitions as clients accept them. The clients of the official SDK reject a whole list for one malformed
// definition, so what a server got wrong is corrected or left out here.
import { isObject, type Json } from '../json-rpc.ts'

type Check = (value: unknown) => boolean

const isText: Check = (value) => typeof value === 'string'
const isFlag: Check = (value) => typeof value === 'boolean'
const isNumber: Check = (value) => typeof value === 'number' && Number.isFinite(value)
const isTexts: Check = (value) => Array.isArray(value) && value.every(isText)

const ICON: Readonly<Record<string, Check>> = {
  src: isText,
  mimeType: isText,
  sizes: isTexts,
  theme: (value) => value === 'light' || value === 'dark',
}
const isIcons: Check = (value) =>
  Array.isArray(value) &&
  value.every(
    (icon) =>
      isObject(icon) &&
      isText(icon.src) &&
      Object.keys(fitting(icon, ICON)).length === Object.keys(icon).length,
  )

/** Optional members, and what they must be to be shown. Members that are not named here are passed on. */
const SHARED: Readonly<Record<string, Check>> = {
  title: isText,
  description: isText,
  icons: isIcons,
  _meta: isObject,
}
const ANNOTATIONS: Readonly<Record<string, Check>> = {
  title: isText,
  readOnlyHint: isFlag,
  destructiveHint: isFlag,
  idempotentHint: isFlag,
  openWorldHint: isFlag,
}
const RESOURCE: Readonly<Record<string, Check>> = {
  ...SHARED,
  mimeType: isText,
  size: isNumber,
  annotations: isObject,
}
const RESOURCE_ANNOTATIONS: Readonly<Record<string, Check>> = {
  audience: (value) => Array.isArray(value) && value.every((one) => one === 'user' || one === 'assistant'),
  priority: (value) => typeof value === 'number' && value >= 0 && value <= 1,
  lastModified: (value) =>
    typeof value === 'string' && /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d)$/.test(value),
}

export function listedTool(tool: object): Json {
  const { inputSchema, outputSchema, annotations, execution, ...rest } = tool as Json
  const output = outputSchema === undefined ? undefined : listedOutput(outputSchema)
  return {
    ...fitting(rest, SHARED),
    inputSchema: listedSchema(inputSchema),
    ...(output && { outputSchema: output }),
    ...(isObject(annotations) && { annotations: fitting(annotations, ANNOTATIONS) }),
    ...withoutTasks(execution),
  }
}

export function listedPrompt(prompt: Json): Json {
  const { arguments: args, ...rest } = prompt
  const named = Array.isArray(args) ? args.filter((one) => isObject(one) && isText(one.name)) : undefined
  const kinds = { title: isText, description: isText, required: isFlag }
  return {
    ...fitting(rest, SHARED),
    ...(named && { arguments: named.map((one: Json) => fitting(one, kinds)) }),
  }
}

/** A resource or a template. */
export function listedResource(resource: Json): Json {
  const { annotations, ...rest } = fitting(resource, RESOURCE)
  if (!isObject(annotations)) return rest
  return { ...rest, annotations: fitting(annotations, RESOURCE_ANNOTATIONS) }
}

/** Arguments are always an object, so saying so changes nothing about what is accepted. */
function listedSchema(schema: unknown): Json {
  if (!isObject(schema)) return { type: 'object' }
  const { type } = schema
  const isObjects =
    type === undefined || type === 'object' || (Array.isArray(type) && type.includes('object'))
  // A schema of a text or a list fits no arguments at all; the server will say what it wants.
  return isObjects ? rooted(schema) : { type: 'object' }
}

/** One that can be no object is left out: structured content is an object where clients check it. */
function listedOutput(schema: unknown): Json | undefined {
  if (!isObject(schema)) return undefined
  const { type } = schema
  const isObjects =
    type === undefined || type === 'object' || (Array.isArray(type) && type.includes('object'))
  return isObjects ? rooted(schema) : undefined
}

/** A root that says `type: "object"`, with properties that are schemas and names that are texts. */
function rooted(schema: Json): Json {
  const { $schema, properties, required } = schema
  const isPlain =
    schema.type === 'object' &&
    ($schema === undefined || isText($schema)) &&
    (properties === undefined || (isObject(properties) && Object.values(properties).every(isObject))) &&
    (required === undefined || isTexts(required))
  if (isPlain) return schema
  const { $schema: _dialect, properties: _properties, required: _required, ...rest } = schema
  return {
    ...(isText($schema) && { $schema }),
    ...rest,
    type: 'object',
    ...(isObject(properties) && { properties: schemasOf(properties) }),
    ...(Array.isArray(required) && { required: required.filter(isText) }),
  }
}

/** `true` and `false` are schemas too, but the SDK's clients of 2025 want objects. */
function schemasOf(properties: Json): Json {
  const entries = Object.entries(properties).flatMap(([name, schema]): [string, Json][] => {
    if (isObject(schema)) return [[name, schema]]
    if (schema === false) return [[name, { not: {} }]]
    return [[name, {}]]
  })
  return Object.fromEntries(entries)
}

/** The members that have the right type, and the unknown ones. */
function fitting(value: Json, kinds: Readonly<Record<string, Check>>): Json {
  const entries = Object.entries(value)
  const isFit = ([key, member]: [string, unknown]) => {
    const check = Object.hasOwn(kinds, key) ? kinds[key] : undefined
    return check === undefined || check(member)
  }
  return entries.every(isFit) ? value : Object.fromEntries(entries.filter(isFit))
}

/** Tasks stay between the gateway and the server: a client that sees the word would ask for what is not declared here. */
function withoutTasks(execution: unknown): Json {
  if (!isObject(execution)) return {}
  const { taskSupport: _, ...other } = execution
  return Object.keys(other).length > 0 ? { execution: other } : {}
}
