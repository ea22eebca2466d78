// tools: from what servers list to what an agent uses.
export { type HeaderScan, mirrored, scanHeaders } from '../connection/param-headers.ts'
export { cleanLine, cleanText } from '../text/sanitize.ts'
export type { ToolTraits } from './annotations.ts'
export type {
  Args,
  CallPorts,
  SendOptions,
  ToolLookup,
} from './call.ts'
export type {
  JsonSchema,
  ReadTools,
  ToolAnnotations,
  ToolDefinition,
} from './definition.ts'
export { errorResult } from './error-result.ts'
export * from './formats/index.ts'
export { decodeBase64, identify as identifyBytes } from './media.ts'
export { NameRegistry, plainName, type Resolved, type ToolRef } from './names.ts'
export { parsedArguments } from './parsed-arguments.ts'
export type { AcceptedTools } from './permit.ts'
export {
  linkLine,
  type ModelBlock,
  otherFields,
  type ResultOptions,
  type ToolResult,
} from './result.ts'
export { type ResultFiles, resultFiles, type SavedFile } from './result-files.ts'
export type {
  CompiledSchema,
  SchemaIssue,
  SchemaResult,
  Zod,
} from './schema/index.ts'
export { embeddingText, type SearchableTool, type SearchHit, ToolIndex } from './search-ranking.ts'
export {
  type CountedTool,
  type Loading,
  type LoadingOptions,
  planLoading,
  type ServerTokenCost,
  type TokenCosts,
  tokenCosts,
  toolTokens,
} from './token-costs.ts'
export {
  BoundTool,
  type BoundToolOptions,
  type CallContext,
  type OfferedTool,
  type Progress,
  type Tool,
  type ToolActions,
} from './tool.ts'
export type { InjectionSign } from './tool-poisoning.ts'
export { type FoundTools, TOOL_SEARCH_NAME, type ToolSearch, toolSearch } from './tool-search.ts'
export type {
  LockedTool,
  LockFile,
  ToolChange,
} from './tools-lock.ts'
export { typeDeclarations } from './type-declarations.ts'
export type { CallRest, ResultOf, ToolFunctions, ToolName, ToolTypes } from './typed-tools.ts'
