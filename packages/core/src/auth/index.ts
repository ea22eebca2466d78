// The auth layer: logins, how they are stored, and how requests carry them.

export { type AuthRefusalReason, AuthRefused } from './auth-refused.ts'
export type { AuthorizationCodeOptions } from './authorization-code.ts'
export { type Logins, loginsFor } from './board-auth.ts'
export type {
  AuthContext,
  AuthLock,
  AuthNotice,
  AuthSettings,
  ExchangeSettings,
  MachineSettings,
  NeedsAuthRecords,
  RemoteServer,
  XaaSettings,
} from './context.ts'
export { isRemote, serverKey, usesSingleSignOn } from './context.ts'
export { logoutOfIdp } from './cross-app-access.ts'
export { type GuardedFetch, guardedFetch, type Resolve } from './guarded-fetch.ts'
export { type LoginResult, type LogoutResult, login, logout } from './login.ts'
export { forgetNeedsAuth, type NeedsAuth, needsAuth, rememberNeedsAuth, watchLogins } from './needs-auth.ts'
export { lazyVault, type OpenVaultOptions, openVault } from './open-vault.ts'
export {
  type AuthRequest,
  type AuthResponse,
  authFor,
  type BoardAuth,
  type Exchange,
  type LoginHeaders,
  type RequestAuth,
} from './request-auth.ts'
export { type ClientIdentity, loadLogin, saveClientSecret } from './stored-logins.ts'
export { memoryVault, type Vault, VaultDamaged } from './vault.ts'
export {
  beginIdentityCheck,
  beginWebLogin,
  finishIdentityCheck,
  finishWebLogin,
  type PendingIdentityCheck,
  type PendingLogin,
  type Redirection,
  type WebLogin,
} from './web-login.ts'
