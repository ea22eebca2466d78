// json-rpc-messages.ts: what counts as a JSON-RPC message on a wire, checked once and cheaply. The protocol layer
// checks the shape of params and results.
import type { JSONRPCMessage } from '@modelcontextprotocol/client'

/** The messages in a parsed text (a batch holds several), or nothing if it is something else. */
export function messagesIn(value: unknown): JSONRPCMessage[] | undefined {
  if (isMessage(value)) return [value]
  const messages = (Array.isArray(value) ? value : [value]).map((each) =>
    isMessage(each) ? each : repaired(each),
  )
  return messages.length > 0 && messages.every((each) => each !== undefined) ? messages : undefined
}

/** A response with a wrong result or error is still a response: the caller must not wait until its timeout. */
function repaired(value: unknown): JSONRPCMessage | undefined {
  if (typeof value !== 'object' || value === null || 'method' in value || !('id' in value)) return undefined
  const { id } = value
  if ('result' in value && value.result === null) {
    const empty = { ...value, result: {} }
    return isMessage(empty) ? empty : undefined
  }
  const refused = { ...value, id, result: undefined, error: { code: -32603, message: faultText(value) } }
  return id !== null && isMessage(refused) ? refused : undefined
}

/** What is wrong with a response, in the server's own text if it has any. */
function faultText(answer: object): string {
  const error = 'error' in answer ? answer.error : undefined
  if (typeof error === 'string' && error !== '') return error
  if (typeof error === 'object' && error !== null && 'message' in error && typeof error.message === 'string')
    return error.message
  if (error !== undefined) return 'The server answered with an error that has no message.'
  if ('result' in answer) return 'The server answered with a result that is not an object.'
  return 'The server answered with neither a result nor an error.'
}

export function isMessage(value: unknown): value is JSONRPCMessage {
  if (typeof value !== 'object' || value === null) return false
  // Members are read as unknown until each has been checked.
  const { jsonrpc, id, method, result, error } = value as Record<string, unknown>
  if (jsonrpc !== '2.0') return false
  const hasId = typeof id === 'string' || typeof id === 'number'
  if (method !== undefined) return typeof method === 'string' && (id === undefined || hasId)
  if (typeof result === 'object' && result !== null) return hasId
  // A peer that could not read our id responds with null or without one.
  return isErrorBody(error) && (hasId || id === undefined || id === null)
}

function isErrorBody(error: unknown): boolean {
  if (typeof error !== 'object' || error === null) return false
  return (
    'code' in error &&
    typeof error.code === 'number' &&
    'message' in error &&
    typeof error.message === 'string'
  )
}

/** The id under which the peer must respond, if the message is a request. */
export function requestId(message: unknown): string | number | undefined {
  if (typeof message !== 'object' || message === null || !('method' in message) || !('id' in message))
    return undefined
  const { id } = message
  return typeof id === 'string' || typeof id === 'number' ? id : undefined
}

/** The id of the request that the message responds to, if it is a response. */
export function answeredId(message: JSONRPCMessage): string | number | undefined {
  if ('method' in message) return undefined
  return 'id' in message && message.id !== null ? message.id : undefined
}
