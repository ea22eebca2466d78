// guarded-transport.ts: a server's end of a linked pair with a guard before it: requests can be changed or answered before the server
// sees them, and results before they leave. For servers of other packages that are not safe enough as they are.

import type { Transport } from '../connection/server-info.ts'
import { isObject, type Json } from '../json.ts'

type Message = Parameters<Transport['send']>[0]

export interface Guard {
  /** The parameters to go on with, or a result that answers the request at once. */
  request?(
    method: string,
    params: Json,
  ):
    | { readonly params: Json }
    | { readonly result: Json }
    | Promise<{ readonly params: Json } | { readonly result: Json }>
  result?(method: string, params: Json, result: Json): Json | Promise<Json>
  notification?(method: string): void
}

export function guardedTransport(inner: Transport, guard: Guard): Transport {
  return new GuardedTransport(inner, guard)
}

class GuardedTransport implements Transport {
  onclose?: (() => void) | undefined
  onerror?: ((error: Error) => void) | undefined
  onmessage?: Transport['onmessage']
  readonly #inner: Transport
  readonly #guard: Guard
  readonly #asked = new Map<unknown, { readonly method: string; readonly params: Json }>()

  constructor(inner: Transport, guard: Guard) {
    this.#inner = inner
    this.#guard = guard
  }

  async start(): Promise<void> {
    this.#inner.onmessage = (message) => {
      this.#receive(message as Message).catch((error: unknown) => this.onerror?.(asError(error)))
    }
    this.#inner.onclose = () => this.onclose?.()
    this.#inner.onerror = (error) => this.onerror?.(error)
    await this.#inner.start()
  }

  async send(message: Message): Promise<void> {
    const asked = 'id' in message && !('method' in message) ? this.#asked.get(message.id) : undefined
    if (!asked || !('result' in message) || !this.#guard.result) {
      if (asked && 'id' in message) this.#asked.delete(message.id)
      return await this.#inner.send(message)
    }
    this.#asked.delete(message.id)
    const result = await this.#guard.result(asked.method, asked.params, message.result as Json)
    await this.#inner.send({ ...message, result } as Message)
  }

  async close(): Promise<void> {
    await this.#inner.close()
  }

  async #receive(message: Message): Promise<void> {
    if (!('method' in message)) return this.onmessage?.(message)
    const params = isObject(message.params) ? message.params : {}
    if (!('id' in message)) {
      this.#guard.notification?.(message.method)
      return this.onmessage?.(message)
    }
    const next = (await this.#guard.request?.(message.method, params)) ?? { params }
    if ('result' in next)
      return await this.#inner.send({ jsonrpc: '2.0', id: message.id, result: next.result } as Message)
    this.#asked.set(message.id, { method: message.method, params: next.params })
    this.onmessage?.(
      message.params === undefined ? message : ({ ...message, params: next.params } as Message),
    )
  }
}

const asError = (error: unknown) => (error instanceof Error ? error : new Error(String(error)))

/** A tool's result that says what went wrong. */
export function toolError(text: string): { readonly result: Json } {
  return { result: { isError: true, content: [{ type: 'text', text }] } }
}
