// transports/streamable.ts: Streamable HTTP in both eras. Requests that name their protocol version are served one by one;
// all others belong to a session, which an initialize opens. Faults of a request are reported here, with the same codes as
// over stdio; the SDK serves correct ones.
import { randomUUID } from 'node:crypto'
import {
  createMcpHandler,
  isLegacyRequest,
  type JSONRPCMessage,
  type McpRequestContext,
  type McpServerFactory,
  WebStandardStreamableHTTPServerTransport,
} from '@modelcontextprotocol/server'
import { HTTP_LIMITS } from '../limits.ts'
import { asMessage, HandshakeGate, misshapen, RPC, type RpcError, rpcError } from './handshake-gate.ts'
import { unstructuredWhenOld } from './unstructured.ts'

interface Session {
  readonly gate: HandshakeGate
  readonly transport: WebStandardStreamableHTTPServerTransport
  /** The ids of requests whose responses have not ended: a second one of the same id would take the first one's response. */
  readonly open: Set<unknown>
}

type Posted = { readonly parsedBody?: unknown }

export class StreamableEndpoint {
  readonly #factory: McpServerFactory
  readonly #modern: ReturnType<typeof createMcpHandler>
  /** In the order of last use. */
  readonly #sessions = new Map<string, Session>()

  constructor(factory: McpServerFactory) {
    this.#factory = factory
    this.#modern = createMcpHandler(factory, { legacy: 'reject' })
  }

  /** `parsedBody` is the body of a POST, whatever it is; other methods have none. */
  async fetch(request: Request, { parsedBody }: Posted = {}): Promise<Response> {
    const isPost = request.method === 'POST'
    const fault = firstFault(parsedBody)
    if (fault) return refusal(400, fault)
    if (isPost && !(await isLegacyRequest(request, parsedBody))) {
      const wrong = firstFault(parsedBody, misshapen)
      return wrong ? refusal(200, wrong) : this.#modern.fetch(request, { parsedBody })
    }
    const id = request.headers.get('mcp-session-id')
    if (id !== null) return this.#serve(id, request, parsedBody)
    if (isPost && isInitialize(parsedBody)) return this.#open(request, parsedBody)
    const method = isPost ? nameOf(parsedBody) : request.method
    return refusal(
      400,
      rpcError(idOf(parsedBody), RPC.order, `Not initialized: send initialize before ${method}.`),
    )
  }

  async #serve(id: string, request: Request, body: unknown): Promise<Response> {
    const session = this.#sessions.get(id)
    if (!session) return refusal(404, rpcError(idOf(body), RPC.order, 'There is no such session.'))
    this.#sessions.delete(id)
    this.#sessions.set(id, session)
    const wrong = firstFault(body, (message) => session.gate.check(message))
    if (wrong) return refusal(wrong.error.code === RPC.order ? 400 : 200, wrong)
    const ids = requestIds(body)
    const again = ids.find((one, at) => session.open.has(one) || ids.indexOf(one) !== at)
    if (again !== undefined)
      return refusal(400, rpcError(again, RPC.invalidRequest, 'A request with this id is still open.'))
    for (const one of ids) session.open.add(one)
    const over = () => {
      for (const one of ids) session.open.delete(one)
    }
    try {
      const response = await session.transport.handleRequest(request, { parsedBody: body })
      await endCancelled(session, body)
      return untilEnd(response, over)
    } catch (error) {
      over()
      throw error
    }
  }

  async #open(request: Request, body: unknown): Promise<Response> {
    const gate = new HandshakeGate()
    const wrong = firstFault(body, (message) => gate.check(message))
    if (wrong) return refusal(200, wrong)
    const transport = new WebStandardStreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      onsessioninitialized: (id) => this.#keep(id, { gate, transport, open: new Set() }),
    })
    const context: McpRequestContext = { era: 'legacy', requestInfo: request }
    const server = await this.#factory(context)
    await server.connect(unstructuredWhenOld(transport))
    const served = transport.onclose
    transport.onclose = () => {
      served?.()
      if (transport.sessionId !== undefined) this.#sessions.delete(transport.sessionId)
    }
    const response = await transport.handleRequest(request, { parsedBody: body })
    // Refused, for what it accepts or the version it names: the client never learned of this session.
    if (transport.sessionId === undefined) await transport.close()
    return response
  }

  /** The client of an evicted session gets 404 when it comes back, and opens another. */
  #keep(id: string, session: Session): void {
    this.#sessions.set(id, session)
    const [oldest] = this.#sessions
    if (this.#sessions.size > HTTP_LIMITS.sessions && oldest) void oldest[1].transport.close()
  }

  async close(): Promise<void> {
    await Promise.all([...this.#sessions.values()].map(({ transport }) => transport.close()))
    await this.#modern.close()
  }
}

/** The fault of a message, or of the first of several that has one; otherwise undefined. */
function firstFault(
  body: unknown,
  check: (message: JSONRPCMessage) => RpcError | undefined = () => undefined,
): RpcError | undefined {
  if (body === undefined) return undefined
  if (Array.isArray(body) && (body.length === 0 || body.length > HTTP_LIMITS.batch))
    return rpcError(null, RPC.invalidRequest, `A batch holds 1 to ${HTTP_LIMITS.batch} messages.`)
  for (const item of [body].flat()) {
    const sorted = asMessage(item)
    const fault = 'error' in sorted ? sorted.error : check(sorted.message)
    if (fault) return fault
  }
  return undefined
}

const requestIds = (body: unknown): unknown[] =>
  [body]
    .flat()
    .filter((message) => field(message, 'method') !== undefined && idOf(message) !== undefined)
    .map(idOf)

/** The server answers no call that was cancelled; without an answer its stream would stay open. */
async function endCancelled({ open, transport }: Session, body: unknown): Promise<void> {
  for (const message of [body].flat()) {
    if (nameOf(message) !== 'notifications/cancelled') continue
    const id = field(field(message, 'params'), 'requestId')
    if (!open.has(id) || (typeof id !== 'string' && typeof id !== 'number')) continue
    const error = { code: RPC.internal, message: 'The call was cancelled.' }
    // Answered a moment before: then there is nothing left to end.
    await transport.send({ jsonrpc: '2.0', id, error }).catch(() => undefined)
  }
}

/** The same response; `over` is called once nothing more of it can come. */
function untilEnd(response: Response, over: () => void): Response {
  const reader = response.body?.getReader()
  if (!reader) {
    over()
    return response
  }
  const body = new ReadableStream<Uint8Array>({
    async pull(controller) {
      const piece = await reader.read().catch((error: unknown) => {
        over()
        throw error
      })
      if (!piece.done) return controller.enqueue(piece.value)
      over()
      controller.close()
    },
    async cancel(reason) {
      over()
      await reader.cancel(reason)
    },
  })
  return new Response(body, { status: response.status, headers: response.headers })
}

const field = (body: unknown, name: string): unknown =>
  typeof body === 'object' && body !== null ? (body as Record<string, unknown>)[name] : undefined
const idOf = (body: unknown) => field(body, 'id')
const isInitialize = (body: unknown) => field(body, 'method') === 'initialize'
const nameOf = (body: unknown) => {
  const method = field(body, 'method')
  return typeof method === 'string' ? method : 'anything else'
}

const refusal = (status: number, error: RpcError) => Response.json(error, { status })
