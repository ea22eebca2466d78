// own-tool.ts: the type of a tool that the program behind the gateway brings itself.
import type { Client } from './client-request.ts'
import type { Json } from './json-rpc.ts'

/** A tool that the gateway itself offers beside those of its servers. */
export interface OwnTool {
  readonly definition: Json & { readonly name: string }
  call(args: Json, context: OwnToolContext): Promise<Json>
}

/** What a tool of the gateway knows about the call and its client. */
export interface OwnToolContext {
  readonly signal: AbortSignal
  readonly capabilities: Client['capabilities']
  /** The definitions of the tools that this client sees. */
  readonly tools: readonly Json[]
  /** Calls one of them; refused unless a rule allows it or the client's user says yes. */
  callTool(name: string, args: Json): Promise<Json>
  /** Sends a request to the client, such as sampling. */
  ask(method: string, params: Json, signal: AbortSignal): Promise<Json>
  /** Tells a client that asked for progress. */
  progress(message: string): void
}
