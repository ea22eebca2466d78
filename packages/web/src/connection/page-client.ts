// page-client.ts: JSON-RPC to the resident process over one WebSocket that may be cut: requests, progress, cancellation and
// notifications. A connection that comes back goes on where it was; a process that is another one starts afresh.
import {
  CONFIRM_EVERY,
  Inbox,
  Outbox,
  readFrame,
  seenFrame,
  type Welcome,
} from '@plugboard/resident/web/resume'
import { RequestFailed, readError } from './request-failed.ts'

/** `lost`: it is tried again. `refused`: this page's session is not known; only a new address helps. */
export type LinkState = 'connecting' | 'open' | 'lost' | 'refused'

export interface PageClientHooks {
  state(state: LinkState): void
  notification(method: string, params: Readonly<Record<string, unknown>>): void
  /** A process that knows nothing of this page yet. */
  fresh(): void
}

export interface RequestOptions {
  readonly signal?: AbortSignal
  readonly onProgress?: (value: unknown) => void
}

interface Waiting {
  readonly settle: (result: unknown) => void
  readonly fail: (error: Error) => void
  readonly onProgress: ((value: unknown) => void) | undefined
}

const FIRST_RETRY_MS = 300
const MAX_RETRY_MS = 4000
const PAGE_LEFT = 4000

export class PageClient {
  readonly #hooks: PageClientHooks
  readonly #board: string
  readonly #proof: () => string
  readonly #waiting = new Map<number, Waiting>()
  #outbox = new Outbox()
  #inbox = new Inbox()
  #session = ''
  #socket: WebSocket | undefined
  #isWelcome = false
  #nextId = 1
  #retryMs = FIRST_RETRY_MS
  #unconfirmed = 0

  constructor(board: string, proof: () => string, hooks: PageClientHooks) {
    this.#board = board
    this.#proof = proof
    this.#hooks = hooks
    this.#connect()
    addEventListener('pagehide', () => this.#socket?.close(PAGE_LEFT))
    addEventListener('online', () => this.#connectNow())
    document.addEventListener('visibilitychange', () => {
      if (document.visibilityState === 'visible') this.#connectNow()
    })
  }

  request(
    method: string,
    params: unknown = {},
    { signal, onProgress }: RequestOptions = {},
  ): Promise<unknown> {
    if (signal?.aborted) return Promise.reject(new RequestFailed('CANCELLED', 'It was cancelled.'))
    const id = this.#nextId++
    return new Promise((settle, fail) => {
      this.#waiting.set(id, { settle, fail, onProgress })
      signal?.addEventListener(
        'abort',
        () => {
          if (!this.#waiting.delete(id)) return
          this.#send({ method: 'notifications/cancelled', params: { requestId: id } })
          fail(new RequestFailed('CANCELLED', 'It was cancelled.'))
        },
        { once: true },
      )
      this.#send({ id, method, params })
    })
  }

  /** Tries at once instead of waiting for the next attempt. */
  retryNow(): void {
    this.#connectNow()
  }

  #send(message: object): void {
    const frame = this.#outbox.add(JSON.stringify({ jsonrpc: '2.0', ...message }))
    if (this.#isWelcome) this.#socket?.send(frame)
  }

  #connectNow(): void {
    if (this.#socket) return
    this.#retryMs = FIRST_RETRY_MS
    this.#connect()
  }

  #connect(): void {
    if (this.#socket) return
    const query = new URLSearchParams({
      board: this.#board,
      session: this.#session,
      seen: String(this.#inbox.seen),
    })
    const socket = new WebSocket(`ws://${location.host}/board?${query}`, ['plugboard', this.#proof()])
    this.#socket = socket
    this.#isWelcome = false
    let wasOpen = false
    socket.onopen = () => {
      wasOpen = true
    }
    socket.onmessage = ({ data }) => {
      if (this.#isWelcome) this.#received(socket, String(data))
      else this.#welcomed(socket, JSON.parse(String(data)) as Welcome)
    }
    socket.onclose = () => {
      this.#socket = undefined
      this.#isWelcome = false
      this.#hooks.state('lost')
      void this.#later(wasOpen)
    }
  }

  /** A browser does not say why it could not connect: whether the process answers at all tells. */
  async #later(wasOpen: boolean): Promise<void> {
    const isThere =
      wasOpen ||
      (await fetch('/icon.svg', { cache: 'no-store' }).then(
        ({ ok }) => ok,
        () => false,
      ))
    if (isThere && !wasOpen) return this.#hooks.state('refused')
    setTimeout(() => this.#connect(), this.#retryMs)
    this.#retryMs = Math.min(this.#retryMs * 1.7, MAX_RETRY_MS)
  }

  #welcomed(socket: WebSocket, { session, seen, fresh }: Welcome): void {
    this.#isWelcome = true
    this.#retryMs = FIRST_RETRY_MS
    const isAnother = fresh && this.#session !== ''
    this.#session = session
    if (isAnother) {
      this.#outbox = new Outbox()
      this.#inbox = new Inbox()
      for (const { fail } of this.#waiting.values())
        fail(new RequestFailed('OUTCOME_UNKNOWN', 'The resident board ended before it answered.'))
      this.#waiting.clear()
    }
    for (const frame of this.#outbox.after(seen)) socket.send(frame)
    this.#hooks.state('open')
    if (fresh) this.#hooks.fresh()
  }

  #received(socket: WebSocket, data: string): void {
    const frame = readFrame(data)
    if (!frame) return
    if (frame.kind === 'seen') {
      this.#outbox.seen(frame.number)
      return
    }
    if (++this.#unconfirmed >= CONFIRM_EVERY || frame.text.length > 100_000) {
      this.#unconfirmed = 0
      socket.send(seenFrame(Math.max(this.#inbox.seen, frame.number)))
    }
    if (this.#inbox.take(frame.number) === 'new')
      this.#handle(JSON.parse(frame.text) as Readonly<Record<string, unknown>>)
  }

  #handle({ id, method, params, result, error }: Readonly<Record<string, unknown>>): void {
    const given = (params ?? {}) as Readonly<Record<string, unknown>>
    if (typeof method === 'string') {
      if (method === 'notifications/progress')
        this.#waiting.get(given['progressToken'] as number)?.onProgress?.(given['value'])
      else if (id === undefined) this.#hooks.notification(method, given)
      return
    }
    const waiting = this.#waiting.get(id as number)
    this.#waiting.delete(id as number)
    if (error !== undefined) waiting?.fail(readError(error))
    else waiting?.settle(result)
  }
}
