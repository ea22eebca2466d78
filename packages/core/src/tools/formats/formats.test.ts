// Every real tool of the servers installed here, in every provider's form.
import { Ajv2020 } from 'ajv/dist/2020.js'
import { beforeAll, describe, expect, it } from 'vitest'
import { listAllTools } from '../../../../../bench/lib/servers.mjs'
import {
  anthropicComplaints,
  geminiComplaints,
  openAiComplaints,
} from '../../../../../test/compat/accepts.mjs'
import { describeTool } from '../../text/sanitize.ts'
import { type JsonSchema, readToolList } from '../definition.ts'
import { compileSchema } from '../schema/index.ts'
import type { OfferedTool } from '../tool.ts'
import { fromAnthropic, toAnthropic } from './anthropic.ts'
import { toGemini } from './gemini.ts'
import { fromStrict, toOpenAiChat, toOpenAiResponses } from './openai.ts'
import { portable } from './portable.ts'

const hard: Record<string, JsonSchema> = {
  nothing: {},
  yes: true,
  rootAnyOf: {
    anyOf: [
      { properties: { a: { type: 'string' }, k: {} }, required: ['a', 'k'] },
      { properties: { b: { type: 'number' }, k: {} }, required: ['b', 'k'] },
    ],
  },
  rootAllOf: {
    allOf: [{ $ref: '#/$defs/x' }, { properties: { b: {} }, required: ['b'] }],
    $defs: { x: { properties: { a: {} }, required: ['a'] } },
  },
  rootRef: { $ref: '#/$defs/x', $defs: { x: { type: 'object', properties: { a: { type: 'string' } } } } },
  remote: {
    type: 'object',
    properties: { a: { $ref: 'https://example.com/x.json' }, b: { $ref: '#/$defs/none' } },
  },
  tuple: {
    type: 'object',
    properties: { pair: { type: 'array', items: [{ type: 'string' }, { type: 'number' }] } },
  },
  draft4: { type: 'object', properties: { n: { type: 'number', minimum: 0, exclusiveMinimum: true } } },
  recursive: {
    type: 'object',
    properties: { child: { $ref: '#' }, list: { type: 'array', items: { $ref: '#' } } },
  },
  broken: {
    type: 'objekt',
    properties: { a: { type: 'string', pattern: '(' }, 'bad key!': { type: 'string' } },
    required: 'a',
  } as unknown as JsonSchema,
  mixed: {
    type: 'object',
    properties: {
      v: { type: ['string', 'number', 'null'] },
      e: { enum: [1, 'a', null] },
      c: { const: 'x' },
      o: { type: 'object' },
      n: { type: 'string', nullable: true },
    },
  },
  proto: JSON.parse('{"type": "object", "properties": {"__proto__": {"type": "string"}}}'),
  hidden: { type: 'object', properties: { a: { type: 'string', description: 'a\u200b\u202eb' } } },
}
const tools: OfferedTool[] = []
beforeAll(async () => {
  const lists = await listAllTools()
  for (const [server, list] of lists)
    for (const tool of readToolList(list).tools)
      tools.push({
        name: `mcp__${server}__${tool.name}`.slice(0, 64),
        description: describeTool(tool.description),
        inputJsonSchema: tool.inputSchema,
      })
  for (const [name, inputJsonSchema] of Object.entries(hard))
    tools.push({ name, description: '', inputJsonSchema })
})

describe('every provider', () => {
  it('has real tools to show', () => {
    expect(tools.length).toBeGreaterThan(150)
  })

  it('gets valid 2020-12 with an object at the root, and the original stays as it was', () => {
    const ajv = new Ajv2020({ strict: false, validateFormats: false, logger: false })
    for (const tool of tools) {
      const before = JSON.stringify(tool.inputJsonSchema)
      const schema = portable(tool.inputJsonSchema)
      expect(schema.type, tool.name).toBe('object')
      expect(
        Object.keys(schema).filter((key) => ['anyOf', 'oneOf', 'allOf', 'enum', 'not', '$ref'].includes(key)),
      ).toEqual([])
      expect(() => ajv.compile(schema), tool.name).not.toThrow()
      expect(JSON.stringify(tool.inputJsonSchema)).toBe(before)
    }
  })

  it('gets no invisible text and nothing that leads elsewhere', () => {
    expect(JSON.stringify(portable(hard.hidden ?? {}))).toContain('"ab"')
    expect(portable(hard.remote ?? {}).properties).toEqual({ a: {}, b: {} })
  })

  it('gets one object for a choice of objects, with what all of them require', () => {
    expect(portable(hard.rootAnyOf ?? {})).toMatchObject({
      properties: { a: {}, b: {}, k: {} },
      required: ['k'],
    })
    expect(portable(hard.rootAllOf ?? {})).toMatchObject({
      properties: { a: {}, b: {} },
      required: ['a', 'b'],
    })
    expect(portable(hard.rootRef ?? {})).toMatchObject({ properties: { a: { type: 'string' } } })
  })
})

describe('Anthropic', () => {
  it('takes every one of them', () => {
    for (const tool of tools) expect(anthropicComplaints(toAnthropic(tool)), tool.name).toEqual([])
  })

  it('gets no property of a name that would make it refuse the whole request, and the answer has the real one', () => {
    const { input_schema } = toAnthropic({
      name: 'broken',
      description: '',
      inputJsonSchema: hard.broken ?? {},
    })
    expect(input_schema.properties).toEqual({
      a: { type: 'string' },
      bad_key_: { type: 'string', description: 'The real name is "bad key!".' },
    })
    expect(fromAnthropic({ bad_key_: 'x', a: 'y' }, hard.broken ?? {})).toEqual({ 'bad key!': 'x', a: 'y' })
  })
})

describe('OpenAI', () => {
  it('takes every one of them, in both shapes', () => {
    for (const tool of tools) {
      const chat = toOpenAiChat(tool)
      expect(openAiComplaints(chat), tool.name).toEqual([])
      expect(toOpenAiResponses(tool)).toEqual({ type: 'function', ...chat.function })
    }
  })

  it('gets strict schemas in which everything is required and nothing is extra, or a plain one', () => {
    const strict = tools.map((tool) => toOpenAiChat(tool, { strict: true }))
    for (const tool of strict) expect(openAiComplaints(tool), tool.function.name).toEqual([])
    expect(strict.filter((tool) => tool.function.strict).length).toBeGreaterThan(100)
  })

  it('gives back arguments that fit the original', () => {
    const schema = {
      type: 'object',
      properties: {
        a: { type: 'string' },
        b: { type: ['string', 'null'] },
        c: { type: 'object', properties: { d: { type: 'number' } } },
      },
      required: ['a'],
    }
    const args = fromStrict({ a: 'x', b: null, c: { d: null } }, schema)
    expect(args).toEqual({ a: 'x', b: null, c: {} })
    expect(compileSchema(schema).check(args).kind).toBe('valid')
  })
})

describe('Gemini', () => {
  it('takes every one of them', () => {
    for (const tool of tools) expect(geminiComplaints(toGemini(tool)), tool.name).toEqual([])
  })

  it('gets hardly more than the original, whatever that refers to', () => {
    for (const tool of tools) {
      const before = JSON.stringify(tool.inputJsonSchema).length
      expect(JSON.stringify(toGemini(tool)).length, tool.name).toBeLessThan(20_000 + 6 * before)
    }
  })
})
