// client.ts: a client of the gateway as the rest of it sees one: what it can be told and asked, and one request of it.
// How messages travel is the transports' business.
import type { ClientCapabilities, Era, Id, Json } from './protocol.ts'

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
export interface Exchange {
  readonly client: Client
  readonly id: Id
  readonly signal: AbortSignal
  /** Tells the client something about this request. */
  notify(method: string, params: Json): void
  /** Asks the client something on behalf of this request. */
  ask(method: string, params: Json, signal: AbortSignal): Promise<Json>
}
