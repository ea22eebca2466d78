// stored-logins.ts: the parts of a login, and how the vault stores it: under issuer + resource + server, with one
// pointer per server to the login in use.
import { createHash } from 'node:crypto'
import type { JWK } from 'jose'
import type { AuthorizationServer } from 'oauth4webapi'
import { AuthRefused, shownUrl } from './auth-refused.ts'
import { type AuthContext, canonicalUrl, mayUseCredentials, type RemoteServer } from './context.ts'

export interface Tokens {
  readonly accessToken: string
  readonly refreshToken?: string
  readonly type: 'bearer' | 'dpop'
  readonly scope?: string
  /** By this machine's clock, which is also what `expiresAt` is compared with: a server's clock may be off. */
  readonly obtainedAt: number
  /** Missing when the server did not say; then only a 401 tells. */
  readonly expiresAt?: number
}

export type ClientAuthMethod = 'client_secret_basic' | 'client_secret_post' | 'none' | 'private_key_jwt'

export interface ClientIdentity {
  readonly clientId: string
  readonly clientSecret?: string
  readonly authMethod?: ClientAuthMethod
  readonly source: 'configured' | 'metadata-document' | 'registered'
  /** The redirect a registered client was registered with. */
  readonly redirectUri?: string
  /** The scopes it was registered with. */
  readonly scope?: string
}

export interface Login {
  readonly version: 1
  readonly grant: 'authorization_code' | 'client_credentials' | 'xaa' | 'token_exchange'
  readonly server: string
  readonly url: string
  readonly as: AuthorizationServer
  /** The resource indicator, or the server's address where the server names none. */
  readonly resource: string
  /** Legacy servers publish no resource metadata; they are sent no `resource` parameter. */
  readonly sendResource: boolean
  readonly client: ClientIdentity
  readonly tokens: Tokens
  /** The scopes that were requested, so that a step-up requests no less. */
  readonly requestedScope?: string
  /** Private key for the proofs that a sender-constrained token needs. */
  readonly dpopKey?: JWK
  /** Counts renewals: tells another process's newer login from ours. */
  readonly generation: number
}

/** A registration that its server no longer accepts: the next login makes a new one. */
export function unusable({ redirectUri: _gone, ...client }: ClientIdentity): ClientIdentity {
  return client
}

interface Pointer {
  readonly issuer: string
  readonly resource: string
}

const pointerName = (server: RemoteServer) => JSON.stringify(['server', server.name, canonicalUrl(server)])
const loginName = (server: RemoteServer, { issuer, resource }: Pointer) =>
  JSON.stringify(['login', issuer, resource, server.name, canonicalUrl(server)])
const secretName = (server: RemoteServer) =>
  JSON.stringify(['client-secret', server.name, canonicalUrl(server)])

export async function loadLogin(server: RemoteServer, { vault }: AuthContext): Promise<Login | undefined> {
  const pointer = parse<Pointer>(await vault.get(pointerName(server)))
  return pointer && parse<Login>(await vault.get(loginName(server, pointer)))
}

export async function saveLogin(server: RemoteServer, { vault }: AuthContext, login: Login): Promise<void> {
  const pointer: Pointer = { issuer: login.as.issuer, resource: login.resource }
  await vault.set(loginName(server, pointer), JSON.stringify(login))
  const known = parse<Pointer>(await vault.get(pointerName(server)).catch(() => undefined))
  if (known?.issuer === pointer.issuer && known.resource === pointer.resource) return
  await vault.set(pointerName(server), JSON.stringify(pointer))
  if (known) await vault.delete(loginName(server, known))
}

export async function deleteLogin(server: RemoteServer, { vault }: AuthContext): Promise<boolean> {
  const pointer = parse<Pointer>(await vault.get(pointerName(server)).catch(() => undefined))
  const removed = pointer ? await vault.delete(loginName(server, pointer)) : false
  return (await vault.delete(pointerName(server))) || removed
}

/** Stores the secret of a configured client id, so that it need not be in a file or the environment. */
export async function saveClientSecret(server: RemoteServer, { vault }: AuthContext, secret: string) {
  await vault.set(secretName(server), secret)
}

/**
 * `PLUGBOARD_CLIENT_SECRET_<NAME>`, then the vault, then `MCP_CLIENT_SECRET`. The vault stores it under the server's
 * address; those of the environment are the user's, and no repository entry gets them.
 */
export async function clientSecret(
  server: RemoteServer,
  context: AuthContext,
  issuer: string,
): Promise<string | undefined> {
  const { vault, host } = context
  const env = mayUseCredentials(server) ? host.env : {}
  const own = env[`PLUGBOARD_CLIENT_SECRET_${server.name.toUpperCase().replace(/[^A-Z0-9]/g, '_')}`]
  const known = own || (await vault.get(secretName(server)))
  if (known || !env['MCP_CLIENT_SECRET']) return known || undefined
  await bindSharedSecret(server, context, env['MCP_CLIENT_SECRET'], issuer)
  return env['MCP_CLIENT_SECRET']
}

/** `MCP_CLIENT_SECRET` names no server: it stays with the authorization server where it was first used. */
async function bindSharedSecret(
  server: RemoteServer,
  { vault }: AuthContext,
  secret: string,
  issuer: string,
): Promise<void> {
  const name = JSON.stringify(['shared-secret', createHash('sha256').update(secret).digest('hex')])
  const bound = await vault.get(name)
  if (bound === undefined) return vault.set(name, issuer)
  if (bound === issuer) return
  const variable = `PLUGBOARD_CLIENT_SECRET_${server.name.toUpperCase().replace(/[^A-Z0-9]/g, '_')}`
  throw new AuthRefused(
    'issuer-mismatch',
    `MCP_CLIENT_SECRET was first used at ${shownUrl(bound)}; it is not sent to ${shownUrl(issuer)}.`,
    { server: server.name, hint: `Give "${server.name}" a secret of its own: set ${variable}.` },
  )
}

function parse<T>(text: string | undefined): T | undefined {
  // Only this file writes these entries, and the vault has checked their integrity.
  return text === undefined ? undefined : (JSON.parse(text) as T)
}
