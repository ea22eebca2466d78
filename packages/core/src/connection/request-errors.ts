// request-errors.ts: the one place where a transport failure becomes an error of the family. Errors are told apart by
// type, code or HTTP status, never by message text.
import { RequestAborted, RequestTimedOut } from '../async/wait-errors.ts'
import {
  AnswerTooLarge,
  AuthRequired,
  Cancelled,
  InitError,
  IoError,
  NotFound,
  PermissionDenied,
  PlugboardError,
  type Stage,
  Timeout,
  ToolError,
} from '../errors.ts'
import { CALL_LIMITS } from '../limits.ts'
import { hideInError } from '../text/known-secrets.ts'
import {
  HttpStatusError,
  httpStatus,
  isTerminalError,
  tlsCode,
  UnreadableAnswer,
} from '../transports/transport-errors.ts'
import { isObject, RPC } from './server-info.ts'

/**
 * The server responded with a JSON-RPC error. Reachable as the `cause` of the error a caller gets.
 *
 * @example
 * const error = new JsonRpcError(-32602, 'Unknown tool: sya')
 * console.log(error.code, error.message) // -32602 Unknown tool: sya
 */
export class JsonRpcError extends Error {
  readonly code: number
  readonly data: unknown
  constructor(code: number, message: string, data?: unknown) {
    super(message.length > CALL_LIMITS.errorChars ? `${message.slice(0, CALL_LIMITS.errorChars)}…` : message)
    this.name = 'JsonRpcError'
    this.code = code
    this.data = data
  }
}

/** The channel was lost. `sent` says whether the request may have reached the server before. */
export class ChannelClosed extends Error {
  readonly sent: boolean
  constructor(sent: boolean, cause?: unknown) {
    super('The connection closed.', cause === undefined ? undefined : { cause })
    this.name = 'ChannelClosed'
    this.sent = sent
  }
}

/** The response was JSON-RPC but not valid MCP. */
export class BadResponse extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'BadAnswer'
  }
}

/** A JSON-RPC error that arrived as the body of a failed HTTP request is that error, not an HTTP one. */
export function unwrapHttp(error: unknown): unknown {
  const status = httpStatus(error)
  if (status === undefined || status < 400 || status >= 500) return error
  const text = error instanceof HttpStatusError ? error.body : textOf(error)
  if (!text?.startsWith('{')) return error
  try {
    const body: unknown = JSON.parse(text)
    const fault = isObject(body) && isObject(body.error) ? body.error : undefined
    if (!fault || typeof fault.code !== 'number') return error
    return new JsonRpcError(fault.code, String(fault.message ?? ''), fault.data)
  } catch {
    // A body that is not JSON adds nothing to the status.
    return error
  }
}

/** Where the errors of the SDK's transports keep it, when a program hands one over. */
function textOf(error: unknown): string | undefined {
  const data = isObject(error) && isObject(error.data) ? error.data : undefined
  return typeof data?.text === 'string' ? data.text : undefined
}

/** True when the request may have been sent and no response came: a retry may run it twice. */
export function isInterruption(error: unknown): boolean {
  if (error instanceof ChannelClosed) return error.sent
  return (
    leavesOutcomeOpen(error) || ((error instanceof IoError || isTerminalError(error)) && !wasNeverSent(error))
  )
}

/** A response came, but not one that says how the request ended: a body that is not MCP, or a proxy that lost its server. */
export function leavesOutcomeOpen(error: unknown): boolean {
  const status = httpStatus(error)
  return error instanceof UnreadableAnswer || status === 502 || status === 504
}

/** The line broke while it was in use, which may not happen again; not one that could not be had at all. */
export function isConnectionLost(error: unknown): boolean {
  if (error instanceof ChannelClosed) return !isTooLarge(error)
  if (httpStatus(error) !== undefined || tlsCode(error) !== undefined) return false
  return hasCode(error, ['ECONNRESET', 'EPIPE', 'UND_ERR_SOCKET', 'ERR_STREAM_PREMATURE_CLOSE'])
}

