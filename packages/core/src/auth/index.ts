// The auth room: logins, how they are kept, and how requests carry them.

export type {
  AuthContext,
  AuthNotice,
  AuthSettings,
  MachineSettings,
  RemoteServer,
  XaaSettings,
} from './context.ts'
export { isRemote, serverKey } from './context.ts'
export { type GuardedFetch, guardedFetch, type Resolve } from './guarded-fetch.ts'
export { type LoginResult, type LogoutResult, login, logout } from './login.ts'
export { saveClientSecret } from './stored-logins.ts'
export { type Logins, loginsFor } from './board-auth.ts'
export { forgetNeedsAuth, type NeedsAuth, needsAuth, rememberNeedsAuth, watchLogins } from './needs-auth.ts'
export { lazyVault, type OpenVaultOptions, openVault } from './open-vault.ts'
export type { AuthorizationCodeOptions } from './authorization-code.ts'
export { authFor, type BoardAuth, causedBy } from './auth-fetch.ts'
export { AuthRefused, type AuthRefusalReason } from './auth-refused.ts'
export { memoryVault, type Vault, VaultDamaged } from './vault.ts'
export { logoutOfIdp } from './cross-app-access.ts'
