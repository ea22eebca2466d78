// For random schemas: every form satisfies its provider's rules, and a model's arguments under it decode to what the
// original accepts. Keywords that a form cannot express are dropped; they are named here, and nothing else is.
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  anthropicComplaints,
  geminiComplaints,
  openAiComplaints,
} from '../../../../../test/compat/accepts.mjs'
import type { JsonSchema } from '../definition.ts'
import { compileSchema } from '../schema/index.ts'
import type { OfferedTool } from '../tool.ts'
import { fromAnthropic, toAnthropic } from './anthropic.ts'
import { randomFrom, relaxed, sample } from './fixtures/sample.ts'
import { toolSchemas } from './fixtures/schemas.ts'
import { fromGemini, toGemini } from './gemini.ts'
import { fromStrict, toOpenAiChat } from './openai.ts'
import type { Plain } from './portable.ts'

const RUNS = { numRuns: 250, seed: 7 }
const tool = (inputJsonSchema: JsonSchema): OfferedTool => ({
  name: 'tool',
  description: 'Does.',
  inputJsonSchema,
})

interface Form {
  readonly form: string
  readonly schemaOf: (schema: JsonSchema) => Plain | undefined
  readonly decode: (args: unknown, schema: JsonSchema) => unknown
  readonly complaints: (schema: JsonSchema) => readonly string[]
  /** How many values the test has to check at least; most random schemas have no strict form. */
  readonly least: number
  /** Keywords that the form may drop. The server's own check still has them. */
  readonly dropped: readonly string[]
}

const FORMS: readonly Form[] = [
  {
    form: 'Anthropic',
    least: 300,
    schemaOf: (schema) => toAnthropic(tool(schema)).input_schema,
    decode: fromAnthropic,
    complaints: (schema) => anthropicComplaints(toAnthropic(tool(schema))),
    // A pattern that would take too long is skipped by the check, sometimes.
    dropped: ['format', 'pattern'],
  },
  {
    form: 'OpenAI',
    least: 300,
    schemaOf: (schema) => toOpenAiChat(tool(schema)).function.parameters,
    decode: (args) => args,
    complaints: (schema) => openAiComplaints(toOpenAiChat(tool(schema))),
    dropped: ['format', 'pattern'],
  },
  {
    form: 'OpenAI, strict',
    least: 30,
    schemaOf: (schema) => {
      const { strict, parameters } = toOpenAiChat(tool(schema), { strict: true }).function
      return strict ? parameters : undefined
    },
    decode: fromStrict,
    complaints: (schema) => openAiComplaints(toOpenAiChat(tool(schema), { strict: true })),
    dropped: ['format', 'pattern', 'minLength', 'maxLength', 'uniqueItems'],
  },
  {
    form: 'Gemini',
    least: 150,
    schemaOf: (schema) => toGemini(tool(schema)).parameters,
    decode: fromGemini,
    complaints: (schema) => geminiComplaints(toGemini(tool(schema))),
    dropped: [
      'format',
      'pattern',
      'uniqueItems',
      'multipleOf',
      'exclusiveMaximum',
      'prefixItems',
      'minLength',
    ],
  },
]

describe.each(FORMS)('$form', ({ form, schemaOf, decode, complaints, dropped, least }) => {
  it('is what the provider takes', () => {
    fc.assert(
      fc.property(toolSchemas, (schema) => {
        expect(complaints(schema)).toEqual([])
      }),
      RUNS,
    )
  })

  it('takes no value that does not become one of the original', () => {
    let checked = 0
    fc.assert(
      fc.property(toolSchemas, fc.nat(), (schema, seed) => {
        const shown = schemaOf(schema)
        if (shown === undefined) return
        const accepts = compileSchema(shown)
        const original = compileSchema(relaxed(schema, new Set(dropped)) as JsonSchema)
        const random = randomFrom(seed)
        for (let at = 0; at < 6; at++) {
          let free = false
          const value = sample(shown, shown, random, () => {
            free = true
          })
          if (accepts.check(value).kind !== 'valid') continue
          const decoded = decode(value, schema)
          const verdict = original.check(decoded)
          const about = `${form}: ${JSON.stringify({ value, decoded, shown, schema })}`
          // The later check rejects a string that holds JSON of another shape.
          if (free) continue
          if (verdict.kind === 'invalid')
            expect(
              verdict.issues.map(({ path, message }) => `${path} ${message}`),
              about,
            ).toEqual([])
          checked++
        }
      }),
      RUNS,
    )
    expect(checked).toBeGreaterThan(least)
  })
})
