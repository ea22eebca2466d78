// server.ts: the gateway on stdio: one message a line, one client, both eras. The client's first message decides the era.
import type { Readable, Writable } from 'node:stream'
import { GATEWAY_LIMITS } from '@plugboard/core/limits'
import { LegacySession } from '../eras/legacy.ts'
import { ModernEndpoint } from '../eras/modern.ts'
import { outcomeUnknown } from '../errors.ts'
import type { Gateway } from '../gateway.ts'
import { errorReply, type Id, isModern, type Request, RPC, written } from '../json-rpc.ts'
import { parseMessage } from '../parse-message.ts'

export interface StdioOptions {
  readonly input?: Readable
  readonly output?: Writable
}

export interface StdioHandle {
  /** Settles when the client disconnects. */
  readonly closed: Promise<void>
  /** Lets running calls finish within the bound, then ends. The gateway itself stays open. */
  close(): Promise<void>
}

export function serveStdio(gateway: Gateway, options: StdioOptions = {}): StdioHandle {
  const { input = process.stdin, output = process.stdout } = options
  const gone = new AbortController()
  const send = (message: object) => {
    if (gone.signal.aborted) return
    if (output.writableLength > GATEWAY_LIMITS.unreadBytes) return gone.abort()
    output.write(`${written(message)}\n`)
  }
  const session = new LegacySession(gateway, { send })
  const modern = new ModernEndpoint(gateway)
  gateway.questions.setOnly(session, (method, params, signal) => session.ask(method, params, signal))
  const open = new Map<Id, AbortController>()
  const running = new Set<Promise<unknown>>()
  /** Requests without a response. */
  const unanswered = new Set<Id>()
  const reply = (id: Id, message: object) => {
    if (unanswered.delete(id)) send(message)
  }

  const serveModern = async (message: Request) => {
    if (open.has(message.id))
      return errorReply(message.id, RPC.invalidRequest, 'A request with this id is still open.')
    const controller = new AbortController()
    open.set(message.id, controller)
    try {
      return await modern.request(message, {
        signal: controller.signal,
        owner: 'stdio',
        exposure: gateway.expose,
        notify: (method, params) => send({ jsonrpc: '2.0', method, params }),
      })
    } finally {
      open.delete(message.id)
    }
  }
  const serve = async (message: Request) => {
    // The session ends its own requests when it is closed: one listener for each would be too many on one signal.
    const made = await (isModern(message.params) ? serveModern(message) : session.request(message))
    if (made) reply(message.id, made)
    else unanswered.delete(message.id)
  }
  const receive = (line: string) => {
    if (line.trim() === '') return
    const incoming = parseMessage(line)
    switch (incoming.kind) {
      case 'bad':
        return send(incoming.reply)
      case 'reply':
        return session.replied(incoming.message)
      case 'notification': {
        const { method, params } = incoming.message
        if (method === 'notifications/cancelled') open.get(params.requestId as Id)?.abort()
        return session.notified(incoming.message)
      }
      case 'request': {
        const { message } = incoming
        // A second request with the id of an open one is refused, and the first is still answered.
        if (unanswered.has(message.id))
          return send(errorReply(message.id, RPC.invalidRequest, 'A request with this id is still open.'))
        unanswered.add(message.id)
        const work = serve(message)
          // An unexpected failure: this request failed, the others are still served.
          .catch(() => reply(message.id, errorReply(message.id, RPC.internal, 'Internal error.')))
          .finally(() => running.delete(work))
        running.add(work)
      }
    }
  }

  const lines = new Lines(receive, () => {
    send(errorReply(null, RPC.invalidRequest, `A line may have ${GATEWAY_LIMITS.bodyBytes} bytes.`))
  })
  const closed = new Promise<void>((done) => {
    const end = () => gone.abort()
    // A script that writes all its requests and closes the pipe still wants the responses.
    const lastWords = () => void within(GATEWAY_LIMITS.goodbyeMs, Promise.allSettled([...running])).then(end)
    gone.signal.addEventListener('abort', () => done(), { once: true })
    input.on('data', (chunk: Buffer | string) =>
      lines.push(typeof chunk === 'string' ? Buffer.from(chunk) : chunk),
    )
    input.once('end', lastWords)
    input.once('close', lastWords)
    input.once('error', end)
    output.once('error', end)
  }).then(async () => {
    for (const controller of open.values()) controller.abort()
    await session.close()
    modern.close()
  })
  return {
    closed,
    close: async () => {
      input.pause()
      modern.close()
      await within(gateway.limits.drainMs, Promise.allSettled([...running]))
      for (const id of [...unanswered]) reply(id, outcomeUnknown(id, 'the gateway is shutting down'))
      gone.abort()
      await closed
    },
  }
}

export async function within(ms: number, work: Promise<unknown>): Promise<void> {
  let timer: NodeJS.Timeout | undefined
  const bound = new Promise<void>((done) => {
    timer = setTimeout(done, ms)
  })
  await Promise.race([work, bound])
  clearTimeout(timer)
}

/** Splits bytes into lines, in time linear in their number, and drops a line that is too long without keeping it. */
class Lines {
  readonly #line: (text: string) => void
  readonly #tooLong: () => void
  #pieces: Buffer[] = []
  #size = 0

  constructor(line: (text: string) => void, tooLong: () => void) {
    this.#line = line
    this.#tooLong = tooLong
  }

  push(chunk: Buffer): void {
    let from = 0
    for (let at = chunk.indexOf(10); at >= 0; at = chunk.indexOf(10, from)) {
      this.#keep(chunk.subarray(from, at))
      this.#end()
      from = at + 1
    }
    this.#keep(chunk.subarray(from))
  }

  #keep(piece: Buffer): void {
    this.#size += piece.length
    if (this.#size <= GATEWAY_LIMITS.bodyBytes) this.#pieces.push(piece)
    else this.#pieces = []
  }

  #end(): void {
    const text =
      this.#size > GATEWAY_LIMITS.bodyBytes ? undefined : Buffer.concat(this.#pieces).toString('utf8')
    this.#pieces = []
    this.#size = 0
    if (text === undefined) this.#tooLong()
    else this.#line(text)
  }
}
