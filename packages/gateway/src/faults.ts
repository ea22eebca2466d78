// faults.ts: what went wrong behind the gateway, in JSON-RPC's terms. A server's own error goes through as it is; what the
// board refused or could not reach becomes an answer that a model can read.
import { isPlugboardError, NotFound, type PlugboardError, RpcFault } from '@plugboard/core'
import { type Era, type Json, RPC } from './protocol.ts'

export interface WireError {
  readonly code: number
  readonly message: string
  readonly data?: unknown
}

/** The server's own words, when it said any. */
export function serverFault(error: unknown): RpcFault | undefined {
  let at: unknown = error
  for (let depth = 0; depth < 4 && at instanceof Error; depth++) {
    if (at instanceof RpcFault) return at
    at = at.cause
  }
  return undefined
}

export function wireError(error: unknown, era: Era): WireError {
  const own = serverFault(error)
  if (own) {
    const code = own.code === RPC.resourceNotFound && era === 'modern' ? RPC.invalidParams : own.code
    return { code, message: own.message, ...(own.data !== undefined && { data: own.data }) }
  }
  if (!isPlugboardError(error)) return { code: RPC.internal, message: 'Internal error.' }
  const uri = error instanceof NotFound && error.code === 'RESOURCE_NOT_FOUND' ? error.wanted : undefined
  return {
    code: codeOf(error, era),
    message: told(error),
    data: { code: error.code, ...(uri !== undefined && { uri }) },
  }
}

/** The server could not be reached; what it would have said is unknown. */
export function isAway(error: unknown): boolean {
  return isPlugboardError(error) && !serverFault(error) && AWAY.has(error.code)
}

const AWAY: ReadonlySet<string> = new Set(['INIT_ERROR', 'IO_ERROR', 'AUTH_REQUIRED', 'TIMEOUT', 'DISABLED'])

function codeOf(error: PlugboardError, era: Era): number {
  switch (error.code) {
    case 'RESOURCE_NOT_FOUND':
      return era === 'modern' ? RPC.invalidParams : RPC.resourceNotFound
    case 'TOOL_NOT_FOUND':
    case 'PROMPT_NOT_FOUND':
    case 'SKILL_NOT_FOUND':
    case 'SERVER_NOT_FOUND':
    case 'INVALID_INPUT':
      return RPC.invalidParams
    default:
      return RPC.internal
  }
}

/** A call that was refused or could not be made is an answer to the model, not a fault of the protocol. */
export function asToolResult(error: unknown): Json | undefined {
  if (!isPlugboardError(error) || serverFault(error)) return undefined
  switch (error.code) {
    case 'TOOL_NOT_FOUND':
    case 'SERVER_NOT_FOUND':
    case 'CANCELLED':
    case 'INVALID_INPUT':
      return undefined
    default:
      return { isError: true, content: [{ type: 'text', text: `${error.code}: ${told(error)}` }] }
  }
}

function told(error: PlugboardError): string {
  return error.hint === undefined ? error.message : `${error.message} ${error.hint}`
}
