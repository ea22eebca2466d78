// json-rpc-socket.ts: JSON-RPC 2.0 over a socket, the same on both sides: ids, responses, cancellation, progress, and limits on what
// may wait. It knows nothing about boards.
import type { Duplex } from 'node:stream'
import { Cancelled, IoError } from '@plugboard/core/errors'
import { isObject, stringifyJson } from '@plugboard/core/json'
import { LineSplitter } from '@plugboard/core/text/line-splitter'
import { decodeError, encodeError } from './error-encoding.ts'
import { RESIDENT_LIMITS } from './limits.ts'

export interface RequestContext {
  /** Aborted when the other side cancels or leaves. */
  readonly signal: AbortSignal
  progress(value: unknown): void
}

export interface PeerHooks {
  request(method: string, params: unknown, context: RequestContext): Promise<unknown>
  notification?(method: string, params: unknown): void
  /** A request was cancelled that this side had answered already: the answer did not count. */
  cancelledTooLate?(reason: string | undefined): void
  closed?(): void
}

interface Sent {
  readonly resolve: (result: unknown) => void
  readonly reject: (error: unknown) => void
  readonly onProgress: ((value: never) => void) | undefined
}

export interface SendOptions {
  readonly signal?: AbortSignal | undefined
  readonly onProgress?: ((value: never) => void) | undefined
}

/** The other side is gone. Whether a request was carried out is not known. */
export class PeerClosed extends IoError {}

const METHOD_NOT_FOUND = -32601
const OUR_ERROR = -32000

export class Peer {
  readonly #stream: Duplex
  readonly #hooks: PeerHooks
  readonly #sent = new Map<number, Sent>()
  readonly #running = new Map<number | string, AbortController>()
  #nextId = 0
  #closed = false

  constructor(stream: Duplex, hooks: PeerHooks) {
    this.#stream = stream
    this.#hooks = hooks
    const lines = new LineSplitter({
      maxBytes: RESIDENT_LIMITS.messageBytes,
      onLine: (line) => this.#receive(line),
      onOverflow: () => this.close(),
    })
    stream.on('data', (chunk: Buffer) => lines.push(chunk))
    stream.on('error', () => this.close())
    stream.on('close', () => this.close())
    stream.on('end', () => this.close())
  }

  get isClosed(): boolean {
    return this.#closed
  }

  request(method: string, params: unknown, { signal, onProgress }: SendOptions = {}): Promise<unknown> {
    if (signal?.aborted) return Promise.reject(abortError(signal))
    if (this.#closed) return Promise.reject(gone())
    const id = this.#nextId++
    return new Promise((resolve, reject) => {
      const onAbort = () => {
        if (!this.#sent.delete(id)) return
        const { reason } = signal ?? {}
        const why = reason instanceof Cancelled ? { reason: reason.message } : {}
        this.notify('notifications/cancelled', { requestId: id, ...why })
        reject(abortError(signal))
      }
      const settled = () => signal?.removeEventListener('abort', onAbort)
      this.#sent.set(id, {
        onProgress,
        resolve: (result) => {
          settled()
          resolve(result)
        },
        reject: (error) => {
          settled()
          reject(error)
        },
      })
      signal?.addEventListener('abort', onAbort, { once: true })
      this.#send({ id, method, params })
    })
  }

  notify(method: string, params: unknown): void {
    this.#send({ method, params })
  }

  /** A message that may be lost: it is dropped while the other side does not read. */
  notifyIfRead(method: string, params: unknown): void {
    if (this.#stream.writableLength <= RESIDENT_LIMITS.unreadEventBytes) this.notify(method, params)
  }

  close(): void {
    if (this.#closed) return
    this.#closed = true
    this.#stream.destroy()
    for (const controller of this.#running.values()) controller.abort()
    for (const { reject } of this.#sent.values()) reject(gone())
    this.#sent.clear()
    this.#hooks.closed?.()
  }

  /** Resolves when everything sent so far was handed to the system, then closes. */
  async end(): Promise<void> {
    if (this.#closed) return
    await new Promise<void>((done) => this.#stream.end(done))
    this.close()
  }

  #send(message: object): void {
    if (this.#closed || this.#stream.writableEnded) return
    this.#stream.write(`${stringifyJson({ jsonrpc: '2.0', ...message })}\n`)
    // A client that does not read must not fill the memory of everybody's board.
    if (this.#stream.writableLength > RESIDENT_LIMITS.unreadBytes) this.close()
  }

  #receive(line: string): void {
    if (this.#closed || line === '') return
    const message = parsed(line)
    if (!message) {
      this.close()
      return
    }
    const { id, method, params } = message
    if (typeof method === 'string') {
      if (typeof id === 'number' || typeof id === 'string') this.#begin(id, method, params)
      else this.#notified(method, params)
      return
    }
    const sent = typeof id === 'number' ? this.#sent.get(id) : undefined
    if (!sent) return
    this.#sent.delete(id as number)
    if (isObject(message.error)) sent.reject(decodeError(message.error))
    else sent.resolve(message.result)
  }

  #notified(method: string, params: unknown): void {
    const given = isObject(params) ? params : {}
    if (method === 'notifications/cancelled') {
      const reason = typeof given.reason === 'string' ? given.reason : undefined
      const running = this.#running.get(given.requestId as number)
      if (running) running.abort(new Cancelled(reason))
      // It crossed the answer on its way.
      else this.#hooks.cancelledTooLate?.(reason)
    } else if (method === 'notifications/progress')
      this.#sent.get(given.progressToken as number)?.onProgress?.(given.value as never)
    else this.#hooks.notification?.(method, params)
  }

  /** An id that is in use cannot be answered apart: a client that sends one is broken. */
  #begin(id: number | string, method: string, params: unknown): void {
    if (this.#running.has(id)) this.close()
    else void this.#serve(id, method, params)
  }

  async #serve(id: number | string, method: string, params: unknown): Promise<void> {
    const controller = new AbortController()
    this.#running.set(id, controller)
    this.#regulate()
    try {
      const result = await this.#hooks.request(method, params, {
        signal: controller.signal,
        progress: (value) => this.notifyIfRead('notifications/progress', { progressToken: id, value }),
      })
      this.#send({ id, result: result ?? null })
    } catch (error) {
      this.#send({ id, error: encodeError(error, OUR_ERROR) })
    } finally {
      this.#running.delete(id)
      this.#regulate()
    }
  }

  /** A client with too many open requests is not read until some have ended. */
  #regulate(): void {
    if (this.#running.size >= RESIDENT_LIMITS.openRequests) this.#stream.pause()
    else if (this.#stream.isPaused()) this.#stream.resume()
  }
}

function gone(): PeerClosed {
  return new PeerClosed('The resident board ended before it answered.', {
    hint: 'Run the command again; it starts or finds another.',
  })
}

/** A request for a method that this side does not have. */
export function noSuchMethod(method: string): Error {
  return Object.assign(new Error(`Method not found: ${method}`), { code: METHOD_NOT_FOUND })
}

function abortError(signal: AbortSignal | undefined): unknown {
  return signal?.reason instanceof Cancelled ? signal.reason : new Cancelled()
}

function parsed(line: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(line)
    return isObject(value) ? value : undefined
  } catch {
    // Not ours: the caller closes the connection.
    return undefined
  }
}
