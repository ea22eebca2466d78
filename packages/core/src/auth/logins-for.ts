// logins-for.ts: the auth room as a board uses it: one vault and one memory for all of its servers.
import type { ConfiguredServer } from '../config/types.ts'
import type { Host } from '../host.ts'
import { type AuthContext, isRemote, serverKey } from './context.ts'
import { watchLogins } from './needs-auth.ts'
import { lazyVault } from './open-vault.ts'
import { authFor, type BoardAuth } from './provider.ts'

export interface Logins {
  readonly context: AuthContext
  auth(server: ConfiguredServer): BoardAuth | undefined
  /** Calls back after every login, by whichever process, with a way to tell whose it was. */
  watch(onLogin: (same: (server: ConfiguredServer) => boolean) => void): Promise<() => void>
}

export function loginsFor(place: { readonly host: Host; readonly stateDir: string }): Logins {
  const context: AuthContext = { ...place, vault: lazyVault(place) }
  return {
    context,
    auth: (server) => authFor(server, context),
    watch: (onLogin) =>
      watchLogins(context, (key) => onLogin((server) => isRemote(server) && serverKey(server) === key)),
  }
}
