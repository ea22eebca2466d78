// json-schema.ts: the settings files and `.mcp.json` as JSON Schema, for editors and the reference in docs/;
// generated from the schemas that check them, with a description for every key from key-descriptions.ts. Loaded only
// on demand.
import * as z from 'zod/mini'
import { isObject } from '../json.ts'
import { KEY_DESCRIPTIONS } from './key-descriptions.ts'
import { entryKinds, writtenEntrySchema } from './schema.ts'
import { HONOURED, settingsSchema } from './settings.ts'
import { MCP_SCHEMA_URL, SETTINGS_SCHEMA_URL } from './sources.ts'

export type JsonSchema = { [key: string]: unknown }

/** Of `settings.json` and `settings.local.json`. */
export function settingsJsonSchema(): JsonSchema {
  return finish(SETTINGS_SCHEMA_URL, 'Plugboard settings', settingsSchema)
}

/** Of `.mcp.json`, and of the documents that `--mcp-config` takes. */
export function mcpJsonSchema(): JsonSchema {
  const shape = z.object({
    $schema: z.optional(z.string()),
    mcpServers: z.record(z.string(), writtenEntrySchema),
  })
  return finish(MCP_SCHEMA_URL, 'MCP servers of a project', shape)
}

function finish(id: string, title: string, shape: z.core.$ZodType): JsonSchema {
  const made = z.toJSONSchema(shape, { target: 'draft-7', io: 'input', unrepresentable: 'any' }) as JsonSchema
  const { mcpServers } = made['properties'] as {
    mcpServers: { additionalProperties: { anyOf: JsonSchema[] } }
  }
  mcpServers.additionalProperties.anyOf.forEach((arm, at) => {
    const { title: kind, types } = entryKinds[at] ?? { title: '', types: [] }
    arm['title'] = kind
    ;(arm['properties'] as Record<string, JsonSchema>)['type'] = { type: 'string', enum: types }
  })
  describe(made, '')
  const { $schema, ...rest } = made
  return { $schema, $id: id, title, ...rest }
}

/** A description for every key; and an editor should mark a key that is ignored, like a misspelled one. */
function describe(schema: JsonSchema, path: string): void {
  const properties = schema['properties'] as Record<string, JsonSchema> | undefined
  if (properties) schema['additionalProperties'] = false
  for (const [key, child] of Object.entries(properties ?? {})) {
    const at = path === '' ? key : `${path}.${key}`
    child['description'] = described(at)
    describe(child, at)
  }
  if (!properties && isObject(schema['additionalProperties']))
    describe(schema['additionalProperties'], `${path}.*`)
  if (isObject(schema['items'])) describe(schema['items'], `${path}[]`)
  for (const arm of (schema['anyOf'] as JsonSchema[] | undefined) ?? []) describe(arm, path)
}

function described(path: string): string {
  const words = KEY_DESCRIPTIONS[path]
  if (words === undefined) throw new Error(`key-descriptions.ts has no sentence for ${path}`)
  const scopes = HONOURED[path as keyof typeof HONOURED]
  return scopes && scopes.length < 4 ? `${words} Counts in ${scopes.join(' and ')} settings only.` : words
}