/** True when the request certainly did not reach the server. */
export function wasNeverSent(error: unknown): boolean {
  if (error instanceof ChannelClosed) return !error.sent
  return hasCode(error, ['ECONNREFUSED', 'ENOTFOUND', 'EHOSTUNREACH', 'ENETUNREACH', 'EAI_AGAIN'])
}

/** The server forgot the session; only a server that issued one can. */
export function isSessionExpired(error: unknown, hadSession: boolean): boolean {
  if (!hadSession) return false
  if (error instanceof JsonRpcError) return error.code === RPC.sessionNotFound
  return httpStatus(error) === 404
}

/** The connection ended because a response was too long to read, which is not a network fault. */
export function isTooLarge(error: unknown): boolean {
  return error instanceof ChannelClosed && error.cause instanceof AnswerTooLarge
}

/** The server requires a login, reported by itself or by our auth layer. */
export function isLoggedOut(error: unknown): boolean {
  return error instanceof AuthRequired ? !error.wider : httpStatus(error) === 401
}

export interface ErrorPlace {
  readonly server: string
  readonly stage: Stage
  readonly method?: string
  /** The requested tool, prompt or URI. */
  readonly name?: string
  /** The last lines that the server wrote to stderr, for an error that has no better explanation. */
  readonly tail?: readonly string[] | undefined
  /** Replaces the secrets used with the server. */
  readonly hide?: (text: string) => string
}

export function toPlugboardError(error: unknown, place: ErrorPlace): PlugboardError {
  const fault = asPlugboardError(error, place)
  if (place.hide) hideInError(fault, place.hide)
  return fault
}

function asPlugboardError(error: unknown, place: ErrorPlace): PlugboardError {
  const { server, stage } = place
  const status = httpStatus(error)
  // To its transport a rejected handshake is an I/O error; the reason is what matters.
  const isRefusal = error instanceof IoError && (status === 401 || status === 403)
  if (error instanceof PlugboardError && !isRefusal) return atStage(error, place)
  const details = { server, stage, cause: error }
  if (error instanceof RequestAborted) return new Cancelled(undefined, details)
  if (error instanceof RequestTimedOut) return timedOut(error, place)
  if (error instanceof JsonRpcError) return answered(error, place)
  if (error instanceof BadResponse)
    return new InitError(`"${server}" answered something that is not MCP: ${error.message}`, {
      ...details,
      hint: 'Check that the command or URL is an MCP server.',
    })
  if (status === 401) return new AuthRequired(server, { cause: error })
  if (status !== undefined) return refused(status, error, place)
  if (error instanceof ChannelClosed) return closed(error, place)
  const made = new IoError(`"${server}" could not be reached: ${reasonOf(error)}.`, {
    ...details,
    hint: `Run \`plugboard doctor ${server}\` to see how far it gets.`,
  })
  return atStage(made, place)
}

/** A failure during start-up is why the server did not come up. */
function atStage(error: PlugboardError, place: ErrorPlace): PlugboardError {
  if (place.stage === 'call' || !(error instanceof IoError || error instanceof AnswerTooLarge)) return error
  return new InitError(`${error.message}${stderrLines(place, error.message)}`, {
    server: place.server,
    stage: place.stage,
    hint: error.shellHint,
    cause: error,
  })
}

function timedOut(error: RequestTimedOut, place: ErrorPlace): PlugboardError {
  const what = place.name ?? place.method ?? 'it'
  const text =
    place.stage === 'call'
      ? `"${place.server}" did not answer ${what} within ${error.afterMs} ms.`
      : `"${place.server}" did not get past stage "${place.stage}" within ${error.afterMs} ms.${stderrLines(place)}`
  return new Timeout(text, {
    server: place.server,
    stage: place.stage,
    hint:
      place.stage === 'call'
        ? 'Raise `timeout` in the entry, `--timeout` or MCP_TOOL_TIMEOUT if it needs longer.'
        : 'Raise `connectTimeout` in the entry, `--timeout` or MCP_TIMEOUT if it needs longer to start.',
    cause: error,
  })
}

