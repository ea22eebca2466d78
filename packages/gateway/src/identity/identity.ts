// identity.ts: who a bearer token belongs to: a named token of the file, or a user of an identity provider. It knows which owners
// are active, so that a change of the configuration ends or changes what they have open.
import { createHash } from 'node:crypto'
import type {
  AccessChanges,
  AccessRefusal,
  AuthorizedClient,
  TokenAuthority,
  User,
} from '../access/access.ts'
import type { Exposure } from '../access/exposure.ts'
import type { GatewayConfig } from '../config/schema.ts'
import type { TokenFault, VerifiedUser } from './jwt.ts'
import type { NamedToken } from './named-tokens.ts'
import { challenge, type ProtectedResource, protectedResource } from './protected-resource.ts'
import { Roles } from './roles.ts'
import { VerifiedTokens } from './verified-tokens.ts'

/** Where the users of a gateway come from. */
export interface IdentityOptions {
  readonly config: GatewayConfig
  readonly tokens: readonly NamedToken[]
  /** What the gateway serves at all. */
  readonly expose: Exposure
  now(): number
}

type Resolution = AuthorizedClient | AccessRefusal

/** An owner that was let in, and how to decide about it again. */
interface ActiveOwner {
  readonly client: AuthorizedClient
  /** When it has to come back with another token. */
  until: number
  /** Who it is now, after the configuration or the tokens changed. */
  readonly again: () => Resolution | undefined
}

const WITHDRAWN: AccessRefusal = {
  status: 401,
  message: 'Your access was withdrawn. Ask the operator of this gateway.',
}
const UNKNOWN = { error: 'invalid_token', description: 'The token is unknown.' } as const

/** Knows users by their tokens: named tokens of a file, and tokens of the issuers in gateway.json. */
export class Identity implements TokenAuthority {
  readonly #options: IdentityOptions
  readonly #active = new Map<string, ActiveOwner>()
  readonly #verified = new VerifiedTokens()
  #resource: ProtectedResource | undefined
  /** Issuers whose tokens are exchanged for those of a server. */
  #exchanged: ReadonlySet<string> = new Set()
  #roles: Roles
  #tokens = new Map<string, NamedToken>()
  /** By the id of a named token: its last use that is not saved yet. */
  #uses = new Map<string, number>()
  #version = {}
  /** Keys of users whose access was withdrawn. */
  #withdrawn: ReadonlySet<string> = new Set()

  constructor(options: IdentityOptions) {
    this.#options = options
    this.#roles = new Roles(options.config.roles ?? {}, options.expose)
    this.#configure(options.config)
    this.#take(options.tokens)
  }

  challenge(hasToken: boolean): string {
    return challenge(this.#resource, hasToken ? UNKNOWN : undefined)
  }

  get resource(): ProtectedResource | undefined {
    return this.#resource
  }

  /** The identity providers whose users may be let in. */
  get issuers(): readonly string[] {
    return this.#verified.issuers
  }

  #configure(config: GatewayConfig): void {
    const servers = Object.values(config.userLogins?.servers ?? {})
    this.#exchanged = new Set(servers.flatMap(({ exchange }) => exchange?.issuer ?? []))
    this.#resource = protectedResource(config)
    this.#verified.configure(config)
  }

  get version(): object {
    return this.#version
  }

  /** A new configuration, new tokens, or both. Returns which owners lost access, and which see other things now. */
  replace(next: Partial<Pick<IdentityOptions, 'config' | 'tokens'>>): AccessChanges {
    if (next.config) {
      this.#configure(next.config)
      this.#roles = new Roles(next.config.roles ?? {}, this.#options.expose, this.#roles)
    }
    if (next.tokens) this.#take(next.tokens)
    this.#version = {}
    const removed: string[] = []
    const changed: AuthorizedClient[] = []
    for (const [owner, active] of this.#active) {
      const now = active.again()
      if (now === undefined || 'status' in now || now.owner !== owner) {
        removed.push(owner)
        this.#active.delete(owner)
      } else if (now.exposure !== active.client.exposure) {
        changed.push(now)
        this.#active.set(owner, { ...active, client: now })
      }
    }
    return { removed, changed }
  }

  /** The users without access, whatever their tokens say. */
  withdraw(keys: ReadonlySet<string>): AccessChanges {
    this.#withdrawn = keys
    return this.replace({})
  }

