// open-responses.ts: the requests that are being answered: they are kept alive while they take long, and answered all the
// same when their client loses access or the gateway shuts down.
import { type Linked, LinkedSet } from '@plugboard/core/async/linked-set'
import { GATEWAY_LIMITS } from '@plugboard/core/limits'
import { outcomeUnknown } from '../errors.ts'
import { errorReply, type Id, type Reply, RPC } from '../json-rpc.ts'

const TICK_MS = Math.min(1000, GATEWAY_LIMITS.keepAliveMs)

/** The response of one request, while it is open. */
interface OpenResponse {
  finish(reply: Reply | undefined): void
  /** No client waits for it any more. */
  leave(): void
  keepAlive(now: number): void
}

/** One request that is being answered. */
export interface OpenRequest<R extends OpenResponse = OpenResponse> extends Linked<OpenRequest> {
  readonly response: R
  readonly id: Id
  readonly owner: string
}

export class OpenResponses {
  readonly #open = new LinkedSet<OpenRequest>()
  #ticker: NodeJS.Timeout | undefined
  #whenEmpty: (() => void) | undefined

  add<R extends OpenResponse>(response: R, id: Id, owner: string): OpenRequest<R> {
    const request: OpenRequest<R> = { response, id, owner }
    this.#open.add(request)
    this.#ticker ??= setInterval(() => this.#tick(), TICK_MS)
    return request
  }

  delete(request: OpenRequest): void {
    this.#open.delete(request)
    if (this.#open.size === 0) this.#whenEmpty?.()
  }

  /** Answers the requests of an owner that lost access, and ends their work. */
  endOf(owner: string): void {
    for (const request of this.#open.list())
      if (request.owner === owner)
        end(request.response, errorReply(request.id, RPC.order, 'The token was withdrawn.'))
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
    for (const { response, id } of this.#open.list())
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
    for (const { response } of this.#open.list()) response.keepAlive(now)
  }
}

function end(response: OpenResponse, reply: Reply): void {
  response.finish(reply)
  // After the response is out, or the work would answer first that it was cancelled.
  setImmediate(() => response.leave())
}
