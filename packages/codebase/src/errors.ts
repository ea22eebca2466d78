// errors.ts: what can go wrong when a folder is read and searched, told apart by `code`.
// The MCP layer turns these into tool errors; it never reads their text.

/** The codes of its errors. */
export type CodebaseErrorCode =
  | 'OUTSIDE_ROOT'
  | 'PROTECTED'
  | 'NOT_FOUND'
  | 'IS_DIRECTORY'
  | 'NOT_A_DIRECTORY'
  | 'NOT_A_FILE'
  | 'NOT_TEXT'
  | 'TOO_LARGE'
  | 'BAD_INPUT'
  | 'BAD_PATTERN'
  | 'ROOT_GONE'
  | 'TIMEOUT'
  | 'CANCELLED'
  | 'IO'

/**
 * The search cannot do what was asked; the code says why.
 *
 * @example
 * const server = createCodebaseServer({ root: '/no/such/folder' })
 * try {
 *   await server.status()
 * } catch (error) {
 *   if (error instanceof CodebaseError) console.log(error.code) // ROOT_GONE
 * }
 * await server.close()
 */
export class CodebaseError extends Error {
  readonly code: CodebaseErrorCode
  /** What the user or the model can do about it, as one sentence. */
  readonly hint: string | undefined

  constructor(code: CodebaseErrorCode, message: string, hint?: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause })
    this.name = 'CodebaseError'
    this.code = code
    this.hint = hint
  }
}

/** The error number of a failed system call, if that is what it was. */
export function errno(error: unknown): string | undefined {
  const code = error instanceof Error ? (error as NodeJS.ErrnoException).code : undefined
  return typeof code === 'string' ? code : undefined
}
