// The public API of @plugboard/core, and nothing else.

export { auditKeysOf, auditPath } from './board/board-calls.ts'
export type { BoardLink } from './board/board-link.ts'
export { LocalBoard } from './board/local-board.ts'
export { openBoard } from './board/open.ts'
export type {
  BoardPrompt,
  BoardResource,
  BoardTemplate,
  Completion,
  CompletionOf,
  PromptMessage,
  PromptResult,
  ResourceContent,
} from './board/resources-and-prompts.ts'
export type { ServerHandle } from './board/server-handle.ts'
export type { BoardSkill, ReadSkillOptions } from './board/skills.ts'
export type { ServerSnapshot } from './board/snapshot.ts'
export type { FoundTool, RegisteredTool } from './board/tool-registry.ts'
export type {
  Board,
  BoardBehaviour,
  BoardDefinition,
  BoardOptions,
  InProcessServer,
  ModelCallContext,
  ProtocolMessage,
  WaitOptions,
} from './board.ts'
export type { BuiltinContext, BuiltinInstance, BuiltinServer } from './builtin/index.ts'
export type { CommandInput, RemoteInput, ServerEntry, ServerInput, TransportType } from './config/entry.ts'
export type {
  ConfiguredServer,
  Diagnostic,
  DisabledReason,
  Scope,
} from './config/types.ts'
export type { Connection } from './connection/connection.ts'
export type { Unanswered } from './connection/json-rpc.ts'
export type {
  PromptDefinition,
  ResourceDefinition,
  TemplateDefinition,
  ToolDefinition,
} from './connection/lists.ts'
export { ConnectionPool, type ConnectionPoolOptions, type PooledServer } from './connection/pool.ts'
export { JsonRpcError } from './connection/request-errors.ts'
export type { RequestOptions } from './connection/requests.ts'
export { followLog, readLog } from './connection/server-log.ts'
export type { RequestHandler, RequestHandlers, ServerRequestContext } from './connection/server-requests.ts'
export { type TrafficDirection, type TrafficEntry, TrafficRecorder } from './connection/traffic.ts'
export type { TrafficHook, TrafficHookRun, TrafficHttp } from './connection/traffic-notes.ts'
export * from './errors.ts'
export type {
  BoardEvent,
  BoardEvents,
  EventType,
  LogLine,
  Progress,
  StateSummary,
  TaskState,
  TaskStatus,
} from './events.ts'
export { type Host, systemHost } from './host.ts'
export type {
  Hook,
  HookInput,
  Prompt,
  RawAnswer,
  SamplingRequest,
  SamplingResult,
} from './interaction/index.ts'
export type { Caller, Decision, PermissionAnswer, PermissionQuestion } from './permissions/index.ts'
export type { SkillFile } from './skills/index.ts'
export type {
  CallContext,
  SavedFile,
  Tool,
  ToolChange,
  ToolResult,
} from './tools/index.ts'
// With a star, so that a program can add to `ToolTypes` by declaration merging.
export type * from './tools/typed-tools.ts'
