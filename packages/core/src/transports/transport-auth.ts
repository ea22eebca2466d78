// transport-auth.ts: how the requests of one transport carry a login: by the auth layer, or by a plain provider of the
// embedding program (`token()` and `onUnauthorized()`, the SDK's interface), which is brought into the same form.
import type { AuthProvider } from '@modelcontextprotocol/client'
import type { AuthResponse, LoginHeaders, RequestAuth } from '../auth/request-auth.ts'

export interface TransportAuth extends Partial<RequestAuth>, Partial<AuthProvider> {
  /** The user asked for a retry: ignore a cached "needs login" record. */
  tryAgain?(): void
}

type FetchLike = Parameters<NonNullable<AuthProvider['onUnauthorized']>>[0]['fetchFn']

/** `fetchFn` is what a plain provider may use to renew its token. */
export function requestAuth(
  auth: TransportAuth | undefined,
  serverUrl: URL,
  fetchFn: FetchLike,
): RequestAuth | undefined {
  if (auth && hasSend(auth)) return auth
  if (!auth?.token) return undefined
  const headers = async (): Promise<LoginHeaders> => {
    const token = await auth.token?.()
    return token === undefined ? {} : { authorization: `Bearer ${token}` }
  }
  return {
    async send(_request, exchange) {
      const response = await exchange(await headers())
      if (response.status !== 401 || !auth.onUnauthorized) return response
      const challenge = asResponse(response)
      response.discard()
      await auth.onUnauthorized({ response: challenge, serverUrl, fetchFn })
      return exchange(await headers())
    },
  }
}

function hasSend(auth: TransportAuth): auth is TransportAuth & RequestAuth {
  return auth.send !== undefined
}

/** A provider reads the status and the challenge. */
function asResponse(response: AuthResponse): Response {
  const challenge = response.header('www-authenticate')
  return new Response(null, {
    status: response.status,
    ...(challenge !== undefined && { headers: { 'www-authenticate': challenge } }),
  })
}
