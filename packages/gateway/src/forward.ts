// forward.ts: a client's request on its way to a server, and the result on its way back: `_meta` as the server's era has it,
// progress and questions to the client, resource URIs as the client may read them. methods.ts knows which server is meant.
import { type CallContext, type Connection, JsonRpcError, type Progress } from '@plugboard/core'
import type { ClientRequest } from './client-request.ts'
import type { Gateway } from './gateway.ts'
import type { UsedInstance } from './isolation/instances.ts'
import { declared, type Era, isObject, type Json, META, RPC } from './json-rpc.ts'
import { observed } from './operation/observe-call.ts'
import { toPublic } from './views/resource-uris.ts'
import type { ToolRef } from './views/views.ts'

/** Calls a tool with permissions, hooks and the audit log; the result is passed on whole. */
export function forwardCall(
  gateway: Gateway,
  tool: ToolRef,
  params: Json,
  request: ClientRequest,
): Promise<Json> {
  const { server } = tool
  const { cancellation } = request
  const context = new ClientContext(request, progressOf(params, request))
  const instance = gateway.instances?.keyOf(server, request.client)
  const call = { method: 'tools/call', server, tool: tool.name, instance, params, request }
  // The client decides what runs in parallel, as it would with the server itself.
  const result = observed(gateway, call, () =>
    withInstance(gateway, call, (key, connection) => {
      mustResume(gateway, server, key, request)
      const sent = serverParams(gateway, { server, key }, params, request)
      return gateway.serverRequests.during(
        key,
        request,
        (onTask) =>
          gateway.board.link.pass(tool.tool, sent, context, {
            concurrent: true,
            onTask,
            prefersTask: request.prefersTask,
            cancellation,
            connection,
          }),
        tool.runsAsTask ? undefined : tool.name,
      )
    }),
  )
  if (!gateway.rewritesUris) return result
  return result.then((answer) => withPublicUris(gateway, server, answer, 'content'))
}

/** The client as the caller of a tool. */
class ClientContext implements CallContext {
  readonly caller = 'client'
  readonly client: string
  readonly user: string | undefined
  readonly onProgress?: (progress: Progress) => void
  readonly #request: ClientRequest

  constructor(request: ClientRequest, onProgress: ((progress: Progress) => void) | undefined) {
    this.#request = request
    this.client = request.client.id
    this.user = request.client.user?.name
    if (onProgress) this.onProgress = onProgress
  }

  get signal(): AbortSignal {
    return this.#request.signal
  }
}

/** Sends any other request to a server on behalf of a client's request. */
export async function forwardRequest(
  gateway: Gateway,
  server: string,
  method: string,
  params: Json,
  request: ClientRequest,
): Promise<Json> {
  const { signal } = request
  const onProgress = progressOf(params, request)
  const instance = gateway.instances?.keyOf(server, request.client)
  const call = { method, server, tool: undefined, instance, params, request }
  return await observed(gateway, call, () =>
    withInstance(gateway, call, (key, connection = gateway.board.link.connection(server)) => {
      mustResume(gateway, server, key, request)
      const sent = serverParams(gateway, { server, key }, params, request)
      return gateway.serverRequests.during(key, request, () =>
        connection.request(method, sent, { signal, onProgress }),
      )
    }),
  )
}

interface InstanceCall {
  readonly server: string
  /** Names the instance; undefined where all clients share the server. */
  readonly instance: string | undefined
  readonly request: ClientRequest
}

/** Where the client's user, or its session, has the server for itself, the work is done on that instance. */
function withInstance<T>(
  { instances, userServers }: Gateway,
  { server, instance: key, request }: InstanceCall,
  work: (key: string, connection?: Connection) => Promise<T>,
): Promise<T> {
  const { client } = request
  // What fails before the server is asked is a rejection too: those around the call count on it.
  try {
    if (key === undefined) return work(server)
    if (userServers?.logins.serves(server)) return userServers.during(server, request, work)
    const claimed = instances?.claim(server, client)
    const run = () => {
      const instance = instances?.use(server, client)
      return instance ? onInstance(instance, work) : work(server)
    }
    return claimed ? claimed.then(run) : run()
  } catch (error) {
    return Promise.reject(error)
  }
}

