// transports/plain.ts: JSON-RPC for callers that know nothing of MCP's transports: one POST, one answer. A caller without
// a session header shares the endpoint's one conversation, so initialize comes first and once, until DELETE ends it.
import { randomUUID } from 'node:crypto'
import type { JSONRPCMessage, McpServerFactory, Transport } from '@modelcontextprotocol/server'
import { HTTP_LIMITS } from '../limits.ts'
import { asMessage, HandshakeGate, RPC, rpcError } from './gate.ts'
import { linkedPair } from './linked.ts'

/** Says what is wrong with a tool's arguments before they are sent, or nothing. */
export type ArgumentCheck = (message: JSONRPCMessage) => string | undefined

export interface PlainAnswer {
  readonly status: number
  readonly body?: unknown
  readonly sessionId?: string
}

export class PlainEndpoint {
  readonly #factory: McpServerFactory
  readonly #check: ArgumentCheck
  readonly #sessions = new Map<string, Promise<Conversation>>()

  constructor(factory: McpServerFactory, check: ArgumentCheck) {
    this.#factory = factory
    this.#check = check
  }

  async post(value: unknown, sessionId: string | undefined): Promise<PlainAnswer> {
    if (!Array.isArray(value)) return this.#one(value, sessionId)
    if (value.length === 0 || value.length > HTTP_LIMITS.batch)
      return {
        status: 400,
        body: rpcError(null, RPC.invalidRequest, `A batch holds 1 to ${HTTP_LIMITS.batch} messages.`),
      }
    const answers: unknown[] = []
    for (const item of value) {
      const { body } = await this.#one(item, sessionId)
      if (body !== undefined) answers.push(body)
    }
    return answers.length > 0 ? { status: 200, body: answers } : { status: 202 }
  }

  /** Ends a conversation, so that the next caller may initialize again. */
  async end(sessionId: string | undefined): Promise<boolean> {
    const key = sessionId ?? ''
    const session = this.#sessions.get(key)
    this.#sessions.delete(key)
    await (await session)?.close()
    return session !== undefined
  }

  async close(): Promise<void> {
    for (const key of [...this.#sessions.keys()]) await this.end(key)
  }

  async #one(value: unknown, sessionId: string | undefined): Promise<PlainAnswer> {
    const sorted = asMessage(value)
    if ('error' in sorted) return { status: 400, body: sorted.error }
    const { message } = sorted
    const opens = 'method' in message && message.method === 'initialize'
    if (sessionId !== undefined && !this.#sessions.has(sessionId))
      return {
        status: 404,
        body: rpcError('id' in message ? message.id : null, RPC.order, 'There is no such session.'),
      }
    const session = await this.#session(sessionId ?? '')
    const refusal = session.gate.check(message)
    if (refusal) return { status: 200, body: refusal }
    const complaint = this.#check(message)
    if (complaint !== undefined)
      return {
        status: 200,
        body: rpcError('id' in message ? message.id : null, RPC.invalidParams, complaint),
      }
    const body = await session.ask(message)
    if (opens && isError(body)) session.gate.refused()
    return body === undefined ? { status: 202 } : { status: 200, body }
  }

  #session(key: string): Promise<Conversation> {
    const known = this.#sessions.get(key)
    if (known) return known
    const made = Conversation.open(this.#factory)
    if (this.#sessions.size < HTTP_LIMITS.sessions) this.#sessions.set(key, made)
    return made
  }
}

const isError = (body: unknown) => typeof body === 'object' && body !== null && 'error' in body

/** One server behind one linked pair; requests get ids of ours, so that two callers' ids never meet. */
class Conversation {
  readonly gate = new HandshakeGate()
  readonly #end: Transport
  readonly #waiting = new Map<string, (answer: JSONRPCMessage) => void>()

  private constructor(end: Transport) {
    this.#end = end
  }

  static async open(factory: McpServerFactory): Promise<Conversation> {
    const { serveStdio } = await import('@modelcontextprotocol/server/stdio')
    const [client, server] = linkedPair()
    const conversation = new Conversation(client)
    client.onmessage = (message) => {
      if ('method' in message || !('id' in message) || typeof message.id !== 'string') return
      conversation.#waiting.get(message.id)?.(message)
      conversation.#waiting.delete(message.id)
    }
    serveStdio(factory, { transport: server })
    await client.start()
    return conversation
  }

  async ask(message: JSONRPCMessage): Promise<unknown> {
    if (!('method' in message) || !('id' in message)) {
      await this.#end.send(message)
      return undefined
    }
    const own = randomUUID()
    const answer = new Promise<JSONRPCMessage>((done) => this.#waiting.set(own, done))
    const timer = setTimeout(() => this.#giveUp(own, 'The call took too long.'), HTTP_LIMITS.requestMs)
    try {
      await this.#end.send({ ...message, id: own })
      return { ...(await answer), id: message.id }
    } finally {
      clearTimeout(timer)
    }
  }

  async close(): Promise<void> {
    for (const id of [...this.#waiting.keys()]) this.#giveUp(id, 'The conversation was ended.')
    await this.#end.close()
  }

  /** Answers in the server's place, which keeps the caller's socket from waiting for ever. */
  #giveUp(id: string, message: string): void {
    this.#waiting.get(id)?.({ jsonrpc: '2.0', id, error: { code: RPC.internal, message } })
    this.#waiting.delete(id)
  }
}
