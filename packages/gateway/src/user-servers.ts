// user-servers.ts: servers to which each user logs in: connecting a user's instance, with a login that the user is asked for when
// it is missing, and what the user sees of it. How a login is made and kept, user-logins/ knows.
import type { Connection, LocalBoard } from '@plugboard/core'
import { InvalidInput, isPlugboardError } from '@plugboard/core'
import { GATEWAY_LIMITS } from '@plugboard/core/limits'
import type { Client, ClientRequest } from './client-request.ts'
import { serverFault } from './errors.ts'
import type { Instances, UsedInstance } from './isolation/instances.ts'
import type { Json } from './json-rpc.ts'
import type { ObservedCall } from './operation/observe-call.ts'
import type { UserLogins } from './user-logins/user-logins.ts'
import { type UserLists, type UserViewOptions, userView } from './views/user-view.ts'
import type { View } from './views/views.ts'

type Seen = Pick<Client, 'exposure'> & Partial<Client>

interface KnownView {
  readonly base: View
  /** The lists that it was made of. */
  readonly items: readonly unknown[]
  readonly view: View
}

/** Users whose view is kept; those of others are made when they are needed. */
const VIEWS = 500

type Observe = (call: ObservedCall, work: () => Promise<Json>) => Promise<Json>

const LISTS = ['tools', 'prompts', 'resources', 'templates'] as const

export class UserServers {
  readonly logins: UserLogins
  readonly #board: LocalBoard
  readonly #instances: Instances
  readonly #options: UserViewOptions
  /** By connection: the tools of its list. */
  readonly #lists = new WeakMap<readonly unknown[], UserLists['tools']>()
  /** By user, roles and scopes, the least recently used first: made anew when a list or the base changes. */
  readonly #views = new Map<string, KnownView>()
  readonly #observe: Observe

  /** `observe`: what happens around every call, its limits among them. `changed`: a user sees other lists now. */
  constructor(
    logins: UserLogins,
    board: LocalBoard,
    instances: Instances,
    options: UserViewOptions,
    { observe, changed }: { readonly observe: Observe; changed(user: string): void },
  ) {
    this.logins = logins
    this.#board = board
    this.#instances = instances
    this.#options = options
    this.#observe = observe
    logins.bind(board, {
      gone: (user, server) => {
        instances.dropLogins(user, server)
        if (user !== undefined) changed(user)
      },
      changed,
    })
  }

  /** Does work on the user's own connection. A login that is missing is asked for first; one that has ended, once meanwhile. */
  async during<T>(
    server: string,
    request: ClientRequest,
    work: (key: string, connection: Connection) => Promise<T>,
  ): Promise<T> {
    const instance = this.#instances.use(server, request.client)
    if (!instance) throw new InvalidInput(`"${server}" is no server that users log in to.`, { server })
    try {
      await this.#connected(server, request, instance)
      try {
        return await work(instance.key, instance.connection)
      } catch (error) {
        // The server refused the login, so it has not done the work.
        if (!isLoginMissing(error) || !this.logins.asks(server)) throw error
        await this.logins.ask(server, request)
        await this.#connected(server, request, instance)
        return await work(instance.key, instance.connection)
      }
    } finally {
      instance.release()
    }
  }

