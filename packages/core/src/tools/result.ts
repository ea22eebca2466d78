// result.ts: prepares a tool's result for a model and for the user. The rule, for every tool alike:
//
// - Parts keep their order. Text is text. A link is one line. Text of an embedded resource follows its address.
// - Images are shown when a model accepts them, made smaller if needed, and saved as they came. Audio and other bytes
//   are saved, and a line says what, how large and where.
// - `structuredContent` is always kept beside. The model reads what of it the text lacks, as JSON after the text:
//   structured-content.ts has the rule. The built-in server's text stands alone.
// - A result without `content` is shown as its JSON.
// - Text over the limit is cut at the end of a line, and the whole is saved; the last line says where.
// - An error is a result like any other, with `isError`.

import { isObject, put } from '../json.ts'
import { RESULT_LIMITS, TOOL_LIMITS } from '../limits.ts'
import { isHighSurrogate } from '../text/sanitize.ts'
import { fitForModel, isPicture } from './images.ts'
import { decodeBase64, identify } from './media.ts'
import type { ResultFiles, SavedFile } from './result-files.ts'
import { unsaidPart } from './structured-content.ts'

/** What a model receives. */
export type ModelBlock =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'image'; readonly data: string; readonly mimeType: string }

/** What a call gave: parts for a model, structured content, files. */
export interface ToolResult {
  readonly isError: boolean
  readonly content: readonly ModelBlock[]
  readonly structuredContent?: unknown
  /** The structured content says more than the text does. */
  readonly hasUnsaidData?: true
  readonly savedFiles: readonly SavedFile[]
  /** The text was cut; the whole is in the last saved text file. */
  readonly truncated: boolean
  readonly meta?: Readonly<Record<string, unknown>>
  /** What was odd about the result, for a log. */
  readonly warnings: readonly string[]
  /** The server's result as it came, when the caller set `keepAnswer`. */
  readonly answer?: Readonly<Record<string, unknown>>
}

/** How a result is prepared for a model. */
export interface ResultOptions {
  readonly maxChars: number
  readonly files: ResultFiles
  /** The text is known to contain everything that a model needs of the structured content. */
  readonly textStandsAlone?: boolean
  /** Keeps the server's result beside what a model receives. */
  readonly keepAnswer?: boolean
}

const NONE: readonly never[] = Object.freeze([])

/**
 * The result of an ordinary call at once: only text, and not too much of it. Undefined where `presentResult` has more to
 * do; where both can answer, they answer alike.
 */
export function plainResult(raw: unknown, maxChars: number, keepAnswer = false): ToolResult | undefined {
  if (!isObject(raw) || !Array.isArray(raw.content) || Object.hasOwn(raw, 'structuredContent'))
    return undefined
  const parts: readonly unknown[] = raw.content
  if (parts.length > RESULT_LIMITS.blocks) return undefined
  const content: ModelBlock[] = []
  let chars = 0
  for (const part of parts) {
    if (!isObject(part) || part.type !== 'text' || typeof part.text !== 'string') return undefined
    chars += part.text.length
    content.push({ type: 'text', text: part.text })
  }
  if (chars === 0 || chars > maxChars) return undefined
  const meta = isObject(raw._meta) ? { meta: raw._meta } : undefined
  const isError = raw.isError === true
  const result: ToolResult = { isError, content, savedFiles: NONE, truncated: false, warnings: NONE }
  return meta || keepAnswer ? { ...result, ...meta, ...(keepAnswer && { answer: raw }) } : result
}

/** Parses the result of `tools/call`, whatever it is. It throws only when a file cannot be written. */
export async function presentResult(raw: unknown, options: ResultOptions): Promise<ToolResult> {
  const answer = isObject(raw) ? raw : {}
  const draft = new Draft(options)
  const blocks: readonly unknown[] = Array.isArray(answer.content) ? answer.content : []
  if (!isObject(raw)) draft.warnings.push('The answer is not an object.')
  for (const block of blocks.slice(0, RESULT_LIMITS.blocks)) await addBlock(draft, block)
  if (blocks.length > RESULT_LIMITS.blocks)
    draft.say(`[${blocks.length - RESULT_LIMITS.blocks} more parts were left out]`)
  const structured = Object.hasOwn(answer, 'structuredContent') ? answer.structuredContent : undefined
  const lacking =
    structured === undefined || (options.textStandsAlone && draft.texts().some((text) => text !== ''))
      ? undefined
      : unsaidPart(structured, draft.texts())
  if (lacking !== undefined) draft.say(jsonText(lacking))
  const isError = answer.isError === true
  const rest = otherFields(raw)
  if (draft.isEmpty() && rest !== undefined) {
    draft.warnings.push('The answer has no content of the protocol; its other fields are shown as JSON.')
    draft.say(typeof rest === 'string' ? rest : jsonText(rest))
  }
  if (draft.isEmpty())
    draft.say(isError ? 'The tool reported an error and said nothing about it.' : '(no output)')
  const truncated = await draft.cut()
  return {
    isError,
    content: draft.blocks,
    ...(structured !== undefined && { structuredContent: structured }),
    ...(lacking !== undefined && { hasUnsaidData: true as const }),
    savedFiles: draft.saved,
    truncated,
    ...(isObject(answer._meta) && { meta: answer._meta }),
    warnings: draft.warnings,
    ...(options.keepAnswer && isObject(raw) && { answer: raw }),
  }
}

