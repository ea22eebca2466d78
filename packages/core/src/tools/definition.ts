// definition.ts: one tool as its server describes it, read tolerantly: a bad tool affects only itself, never the list.
import { readAnnotations, type ToolAnnotations } from '../connection/lists.ts'
import { excessOf, MISSING_INPUT_SCHEMA } from '../connection/tool-definition.ts'
import { isObject } from '../json.ts'
import { DEFINITION_LIMITS } from '../limits.ts'

export type { ToolAnnotations }

/** A JSON Schema as it came over the wire; only schema/ knows what is inside. */
export type JsonSchema = boolean | { readonly [keyword: string]: unknown }

/** The original. It is never rewritten: a provider's form is compiled from it. */
export interface ToolDefinition {
  readonly name: string
  readonly title?: string
  readonly description?: string
  readonly inputSchema: JsonSchema
  readonly outputSchema?: JsonSchema
  readonly annotations?: ToolAnnotations
  readonly meta?: Readonly<Record<string, unknown>>
}

/** A list of tools as it was read: the sound ones, and what is wrong with the others. */
export interface ReadTools {
  readonly tools: readonly ToolDefinition[]
  readonly warnings: readonly string[]
}

/** Parses the result of `tools/list`, whatever it is. Of two tools with one name the first stays. */
export function readToolList(items: unknown): ReadTools {
  const warnings: string[] = []
  if (!Array.isArray(items)) return { tools: [], warnings: ['The tool list is not an array.'] }
  const tools = new Map<string, ToolDefinition>()
  items.forEach((item: unknown, index) => {
    const read = readTool(item)
    if (typeof read === 'string') warnings.push(`Tool ${index + 1} of the list was left out: ${read}.`)
    else if (tools.has(read.tool.name))
      warnings.push(`The tool "${read.tool.name}" is listed twice; the first one is used.`)
    else {
      tools.set(read.tool.name, read.tool)
      warnings.push(...read.warnings)
    }
  })
  return { tools: [...tools.values()], warnings }
}

function readTool(item: unknown): { tool: ToolDefinition; warnings: string[] } | string {
  if (!isObject(item)) return 'it is not an object'
  const { name, title, description, inputSchema, outputSchema, annotations, _meta } = item
  if (typeof name !== 'string' || name === '') return 'it has no name'
  if (name.length > DEFINITION_LIMITS.nameChars)
    return `its name is longer than ${DEFINITION_LIMITS.nameChars} characters`
  const excess = excessOf(inputSchema)
  if (excess !== undefined) return `the input schema of ${JSON.stringify(name)} ${excess}`
  const warnings: string[] = []
  const schema = readSchema(inputSchema)
  if (schema === undefined)
    warnings.push(`The tool "${name}" has no usable input schema; its arguments are not checked.`)
  const output = excessOf(outputSchema) === undefined ? readSchema(outputSchema) : undefined
  const hints = readAnnotations(annotations)
  const tool: ToolDefinition = {
    name,
    ...(typeof title === 'string' && { title }),
    ...(typeof description === 'string' && { description }),
    inputSchema: schema ?? MISSING_INPUT_SCHEMA,
    ...(output !== undefined && { outputSchema: output }),
    ...(hints && { annotations: hints }),
    ...(isObject(_meta) && { meta: _meta }),
  }
  return { tool, warnings }
}

function readSchema(schema: unknown): JsonSchema | undefined {
  return isObject(schema) || typeof schema === 'boolean' ? schema : undefined
}
