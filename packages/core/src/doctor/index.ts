// doctor: why a server does not come up, and what is odd about one that does.
export { type Diagnosis, diagnose, type Patient } from './diagnose.ts'
export { type Finding, type FindingKind, toolFindings } from './findings.ts'
export { RUNGS, type Rung, type RungName } from './rungs.ts'
