// schemas.mjs: every tool's schema in every form we offer, checked against its purpose: the provider accepts it, and Zod,
// our own validator and a reference validator agree on the same arguments.
import { toAiSdk, toAnthropic, toOpenAiChat } from '@plugboard/core/tools'
import { generateText, jsonSchema } from 'ai'
import { MockLanguageModelV2 } from 'ai/test'
import { Ajv } from 'ajv'
import { Ajv2020 } from 'ajv/dist/2020.js'
import formats from 'ajv-formats'
import { aiSdkComplaints, anthropicComplaints, openAiComplaints } from './accepts.mjs'

const DEEPEST = 12
const TOLERANT = { strict: false, logger: false }
const REFERENCES = {
  draft7: formats.default(new Ajv(TOLERANT)),
  modern: formats.default(new Ajv2020(TOLERANT)),
}

/** The faults, one line each; empty when every form of every tool is good. */
export async function schemaComplaints(tools) {
  const complaints = []
  const about = (tool, form, list) => {
    for (const complaint of list) complaints.push(`${tool.mcpInfo.toolName} for ${form}: ${complaint}`)
  }
  for (const tool of tools) {
    about(tool, 'Anthropic', anthropicComplaints(toAnthropic(tool)))
    about(tool, 'OpenAI', openAiComplaints(toOpenAiChat(tool)))
    about(tool, 'OpenAI, strict', openAiComplaints(toOpenAiChat(tool, { strict: true })))
    about(tool, 'Zod', verdictComplaints(tool))
  }
  const sent = await throughAiSdk(tools)
  for (const [index, tool] of tools.entries())
    about(tool, 'the AI SDK', sent[index] ? aiSdkComplaints(sent[index]) : ['it did not arrive'])
  return complaints
}

/** The tools as the real AI SDK hands them to a model. */
async function throughAiSdk(tools) {
  if (tools.length === 0) return []
  const model = new MockLanguageModelV2({
    doGenerate: async () => ({
      content: [{ type: 'text', text: 'done' }],
      finishReason: 'stop',
      usage: { inputTokens: 1, outputTokens: 1, totalTokens: 2 },
      warnings: [],
    }),
  })
  await generateText({ model, prompt: 'nothing', tools: toAiSdk(tools, jsonSchema) })
  return model.doGenerateCalls[0]?.tools ?? []
}

function verdictComplaints(tool) {
  const complaints = []
  const reference = referenceFor(tool.inputJsonSchema)
  for (const value of [{}, [], 'text', sample(tool.inputJsonSchema, tool.inputJsonSchema)]) {
    const ours = tool.argumentProblem(value)
    const zod = tool.inputSchema.safeParse(value)
    if (zod.success !== (ours === undefined))
      complaints.push(`Zod and our check differ about ${shown(value)}: ${ours ?? zod.error.message}`)
    if (reference && reference(value) !== (ours === undefined))
      complaints.push(`a reference validator differs about ${shown(value)}: ${ours ?? 'we let it pass'}`)
  }
  return complaints
}

/** Ajv, where it accepts the schema at all. */
function referenceFor(schema) {
  const modern = String(schema?.$schema ?? '').includes('2020-12')
  try {
    return (modern ? REFERENCES.modern : REFERENCES.draft7).compile(schema)
  } catch {
    return undefined // A broken reference or an unknown dialect: then there is nothing to compare with.
  }
}

/** A small value that the schema probably allows: comparing verdicts does not need certainty. */
function sample(schema, root, depth = 0) {
  if (typeof schema !== 'object' || schema === null || depth > DEEPEST) return {}
  if (schema.const !== undefined) return schema.const
  if (Array.isArray(schema.enum)) return schema.enum[0]
  if (schema.default !== undefined) return schema.default
  const inner = (part) => sample(part, root, depth + 1)
  if (typeof schema.$ref === 'string') return inner(pointed(schema.$ref, root))
  const [choice] = schema.anyOf ?? schema.oneOf ?? []
  if (choice && schema.type === undefined) return inner(choice)
  switch (Array.isArray(schema.type) ? schema.type[0] : schema.type) {
    case 'string':
      return 'x'.repeat(schema.minLength ?? 1)
    case 'number':
    case 'integer':
      return schema.minimum ?? (schema.exclusiveMinimum ?? 0) + 1
    case 'boolean':
      return true
    case 'null':
      return null
    case 'array':
      return Array.from({ length: Math.min(schema.minItems ?? 0, 10) }, () => inner(schema.items))
    default:
      return Object.fromEntries((schema.required ?? []).map((key) => [key, inner(schema.properties?.[key])]))
  }
}

function pointed(reference, root) {
  let at = root
  for (const step of reference.split('/').slice(1))
    at = at?.[decodeURIComponent(step).replaceAll('~1', '/').replaceAll('~0', '~')]
  return at
}

function shown(value) {
  return JSON.stringify(value)?.slice(0, 120)
}
