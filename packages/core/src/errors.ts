// errors.ts: the one family of errors that leaves the library, told apart by `code`, never by message text. It
// decides neither exit codes (the command does) nor what to do next (the connection does).

/**
 * The named steps of bringing a server up; an error says at which one it happened.
 *
 * @example
 * console.log(STAGES.slice(0, 3).join(' ')) // config client transport
 */
export const STAGES = [
  'config',
  'client',
  'transport',
  'connect',
  'capabilities',
  'tools',
  'resources',
  'prompts',
  'server-info',
  'auth',
  'call',
  'close',
] as const
/** How far a connect or a call was when an error happened. */
export type Stage = (typeof STAGES)[number]

/** The codes of all errors; docs/troubleshooting.md explains each. */
export type ErrorCode =
  | 'SERVER_NOT_FOUND'
  | 'TOOL_NOT_FOUND'
  | 'RESOURCE_NOT_FOUND'
  | 'PROMPT_NOT_FOUND'
  | 'SKILL_NOT_FOUND'
  | 'SKILL_UNVERIFIED'
  | 'INIT_ERROR'
  | 'TOOL_ERROR'
  | 'PARSE_ERROR'
  | 'IO_ERROR'
  | 'AUTH_REQUIRED'
  | 'PERMISSION_DENIED'
  | 'TIMEOUT'
  | 'DISABLED'
  | 'INVALID_INPUT'
  | 'OUTCOME_UNKNOWN'
  | 'ANSWER_TOO_LARGE'
  | 'CANCELLED'

/** What an error may carry besides its message. */
export interface ErrorDetails {
  readonly server?: string | undefined
  readonly stage?: Stage | undefined
  /** What the user can do about it, as one sentence. Verbs of the command are written in backquotes. */
  readonly hint?: string | undefined
  /** The same for a program that uses the library, where the verbs alone do not make the difference. */
  readonly programHint?: string | undefined
  readonly cause?: unknown
}

/** The JSON shape that scripts rely on (`{"error": …}`). */
export interface ErrorJson {
  readonly code: ErrorCode
  readonly server?: string
  readonly stage?: Stage
  readonly message: string
  readonly hint?: string
}

/** Spelled out, because a bundler may rename classes. */
const NAMES: Readonly<Record<ErrorCode, string>> = {
  SERVER_NOT_FOUND: 'ServerNotFound',
  TOOL_NOT_FOUND: 'NotFound',
  RESOURCE_NOT_FOUND: 'NotFound',
  PROMPT_NOT_FOUND: 'NotFound',
  SKILL_NOT_FOUND: 'NotFound',
  SKILL_UNVERIFIED: 'SkillUnverified',
  INIT_ERROR: 'InitError',
  TOOL_ERROR: 'ToolError',
  PARSE_ERROR: 'ParseError',
  IO_ERROR: 'IoError',
  AUTH_REQUIRED: 'AuthRequired',
  PERMISSION_DENIED: 'PermissionDenied',
  TIMEOUT: 'Timeout',
  DISABLED: 'Disabled',
  INVALID_INPUT: 'InvalidInput',
  OUTCOME_UNKNOWN: 'OutcomeUnknown',
  ANSWER_TOO_LARGE: 'AnswerTooLarge',
  CANCELLED: 'Cancelled',
}

const BRAND = Symbol.for('plugboard.error')

/**
 * True for errors of this family, also when two copies of the library are loaded.
 *
 * @example
 * try {
 *   await board.call('notes.sya', { text: 'hi' })
 * } catch (error) {
 *   if (isPlugboardError(error)) console.log(error.code) // TOOL_NOT_FOUND
 * }
 */
export function isPlugboardError(error: unknown): error is PlugboardError {
  return typeof error === 'object' && error !== null && BRAND in error
}

/** What a program calls where a user at a shell runs a verb. */
const IN_A_PROGRAM: Readonly<Record<string, (name: string) => string>> = {
  list: () => '`board.servers()`',
  tools: (name) => (name === '' ? '`board.tools()`' : `\`board.toolsOf('${name.replace(/\..*$/, '')}')\``),
  resources: (name) => (name === '' ? '`board.resources()`' : `\`board.resources({ server: '${name}' })\``),
  prompts: (name) => (name === '' ? '`board.prompts()`' : `\`board.prompts({ server: '${name}' })\``),
  reconnect: (name) => `\`board.reconnect('${name}')\``,
  remove: (name) => `\`board.remove('${name}')\``,
  logs: () => '`readLog()`',
  login: () => '`login()` of @plugboard/core/auth',
  logout: () => '`logout()` of @plugboard/core/auth',
  doctor: () => '`diagnose()` of @plugboard/core/doctor',
  explain: () => '`loadConfiguration()` of @plugboard/core/config',
  enable: () => '`setEnabled()` of @plugboard/core/config/manage',
  disable: () => '`setEnabled()` of @plugboard/core/config/manage',
  approve: () => '`approve()` of @plugboard/core/config/manage',
  trust: () => '`trustFolder()` of @plugboard/core/config/manage',
}

