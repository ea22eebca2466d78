// subscriptions.ts: keeps change notifications coming, in the way of the server's era: resources/subscribe and
// unrequested notifications in the legacy era, one open subscription in 2026-07-28 that is reopened when it ends.
import { sleep } from '../async/waits.ts'
import type { Host } from '../host.ts'
import { CONNECT_LIMITS } from '../limits.ts'
import { backoff } from './reconnect.ts'
import { isInterruption, JsonRpcError } from './request-errors.ts'
import type { ListenFilter, Session, Subscription } from './session.ts'

export interface SubscriptionOptions {
  readonly host: Host
  /** A subscription was interrupted: changes in the meantime are unknown. */
  readonly missed: () => void
  readonly warn: (text: string) => void
}

export class Subscriptions {
  readonly #options: SubscriptionOptions
  readonly #uris = new Set<string>()
  #session: Session | undefined
  #open: Subscription | undefined
  #stopTimer: (() => void) | undefined
  #turn = 0

  constructor(options: SubscriptionOptions) {
    this.#options = options
  }

  /** Switches to a fresh session, and repeats all subscriptions on it. */
  async attach(session: Session): Promise<void> {
    this.detach()
    this.#session = session
    if (session.era === 'modern') return await this.#listen(session, 0)
    for (const uri of this.#uris)
      await session
        .request('resources/subscribe', { uri })
        .catch((error) => this.#options.warn(String(error)))
  }

  detach(): void {
    this.#turn++
    this.#stopTimer?.()
    this.#open?.close()
    this.#open = undefined
    this.#session = undefined
  }

  /**
   * Subscribes or unsubscribes. Asking twice is the same as asking once, so a server that went away over it is asked
   * again.
   */
  async change(way: 'subscribe' | 'unsubscribe', uri: string, ready: () => Promise<Session>): Promise<void> {
    const session = await ready()
    try {
      await this[way](session, uri)
    } catch (error) {
      if (!isInterruption(error)) throw error
      if (this.#session === session) await sleep(this.#options.host, CONNECT_LIMITS.noticeMs)
      await this[way](await ready(), uri)
    }
  }

  async subscribe(session: Session, uri: string): Promise<void> {
    if (session.era === 'legacy') await session.request('resources/subscribe', { uri })
    this.#uris.add(uri)
    if (session.era === 'modern') await this.#again(session)
  }

  async unsubscribe(session: Session, uri: string): Promise<void> {
    if (!this.#uris.delete(uri)) return
    if (session.era === 'legacy') await session.request('resources/unsubscribe', { uri })
    else await this.#again(session)
  }

  async #again(session: Session): Promise<void> {
    const before = this.#open
    await this.#listen(session, 0)
    before?.close()
  }

  async #listen(session: Session, attempt: number): Promise<void> {
    const filter = this.#filter(session)
    if (Object.keys(filter).length === 0) return
    const turn = ++this.#turn
    try {
      const subscription = await session.listen(filter, { timeoutMs: CONNECT_LIMITS.heartbeatTimeoutMs })
      if (turn !== this.#turn) return subscription.close()
      this.#open = subscription
      if (attempt > 0) this.#options.missed()
      const opened = this.#options.host.now()
      void subscription.ended.then((by) => {
        const stable = this.#options.host.now() - opened >= CONNECT_LIMITS.stableMs
        if (by === 'remote') this.#retry(session, turn, stable ? 0 : attempt)
      })
    } catch (error) {
      this.#options.warn(`subscriptions/listen failed: ${String(error)}`)
      // A server that declares list changes but does not support subscriptions will reject a second request too.
      if (!(error instanceof JsonRpcError)) this.#retry(session, turn, attempt)
    }
  }

  #retry(session: Session, turn: number, attempt: number): void {
    if (turn !== this.#turn || this.#session !== session) return
    const { host } = this.#options
    // Unlike a lost connection this is never given up: the wait grows to its limit and stays there.
    const waitMs = backoff(Math.min(attempt + 1, 12), CONNECT_LIMITS.reconnectDelayMs, host.random())
    this.#stopTimer = host.backgroundTimer(waitMs, () => {
      if (turn === this.#turn && this.#session === session) void this.#listen(session, attempt + 1)
    })
  }

  #filter(session: Session): ListenFilter {
    const { tools, prompts, resources } = session.capabilities
    return {
      ...(tools?.listChanged && { toolsListChanged: true }),
      ...(prompts?.listChanged && { promptsListChanged: true }),
      ...(resources?.listChanged && { resourcesListChanged: true }),
      ...(this.#uris.size > 0 && { resourceSubscriptions: [...this.#uris] }),
    }
  }
}
