// errors.ts: what can go wrong when files are changed and commands run, told apart by `code`. Errors about paths are those of
// the codebase package, whose root.ts finds every file.
import { CodebaseError } from '@plugboard/codebase/root'

export type WorkspaceErrorCode =
  | 'BAD_INPUT'
  | 'BAD_PATCH'
  | 'CHANGED'
  | 'EXISTS'
  | 'IO'
  | 'NOT_STARTED'
  | 'NO_CHANGE'
  | 'NO_MATCH'
  | 'NOTHING_TO_UNDO'
  | 'NOT_TEXT'
  | 'PROTECTED'
  | 'SEVERAL_MATCHES'
  | 'TOO_LARGE'

export class WorkspaceError extends Error {
  readonly code: WorkspaceErrorCode
  /** What the user or the model can do about it, as one sentence. */
  readonly hint: string | undefined

  constructor(code: WorkspaceErrorCode, message: string, hint?: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause })
    this.name = 'WorkspaceError'
    this.code = code
    this.hint = hint
  }
}

/** An error that a model can act on, rather than a fault of this program. */
export function isToolError(error: unknown): error is WorkspaceError | CodebaseError {
  return error instanceof WorkspaceError || error instanceof CodebaseError
}

export function errorText({ code, message, hint }: WorkspaceError | CodebaseError): string {
  return `${code}: ${message}${hint === undefined ? '' : ` ${hint}`}`
}
