// transports/plain-json-rpc.ts: JSON-RPC for callers that do not know MCP's transports: one POST, one response. Nothing is kept between
// two requests: each is served by a server of its own, so callers cannot affect each other, and no initialize is needed.
import { randomUUID } from 'node:crypto'
import {
  type JSONRPCMessage,
  type JSONRPCRequest,
  type McpServerFactory,
  SUPPORTED_PROTOCOL_VERSIONS,
  type Transport,
} from '@modelcontextprotocol/server'
import { serveStdio } from '@modelcontextprotocol/server/stdio'
import { HTTP_LIMITS } from '../limits.ts'
import { UNSTRUCTURED_VERSION } from '../mcp.ts'
import { asMessage, isModern, misshapen, RPC, type RpcError, rpcError } from './handshake-gate.ts'
import { linkedPair } from './linked.ts'
import { unstructuredWhenOld } from './unstructured.ts'

export interface PlainAnswer {
  readonly status: number
  readonly body?: unknown
}

export interface PlainRequest {
  /** The MCP-Protocol-Version header of a caller that has one. */
  readonly version?: string | undefined
  /** The caller is gone. */
  readonly signal?: AbortSignal | undefined
}

/** These need no handshake in any version. */
const DIRECT = new Set(['initialize', 'server/discover'])

export class PlainEndpoint {
  readonly #factory: McpServerFactory
  readonly #stop = new AbortController()

  constructor(factory: McpServerFactory) {
    this.#factory = factory
  }

  async post(value: unknown, request: PlainRequest = {}): Promise<PlainAnswer> {
    if (!Array.isArray(value)) return this.#one(value, request)
    if (value.length === 0 || value.length > HTTP_LIMITS.batch)
      return {
        status: 400,
        body: rpcError(null, RPC.invalidRequest, `A batch holds 1 to ${HTTP_LIMITS.batch} messages.`),
      }
    const answers: unknown[] = []
    for (const item of value) {
      const { body } = await this.#one(item, request)
      if (body !== undefined) answers.push(body)
    }
    return answers.length > 0 ? { status: 200, body: answers } : { status: 202 }
  }

  /** Every call that is still open is answered with an error. */
  async close(): Promise<void> {
    this.#stop.abort()
  }

  async #one(value: unknown, { version, signal }: PlainRequest): Promise<PlainAnswer> {
    const sorted = asMessage(value)
    if ('error' in sorted) return { status: 400, body: sorted.error }
    const { message } = sorted
    // A notification or a response belongs to a session, and there is none.
    if (!('method' in message) || !('id' in message)) return { status: 202 }
    const refusal = misshapen(message)
    if (refusal) return { status: 200, body: refusal }
    const ended = signal ? AbortSignal.any([this.#stop.signal, signal]) : this.#stop.signal
    return { status: 200, body: await answer(this.#factory, message, version, ended) }
  }
}

/** Serves one request with a new server that is closed afterwards. */
async function answer(
  factory: McpServerFactory,
  request: JSONRPCRequest,
  version: string | undefined,
  ended: AbortSignal,
): Promise<JSONRPCMessage | RpcError> {
  const [client, server] = linkedPair()
  const served = serveStdio(factory, { transport: unstructuredWhenOld(server) })
  const peer = new ClientPeer(client)
  const give = (message: string) => () => peer.end(message)
  const timer = setTimeout(give('The call took too long.'), HTTP_LIMITS.requestMs)
  const onEnd = give('The server is shutting down, or the caller is gone.')
  ended.addEventListener('abort', onEnd, { once: true })
  if (ended.aborted) onEnd()
  try {
    await client.start()
    if (!isModern(request) && !DIRECT.has(request.method)) await peer.open(version)
    // An id of ours: the caller's may be the one of the handshake.
    return { ...(await peer.ask({ ...request, id: randomUUID() })), id: request.id }
  } finally {
    clearTimeout(timer)
    ended.removeEventListener('abort', onEnd)
    await served.close()
  }
}

/** The client's side of one linked pair. */
class ClientPeer {
  readonly #end: Transport
  readonly #waiting = new Map<unknown, (answer: JSONRPCMessage) => void>()
  #ended: string | undefined

  constructor(end: Transport) {
    this.#end = end
    end.onmessage = (message) => {
      if ('method' in message || !('id' in message)) return
      this.#waiting.get(message.id)?.(message)
      this.#waiting.delete(message.id)
    }
  }

  async open(version: string | undefined): Promise<void> {
    const protocolVersion =
      version !== undefined && SUPPORTED_PROTOCOL_VERSIONS.includes(version) ? version : UNSTRUCTURED_VERSION
    const clientInfo = { name: 'plain-json-rpc', version: '1' }
    const params = { protocolVersion, capabilities: {}, clientInfo }
    await this.ask({ jsonrpc: '2.0', id: randomUUID(), method: 'initialize', params })
    await this.#end.send({ jsonrpc: '2.0', method: 'notifications/initialized' })
  }

  ask(request: JSONRPCRequest): Promise<JSONRPCMessage> {
    return new Promise((done, fail) => {
      this.#waiting.set(request.id, done)
      if (this.#ended !== undefined) this.end(this.#ended)
      else this.#end.send(request).catch(fail)
    })
  }

  /** Answers in the server's place, so that the caller's socket does not wait for ever. */
  end(message: string): void {
    this.#ended = message
    for (const [id, done] of this.#waiting)
      done({ jsonrpc: '2.0', id: String(id), error: { code: RPC.internal, message } })
    this.#waiting.clear()
  }
}
