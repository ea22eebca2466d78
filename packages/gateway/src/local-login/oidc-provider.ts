// oidc-provider.ts: the parts of the package oidc-provider that the local login uses, with types, and how it is found. It is an optional
// peer: who does not use `--login local` does not need it.
import type { IncomingMessage, ServerResponse } from 'node:http'
import { InvalidInput } from '@plugboard/core/errors'

/** A request for a login while its user decides. */
export interface Interaction {
  readonly uid: string
  readonly params: Readonly<Record<string, unknown>>
}

export interface Grant {
  addOIDCScope(scope: string): void
  addResourceScope(resource: string, scope: string): void
  save(): Promise<string>
}

export interface RegisteredClient {
  readonly clientId: string
  readonly clientName?: string
}

export interface OidcProvider {
  /** Takes the protocol and the host from the headers of a proxy. */
  proxy: boolean
  callback(): (req: IncomingMessage, res: ServerResponse) => void
  interactionDetails(req: IncomingMessage, res: ServerResponse): Promise<Interaction>
  interactionFinished(req: IncomingMessage, res: ServerResponse, result: object): Promise<void>
  readonly Grant: new (of: { readonly accountId: string; readonly clientId: string }) => Grant
  readonly Client: { find(id: string): Promise<RegisteredClient | undefined> }
}

export interface OidcProviderPackage {
  readonly Provider: new (issuer: string, configuration: object) => OidcProvider
  /** A client asked for a token for another resource. */
  readonly InvalidTarget: new () => Error
}

/** A name that a bundler does not follow: the package is the user's. */
const PACKAGE: string = 'oidc-provider'

/** Beside Plugboard only: the folder where it is started may be a repository's. */
export async function loadOidcProvider(): Promise<OidcProviderPackage> {
  const found: unknown = await import(PACKAGE).catch(() => undefined)
  // The package has no types of its own: what it offers is as its documentation says.
  const { default: Provider, errors } = (found ?? {}) as {
    readonly default?: OidcProviderPackage['Provider']
    readonly errors?: { readonly InvalidTarget?: OidcProviderPackage['InvalidTarget'] }
  }
  if (Provider && errors?.InvalidTarget) return { Provider, InvalidTarget: errors.InvalidTarget }
  throw new InvalidInput('`--login local` needs the package oidc-provider, which is not installed.', {
    hint: 'Install it where Plugboard is installed: `npm install -g oidc-provider@9`, or without -g beside a local install.',
  })
}
