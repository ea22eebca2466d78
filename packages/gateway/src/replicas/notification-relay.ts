// notification-relay.ts: what servers tell one replica, for the clients of the others. Each replica has connections and processes of
// its own, so a resource that a client of one follows is followed by all, and each tells the others what it hears.
import { isObject, type Json } from '../json-rpc.ts'
import type { NotificationHub, Relay } from '../routing/notifications.ts'
import type { ResourceUri } from '../views/resource-uris.ts'
import type { Replicas } from './replicas.ts'

/** A replica that says nothing of a resource for this long no longer wants it. */
const WANTED_MS = 15_000

interface Wanted {
  readonly address: ResourceUri
  /** By replica, when it last said that it wants the resource. */
  readonly by: Map<string, number>
  readonly following: Promise<(() => Promise<void>) | undefined>
}

export class NotificationRelay implements Relay {
  readonly #replicas: Replicas
  readonly #hub: NotificationHub
  /** What clients of this replica follow. */
  readonly #own = new Map<string, ResourceUri>()
  /** What clients of other replicas follow. */
  readonly #wanted = new Map<string, Wanted>()

  constructor(replicas: Replicas, hub: NotificationHub) {
    this.#replicas = replicas
    this.#hub = hub
    hub.relay = this
    replicas.on('follow', (value, from) => this.#follow(value, from))
    replicas.on('unfollow', (value, from) => {
      const address = addressOf(value)
      if (address) this.#drop(keyOf(address), from)
    })
    replicas.on('updated', (value) => {
      const address = addressOf(value)
      if (address) hub.updatedElsewhere(address)
    })
    replicas.on('list-changed', ({ what, server, tools }) => {
      if (what !== 'tools' && what !== 'resources' && what !== 'prompts') return
      const names = Array.isArray(tools) ? tools.map(String) : undefined
      hub.changedElsewhere(what, typeof server === 'string' ? server : undefined, names)
    })
    // A replica that starts learns within a beat what is followed; what a dead one wanted is dropped.
    replicas.onBeat(() => this.#beat())
  }

  /** Resolves when the others follow it too, or have had their time. */
  async followed(address: ResourceUri): Promise<void> {
    this.#own.set(keyOf(address), address)
    await this.#replicas.tell('follow', { server: address.server, uri: address.uri })
  }

  unfollowed(address: ResourceUri): void {
    this.#own.delete(keyOf(address))
    void this.#replicas.publish('unfollow', { server: address.server, uri: address.uri })
  }

  updated({ server, uri }: ResourceUri): void {
    void this.#replicas.publish('updated', { server, uri })
  }

  listChanged(what: string, server: string | undefined, tools: readonly string[] | undefined): void {
    void this.#replicas.publish('list-changed', { what, ...(server && { server }), ...(tools && { tools }) })
  }

  async #follow(value: Json, from: string): Promise<void> {
    const address = addressOf(value)
    if (!address) return
    const key = keyOf(address)
    const wanted = this.#wanted.get(key) ?? {
      address,
      by: new Map<string, number>(),
      // A server that is down here is followed when it is asked for again.
      following: this.#hub.followForOthers(address).catch(() => undefined),
    }
    this.#wanted.set(key, wanted)
    wanted.by.set(from, Date.now())
    const stop = await wanted.following
    if (!stop && this.#wanted.get(key) === wanted) this.#wanted.delete(key)
  }

  #drop(key: string, by: string): void {
    const wanted = this.#wanted.get(key)
    if (!wanted?.by.delete(by) || wanted.by.size > 0) return
    this.#wanted.delete(key)
    void wanted.following.then((stop) => stop?.())
  }

  #beat(): void {
    for (const { server, uri } of this.#own.values()) void this.#replicas.publish('follow', { server, uri })
    const oldest = Date.now() - WANTED_MS
    for (const [key, { by }] of [...this.#wanted])
      for (const [id, at] of [...by]) if (at < oldest) this.#drop(key, id)
  }
}

function addressOf(value: Json): ResourceUri | undefined {
  if (!isObject(value)) return undefined
  const { server, uri } = value
  return typeof server === 'string' && typeof uri === 'string' ? { server, uri } : undefined
}

function keyOf({ server, uri }: ResourceUri): string {
  return JSON.stringify([server, uri])
}