/** The protocol's fields of a result; `content` counts only when it is a list. */
const KNOWN_FIELDS = new Set(['content', 'structuredContent', 'isError', '_meta', 'resultType'])

/**
 * What a result contains outside the protocol's fields: nothing, the value itself, or an object of those fields.
 *
 * @example
 * console.log(otherFields({ content: [], took: 12 })) // { took: 12 }
 */
export function otherFields(raw: unknown): unknown {
  if (!isObject(raw)) return raw === null || (Array.isArray(raw) && raw.length === 0) ? undefined : raw
  const rest: Record<string, unknown> = {}
  for (const [key, value] of Object.entries(raw))
    if (!KNOWN_FIELDS.has(key) || (key === 'content' && !Array.isArray(value))) put(rest, key, value)
  if (Object.keys(rest).length === 0) return undefined
  // Some servers return bare text.
  return Object.keys(rest).length === 1 && typeof rest.content === 'string' ? rest.content : rest
}

class Draft {
  blocks: ModelBlock[] = []
  readonly saved: SavedFile[] = []
  readonly warnings: string[] = []
  readonly files: ResultFiles
  readonly #maxChars: number

  constructor(options: ResultOptions) {
    this.files = options.files
    this.#maxChars = options.maxChars
  }

  say(text: string): void {
    this.blocks.push({ type: 'text', text })
  }

  show(bytes: Buffer, mimeType: string): void {
    this.blocks.push({ type: 'image', data: bytes.toString('base64'), mimeType })
  }

  texts(): readonly string[] {
    return this.blocks.flatMap((block) => (block.type === 'text' ? [block.text] : []))
  }

  isEmpty(): boolean {
    return this.blocks.every((block) => block.type === 'text' && block.text === '')
  }

