// peer-routing.ts: which requests another replica must answer: replies to its questions, calls that it suspended, the rest of its
// answers, and messages of clients whose stream it has. All others are answered where they arrive.
import type { IncomingMessage, ServerResponse } from 'node:http'
import { processOf } from '../eras/request-state.ts'
import type { Gateway } from '../gateway.ts'
import type { Incoming } from '../json-rpc.ts'
import { PASSPORT_HEADER, passOn } from '../replicas/pass-on.ts'
import { replicaOfTask } from '../tasks/task-store.ts'
import { replicaOf } from './replay.ts'

const QUESTION_ID = /^plugboard-([0-9a-f]{12})-\d+$/
const SSE_SESSION_ID = /^([0-9a-f]{12})\./

/** The replica that waits for this message; undefined when any can take it. */
export function replicaForMessage({ keys }: Gateway, incoming: Incoming): string | undefined {
  if (incoming.kind === 'reply') return QUESTION_ID.exec(String(incoming.message.id))?.[1]
  if (incoming.kind !== 'request') return undefined
  const { method, params } = incoming.message
  const { requestState } = params
  if (method.startsWith('tasks/')) return replicaOfTask(params.taskId)
  return requestState === undefined ? undefined : processOf(keys, requestState)
}

export function replicaForEvent(lastEventId: string | undefined): string | undefined {
  return lastEventId === undefined ? undefined : replicaOf(lastEventId)
}

export function replicaForSseSession(id: string): string | undefined {
  return SSE_SESSION_ID.exec(id)?.[1]
}

/** Another replica passed the request on: it came to us already, and is answered here. */
export function isPassedOn({ replicas }: Gateway, req: IncomingMessage): boolean {
  const passport = req.headers[PASSPORT_HEADER]
  return passport !== undefined && replicas?.isPassport(passport) === true
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
  if (replicas.isPassport(req.headers[PASSPORT_HEADER])) return false
  const peer = replicas.peer(id)
  return peer !== undefined && (await passOn(replicas, peer, req, res, body))
}
