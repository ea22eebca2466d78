// authorization-code.ts: the browser part of a login, and the checks on the redirect that comes back. It neither
// discovers endpoints nor exchanges the code.
import { createHash, randomBytes } from 'node:crypto'
import type { AuthorizationServer } from 'oauth4webapi'
import { Cancelled } from '../errors.ts'
import type { Host } from '../host.ts'
import { AuthRefused, quoted, shownUrl } from './auth-refused.ts'
import { openBrowser } from './browser.ts'
import { type Callback, listenForCallback, sameSecret } from './callback.ts'
import { checkedAuthorizationUrl } from './discovery.ts'

export interface AuthorizationCodeOptions {
  /** Start the browser; `onUrl` receives the address in any case. */
  readonly openBrowser: boolean
  readonly onUrl?: (url: string, browserOpened: boolean) => void
  /**
   * Waits for the user to paste the redirect address; the first of it and the callback counts. Undefined means that
   * no paste will come and only the callback is left.
   */
  readonly readPasted?: (signal: AbortSignal) => Promise<string | undefined>
  readonly signal?: AbortSignal
}

export interface AuthorizationRequest {
  readonly redirectUri: string
  /** Sends the user to the authorization server; returns the code from the redirect. */
  go(
    as: AuthorizationServer,
    params: Readonly<Record<string, string | undefined>>,
  ): Promise<AuthorizationCodeGrant>
  close(): Promise<void>
}

export interface AuthorizationCodeGrant {
  readonly code: string
  readonly verifier: string
}

export interface AuthorizationRequestOptions {
  readonly host: Host
  readonly server: string
  readonly port?: number | undefined
  readonly preferredPort?: number | undefined
  readonly interaction: AuthorizationCodeOptions
}

/** Starts the callback server first: the client has to register the address that it listens on. */
export async function prepareAuthorization(
  options: AuthorizationRequestOptions,
): Promise<AuthorizationRequest> {
  const { interaction, server, host } = options
  const state = secret()
  let callback: Callback | undefined
  try {
    callback = await listenForCallback({ ...options, state })
  } catch (error) {
    // Pasting needs no port.
    if (!interaction.readPasted) throw error
  }
  const redirectUri =
    callback?.redirectUri ?? `http://localhost:${options.port ?? options.preferredPort ?? 8976}/callback`
  return {
    redirectUri,
    async go(as, params) {
      const verifier = secret()
      const url = authorizationUrl(server, as, { redirectUri, state, verifier }, params)
      const opened = interaction.openBrowser && (await openBrowser(host, url))
      interaction.onUrl?.(url.href, opened)
      const answer = await firstAnswer(callback, interaction, server)
      return { code: checkedAnswer(server, as, answer, state), verifier }
    },
    close: async () => callback?.close(),
  }
}

export const secret = () => randomBytes(32).toString('base64url')

/** Where the user is sent. The verifier stays here; its digest goes along (PKCE). */
export function authorizationUrl(
  server: string,
  as: AuthorizationServer,
  visit: { readonly redirectUri: string; readonly state: string; readonly verifier: string },
  params: Readonly<Record<string, string | undefined>>,
): URL {
  const url = new URL(checkedAuthorizationUrl(server, as.authorization_endpoint))
  const query = {
    response_type: 'code',
    redirect_uri: visit.redirectUri,
    state: visit.state,
    code_challenge: createHash('sha256').update(visit.verifier).digest('base64url'),
    code_challenge_method: 'S256',
    ...params,
  }
  for (const [name, value] of Object.entries(query))
    if (value !== undefined) url.searchParams.set(name, value)
  return url
}

async function firstAnswer(
  callback: Callback | undefined,
  interaction: AuthorizationCodeOptions,
  server: string,
): Promise<URLSearchParams> {
  const stop = new AbortController()
  const cancelled = new Promise<never>((_, fail) => {
    const cancel = () =>
      fail(new Cancelled(`The login of "${server}" was cancelled.`, { server, stage: 'auth' }))
    if (interaction.signal?.aborted) cancel()
    else interaction.signal?.addEventListener('abort', cancel, { once: true, signal: stop.signal })
  })
  const ways = [cancelled, ...(callback ? [callback.answer] : [])]
  if (interaction.readPasted)
    ways.push(
      interaction.readPasted(stop.signal).then((text) => {
        if (text !== undefined) return parsePasted(server, text)
        if (callback) return callback.answer
        throw new Cancelled('Nothing was pasted.', { server, stage: 'auth' })
      }),
    )
  // The slower ways may still fail after one has succeeded; their results are ignored.
  for (const way of ways) way.catch(() => undefined)
  try {
    return await Promise.race(ways)
  } finally {
    stop.abort()
  }
}

/** The whole redirect address, or just its query. */
function parsePasted(server: string, text: string): URLSearchParams {
  const trimmed = text.trim().slice(0, 16_384)
  if (URL.canParse(trimmed)) return new URL(trimmed).searchParams
  if (/(^|[?&])(code|error)=/.test(trimmed)) return new URLSearchParams(trimmed.replace(/^[^?]*\?/, ''))
  throw new AuthRefused('state-mismatch', 'What was pasted is not the address the browser was sent to.', {
    server,
    hint: 'After the login the browser shows an address that starts with http://localhost; paste all of it.',
  })
}

/** Check state first, then the issuer; only then trust anything in the response, even an error. */
export function checkedAnswer(
  server: string,
  as: AuthorizationServer,
  answer: URLSearchParams,
  state: string,
): string {
  if (!sameSecret(answer.get('state') ?? '', state))
    throw new AuthRefused(
      'state-mismatch',
      `The answer does not belong to this login of "${server}" (wrong state).`,
      {
        server,
        hint: `Start again with \`plugboard login ${server}\`, and use only the page it opens.`,
      },
    )
  const iss = answer.get('iss')
  if (iss === null ? as.authorization_response_iss_parameter_supported === true : iss !== as.issuer)
    throw new AuthRefused(
      'issuer-mismatch',
      `The answer to the login of "${server}" does not come from ${shownUrl(as.issuer)} (${iss === null ? 'no' : 'another'} issuer in it): a mix-up attack looks like this.`,
      { server, hint: 'Nothing was sent. Do not repeat the login before you know why.' },
    )
  const error = answer.get('error')
  if (error !== null) {
    const words = quoted(answer.get('error_description') ?? '')
    throw new AuthRefused(
      'access-denied',
      `${shownUrl(as.issuer)} refused the login: ${quoted(error).slice(0, 64)}${words && ` (${words})`}.`,
      { server, hint: `Run \`plugboard login ${server}\` to try again.` },
    )
  }
  const code = answer.get('code')
  if (code) return code
  throw new AuthRefused('bad-response', `The answer to the login of "${server}" has no code.`, { server })
}
