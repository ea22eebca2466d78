// @plugboard/gateway: one MCP endpoint in front of every server of a board.

export {
  type AccessChanges,
  type AccessGrant,
  isLoopback,
  type TokenAuthority,
  type User,
} from './access/access.ts'
export { EVERYTHING, type Exposure, narrowed, readExposure } from './access/exposure.ts'
export { AdminActions, AdminFault } from './admin/admin-actions.ts'
export { type AdminHandle, serveAdmin } from './admin/admin-server.ts'
export { Revocations } from './admin/revocations.ts'
export { UserDirectory } from './admin/user-directory.ts'
export { CallLimits } from './call-limits/call-limits.ts'
export { type ConfigFault, type ConfigReading, faultText, readGatewayConfig } from './config/read-config.ts'
export {
  type GatewayConfig,
  gatewayJsonSchema,
  type IssuerConfig,
  type LimitConfig,
} from './config/schema.ts'
export { Gateway, openGateway } from './gateway.ts'
export type { GatewayOptions } from './gateway-options.ts'
export { type Certificate, type HttpHandle, type HttpOptions, serveHttp } from './http/server.ts'
export { Identity, type IdentityOptions, tokenUserKey } from './identity/identity.ts'
export {
  addNamedToken,
  type NamedToken,
  readLastUses,
  readNamedTokens,
  revokeNamedToken,
  saveLastUses,
} from './identity/named-tokens.ts'
export { resourceOf } from './identity/protected-resource.ts'
export { defaultIsolation } from './isolation/default-isolation.ts'
export type { GatewayLimits } from './limits.ts'
export { LocalLogin, localIssuer } from './local-login/local-login.ts'
export { AuditStream } from './operation/audit-stream.ts'
export type { AccessEntry } from './operation/observe-call.ts'
export { type OtlpExport, startOtlpExport } from './operation/otlp-export.ts'
export type { OwnTool, OwnToolContext } from './own-tool.ts'
export type { ReplicaStatus } from './replicas/replica-status.ts'
export { Replicas } from './replicas/replicas.ts'
export { SharedSpentIds } from './replicas/shared-spent-ids.ts'
export { ResultStore, type ResultStoreOptions } from './results/result-store.ts'
export type { AskPolicy, Wiring } from './routing/server-requests.ts'
export { KeyRing } from './sealing/key-ring.ts'
export { gatewayKeys } from './sealing/key-store.ts'
export { SpentIds, type SpentRecord } from './sealing/spent-ids.ts'
export { type StdioHandle, type StdioOptions, serveStdio } from './stdio/server.ts'
export { openStore } from './store/open-store.ts'
export { type Store, StoreUnavailable } from './store/store.ts'
export { loginKeys } from './user-logins/login-key.ts'
export { UserLogins } from './user-logins/user-logins.ts'
export { openNameStore } from './views/name-store.ts'
export type { SearchThreshold, ServeMode } from './views/search-mode.ts'
export type { ToolListing } from './views/status.ts'
export { type TextEmbedder, ToolVectors, type ToolVectorsOptions } from './views/tool-vectors.ts'
export type { Naming } from './views/views.ts'
