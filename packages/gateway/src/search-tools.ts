// search-tools.ts: calls of the three tools that a client gets in search mode. `call_tool` is the call of the real tool:
// permissions, hooks and the audit log see its name.
import { InvalidInput, NotFound } from '@plugboard/core'
import { TOOL_LIMITS } from '@plugboard/core/limits'
import type { ClientRequest } from './client-request.ts'
import { callKept, deliverCall } from './deliver-call.ts'
import type { Gateway } from './gateway.ts'
import { isObject, type Json } from './json-rpc.ts'
import { isKeptResult } from './views/resource-uris.ts'
import { DESCRIBE_TOOLS, SEARCH_TOOLS, type SearchMode } from './views/search-mode.ts'

export async function callSearchTool(
  gateway: Gateway,
  search: SearchMode,
  params: Json,
  request: ClientRequest,
): Promise<Json> {
  const given = isObject(params.arguments) ? params.arguments : {}
  if (params.name === SEARCH_TOOLS) {
    const { query, limit } = given
    if (typeof query !== 'string' || query.trim() === '') return fault('"query" says what you want to do.')
    return textResult(await search.search(query, typeof limit === 'number' ? limit : undefined))
  }
  if (params.name === DESCRIBE_TOOLS) {
    const { names } = given
    if (!Array.isArray(names) || names.length === 0 || !names.every((name) => typeof name === 'string'))
      return fault('"names" is a list of tool names, as search_tools returned them.')
    return textResult(search.describe(names))
  }
  return await callReal(gateway, search, given, params, request)
}

async function callReal(
  gateway: Gateway,
  search: SearchMode,
  { name, arguments: args = {}, select }: Json,
  params: Json,
  request: ClientRequest,
): Promise<Json> {
  if (typeof name !== 'string') return fault('"name" is the name of a tool, as search_tools returned it.')
  if (!isObject(args)) return fault('"arguments" is an object.')
  if (isKeptResult(name)) return await readResult(gateway, name, request)
  const tool = gateway.viewOf(request.client).tool(name) ?? (await gateway.findTool(name, request))
  if (!tool || !search.offers(name)) {
    const similar = search.similar(name)
    const hint = similar.length > 0 ? `Did you mean ${similar.join(', ')}?` : 'Find one with search_tools.'
    return fault(`There is no tool ${JSON.stringify(name)}. ${hint}`)
  }
  const problem = tool.tool.argumentProblem(args)
  if (problem !== undefined)
    return fault(
      `The arguments for ${name} do not fit: ${problem}. Its schema: ${JSON.stringify(tool.tool.inputJsonSchema)}`,
    )
  const call = { ...params, name, arguments: args }
  return await deliverCall(gateway, tool, call, request, { select, keepsLarge: true })
}

/** A part of a result that was kept back. What is wrong with the address is for the model, not an error of the protocol. */
async function readResult(gateway: Gateway, uri: string, request: ClientRequest): Promise<Json> {
  try {
    return await callKept(gateway, uri, request, TOOL_LIMITS.resultChars)
  } catch (error) {
    if (error instanceof NotFound) return fault(`There is no result at ${uri} any more. Make the call again.`)
    if (!(error instanceof InvalidInput)) throw error
    return fault(`${error.message}${error.hint ? ` ${error.hint}` : ''}`)
  }
}

function textResult(text: string): Json {
  return { content: [{ type: 'text', text }] }
}

function fault(text: string): Json {
  return { isError: true, ...textResult(text) }
}
