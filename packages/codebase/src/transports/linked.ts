// transports/linked.ts: two ends in one process. Messages arrive by microtask and are not serialised; closing either end
// closes both.
import type { JSONRPCMessage, Transport } from '@modelcontextprotocol/server'

class End implements Transport {
  onmessage?: NonNullable<Transport['onmessage']>
  onclose?: () => void
  onerror?: (error: Error) => void
  #peer: End | undefined
  #started = false
  #closed = false
  #waiting: JSONRPCMessage[] = []

  link(peer: End): void {
    this.#peer = peer
  }

  async start(): Promise<void> {
    this.#started = true
    const waiting = this.#waiting
    this.#waiting = []
    for (const message of waiting) this.#deliver(message)
  }

  async send(message: JSONRPCMessage): Promise<void> {
    if (this.#closed || !this.#peer) throw new Error('The in-process connection is closed.')
    this.#peer.#receive(message)
  }

  async close(): Promise<void> {
    if (this.#closed) return
    this.#closed = true
    this.onclose?.()
    await this.#peer?.close()
  }

  #receive(message: JSONRPCMessage): void {
    if (this.#started) this.#deliver(message)
    else this.#waiting.push(message)
  }

  #deliver(message: JSONRPCMessage): void {
    queueMicrotask(() => {
      if (!this.#closed) this.onmessage?.(message)
    })
  }
}

export function linkedPair(): readonly [client: Transport, server: Transport] {
  const a = new End()
  const b = new End()
  a.link(b)
  b.link(a)
  return [a, b]
}
