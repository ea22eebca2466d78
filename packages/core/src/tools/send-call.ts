// send-call.ts: how a call reaches its server: as one request, or as a task where the server takes the tool's calls
// only so.
import type { Connection } from '../connection/connection.ts'
import { signalOf } from '../connection/direct-call.ts'
import type { RequestOptions } from '../connection/requests.ts'
import type { Json } from '../connection/server-info.ts'
import type { Host } from '../host.ts'
import type { Args, CallPorts } from './call.ts'
import { callAsTask, runsAsTask, type TaskOptions } from './legacy-tasks.ts'
import type { BoundTool, CallContext } from './tool.ts'

/** The `send` of the call pipeline. */
export function callSender(host: Host, connection: (server: string) => Connection): CallPorts['send'] {
  return (tool, args, options) =>
    sendCall(host, connection(tool.server), { name: tool.definition.name, arguments: args }, options)
}

/** `params` are those of `tools/call`. */
function sendCall(
  host: Host,
  connection: Connection,
  params: Json & { readonly name: string },
  options: RequestOptions & TaskOptions,
): Promise<Json> {
  if (!runsAsTask(connection, params.name, options)) return connection.request('tools/call', params, options)
  return callAsTask(connection, host, params, { ...options, signal: signalOf(options) })
}

/** How a passed-on call is sent; with a `cancellation`, the signal of its context is that one's. */
export interface PassOptions
  extends Pick<RequestOptions, 'concurrent' | 'totalMs' | 'cancellation'>,
    TaskOptions {
  /** An instance of the tool's server that the call goes to, in place of the board's own connection. */
  readonly connection?: Connection | undefined
}

/** How a call that a client made is sent on, with the arguments as hooks left them. */
export function passedCallSender(
  host: Host,
  connection: (server: string) => Connection,
  call: {
    readonly tool: BoundTool
    readonly params: Json
    readonly context: CallContext
    readonly options: PassOptions
  },
): (args: Args) => Promise<Json> {
  const { tool, params, context, options } = call
  const { concurrent, onTask, prefersTask, cancellation } = options
  const { onProgress, timeoutMs, totalMs = options.totalMs } = context
  const signal = cancellation ? undefined : context.signal
  const how = { concurrent, onTask, prefersTask, signal, cancellation, onProgress, timeoutMs, totalMs }
  return (args) => {
    const given = options.connection ?? connection(tool.server)
    return sendCall(host, given, passedParams(tool.definition.name, params, args), how)
  }
}

function passedParams(name: string, params: Json, args: Args): Json & { readonly name: string } {
  if (args === params.arguments && !hasMore(params)) return { name, arguments: args }
  const changed = 'arguments' in params || Object.keys(args).length > 0
  return { ...params, name, ...(changed && { arguments: args }) }
}

function hasMore(params: Json): boolean {
  for (const key in params) if (key !== 'name' && key !== 'arguments') return true
  return false
}
