// doctor: why a server does not come up, and what is odd about one that does.
export { type Diagnosis, diagnose, type Subject } from './diagnose.ts'
export { type Finding, type FindingKind, toolFindings } from './findings.ts'
export { STEPS, type Step, type StepName } from './steps.ts'
