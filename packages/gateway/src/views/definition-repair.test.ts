// Whatever a server lists, the clients of the official SDK, v1 and v2, accept the list that the gateway makes of it.
import * as v2 from '@modelcontextprotocol/core'
import * as v1 from '@modelcontextprotocol/sdk/types.js'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { listedPrompt, listedResource, listedTool } from './definition-repair.ts'

type Schema = { safeParse(value: unknown): { readonly error?: unknown } }
const schemas = [v1 as unknown as Record<string, Schema>, v2 as unknown as Record<string, Schema>]

function accepted(schema: string, value: unknown): void {
  for (const of of schemas) {
    const known = of[schema]
    expect(known, schema).toBeDefined()
    expect(known?.safeParse(value).error).toBeUndefined()
  }
}

const odd = fc.jsonValue({ maxDepth: 2 })
const maybe = (usual: fc.Arbitrary<unknown>) => fc.oneof(usual, odd)
const properties = fc.dictionary(fc.string(), fc.oneof(fc.boolean(), fc.constant({ type: 'string' }), odd))
const root = fc.record(
  {
    $schema: odd,
    type: maybe(fc.constantFrom('object', 'string', ['object', 'null'])),
    properties: maybe(properties),
    required: maybe(fc.array(fc.string())),
    anyOf: fc.constant([{ type: 'object' }]),
    additionalProperties: odd,
  },
  { requiredKeys: [] },
)
const shared = { title: odd, description: odd, icons: odd, _meta: odd, annotations: odd }

describe('a list that we pass on', () => {
  it('of tools is accepted, and says the same where it was right', () => {
    const tool = fc.record(
      {
        name: fc.string({ minLength: 1 }),
        ...shared,
        inputSchema: maybe(root),
        outputSchema: maybe(root),
        execution: odd,
      },
      { requiredKeys: ['name'] },
    )
    fc.assert(fc.property(tool, (one) => accepted('ListToolsResultSchema', { tools: [listedTool(one)] })))
    const right = {
      name: 'x',
      title: 'X',
      inputSchema: { type: 'object', properties: { a: { type: 'string' } }, required: ['a'] },
      outputSchema: { type: 'object', properties: { b: {} } },
      annotations: { readOnlyHint: true, note: 'kept' },
      more: 1,
    }
    expect(listedTool(right)).toEqual(right)
  })

  it('of prompts and resources is accepted', () => {
    const argument = fc.record(
      { name: maybe(fc.string()), description: odd, required: odd },
      { requiredKeys: [] },
    )
    const prompt = fc.record(
      { name: fc.string(), ...shared, arguments: maybe(fc.array(argument)) },
      { requiredKeys: ['name'] },
    )
    fc.assert(
      fc.property(prompt, (one) => accepted('ListPromptsResultSchema', { prompts: [listedPrompt(one)] })),
    )
    const resource = fc.record(
      { name: fc.string(), uri: fc.string(), ...shared, mimeType: odd, size: odd },
      { requiredKeys: ['name', 'uri'] },
    )
    fc.assert(
      fc.property(resource, (one) =>
        accepted('ListResourcesResultSchema', { resources: [listedResource(one)] }),
      ),
    )
  })
})

it('an input schema without a type gets one, and one of another type is replaced', () => {
  expect(listedTool({ name: 'x', inputSchema: { properties: { a: true } } }).inputSchema).toEqual({
    type: 'object',
    properties: { a: {} },
  })
  expect(listedTool({ name: 'x', inputSchema: { type: 'array' } }).inputSchema).toEqual({ type: 'object' })
  expect(listedTool({ name: 'x' }).inputSchema).toEqual({ type: 'object' })
  expect(listedTool({ name: 'x', outputSchema: { type: 'array' } })).not.toHaveProperty('outputSchema')
})
