// admin-actions.ts: what an administrator can see and do on a running gateway: servers, sessions, users, tokens, replicas. What is done to
// servers and users is done on every replica.
import type { ConfiguredServer } from '@plugboard/core'
import type { User } from '../access/access.ts'
import type { Gateway } from '../gateway.ts'
import type { SessionInfo } from '../http/sessions.ts'
import { userKey } from '../identity/identity.ts'
import type { Json } from '../json-rpc.ts'
import { readAuditStream } from '../operation/audit-stream.ts'
import type { ReplicaStatus } from '../replicas/replica-status.ts'
import type { Revocations } from './revocations.ts'
import type { KnownUser } from './user-directory.ts'

/** What `GET /audit` reads and shows, at most. */
const AUDIT_BATCHES = 200
const AUDIT_LINES = 1000

/** A request of the administration that cannot be done, with its HTTP status. */
export class AdminFault extends Error {
  readonly status: number

  constructor(status: number, message: string) {
    super(message)
    this.status = status
  }
}

export interface AdminSources {
  readonly gateway: Gateway
  readonly revocations: Revocations
  sessions(): readonly SessionInfo[]
  endSession(sid: string): Promise<boolean>
  /** Users that were let in and whose token is still good. */
  users(): readonly User[]
  /** Users that any replica has let in lately. */
  known?(): Promise<readonly KnownUser[]>
  /** Identity providers whose users may be let in. */
  issuers?(): readonly string[]
  metrics(): string
  /** How this process does. */
  status?(): ReplicaStatus
  /** The named tokens, without their digests. */
  tokens(): Promise<readonly Json[]>
  /** The last lines of this gateway's own audit log, oldest first. */
  audit(): Promise<readonly unknown[]>
  /** Whether the audit log was changed since it was written. */
  verifyAudit(): Promise<Json>
}

const SERVER_ACTIONS = ['reconnect', 'drain', 'disable', 'enable'] as const
type ServerAction = (typeof SERVER_ACTIONS)[number]

/** What an administrator may do with a running gateway: see it, and switch servers, tokens and sessions off. */
export class AdminActions {
  readonly #on: AdminSources
  /** Servers that an administrator switched off, as they were configured. */
  readonly #disabled = new Map<string, ConfiguredServer>()

  constructor(sources: AdminSources) {
    this.#on = sources
    sources.gateway.replicas?.on('server-action', ({ action, server }) =>
      this.#serverAction(String(server), String(action) as ServerAction).catch(() => undefined),
    )
  }

  metrics(): string {
    return this.#on.metrics()
  }

