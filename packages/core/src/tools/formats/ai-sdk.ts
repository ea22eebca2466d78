// ai-sdk.ts: tools in the form of the AI SDK. The caller passes its `jsonSchema` function, so that this package
// depends on no version of it and works with all.
import type { ModelBlock, ToolResult } from '../result.ts'
import type { CallContext, Tool } from '../tool.ts'
import { fromAnthropic, toAnthropic } from './anthropic.ts'
import type { Plain } from './portable.ts'

/** A tool in the form of the AI SDK. */
export interface AiSdkTool<Schema> {
  readonly description: string
  readonly inputSchema: Schema
  execute(
    args: Record<string, unknown>,
    options?: { readonly abortSignal?: AbortSignal },
  ): Promise<ToolResult>
  toModelOutput(result: unknown): { type: 'content'; value: AiSdkPart[] }
}

type AiSdkPart =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'media'; readonly data: string; readonly mediaType: string }

/**
 * The tools for `generateText`, `streamText` and agents of the AI SDK. A call is made in the name of the board's own
 * `caller`, unless `options` say otherwise; one that is denied becomes a `tool-error` of its step.
 *
 * @example
 * import { jsonSchema } from 'ai'
 * const tools = toAiSdk(board.tools(), jsonSchema) // for generateText({ model, prompt, tools })
 * console.log(Object.keys(tools)) // [ 'mcp__notes__say' ]
 */
export function toAiSdk<Schema>(
  tools: readonly Tool[],
  jsonSchema: (schema: Plain, options: { validate: (value: unknown) => AiSdkValidation }) => Schema,
  options: Pick<CallContext, 'caller'> = {},
): Record<string, AiSdkTool<Schema>> {
  return Object.fromEntries(
    tools.map((tool) => [
      tool.name,
      {
        description: tool.description,
        inputSchema: jsonSchema(toAnthropic(tool).input_schema, {
          validate: (value) => validate(tool, value),
        }),
        execute: (args, call) =>
          tool.call(args, { ...options, ...(call?.abortSignal && { signal: call.abortSignal }) }),
        toModelOutput: (output) => ({ type: 'content', value: contentOf(output).map(part) }),
      } satisfies AiSdkTool<Schema>,
    ]),
  )
}

/** `never`, because the SDK's tool sets are typed by what every tool of them accepts. */
type AiSdkValidation = { success: true; value: never } | { success: false; error: Error }

/** The SDK passes one schema to every provider, so its names fit all of them; the tool gets its own names back. */
function validate(tool: Tool, value: unknown): AiSdkValidation {
  const args = fromAnthropic(value, tool.inputJsonSchema)
  const problem = tool.argumentProblem(args)
  return problem === undefined
    ? { success: true, value: args as never }
    : { success: false, error: new TypeError(problem) }
}

/** Newer versions pass `{ output }`, older ones the result itself. */
function contentOf(output: unknown): readonly ModelBlock[] {
  const result = output as { output?: ToolResult; content?: readonly ModelBlock[] }
  return result.output?.content ?? result.content ?? []
}

function part(block: ModelBlock): AiSdkPart {
  return block.type === 'text' ? block : { type: 'media', data: block.data, mediaType: block.mimeType }
}
