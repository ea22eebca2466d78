// request-handlers.ts: handlers for servers' requests, from what the program gave the board: a user for forms, a
// model, the workspace, hooks. What is not given is not offered to any server.
import { startsCommand } from '../config/transport-traits.ts'
import type { ConfiguredServer } from '../config/types.ts'
import { JsonRpcError } from '../connection/request-errors.ts'
import { RPC } from '../connection/server-info.ts'
import type { RequestHandler, RequestHandlers } from '../connection/server-requests.ts'
import { PermissionDenied } from '../errors.ts'
import {
  type ElicitationPorts,
  elicit,
  entryFolders,
  type Hooks,
  type Root,
  readElicitation,
  rootsOf,
  type Sampling,
} from '../interaction/index.ts'

export interface RequestHandlerOptions {
  readonly elicitation: ElicitationPorts
  readonly hooks: Hooks
  readonly sampling?: Sampling | undefined
  /** The current folders of the workspace; undefined when they are not announced. */
  roots(): readonly string[] | undefined
  readonly cwd: string
}

/** JSON-RPC's code for a user who refused, as the protocol defines it. */
const USER_REJECTED = -1

export function requestHandlersFor(options: RequestHandlerOptions): RequestHandlers {
  const { elicitation, hooks, sampling } = options
  const answers = elicitation.ask !== undefined || hooks.has('Elicitation')
  return {
    ...(answers && { elicitForm: elicitHandler(elicitation), elicitUrl: elicitHandler(elicitation) }),
    ...(sampling && { sampling: samplingHandler(sampling) }),
    ...(options.roots() && { roots: () => ({ roots: rootsOf(options.roots() ?? [], options.cwd) }) }),
  }
}

/** The roots that a server gets from the handler, after its entry's own `roots`. */
export function rootsFor(
  server: ConfiguredServer,
  handler: RequestHandler | undefined,
  place: { readonly home: string; readonly cwd: string },
): RequestHandler | undefined {
  const { entry } = server
  if (!handler || entry.roots === false) return undefined
  const own = () => rootsOf(entryFolders(entry, place), place.cwd)
  if (entry.roots) return () => ({ roots: own() })
  if (!startsCommand(entry)) return handler
  return async (params, asking) => {
    const answer = await handler(params, asking)
    const known = Array.isArray(answer.roots) ? (answer.roots as readonly Partial<Root>[]) : []
    const more = own().filter(({ uri }) => !known.some((root) => root.uri === uri))
    return more.length === 0 ? answer : { ...answer, roots: [...known, ...more] }
  }
}

function elicitHandler(ports: ElicitationPorts): RequestHandler {
  return async (params, { server, signal }) => {
    const request = readElicitation(server, params)
    if ('problem' in request) throw new JsonRpcError(RPC.invalidParams, request.problem)
    const answer = await elicit(request, ports, signal)
    const content = answer.action === 'accept' ? answer.content : undefined
    return { action: answer.action, ...(content && { content }) }
  }
}

function samplingHandler(sampling: Sampling): RequestHandler {
  return async (params, { server, signal }) => {
    try {
      const { role, content, model, stopReason } = await sampling.createMessage(server, params, signal)
      return { role, content, model, ...(stopReason !== undefined && { stopReason }) }
    } catch (error) {
      if (error instanceof PermissionDenied) throw new JsonRpcError(USER_REJECTED, error.message)
      throw error
    }
  }
}