  /** `GET /servers`, `POST /servers/NAME/reconnect`, `DELETE /sessions/ID`, `POST /users/KEY/revoke` … */
  async run(method: string, [what = '', name, action, ...more]: readonly string[]): Promise<Json> {
    const isRead = method === 'GET' && name === undefined
    if (more.length === 0)
      switch (what) {
        case 'servers':
          if (isRead) return this.#servers()
          if (method === 'POST' && name !== undefined) return await this.#forServer(name, action)
          break
        case 'sessions':
          if (isRead) return { sessions: this.#on.sessions() }
          if (method === 'DELETE' && name !== undefined && action === undefined)
            return await this.#endSession(name)
          break
        case 'users':
          if (isRead) return await this.#users()
          if (method === 'POST' && name !== undefined) return await this.#forUser(name, action)
          break
        case 'logins':
          if (isRead) return { logins: (await this.#on.gateway.userServers?.logins.list()) ?? [] }
          if (method === 'DELETE' && name !== undefined) return await this.#revokeLogin(name, action)
          break
        case 'replicas':
          if (isRead) return this.#replicas()
          break
        case 'tokens':
          if (isRead) return { tokens: await this.#on.tokens() }
          break
        case 'limits':
          if (isRead) return this.#limits()
          break
        case 'audit':
          if (isRead) return await this.#audit()
          if (method === 'GET' && name === 'log' && action === undefined)
            return { entries: await this.#on.audit() }
          if (method === 'POST' && name === 'verify' && action === undefined)
            return await this.#on.verifyAudit()
      }
    throw new AdminFault(
      404,
      'There is GET /servers, /sessions, /users, /tokens, /limits, /logins, /replicas, /audit, /audit/log and /metrics; POST /servers/NAME/reconnect|drain|disable|enable; POST /users/NAME/revoke|restore; POST /audit/verify; DELETE /sessions/ID, /logins/USER and /logins/USER/SERVER.',
    )
  }

  #servers(): Json {
    const { board, circuits, drains } = this.#on.gateway
    const servers = board.servers().map((one) => ({
      name: one.name,
      type: one.type,
      state: drains.isDraining(one.name) ? 'draining' : one.state,
      tools: one.tools,
      running: drains.running(one.name),
      circuit: circuits.info(one.name),
      ...(one.error && { error: one.error.message }),
      ...(one.reason !== undefined && { reason: one.reason }),
    }))
    const off = [...this.#disabled.keys()].map((name) => ({
      name,
      state: 'disabled',
      tools: 0,
      switchedOff: true,
      reason: 'switched off by an administrator',
    }))
    return { servers: [...servers, ...off] }
  }

  async #forServer(name: string, action: string | undefined): Promise<Json> {
    const known = SERVER_ACTIONS.find((one) => one === action)
    if (!known)
      throw new AdminFault(404, `There is no action "${action ?? ''}": ${SERVER_ACTIONS.join(', ')}.`)
    const state = await this.#serverAction(name, known)
    await this.#on.gateway.replicas?.tell('server-action', { action: known, server: name })
    return { server: name, action: known, state }
  }

  async #serverAction(name: string, action: ServerAction): Promise<string> {
    const { board, circuits, drains, limits } = this.#on.gateway
    const off = this.#disabled.get(name)
    const configured = board.link.configured(name)
    if (!off && !configured) throw new AdminFault(404, `There is no server "${name}".`)
    if (action === 'reconnect') {
      if (off) throw new AdminFault(409, `"${name}" is switched off: enable it.`)
      circuits.reset(name)
      return (await board.reconnect(name)).state
    }
    if (action === 'enable') {
      // A server that is still being drained goes on.
      drains.resume(name)
      this.#disabled.delete(name)
      if (off) await board.link.put(off)
      return 'enabled'
    }
    if (!configured) return 'disabled'
    if (action === 'drain') {
      await drains.drain(name, limits.drainMs)
      if (!drains.isDraining(name)) return 'enabled'
    }
    this.#disabled.set(name, configured)
    await board.link.drop(name)
    drains.resume(name)
    return 'disabled'
  }

