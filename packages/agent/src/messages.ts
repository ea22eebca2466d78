// messages.ts: a conversation in a form that belongs to no provider. The adapters in models/ translate it.

/** A text or an image in a conversation. */
export type ContentBlock =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'image'; readonly data: string; readonly mimeType: string }

/** A call as the model wrote it; `problem` says why the arguments cannot be used. */
export interface ToolCall {
  readonly id: string
  readonly name: string
  readonly arguments: Readonly<Record<string, unknown>>
  readonly problem?: string
  /** What the provider wants back with this call; it means something only to the model that is named. */
  readonly providerData?: ProviderData
}

/** Something of a provider that only it can read. */
export interface ProviderData {
  /** API and model. */
  readonly model: string
  readonly data: string
}

/** The result of a call in a conversation. */
export interface CallResult {
  readonly id: string
  readonly name: string
  readonly isError: boolean
  readonly content: readonly ContentBlock[]
}

/** One message of a conversation. */
export type Message =
  | { readonly role: 'user'; readonly content: readonly ContentBlock[] }
  | { readonly role: 'assistant'; readonly text: string; readonly calls: readonly ToolCall[] }
  /** The results of all calls of the message before it, in their order. */
  | { readonly role: 'results'; readonly results: readonly CallResult[] }

/** Tokens of one request or of a whole run. */
export interface Usage {
  readonly inputTokens: number
  readonly outputTokens: number
}

/**
 * A text as a message of the user.
 *
 * @example
 * console.log(userMessage('Hello').role) // user
 */
export function userMessage(text: string): Message {
  return { role: 'user', content: [{ type: 'text', text }] }
}

export function textResult(call: Pick<ToolCall, 'id' | 'name'>, text: string, isError = false): CallResult {
  return { id: call.id, name: call.name, isError, content: [{ type: 'text', text }] }
}

/**
 * The texts of a content, joined.
 *
 * @example
 * console.log(textOf([{ type: 'text', text: 'one' }])) // one
 */
export function textOf(content: readonly ContentBlock[]): string {
  return content.flatMap((block) => (block.type === 'text' ? [block.text] : [])).join('\n')
}

const CHARS_PER_TOKEN = 3.6
/** A picture of common size; providers count by area. */
const IMAGE_TOKENS = 1500

/**
 * About how much of the context a message takes; an estimate, and used as one.
 *
 * @example
 * console.log(messageTokens(userMessage('Hello')) > 0) // true
 */
export function messageTokens(message: Message): number {
  switch (message.role) {
    case 'user':
      return blockTokens(message.content)
    case 'assistant':
      return Math.ceil((message.text.length + JSON.stringify(message.calls).length) / CHARS_PER_TOKEN)
    case 'results':
      return message.results.reduce((sum, { content }) => sum + blockTokens(content), 0)
  }
}

function blockTokens(content: readonly ContentBlock[]): number {
  return content.reduce(
    (sum, block) =>
      sum + (block.type === 'text' ? Math.ceil(block.text.length / CHARS_PER_TOKEN) : IMAGE_TOKENS),
    0,
  )
}
