// deliver-call.ts: calls a tool and gives its client as much of the result as it should get: all of it, what an expression
// selects, or, where it is very large, its beginning and an address under which the rest can be read.
import { InvalidInput, NotFound } from '@plugboard/core'
import type { ClientRequest } from './client-request.ts'
import { forwardCall } from './forward.ts'
import type { Gateway } from './gateway.ts'
import { isObject, type Json } from './json-rpc.ts'
import { schemaShape, shapeOf } from './results/describe-shape.ts'
import { type JmesPath, parseJmesPath } from './results/jmespath.ts'
import { JmesPathError } from './results/jmespath-nodes.ts'
import { unknownName } from './results/output-schema.ts'
import {
  extentOf,
  isLonger,
  parseRange,
  type ResultValue,
  rangeOf,
  resultValue,
  selectFrom,
  written,
} from './results/result-value.ts'
import { keptResultOf, keptResultUri } from './views/resource-uris.ts'
import { SELECT_ARGUMENT, type ToolRef } from './views/views.ts'

const PREVIEW_CHARS = 2000

export interface Delivery {
  /** The expression that the client gave, if it gave one. */
  readonly select?: unknown
  /** A large result stays here. */
  readonly keepsLarge: boolean
}

export async function deliverCall(
  gateway: Gateway,
  tool: ToolRef,
  params: Json,
  request: ClientRequest,
  { select, keepsLarge }: Delivery,
): Promise<Json> {
  const path = select === undefined ? undefined : readPath(select, tool)
  if (path !== undefined && 'problem' in path) return fault(path.problem)
  const result = await forwardCall(gateway, tool, params, request)
  if (result.isError === true) return result
  if (path) return selected(gateway, tool, result, request, path)
  if (!keepsLarge || tool.whole || !isLonger(textPart(result), tool.tool.maxResultSizeChars)) return result
  return referred(gateway, tool, result, request) ?? result
}

/** A call of the tool itself, not by `call_tool`: its arguments may hold `_select`, where tools take one. */
export async function deliverDirectCall(
  gateway: Gateway,
  tool: ToolRef,
  params: Json,
  request: ClientRequest,
): Promise<Json> {
  const keepsLarge = gateway.keepsLarge(tool, request.client)
  const { arguments: args } = params
  if (!tool.selects || !isObject(args) || !Object.hasOwn(args, SELECT_ARGUMENT)) {
    if (!keepsLarge) return await forwardCall(gateway, tool, params, request)
    return await deliverCall(gateway, tool, params, request, { keepsLarge })
  }
  const { [SELECT_ARGUMENT]: select, ...rest } = args
  return await deliverCall(gateway, tool, { ...params, arguments: rest }, request, { select, keepsLarge })
}

/** A part of a result that was kept back, by its address. */
export async function readKept(gateway: Gateway, uri: string, request: ClientRequest): Promise<ResultValue> {
  const { id = '', query = '' } = keptResultOf(uri) ?? {}
  const stored = await gateway.results.get(request.client.owner, id)
  if (!stored) throw new NotFound('resource', uri)
  const parameters = new URLSearchParams(query)
  const { select, range } = Object.fromEntries(parameters)
  for (const name of parameters.keys())
    if (name !== 'select' && name !== 'range')
      throw new InvalidInput(`"${name}" is no part of the address of a result.`, {
        hint: 'Write ?range=1-100, ?select=EXPRESSION, or both.',
      })
  let value = resultValue(stored.result)
  if (select !== undefined) value = { kind: 'json', value: trySelect(value, select) }
  if (range === undefined) return value
  const read = parseRange(range)
  if (!read)
    throw new InvalidInput(`"${range}" is no range.`, {
      hint: 'Write range=1-100: the first row or line is 1, and both ends are included.',
    })
  return rangeOf(value, read)
}

/** The same as the content of a resource. */
export async function readKeptResource(gateway: Gateway, uri: string, request: ClientRequest): Promise<Json> {
  const value = await readKept(gateway, uri, request)
  const mimeType = value.kind === 'json' ? 'application/json' : 'text/plain'
  return { contents: [{ uri, mimeType, text: written(value) }] }
}

/** The same as the result of a call, for a model that cannot read resources. It is cut where it is too long again. */
export async function callKept(
  gateway: Gateway,
  uri: string,
  request: ClientRequest,
  limit: number,
): Promise<Json> {
  const value = await readKept(gateway, uri, request)
  const text = written(value)
  if (text.length <= limit) return { content: [{ type: 'text', text }] }
  const { count, unit } = extentOf(value)
  return fault(
    `This part has ${text.length.toLocaleString('en-US')} characters, more than ${limit.toLocaleString('en-US')}. Ask for less of its ${count.toLocaleString('en-US')} ${unit} with ?range=, or select fields with ?select=. Shape: ${value.kind === 'json' ? shapeOf(value.value) : 'text'}`,
  )
}

function trySelect(value: ResultValue, text: string): unknown {
  try {
    return selectFrom(value, parseJmesPath(text))
  } catch (error) {
    if (!(error instanceof JmesPathError)) throw error
    const shape = value.kind === 'json' ? `The shape: ${shapeOf(value.value)}` : 'Use ?range= for lines.'
    throw new InvalidInput(`The expression ${JSON.stringify(text)} does not work: ${error.message}.`, {
      hint: shape,
    })
  }
}

