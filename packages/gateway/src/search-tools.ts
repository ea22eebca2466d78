// search-tools.ts: calls of the three tools that a client gets in search mode. `call_tool` is the call of the real tool:
// permissions, hooks and the audit log see its name, and its result is passed on whole.
import { InvalidInput } from '@plugboard/core'
import type { ClientRequest } from './client-request.ts'
import { forwardCall } from './forward.ts'
import type { Gateway } from './gateway.ts'
import { isObject, type Json } from './json-rpc.ts'
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
    return textResult(search.search(query, typeof limit === 'number' ? limit : undefined))
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
  { name, arguments: args = {} }: Json,
  params: Json,
  request: ClientRequest,
): Promise<Json> {
  if (typeof name !== 'string') return fault('"name" is the name of a tool, as search_tools returned it.')
  if (!isObject(args)) throw new InvalidInput('The arguments of a tool are an object.')
  const tool = gateway.view(request.client.exposure).tool(name) ?? (await gateway.findTool(name, request))
  if (!tool) {
    const similar = search.similar(name)
    const hint = similar.length > 0 ? `Did you mean ${similar.join(', ')}?` : 'Find one with search_tools.'
    return fault(`There is no tool ${JSON.stringify(name)}. ${hint}`)
  }
  const problem = tool.tool.argumentProblem(args)
  if (problem !== undefined)
    return fault(
      `The arguments for ${name} do not fit: ${problem}. Its schema: ${JSON.stringify(tool.tool.inputJsonSchema)}`,
    )
  return await forwardCall(gateway, tool, { ...params, name, arguments: args }, request)
}

function textResult(text: string): Json {
  return { content: [{ type: 'text', text }] }
}

function fault(text: string): Json {
  return { isError: true, ...textResult(text) }
}
