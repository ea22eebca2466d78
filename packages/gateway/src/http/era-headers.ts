// era-headers.ts: the headers of 2026-07-28 must agree with the body, because proxies on the way may have acted on them.
import type { IncomingHttpHeaders } from 'node:http'
import { JsonRpcError } from '@plugboard/core'
import { type HeaderScan, mirrored } from '@plugboard/core/tools'
import {
  errorReply,
  isModern,
  type Json,
  META,
  MODERN_VERSION,
  metaOf,
  type Reply,
  type Request,
  RPC,
} from '../json-rpc.ts'
import type { ToolRef } from '../views/views.ts'

const NAMED: Readonly<Record<string, string>> = {
  'tools/call': 'name',
  'prompts/get': 'name',
  'resources/read': 'uri',
  'tasks/get': 'taskId',
  'tasks/update': 'taskId',
  'tasks/cancel': 'taskId',
}

export type EraOfRequest = { readonly era: 'legacy' | 'modern' } | { readonly refused: Reply }

/** The era of a request, by its body; the headers may only agree. */
export function eraOf({ id, method, params }: Request, headers: IncomingHttpHeaders): EraOfRequest {
  const version = headerOf(headers, 'mcp-protocol-version')
  const mismatch = (text: string): EraOfRequest => ({ refused: errorReply(id, RPC.headerMismatch, text) })
  if (!isModern(params)) {
    if (version === undefined || version < MODERN_VERSION) return { era: 'legacy' }
    if (method === 'initialize') return mismatch('initialize does not belong to this protocol version.')
    return {
      refused: errorReply(id, RPC.invalidParams, `"${META.protocolVersion}" is missing in _meta.`, {
        envelope: { missing: [META.protocolVersion] },
      }),
    }
  }
  const claimed = metaOf(params)[META.protocolVersion]
  if (typeof claimed !== 'string')
    return { refused: errorReply(id, RPC.invalidParams, `"${META.protocolVersion}" is not a text.`) }
  if (version === undefined) return mismatch('The header MCP-Protocol-Version is missing.')
  if (version !== claimed) return mismatch('The header MCP-Protocol-Version and the body disagree.')
  if (claimed !== MODERN_VERSION) return { era: 'modern' }
  const named = headerOf(headers, 'mcp-method')
  if (named === undefined) return mismatch('The header Mcp-Method is missing.')
  if (named !== method) return mismatch('The header Mcp-Method and the body disagree.')
  return nameFault(method, params, headers)
    ? mismatch('The header Mcp-Name and the body disagree.')
    : { era: 'modern' }
}

function nameFault(method: string, params: Json, headers: IncomingHttpHeaders): boolean {
  const field = Object.hasOwn(NAMED, method) ? NAMED[method] : undefined
  const value = field === undefined ? undefined : params[field]
  if (typeof value !== 'string') return false
  const header = headerOf(headers, 'mcp-name')
  return header === undefined || decoded(header) !== value
}

/** What is wrong with the headers that repeat arguments of a call (`x-mcp-header` in the tool's schema). */
export function paramFault(
  scan: HeaderScan,
  args: unknown,
  headers: IncomingHttpHeaders,
): string | undefined {
  for (const { header, value } of mirrored(scan, args)) {
    const given = headerOf(headers, header.toLowerCase())
    if (given === undefined) return `The header ${header} is missing.`
    const text = decoded(given)
    if (text === undefined) return `The header ${header} is not base64 between its marks.`
    if (!says(text, value)) return `The header ${header} and the body disagree.`
  }
  return undefined
}

function says(text: string, value: string | number | boolean): boolean {
  if (text === String(value)) return true
  return typeof value === 'number' && /^-?\d+(?:\.\d+)?$/.test(text) && Number(text) === value
}

/** A value that a header cannot hold travels as base64 between markers; with a marker missing it is plain text. */
export function decoded(value: string): string | undefined {
  const [, data] = /^=\?base64\?(.*)\?=$/.exec(value) ?? []
  if (data === undefined) return value
  const bytes = Buffer.from(data, 'base64')
  return bytes.toString('base64') === data ? bytes.toString('utf8') : undefined
}

function headerOf(headers: IncomingHttpHeaders, name: string): string | undefined {
  const value = headers[name]
  return typeof value === 'string' ? value.trim() : undefined
}

/** Throws when the headers that repeat arguments of a call contradict it. */
export function checkHeaders(tool: ToolRef, args: unknown, headers: IncomingHttpHeaders): void {
  const fault = paramFault(tool.headers(), args, headers)
  if (fault) throw new JsonRpcError(RPC.headerMismatch, fault)
}

/** A request with a wrong envelope was never dispatched. */
export function isEnvelopeFault({ method }: Request, reply: Reply | undefined): reply is Reply {
  return (
    reply?.error?.code === RPC.unsupportedVersion ||
    (method === 'server/discover' && reply?.error !== undefined)
  )
}
