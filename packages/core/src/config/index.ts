// The configuration room's door: what the other rooms and the command may use.
export type { ConfigDocument, Definition } from './document.ts'
export type * from './entry.ts'
export type { Expansion } from './expand.ts'
export { type Configuration, type LoadOptions, loadConfiguration } from './load.ts'
export {
  addServer,
  approve,
  findResolution,
  type PendingApproval,
  pendingApprovals,
  removeServer,
  resetProjectChoices,
  setEnabled,
} from './manage.ts'
export { isSecret, maskEntry, maskUrl, maskValue } from './mask.ts'
export { nameFault, RESERVED_NAMES } from './names.ts'
export { parseJson } from './parse.ts'
export type { Contender, PermissionRule, Resolution } from './resolve.ts'
export { plugboardHome, type Source, type WritableScope } from './sources.ts'
export { type ConfiguredServer, type Diagnostic, type DisabledReason, SCOPES, type Scope } from './types.ts'
export { settingsJsonSchema } from './json-schema.ts'
