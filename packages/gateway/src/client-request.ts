// client-request.ts: a client of the gateway as the other files see it: how to notify and ask it, and one request of it.
// How messages travel is left to the transports.
import { JsonRpcError, type TaskState } from '@plugboard/core'
import type { Cancellation } from '@plugboard/core/async/waits'
import type { User } from './access/access.ts'
import type { Exposure } from './access/exposure.ts'
import { type ClientCapabilities, type Era, type Id, type Json, RPC } from './json-rpc.ts'
import type { ToolRef } from './views/views.ts'

export interface Client {
  readonly id: string
  readonly era: Era
  /** Whose requests these are, as far as the transport can tell: the token, or the pipe. */
  readonly owner: string
  /** What it calls itself in `clientInfo`. */
  readonly name?: string | undefined
  /** What it sees; it learns nothing about the rest. */
  readonly exposure: Exposure
  /** No token decides what it sees: every client of the endpoint sees the same. */
  readonly isAnonymous?: boolean
  /** Its user, where the gateway knows users by name. */
  readonly user?: User | undefined
  readonly capabilities: ClientCapabilities
  /** It may ask for a call as a task of 2025-11-25. */
  readonly asksForTasks?: boolean
  /** The client wants log messages from this level on; none when undefined. */
  readonly logLevel: string | undefined
  /** Sends a notification that belongs to no request. */
  notify(method: string, params: Json): void
}

/** One request of one client, from its arrival to its response. */
export interface ClientRequest {
  readonly client: Client
  readonly id: Id
  readonly signal: AbortSignal
  /** What the signal is made from, where it is made only when something has to wait. */
  readonly cancellation?: Cancellation
  /** Sends a notification about this request. */
  notify(method: string, params: Json): void
  /** Tells the client how much it may still call, where the transport can. */
  tellBudget?(headers: readonly string[]): void
  /** Throws when the HTTP headers contradict the arguments of a tool call; called once the tool is known. */
  checkHeaders?(tool: ToolRef, args: unknown): void
  /** Sends a request to the client on behalf of this one. */
  ask(method: string, params: Json, signal: AbortSignal, origin?: Origin): Promise<Json>
  /** True while the client is not waiting for this request: it was asked a question, or its connection broke. */
  away?(): boolean
  /** A tool that can run as a task should: the client has a use for it. */
  readonly prefersTask?: boolean
  /** The call became a task of the server, or there is news of it. */
  onTask?(task: TaskState): void
  /** The server whose question this request answers; no other server may get it. */
  readonly resumes?: string
}

/** The connection that a response goes to, where it can break before the response is sent. */
export interface ResponseConnection {
  readonly gone: boolean
  /** Called once, when the client has left and will not come back for the response. */
  onGone: (() => void) | undefined
  /** What the user may still call, for the headers of the response. */
  tellBudget?(headers: readonly string[]): void
}

/** Where a question comes from: a server of 2026-07-28 names it, and can be asked again with its own state. */
export interface Origin {
  readonly server: string
  readonly key: string
  readonly requestState: unknown
}

/** As the server of an origin: the gateway itself asks, before a server has seen the call. */
export const GATEWAY_ITSELF = ''

/** The call that was to carry a question to its client ended before the client saw it. */
export class CallEnded extends JsonRpcError {
  constructor() {
    super(RPC.internal, 'The call that could have carried this question to its client is over.')
  }
}
