// notifications.ts: server notifications on their way to the clients that want them: changed lists, changed resources, log
// messages. A log message goes to the one client it can be about; where that is not clear it stays in the server's own log.
import type { LocalBoard } from '@plugboard/core'
import { cancellable } from '@plugboard/core/async/waits'
import { GATEWAY_LIMITS } from '@plugboard/core/limits'
import type { Exposure } from '../access/exposure.ts'
import type { Client } from '../client-request.ts'
import { isObject, type Json, LOG_LEVELS } from '../json-rpc.ts'
import { type ResourceUri, STATUS_URI } from '../views/resource-uris.ts'
import type { Shown } from '../views/views.ts'
import { LogRates } from './log-rate-limit.ts'
import type { ServerRequestRouter } from './server-requests.ts'

/** What a client of 2026-07-28 listens to; a legacy client hears every list change. */
export interface Interest {
  readonly tools: boolean
  readonly resources: boolean
  readonly prompts: boolean
  /** Resources it subscribed to, by the URI it knows. */
  readonly uris: ReadonlyMap<string, ResourceUri>
}

export interface Listener {
  /** Events on servers that the client does not see are not sent to it. */
  readonly exposure: Exposure
  /** The key of its user, where it has one. */
  readonly user?: string | undefined
  readonly interest: Interest
  notify(method: string, params: Json): void
}

/** The hubs of other replicas, which have connections to the servers of their own. */
export interface Relay {
  /** A client of this process follows a resource; resolves when the others follow it too. */
  followed(address: ResourceUri): Promise<void>
  unfollowed(address: ResourceUri): void
  updated(address: ResourceUri): void
  listChanged(what: Shown, server: string | undefined, tools: readonly string[] | undefined): void
}

interface Following {
  readonly address: ResourceUri
  readonly ready: Promise<void>
  count: number
  /** Of them those of clients of this process. */
  own: number
}

/** By server (`undefined`: any, or none in particular), the tools that are different; `undefined` stands for any. */
type Changes = Map<string | undefined, ReadonlySet<string> | undefined>

/** A server that logs without end must not keep its client's stream, and this process, busy with that alone. */
const LOGS_PER_SECOND = 500

/** A list that changes in many small steps is announced once. */
const SETTLE_MS = 50

/** Several replicas hear of the same change from one server: changes within this time are passed on together. */
const DOUBLE_MS = 50

const LIST_CHANGED = /^notifications\/\w+\/list_changed$/

export class NotificationHub {
  readonly #board: LocalBoard
  readonly #router: ServerRequestRouter
  readonly #listeners = new Set<Listener>()
  /** The subscribed resources; the server is told of the first subscriber and of the last. */
  readonly #followed = new Map<string, Following>()
  readonly #stops: (() => void)[]
  readonly #isWhole: (exposure: Exposure) => boolean
  /** What changed in the last moment. */
  readonly #changes = new Map<Shown | 'status', Changes>()
  #settling: NodeJS.Timeout | undefined
  readonly #usersChanged = new Set<string>()
  /** Changes that came from another replica. */
  readonly #elsewhere = new Set<string>()
  /** Set where there are other replicas. */
  relay: Relay | undefined
  /** Resources that changed in the last moment, and whether more was told of them since. */
  readonly #recent = new Map<string, boolean>()
  /** By client, the level it asked for. */
  readonly #levels = new Map<Client, number>()
  readonly #logRates = new LogRates(LOGS_PER_SECOND)
  /** The level that servers were sent last. */
  #level: number | undefined