function answered(error: JsonRpcError, place: ErrorPlace): PlugboardError {
  const details = { server: place.server, stage: place.stage, cause: error }
  if (place.stage !== 'call')
    return new InitError(
      `"${place.server}" failed at stage "${place.stage}": ${error.message} (${error.code})${stderrLines(place)}`,
      { ...details, hint: `Run \`plugboard logs ${place.server}\` to see what it says.` },
    )
  if (place.method === 'resources/read' && error.code === RPC.resourceNotFound)
    return new NotFound('resource', place.name ?? '', details)
  return new ToolError(place.name ?? place.method ?? 'request', `${error.message} (${error.code})`, details)
}

function refused(status: number, error: unknown, place: ErrorPlace): PlugboardError {
  const details = { server: place.server, stage: place.stage, cause: error }
  if (status === 403)
    return new PermissionDenied(`"${place.server}" refused access (HTTP 403).`, {
      ...details,
      hint: 'Check that your account or token may use this server.',
    })
  const text = `"${place.server}" answered HTTP ${status}${place.stage === 'call' ? '' : ` at stage "${place.stage}"`}.`
  const hint = statusHint(status, place)
  return place.stage === 'call'
    ? new IoError(text, { ...details, hint })
    : new InitError(text, { ...details, hint })
}

function statusHint(status: number, { server }: ErrorPlace): string {
  if (status === 404) return 'Check the path of the URL.'
  if (status === 429)
    return `The server limits how often it is used. Try again later; \`plugboard logs ${server}\` says if it named a time.`
  if (status >= 500) return 'The server, or a proxy before it, is in trouble. Try again later.'
  if (status >= 300 && status < 400) return 'The server is somewhere else. Write its new URL into the entry.'
  return 'Check the URL, or try again later.'
}

function closed(error: ChannelClosed, place: ErrorPlace): PlugboardError {
  const details = { server: place.server, stage: place.stage, cause: error }
  const why = howItEnded(error, place.tail)
  const hint = `Run \`plugboard logs ${place.server}\` to see more.`
  if (place.stage === 'call')
    return new IoError(`The connection to "${place.server}" closed.${why}`, { ...details, hint })
  return new InitError(`"${place.server}" closed the connection at stage "${place.stage}".${why}`, {
    ...details,
    hint: `Run \`plugboard logs ${place.server}\` to see why.`,
  })
}

/** How a server exited (`"x" exited with code 3.`), and its last stderr lines; empty when unknown. */
export function howItEnded(error: unknown, tail: readonly string[] | undefined): string {
  const cause = error instanceof ChannelClosed ? error.cause : error
  const why = cause instanceof IoError ? ` ${cause.message}` : ''
  return `${why}${stderrLines({ tail }, why)}`
}

/** Each line once: skips what the message contains already and what every attempt repeated. */
function stderrLines({ tail }: Pick<ErrorPlace, 'tail'>, shownText = ''): string {
  const lines = [...new Set(tail)].filter((line) => !shownText.includes(line))
  return lines.length > 0 ? `\nLast stderr lines:\n${lines.map((line) => `  ${line}`).join('\n')}` : ''
}

/** A server that was pinged and did not respond. */
export function unresponsiveError(server: string, cause: RequestTimedOut): IoError {
  return new IoError(
    `"${server}" no longer answers: it did not answer a health check for ${cause.afterMs} ms.`,
    {
      server,
      stage: 'call',
      hint: 'It is started again when it is needed.',
      cause,
    },
  )
}

function reasonOf(error: unknown): string {
  for (let at: unknown = error, depth = 0; isObject(at) && depth < 5; at = at.cause, depth++)
    if (typeof at.code === 'string') return at.code
  return error instanceof Error ? error.message : String(error)
}

function hasCode(error: unknown, codes: readonly string[]): boolean {
  for (let at: unknown = error, depth = 0; isObject(at) && depth < 5; at = at.cause, depth++)
    if (typeof at.code === 'string' && codes.includes(at.code)) return true
  return false
}