/** A hint that names a verb of the command in backquotes, in the terms of the library. */
function forPrograms(hint: string): string {
  return hint.replaceAll(/`plugboard ([a-z-]+)(?: ([^`\s]+))?`/g, (command, verb: string, name = '') =>
    Object.hasOwn(IN_A_PROGRAM, verb) ? (IN_A_PROGRAM[verb]?.(name) ?? command) : command,
  )
}

/**
 * The base of all errors: a code to tell them apart, a message, and a hint.
 *
 * @example
 * try {
 *   await board.call('notes.sya', { text: 'hi' })
 * } catch (error) {
 *   if (error instanceof PlugboardError) console.log(JSON.parse(JSON.stringify(error)).code) // TOOL_NOT_FOUND
 * }
 */
export class PlugboardError extends Error {
  readonly [BRAND] = true
  readonly code: ErrorCode
  readonly server: string | undefined
  readonly stage: Stage | undefined
  /** What to do about it, in the terms of the library. */
  readonly hint: string | undefined
  /** The same for a user at a shell. */
  readonly shellHint: string | undefined

  constructor(code: ErrorCode, message: string, details: ErrorDetails = {}) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause })
    this.name = NAMES[code]
    this.code = code
    this.server = details.server
    this.stage = details.stage
    this.shellHint = details.hint
    this.hint = details.programHint ?? (details.hint && forPrograms(details.hint))
  }

  toJSON(): ErrorJson {
    return {
      code: this.code,
      ...(this.server !== undefined && { server: this.server }),
      ...(this.stage !== undefined && { stage: this.stage }),
      message: this.message,
      ...(this.hint !== undefined && { hint: this.hint }),
    }
  }
}

/**
 * The board has no server of that name.
 *
 * @example
 * try {
 *   await board.connect('ghost')
 * } catch (error) {
 *   console.log(error instanceof ServerNotFound) // true
 * }
 */
export class ServerNotFound extends PlugboardError {
  constructor(server: string, details: ErrorDetails = {}) {
    super('SERVER_NOT_FOUND', `There is no server named "${server}".`, {
      hint: 'Run `plugboard list` to see the names.',
      ...details,
      server,
    })
  }
}

/**
 * A tool, resource, prompt or skill (or a file of one) that its server does not have.
 *
 * @example
 * try {
 *   await board.call('notes.sya', { text: 'hi' })
 * } catch (error) {
 *   if (error instanceof NotFound) console.log(error.wanted) // notes.sya
 * }
 */
export class NotFound extends PlugboardError {
  /** The unknown name or address. */
  readonly wanted: string

  constructor(
    kind: 'tool' | 'resource' | 'prompt' | 'skill' | 'skill file',
    name: string,
    details: ErrorDetails = {},
  ) {
    const codes = {
      tool: 'TOOL_NOT_FOUND',
      resource: 'RESOURCE_NOT_FOUND',
      prompt: 'PROMPT_NOT_FOUND',
      skill: 'SKILL_NOT_FOUND',
      'skill file': 'SKILL_NOT_FOUND',
    } as const
    super(codes[kind], `There is no ${kind} named "${name}".`, details)
    this.wanted = name
  }
}

/** How a file of a skill differs from what its server listed. */
export type SkillFault = 'missing' | 'encoding' | 'size' | 'digest' | 'frontmatter'

/**
 * A file of a skill that is not what its server listed; none of it is returned.
 *
 * @example
 * const details = { uri: 'skill://release/SKILL.md' }
 * const error = new SkillUnverified('notes', 'release', 'digest', 'SKILL.md has another digest', details)
 * console.log(error.reason, error.uri) // digest skill://release/SKILL.md
 */
export class SkillUnverified extends PlugboardError {
  readonly reason: SkillFault
  readonly uri: string
  /** For the front matter of its SKILL.md: the differences, one line each. */
  readonly differences: readonly string[]

  constructor(
    server: string,
    skill: string,
    reason: SkillFault,
    message: string,
    details: ErrorDetails & { readonly uri: string; readonly differences?: readonly string[] | undefined },
  ) {
    super('SKILL_UNVERIFIED', `The skill "${skill}" cannot be used. ${message}.`, {
      stage: 'call',
      hint: 'The files differ from what the server lists; ask the operator of the server.',
      ...details,
      server,
    })
    this.reason = reason
    this.uri = details.uri
    this.differences = details.differences ?? []
  }
}

/**
 * A server that could not be brought up; its state becomes `failed`.
 *
 * @example
 * const error = new InitError('The server did not answer.', { server: 'notes', stage: 'connect' })
 * console.log(error.code, error.stage) // INIT_ERROR connect
 */
export class InitError extends PlugboardError {
  constructor(message: string, details: ErrorDetails = {}) {
    super('INIT_ERROR', message, details)
  }
}

/**
 * A call that failed with an error from the server; the details go back to the model.
 *
 * @example
 * const error = new ToolError('say', 'The text is empty.', { server: 'notes' })
 * console.log(error.tool, error.stage) // say call
 */
export class ToolError extends PlugboardError {
  readonly tool: string
  constructor(tool: string, message: string, details: ErrorDetails = {}) {
    super('TOOL_ERROR', message, { stage: 'call', ...details })
    this.tool = tool
  }
}

/**
 * Unreadable data from the wire or from a file; its source keeps working.
 *
 * @example
 * const error = new ParseError('line 3 is no JSON', { hint: 'Correct the file.' })
 * console.log(error.code, error.hint) // PARSE_ERROR Correct the file.
 */
export class ParseError extends PlugboardError {
  constructor(message: string, details: ErrorDetails = {}) {
    super('PARSE_ERROR', message, details)
  }
}

/**
 * The pipe, socket or disk failed; for a connection it means reconnect.
 *
 * @example
 * const mayTryAgain = (error: unknown) => error instanceof IoError
 * console.log(mayTryAgain(new IoError('The disk is full.'))) // true
 */
export class IoError extends PlugboardError {
  constructor(message: string, details: ErrorDetails = {}) {
    super('IO_ERROR', message, details)
  }
}

/**
 * The server wants a login: `plugboard login NAME`, or a token of the program.
 *
 * @example
 * const error = new AuthRequired('github')
 * console.log(error.message, error.wider) // "github" needs a login. false
 */
export class AuthRequired extends PlugboardError {
  /** There is a valid login, but not for this request: the server's other tools still work. */
  readonly wider: boolean

  constructor(
    server: string,
    { wider = false, ...details }: ErrorDetails & { readonly wider?: boolean } = {},
  ) {
    super('AUTH_REQUIRED', `"${server}" needs a login.`, {
      stage: 'auth',
      hint: `Run \`plugboard login ${server}\`.`,
      ...details,
      server,
    })
    this.wider = wider
  }
}