  async #audit(): Promise<Json> {
    const { replicas, keys } = this.#on.gateway
    if (!replicas)
      throw new AdminFault(404, 'There is no store: `plugboard audit` reads the file of this gateway.')
    const lines = await readAuditStream(replicas.store, keys, AUDIT_BATCHES).catch(() => {
      throw new AdminFault(503, 'The store cannot be reached. Try again.')
    })
    return { lines: lines.slice(-AUDIT_LINES) }
  }

  async #endSession(id: string): Promise<Json> {
    if (!(await this.#on.endSession(id)))
      throw new AdminFault(404, 'There is no such session on this replica.')
    return { ended: id }
  }

  async #users(): Promise<Json> {
    const counts = new Map<string, number>()
    for (const { user, userKey = user } of this.#on.sessions())
      counts.set(userKey, (counts.get(userKey) ?? 0) + 1)
    const revoked = await this.#on.revocations.list()
    const sessionsOf = ({ key, name }: User) => counts.get(key) ?? counts.get(name) ?? 0
    const users = this.#on.users().map((user) => ({ ...user, sessions: sessionsOf(user) }))
    const here = new Set(users.map(({ key }) => key))
    const known = (await this.#on.known?.().catch(() => [])) ?? []
    return { users: [...users, ...known.filter(({ key }) => !here.has(key))], revoked }
  }

  /** By the key, by a name that only one user has, or as ISSUER|SUBJECT: a user need not be active, nor have been here at all. */
  async #userNamed(named: string): Promise<Pick<User, 'key' | 'name'>> {
    const sources: readonly (() => Promise<readonly Pick<User, 'key' | 'name'>[]>)[] = [
      async () => this.#on.users(),
      async () => (await this.#on.known?.()) ?? [],
      async () => (await this.#on.gateway.userServers?.logins.users()) ?? [],
      async () => (await this.#on.tokens()).flatMap(tokenUser),
    ]
    // A store that is away knows no user more; whether the access can be withdrawn is another question.
    const all = (await Promise.all(sources.map((read) => read().catch(() => [])))).flat()
    const found = all.filter(({ key, name }) => key === named || name === named)
    const [user, ...others] = [...new Map(found.map((one) => [one.key, one])).values()]
    if (others.length > 0) {
      const keys = [user, ...others].map((one) => one?.key).join(', ')
      throw new AdminFault(409, `Several users are named "${named}": give the key (${keys}).`)
    }
    const unseen = user ?? this.#unseen(named)
    if (unseen) return unseen
    throw new AdminFault(
      404,
      `There is no user "${named}" here. A user who was not here yet is named by ISSUER|SUBJECT.`,
    )
  }

  #unseen(named: string): Pick<User, 'key' | 'name'> | undefined {
    if (/^[0-9a-f]{64}$/.test(named)) return { key: named, name: named }
    const at = named.indexOf('|')
    const [issuer, subject] = [named.slice(0, at), named.slice(at + 1)]
    if (at < 0 || subject === '' || !this.#on.issuers?.().includes(issuer)) return undefined
    return { key: userKey(issuer, subject), name: subject }
  }

  async #forUser(named: string, action: string | undefined): Promise<Json> {
    if (action !== 'revoke' && action !== 'restore')
      throw new AdminFault(404, `There is no action "${action ?? ''}": revoke, restore.`)
    const user = action === 'revoke' ? await this.#userNamed(named) : await this.#revokedNamed(named)
    try {
      if (action === 'revoke') await this.#on.revocations.add(user.key, user.name)
      else await this.#on.revocations.remove(user.key)
    } catch {
      throw new AdminFault(
        503,
        'The store cannot be reached, so the other replicas would not know. Try again.',
      )
    }
    return { user: user.name, key: user.key, action }
  }

  async #revokedNamed(named: string): Promise<Pick<User, 'key' | 'name'>> {
    const known = await this.#on.revocations.list()
    const [user, ...others] = known.filter(({ key, name }) => key === named || name === named)
    if (!user) throw new AdminFault(404, `There is no user "${named}" whose access was withdrawn.`)
    if (others.length > 0) throw new AdminFault(409, `Several users are named "${named}": give the key.`)
    return user
  }

  /** Takes back a user's own login at one server, or at all: here, on the other replicas, and at the server where that works. */
  async #revokeLogin(named: string, server: string | undefined): Promise<Json> {
    const logins = this.#on.gateway.userServers?.logins
    const all = (await logins?.list()) ?? []
    const found = all.filter((one) => one.key === named || one.user === named)
    const [first] = found
    if (!logins || !first) throw new AdminFault(404, `There is no login of a user "${named}".`)
    if (found.some(({ key }) => key !== first.key))
      throw new AdminFault(409, `Several users are named "${named}": give the key.`)
    const ended = await logins.revoke({ key: first.key, name: first.user }, server)
    if (!ended) throw new AdminFault(404, `"${named}" has no login at "${server}".`)
    return { user: first.user, key: first.key, ...ended, action: 'revoke' }
  }

  #limits(): Json {
    const { callLimits, limits } = this.#on.gateway
    return { calls: callLimits?.config ?? {}, running: callLimits?.running() ?? [], gateway: limits }
  }

  #replicas(): Json {
    const { replicas } = this.#on.gateway
    const status = this.#on.status?.()
    const own = status && { status }
    if (!replicas) return { replicas: [], ...own }
    return {
      id: replicas.id,
      storeUp: replicas.store.isUp,
      ...own,
      replicas: replicas
        .peers()
        .map(({ id, url, seen, status: told }) => ({ id, url, seen, ...(told && { status: told }) })),
    }
  }
}

/** The user of a named token. */
function tokenUser({ key, name }: Json): Pick<User, 'key' | 'name'>[] {
  return typeof key === 'string' && typeof name === 'string' ? [{ key, name }] : []
}
