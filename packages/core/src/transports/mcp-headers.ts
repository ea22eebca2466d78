// mcp-headers.ts: the headers that the protocol adds to an HTTP request, in either era. A modern request repeats facts
// of its body in headers, so that a proxy can route it without reading the body.
import type { JSONRPCMessage } from '@modelcontextprotocol/client'
import { isObject } from '../json.ts'
import { META } from '../protocol.ts'
import { requestId } from './json-rpc-messages.ts'

/** Name, value, name, value … */
export type FlatHeaders = readonly string[]

export const JSON_TYPE = 'application/json'
export const EVENT_STREAM = 'text/event-stream'

/** What the connection adds to each request. */
export interface ConnectionFacts {
  readonly sessionId: string | undefined
  readonly protocolVersion: string | undefined
}

/** These follow from the connection or the body; a caller's own header of that name would contradict them. */
const RESERVED: ReadonlySet<string> = new Set([
  'accept',
  'authorization',
  'content-type',
  'dpop',
  'mcp-method',
  'mcp-name',
  'mcp-protocol-version',
  'mcp-session-id',
])

/** The member of `params` that `Mcp-Name` repeats. */
const NAME_MEMBER: ReadonlyMap<string, string> = new Map([
  ['tools/call', 'name'],
  ['prompts/get', 'name'],
  ['resources/read', 'uri'],
  ['tasks/get', 'taskId'],
  ['tasks/update', 'taskId'],
  ['tasks/cancel', 'taskId'],
])

/** The headers of a POST. `extra` are those of one call: the arguments that a tool wants repeated in headers. */
export function postHeaders(
  message: JSONRPCMessage,
  facts: ConnectionFacts,
  extra: Readonly<Record<string, string>> | undefined,
): FlatHeaders {
  const headers = ['content-type', JSON_TYPE, 'accept', `${JSON_TYPE}, ${EVENT_STREAM}`]
  // A new session starts without the id of the old one.
  const isInitialize = 'method' in message && message.method === 'initialize'
  const modern = modernVersion(message)
  addConnection(headers, {
    sessionId: isInitialize ? undefined : facts.sessionId,
    protocolVersion: modern ?? facts.protocolVersion,
  })
  if (modern !== undefined && 'method' in message) {
    headers.push('mcp-method', message.method)
    const name = nameOf(message.method, message.params)
    if (name !== undefined) headers.push('mcp-name', encodeHeader(name))
  }
  if (extra)
    for (const name of Object.keys(extra))
      if (!RESERVED.has(name.toLowerCase())) headers.push(name.toLowerCase(), extra[name] ?? '')
  return headers
}

/** The headers of a GET that opens or resumes a stream. */
export function streamHeaders(facts: ConnectionFacts, lastEventId: string | undefined): FlatHeaders {
  const headers = ['accept', EVENT_STREAM]
  addConnection(headers, facts)
  if (lastEventId) headers.push('last-event-id', asHeader(lastEventId))
  return headers
}

export function sessionHeaders(facts: ConnectionFacts): FlatHeaders {
  const headers: string[] = []
  addConnection(headers, facts)
  return headers
}

function addConnection(headers: string[], { sessionId, protocolVersion }: ConnectionFacts): void {
  if (sessionId !== undefined) headers.push('mcp-session-id', sessionId)
  if (protocolVersion !== undefined) headers.push('mcp-protocol-version', protocolVersion)
}

/** The protocol version that a request claims in its `_meta`; a legacy message claims none. */
export function modernVersion(message: JSONRPCMessage): string | undefined {
  if (!('method' in message) || requestId(message) === undefined) return undefined
  const meta = message.params?.['_meta']
  const version = isObject(meta) ? meta[META.protocolVersion] : undefined
  return typeof version === 'string' ? version : undefined
}

function nameOf(method: string, params: unknown): string | undefined {
  const member = NAME_MEMBER.get(method)
  const value = member !== undefined && isObject(params) ? params[member] : undefined
  return typeof value === 'string' ? value : undefined
}

/** As it is when HTTP can carry it unchanged, else as marked base64 of its UTF-8. */
export function encodeHeader(text: string): string {
  const looksEncoded = text.startsWith('=?base64?') && text.endsWith('?=')
  if (/^[\t\x20-\x7e]+$/.test(text) && text === text.trim() && !looksEncoded) return text
  return `=?base64?${Buffer.from(text, 'utf8').toString('base64')}?=`
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what HTTP cannot carry in a header.
const UNSENDABLE = /[\0-\x08\x0a-\x1f\x7f]/

/** An event id can be sent back unless it is longer than a header may be or holds a control character. */
export function isSendableId(id: string): boolean {
  return id.length <= 4096 && !UNSENDABLE.test(id)
}

/** The UTF-8 bytes of a text as the one-byte characters that a header is written in. */
function asHeader(text: string): string {
  return Buffer.from(text, 'utf8').toString('latin1')
}
