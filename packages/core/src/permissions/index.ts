// permissions: may this call be made, what decides it, and the record of it.

export { rulesOfUnknownTools, type UnmatchedToolRule } from '../config/effective-settings.ts'
export {
  concernsServer,
  coversServer,
  coversTool,
  exactRule,
  type ToolNames,
} from '../config/rule-matcher.ts'
export { type ParsedRule, parseRule, type RuleUse, type UnreadableRule } from '../config/rule-syntax.ts'
export { type AuditEvent, type AuditListener, AuditLog, type AuditOptions } from './audit.ts'
export { type AuditKeys, auditKeys } from './audit-seal.ts'
export { type AuditCheck, type AuditSeals, readAudit, verifyAudit } from './audit-verify.ts'
export { decide, explainDecision, type ServerPermissions } from './decide.ts'
export type { ClaimedTraits, Decision, PermissionOutcome, Reason, ToolRequest } from './decision-types.ts'
export { channelVerdict, isOfUser, readVerdict } from './entry-permissions.ts'
export {
  type Caller,
  type GateDecision,
  type GateOptions,
  type PermissionAnswer,
  PermissionGate,
  type PermissionQuestion,
  type Requester,
} from './gate.ts'
export { permissionQuestion } from './permission-question.ts'
export { redact, redactText } from './redact.ts'
export { type Rule, reaches, rulesAbout, ruleVerdict, type ServerFacts } from './rules.ts'
