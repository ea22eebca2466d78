// anthropic.ts: tools in the form of the Messages API. It rejects a request in which one property of one tool has a
// name with unsupported characters; such a property is renamed, and the arguments get the original name back.
import type { JsonSchema } from '../definition.ts'
import type { OfferedTool } from '../tool.ts'
import { decodeArguments, type Encoded } from './decode-arguments.ts'
import { type Plain, portable } from './portable.ts'
import { renamed } from './property-names.ts'

/** A tool in the form of Anthropic's Messages API. */
export interface AnthropicTool {
  readonly name: string
  readonly description: string
  readonly input_schema: Plain
}

const PROPERTY = /^[A-Za-z0-9_.-]{1,64}$/

/**
 * A tool for Anthropic's Messages API; `fromAnthropic` undoes its changes in the arguments.
 *
 * @example
 * const tools = board.tools().map(toAnthropic)
 * console.log(tools[0]?.input_schema.type) // object
 */
export function toAnthropic(tool: OfferedTool): AnthropicTool {
  return { name: tool.name, description: tool.description, input_schema: encode(tool.inputJsonSchema).schema }
}

/**
 * The model's arguments, as the tool's own schema expects them.
 *
 * @example
 * const [tool] = board.tools()
 * if (tool) console.log(fromAnthropic({ text: 'hi' }, tool.inputJsonSchema)) // { text: 'hi' }
 */
export function fromAnthropic(args: unknown, schema: JsonSchema): Record<string, unknown> {
  return decodeArguments(args, encode(schema))
}

function encode(schema: JsonSchema): Encoded {
  return renamed(portable(schema), PROPERTY)
}
