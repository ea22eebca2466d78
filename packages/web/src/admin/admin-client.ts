// admin-client.ts: the administration's actions over HTTP. A session is a cookie that no script can read and a proof that is stored
// for this origin alone.
import { RequestFailed } from '../connection/request-failed.ts'

const PROOF = 'plugboard.admin.proof'

/** With the token of the address, or one that the user typed. False when it is not the right one. */
export async function signIn(token: string): Promise<boolean> {
  const response = await fetch('/session', {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ token }),
  })
  if (!response.ok) return false
  const { proof } = (await response.json()) as { readonly proof: string }
  localStorage.setItem(PROOF, proof)
  return true
}

/** The token of the address, which is taken out of the address bar and the history at once. */
export function tokenOfAddress(): string | undefined {
  const token = new URLSearchParams(location.hash.slice(1)).get('token') ?? undefined
  if (token !== undefined) history.replaceState(null, '', '/')
  return token
}

export function hasSession(): boolean {
  return localStorage.getItem(PROOF) !== null
}

export function signOut(): void {
  localStorage.removeItem(PROOF)
}

/** The session is not known: the gateway was started again, or another port had it. */
export class SignedOut extends Error {}

export async function act<T>(method: 'GET' | 'POST' | 'DELETE', ...words: readonly string[]): Promise<T> {
  const response = await fetch(`/page/${words.map(encodeURIComponent).join('/')}`, {
    method,
    headers: { 'X-Plugboard-Proof': localStorage.getItem(PROOF) ?? '' },
  })
  if (response.status === 401) throw new SignedOut()
  const body = (await response.json()) as T & { readonly error?: string }
  if (!response.ok)
    throw new RequestFailed('REFUSED', body.error ?? `The gateway answered ${response.status}.`)
  return body
}
