// shared-session.ts: the part of a legacy session that every replica must know: its log level, the resources it follows, and
// which replica has its stream. Each replica that gets a request of the session has a copy, and is told of changes.
import type { Id, Json } from '../json-rpc.ts'
import type { Replicas } from './replicas.ts'

/** Long enough for a client that comes back after a night. */
const LIFE_MS = 24 * 60 * 60 * 1000
const FOLLOWS = 'uri:'

export interface SharedState {
  readonly level: string | undefined
  readonly uris: readonly string[]
}

export class SharedSession {
  readonly #replicas: Replicas
  readonly #sid: string

  constructor(replicas: Replicas, sid: string) {
    this.#replicas = replicas
    this.#sid = sid
  }

  get replica(): string {
    return this.#replicas.id
  }

  get #key(): string {
    return `session:{${this.#sid}}`
  }

  /** What is shared by now; undefined while the store is away. */
  async read(): Promise<SharedState | undefined> {
    try {
      const fields = await this.#replicas.store.fields(this.#key)
      const uris = [...fields.keys()].filter((name) => name.startsWith(FOLLOWS))
      return { level: fields.get('level'), uris: uris.map((name) => name.slice(FOLLOWS.length)) }
    } catch {
      return undefined
    }
  }

  /** While the store is away a change holds on this replica only. */
  async setLevel(level: string): Promise<void> {
    await this.#change('level', level)
  }

  async follow(uri: string): Promise<void> {
    await this.#change(FOLLOWS + uri, '1')
  }

  async unfollow(uri: string): Promise<void> {
    await this.#change(FOLLOWS + uri, undefined)
  }

  /** This replica has the stream now. The replica that had it before; undefined when that is not known, or there was none. */
  async takeStream(): Promise<string | undefined> {
    const { store } = this.#replicas
    try {
      const before = (await store.fields(this.#key)).get('stream')
      await store.setField(this.#key, 'stream', this.replica, LIFE_MS)
      await this.#replicas.tell('session-stream', { sid: this.#sid })
      return before
    } catch {
      return undefined
    }
  }

  /** A request that runs on another replica. */
  cancel(request: Id): void {
    void this.#replicas.publish('cancelled', { sid: this.#sid, request })
  }

  /** A message for the client's stream, which another replica has. */
  send(message: object): void {
    void this.#replicas.publish('session-message', { sid: this.#sid, message: message as Json })
  }

  async end(): Promise<void> {
    await this.#replicas.tell('session-ended', { sid: this.#sid })
    await this.#replicas.store.delete(this.#key).catch(() => undefined)
  }

  async #change(field: string, value: string | undefined): Promise<void> {
    const { store } = this.#replicas
    try {
      if (value === undefined) await store.deleteField(this.#key, field)
      else await store.setField(this.#key, field, value, LIFE_MS)
      await this.#replicas.tell('session', { sid: this.#sid })
    } catch {
      // The store is away: see above.
    }
  }
}
