// request-failed.ts: an error of the resident process as the page shows it.

export class RequestFailed extends Error {
  readonly code: string
  readonly hint: string | undefined

  constructor(code: string, message: string, hint?: string) {
    super(message)
    this.code = code
    this.hint = hint
  }
}

interface Told {
  readonly message?: string
  readonly code?: string | number
  readonly hint?: string
  readonly data?: Told
}

export function readError(error: unknown): RequestFailed {
  const { message, data, code } = error as Told
  return new RequestFailed(
    String(data?.code ?? code ?? 'ERROR'),
    data?.message ?? message ?? 'It failed.',
    data?.hint,
  )
}

/** Any failure as a text with what to do about it. */
export function failureOf(error: unknown): RequestFailed {
  return error instanceof RequestFailed
    ? error
    : new RequestFailed('ERROR', error instanceof Error ? error.message : String(error))
}
