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
export { type GuardedFetch, guardedFetch, type Resolve } from './guard.ts'
export { type LoginResult, type LogoutResult, login, logout } from './login.ts'
export { saveClientSecret } from './logins.ts'
export { type Logins, loginsFor } from './logins-for.ts'
export { forgetNeedsAuth, type NeedsAuth, needsAuth, rememberNeedsAuth, watchLogins } from './needs-auth.ts'
export { lazyVault, type OpenVaultOptions, openVault } from './open-vault.ts'
export type { PersonOptions } from './person.ts'
export { authFor, type BoardAuth, causedBy } from './provider.ts'
export { AuthRefused, type Refusal } from './refusal.ts'
export { memoryVault, type Vault, VaultDamaged } from './vault.ts'
export { logoutOfIdp } from './xaa.ts'
