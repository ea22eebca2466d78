// protected-resource.ts: the gateway as an OAuth protected resource (RFC 9728): its metadata, and the challenge that leads a client
// to them.
import { METADATA_PATH } from '../access/access.ts'
import type { GatewayConfig } from '../config/schema.ts'

export interface ProtectedResource {
  /** The address of the endpoint: tokens are made for it. */
  readonly resource: string
  readonly metadataUrl: string
  readonly metadata: Readonly<Record<string, unknown>>
  readonly scopes: readonly string[]
}

/** The endpoint's address as clients use it. */
export function resourceOf(publicUrl: string): string {
  const { origin, pathname } = new URL(publicUrl)
  const path = pathname.replace(/\/+$/, '')
  return `${origin}${path.endsWith('/mcp') ? path : `${path}/mcp`}`
}

/** Undefined while no issuer is configured: then there is nothing that OAuth could lead to. */
export function protectedResource({ publicUrl, auth }: GatewayConfig): ProtectedResource | undefined {
  const issuers = auth?.issuers ?? []
  if (publicUrl === undefined || issuers.length === 0) return undefined
  const resource = resourceOf(publicUrl)
  const { origin, pathname } = new URL(resource)
  const scopes = [...new Set(issuers.flatMap((one) => one.scopes ?? []))]
  return {
    resource,
    metadataUrl: `${origin}${METADATA_PATH}${pathname}`,
    scopes,
    metadata: {
      resource,
      authorization_servers: issuers.map(({ issuer }) => issuer),
      bearer_methods_supported: ['header'],
      ...(scopes.length > 0 && { scopes_supported: scopes }),
      resource_name: 'Plugboard',
    },
  }
}

export type ChallengeError = 'invalid_token' | 'insufficient_scope'

/** The header `WWW-Authenticate` (RFC 6750, RFC 9728). */
export function challenge(
  resource: ProtectedResource | undefined,
  error?: {
    readonly error: ChallengeError
    readonly description: string
    readonly scopes?: readonly string[]
  },
): string {
  const scopes = error?.scopes ?? resource?.scopes ?? []
  const parts: [string, string | undefined][] = [
    ['realm', 'plugboard'],
    ['error', error?.error],
    ['error_description', error?.description],
    ['scope', scopes.length > 0 ? scopes.join(' ') : undefined],
    ['resource_metadata', resource?.metadataUrl],
  ]
  const written = parts.flatMap(([key, value]) => (value === undefined ? [] : [`${key}="${quoted(value)}"`]))
  return `Bearer ${written.join(', ')}`
}

/** What may stand in a quoted string of a header. */
function quoted(text: string): string {
  return text.replace(/[^\x20-\x7e]/g, '?').replace(/["\\]/g, "'")
}
