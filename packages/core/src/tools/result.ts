// result.ts: what a tool answered, made fit for a model and for a person. The rule, for every tool alike:
//
// - Parts keep their order. Text is text. A link is one line. Text of an embedded resource follows its address.
// - Pictures are shown when a model can take them, made smaller if need be, and saved as they came. Sound and other bytes
//   are saved, and a line says what, how large and where.
// - `structuredContent` is always kept beside. The model reads it too, as JSON after the text, unless the text says it, or the
//   server says that the text alone is meant for the model (`_meta["plugboard/textSaysAll"]`).
// - Text over the limit is cut at the end of a line, and the whole is saved; the last line says where.
// - An error is a result like any other, with `isError`.

import { RESULT_LIMITS, TOOL_LIMITS } from '../limits.ts'
import { isHighSurrogate } from './describe.ts'
import { fitForModel, isPicture } from './images.ts'
import { canonicalJson, isRecord } from './json.ts'
import { decodeBase64, identify } from './media.ts'
import type { ResultFiles, SavedFile } from './result-files.ts'

/** What a model is given. */
export type ModelBlock =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'image'; readonly data: string; readonly mimeType: string }

export interface ToolResult {
  readonly isError: boolean
  readonly content: readonly ModelBlock[]
  readonly structuredContent?: unknown
  readonly savedFiles: readonly SavedFile[]
  /** The text was cut; the whole is in the last saved text file. */
  readonly truncated: boolean
  readonly meta?: Readonly<Record<string, unknown>>
  /** What was odd about the answer, for a log. */
  readonly warnings: readonly string[]
}

export interface ResultOptions {
  readonly maxChars: number
  readonly files: ResultFiles
}

const TEXT_SAYS_ALL = 'plugboard/textSaysAll'
const LEAVES = 200
const COMPARED_CHARS = 1_000_000

/** Reads what `tools/call` answered, whatever that was. It throws only when a file cannot be written. */
export async function presentResult(raw: unknown, options: ResultOptions): Promise<ToolResult> {
  const answer = isRecord(raw) ? raw : {}
  const draft = new Draft(options)
  const blocks = Array.isArray(answer.content) ? (answer.content as unknown[]) : []
  if (!isRecord(raw)) draft.warnings.push('The answer is not an object.')
  for (const block of blocks.slice(0, RESULT_LIMITS.blocks)) await addBlock(draft, block)
  if (blocks.length > RESULT_LIMITS.blocks)
    draft.say(`[${blocks.length - RESULT_LIMITS.blocks} more parts were left out]`)
  const structured = Object.hasOwn(answer, 'structuredContent') ? answer.structuredContent : undefined
  const isSaid = isRecord(answer._meta) && answer._meta[TEXT_SAYS_ALL] === true && !draft.isEmpty()
  if (structured !== undefined && !isSaid && !alreadySaid(structured, draft.texts()))
    draft.say(jsonText(structured))
  const isError = answer.isError === true
  if (draft.isEmpty())
    draft.say(isError ? 'The tool reported an error and said nothing about it.' : '(no output)')
  const truncated = await draft.cut()
  return {
    isError,
    content: draft.blocks,
    ...(structured !== undefined && { structuredContent: structured }),
    savedFiles: draft.saved,
    truncated,
    ...(isRecord(answer._meta) && { meta: answer._meta }),
    warnings: draft.warnings,
  }
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

  /** Cuts the text that is too much, and saves all of it first. */
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
  if (!isRecord(block)) {
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
  if (!isRecord(resource)) {
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

function linkLine(block: Readonly<Record<string, unknown>>): string {
  const uri = text(block.uri) ?? 'no address'
  const name = text(block.title) ?? text(block.name)
  const parts = [name, uri, text(block.mimeType), text(block.description)].filter(
    (part) => part !== undefined,
  )
  return `[link: ${parts.join(' · ').slice(0, RESULT_LIMITS.linkChars)}]`
}

/**
 * Does the text say what the structured part says? It does when it is the same JSON, or when every value in it can be
 * read in the text.
 */
function alreadySaid(structured: unknown, texts: readonly string[]): boolean {
  const length = texts.reduce((sum, part) => sum + part.length, 0)
  if (length === 0 || length > COMPARED_CHARS) return false
  try {
    const wanted = canonicalJson(structured)
    for (const part of texts) {
      const json = /^\s*[[{"\d-]|^\s*(?:true|false|null)\s*$/.test(part) ? parseJson(part) : undefined
      if (json !== undefined && canonicalJson(json) === wanted) return true
    }
    const leaves: string[] = []
    if (!collectLeaves(structured, leaves) || leaves.length === 0) return false
    const whole = texts.join('\n')
    return leaves.every((leaf) => occurs(whole, leaf))
  } catch {
    // Nested deeper than the stack: then nobody can tell, and the model sees both.
    return false
  }
}

/** The values as a text would show them; false when there are too many or one says too little to be recognised. */
function collectLeaves(value: unknown, leaves: string[]): boolean {
  if (leaves.length > LEAVES) return false
  if (value === '') return true
  if (typeof value === 'string') leaves.push(value)
  else if (typeof value === 'number') leaves.push(String(value))
  else if (typeof value === 'object' && value !== null)
    return Object.values(value).every((part) => collectLeaves(part, leaves))
  else return false
  return true
}

/** As a word of its own: the 7 of `17 ms` is not the value 7. */
function occurs(whole: string, leaf: string): boolean {
  const wordy = (char: string | undefined) => char !== undefined && /[A-Za-z0-9]/.test(char)
  for (let at = whole.indexOf(leaf); at >= 0; at = whole.indexOf(leaf, at + 1)) {
    const joined = wordy(leaf[0]) && wordy(whole[at - 1])
    if (!joined && !(wordy(leaf.at(-1)) && wordy(whole[at + leaf.length]))) return true
  }
  return false
}

function parseJson(part: string): unknown {
  try {
    return JSON.parse(part)
  } catch {
    // It only looked like JSON.
    return undefined
  }
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
 * How much text of one tool's results the model is given. A tool may raise its own limit by `_meta`
 * (`anthropic/maxResultSizeChars`); the user's `MAX_MCP_OUTPUT_TOKENS` has the last word.
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
