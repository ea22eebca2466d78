// methods.ts: the methods that clients of both eras may call, one entry each: what they ask for, and where the result
// comes from. gateway.ts knows how a request travels.
import { InvalidInput, NotFound } from '@plugboard/core'
import type { Client, ClientRequest } from './client-request.ts'
import { asToolResult } from './errors.ts'
import type { Gateway } from './gateway.ts'
import { isObject, type Json } from './json-rpc.ts'
import { STATUS_URI } from './views/resource-uris.ts'
import { statusOf } from './views/status.ts'
import type { View } from './views/views.ts'

/** Rejects with an error of the server or of the board. */
type Answerer = (gateway: Gateway, params: Json, exchange: ClientRequest) => Promise<Json>

export const METHODS: Readonly<Record<string, Answerer>> = {
  'tools/list': async (gateway, params, { client }) => ({
    tools: (await whole(gateway, params, client)).tools,
  }),
  'prompts/list': async (gateway, params, { client }) => ({
    prompts: (await whole(gateway, params, client)).prompts,
  }),
  'resources/list': async (gateway, params, { client }) => ({
    resources: (await whole(gateway, params, client)).resources,
  }),
  'resources/templates/list': async (gateway, params, { client }) => ({
    resourceTemplates: (await whole(gateway, params, client)).templates,
  }),
  'tools/call': async (gateway, params, exchange) => {
    const name = text(params, 'name')
    if (params.arguments !== undefined && !isObject(params.arguments))
      throw new InvalidInput('The arguments of a tool are an object.')
    try {
      const ref = gateway.view(exchange.client).tool(name) ?? (await gateway.tool(name, exchange))
      if (!ref) throw new NotFound('tool', name)
      exchange.vet?.(params)
      return await gateway.callTool(ref, params, exchange)
    } catch (error) {
      const result = asToolResult(error, gateway.isNarrow(exchange.client))
      if (!result) throw error
      return result
    }
  },
  'prompts/get': async (gateway, params, exchange) => {
    const name = text(params, 'name')
    const ref = await gateway.prompt(name, exchange)
    if (!ref) throw new NotFound('prompt', name)
    const { client, signal } = exchange
    await gateway.questions.during(ref.server, exchange, () =>
      gateway.board.link.permitPrompt(ref.server, ref.name, { caller: 'client', client: client.id, signal }),
    )
    const result = await gateway.forward(ref, 'prompts/get', { ...params, name: ref.name }, exchange)
    return gateway.withAddresses(ref.server, result, 'messages')
  },
  'resources/read': async (gateway, params, exchange) => {
    const uri = text(params, 'uri')
    if (uri === STATUS_URI) return statusOf(gateway, exchange.client)
    const address = await gateway.resource(uri, exchange)
    if (!address) throw new NotFound('resource', uri)
    const { client, signal } = exchange
    await gateway.questions.during(address.server, exchange, () =>
      gateway.board.link.permitRead(address.server, address.uri, {
        caller: 'client',
        client: client.id,
        signal,
      }),
    )
    const result = await gateway.forward(address, 'resources/read', { ...params, uri: address.uri }, exchange)
    return gateway.withAddresses(address.server, result, 'contents')
  },
  'completion/complete': async (gateway, params, exchange) => {
    const view = gateway.view(exchange.client)
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
    return await gateway.forward({ server }, 'completion/complete', { ...params, ref: inner }, exchange)
  },
}

/** Lists are returned whole, so no second page can be asked for. */
async function whole(gateway: Gateway, { cursor }: Json, client: Client): Promise<View> {
  if (cursor !== undefined) throw new InvalidInput('There is no such cursor: the list comes in one piece.')
  return await gateway.lists(client)
}

export function text(params: Json, field: string): string {
  const value = params[field]
  if (typeof value !== 'string') throw new InvalidInput(`"${field}" is missing or not a text.`)
  return value
}
