// decode-arguments.ts: turns arguments in the provider's form of a tool back into what the tool's own schema takes.
import type { OfferedTool } from '@plugboard/core/tools'
import type { ModelEvent } from './model.ts'

type Decode = (args: unknown, schema: OfferedTool['inputJsonSchema']) => Readonly<Record<string, unknown>>

/** The same events; the arguments of calls are put back into the form of the tool's schema. */
export async function* withOwnArguments(
  tools: readonly OfferedTool[],
  decode: Decode,
  events: AsyncIterable<ModelEvent>,
): AsyncGenerator<ModelEvent> {
  for await (const event of events) {
    const tool = event.type === 'call' ? tools.find(({ name }) => name === event.name) : undefined
    if (event.type === 'call' && tool)
      yield { ...event, argumentsText: ownArguments(event.argumentsText, tool, decode) }
    else yield event
  }
}

function ownArguments(text: string, tool: OfferedTool, decode: Decode): string {
  try {
    const args: unknown = JSON.parse(text)
    const own = decode(args, tool.inputJsonSchema)
    return own === args ? text : JSON.stringify(own)
  } catch {
    // Not JSON: the reader of the call tells the model so.
    return text
  }
}