async function onInstance<T>(
  { key, connection, release }: UsedInstance,
  work: (key: string, connection?: Connection) => Promise<T>,
): Promise<T> {
  try {
    return await work(key, connection)
  } finally {
    release()
  }
}

/** An instance that is not connected yet is of the era that the gateway's own connection found. */
function eraOf({ serverRequests }: Gateway, server: string, key: string): Era | undefined {
  return serverRequests.eraOf(key) ?? serverRequests.eraOf(server)
}

/** An answer to a question goes to the server that asked, and only while that server can still read its own state. */
function mustResume(gateway: Gateway, server: string, key: string, { resumes }: ClientRequest): void {
  if (resumes === undefined) return
  if (resumes === server && eraOf(gateway, server, key) === 'modern') return
  throw new JsonRpcError(
    RPC.invalidParams,
    'The server that asked is not the one that would get the answer now. Make the call again.',
  )
}

/**
 * The parameters that go on to the server. A client of 2026-07-28 declares tasks itself; for one of the legacy era, which has
 * other tasks or none, the gateway follows them.
 */
function serverParams(
  gateway: Gateway,
  { server, key }: { readonly server: string; readonly key: string },
  params: Json,
  { client }: ClientRequest,
): Json {
  const isLegacy = eraOf(gateway, server, key) === 'legacy'
  // Most calls have nothing that does not go on.
  if (isLegacy && !('task' in params) && !('_meta' in params)) return params
  const { task: _, _meta, ...rest } = params
  const meta = isObject(_meta) ? passedMeta(_meta) : {}
  // A legacy server was told once, in the handshake.
  if (!isLegacy) {
    const { capabilities } = client
    meta[META.clientCapabilities] = declared(
      client.era === 'legacy' ? { ...capabilities, tasks: true } : capabilities,
    )
    if (client.logLevel !== undefined) meta[META.logLevel] = client.logLevel
  }
  rest['_meta'] = meta
  return rest
}

const OWN_META: ReadonlySet<string> = new Set([...Object.values(META), 'progressToken'])

/** All of the client's `_meta` but the envelope of its own connection. */
function passedMeta(given: Json): Json {
  const meta: Json = {}
  for (const key of Object.keys(given)) if (!OWN_META.has(key)) meta[key] = given[key]
  return meta
}

function progressOf(params: Json, request: ClientRequest): ((progress: Progress) => void) | undefined {
  if (!isObject(params._meta)) return undefined
  const { progressToken } = params._meta
  if (typeof progressToken !== 'string' && typeof progressToken !== 'number') return undefined
  // The server's task is between us and the server.
  return ({ task: _, ...progress }) =>
    request.notify('notifications/progress', { progressToken, ...progress })
}

type UriField = 'content' | 'messages' | 'contents'

/** Rewrites resource URIs inside a result, so that the client can read them here. */
export function withPublicUris(
  gateway: Gateway,
  server: string,
  result: Readonly<Json>,
  field: UriField,
): Json {
  const items = result[field]
  if (!gateway.rewritesUris || !Array.isArray(items)) return result
  const rewritten = items.map((item: unknown) => withPublicUri(server, item, field))
  return rewritten.some((item, at) => item !== items[at]) ? { ...result, [field]: rewritten } : result
}

function withPublicUri(server: string, item: unknown, field: UriField): unknown {
  if (!isObject(item)) return item
  if (field === 'messages') {
    const content = withPublicUri(server, item.content, 'content')
    return content === item.content ? item : { ...item, content }
  }
  if ((field === 'contents' || item.type === 'resource_link') && typeof item.uri === 'string')
    return { ...item, uri: toPublic({ server, uri: item.uri }) }
  if (item.type === 'resource' && isObject(item.resource) && typeof item.resource.uri === 'string')
    return { ...item, resource: { ...item.resource, uri: toPublic({ server, uri: item.resource.uri }) } }
  return item
}
