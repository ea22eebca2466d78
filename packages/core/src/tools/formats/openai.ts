// openai.ts: tools in the form of OpenAI's APIs, Chat Completions and Responses, plain or strict. Strict is a subset:
// every property required, nothing extra; a schema that it cannot express is sent unchanged, not strict.
import { isObject } from '../../json.ts'
import type { JsonSchema } from '../definition.ts'
import { mapSubschemas } from '../schema/positions.ts'
import type { OfferedTool } from '../tool.ts'
import { Changes, decodeArguments, type Encoded } from './decode-arguments.ts'
import { describeDropped } from './describe-limits.ts'
import { isPlainPattern, Strict } from './openai-strict.ts'
import { mapValues, type Plain, portable } from './portable.ts'

export interface OpenAiFunction {
  readonly name: string
  readonly description: string
  readonly parameters: Plain
  readonly strict: boolean
}
/** Chat Completions. */
export interface OpenAiChatTool {
  readonly type: 'function'
  readonly function: OpenAiFunction
}
/** Responses. */
export interface OpenAiResponsesTool extends OpenAiFunction {
  readonly type: 'function'
}

/** The API allows 1024 characters of description. */
const DESCRIPTION_CHARS = 1024

/**
 * A tool for OpenAI's chat completions; with `strict`, `fromStrict` undoes its changes in the arguments.
 *
 * @example
 * const tools = board.tools().map((tool) => toOpenAiChat(tool))
 * console.log(tools[0]?.type) // function
 */
export function toOpenAiChat(tool: OfferedTool, options: { readonly strict?: boolean } = {}): OpenAiChatTool {
  return { type: 'function', function: openAiFunction(tool, options.strict === true) }
}

/**
 * A tool for OpenAI's responses; with `strict`, `fromStrict` undoes its changes in the arguments.
 *
 * @example
 * const tools = board.tools().map((tool) => toOpenAiResponses(tool, { strict: true }))
 * console.log(tools[0]?.strict) // true
 */
export function toOpenAiResponses(
  tool: OfferedTool,
  options: { readonly strict?: boolean } = {},
): OpenAiResponsesTool {
  return { type: 'function', ...openAiFunction(tool, options.strict === true) }
}

function openAiFunction(tool: OfferedTool, wantStrict: boolean): OpenAiFunction {
  const schema = portable(tool.inputJsonSchema)
  const strict = wantStrict ? strictForm(schema) : undefined
  const description =
    tool.description.length > DESCRIPTION_CHARS
      ? `${tool.description.slice(0, DESCRIPTION_CHARS - 1)}…`
      : tool.description
  return {
    name: tool.name,
    description,
    parameters: strict?.schema ?? plainForm(schema),
    strict: strict !== undefined,
  }
}

/**
 * Undoes the strict form: a null where the original schema only says "optional" is omitted.
 *
 * @example
 * const [tool] = board.tools()
 * if (tool) console.log(fromStrict({ text: 'hi', times: null }, tool.inputJsonSchema)) // { text: 'hi' }
 */
export function fromStrict(args: unknown, schema: JsonSchema): Record<string, unknown> {
  const strict = strictForm(portable(schema))
  return decodeArguments(args, strict ?? { schema: {}, changes: new Changes() })
}

function strictForm(schema: Plain): Encoded | undefined {
  return new Strict(schema).encode()
}

function plainForm(schema: unknown): Plain {
  if (!isObject(schema)) return schema as Plain
  const part = mapSubschemas(schema, plainForm)
  if (typeof part.pattern === 'string' && !isPlainPattern(part.pattern)) {
    delete part.pattern
    describeDropped(part, schema, ['pattern'])
  }
  if (isObject(part.patternProperties))
    part.patternProperties = Object.fromEntries(
      Object.entries(mapValues(part.patternProperties, (one) => one)).filter(([name]) =>
        isPlainPattern(name),
      ),
    )
  return part
}
