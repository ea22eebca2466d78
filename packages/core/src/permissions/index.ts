// permissions: may this call be made, who says so, and the record of it.
export {
  type Answer,
  type Caller,
  type GateOptions,
  PermissionGate,
  type Question,
  type Verdict,
} from './ask.ts'
export {
  type AuditCheck,
  type AuditEvent,
  AuditLog,
  type AuditOptions,
  type AuditSeals,
  readAudit,
  verifyAudit,
} from './audit.ts'
export { type AuditKeys, auditKeys } from './audit-seal.ts'
export { channelVerdict, resourceVerdict } from './channel.ts'
export { decide, explainDecision, type Standing } from './decide.ts'
export { permissionQuestion } from './question.ts'
export { redact, redactText } from './redact.ts'
export type { ClaimedTraits, Decision, Outcome, Reason, ToolRequest } from './request.ts'
export { type ReadRules, type Rule, type RuleLists, readRules, rulesAbout, ruleVerdict } from './rules.ts'
