// The public API of @plugboard/core, and nothing else.

export {
  Board,
  type BoardOptions,
  type BoardTool,
  type InProcessServer,
  openBoard,
  type ServerSnapshot,
} from './board.ts'
export type { ServerEntry, TransportType } from './config/entry.ts'
export type {
  ConfiguredServer,
  Diagnostic,
  DisabledReason,
  Scope,
} from './config/types.ts'
export type { AskHandler, Asking, RequestHandlers } from './connection/asks.ts'
export type { Connection } from './connection/connection.ts'
export { RpcFault } from './connection/faults.ts'
export type {
  PromptDefinition,
  ResourceDefinition,
  TemplateDefinition,
  ToolDefinition,
} from './connection/lists.ts'
export { followLog, readLog } from './connection/logs.ts'
export type { RequestOptions } from './connection/requests.ts'
export * from './errors.ts'
export type { BoardEvent, BoardEvents, EventType, LogLine, Progress, StateSummary } from './events.ts'
export { type Host, systemHost } from './host.ts'
