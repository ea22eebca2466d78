// transports/handshake-gate.ts: the order of a legacy session: initialize first, once. Modern requests name their protocol version
// themselves and need no handshake. The required parameters of a request are checked here as well, because the SDK
// calls such a fault an internal error.
import { type JSONRPCMessage, specTypeSchemas } from '@modelcontextprotocol/server'
import { badArguments } from '../schemas.ts'

export const RPC = {
  parse: -32700,
  invalidRequest: -32600,
  methodNotFound: -32601,
  invalidParams: -32602,
  internal: -32603,
  order: -32000,
} as const

const VERSION_KEY = 'io.modelcontextprotocol/protocolVersion'
/** These may come before the handshake in any era. */
const ALWAYS = new Set(['ping', 'server/discover'])

/** The shape of each request that is served here; a tool's arguments have schemas of their own. */
const SHAPES = new Map(
  Object.entries({
    initialize: specTypeSchemas.InitializeRequest,
    'logging/setLevel': specTypeSchemas.SetLevelRequest,
    'resources/list': specTypeSchemas.ListResourcesRequest,
    'resources/read': specTypeSchemas.ReadResourceRequest,
    'resources/templates/list': specTypeSchemas.ListResourceTemplatesRequest,
    'tools/call': specTypeSchemas.CallToolRequest,
    'tools/list': specTypeSchemas.ListToolsRequest,
  }),
)

export interface RpcError {
  readonly jsonrpc: '2.0'
  readonly id: string | number | null
  readonly error: { readonly code: number; readonly message: string; readonly data?: unknown }
}

export function rpcError(id: unknown, code: number, message: string): RpcError {
  const known = typeof id === 'string' || typeof id === 'number' ? id : null
  return { jsonrpc: '2.0', id: known, error: { code, message } }
}

export class HandshakeGate {
  #initialized = false

  /** The error to answer with, or undefined to let the message pass. */
  check(message: JSONRPCMessage): RpcError | undefined {
    if (!('method' in message) || !('id' in message)) return undefined
    if (message.method === 'initialize') {
      if (this.#initialized)
        return rpcError(message.id, RPC.order, 'Already initialized: initialize comes once.')
      const fault = misshapen(message)
      this.#initialized = fault === undefined
      return fault
    }
    if (this.#initialized || ALWAYS.has(message.method) || isModern(message)) return misshapen(message)
    return rpcError(message.id, RPC.order, `Not initialized: send initialize before ${message.method}.`)
  }
}

/** What is wrong with the shape of a request, in any era. */
export function misshapen(message: JSONRPCMessage): RpcError | undefined {
  if (!('method' in message) || !('id' in message)) return undefined
  const checked = SHAPES.get(message.method)?.['~standard'].validate({ params: {}, ...message })
  // The SDK's schemas answer at once; the standard they follow would allow a promise.
  if (!checked || checked instanceof Promise || !checked.issues) {
    const unfit = badArguments(message)
    return unfit === undefined ? undefined : rpcError(message.id, RPC.invalidParams, unfit)
  }
  const faults = checked.issues.map(
    ({ path, message: text }) => `${(path ?? []).map(String).join('.')}: ${text}`,
  )
  return rpcError(message.id, RPC.invalidParams, `Invalid ${message.method}: ${faults.join('; ')}`)
}

/** Does the request name its protocol version itself? */
export function isModern(message: object): boolean {
  const meta = (message as { params?: { _meta?: Record<string, unknown> } }).params?._meta
  return typeof meta === 'object' && meta !== null && VERSION_KEY in meta
}

/** Sorts what arrived as JSON into a message or the error to answer with. */
export function asMessage(value: unknown): { message: JSONRPCMessage } | { error: RpcError } {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    return { error: rpcError(null, RPC.invalidRequest, 'A JSON-RPC message is an object.') }
  const { jsonrpc, method, id, params } = value as Record<string, unknown>
  const isReply = method === undefined && ('result' in value || 'error' in value)
  if (jsonrpc !== '2.0' || (typeof method !== 'string' && !isReply))
    return { error: rpcError(id, RPC.invalidRequest, 'A request needs "jsonrpc": "2.0" and a "method".') }
  // A fraction is a number in JSON, but the SDK drops such a message silently.
  if ('id' in value && typeof id !== 'string' && !Number.isSafeInteger(id))
    return { error: rpcError(null, RPC.invalidRequest, 'An id is a string or a whole number.') }
  if (params !== undefined && (typeof params !== 'object' || params === null))
    return { error: rpcError(id, RPC.invalidParams, 'Params are an object.') }
  if (Array.isArray(params)) return { error: rpcError(id, RPC.invalidParams, 'Params are given by name.') }
  // The shape was checked above; the SDK checks the rest by method.
  return { message: value as JSONRPCMessage }
}
