// transports/unstructured.ts: results for a client of 2024-11-05, a version that knows neither output schemas nor structured
// results: they are removed from what is sent. The tools themselves put JSON into the text for such a client (mcp.ts).
import type { JSONRPCMessage, Transport } from '@modelcontextprotocol/server'
import { UNSTRUCTURED_VERSION } from '../mcp.ts'

type Fields = Readonly<Record<string, unknown>>

/** The same transport; from the response to an initialize on it knows the version of the session. */
export function unstructuredWhenOld<T extends Transport>(transport: T): T {
  let isOld = false
  const send = transport.send.bind(transport)
  transport.send = (message, options) => {
    const result = resultOf(message)
    if (typeof result?.['protocolVersion'] === 'string' && 'serverInfo' in result)
      isOld = result['protocolVersion'] === UNSTRUCTURED_VERSION
    return send(isOld && result ? unstructured(message, result) : message, options)
  }
  return transport
}

function unstructured(message: JSONRPCMessage, result: Fields): JSONRPCMessage {
  const { structuredContent: _, ...rest } = result
  const tools = Array.isArray(rest['tools'])
    ? (rest['tools'] as Fields[]).map(withoutOutputSchema)
    : undefined
  // Fields were taken out of a message that was one; what is left is one too.
  return { ...message, result: { ...rest, ...(tools && { tools }) } } as JSONRPCMessage
}

const withoutOutputSchema = ({ outputSchema: _, ...tool }: Fields) => tool

function resultOf(message: JSONRPCMessage): Fields | undefined {
  const { result } = message as { result?: unknown }
  return typeof result === 'object' && result !== null ? (result as Fields) : undefined
}
