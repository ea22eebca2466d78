// oversized-response.ts: a response that is too long to read still names its request, near its beginning or its end. This file
// finds the id, so that one call fails instead of the connection.
import type { JSONRPCMessage } from '@modelcontextprotocol/client'
import { AnswerTooLarge } from '../errors.ts'
import { RPC } from '../protocol.ts'

/** The beginning and the end of a skipped text. */
export interface Excerpt {
  readonly start: string
  readonly end: string
}

/**
 * The error response that replaces a skipped text, or undefined when the text was no response: a log line, a
 * notification, a request. Without an `id` its request is unknown.
 */
export function tooLargeAnswer(
  excerpt: Excerpt,
  server: string,
  maxBytes: number,
): JSONRPCMessage | undefined {
  const start = excerpt.start.trimStart()
  if (!start.startsWith('{') && !start.startsWith('[')) return undefined
  const members = firstMembers(start)
  if (members.has('method')) return undefined
  const id = members.get('id') ?? lastId(excerpt.end)
  const error = new AnswerTooLarge(server, maxBytes)
  return {
    jsonrpc: '2.0',
    ...(id !== undefined && { id }),
    error: { code: RPC.internal, message: error.message, data: error },
  }
}

const MEMBER =
  /\s*"((?:[^"\\]|\\.)*)"\s*:\s*(?:("(?:[^"\\]|\\.)*")|(-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)|true|false|null)?\s*(,?)/y

/** The members before the first object, array or cut-off string, with the values of strings and numbers. */
function firstMembers(start: string): ReadonlyMap<string, string | number | undefined> {
  const members = new Map<string, string | number | undefined>()
  if (!start.startsWith('{')) return members
  MEMBER.lastIndex = 1
  for (;;) {
    const found = MEMBER.exec(start)
    if (!found) return members
    const [, name = '', text, number, comma] = found
    members.set(name, text !== undefined ? unquoted(text) : number !== undefined ? Number(number) : undefined)
    if (comma !== ',') return members
  }
}

/** The last brace closes the message itself, so an `id` right before it (or before the version) is the message's own. */
const LAST_ID = /"id"\s*:\s*(?:(-?\d+)|("(?:[^"\\]|\\.)*"))\s*(?:,\s*"jsonrpc"\s*:\s*"2\.0"\s*)?\}\s*$/

function lastId(end: string): string | number | undefined {
  const found = LAST_ID.exec(end)
  if (!found) return undefined
  const [, number, text] = found
  return number !== undefined ? Number(number) : text === undefined ? undefined : unquoted(text)
}

function unquoted(text: string): string | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'string' ? value : undefined
  } catch {
    // A string with a broken escape names nothing.
    return undefined
  }
}
