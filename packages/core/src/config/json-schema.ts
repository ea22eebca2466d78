// json-schema.ts: the settings files as JSON Schema, for editors; made from the very schemas that check them.
import * as z from 'zod/mini'
import { settingsSchema } from './settings.ts'
import { SETTINGS_SCHEMA_URL } from './sources.ts'

export function settingsJsonSchema(): Record<string, unknown> {
  const schema = z.toJSONSchema(settingsSchema, { target: 'draft-7', io: 'input', unrepresentable: 'any' })
  return { $id: SETTINGS_SCHEMA_URL, title: 'Plugboard settings', ...schema }
}
