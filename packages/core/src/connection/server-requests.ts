// server-requests.ts: the requests that a server may send us, however they arrive: as its own request in the legacy
// era, inside a result in 2026-07-28. A capability is advertised exactly when its handler exists.
import { isWithinCall } from '../transports/call-stream-context.ts'
import { withRequestedSchema } from './older-elicitation.ts'
import { JsonRpcError } from './request-errors.ts'
import { type Json, RPC } from './server-info.ts'

/** Who asks, and for which call. */
export interface ServerRequestContext {
  readonly server: string
  /** Aborted when the server withdraws the request or the connection is lost. */
  readonly signal: AbortSignal
  /** The server's key for the request, when it comes inside a result. */
  readonly key?: string
  /** The server's requestState in the result that carries the request; a retry has to send it back. */
  readonly requestState?: unknown
  /** It came on the stream of a call, and the handler runs in the async context of that call. */
  readonly inCall: boolean
}
/** Answers one kind of request of a server. */
export type RequestHandler = (params: Json, asking: ServerRequestContext) => Promise<Json> | Json

/** Handlers for a server's requests. A capability is advertised exactly when its handler is here. */
export interface RequestHandlers {
  readonly elicitForm?: RequestHandler
  readonly elicitUrl?: RequestHandler
  readonly sampling?: RequestHandler
  /** The sampling handler supports `tools` and `toolChoice`. */
  readonly samplingTools?: boolean
  readonly roots?: RequestHandler
  /**
   * The requests of one result may be handled in parallel; otherwise one after the other, as for a user at a
   * terminal.
   */
  readonly together?: boolean
  /** Extensions that are served, by their identifier. */
  readonly extensions?: Readonly<Record<string, object>>
}

export function capabilitiesOf(handlers: RequestHandlers): Json {
  const { elicitForm, elicitUrl, sampling, samplingTools, roots, extensions } = handlers
  return {
    ...((elicitForm || elicitUrl) && {
      elicitation: { ...(elicitForm && { form: {} }), ...(elicitUrl && { url: {} }) },
    }),
    ...(sampling && { sampling: samplingTools ? { tools: {} } : {} }),
    ...(roots && { roots: { listChanged: true } }),
    ...(extensions && Object.keys(extensions).length > 0 && { extensions }),
  }
}

export interface ServerRequestOptions {
  readonly server: string
  readonly handlers: RequestHandlers
  /** A request of the server failed: the server gets the reason, and so does the log. */
  readonly onRefused: (text: string) => void
}

/** The methods that a server may request, however they arrive. */
export class ServerRequests {
  readonly capabilities: Json
  readonly #server: string
  readonly #handlers: RequestHandlers
  readonly #onRefused: ServerRequestOptions['onRefused']

  constructor(options: ServerRequestOptions) {
    this.#server = options.server
    this.#handlers = options.handlers
    this.#onRefused = options.onRefused
    this.capabilities = Object.freeze(capabilitiesOf(options.handlers))
  }

  get together(): boolean {
    return this.#handlers.together === true
  }

  async answer(
    method: string,
    params: Json,
    signal: AbortSignal,
    asked: Pick<ServerRequestContext, 'key' | 'requestState'> = {},
  ): Promise<Json> {
    if (method === 'ping') return {}
    const handler = this.#handlerFor(method, params)
    if (!handler) throw new JsonRpcError(RPC.methodNotFound, `Method not found: ${method}`)
    const inCall = isWithinCall()
    try {
      return await handler(method === 'elicitation/create' ? withRequestedSchema(params) : params, {
        server: this.#server,
        signal,
        inCall,
        ...asked,
      })
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error)
      if (!signal.aborted) this.#onRefused(`Its question (${method}) got no answer: ${why}`)
      throw error
    }
  }

  #handlerFor(method: string, params: Json): RequestHandler | undefined {
    const { elicitForm, elicitUrl, sampling, roots } = this.#handlers
    switch (method) {
      case 'elicitation/create': {
        const handler = params.mode === 'url' ? elicitUrl : elicitForm
        if (!handler && (elicitForm || elicitUrl))
          throw new JsonRpcError(RPC.invalidParams, 'This mode of elicitation is not supported')
        return handler
      }
      case 'sampling/createMessage':
        return sampling
      case 'roots/list':
        return roots
      default:
        return undefined
    }
  }
}
