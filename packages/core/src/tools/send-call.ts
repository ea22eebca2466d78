// send-call.ts: how a call reaches its server: as one request, or as a task where the server takes the tool's calls
// only so.
import type { Connection } from '../connection/connection.ts'
import { signalOf } from '../connection/direct-call.ts'
import type { RequestOptions } from '../connection/requests.ts'
import type { Json } from '../connection/server-info.ts'
import type { Host } from '../host.ts'
import type { CallPorts } from './call.ts'
import { callAsTask, runsAsTask, type TaskOptions } from './legacy-tasks.ts'

/** The `send` of the call pipeline. */
export function callSender(host: Host, connection: (server: string) => Connection): CallPorts['send'] {
  return (tool, args, options) =>
    sendCall(host, connection(tool.server), { name: tool.definition.name, arguments: args }, options)
}

/** `params` are those of `tools/call`. */
export function sendCall(
  host: Host,
  connection: Connection,
  params: Json & { readonly name: string },
  options: RequestOptions & TaskOptions,
): Promise<Json> {
  if (!runsAsTask(connection, params.name, options)) return connection.request('tools/call', params, options)
  return callAsTask(connection, host, params, { ...options, signal: signalOf(options) })
}
