// The reading side of the configuration layer. Editing (manage.ts), translation (import/) and the JSON Schema have
// their own entry points, so that reading loads little.

export { printable } from '../text/strip-controls.ts'
export { connectTimeoutOf } from './connect-timeout.ts'
export type { ConfigDocument, Definition } from './document.ts'
export type * from './entry.ts'
export type { Expansion } from './expand.ts'
export { startSignature } from './fingerprints.ts'
export { type Configuration, type LoadOptions, loadConfiguration } from './load.ts'
export { abbreviated, isSecret, maskEntry, maskUrl, maskValue } from './mask.ts'
export { nameFault, RESERVED_NAMES } from './names.ts'
export { isProjectFile } from './project.ts'
export type { Contender, PermissionRule, Resolution, WrittenHooks } from './resolve.ts'
export {
  findResolution,
  type PendingApproval,
  type PendingSettings,
  pendingApprovals,
  projectEntry,
} from './resolve.ts'
export { plugboardHome, type Source, stateFolder, type WritableScope } from './sources.ts'
export { findProgram, hostForPrograms, neutralFolder } from './start-folder.ts'
export { type ConfiguredServer, type Diagnostic, type DisabledReason, SCOPES, type Scope } from './types.ts'
