// interaction: a server's requests to the user, the model and the workspace, and the hooks around them.
export { type ClientCapabilities, clientCapabilities, type Served } from './capabilities.ts'
export {
  type Elicitation,
  type ElicitationAnswer,
  type ElicitationPorts,
  elicit,
  type Prompt,
  type RawAnswer,
  readElicitation,
  readUrl,
} from './elicitation.ts'
export {
  type CheckedAnswer,
  type Content,
  checkAnswer,
  type Field,
  type FieldProblem,
  type Form,
  fieldProblem,
  type Option,
  readForm,
} from './form.ts'
export type { HookDecision, HookRun } from './hook-decision.ts'
export {
  type AfterCall,
  type BeforeCall,
  HOOK_EVENTS,
  type Hook,
  type HookEvent,
  type HookFunction,
  type HookInput,
  Hooks,
  type HooksOptions,
  readHooks,
} from './hooks.ts'
export { entryFolders, type Root, rootsOf } from './roots.ts'
export {
  readSampling,
  Sampling,
  type SamplingConsent,
  type SamplingOptions,
  type SamplingRequest,
  type SamplingResult,
  samplingQuestion,
} from './sampling.ts'
