// replica-routing.ts: which requests another replica must answer: replies to its questions, calls that it suspended, the rest of its
// answers, and messages of clients whose stream it has. All others are answered where they arrive.
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { AuthorizedClient } from '../access/access.ts'
import { processOf } from '../eras/request-state.ts'
import type { Gateway } from '../gateway.ts'
import { type Incoming, isObject, type Json } from '../json-rpc.ts'
import { FORWARDED_BY_HEADER, forwardToReplica } from '../replicas/forward-to-replica.ts'
import { replicaOfTask } from '../tasks/task-store.ts'
import { keptResultOf } from '../views/resource-uris.ts'
import type { View } from '../views/views.ts'
import { replicaOf } from './replay.ts'

const QUESTION_ID = /^plugboard-([0-9a-f]{12})-\d+$/
const SSE_SESSION_ID = /^([0-9a-f]{12})\./

/** The replica that waits for this message, or has the server that it is for; undefined when any can take it. */
export function replicaForMessage(
  gateway: Gateway,
  incoming: Incoming,
  client: AuthorizedClient,
): string | undefined | Promise<string | undefined> {
  if (incoming.kind === 'reply') return QUESTION_ID.exec(String(incoming.message.id))?.[1]
  if (incoming.kind !== 'request') return undefined
  const { method, params } = incoming.message
  const { requestState } = params
  if (method.startsWith('tasks/')) return replicaOfTask(params.taskId)
  if (method === 'subscriptions/listen') return replicaOfListening(params)
  const kept =
    keptResultOf(params.uri) ?? (isObject(params.arguments) ? keptResultOf(params.arguments.name) : undefined)
  if (kept) return kept.replica
  const suspended = requestState === undefined ? undefined : processOf(gateway.keys, requestState)
  if (suspended !== undefined || !gateway.instances) return suspended
  const server = serverOf(gateway.view(client.exposure), method, params)
  return server === undefined ? undefined : gateway.instances.elsewhere(server, client)
}

/** News of tasks come from the replica that runs them, all other news from any. */
function replicaOfListening({ notifications }: Json): string | undefined {
  const taskIds = isObject(notifications) ? notifications.taskIds : undefined
  return Array.isArray(taskIds) ? replicaOfTask(taskIds[0]) : undefined
}

/** The server that a request goes to, as far as its name says so. */
function serverOf(view: View, method: string, params: Json): string | undefined {
  const { name, uri, arguments: args } = params
  switch (method) {
    case 'tools/call':
      // A call through the search tools names the tool inside.
      return (view.tool(String(name)) ?? (isObject(args) ? view.tool(String(args.name)) : undefined))?.server
    case 'prompts/get':
      return view.prompt(String(name))?.server
    case 'resources/read':
      return view.resource(String(uri))?.server
    default:
      return undefined
  }
}

export function replicaForEvent(lastEventId: string | undefined): string | undefined {
  return lastEventId === undefined ? undefined : replicaOf(lastEventId)
}

export function replicaForSseSession(id: string): string | undefined {
  return SSE_SESSION_ID.exec(id)?.[1]
}

/** Another replica passed the request on: it came to us already, and is answered here. */
export function isPassedOn({ replicas }: Gateway, req: IncomingMessage): boolean {
  const forwardToken = req.headers[FORWARDED_BY_HEADER]
  return forwardToken !== undefined && replicas?.isForwardToken(forwardToken) === true
}

/** True when the replica took the request; false when it is answered here. */
export async function answeredBy(
  { replicas }: Gateway,
  id: string | undefined,
  req: IncomingMessage,
  res: ServerResponse,
  body?: string,
): Promise<boolean> {
  if (!replicas || id === undefined || id === replicas.id) return false
  if (replicas.isForwardToken(req.headers[FORWARDED_BY_HEADER])) return false
  const peer = replicas.peer(id)
  return peer !== undefined && (await forwardToReplica(replicas, peer, req, res, body))
}
