// feed.ts: what servers tell unasked, led to the clients that asked for it: changed lists, changed resources, log lines.
// A log line goes to the one client it can be about; where that is not clear it stays in the server's own log.
import type { Board } from '@plugboard/core'
import { GATEWAY_LIMITS } from '@plugboard/core/limits'
import type { Address } from './addresses.ts'
import type { Client } from './client.ts'
import type { Shown } from './offers.ts'
import { isObject, type Json, LOG_LEVELS } from './protocol.ts'
import type { Questions } from './questions.ts'

/** What a client of 2026-07-28 listens to; one of the older era hears every list change. */
export interface Interest {
  readonly tools: boolean
  readonly resources: boolean
  readonly prompts: boolean
  /** Resources it follows, by the address it knows them by. */
  readonly uris: ReadonlyMap<string, Address>
}

export interface Listener {
  readonly interest: Interest
  notify(method: string, params: Json): void
}

/** A list that changes in many small steps is announced once. */
const SETTLE_MS = 50

export class Feed {
  readonly #board: Board
  readonly #questions: Questions
  readonly #publicUri: (address: Address) => string
  readonly #listeners = new Set<Listener>()
  /** How many listeners follow a resource; the server is told of the first and the last. */
  readonly #followed = new Map<string, number>()
  readonly #stops: (() => void)[]
  readonly #settling = new Map<Shown, NodeJS.Timeout>()
  #level: number | undefined

  constructor(board: Board, questions: Questions, publicUri: (address: Address) => string) {
    this.#board = board
    this.#questions = questions
    this.#publicUri = publicUri
    this.#stops = [
      board.on('resource-updated', ({ server, uri }) => this.#updated({ server, uri })),
      board.on('notification', ({ server, method, params }) => this.#notified(server, method, params)),
      board.on('state', ({ server, state }) => {
        if (state.kind === 'connected' && this.#level !== undefined) this.#tellLevel(server, this.#level)
      }),
    ]
  }

  get listeners(): number {
    return this.#listeners.size
  }

  add(listener: Listener): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /** Follows a resource until the answer is called. */
  async follow(address: Address, signal?: AbortSignal): Promise<() => Promise<void>> {
    const key = keyOf(address)
    const before = this.#followed.get(key) ?? 0
    this.#followed.set(key, before + 1)
    try {
      if (before === 0)
        await this.#board.subscribe(address.server, address.uri, { ...(signal && { signal }) })
    } catch (error) {
      this.#letGo(key)
      throw error
    }
    let open = true
    return async () => {
      if (!open) return
      open = false
      if (this.#letGo(key) > 0) return
      // The server may be gone by now, and its subscriptions with it.
      await this.#board.unsubscribe(address.server, address.uri).catch(() => undefined)
    }
  }

  listChanged(shown: Shown): void {
    if (this.#settling.has(shown)) return
    const timer = setTimeout(() => {
      this.#settling.delete(shown)
      const method = `notifications/${shown}/list_changed`
      for (const listener of [...this.#listeners]) if (listener.interest[shown]) listener.notify(method, {})
    }, SETTLE_MS)
    timer.unref()
    this.#settling.set(shown, timer)
  }

  /** A client wants log lines from this level on; servers of the older era send the lowest that anybody wants. */
  wantLevel(level: string): void {
    const wanted = LOG_LEVELS.indexOf(level)
    if (this.#level !== undefined && this.#level <= wanted) return
    this.#level = wanted
    for (const { name, state } of this.#board.servers())
      if (state === 'connected') this.#tellLevel(name, wanted)
  }

  close(): void {
    for (const stop of this.#stops) stop()
    for (const timer of this.#settling.values()) clearTimeout(timer)
    this.#listeners.clear()
  }

  #tellLevel(server: string, level: number): void {
    const { state } = this.#board.connection(server)
    if (state.kind !== 'connected' || state.session.era === 'modern' || !state.session.capabilities.logging)
      return
    // A server that declares logging and refuses a level goes on as it likes.
    this.#board.request(server, 'logging/setLevel', { level: LOG_LEVELS[level] }).catch(() => undefined)
  }

  #letGo(key: string): number {
    const left = (this.#followed.get(key) ?? 1) - 1
    if (left > 0) this.#followed.set(key, left)
    else this.#followed.delete(key)
    return left
  }

  #updated(address: Address): void {
    if (!this.#followed.has(keyOf(address))) return
    for (const { interest, notify } of [...this.#listeners])
      for (const [uri, { server, uri: own }] of interest.uris)
        if (server === address.server && own === address.uri)
          notify('notifications/resources/updated', { uri })
  }

  #notified(server: string, method: string, params: unknown): void {
    if (!isObject(params)) return
    if (method === 'notifications/message') this.#logged(server, params)
    // The id is the server's own; only the client that was sent to the address knows it.
    else if (method === 'notifications/elicitation/complete')
      this.#questions.clientOf(server)?.notify(method, params)
  }

  #logged(server: string, params: Json): void {
    const exchange = this.#questions.exchangeOf(server)
    const client: Client | undefined = exchange?.client ?? this.#questions.clientOf(server)
    if (!client || !wants(client.logLevel, params.level)) return
    const logger = typeof params.logger === 'string' ? `${server}/${params.logger}` : server
    const line = { ...params, logger }
    if (exchange) exchange.notify('notifications/message', line)
    else if (client.era === 'legacy') client.notify('notifications/message', line)
  }

  publicUri(address: Address): string {
    return this.#publicUri(address)
  }
}

export function tooMany(uris: ReadonlyMap<string, unknown>): boolean {
  return uris.size >= GATEWAY_LIMITS.subscriptionsPerClient
}

function wants(least: string | undefined, level: unknown): boolean {
  return least !== undefined && LOG_LEVELS.indexOf(String(level)) >= LOG_LEVELS.indexOf(least)
}

function keyOf({ server, uri }: Address): string {
  return JSON.stringify([server, uri])
}
