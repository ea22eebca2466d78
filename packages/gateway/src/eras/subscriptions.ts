// subscriptions.ts: `subscriptions/listen` of 2026-07-28: one long request per subscription, from its acknowledgement to its
// end, and how many an owner may have open.
import { InvalidInput, JsonRpcError, NotFound } from '@plugboard/core'
import { GATEWAY_LIMITS } from '@plugboard/core/limits'
import { ConcurrencyLimit } from '../access/fair-slots.ts'
import type { Client } from '../client-request.ts'
import { isUnreachable } from '../errors.ts'
import type { Gateway } from '../gateway.ts'
import { type Id, isObject, type Json, META, metaOf, RPC } from '../json-rpc.ts'
import type { Interest } from '../routing/notifications.ts'
import type { ClientTask } from '../tasks/client-task.ts'
import { missingTasks } from '../tasks/task-methods.ts'
import { type ResourceUri, STATUS_URI } from '../views/resource-uris.ts'
import type { ModernChannel } from './modern-call.ts'

export class Subscriptions {
  readonly #gateway: Gateway
  readonly #quota: ConcurrencyLimit
  /** By owner, what ends its subscriptions. */
  readonly #open = new Map<string, Set<AbortController>>()

  constructor(gateway: Gateway) {
    this.#gateway = gateway
    this.#quota = new ConcurrencyLimit(gateway.limits.listens, gateway.limits.listensPerOwner)
  }

  /** Settles when the subscription ends, from either side. */
  async listen(id: Id, params: Json, client: Client, channel: ModernChannel): Promise<Json> {
    const { notifications } = params
    if (!isObject(notifications)) throw new InvalidInput('"notifications" says what to listen to.')
    if (notifications.taskIds !== undefined && !client.capabilities.tasks) throw missingTasks()
    const uris = urisOf(notifications)
    const tasks = this.#tasksOf(notifications, client)
    const over = new AbortController()
    const slot = this.#quota.tryAcquire(channel.owner, () => over.abort())
    if (!slot)
      throw new JsonRpcError(RPC.internal, 'Too many subscriptions are open: close one, then try again.')
    const own = this.#open.get(channel.owner) ?? new Set()
    this.#open.set(channel.owner, own.add(over))
    channel.connection.onGone = () => over.abort()
    if (channel.connection.gone) over.abort()
    const stops: (() => unknown)[] = []
    try {
      const followed = await this.#followAll(uris, client, over.signal, stops)
      const interest = interestOf(notifications, followed)
      const notify = (method: string, what: Json) =>
        channel.notify(method, { ...what, _meta: { ...metaOf(what), [META.subscriptionId]: id } })
      notify('notifications/subscriptions/acknowledged', {
        notifications: {
          ...acknowledged(interest, uris),
          ...(tasks.length > 0 && { taskIds: tasks.map((task) => task.id) }),
        },
      })
      for (const task of tasks) stops.push(task.onChange(() => notify('notifications/tasks', task.details())))
      const { exposure, user } = channel
      stops.push(this.#gateway.notifications.add({ interest, exposure, user: user?.key, notify }))
      const { tools, resources, prompts } = interest
      const hears = tools || resources || prompts || followed.size > 0 || tasks.length > 0
      if (hears && !over.signal.aborted)
        await new Promise((done) => over.signal.addEventListener('abort', done, { once: true }))
      return { _meta: { [META.subscriptionId]: id } }
    } finally {
      slot.release()
      own.delete(over)
      if (own.size === 0 && this.#open.get(channel.owner) === own) this.#open.delete(channel.owner)
      for (const stop of stops) void stop()
    }
  }

  /** Ends the subscriptions of an owner; its client may open new ones. */
  endOf(owner: string): void {
    for (const over of [...(this.#open.get(owner) ?? [])]) over.abort()
  }

  close(): void {
    for (const owner of [...this.#open.keys()]) this.endOf(owner)
  }

  /** Those that the client has, here; the acknowledgement says which. */
  #tasksOf({ taskIds }: Json, client: Client): readonly ClientTask[] {
    if (!Array.isArray(taskIds)) return []
    if (taskIds.length > GATEWAY_LIMITS.subscriptionsPerClient)
      throw new InvalidInput('Too many tasks are followed.')
    return [...new Set(taskIds)].flatMap((id) => this.#gateway.tasks.find(id, client) ?? [])
  }

  async #followAll(
    uris: ReadonlySet<string>,
    client: Client,
    signal: AbortSignal,
    stops: (() => unknown)[],
  ): Promise<ReadonlyMap<string, ResourceUri>> {
    const followed = new Map<string, ResourceUri>()
    const follow = async (uri: string) => {
      const found = await this.#follow(uri, client, signal)
      if (!found) return
      followed.set(uri, found.address)
      stops.push(found.stop)
    }
    const tried = await Promise.allSettled([...uris].map(follow))
    for (const one of tried) if (one.status === 'rejected') throw one.reason
    return followed
  }

  /** Undefined when its server is down: the client must still get its other subscriptions. */
  async #follow(uri: string, client: Client, signal: AbortSignal) {
    if (uri === STATUS_URI) return { address: { server: '', uri }, stop: () => undefined }
    try {
      const address = await this.#gateway.findResource(uri, { client, signal })
      if (!address) throw new NotFound('resource', uri)
      this.#gateway.mustBeShared(address.server)
      return { address, stop: await this.#gateway.notifications.follow(address, signal) }
    } catch (error) {
      if (isUnreachable(error)) return undefined
      throw error
    }
  }
}

function urisOf({ resourceSubscriptions }: Json): ReadonlySet<string> {
  const list = Array.isArray(resourceSubscriptions) ? resourceSubscriptions : []
  const uris = list.filter((uri): uri is string => typeof uri === 'string')
  if (uris.length > GATEWAY_LIMITS.subscriptionsPerClient)
    throw new InvalidInput('Too many resources are followed.')
  return new Set(uris)
}

function interestOf(notifications: Json, uris: ReadonlyMap<string, ResourceUri>): Interest {
  return {
    tools: notifications.toolsListChanged === true,
    resources: notifications.resourcesListChanged === true,
    prompts: notifications.promptsListChanged === true,
    uris,
  }
}

/** What of the request is honoured. */
function acknowledged({ tools, resources, prompts, uris }: Interest, wanted: ReadonlySet<string>): Json {
  const honoured = [...wanted].filter((uri) => uris.has(uri))
  return {
    ...(tools && { toolsListChanged: true }),
    ...(resources && { resourcesListChanged: true }),
    ...(prompts && { promptsListChanged: true }),
    ...(honoured.length > 0 && { resourceSubscriptions: honoured }),
  }
}
