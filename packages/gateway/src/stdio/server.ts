// server.ts: the gateway on stdio: one message a line, one client, both eras. The client's first message decides the era.
import type { Readable, Writable } from 'node:stream'
import { atMost } from '@plugboard/core/async/waits'
import { systemHost } from '@plugboard/core/host'
import { GATEWAY_LIMITS } from '@plugboard/core/limits'
import { LineSplitter } from '@plugboard/core/text/line-splitter'
import type { ResponseConnection } from '../client-request.ts'
import { LegacySession } from '../eras/legacy.ts'
import { ModernEndpoint } from '../eras/modern.ts'
import { outcomeUnknown } from '../errors.ts'
import type { Gateway } from '../gateway.ts'
import { errorReply, type Id, isModern, type Reply, type Request, RPC, written } from '../json-rpc.ts'
import { parseMessage } from '../parse-message.ts'

/**
 * The streams to use instead of those of this process.
 *
 * @example
 * import { PassThrough } from 'node:stream'
 * const streams = { input: new PassThrough(), output: new PassThrough() } satisfies StdioOptions
 * const gateway = await openGateway((wiring) => openBoard({ servers: {}, ...wiring }))
 * const { closed } = serveStdio(gateway, streams)
 * streams.input.end()
 * await closed
 * await gateway.close()
 */
export interface StdioOptions {
  readonly input?: Readable
  readonly output?: Writable
}

/** A client that is served over stdin and stdout. */
export interface StdioHandle {
  /** Settles when the client disconnects. */
  readonly closed: Promise<void>
  /** Lets running calls finish within the bound, then ends. The gateway itself stays open. */
  close(): Promise<void>
}

/**
 * Serves a gateway to one client over stdin and stdout.
 *
 * @example
 * const gateway = await openGateway((wiring) => openBoard({ servers: {}, ...wiring }))
 * await serveStdio(gateway).closed
 * await gateway.close()
 */
export function serveStdio(gateway: Gateway, options: StdioOptions = {}): StdioHandle {
  const { input = process.stdin, output = process.stdout } = options
  const connection = new StdioConnection(gateway, output)
  const lines = new LineSplitter({
    maxBytes: GATEWAY_LIMITS.bodyBytes,
    onLine: (line) => connection.receive(line),
    onSkipped: () => connection.refuseLine(),
  })
  // A script that writes all its requests and closes the pipe still wants the responses.
  const inputEnded = () =>
    void connection.finishRunning(GATEWAY_LIMITS.goodbyeMs).then(() => connection.end())
  input.on('data', (chunk: Buffer | string) =>
    lines.push(typeof chunk === 'string' ? Buffer.from(chunk) : chunk),
  )
  input.once('end', inputEnded)
  input.once('close', inputEnded)
  input.once('error', () => connection.end())
  output.once('error', () => connection.end())
  return {
    closed: connection.closed,
    close: async () => {
      input.pause()
      await connection.drain()
    },
  }
}

/** A request of 2026-07-28 that can be cancelled by its id. */
class CancellableRequest implements ResponseConnection {
  gone = false
  onGone: (() => void) | undefined

  cancel(): void {
    this.gone = true
    this.onGone?.()
  }
}

class StdioConnection {
  readonly closed: Promise<void>
  readonly #gateway: Gateway
  readonly #output: Writable
  readonly #gone = new AbortController()
  readonly #session: LegacySession
  readonly #modern: ModernEndpoint
  /** Modern requests that run, by their ids. */
  readonly #open = new Map<Id, CancellableRequest>()
  readonly #running = new Set<Promise<unknown>>()
  /** Requests without a response. */
  readonly #unanswered = new Set<Id>()

  constructor(gateway: Gateway, output: Writable) {
    this.#gateway = gateway
    this.#output = output
    this.#session = new LegacySession(gateway, { send: (message) => this.#send(message) }, gateway.expose)
    this.#modern = new ModernEndpoint(gateway)
    gateway.serverRequests.setOnly(this.#session, (method, params, signal) =>
      this.#session.ask(method, params, signal),
    )
    this.closed = new Promise<void>((done) => {
      this.#gone.signal.addEventListener('abort', () => done(), { once: true })
    }).then(() => this.#close())
  }

  receive(line: string) {
    if (line.trim() === '') return
    const incoming = parseMessage(line)
    switch (incoming.kind) {
      case 'bad':
        return this.#send(incoming.reply)
      case 'reply':
        return this.#session.replied(incoming.message)
      case 'notification': {
        const { method, params } = incoming.message
        if (method === 'notifications/cancelled') this.#open.get(params.requestId as Id)?.cancel()
        return this.#session.notified(incoming.message)
      }
      case 'request':
        return this.#start(incoming.message)
    }
  }

  refuseLine(): void {
    const text = `A line may have ${GATEWAY_LIMITS.bodyBytes} bytes.`
    this.#send(errorReply(null, RPC.invalidRequest, text))
  }

  end(): void {
    this.#gone.abort()
  }

  async finishRunning(ms: number): Promise<void> {
    await atMost(systemHost(), ms, Promise.allSettled([...this.#running]))
  }

  async drain(): Promise<void> {
    this.#modern.close()
    await this.finishRunning(this.#gateway.limits.drainMs)
    for (const id of [...this.#unanswered])
      this.#reply(id, outcomeUnknown(id, 'the gateway is shutting down'))
    this.end()
    await this.closed
  }

  #start(message: Request) {
    const { id } = message
    // A second request with the id of an open one is refused, and the first is still answered.
    if (this.#unanswered.has(id))
      return this.#send(errorReply(id, RPC.invalidRequest, 'A request with this id is still open.'))
    this.#unanswered.add(id)
    // The session ends its own requests when it is closed.
    const response = isModern(message.params) ? this.#serveModern(message) : this.#session.request(message)
    const work = response
      .then((reply) => (reply ? this.#reply(id, reply) : void this.#unanswered.delete(id)))
      // An unexpected failure: this request failed, the others are still served.
      .catch(() => this.#reply(id, errorReply(id, RPC.internal, 'Internal error.')))
      .finally(() => this.#running.delete(work))
    this.#running.add(work)
  }

  async #serveModern(message: Request): Promise<Reply | undefined> {
    const connection = new CancellableRequest()
    this.#open.set(message.id, connection)
    try {
      return await this.#modern.request(message, {
        connection,
        owner: 'stdio',
        exposure: this.#gateway.expose,
        notify: (method, params) => this.#send({ jsonrpc: '2.0', method, params }),
      })
    } finally {
      this.#open.delete(message.id)
    }
  }

  #reply(id: Id, message: object): void {
    if (this.#unanswered.delete(id)) this.#send(message)
  }

  #send(message: object) {
    if (this.#gone.signal.aborted) return
    if (this.#output.writableLength > GATEWAY_LIMITS.unreadBytes) return this.end()
    this.#output.write(`${written(message)}\n`)
  }

  async #close(): Promise<void> {
    for (const request of this.#open.values()) request.cancel()
    await this.#session.close()
    this.#modern.close()
  }
}
