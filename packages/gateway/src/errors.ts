// errors.ts: failures behind the gateway as JSON-RPC errors. A server's own error is passed on unchanged; what the board
// refused or could not reach becomes a result that a model can read.
import { isPlugboardError, JsonRpcError, NotFound, type PlugboardError } from '@plugboard/core'
import { AuthRequired } from '@plugboard/core/errors'
import { type Era, errorReply, type Id, type Json, type Reply, RPC, RPC_RATE_LIMITED } from './json-rpc.ts'

export interface WireError {
  readonly code: number
  readonly message: string
  readonly data?: unknown
}

/** A user has used up what it may call, for now. */
export class RateLimited extends JsonRpcError {
  /** What the answer says about the limits, as names and values of headers. */
  headers: readonly string[] = []

  /** `limit` is as in "60 calls per minute". */
  constructor(limit: string, retryMs: number) {
    const seconds = Math.max(1, Math.ceil(retryMs / 1000))
    super(
      RPC_RATE_LIMITED,
      `RATE_LIMITED: you may make ${limit}. Try again in ${seconds} ${seconds === 1 ? 'second' : 'seconds'}.`,
      {
        code: 'RATE_LIMITED',
        limit,
        retryAfterSeconds: seconds,
        retryAt: new Date(Date.now() + seconds * 1000).toISOString(),
      },
    )
  }
}

/** The server's own message, if it sent one. */
export function serverFault(error: unknown): JsonRpcError | undefined {
  let at: unknown = error
  for (let depth = 0; depth < 4 && at instanceof Error; depth++) {
    if (at instanceof JsonRpcError) return at
    at = at.cause
  }
  return undefined
}

/** The response to a request that was running when this process, or an earlier one, had to end. */
export function outcomeUnknown(id: Id, why: string): Reply {
  return errorReply(
    id,
    RPC.internal,
    `OUTCOME_UNKNOWN: ${why}; whether it was done is unknown. Check what happened before you call it again.`,
    { code: 'OUTCOME_UNKNOWN' },
  )
}

/** A user has to log in to a server in person. The address is meant for this user alone. */
export class UserLoginRequired extends AuthRequired {
  readonly url: string

  constructor(server: string, what: string, url: string) {
    super(server, { hint: `${what}: ${url}` })
    this.url = url
  }
}

/** A client with a narrow exposure is told only the code of a failure, not what happened behind it. */
export function wireError(error: unknown, era: Era, narrow = false): WireError {
  const own = serverFault(error)
  if (own) {
    const code = own.code === RPC.resourceNotFound && era === 'modern' ? RPC.invalidParams : own.code
    return { code, message: own.message, ...(own.data !== undefined && { data: own.data }) }
  }
  if (!isPlugboardError(error)) return { code: RPC.internal, message: 'Internal error.' }
  const uri = error instanceof NotFound && error.code === 'RESOURCE_NOT_FOUND' ? error.wanted : undefined
  return {
    code: codeOf(error, era),
    message: narrow ? sentenceFor(error) : told(error),
    data: { code: error.code, ...(uri !== undefined && { uri }) },
  }
}

/** The server could not be reached; its own error is unknown. */
export function isUnreachable(error: unknown): boolean {
  return isPlugboardError(error) && !serverFault(error) && UNREACHABLE.has(error.code)
}

const UNREACHABLE: ReadonlySet<string> = new Set([
  'INIT_ERROR',
  'IO_ERROR',
  'AUTH_REQUIRED',
  'TIMEOUT',
  'DISABLED',
])

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

/** A call that was refused or could not be made is a result for the model, not a protocol error. */
export function asToolResult(error: unknown, narrow = false): Json | undefined {
  if (!isPlugboardError(error) || serverFault(error)) return undefined
  switch (error.code) {
    case 'TOOL_NOT_FOUND':
    case 'SERVER_NOT_FOUND':
    case 'CANCELLED':
    case 'INVALID_INPUT':
      return undefined
    default:
      return {
        isError: true,
        content: [
          {
            type: 'text',
            text: `${error.code}: ${narrow ? sentenceFor(error) : told(error)}`,
          },
        ],
      }
  }
}

/** Codes whose message repeats only what the client itself sent. */
const HARMLESS: ReadonlySet<string> = new Set([
  'TOOL_NOT_FOUND',
  'PROMPT_NOT_FOUND',
  'RESOURCE_NOT_FOUND',
  'SERVER_NOT_FOUND',
  'INVALID_INPUT',
])

/** One fixed sentence per code: no path, no host, nothing from a server's log. */
export const SENTENCES: Readonly<Record<string, string>> = {
  INIT_ERROR:
    'The server cannot be reached at the moment. Try again later, or tell the operator of this gateway.',
  IO_ERROR: 'The connection to the server failed. Try again later.',
  TIMEOUT: 'The server did not answer in time.',
  AUTH_REQUIRED: 'The server needs a login, which only the operator of this gateway can make.',
  DISABLED: 'The server is switched off.',
  PERMISSION_DENIED: 'The rules of this gateway do not allow this.',
  OUTCOME_UNKNOWN:
    'The connection was lost while the call was running; whether it was done is unknown. Check before you call it again.',
  TOOL_ERROR: 'The tool failed.',
  CANCELLED: 'The call was cancelled.',
}

function sentenceFor(error: PlugboardError): string {
  const { code, message } = error
  if (error instanceof UserLoginRequired) return told(error)
  if (HARMLESS.has(code)) return message
  return SENTENCES[code] ?? 'The call failed behind this gateway.'
}

function told(error: PlugboardError): string {
  const { message, shellHint } = error
  return shellHint === undefined ? message : `${message} ${shellHint}`
}
