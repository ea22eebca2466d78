// instances.ts: servers that each user, or each session, has for itself: a connection, and for a stdio server a process, that no other
// one reaches. They start with the first call, stop when they are not used, and there is a limit to how many run.
import {
  type ConfiguredServer,
  type Connection,
  IoError,
  type LocalBoard,
  PermissionDenied,
} from '@plugboard/core'
import type { User } from '../access/access.ts'
import type { Client } from '../client-request.ts'
import type { IsolationConfig, IsolationKind } from '../config/schema.ts'
import { defaultIsolation } from './default-isolation.ts'
import type { Leases } from './leases.ts'

const IDLE_MINUTES = 15
const PER_USER = 10
const IN_ALL = 200
const SWEEP_MS = 5000

type WhoCalls = Pick<Client, 'owner' | 'user'>
type Caller = WhoCalls & Pick<Client, 'era' | 'id'>

interface Instance {
  readonly key: string
  readonly server: string
  /** The user, or the session, that it is for. */
  readonly of: string
  readonly user: string
  /** The token, or the user with its roles, that started it. */
  readonly owner: string
  readonly connection: Connection
  running: number
  lastUsed: number
}

/** An instance while a call uses it. */
export interface UsedInstance {
  /** Names it where questions of servers are told apart. */
  readonly key: string
  readonly connection: Connection
  release(): void
}

/** Servers to which users log in themselves. */
export interface InstanceLogins {
  serves(server: string): boolean
  /** What tells connections of one user apart. */
  variant(server: string, user: User): string
  instanceLogin(server: string, user: User): Parameters<LocalBoard['link']['instance']>[3]
}

export interface InstanceSharing {
  /** Which replica runs the instance of a user. */
  readonly leases?: Leases | undefined
  readonly logins?: InstanceLogins | undefined
}

/** `user`: the one whose login the instance has, where it has one. */
type Heard = (key: string, server: string, method: string, params: unknown, user?: string) => void

export class Instances {
  readonly #board: LocalBoard
  readonly #logins: InstanceLogins | undefined
  readonly #heard: Heard
  readonly #instances = new Map<string, Instance>()
  readonly #leases: Leases | undefined
  readonly #sweep: NodeJS.Timeout
  readonly #stop: () => void
  readonly #defaults = new WeakMap<ConfiguredServer, IsolationKind>()
  #config: IsolationConfig

  /** `heard` gets what the servers notify. */
  constructor(
    board: LocalBoard,
    config: IsolationConfig,
    heard: Heard,
    { leases, logins }: InstanceSharing = {},
  ) {
    this.#board = board
    this.#logins = logins
    this.#leases = leases
    leases?.onLost((key) => this.#dropAll((one) => one.key === key))
    this.#config = config
    this.#heard = heard
    this.#sweep = setInterval(() => this.#dropIdle(), SWEEP_MS)
    this.#sweep.unref()
    this.#stop = board.on('configuration-changed', ({ removed }) =>
      this.#dropAll(({ server }) => removed.includes(server)),
    )
  }

  /** What changes is ended: a call of the next moment starts it anew. */
  replace(config: IsolationConfig): void {
    const before = this.#config
    this.#config = config
    this.#dropAll(({ server }) => before.servers?.[server] !== config.servers?.[server])
  }

  kindOf(server: string): IsolationKind {
    if (this.#logins?.serves(server)) return 'user'
    return this.#config.servers?.[server] ?? this.#default(server)
  }

  #default(server: string): IsolationKind {
    const configured = this.#board.link.configured(server)
    if (!configured) return 'shared'
    const known = this.#defaults.get(configured)
    if (known) return known
    const made = defaultIsolation(configured)
    this.#defaults.set(configured, made)
    return made
  }

  /** The connection of a key, as far as one is open. */
  connection(key: string): Connection | undefined {
    return this.#instances.get(key)?.connection
  }

  get count(): number {
    return this.#instances.size
  }

  /** What names the instance for a client; undefined where all clients share the server. */
  keyOf(server: string, client: Caller): string | undefined {
    const kind = this.kindOf(server)
    if (kind === 'shared') return undefined
    const of = ofClient(kind, client)
    try {
      return this.#keyOf(server, of, client.user)
    } catch {
      // There can be no connection for this user: \`use\` says why.
      return JSON.stringify([server, of])
    }
  }

