// error-encoding.ts: errors of our family across the socket: the same code, server, stage, message and hint on both sides.
import {
  AuthRequired,
  IoError,
  isPlugboardError,
  NotFound,
  PlugboardError,
  ToolError,
} from '@plugboard/core/errors'
import { isObject } from '@plugboard/core/json'
import type { WireError } from './protocol.ts'

interface RpcError {
  readonly code: number
  readonly message: string
  readonly data?: WireError
}

export function encodeError(error: unknown, code: number): RpcError {
  if (isPlugboardError(error)) return { code, message: error.message, data: wireError(error) }
  const { message } = error instanceof Error ? error : { message: String(error) }
  const own = (error as { code?: unknown } | null)?.code
  return { code: typeof own === 'number' ? own : code, message }
}

export function wireError(error: PlugboardError): WireError {
  return {
    ...error.toJSON(),
    ...(error.shellHint !== undefined && { shellHint: error.shellHint }),
    ...(error instanceof NotFound && { wanted: error.wanted }),
    ...(error instanceof ToolError && { tool: error.tool }),
    ...(error instanceof AuthRequired && { wider: error.wider }),
  }
}

export function decodeError(error: Readonly<Record<string, unknown>>): Error {
  const message = typeof error.message === 'string' ? error.message : 'The resident board failed.'
  return isObject(error.data) && typeof error.data.code === 'string'
    ? revivedError(error.data as unknown as WireError)
    : new IoError(message)
}

/** Told apart by code, as everywhere; the fields of a class come along. */
export function revivedError(data: WireError): PlugboardError {
  const { code, message, server, stage, hint, shellHint, wanted, tool, wider } = data
  const error = new PlugboardError(code, message, { server, stage, hint: shellHint, programHint: hint })
  const more = { ...(wanted !== undefined && { wanted }), ...(tool !== undefined && { tool }) }
  return Object.assign(error, more, wider === undefined ? {} : { wider })
}