/**
 * A rule, a policy or missing trust denied it; `message` names which.
 *
 * @example
 * try {
 *   await board.call('notes.say', { text: 'hi' }, { caller: 'agent' })
 * } catch (error) {
 *   // An agent needs a rule, or a user to ask.
 *   console.log(error instanceof PermissionDenied) // true
 * }
 */
export class PermissionDenied extends PlugboardError {
  constructor(message: string, details: ErrorDetails = {}) {
    super('PERMISSION_DENIED', message, details)
  }
}

/**
 * It took longer than allowed.
 *
 * @example
 * const mayTryAgain = (error: unknown) => error instanceof Timeout
 * console.log(mayTryAgain(new Timeout('notes.say took longer than 30 s.'))) // true
 */
export class Timeout extends PlugboardError {
  constructor(message: string, details: ErrorDetails = {}) {
    super('TIMEOUT', message, details)
  }
}

/**
 * The server is switched off, waits for approval, or is blocked by a policy; the reason is in the message.
 *
 * @example
 * console.log(new Disabled('notes', 'pending approval').message) // "notes" is disabled: pending approval.
 */
export class Disabled extends PlugboardError {
  constructor(server: string, reason: string, details: ErrorDetails = {}) {
    super('DISABLED', `"${server}" is disabled: ${reason}.`, { ...details, server })
  }
}

/**
 * The caller's input was wrong: a bad name, a bad argument, a file that cannot be edited.
 *
 * @example
 * try {
 *   await board.call('notes.say', { text: 5 })
 * } catch (error) {
 *   console.log(error instanceof InvalidInput) // true
 * }
 */
export class InvalidInput extends PlugboardError {
  constructor(message: string, details: ErrorDetails = {}) {
    super('INVALID_INPUT', message, details)
  }
}

/**
 * The connection was lost after the call was sent and before its response, and a retry is not safe.
 *
 * @example
 * const advice = (error: unknown) => (error instanceof OutcomeUnknown ? 'look first' : 'call again')
 * console.log(advice(new OutcomeUnknown('The connection was lost.'))) // look first
 */
export class OutcomeUnknown extends PlugboardError {
  constructor(message: string, details: ErrorDetails = {}) {
    super('OUTCOME_UNKNOWN', message, { stage: 'call', ...details })
  }
}

/**
 * The server's response was larger than the limit. Only that call fails; it is not retried, and the connection stays.
 *
 * @example
 * console.log(new AnswerTooLarge('notes', 64 * 1024 * 1024).code) // ANSWER_TOO_LARGE
 */
export class AnswerTooLarge extends PlugboardError {
  constructor(server: string, maxBytes: number, details: ErrorDetails = {}) {
    super(
      'ANSWER_TOO_LARGE',
      `"${server}" sent an answer of more than ${Math.floor(maxBytes / 1024 / 1024)} MiB, so it was not read.`,
      {
        stage: 'call',
        hint: 'Ask for less at a time: a filter, a range or a page, if the tool has one. The server has run the call.',
        ...details,
        server,
      },
    )
  }
}

/**
 * The caller aborted.
 *
 * @example
 * try {
 *   await board.call('notes.say', { text: 'hi' }, { signal: AbortSignal.abort() })
 * } catch (error) {
 *   console.log(error instanceof Cancelled) // true
 * }
 */
export class Cancelled extends PlugboardError {
  constructor(message = 'The operation was cancelled.', details: ErrorDetails = {}) {
    super('CANCELLED', message, details)
  }
}
