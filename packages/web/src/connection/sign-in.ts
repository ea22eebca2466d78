// sign-in.ts: the one-time token of the address for a session of this page. The cookie half is out of reach of scripts; the
// proof half is stored for this origin alone.

export interface SignedIn {
  readonly board: string
  /** Read anew for every connection: another page of this browser may have signed in since, and the cookie is shared. */
  readonly proof: () => string
}

const PROOF = 'plugboard.proof'
const BOARD = 'plugboard.board'

/** Undefined when there is neither a token nor an earlier session. */
export async function signIn(): Promise<SignedIn | undefined> {
  const given = new URLSearchParams(location.hash.slice(1))
  const token = given.get('token')
  if (token !== null) {
    // Out of the address bar and the history before anything else happens.
    const view = given.get('view')
    history.replaceState(null, '', view === null ? '/' : `/#/${view}`)
    const response = await fetch('/session', {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify({ token }),
    })
    if (response.ok) {
      const { proof } = (await response.json()) as { readonly proof: string }
      localStorage.setItem(PROOF, proof)
    }
    const board = given.get('board')
    if (board !== null) sessionStorage.setItem(BOARD, board)
  }
  if (localStorage.getItem(PROOF) === null) return undefined
  return {
    proof: () => localStorage.getItem(PROOF) ?? '',
    board: sessionStorage.getItem(BOARD) ?? '',
  }
}
