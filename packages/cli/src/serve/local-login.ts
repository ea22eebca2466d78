// local-login.ts: `serve --http --login local`: the gateway as its own authorization server, for homes and for clients that accept only
// OAuth. How a login works is decided by the gateway package.
import { join } from 'node:path'
import { stateFolder } from '@plugboard/core/config'
import { InvalidInput } from '@plugboard/core/errors'
import type { GatewayConfig } from '@plugboard/gateway'
import { LocalLogin, localIssuer } from '@plugboard/gateway/parts'
import type { Invocation } from '../context.ts'
import { write } from '../streams.ts'
import type { GatewayFile } from './gateway-file.ts'

export interface ServedLogin {
  readonly login: LocalLogin
  /** The configuration with the login as one more issuer. */
  complete(config: GatewayConfig): GatewayConfig
}

/** Undefined without `--login`. */
export async function openLogin(
  invocation: Invocation,
  file: GatewayFile | undefined,
  { host, port }: { readonly host: string; readonly port: number },
): Promise<ServedLogin | undefined> {
  const kind = invocation.option('login')
  if (kind === undefined) return undefined
  if (kind !== 'local')
    throw new InvalidInput(`--login "${kind}" is not known.`, {
      hint: 'Write `--login local`. Other identity providers are "auth.issuers" in gateway.json.',
    })
  if (port === 0)
    throw new InvalidInput('--login local needs --port: clients remember the address that they logged in at.')
  if (file?.config.tls)
    throw new InvalidInput('--login local and "tls" cannot be used together.', {
      hint: 'Let a proxy in front of the gateway do TLS, and write its address as "publicUrl".',
    })
  if (file?.config.store !== undefined)
    throw new InvalidInput('--login local is for one process: replicas need an identity provider.')
  const name = host === '0.0.0.0' || host === '::' ? '127.0.0.1' : host
  const local = `http://${name.includes(':') ? `[${name}]` : name}:${port}`
  const publicUrl = file?.config.publicUrl ?? local
  const login = await LocalLogin.open({
    host: invocation.host,
    publicUrl,
    file: join(stateFolder(invocation.host), 'gateway-login.json'),
    tell: (text) => write(2, `${text}\n`),
  })
  const issuer = localIssuer(publicUrl, local)
  return {
    login,
    complete: (config) => ({
      ...config,
      publicUrl,
      auth: { ...config.auth, issuers: [...(config.auth?.issuers ?? []), issuer] },
    }),
  }
}
