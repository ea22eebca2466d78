// linked-pair.ts: two ends of a wire inside one process. A message is passed on as it is, one microtask later.
// There is no child, no serialization and no copy: neither side may change what it received.
import type { JSONRPCMessage, Transport } from '@modelcontextprotocol/client'
import { IoError } from '../errors.ts'

/** What follows it runs in a microtask and in the context of the caller, as with `queueMicrotask`, for less. */
const soon = Promise.resolve()

/** Two transports, each the other's peer. Closing either end closes both. */
export function linkedPair(): [Transport, Transport] {
  const near = new LinkedEnd()
  const far = new LinkedEnd()
  near.link(far)
  far.link(near)
  return [near, far]
}

class LinkedEnd implements Transport {
  onclose?: (() => void) | undefined
  onerror?: ((error: Error) => void) | undefined
  // The SDK's own signature; a method type would not be assignable to it.
  onmessage?: Transport['onmessage']
  #peer: LinkedEnd | undefined
  #started = false
  #closed = false
  /** What arrived before this end was started, in order. */
  #waiting: JSONRPCMessage[] = []

  link(peer: LinkedEnd): void {
    this.#peer = peer
  }

  async start(): Promise<void> {
    if (this.#closed) throw new IoError('The other end of this link is closed.', { stage: 'transport' })
    this.#started = true
    const waiting = this.#waiting
    this.#waiting = []
    for (const message of waiting) void soon.then(() => this.#deliver(message))
  }

  send(message: JSONRPCMessage): Promise<void> {
    return new Promise((sent, failed) => {
      this.post(message, { failed })
      sent()
    })
  }

  /** The same without a promise. */
  post(message: JSONRPCMessage, sender: { failed(error: Error): void }): void {
    if (this.#closed || this.#peer === undefined)
      sender.failed(new IoError('The other end of this link is closed.', { stage: 'transport' }))
    else this.#peer.#receive(message)
  }

  async close(): Promise<void> {
    const peer = this.#peer
    this.#close()
    if (peer !== undefined) peer.#close()
  }

  #receive(message: JSONRPCMessage): void {
    if (this.#started) void soon.then(() => this.#deliver(message))
    else this.#waiting.push(message)
  }

  #deliver(message: JSONRPCMessage): void {
    if (this.#closed) return
    try {
      this.onmessage?.(message)
    } catch (error) {
      this.onerror?.(error instanceof Error ? error : new Error(String(error)))
    }
  }

  #close(): void {
    if (this.#closed) return
    this.#closed = true
    this.#waiting = []
    this.onclose?.()
  }
}
