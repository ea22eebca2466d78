// @plugboard/agent: a loop between a model and every plugged-in tool.
export { BoardTools, type BoardToolsOptions, type ToolBoard } from './board-tools.ts'
export type { AgentEvent, AskedQuestion, DoneReason, Emit, ToolFigures } from './events.ts'
export {
  type CompactOptions,
  type ConversationLog,
  compactConversation,
  type RunOptions,
  runAgent,
} from './loop.ts'
export {
  type CallResult,
  type ContentBlock,
  type Message,
  messageTokens,
  type ProviderData,
  type ToolCall,
  textOf,
  type Usage,
  userMessage,
} from './messages.ts'
export { type AiSdkModel, type AiSdkOptions, fromAiSdk } from './models/ai-sdk.ts'
export { type AnthropicOptions, anthropicModel } from './models/anthropic.ts'
export { type Api, chooseModel, MODEL_APIS, type ModelChoice } from './models/choose.ts'
export { geminiModel } from './models/gemini.ts'
export {
  type FailureKind,
  type Model,
  type ModelEvent,
  ModelFailure,
  type ModelOptions,
  type ModelRequest,
  type StopReason,
} from './models/model.ts'
export { type OpenAiOptions, openAiModel } from './models/openai.ts'
export { openAiResponsesModel } from './models/openai-responses.ts'
export { type Recorded, type RecordedItem, type Replay, recorded, replay } from './recording.ts'
export { type AgentKind, type AgentToolOptions, agentTool } from './sub-agent.ts'
export type { AgentTool, Batch, CallOutcome, OfferedTools, Toolbox, ToolCallContext } from './toolbox.ts'
export { type UserInterface, UserPrompts } from './user-prompts.ts'
