// findings.ts: what in a server's tools a provider would reject or the user should review. Plugboard repairs most of
// it for the model; other clients of the same server do not, and its author may want to know.
import { MISSING_INPUT_SCHEMA } from '../connection/tool-definition.ts'
import { isObject, own } from '../json.ts'
import { DOCTOR_LIMITS, TOOL_LIMITS } from '../limits.ts'
import { readToolList } from '../tools/definition.ts'
import { cleanLine, plainName, type ToolDefinition } from '../tools/index.ts'
import { compileSchema } from '../tools/schema/index.ts'
import { subschemas } from '../tools/schema/positions.ts'
import { resolveReference, type SchemaNames, survey } from '../tools/schema/reference.ts'
import { injectionSigns } from '../tools/tool-poisoning.ts'

export type FindingKind =
  | 'root-type'
  | 'root-choice'
  | 'remote-ref'
  | 'dangling-ref'
  | 'array-items'
  | 'property-name'
  | 'schema'
  | 'schema-missing'
  | 'name-length'
  | 'name-characters'
  | 'description-length'
  | 'description-missing'
  | 'hidden-text'
  | 'list'

export interface Finding {
  /** Missing when it is about the server as a whole. */
  readonly tool?: string
  readonly kind: FindingKind
  /** Where in the tool, e.g. `inputSchema.properties.path`. */
  readonly where?: string
  readonly message: string
}

/** Everything odd about the tools, as the server listed them. */
export function toolFindings(server: string, listed: readonly unknown[]): readonly Finding[] {
  const { tools, warnings } = readToolList(listed)
  const found: Finding[] = warnings.map((message) => ({ kind: 'list', message: cleanLine(message, 400) }))
  for (const tool of tools) {
    for (const finding of findingsOf(server, tool))
      found.push({ tool: cleanLine(tool.name, 128), ...finding })
    if (found.length > DOCTOR_LIMITS.findings) break
  }
  return found.slice(0, DOCTOR_LIMITS.findings)
}

type Bare = Omit<Finding, 'tool'>

function* findingsOf(server: string, tool: ToolDefinition): Generator<Bare> {
  yield* nameFindings(server, tool.name)
  yield* descriptionFindings(tool.description)
  yield* schemaFindings(tool.inputSchema)
  for (const { where, message, excerpt } of injectionSigns(tool))
    yield { kind: 'hidden-text', where, message: `${message}: ${cleanLine(excerpt, 160)}` }
}

function* nameFindings(server: string, name: string): Generator<Bare> {
  const full = plainName({ server, tool: name })
  if (full.length > TOOL_LIMITS.nameLength)
    yield {
      kind: 'name-length',
      message: `as "mcp__${server}__…" its name has ${full.length} characters, and providers take ${TOOL_LIMITS.nameLength}; it is shortened with a hash`,
    }
  if (!/^[A-Za-z0-9_-]+$/.test(name))
    yield {
      kind: 'name-characters',
      message: 'its name has characters that providers refuse; each becomes "_"',
    }
}

function* descriptionFindings(description: string | undefined): Generator<Bare> {
  if (description === undefined || description.trim() === '')
    yield {
      kind: 'description-missing',
      message: 'it has no description; the model gets a description made from its name',
    }
  else if (description.length > TOOL_LIMITS.descriptionChars)
    yield {
      kind: 'description-length',
      message: `its description has ${description.length} characters; past ${TOOL_LIMITS.descriptionChars} it is cut`,
    }
}

function* schemaFindings(schema: ToolDefinition['inputSchema']): Generator<Bare> {
  const where = 'inputSchema'
  if (schema === MISSING_INPUT_SCHEMA)
    return yield {
      kind: 'schema-missing',
      where,
      message: 'it has no input schema; `{"type": "object"}` is assumed, and its arguments are not checked',
    }
  if (!isObject(schema)) return yield { kind: 'root-type', where, message: 'its schema is not an object' }
  const surveyed = survey(schema)
  if (!surveyed.ok) return yield { kind: 'schema', where, message: surveyed.reason }
  if (own(schema, 'type') !== 'object')
    yield {
      kind: 'root-type',
      where,
      message: 'its schema has no `type: "object"` at the root, which providers require',
    }
  for (const choice of ['oneOf', 'anyOf', 'allOf'])
    if (Object.hasOwn(schema, choice))
      yield {
        kind: 'root-choice',
        where,
        message: `its schema has \`${choice}\` at the root, which providers refuse`,
      }
  const parts = [...partFindings(schema, surveyed.names, where)]
  yield* parts
  // A dangling reference is reported above, with a better message than the compiler's.
  const [unusable] = parts.some(({ kind }) => kind.endsWith('-ref')) ? [] : compileSchema(schema).warnings
  if (unusable) yield { kind: 'schema', where, message: unusable }
}

const PROPERTY_NAME = /^[A-Za-z0-9_.-]{1,64}$/

/** survey() has bounded depth and size, so this ends. */
function* partFindings(
  part: Readonly<Record<string, unknown>>,
  names: SchemaNames,
  where: string,
): Generator<Bare> {
  const reference = own(part, '$ref')
  if (typeof reference === 'string') yield* referenceFindings(reference, names, part, where)
  const type = own(part, 'type')
  const isArray = type === 'array' || (Array.isArray(type) && type.includes('array'))
  if (isArray && !Object.hasOwn(part, 'items') && !Object.hasOwn(part, 'prefixItems'))
    yield { kind: 'array-items', where, message: 'an array without `items`, which some providers refuse' }
  for (const { keyword, key, schema } of subschemas(part)) {
    const step = typeof key === 'number' ? `[${key}]` : key === undefined ? '' : `.${cleanLine(key, 80)}`
    const at = `${where}.${keyword}${step}`
    if (keyword === 'properties' && !PROPERTY_NAME.test(String(key)))
      yield { kind: 'property-name', where: at, message: 'a property whose name some providers refuse' }
    if (isObject(schema)) yield* partFindings(schema, names, at)
  }
}

function* referenceFindings(
  reference: string,
  names: SchemaNames,
  from: unknown,
  where: string,
): Generator<Bare> {
  if (resolveReference(reference, names, from) !== undefined) return
  const shown = cleanLine(reference, 120)
  if (reference.startsWith('#'))
    yield { kind: 'dangling-ref', where, message: `\`$ref\` to "${shown}", which is not there` }
  else
    yield {
      kind: 'remote-ref',
      where,
      message: `\`$ref\` to another document ("${shown}"), which is not fetched`,
    }
}
