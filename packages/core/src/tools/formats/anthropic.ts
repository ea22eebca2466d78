// anthropic.ts: tools as the Messages API takes them. It refuses a request in which one property of one tool has a name of
// other characters than it knows; such a property gets another name, and the answer gets the original back.
import type { JsonSchema } from '../definition.ts'
import type { OfferedTool } from '../tool.ts'
import { decodeArguments, type Encoded } from './decode-arguments.ts'
import { type Plain, portable } from './portable.ts'
import { renamed } from './property-names.ts'

export interface AnthropicTool {
  readonly name: string
  readonly description: string
  readonly input_schema: Plain
}

const PROPERTY = /^[A-Za-z0-9_.-]{1,64}$/

export function toAnthropic(tool: OfferedTool): AnthropicTool {
  return { name: tool.name, description: tool.description, input_schema: encode(tool.inputJsonSchema).schema }
}

/** What a model answered with, as the tool's own schema takes it. */
export function fromAnthropic(args: unknown, schema: JsonSchema): Record<string, unknown> {
  return decodeArguments(args, encode(schema))
}

function encode(schema: JsonSchema): Encoded {
  return renamed(portable(schema), PROPERTY)
}