  async #connected(server: string, request: ClientRequest, { connection }: UsedInstance): Promise<void> {
    const { user } = request.client
    let state = await connection.needed(request.signal)
    if (state.kind !== 'needs-auth' || !user) return
    // Another call, or another replica, may have a login by now.
    if (await this.logins.mayConnect(server, user)) state = await again(connection, request.signal)
    if (state.kind !== 'needs-auth') return
    if (!this.logins.asks(server)) throw state.error
    await this.logins.ask(server, request)
    state = await again(connection, request.signal)
    if (state.kind === 'needs-auth') throw state.error
  }

  /** Connects what the user is logged in to, for a short time, so that its lists are known. */
  async prepare(client: Client): Promise<void> {
    const { user } = client
    if (!user) return
    const servers = this.#visible(client)
    const signal = AbortSignal.timeout(GATEWAY_LIMITS.listWaitMs)
    await Promise.allSettled(
      servers.map(async (server) => {
        if (!(await this.logins.mayConnect(server, user))) return
        const instance = this.#instances.use(server, client)
        try {
          const state = await instance?.connection.needed(signal)
          if (state?.kind === 'needs-auth' && instance) await again(instance.connection, signal)
        } finally {
          instance?.release()
        }
      }),
    )
  }

  /** What the client sees: the lists of the user's own connections in place of what the gateway itself got. */
  view(client: Seen, base: View): View {
    const { user } = client
    if (!user) return base
    const known = this.#visible(client).flatMap((server) => {
      const connection = this.#instances.existing(server, user)
      return connection && connection.catalog.listedBy === 'server' ? [{ server, connection }] : []
    })
    if (known.length === 0) return base
    const items = known.flatMap(({ connection }) => LISTS.map((list) => connection.catalog[list].items))
    const of = client.owner ?? user.key
    const before = this.#views.get(of)
    const isSame =
      before?.base === base &&
      before.items.length === items.length &&
      before.items.every((list, at) => list === items[at])
    const view = isSame
      ? before.view
      : userView(
          base,
          known.map(({ server, connection }) => this.#listsOf(server, connection)),
          client.exposure,
          this.#options,
        )
    this.#views.delete(of)
    this.#views.set(of, { base, items, view })
    const [oldest] = this.#views.keys()
    if (this.#views.size > VIEWS && oldest !== undefined) this.#views.delete(oldest)
    return view
  }

  /** The user's own connection, where one is open. */
  connection(server: string, { user }: Seen): Connection | undefined {
    return user && this.logins.serves(server) ? this.#instances.existing(server, user) : undefined
  }

  #listsOf(server: string, { catalog }: Connection): UserLists {
    const items = (list: (typeof LISTS)[number]) => catalog[list].items as readonly Json[]
    const definitions = items('tools')
    const tools = this.#lists.get(definitions) ?? this.#board.link.instanceTools(server, definitions)
    this.#lists.set(definitions, tools)
    return {
      server,
      definitions,
      tools,
      prompts: items('prompts'),
      resources: items('resources'),
      templates: items('templates'),
    }
  }

  /** A login changes what the client sees at any moment. */
  concerns(client: Seen): boolean {
    return client.user !== undefined && this.#visible(client).length > 0
  }

  /** A tool for every server that shows nothing before the user has logged in. */
  loginTools(client: Seen, view: View): readonly Json[] {
    if (!client.user) return []
    return this.#visible(client)
      .filter((server) => this.logins.asks(server) && view.counts(server).tools === 0)
      .map((server) => ({
        name: this.#loginTool(server),
        title: `Log in to ${server}`,
        description: `Lets the user log in to "${server}". Its tools are listed afterwards.`,
        inputSchema: { type: 'object', properties: {} },
        annotations: { readOnlyHint: true, openWorldHint: true },
      }))
  }

  /** The result of such a tool; undefined when the name is none. */
  async callLoginTool(name: string, request: ClientRequest): Promise<Json | undefined> {
    const { client } = request
    const server = this.#visible(client).find((one) => this.logins.asks(one) && this.#loginTool(one) === name)
    if (server === undefined || !client.user) return undefined
    return await this.#observe(
      { ...this.#call(server, request), method: 'tools/call', tool: 'log_in' },
      async () => {
        const tools = await this.during(server, request, async (_, connection) =>
          connection.list('tools', request.signal),
        )
        const text = `You are logged in to "${server}". It has ${tools.length} tools: list the tools again to see them.`
        return { content: [{ type: 'text', text }] }
      },
    )
  }

  #call(server: string, request: ClientRequest) {
    return { server, instance: this.#instances.keyOf(server, request.client), params: {}, request }
  }

  /** Connects the server that a name leads to, so that its tools are known; asks for a login when there is none. */
  async lookUp(servers: readonly string[] | undefined, request: ClientRequest): Promise<void> {
    const [server, ...more] = (servers ?? []).filter((one) => this.#visible(request.client).includes(one))
    if (server === undefined || more.length > 0) return
    const call = { ...this.#call(server, request), method: 'tools/list', tool: undefined }
    await this.#observe(call, () =>
      this.during(server, request, async (_, connection) => ({
        tools: await connection.list('tools', request.signal),
      })),
    )
  }

  #visible({ exposure }: Seen): readonly string[] {
    return this.logins.servers.filter(
      (server) => exposure.server(server) && this.#board.link.configured(server),
    )
  }

  #loginTool(server: string): string {
    const { naming } = this.#options
    return naming === 'server.tool'
      ? `${server}.log_in`
      : `mcp__${server.replace(/[^A-Za-z0-9_-]/g, '_')}__log_in`.slice(0, 64)
  }
}

/** Of several calls at the same time one connects anew, and the others wait for it. */
function again(connection: Connection, signal: AbortSignal): Promise<Connection['state']> {
  return connection.state.kind === 'needs-auth' ? connection.reconnect(signal) : connection.needed(signal)
}

function isLoginMissing(error: unknown): boolean {
  return isPlugboardError(error) && error.code === 'AUTH_REQUIRED' && !serverFault(error)
}
