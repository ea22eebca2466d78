// methods.ts: the methods that clients of both eras may call, one entry each: what they ask for, and where the result
// comes from. Each request is counted and traced here; forward.ts knows how it travels to a server.
import { InvalidInput, JsonRpcError, NotFound } from '@plugboard/core'
import { callOwnTool } from './call-own-tool.ts'
import type { Client, ClientRequest } from './client-request.ts'
import { deliverDirectCall, readKeptResource } from './deliver-call.ts'
import { asToolResult } from './errors.ts'
import { forwardRequest, withPublicUris } from './forward.ts'
import type { Gateway } from './gateway.ts'
import { isObject, type Json, RPC } from './json-rpc.ts'
import { callSearchTool } from './search-tools.ts'
import { startServerSpan } from './server-span.ts'
import { taskMethod } from './tasks/task-methods.ts'
import { type HintedList, passedHints } from './views/cache-hints.ts'
import { isKeptResult, STATUS_URI } from './views/resource-uris.ts'
import { SEARCH_MODE_TOOLS } from './views/search-mode.ts'
import type { View } from './views/views.ts'

type Handler = (gateway: Gateway, params: Json, request: ClientRequest) => Promise<Json>

/** The result of a request. Rejects with an error of the server or of the board. */
export function handle(
  gateway: Gateway,
  method: string,
  params: Json,
  request: ClientRequest,
): Promise<Json> {
  const handler = METHODS.get(method) ?? tasksHandler(method, request)
  if (!handler) return Promise.reject(new JsonRpcError(RPC.methodNotFound, `Method not found: ${method}`))
  const span = startServerSpan(method, params)
  const counted = gateway.metrics.started(method)
  const result = span
    ? span.run(params, (traced) => handler(gateway, traced, request))
    : handler(gateway, params, request)
  return result.then(
    (answer) => {
      counted.ended(answer.isError === true ? 'tool_error' : 'ok')
      return answer
    },
    (error: unknown) => {
      counted.ended(request.signal.aborted ? 'cancelled' : 'error')
      throw error
    },
  )
}

function tasksHandler(method: string, { client }: ClientRequest): Handler | undefined {
  const found = taskMethod(method, client)
  return found && (async ({ tasks }, params, request) => await found(tasks, params, request))
}

async function callTool(gateway: Gateway, params: Json, request: ClientRequest): Promise<Json> {
  const name = text(params, 'name')
  if (params.arguments !== undefined && !isObject(params.arguments))
    throw new InvalidInput('The arguments of a tool are an object.')
  const { client } = request
  try {
    const own = gateway.ownTool(name)
    if (own)
      return await callOwnTool(gateway, own, params, request, (inner) => callTool(gateway, inner, request))
    const search = SEARCH_MODE_TOOLS.has(name) ? gateway.searchMode(client) : undefined
    if (search) return await callSearchTool(gateway, search, params, request)
    const known = gateway.viewOf(client).tool(name) ?? gateway.findAppTool(name, client)
    const loggedIn = known ? undefined : await gateway.userServers?.callLoginTool(name, request)
    if (loggedIn) return loggedIn
    const tool = known ?? (await gateway.findTool(name, request))
    if (!tool) throw new NotFound('tool', name)
    request.checkHeaders?.(tool, params.arguments)
    return await deliverDirectCall(gateway, tool, params, request)
  } catch (error) {
    const result = asToolResult(error, gateway.isNarrow(client.exposure))
    if (!result) throw error
    return result
  }
}

async function listTools(gateway: Gateway, params: Json, { client }: ClientRequest): Promise<Json> {
  await lists(gateway, params, client)
  return { tools: gateway.listedTools(client), ...gateway.cacheHints('tools', client) }
}

/** A method that returns one of the other lists, under the name that the protocol gives it. */
function listing(list: Exclude<HintedList, 'tools'>, field: string): Handler {
  return async (gateway, params, { client }) => {
    const view = await lists(gateway, params, client)
    return { [field]: view[list], ...gateway.cacheHints(list, client) }
  }
}