function readPath(select: unknown, { tool }: ToolRef): JmesPath | { readonly problem: string } {
  const schema = tool.outputJsonSchema
  const shape = schema ? ` The result has the shape ${schemaShape(schema)}.` : ''
  if (typeof select !== 'string')
    return { problem: `The call was not made: "select" is a JMESPath expression, a text.${shape}` }
  try {
    const path = parseJmesPath(select)
    const name = schema && unknownName(path, schema)
    if (name === undefined) return path
    return {
      problem: `The call was not made: the result has no "${name}", which ${JSON.stringify(select)} selects.${shape}`,
    }
  } catch (error) {
    if (!(error instanceof JmesPathError)) throw error
    return {
      problem: `The call was not made: ${JSON.stringify(select)} is no JMESPath expression: ${error.message}.${shape}`,
    }
  }
}

/** Where the expression does not fit, the result is kept: the call must not be made again for another look at it. */
function selected(
  gateway: Gateway,
  tool: ToolRef,
  result: Json,
  request: ClientRequest,
  path: JmesPath,
): Json {
  const value = resultValue(result)
  try {
    const part = selectFrom(value, path)
    if (part !== null) {
      if (!isLonger(part, tool.tool.maxResultSizeChars)) return jsonResult(part)
      const { content, ...rest } = result
      const kept = { ...rest, content: [{ type: 'text', text: '' }], structuredContent: part }
      return referred(gateway, tool, kept, request) ?? jsonResult(part)
    }
    return jsonResult(
      null,
      `The expression selects nothing. ${shapeText(value)}${keptText(gateway, tool, result, request)}`,
    )
  } catch (error) {
    if (!(error instanceof JmesPathError)) throw error
    return fault(
      `The call was made, and the expression ${JSON.stringify(path.text)} does not fit its result: ${error.message}. ${shapeText(value)}${keptText(gateway, tool, result, request)}`,
    )
  }
}

function keptText(gateway: Gateway, tool: ToolRef, result: Json, request: ClientRequest): string {
  const id = gateway.results.put(request.client.owner, { server: tool.server, tool: tool.name, result })
  return id === undefined
    ? ''
    : ` The whole result is at ${keptResultUri(id, gateway.replicas?.id)} for ${minutes(gateway)} minutes: add ?select= or ?range=${byCall(gateway, request)}.`
}

function shapeText(value: ResultValue): string {
  if (value.kind === 'json') return `Its shape: ${shapeOf(value.value)}`
  const { count } = extentOf(value)
  return `It is text of ${count.toLocaleString('en-US')} line${count === 1 ? '' : 's'}.`
}

/** What is sent in place of a large result; undefined when it cannot be kept. */
function referred(gateway: Gateway, tool: ToolRef, result: Json, request: ClientRequest): Json | undefined {
  const id = gateway.results.put(request.client.owner, { server: tool.server, tool: tool.name, result })
  if (id === undefined) return undefined
  const uri = keptResultUri(id, gateway.replicas?.id)
  const value = resultValue(result)
  const text = written(value)
  const { count, unit } = extentOf(value)
  const size = text.length.toLocaleString('en-US')
  const lines = [
    `The result has ${size} characters in ${count.toLocaleString('en-US')} ${unit}. It stays at ${uri} for ${minutes(gateway)} minutes.`,
    ...(value.kind === 'json' ? [`Shape: ${shapeOf(value.value)}`] : []),
    `Read a part of it there: ${uri}?range=1-50 for ${unit}${value.kind === 'json' ? `, ${uri}?select=EXPRESSION for fields (JMESPath)` : ''}${byCall(gateway, request)}.`,
    `It begins:\n${preview(value)}`,
  ]
  const media = Array.isArray(result.content) ? result.content.filter(isMedia) : []
  const mimeType = value.kind === 'json' ? 'application/json' : 'text/plain'
  const link = { type: 'resource_link', uri, name: `result of ${tool.name}`, mimeType, size: text.length }
  return { content: [{ type: 'text', text: lines.join('\n') }, ...media, link] }
}

function preview(value: ResultValue): string {
  if (value.kind === 'text') return cut(value.text)
  if (!Array.isArray(value.value)) return cut(JSON.stringify(value.value))
  return cut(
    value.value
      .slice(0, 20)
      .map((row) => JSON.stringify(row))
      .join('\n'),
  )
}

function cut(text: string): string {
  return text.length > PREVIEW_CHARS ? `${text.slice(0, PREVIEW_CHARS)}…` : text
}

/** In search mode the model may have nothing but tools. */
function byCall(gateway: Gateway, { client }: ClientRequest): string {
  return gateway.searchMode(client) ? '; call_tool takes that address as a name' : ''
}

function minutes(gateway: Gateway): number {
  return Math.round(gateway.results.keepMs / 60_000)
}

/** What counts as long: not images and audio, which a model does not read as text. */
function textPart({ content, structuredContent }: Json): unknown[] {
  const texts = Array.isArray(content) ? content.filter((block) => !isMedia(block)) : []
  return structuredContent === undefined ? texts : [structuredContent]
}

function isMedia(block: unknown): boolean {
  return isObject(block) && (block.type === 'image' || block.type === 'audio')
}

function jsonResult(value: unknown, note?: string): Json {
  return {
    content: [
      { type: 'text', text: JSON.stringify(value) },
      ...(note === undefined ? [] : [{ type: 'text', text: note }]),
    ],
    ...(isObject(value) && { structuredContent: value }),
  }
}

function fault(text: string): Json {
  return { isError: true, content: [{ type: 'text', text }] }
}