  /** Users that were let in, and whose last token is still good. */
  users(): readonly User[] {
    const users = [...this.#active.values()].flatMap(({ client }) => client.user ?? [])
    return [...new Map(users.map((user) => [user.key, user])).values()]
  }

  /** Owners whose last token has expired. */
  expired(): AccessChanges {
    const now = this.#options.now()
    const removed: string[] = []
    for (const [owner, { until }] of this.#active)
      if (until <= now) {
        removed.push(owner)
        this.#active.delete(owner)
      }
    return { removed, changed: [] }
  }

  /** Uses since the last time this was asked, by the id of the token. */
  takeUses(): ReadonlyMap<string, number> {
    const uses = this.#uses
    this.#uses = new Map()
    return uses
  }

  authorize(token: string): Resolution | undefined | Promise<Resolution | undefined> {
    const named = this.#tokens.get(createHash('sha256').update(token).digest('hex'))
    if (named) {
      const found = this.#named(named.sha256)
      if (!found || 'status' in found) return found
      this.#uses.set(named.id, this.#options.now())
      return this.#activated(found, () => this.#named(named.sha256))
    }
    const verified = this.#verified.verify(token, this.#options.now())
    return verified instanceof Promise
      ? verified.then((found) => this.#decided(found))
      : verified && this.#decided(verified)
  }

  #decided(found: VerifiedUser | TokenFault): Resolution {
    if ('kind' in found) return this.#refused(found)
    const client = this.#user(found)
    return 'status' in client ? client : this.#activated(client, () => this.#user(found))
  }

  #refused(fault: TokenFault): AccessRefusal {
    switch (fault.kind) {
      case 'unavailable':
        return { status: 503, message: fault.message }
      case 'scope': {
        const description = `The token lacks a scope: ${fault.scopes.join(' ')}.`
        const error = { error: 'insufficient_scope', description, scopes: fault.scopes } as const
        return { status: 403, message: description, challenge: challenge(this.#resource, error) }
      }
      default: {
        const description = `The token is refused: ${fault.message}.`
        const error = { error: 'invalid_token', description } as const
        return { status: 401, message: description, challenge: challenge(this.#resource, error) }
      }
    }
  }

  /**
   * A user of an identity provider. The roles are part of the owner: after a change of groups the user's sessions of before are
   * unknown, and no request of the one kind can use a session of the other. So are the scopes, where the token is exchanged.
   */
  #user({ issuer, subject, name, groups, email, scopes, expires }: VerifiedUser): Resolution {
    if (!this.#verified.accepts(issuer))
      return { status: 401, message: 'The issuer of this token is not accepted.' }
    const key = userKey(issuer, subject)
    if (this.#withdrawn.has(key)) return WITHDRAWN
    const roles = this.#roles.ofGroups(groups)
    if (roles.length === 0 && !this.#roles.isEmpty)
      return {
        status: 403,
        message: 'None of your groups has a role at this gateway. Ask its operator for one.',
      }
    const scoped = this.#exchanged.has(issuer) ? { scopes: [...new Set(scopes)].sort() } : undefined
    return {
      owner: ownerOf('user', issuer, subject, ...roles, ...(scoped ? [JSON.stringify(scoped)] : [])),
      exposure: this.#roles.exposure(roles),
      narrow: true,
      user: { key, name, roles, issuer, subject, ...(email !== undefined && { email }), ...scoped },
      expires,
    }
  }

  /** The client is remembered until its token ends. */
  #activated(client: AuthorizedClient, again: () => Resolution | undefined): AuthorizedClient {
    const until = client.expires ?? Number.POSITIVE_INFINITY
    const known = this.#active.get(client.owner)
    this.#active.set(client.owner, { client, until: Math.max(until, known?.until ?? 0), again })
    return client
  }

  /** Looked up by a digest, so the time tells nothing about a token that is nearly right. */
  #named(sha256: string): Resolution | undefined {
    const token = this.#tokens.get(sha256)
    if (!token) return undefined
    const { id, name, role, expires } = token
    if (this.#withdrawn.has(tokenUserKey(token))) return WITHDRAWN
    if (expires !== undefined && expires <= this.#options.now())
      return {
        status: 401,
        message: `The token "${name}" has expired. Ask the operator of this gateway for a new one.`,
      }
    if (role !== undefined && !this.#roles.has(role))
      return {
        status: 403,
        message: `The role "${role}" of this token is not in the gateway's configuration.`,
      }
    const exposure = role === undefined ? this.#options.expose : this.#roles.exposure([role])
    return {
      owner: ownerOf('token', id),
      exposure,
      narrow: role !== undefined,
      user: { key: ownerOf('token', id), name, roles: role === undefined ? [] : [role] },
      ...(expires !== undefined && { expires }),
    }
  }

  #take(tokens: readonly NamedToken[]): void {
    this.#tokens = new Map(tokens.map((token) => [token.sha256, token]))
  }
}

/** By which the user of a named token is counted, and withdrawn. */
export function tokenUserKey({ id }: Pick<NamedToken, 'id'>): string {
  return ownerOf('token', id)
}

/** The same for a user of an identity provider. */
export function userKey(issuer: string, subject: string): string {
  return ownerOf('user', issuer, subject)
}

export function ownerOf(...parts: readonly string[]): string {
  return createHash('sha256').update(JSON.stringify(parts)).digest('hex')
}
