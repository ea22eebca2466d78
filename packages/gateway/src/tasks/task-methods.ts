// task-methods.ts: what clients ask about their tasks: `tasks/get`, `tasks/update` and `tasks/cancel` of the extension, and
// `tasks/get`, `tasks/result`, `tasks/list` and `tasks/cancel` of 2025-11-25. A method of the other era is unknown.
import { InvalidInput, JsonRpcError } from '@plugboard/core'
import { UNRESTRICTED } from '../access/access.ts'
import type { Client, ClientRequest } from '../client-request.ts'
import { isObject, type Json, META, metaOf, RPC, TASKS_EXTENSION } from '../json-rpc.ts'
import type { ClientTask } from './client-task.ts'
import type { TaskStore } from './task-store.ts'

type TaskMethod = (tasks: TaskStore, params: Json, request: ClientRequest) => Promise<Json> | Json

const MODERN: Readonly<Record<string, TaskMethod>> = {
  'tasks/get': (tasks, params, { client }) => taskOf(tasks, params, client).details(),
  'tasks/update': (tasks, params, { client }) => {
    const task = taskOf(tasks, params, client)
    if (!isObject(params.inputResponses)) throw new InvalidInput('"inputResponses" is missing or no object.')
    task.work.answer(params.inputResponses)
    task.touched()
    return {}
  },
  'tasks/cancel': (tasks, params, { client }) => {
    taskOf(tasks, params, client).cancel()
    return {}
  },
}

const LEGACY: Readonly<Record<string, TaskMethod>> = {
  'tasks/get': (tasks, params, { client }) => taskOf(tasks, params, client).legacySummary(),
  'tasks/result': async (tasks, params, request) => {
    const task = taskOf(tasks, params, request.client)
    const { work } = task
    const left =
      work.client.era === 'legacy' && 'listen' in work ? listening(work).listen(request.id) : undefined
    await task.over(request.signal)
    left?.()
    if (task.status === 'cancelled') throw new JsonRpcError(RPC.internal, 'The task was cancelled.')
    const result = task.result()
    return { ...result, _meta: { ...metaOf(result), [META.relatedTask]: { taskId: task.id } } }
  },
  'tasks/list': (tasks, { cursor }, { client }) => {
    if (cursor !== undefined) throw new InvalidInput('There is no such cursor: the list comes in one piece.')
    const own = tasks.listFor(client, client.owner === UNRESTRICTED)
    return { tasks: own.map((task) => task.legacySummary()) }
  },
  'tasks/cancel': (tasks, params, { client }) => {
    const task = taskOf(tasks, params, client)
    if (task.isOver) throw new InvalidInput(`The task is over already: ${task.status}.`)
    task.cancel()
    return task.legacySummary()
  },
}

/** A call whose questions can go to the client on the stream of a request that waits for the result. */
export interface ListeningWork {
  /** Returns what ends it. */
  listen(request: ClientRequest['id']): () => void
}

function listening(work: object): ListeningWork {
  // Checked by the caller: it has the one member.
  return work as ListeningWork
}

/** Undefined where the era has no such method. */
export function taskMethod(method: string, client: Client): TaskMethod | undefined {
  const methods = client.era === 'modern' ? MODERN : LEGACY
  const found = Object.hasOwn(methods, method) ? methods[method] : undefined
  if (!found || client.era === 'legacy' || client.capabilities.tasks) return found
  return () => {
    throw missingTasks()
  }
}

export function missingTasks(): JsonRpcError {
  return new JsonRpcError(RPC.missingCapability, `The client does not declare ${TASKS_EXTENSION}.`, {
    requiredCapabilities: { extensions: { [TASKS_EXTENSION]: {} } },
  })
}

function taskOf(tasks: TaskStore, { taskId }: Json, client: Client): ClientTask {
  const task = tasks.find(taskId, client)
  if (!task) throw new InvalidInput('There is no such task: it has expired, or was never yours.')
  return task
}
