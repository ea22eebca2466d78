// auth-refused.ts: the one error for a refused authorization step, with a code for each reason. It is about what the
// other side sent; a missing login is AuthRequired, a network failure is IoError.
import { type ErrorDetails, InitError } from '../errors.ts'
import { secretForms } from '../text/known-secrets.ts'

export type AuthRefusalReason =
  | 'insecure-url'
  | 'private-address'
  | 'cross-origin-redirect'
  | 'too-many-redirects'
  | 'response-too-large'
  | 'bad-response'
  | 'bad-metadata'
  | 'cross-origin-metadata'
  | 'issuer-mismatch'
  | 'address-mismatch'
  | 'unbound-credentials'
  | 'resource-mismatch'
  | 'state-mismatch'
  | 'bad-authorization-url'
  | 'pkce-unsupported'
  | 'registration-refused'
  | 'callback-port-busy'
  | 'access-denied'
  | 'token-refused'
  | 'client-refused'
  | 'bad-id-token'
  | 'wrong-user'

/** A step of the authorization flow was hostile or broken; `refusal` names it. */
export class AuthRefused extends InitError {
  readonly refusal: AuthRefusalReason
  constructor(refusal: AuthRefusalReason, message: string, details: ErrorDetails = {}) {
    super(message, { stage: 'auth', ...details })
    this.refusal = refusal
  }
}

const UNPRINTABLE = /[^\x20-\x7e]+/g

/** Untrusted text, made safe to show: printable, short, and without any of the secrets in use. */
export function quoted(text: unknown, secrets: readonly (string | undefined)[] = []): string {
  let safe = typeof text === 'string' ? text : ''
  for (const secret of secrets)
    if (secret && secret.length > 3)
      for (const form of [secret, ...secretForms(secret)]) safe = safe.replaceAll(form, '***')
  safe = safe.replace(UNPRINTABLE, ' ').trim()
  return safe.length > 200 ? `${safe.slice(0, 200)}…` : safe
}

/** A URL that is safe to show: without credentials, query or fragment, which may hold secrets. */
export function shownUrl(url: string | URL): string {
  const parsed = URL.canParse(String(url)) ? new URL(String(url)) : undefined
  return parsed ? quoted(`${parsed.protocol}//${parsed.host}${parsed.pathname}`) : quoted(String(url))
}
