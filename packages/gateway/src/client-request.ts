// client-request.ts: a client of the gateway as the rest of it sees one: what it can be told and asked, and one request of it.
// How messages travel is the transports' business.
import { JsonRpcError } from '@plugboard/core'
import { type ClientCapabilities, type Era, type Id, type Json, RPC } from './json-rpc.ts'

export interface Client {
  readonly id: string
  readonly era: Era
  readonly capabilities: ClientCapabilities
  /** From this level on it wants log messages; none when undefined. */
  readonly logLevel: string | undefined
  /** Tells it something that belongs to no request. */
  notify(method: string, params: Json): void
}

/** One request of one client, from its arrival to its answer. */
export interface ClientRequest {
  readonly client: Client
  readonly id: Id
  readonly signal: AbortSignal
  /** Tells the client something about this request. */
  notify(method: string, params: Json): void
  /** Throws when the wire says something else about the call of a tool than its body; asked when the tool is known. */
  readonly vet?: (params: Json) => void
  /** Asks the client something on behalf of this request. */
  ask(method: string, params: Json, signal: AbortSignal, origin?: Origin): Promise<Json>
  /** True while the client is not waiting for this request: it was asked something, or its connection broke. */
  away?(): boolean
  /** The server that this request takes up a question of; no other may get it. */
  readonly resumes?: string
}

/** Where a question comes from: a server of 2026-07-28 names it, and can be asked again with its own state. */
export interface Origin {
  readonly server: string
  readonly key: string
  readonly requestState: unknown
}

/** The call that was to bring a question to its client has ended before the client saw it. */
export class CallEnded extends JsonRpcError {
  constructor() {
    super(RPC.internal, 'The call that could have brought this question to its client is over.')
  }
}