  /** `isWhole`: the exposure shows everything that is served. */
  constructor(board: LocalBoard, router: ServerRequestRouter, isWhole: (exposure: Exposure) => boolean) {
    this.#isWhole = isWhole
    this.#board = board
    this.#router = router
    this.#stops = [
      board.on('resource-updated', ({ server, uri }) => this.#updatedHere({ server, uri })),
      board.on('notification', ({ server, method, params }) => this.#notified(server, method, params)),
      board.on('state', ({ server, state }) => {
        if (state.kind === 'connected' && this.#level !== undefined) this.#tellLevel(server, this.#level)
        this.#changed('status', server)
      }),
      board.on('configuration-changed', ({ added, removed }) => {
        for (const server of [...added, ...removed]) this.#changed('status', server)
        for (const server of removed) this.#logRates.forget(server)
        this.#followAgain(added)
      }),
      board.on('configuration-fault', () => this.#changed('status', undefined)),
      board.on('configuration-mended', () => this.#changed('status', undefined)),
    ]
  }

  get listeners(): number {
    return this.#listeners.size
  }

  add(listener: Listener): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /** Subscribes to a resource until the returned function is called. */
  async follow(address: ResourceUri, signal?: AbortSignal): Promise<() => Promise<void>> {
    const stop = await this.#follow(address, signal)
    const { relay } = this
    if (!relay) return stop
    const following = this.#followed.get(keyOf(address))
    if (following && ++following.own === 1) await relay.followed(address)
    return async () => {
      if (following && --following.own === 0) relay.unfollowed(address)
      await stop()
    }
  }

  /** The same for clients of other replicas. */
  followForOthers(address: ResourceUri): Promise<() => Promise<void>> {
    return this.#follow(address)
  }

  async #follow(address: ResourceUri, signal?: AbortSignal): Promise<() => Promise<void>> {
    const key = keyOf(address)
    const following = this.#followed.get(key) ?? {
      address,
      count: 0,
      own: 0,
      // Not under one client's signal: the others wait for the same answer.
      ready: this.#board.subscribe(address.server, address.uri),
    }
    this.#followed.set(key, following)
    following.count++
    let open = true
    const stop = async () => {
      if (!open) return
      open = false
      if (--following.count > 0) return
      if (this.#followed.get(key) === following) this.#followed.delete(key)
      try {
        await this.#board.unsubscribe(address.server, address.uri)
      } catch {
        // The server may be gone by now, and its subscriptions with it.
      }
    }
    try {
      await cancellable(following.ready, signal)
    } catch (error) {
      void stop()
      throw error
    }
    return stop
  }

  /** `tools` are the names of those that are different; without them any may be. */
  listChanged(shown: Shown, server?: string, tools?: readonly string[]): void {
    this.#elsewhere.delete(changeKey(shown, server))
    this.#changed(shown, server, tools)
  }

  /** What one user sees besides what all see is different now: after a login, or when a server of the user says so. */
  userListsChanged(user: string): void {
    if (this.#usersChanged.size === 0) setTimeout(() => this.#tellUsers(), SETTLE_MS).unref()
    this.#usersChanged.add(user)
  }

  #tellUsers(): void {
    const users = new Set(this.#usersChanged)
    this.#usersChanged.clear()
    for (const { user, interest, notify } of [...this.#listeners]) {
      if (user === undefined || !users.has(user)) continue
      for (const what of ['tools', 'resources', 'prompts'] as const)
        if (interest[what]) notify(`notifications/${what}/list_changed`, {})
    }
  }

  /** A client wants log messages from this level on; legacy servers send the lowest level that a client wants. */
  wantLevel(client: Client, level: string): void {
    this.#levels.set(client, LOG_LEVELS.indexOf(level))
    this.#agree()
  }

  /** The client has left: what only it wanted is no longer sent. */
  forgetLevel(client: Client): void {
    if (this.#levels.delete(client)) this.#agree()
  }

  #agree(): void {
    const wanted = this.#levels.size > 0 ? Math.min(...this.#levels.values()) : LOG_LEVELS.indexOf('info')
    if (wanted === this.#level) return
    this.#level = wanted
    for (const { name, state } of this.#board.servers())
      if (state === 'connected') this.#tellLevel(name, wanted)
  }

  close(): void {
    for (const stop of this.#stops) stop()
    clearTimeout(this.#settling)
    this.#listeners.clear()
  }

  #tellLevel(server: string, level: number): void {
    const { state } = this.#board.link.connection(server)
    if (state.kind !== 'connected' || state.session.era === 'modern' || !state.session.capabilities.logging)
      return
    // A server that declares logging and refuses a level keeps its own.
    this.#board.link.request(server, 'logging/setLevel', { level: LOG_LEVELS[level] }).catch(() => undefined)
  }

  #changed(what: Shown | 'status', server: string | undefined, tools?: readonly string[]): void {
    const servers: Changes = this.#changes.get(what) ?? new Map()
    const known = servers.has(server) ? servers.get(server) : new Set<string>()
    servers.set(server, known && tools && new Set([...known, ...tools]))
    this.#changes.set(what, servers)
    if (this.#settling) return
    this.#settling = setTimeout(() => this.#announce(), SETTLE_MS)
    this.#settling.unref()
  }

  #announce(): void {
    this.#settling = undefined
    const changes = [...this.#changes]
    this.#changes.clear()
    this.#tellOthers(changes)
    for (const listener of [...this.#listeners])
      for (const [what, servers] of changes) {
        const { interest, exposure } = listener
        if (![...servers].some((change) => this.#concerns(exposure, what, ...change))) continue
        if (what !== 'status') {
          if (interest[what]) listener.notify(`notifications/${what}/list_changed`, {})
        } else if (interest.uris.has(STATUS_URI))
          listener.notify('notifications/resources/updated', { uri: STATUS_URI })
      }
  }

  /** Of a change that another replica told, its own clients were told there. */
  #tellOthers(changes: readonly (readonly [Shown | 'status', Changes])[]): void {
    const { relay } = this
    if (!relay) return
    for (const [what, servers] of changes) {
      if (what === 'status') continue
      for (const [server, tools] of servers) {
        const key = changeKey(what, server)
        if (!this.#elsewhere.delete(key)) relay.listChanged(what, server, tools && [...tools])
      }
    }
  }

  /** Another replica tells that a list of its own changed. */
  changedElsewhere(what: Shown, server: string | undefined, tools: readonly string[] | undefined): void {
    if (!this.#changes.get(what)?.has(server)) this.#elsewhere.add(changeKey(what, server))
    this.#changed(what, server, tools)
  }

  /** What a client is not shown does not change for it: it must not learn from the moment that something else did. */
  #concerns(
    exposure: Exposure,
    what: Shown | 'status',
    server: string | undefined,
    tools: ReadonlySet<string> | undefined,
  ): boolean {
    if (this.#isWhole(exposure)) return true
    if (server === undefined) return what !== 'status'
    if (what === 'status') return exposure.server(server)
    if (exposure.whole(server)) return true
    if (what !== 'tools' || !exposure.server(server)) return false
    // A name that is written differently for clients may fit a pattern as they see it.
    return !tools || [...tools].some((tool) => exposure.tool(server, tool) || !/^[\w-]+$/.test(tool))
  }

  /** A server that was configured anew does not know the subscriptions of its predecessor. */
  #followAgain(servers: readonly string[]): void {
    for (const { address } of this.#followed.values()) {
      if (!servers.includes(address.server)) continue
      // It may not have the resource any more; then there is nothing to subscribe to.
      this.#board.subscribe(address.server, address.uri).catch(() => undefined)
    }
  }

  #updatedHere(address: ResourceUri): void {
    const { relay } = this
    if (!relay) this.#updated(address)
    else if (this.#followed.has(keyOf(address))) {
      relay.updated(address)
      this.updatedElsewhere(address)
    }
  }

  /**
   * Several replicas may tell of one change of a server that they share, or each of a change of its own process: the first is
   * passed on at once, and what follows in the same moment once more, together.
   */
  updatedElsewhere(address: ResourceUri): void {
    const key = keyOf(address)
    if (this.#recent.has(key)) return void this.#recent.set(key, true)
    this.#recent.set(key, false)
    this.#updated(address)
    const end = () => {
      const more = this.#recent.get(key)
      this.#recent.delete(key)
      if (more) this.updatedElsewhere(address)
    }
    setTimeout(end, DOUBLE_MS).unref()
  }

  #updated(address: ResourceUri): void {
    // A rule may have closed the server since the client subscribed.
    if (!this.#followed.has(keyOf(address)) || !this.#board.link.isReadable(address.server)) return
    for (const { interest, notify } of [...this.#listeners])
      for (const [uri, { server, uri: own }] of interest.uris)
        if (server === address.server && own === address.uri)
          notify('notifications/resources/updated', { uri })
  }

  /** A server that one user has for itself tells something; `key` names that instance. */
  heardFrom(key: string, server: string, method: string, params: unknown, user?: string): void {
    if (!LIST_CHANGED.test(method)) this.#notified(server, method, params, key)
    else if (user !== undefined) this.userListsChanged(user)
  }

  #notified(server: string, method: string, params: unknown, key = server): void {
    if (!isObject(params)) return
    if (method === 'notifications/message') this.#logged(server, params, key)
    // The id is the server's own; only the client that was sent to the URL knows it.
    else if (method === 'notifications/elicitation/complete')
      this.#router.clientOf(key)?.notify(method, params)
  }

  #logged(server: string, params: Json, key: string): void {
    const about = this.#router.aboutCall(key)
    const { client } = about
    if (!client || !wants(client.logLevel, params.level)) return
    const send = (line: Json) => {
      if (about.request) about.request.notify('notifications/message', line)
      else if (client.era === 'legacy') client.notify('notifications/message', line)
    }
    const dropped = this.#logRates.take(server)
    if (dropped === 'drop') return
    if (dropped > 0)
      send({
        level: 'warning',
        logger: 'plugboard',
        data: `${dropped} log messages of "${server}" were left out: it sent more than ${LOGS_PER_SECOND} in a second. Its own log has them.`,
      })
    const logger = typeof params.logger === 'string' ? `${server}/${params.logger}` : server
    send({ ...params, logger })
  }
}

export function tooMany(uris: ReadonlyMap<string, unknown>): boolean {
  return uris.size >= GATEWAY_LIMITS.subscriptionsPerClient
}

function wants(least: string | undefined, level: unknown): boolean {
  return least !== undefined && LOG_LEVELS.indexOf(String(level)) >= LOG_LEVELS.indexOf(least)
}

function changeKey(what: Shown, server: string | undefined): string {
  return JSON.stringify([what, server])
}

function keyOf({ server, uri }: ResourceUri): string {
  return JSON.stringify([server, uri])
}

/** Tells servers that know the roots from the handshake that they are others now. */
export function tellRootsChanged(board: LocalBoard): void {
  for (const { name } of board.servers()) {
    const connection = board.link.connection(name)
    if (connection.state.kind === 'connected' && connection.state.session.era === 'legacy')
      // A server that goes down at this moment asks when it is back.
      connection.notify('notifications/roots/list_changed').catch(() => undefined)
  }
}