async function getPrompt(gateway: Gateway, params: Json, request: ClientRequest): Promise<Json> {
  const name = text(params, 'name')
  const prompt = await gateway.findPrompt(name, request)
  if (!prompt) throw new NotFound('prompt', name)
  const { client, signal } = request
  await gateway.serverRequests.during(prompt.server, request, () =>
    gateway.board.link.permitPrompt(prompt.server, prompt.name, {
      caller: 'client',
      client: client.id,
      user: client.user?.name,
      signal,
    }),
  )
  const sent = { ...params, name: prompt.name }
  const result = await forwardRequest(gateway, prompt.server, 'prompts/get', sent, request)
  return withPublicUris(gateway, prompt.server, result, 'messages')
}

async function readResource(gateway: Gateway, params: Json, request: ClientRequest): Promise<Json> {
  const uri = text(params, 'uri')
  const { client, signal } = request
  if (uri === STATUS_URI) return gateway.status(client)
  if (isKeptResult(uri)) return await readKeptResource(gateway, uri, request)
  const resource = await gateway.findResource(uri, request)
  if (!resource) throw new NotFound('resource', uri)
  const { server, uri: own } = resource
  await gateway.serverRequests.during(server, request, () =>
    gateway.board.link.permitRead(server, own, {
      caller: 'client',
      client: client.id,
      user: client.user?.name,
      signal,
    }),
  )
  const result = await forwardRequest(gateway, server, 'resources/read', { ...params, uri: own }, request)
  const hints = passedHints(result, gateway.isShared(client))
  return withPublicUris(gateway, server, { ...result, ...hints }, 'contents')
}

async function complete(gateway: Gateway, params: Json, request: ClientRequest): Promise<Json> {
  const view = gateway.viewOf(request.client)
  const { ref } = params
  if (!isObject(ref)) throw new InvalidInput('A completion says what it is for: "ref".')
  const prompt = ref.type === 'ref/prompt' ? view.prompt(text(ref, 'name')) : undefined
  const template =
    ref.type === 'ref/resource'
      ? (view.template(text(ref, 'uri')) ?? view.resource(text(ref, 'uri')))
      : undefined
  if (!prompt && !template)
    throw new NotFound(ref.type === 'ref/prompt' ? 'prompt' : 'resource', String(ref.name ?? ref.uri))
  const server = prompt?.server ?? template?.server ?? ''
  const { state } = gateway.board.link.connection(server)
  if (state.kind === 'connected' && !state.session.capabilities.completions)
    return { completion: { values: [], total: 0, hasMore: false } }
  const inner = prompt ? { ...ref, name: prompt.name } : { ...ref, uri: template?.uri }
  return await forwardRequest(gateway, server, 'completion/complete', { ...params, ref: inner }, request)
}

const METHODS: ReadonlyMap<string, Handler> = new Map<string, Handler>([
  ['tools/list', listTools],
  ['tools/call', callTool],
  ['prompts/list', listing('prompts', 'prompts')],
  ['prompts/get', getPrompt],
  ['resources/list', listing('resources', 'resources')],
  ['resources/templates/list', listing('templates', 'resourceTemplates')],
  ['resources/read', readResource],
  ['completion/complete', complete],
])

/** Lists are returned whole, so no second page can be asked for. */
async function lists(gateway: Gateway, { cursor }: Json, client: Client): Promise<View> {
  if (cursor !== undefined) throw new InvalidInput('There is no such cursor: the list comes in one piece.')
  await Promise.all([gateway.listed(), gateway.userServers?.prepare(client)])
  return gateway.viewOf(client)
}

export function text(params: Json, field: string): string {
  const value = params[field]
  if (typeof value !== 'string') throw new InvalidInput(`"${field}" is missing or not a text.`)
  return value
}