  /** Cuts the text that is too long, and saves all of it first. */
  async cut(): Promise<boolean> {
    const texts = this.texts()
    const total = texts.reduce((sum, text) => sum + text.length, 0)
    if (total <= this.#maxChars) return false
    const file = await this.files.save(texts.join('\n\n'), 'text/plain', 'txt')
    this.saved.push(file)
    let room = this.#maxChars
    const kept: ModelBlock[] = []
    for (const block of this.blocks) {
      if (block.type !== 'text') kept.push(block)
      else if (room > 0) {
        const text = cutAtLine(block.text, room)
        room = text.length < block.text.length ? 0 : room - text.length
        kept.push({ type: 'text', text })
      }
    }
    const shown = kept.reduce((sum, block) => sum + (block.type === 'text' ? block.text.length : 0), 0)
    kept.push({
      type: 'text',
      text: `[cut: ${shown} of ${total} characters are shown; all of it is in ${file.path}]`,
    })
    this.blocks = kept
    return true
  }
}

/** At the end of a line if one is near, never inside a surrogate pair. */
function cutAtLine(text: string, room: number): string {
  if (text.length <= room) return text
  const line = text.lastIndexOf('\n', room - 1)
  let end = line >= room * 0.5 ? line + 1 : room
  if (isHighSurrogate(text.charCodeAt(end - 1))) end--
  return text.slice(0, end)
}

async function addBlock(draft: Draft, block: unknown): Promise<void> {
  if (!isObject(block)) {
    draft.warnings.push('A part of the answer is not an object.')
    return
  }
  switch (block.type) {
    case 'text':
      if (typeof block.text === 'string') draft.say(block.text)
      return
    case 'image':
      return addBinary(draft, 'image', block.data, text(block.mimeType))
    case 'audio':
      return addBinary(draft, 'audio', block.data, text(block.mimeType))
    case 'resource':
      return addResource(draft, block.resource)
    case 'resource_link':
      return draft.say(linkLine(block))
    default:
      draft.warnings.push(
        `A part of the answer is of the unknown type ${JSON.stringify(block.type)?.slice(0, 40)}.`,
      )
      draft.say(jsonText(block))
  }
}

async function addResource(draft: Draft, resource: unknown): Promise<void> {
  if (!isObject(resource)) {
    draft.warnings.push('A resource of the answer is not an object.')
    return
  }
  const uri = (text(resource.uri) ?? '').slice(0, RESULT_LIMITS.linkChars)
  if (typeof resource.text === 'string') draft.say(uri === '' ? resource.text : `[${uri}]\n${resource.text}`)
  else await addBinary(draft, `resource ${uri}`, resource.blob, text(resource.mimeType))
}

async function addBinary(
  draft: Draft,
  what: string,
  data: unknown,
  claimed: string | undefined,
): Promise<void> {
  const bytes = typeof data === 'string' ? decodeBase64(data) : undefined
  if (!bytes) {
    const length = typeof data === 'string' ? `, ${data.length} characters` : ''
    draft.warnings.push(`The data of an ${what} is not base64.`)
    draft.say(`[${what}: the data could not be decoded${length}]`)
    return
  }
  if (bytes.length > RESULT_LIMITS.binaryBytes) {
    draft.say(`[${what}: ${sizeText(bytes.length)} are too much to be saved]`)
    return
  }
  const media = identify(bytes, claimed)
  const file = await draft.files.save(bytes, media.mimeType, media.extension)
  draft.saved.push(file)
  const size = media.width ? `${media.width} × ${media.height}, ` : ''
  const facts = `${media.mimeType}, ${size}${sizeText(bytes.length)}`
  if (!isPicture(media)) {
    draft.say(`[${what} saved to ${file.path} (${facts})]`)
    return
  }
  const shown = await fitForModel(bytes, media)
  if (shown.kind === 'file-only') {
    draft.say(`[${what} saved to ${file.path} (${facts}); it is not shown: ${shown.why}]`)
    return
  }
  if (shown.kind === 'as-is') draft.show(bytes, media.mimeType)
  else draft.show(shown.bytes, shown.mimeType)
  const note = shown.kind === 'resized' ? `; shown at ${shown.width} × ${shown.height}` : ''
  draft.say(`[${what} saved to ${file.path} (${facts})${note}]`)
}

/**
 * A resource link as one line.
 *
 * @example
 * console.log(linkLine({ type: 'resource_link', uri: 'file:///a.txt', name: 'a.txt' })) // [link: a.txt · file:///a.txt]
 */
export function linkLine(block: Readonly<Record<string, unknown>>): string {
  const uri = text(block.uri) ?? 'no address'
  const name = text(block.title) ?? text(block.name)
  const parts = [name, uri, text(block.mimeType), text(block.description)].filter(
    (part) => part !== undefined,
  )
  return `[link: ${parts.join(' · ').slice(0, RESULT_LIMITS.linkChars)}]`
}

function jsonText(value: unknown): string {
  try {
    return JSON.stringify(value, undefined, 2) ?? ''
  } catch {
    return '[structured content that is nested too deeply to be shown]'
  }
}

function text(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined
}

function sizeText(bytes: number): string {
  if (bytes < 1024) return `${bytes} bytes`
  if (bytes < 1024 * 1024) return `${(bytes / 1024).toFixed(1)} KiB`
  return `${(bytes / 1024 / 1024).toFixed(1)} MiB`
}

const CHARS_PER_TOKEN = 4

/**
 * How much text of one tool's results the model receives. A tool may raise its own limit by `_meta`
 * (`anthropic/maxResultSizeChars`); the user's `MAX_MCP_OUTPUT_TOKENS` wins.
 */
export function resultLimit(
  meta: Readonly<Record<string, unknown>> | undefined,
  env: Readonly<Record<string, string | undefined>>,
): number {
  const own = meta?.['anthropic/maxResultSizeChars']
  const wanted =
    typeof own === 'number' && own > 0
      ? Math.min(Math.floor(own), TOOL_LIMITS.resultCharsCeiling)
      : TOOL_LIMITS.resultChars
  const tokens = Number(env.MAX_MCP_OUTPUT_TOKENS)
  return Number.isFinite(tokens) && tokens > 0
    ? Math.min(wanted, Math.floor(tokens) * CHARS_PER_TOKEN)
    : wanted
}
