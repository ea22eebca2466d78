// session-ids.ts: sealed session ids: what a legacy session is, bound to its owner, so that a session that is no longer in
// memory can be rebuilt from its id. sessions.ts and sse-sessions.ts own the sessions.
import type { AuthorizedClient } from '../access/access.ts'
import type { Handshake } from '../eras/legacy.ts'
import type { Gateway } from '../gateway.ts'
import {
  clientNameOf,
  declared,
  isLegacyVersion,
  isObject,
  type Json,
  readCapabilities,
} from '../json-rpc.ts'
import { randomId } from '../sealing/random-id.ts'

/** What a session id holds. */
export interface SessionClaims {
  /** The id without its seal, by which an ended session is remembered. */
  readonly sid: string
  /** When its seal expires, in milliseconds since the epoch. */
  readonly until: number
}

export interface OpenedClaims extends SessionClaims {
  readonly handshake: Handshake
}

/** An id of one transport opens nothing on the other. */
type Purpose = 'session' | 'sse-session'

export function sealSessionId(
  gateway: Gateway,
  purpose: Purpose,
  { owner }: AuthorizedClient,
  handshake: Handshake,
  client?: Json,
): SessionClaims & { readonly id: string } {
  const now = Date.now()
  const sid = randomId(16)
  const id = gateway.keys.seal(purpose, {
    sid,
    owner: shortOwner(owner),
    version: handshake.protocolVersion,
    can: declared(handshake.capabilities),
    ...(client && { client }),
    iat: now,
  })
  return { id, sid, until: now + gateway.limits.sessionMaxMs }
}

/** Undefined when the id is not ours, has expired, or belongs to another owner. */
export function openSessionId(
  gateway: Gateway,
  purpose: Purpose,
  { owner }: AuthorizedClient,
  id: string,
): OpenedClaims | undefined {
  const value = gateway.keys.open(purpose, id)
  if (!value || value.owner !== shortOwner(owner)) return undefined
  const { sid, version, can, iat } = value
  if (typeof sid !== 'string' || typeof version !== 'string' || typeof iat !== 'number') return undefined
  const until = iat + gateway.limits.sessionMaxMs
  if (!isLegacyVersion(version) || until <= Date.now()) return undefined
  return {
    sid,
    until,
    handshake: {
      protocolVersion: version,
      capabilities: readCapabilities(can),
      clientName: clientNameOf(value.client),
    },
  }
}

/** Enough of a digest to tell owners apart, and short in a header. */
function shortOwner(owner: string): string {
  return owner.slice(0, 32)
}

/** The client's own name for itself, bounded. */
export function clientName(params: Json): Json | undefined {
  const { clientInfo } = params
  if (!isObject(clientInfo)) return undefined
  const short = (value: unknown) => (typeof value === 'string' ? value.slice(0, 64) : undefined)
  return { name: short(clientInfo.name), version: short(clientInfo.version) }
}