  /** The replica that has the user's instance, when it is another one. */
  elsewhere(server: string, client: WhoCalls): string | undefined | Promise<string | undefined> {
    if (!this.#leases || !this.#isLeased(server)) return undefined
    return this.#leases.elsewhere(JSON.stringify([server, userOf(client)]))
  }

  /** Before `use`: rejects when this replica may not run the user's instance. */
  claim(server: string, client: WhoCalls): undefined | Promise<void> {
    if (!this.#leases || !this.#isLeased(server)) return undefined
    return this.#leases.claim(server, JSON.stringify([server, userOf(client)]))
  }

  /** One replica has a user's instance, because of what it keeps. With a login of the user every replica has a connection. */
  #isLeased(server: string): boolean {
    return this.kindOf(server) === 'user' && this.#logins?.serves(server) !== true
  }

  /** The instance for a client; undefined where all clients share the server. */
  use(server: string, client: Client): UsedInstance | undefined {
    const kind = this.kindOf(server)
    if (kind === 'shared') return undefined
    const of = ofClient(kind, client)
    const key = this.#keyOf(server, of, client.user)
    const instance = this.#instances.get(key) ?? this.#start(key, server, of, client)
    instance.running++
    let isUsed = true
    const release = () => {
      if (!isUsed) return
      isUsed = false
      instance.running--
      instance.lastUsed = Date.now()
    }
    return { key, connection: instance.connection, release }
  }

  #keyOf(server: string, of: string, user: User | undefined): string {
    if (!this.#logins?.serves(server)) return JSON.stringify([server, of])
    if (!user)
      throw new PermissionDenied(`"${server}" is for users with a name: each of them logs in there.`, {
        server,
      })
    return JSON.stringify([server, of, this.#logins.variant(server, user)])
  }

  /** The connection that a user has to a server with logins; undefined when none is open. */
  existing(server: string, user: User): Connection | undefined {
    try {
      return this.#instances.get(this.#keyOf(server, user.key, user))?.connection
    } catch {
      // What the server must be told about the user is missing: a call says so.
      return undefined
    }
  }

  #start(key: string, server: string, of: string, client: Client): Instance {
    const user = userOf(client)
    this.#makeSpace(server, user)
    const login =
      client.user && this.#logins?.serves(server)
        ? this.#logins.instanceLogin(server, client.user)
        : undefined
    const connection = this.#board.link.instance(
      server,
      key,
      (method, params) => this.#heard(key, server, method, params, login && user),
      login,
    )
    const { owner } = client
    const made = { key, server, of, user, owner, connection, running: 0, lastUsed: Date.now() }
    this.#instances.set(key, made)
    return made
  }

  /** A user that has all it may have gives up one that is idle itself; when all are taken, the longest idle one goes. */
  #makeSpace(server: string, user: string): void {
    const { perUser = PER_USER, inAll = IN_ALL } = this.#config
    const own = [...this.#instances.values()].filter((one) => one.user === user)
    if (own.length >= perUser && !this.#dropOldest(own))
      throw new IoError(`You have ${perUser} servers of your own running, and all of them are busy.`, {
        server,
        hint: 'Wait until a call has ended, then try again.',
      })
    if (this.#instances.size >= inAll && !this.#dropOldest([...this.#instances.values()]))
      throw new IoError('Too many servers of users are running, and all of them are busy.', {
        server,
        hint: 'Try again in a moment.',
      })
  }

  #dropOldest(of: readonly Instance[]): boolean {
    const [oldest] = of.filter(({ running }) => running === 0).sort((a, b) => a.lastUsed - b.lastUsed)
    if (oldest) this.#drop(oldest)
    return oldest !== undefined
  }

  /** The session ended. */
  left(client: Pick<Client, 'id'>): void {
    this.#dropAll(({ of, server }) => of === client.id && this.kindOf(server) === 'session')
  }

  /** The login of a user, or of all, at a server, or at all of them, is gone. */
  dropLogins(user: string | undefined, server: string | undefined): void {
    this.#dropAll(
      (one) =>
        this.#logins?.serves(one.server) === true &&
        (user === undefined || one.user === user) &&
        (server === undefined || one.server === server),
    )
  }

  /** An owner lost access. */
  dropOwner(owner: string): void {
    this.#dropAll((one) => one.owner === owner)
  }

  async close(): Promise<void> {
    clearInterval(this.#sweep)
    this.#stop()
    const all = [...this.#instances.values()]
    this.#instances.clear()
    await Promise.all(all.map(({ connection }) => connection.close()))
  }

  #dropIdle(): void {
    const oldest = Date.now() - (this.#config.idleMinutes ?? IDLE_MINUTES) * 60_000
    this.#dropAll(({ running, lastUsed }) => running === 0 && lastUsed < oldest)
  }

  #dropAll(which: (instance: Instance) => boolean): void {
    for (const instance of [...this.#instances.values()]) if (which(instance)) this.#drop(instance)
  }

  #drop(instance: Instance): void {
    this.#instances.delete(instance.key)
    this.#leases?.release(instance.key)
    void instance.connection.close()
  }
}

function ofClient(kind: 'user' | 'session', client: Caller): string {
  return kind === 'user' ? userOf(client) : sessionOf(client)
}

/** Who it is, whatever token it uses at the moment. */
function userOf({ owner, user }: WhoCalls): string {
  return user?.key ?? owner
}

/** A client of 2026-07-28 has no session: the same user is the same. */
function sessionOf(client: Caller): string {
  return client.era === 'legacy' ? client.id : userOf(client)
}
