// tool-definition.ts: validates one item of `tools/list`. It limits what a server may send before anything walks or
// copies it: a schema that is too deep or too large drops its own tool, any other oversized field only itself.
import { DEFINITION_LIMITS } from '../limits.ts'
import type { ToolDefinition } from './lists.ts'
import { isObject, type Json } from './server-info.ts'

/** Replaces a schema that the server left out. `doctor` recognises it by identity. */
export const MISSING_INPUT_SCHEMA: Json = Object.freeze({ type: 'object' })

/** The tool, or a sentence on why it is left out. `note` receives what was changed in one that stays. */
export function parseTool(item: unknown, note: (text: string) => void): ToolDefinition | string {
  if (!isObject(item)) return 'a tool that is not an object'
  const { name } = item
  if (typeof name !== 'string' || name === '') return 'a tool without a name'
  if (name.length > DEFINITION_LIMITS.nameChars)
    return `a tool whose name is longer than ${DEFINITION_LIMITS.nameChars} characters`
  const tool = `the tool ${JSON.stringify(name)}`
  const schema = item.inputSchema
  if (isObject(schema)) {
    const excess = excessOf(schema)
    if (excess !== undefined) return `the input schema of ${tool} ${excess}`
  }
  return trimmed(isObject(schema) ? item : { ...item, inputSchema: MISSING_INPUT_SCHEMA }, (key, change) =>
    note(`the ${key} of ${tool} ${change}`),
  ) as ToolDefinition
}

/** The definition without oversized fields other than the input schema. A definition within limits is not copied. */
function trimmed(item: Json, note: (key: string, change: string) => void): Json {
  let kept: Record<string, unknown> | undefined
  for (const [key, value] of Object.entries(item)) {
    if (key === 'name' || key === 'inputSchema') continue
    if (typeof value === 'string') {
      if (value.length <= DEFINITION_LIMITS.textChars) continue
      kept ??= { ...item }
      kept[key] = value.slice(0, DEFINITION_LIMITS.textChars)
      note(key, `was cut at ${DEFINITION_LIMITS.textChars} characters`)
    } else {
      const excess = excessOf(value)
      if (excess === undefined) continue
      kept ??= { ...item }
      delete kept[key]
      note(key, `was left out: it ${excess}`)
    }
  }
  return kept ?? item
}

/** How a JSON value exceeds the limits, or undefined. Walks without recursion, so depth cannot overflow the stack. */
export function excessOf(value: unknown): string | undefined {
  let level: object[] = typeof value === 'object' && value !== null ? [value] : []
  let chars = typeof value === 'string' ? value.length : 0
  for (let depth = 1; level.length > 0; depth++) {
    if (depth > DEFINITION_LIMITS.depth) return `is nested deeper than ${DEFINITION_LIMITS.depth} levels`
    const below: object[] = []
    for (const part of level) {
      const isList = Array.isArray(part)
      for (const [key, child] of Object.entries(part)) {
        // Approximate size of the member as JSON: quotes, a colon and a comma around the key.
        chars += isList ? 1 : key.length + 4
        if (typeof child === 'string') chars += child.length + 2
        else if (typeof child === 'object' && child !== null) below.push(child)
        else chars += 4
      }
      if (chars > DEFINITION_LIMITS.chars) return `is larger than ${DEFINITION_LIMITS.chars / 1024} KiB`
    }
    level = below
  }
  return undefined
}
