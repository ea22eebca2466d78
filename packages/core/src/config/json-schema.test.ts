// The schemas for editors are those that are published with the command.
import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { type JsonSchema, mcpJsonSchema, settingsJsonSchema } from './json-schema.ts'
import { KEY_DESCRIPTIONS } from './key-descriptions.ts'

const published = (name: string): JsonSchema =>
  JSON.parse(readFileSync(new URL(`../../../cli/${name}.schema.json`, import.meta.url), 'utf8'))

describe('the schema', () => {
  it.each([
    ['settings', settingsJsonSchema],
    ['mcp', mcpJsonSchema],
  ])('of %s files is the published one', (name, make) => {
    expect(make()).toEqual(published(name))
  })

  it('describes every key, and says where one counts', () => {
    const { properties } = settingsJsonSchema() as { properties: Record<string, JsonSchema> }
    expect(Object.keys(properties).length).toBeGreaterThan(10)
    const said = Object.values(properties).map(({ description }) => String(description))
    expect(said.some((text) => text.endsWith('settings only.'))).toBe(true)
    expect(said).toContain(KEY_DESCRIPTIONS['mcpServers'])
  })
})
