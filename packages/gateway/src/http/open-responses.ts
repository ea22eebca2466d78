// open-responses.ts: the requests that are being answered: they are kept alive while they take long, and answered all the
// same when their client loses access or the gateway shuts down.
import { GATEWAY_LIMITS } from '@plugboard/core/limits'
import { outcomeUnknown } from '../errors.ts'
import { errorReply, type Id, RPC } from '../json-rpc.ts'
import type { McpHttpResponse } from './response.ts'

const TICK_MS = Math.min(1000, GATEWAY_LIMITS.keepAliveMs)

interface OpenRequest {
  readonly id: Id
  readonly owner: string
}

export class OpenResponses {
  readonly #open = new Map<McpHttpResponse, OpenRequest>()
  #ticker: NodeJS.Timeout | undefined
  #whenEmpty: (() => void) | undefined

  add(response: McpHttpResponse, id: Id, owner: string): void {
    this.#open.set(response, { id, owner })
    this.#ticker ??= setInterval(() => this.#tick(), TICK_MS)
  }

  delete(response: McpHttpResponse): void {
    this.#open.delete(response)
    if (this.#open.size === 0) this.#whenEmpty?.()
  }

  /** Answers the requests of an owner that lost access, and ends their work. */
  endOf(owner: string): void {
    for (const [response, request] of [...this.#open])
      if (request.owner === owner)
        end(response, errorReply(request.id, RPC.order, 'The token was withdrawn.'))
  }

  /** Resolves when every request has its response; those that are open after the time get `OUTCOME_UNKNOWN`. */
  async drain(ms: number): Promise<void> {
    if (this.#open.size > 0) {
      await new Promise<void>((done) => {
        const timer = setTimeout(done, ms)
        this.#whenEmpty = () => {
          clearTimeout(timer)
          done()
        }
      })
      this.#whenEmpty = undefined
    }
    for (const [response, { id }] of [...this.#open])
      end(response, outcomeUnknown(id, 'the gateway is shutting down'))
    clearInterval(this.#ticker)
    this.#ticker = undefined
  }

  #tick(): void {
    if (this.#open.size === 0) {
      clearInterval(this.#ticker)
      this.#ticker = undefined
      return
    }
    const now = Date.now()
    for (const response of this.#open.keys()) response.keepAlive(now)
  }
}

function end(response: McpHttpResponse, reply: Parameters<McpHttpResponse['finish']>[0]): void {
  response.finish(reply)
  // After the response is out, or the work would answer first that it was cancelled.
  setImmediate(() => response.leave())
}
