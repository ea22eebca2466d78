// anthropic.ts: tools as the Messages API takes them.

import { isRecord } from '../json.ts'
import type { OfferedTool } from '../tool.ts'
import { mapValues, type Plain, portable } from './portable.ts'

export interface AnthropicTool {
  readonly name: string
  readonly description: string
  readonly input_schema: Plain
}

/** The API refuses a request in which one property of one tool has a name of other characters. */
const PROPERTY = /^[A-Za-z0-9_.-]{1,64}$/

export function toAnthropic(tool: OfferedTool): AnthropicTool {
  return {
    name: tool.name,
    description: tool.description,
    input_schema: withPlainNames(portable(tool.inputJsonSchema)),
  }
}

function withPlainNames(schema: Plain): Plain {
  const plain: Plain = mapValues(schema, (value) => {
    if (Array.isArray(value)) return value.map((item) => (isRecord(item) ? withPlainNames(item) : item))
    return isRecord(value) ? withPlainNames(value) : value
  })
  if (!isRecord(schema.properties)) return plain
  const kept = Object.entries(plain.properties as Plain).filter(([name]) => PROPERTY.test(name))
  plain.properties = Object.fromEntries(kept)
  if (Array.isArray(schema.required))
    plain.required = schema.required.filter((name) => PROPERTY.test(String(name)))
  return plain
}
