// task-support.ts: which tools a client of 2025-11-25 may call as tasks, and how its list says so.
import type { Connection } from '@plugboard/core'
import { isObject, type Json, TASKS_EXTENSION } from '../json-rpc.ts'
import type { ToolRef, View } from '../views/views.ts'

/** Whether the server may make a task of the call: by the tool's own word, or because it has the extension. */
export function mayBecomeTask(
  connectionOf: (server: string) => Connection,
  { server, runsAsTask }: Pick<ToolRef, 'server' | 'runsAsTask'>,
): boolean {
  if (runsAsTask) return true
  const { state } = connectionOf(server)
  if (state.kind !== 'connected' || state.session.era !== 'modern') return false
  const { extensions } = state.session.capabilities
  return isObject(extensions) && isObject(extensions[TASKS_EXTENSION])
}

/** A client may call them as tasks or not, whatever their servers require: the gateway waits where the client does not. */
export function withTaskSupport(
  connectionOf: (server: string) => Connection,
  view: View,
  definitions: readonly Json[],
): readonly Json[] {
  return definitions.map((definition) => {
    const tool = view.tool(String(definition.name))
    if (!tool || !mayBecomeTask(connectionOf, tool)) return definition
    const execution = isObject(definition.execution) ? definition.execution : {}
    return { ...definition, execution: { ...execution, taskSupport: 'optional' } }
  })
}
