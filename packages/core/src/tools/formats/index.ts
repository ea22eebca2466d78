// formats: the same tools in the form of each provider. A provider is one file and one line here.
export { type AiSdkTool, toAiSdk } from './ai-sdk.ts'
export { type AnthropicTool, fromAnthropic, toAnthropic } from './anthropic.ts'
export { fromGemini, type GeminiFunction, toGemini } from './gemini.ts'
export {
  fromStrict,
  type OpenAiChatTool,
  type OpenAiResponsesTool,
  toOpenAiChat,
  toOpenAiResponses,
} from './openai.ts'
