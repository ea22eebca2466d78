// call-output.ts: a tool's result as `call` prints it: for a script with --json, for a pipe, for a user at a terminal.
// Only the last is shortened.
import type { Tool, ToolResult } from '@plugboard/core'
import { isObject } from '@plugboard/core/json'
import { decodeBase64, linkLine, otherFields } from '@plugboard/core/tools'
import { jsonText } from '../output.ts'
import { isTerminal } from '../streams.ts'

/** What scripts read: everything the server sent, uncut, as it sent it. Fields may be added, never renamed. */
export function callJson(tool: Tool, result: ToolResult, durationMs: number) {
  const { answer, isError, structuredContent, savedFiles } = result
  const other = otherFields(answer)
  return {
    server: tool.mcpInfo.serverName,
    tool: tool.mcpInfo.toolName,
    isError,
    content: answer === undefined ? result.content : listOf(answer.content),
    ...(structuredContent !== undefined && { structuredContent }),
    ...(answer?._meta !== undefined && { _meta: answer._meta }),
    // A result that is not of the protocol's form is still a result.
    ...(other !== undefined && { otherFields: other }),
    ...(savedFiles.length > 0 && { savedFiles }),
    durationMs: Math.round(durationMs * 10) / 10,
  }
}

interface ResultText {
  /** For stdout. */
  readonly said: readonly string[]
  /** For stderr. */
  readonly notes: readonly string[]
}

const MORE_IN_JSON = 'The same call with --json prints its structured result too.'

/** For a user at a terminal: what a model is given, without structured content where there is text. */
export function shownText({ content, structuredContent }: ToolResult): ResultText {
  const texts = content.flatMap((part) => (part.type === 'text' ? [part.text] : []))
  const said = withoutData(texts, structuredContent)
  return { said, notes: said.length < texts.length && isTerminal(2) ? [MORE_IN_JSON] : [] }
}

/** A model reads the structured result after the text; for a user the text is enough, where there is one. */
function withoutData(texts: readonly string[], structured: unknown): readonly string[] {
  if (structured === undefined || !texts[0]?.trim()) return texts
  const data = JSON.stringify(structured, null, 2)
  // Of a long one the beginning is there, up to the limit.
  return texts.filter((text, at) => at === 0 || text === '' || !data.startsWith(text))
}

/** For a pipe or a file: every text as the server sent it, and nothing else. Bytes are in files, named on stderr. */
export function pipedText(result: ToolResult): ResultText {
  const { answer, structuredContent } = result
  if (answer === undefined) return shownText(result)
  const notes: string[] = []
  const said = listOf(answer.content).flatMap((part) => textOf(part, notes))
  if (said.some((text) => text !== '')) {
    if (result.hasUnsaidData) notes.push(MORE_IN_JSON)
    return { said, notes }
  }
  const rest = structuredContent ?? otherFields(answer)
  if (rest !== undefined) return { said: [typeof rest === 'string' ? rest : jsonText(rest)], notes }
  return { said, notes: listOf(answer.content).length > 0 ? notes : ['(no output)'] }
}

function textOf(part: unknown, notes: string[]): readonly string[] {
  if (!isObject(part)) return [jsonText(part)]
  if (part.type === 'text' && typeof part.text === 'string') return [part.text]
  if (part.type === 'resource_link') return [linkLine(part)]
  if (part.type === 'resource' && isObject(part.resource)) {
    const { uri, text, blob } = part.resource
    if (typeof text === 'string') {
      if (typeof uri === 'string') notes.push(`The text of ${uri}.`)
      return [text]
    }
    if (typeof blob === 'string') return notBytes(`the resource ${String(uri)}`, blob, notes)
  }
  if ((part.type === 'image' || part.type === 'audio') && typeof part.data === 'string')
    return notBytes(`the ${part.type}`, part.data, notes)
  return [jsonText(part)]
}

/** Bytes are saved and named on stderr; invalid base64 is only reported. */
function notBytes(what: string, data: string, notes: string[]): readonly string[] {
  if (decodeBase64(data) === undefined)
    notes.push(`The data of ${what} is not base64 and was not saved; --json prints it.`)
  return []
}

function listOf(content: unknown): readonly unknown[] {
  return Array.isArray(content) ? content : []
}
