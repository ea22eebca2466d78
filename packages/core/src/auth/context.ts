// context.ts: the context that every part of the auth layer receives, and the keys under which it stores things.
import { createHash } from 'node:crypto'
import { join } from 'node:path'
import type { RemoteEntry } from '../config/entry.ts'
import { isRemoteEntry } from '../config/transport-traits.ts'
import type { ConfiguredServer } from '../config/types.ts'
import { InvalidInput } from '../errors.ts'
import { withFileLock } from '../files/index.ts'
import type { Host } from '../host.ts'
import { AUTH_LIMITS } from '../limits.ts'
import { type GuardedFetch, guardedFetch, type Resolve } from './guarded-fetch.ts'
import type { Vault } from './vault.ts'

/** Single sign-on for every server with `oauth.xaa`: the company's identity provider. */
export interface XaaSettings {
  readonly issuer: string
  readonly clientId: string
  readonly callbackPort?: number
  /** Otherwise `PLUGBOARD_XAA_CLIENT_SECRET`; none for a public client. */
  readonly clientSecret?: string
  readonly scopes?: readonly string[]
}

/** A server with a machine login. */
export interface MachineSettings {
  readonly clientId: string
  readonly scopes?: readonly string[]
  /** Authenticates the client by a signed assertion instead of a secret: PKCS#8 PEM or a JWK. */
  readonly privateKey?: string | Readonly<Record<string, unknown>>
  readonly alg?: string
  readonly kid?: string
  /** A token of the platform the program runs on, exchanged for an access token (JWT bearer); read anew each time. */
  readonly assertion?: string | (() => Promise<string>)
  readonly clientSecret?: string
  /** The server the credential is for. Without `url` or `issuer` it is never sent: a name is not an address. */
  readonly url?: string
  /** Refuses to send the credential to any other authorization server. */
  readonly issuer?: string
}

/** A server whose access tokens are exchanged for a token that the user already has (RFC 8693). */
export interface ExchangeSettings {
  /** The authorization server that exchanges. */
  readonly issuer: string
  readonly clientId: string
  readonly clientSecret?: string | undefined
  /** The `audience` of the token; the server's address goes as `resource` in any case. */
  readonly audience?: string | undefined
  readonly scopes?: readonly string[] | undefined
  /** The user's own token; undefined while there is none. It goes to the issuer alone. */
  subjectToken(): string | undefined
}

export interface AuthSettings {
  readonly xaa?: XaaSettings
  /** By server name. */
  readonly exchanges?: Readonly<Record<string, ExchangeSettings>>
  /** By server name. */
  readonly machines?: Readonly<Record<string, MachineSettings>>
  /** An https URL that serves this client's metadata document; used as client id where servers support it. */
  readonly clientMetadataUrl?: string
  readonly clientName?: string
}

export interface AuthContext {
  readonly host: Host
  /** For locks and the needs-auth cache; the vault stores the secrets. */
  readonly stateDir: string
  readonly vault: Vault
  readonly settings?: AuthSettings
  readonly resolve?: Resolve
  /** Takes the place of lock files, where processes of several machines share the logins. */
  readonly lock?: AuthLock
  /** Takes the place of the needs-auth file, where logins are not those of the user who runs the process. */
  readonly needs?: NeedsAuthRecords
  /** Receives failures that do not fail the call, e.g. a renewed login that could not be saved. */
  readonly onNotice?: (notice: AuthNotice) => void
}

export interface AuthNotice {
  readonly server: string
  readonly kind: 'not-saved' | 'renewal-postponed'
  readonly message: string
}

/** One holder of a name at a time. `stillHeld` tells whether the lock was lost meanwhile. */
export type AuthLock = <T>(
  name: string,
  work: (lock: { stillHeld(): Promise<boolean> }) => Promise<T>,
) => Promise<T>

export interface NeedsAuth {
  readonly since: number
  /** What the server's challenge required; the login requests it in turn. */
  readonly scope?: string
  readonly resourceMetadata?: string
  readonly dpop?: boolean
}

/** Which servers require a login, by `serverKey`. */
export interface NeedsAuthRecords {
  get(key: string): NeedsAuth | undefined
  set(key: string, note: NeedsAuth): void
  delete(key: string): void
}

export type RemoteServer = ConfiguredServer & { readonly entry: RemoteEntry }

export function isRemote(server: ConfiguredServer): server is RemoteServer {
  return isRemoteEntry(server.entry)
}

export function remoteServer(server: ConfiguredServer): RemoteServer {
  if (isRemote(server)) {
    if (URL.canParse(server.entry.url)) return server
    throw new InvalidInput(`The url of "${server.name}" is not a URL with its variables filled in.`, {
      server: server.name,
      stage: 'auth',
      hint: `Run \`plugboard explain ${server.name}\` to see where they come from.`,
    })
  }
  throw new InvalidInput(`"${server.name}" is a ${server.entry.type} server, which has no login.`, {
    server: server.name,
    stage: 'auth',
  })
}

/** A repository's entry never gets the user's machine credentials, single sign-on or secrets of the environment. */
export function mayUseCredentials(server: RemoteServer): boolean {
  return server.author !== 'repository'
}

/** Does it log in through the company's identity provider? */
export function usesSingleSignOn(server: RemoteServer): boolean {
  return server.entry.oauth?.xaa === true && mayUseCredentials(server)
}

/** How the server's tokens are exchanged, if they are. */
export function exchangeFor(server: RemoteServer, { settings }: AuthContext): ExchangeSettings | undefined {
  const exchanges = mayUseCredentials(server) ? settings?.exchanges : undefined
  return exchanges && Object.hasOwn(exchanges, server.name) ? exchanges[server.name] : undefined
}

/** A server's identity: its name and its address. The same name at another address is another server. */
export function serverKey(server: RemoteServer): string {
  const url = createHash('sha256').update(canonicalUrl(server)).digest('hex').slice(0, 16)
  return `${server.name}@${url}`
}

export function canonicalUrl(server: RemoteServer): string {
  const url = new URL(server.entry.url)
  url.hash = ''
  return url.href
}

/** Where its metadata is published: a WebSocket server publishes it over HTTP like any other. */
export function httpUrl(server: RemoteServer): string {
  return server.entry.url.replace(/^ws(s?):/, 'http$1:')
}

/** Runs work while no other process has the lock of this name. */
export function withAuthLock<T>(
  context: AuthContext,
  name: string,
  work: Parameters<typeof withFileLock<T>>[2],
): Promise<T> {
  if (context.lock) return context.lock(name, work)
  const options = { waitMs: AUTH_LIMITS.lockWaitMs, staleMs: AUTH_LIMITS.lockStaleMs, dirMode: 0o700 }
  return withFileLock(lockPath(context, name), options, work)
}

export function lockPath(context: AuthContext, name: string): string {
  return join(context.stateDir, 'locks', createHash('sha256').update(name).digest('hex').slice(0, 32))
}

/** The guard for this server's auth requests; an origin that the user configured may be anywhere. */
export function fetchFor(server: RemoteServer, context: AuthContext): GuardedFetch {
  const { authServerMetadataUrl, xaa } = server.entry.oauth ?? {}
  const trusted = [authServerMetadataUrl, xaa ? context.settings?.xaa?.issuer : undefined]
  return guardedFetch({
    host: context.host,
    server: new URL(httpUrl(server)),
    serverName: server.name,
    trusted: trusted.flatMap((url) => (url && URL.canParse(url) ? [new URL(url).origin] : [])),
    resolve: context.resolve,
  })
}
