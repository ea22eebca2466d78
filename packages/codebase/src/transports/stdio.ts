// transports/stdio.ts: one JSON-RPC message a line. A line that is not a message is answered with an error and
// the session goes on; the end of input ends it, once open requests have been answered.
import type { Readable, Writable } from 'node:stream'
import type { JSONRPCMessage, Transport } from '@modelcontextprotocol/server'
import { STDIO_LIMITS } from '../limits.ts'
import { asMessage, HandshakeGate, RPC, rpcError } from './handshake-gate.ts'

export class LineTransport implements Transport {
  onmessage?: NonNullable<Transport['onmessage']>
  onclose?: () => void
  onerror?: (error: Error) => void
  readonly #input: Readable
  readonly #output: Writable
  readonly #gate = new HandshakeGate()
  #pieces: Buffer[] = []
  #size = 0
  /** Inside a line that was too long: its rest is skipped. */
  #skipping = false
  #closed = false
  /** Requests without a response. */
  readonly #open = new Set<unknown>()
  /** Set once the input has ended; what is open then is still answered, for so long. */
  #ending: NodeJS.Timeout | undefined

  constructor(input: Readable, output: Writable) {
    this.#input = input
    this.#output = output
  }

  async start(): Promise<void> {
    this.#input.on('data', this.#onData)
    this.#input.once('end', this.#onEnd)
    this.#input.once('close', this.#onEnd)
    this.#output.on('error', () => void this.close())
  }

  async send(message: JSONRPCMessage): Promise<void> {
    if (this.#closed) return
    const line = `${JSON.stringify(message)}\n`
    await new Promise<void>((done) => {
      // A reader that disconnects ends the session through the stream's error event.
      this.#output.write(line, () => done())
    })
    if (!('method' in message) && 'id' in message) this.#open.delete(message.id)
    if (this.#ending && this.#open.size === 0) await this.close()
  }

  async close(): Promise<void> {
    if (this.#closed) return
    this.#closed = true
    clearTimeout(this.#ending)
    this.#input.off('data', this.#onData)
    this.#input.off('end', this.#onEnd)
    this.#input.off('close', this.#onEnd)
    this.#input.pause()
    this.onclose?.()
  }

  /** A caller may pipe its requests in and only then read; one that is gone cannot be written to, which ends this at once. */
  readonly #onEnd = () => {
    // The last line may have no newline.
    if (!this.#ending && !this.#closed) this.#endLine()
    if (this.#open.size === 0) return void this.close()
    this.#ending ??= setTimeout(() => void this.close(), STDIO_LIMITS.lastAnswersMs)
  }

  readonly #onData = (piece: Buffer) => {
    let from = 0
    for (let at = piece.indexOf(10); at >= 0 && !this.#closed; at = piece.indexOf(10, from)) {
      this.#take(piece.subarray(from, at))
      this.#endLine()
      from = at + 1
    }
    if (from < piece.length) this.#take(piece.subarray(from))
  }

  #take(part: Buffer): void {
    if (this.#skipping || part.length === 0) return
    this.#pieces.push(part)
    this.#size += part.length
    if (this.#size <= STDIO_LIMITS.lineBytes) return
    this.#skipping = true
    this.#pieces = []
    void this.#answer(
      rpcError(null, RPC.invalidRequest, `A message may have ${STDIO_LIMITS.lineBytes} bytes.`),
    )
  }

  #endLine(): void {
    const line = this.#skipping ? '' : Buffer.concat(this.#pieces).toString('utf8').trim()
    this.#pieces = []
    this.#size = 0
    this.#skipping = false
    if (line === '') return
    let value: unknown
    try {
      value = JSON.parse(line)
    } catch {
      void this.#answer(rpcError(null, RPC.parse, 'The line is not JSON.'))
      return
    }
    const sorted = asMessage(value)
    const refusal = 'error' in sorted ? sorted.error : this.#gate.check(sorted.message)
    if (refusal) void this.#answer(refusal)
    else if ('message' in sorted) {
      const { message } = sorted
      if ('method' in message && 'id' in message) this.#open.add(message.id)
      // The server answers no call that was cancelled.
      else if ('method' in message && message.method === 'notifications/cancelled')
        this.#open.delete(message.params?.['requestId'])
      this.onmessage?.(message)
    }
  }

  /** Errors about unreadable lines have a null id, which the SDK's types do not know. */
  #answer(error: unknown): Promise<void> {
    return this.send(error as JSONRPCMessage)
  }
}
