import type { AnthropicTool, GeminiFunction, OpenAiChatTool } from '@plugboard/core/tools'

/** What a provider would say against a tool in its form; nothing when it takes it. */
export function anthropicComplaints(tool: AnthropicTool): string[]
export function openAiComplaints(tool: OpenAiChatTool): string[]
export function geminiComplaints(tool: GeminiFunction): string[]
