// board-methods.ts: the control protocol's `board/*` methods, each a call of the board. One table: a new method of the
// board is one more row here (its name, what it takes, what it does) and one more method in client/remote-board.ts.
import type { LocalBoard, ServerSnapshot } from '@plugboard/core'
import type { BoundTool } from '@plugboard/core/tools'
import * as z from 'zod/mini'
import { encodeErrors, encodeTool, type WireTool } from './board-encoding.ts'
import type { RequestContext } from './json-rpc-socket.ts'
import {
  callContext,
  checked,
  folders,
  milliseconds,
  name,
  names,
  object,
  serverInput,
  text,
  texts,
} from './params.ts'

/** What the client knows of the board without asking: kept beside each answer that may have changed it. */
export interface BoardState {
  readonly servers: readonly unknown[]
  readonly tools: readonly WireTool[]
}

export function boardState(board: LocalBoard): BoardState {
  return { servers: board.servers().map(encodeErrors), tools: board.tools().map(wireTool) }
}

/** The tools of a board in this process are bound tools. */
function wireTool(tool: ReturnType<LocalBoard['tools']>[number]): WireTool {
  return encodeTool(tool as BoundTool)
}

/** One method: its parameters are checked before it runs. */
type Method = (board: LocalBoard, params: unknown, context: RequestContext) => unknown

function method<T>(
  schema: z.ZodMiniType<T>,
  run: (board: LocalBoard, params: T, context: RequestContext) => unknown,
): (name: string) => Method {
  return (name) => (board, params, context) => run(board, checked(name, schema, params), context)
}

const none = z.object({})
const ofServer = z.object({ server: name })
const ofAny = z.object({ server: z.exactOptional(name) })
const named = z.object({ name })
const task = z.object({ server: name, taskId: name })
const entry = z.object({ name, entry: serverInput })
const resource = z.object({ server: name, uri: name, context: callContext })
const completion = z.union([
  z.object({ prompt: name, argument: name, value: text }),
  z.object({ template: name, argument: name, value: text }),
])

function contextOf(
  { maxResultChars, ...rest }: z.output<typeof callContext>,
  { signal, progress }: RequestContext,
) {
  return {
    ...rest,
    ...(maxResultChars !== undefined && { maxResultChars: maxResultChars ?? Number.POSITIVE_INFINITY }),
    signal,
    onProgress: progress,
  }
}

const ROWS = {
  'board/state': method(none, (board) => boardState(board)),
  'board/ready': method(
    z.object({
      timeoutMs: z.exactOptional(milliseconds),
      start: z.exactOptional(z.enum(['all', 'unlisted'], 'expected "all" or "unlisted"')),
      server: z.exactOptional(name),
    }),
    async (board, options, { signal }) => {
      await board.ready({ signal, ...options })
      return boardState(board)
    },
  ),
  'board/connect': method(ofServer, async (board, { server }, { signal }) =>
    withState(board, await board.connect(server, { signal })),
  ),
  'board/reconnect': method(ofServer, async (board, { server }, { signal }) =>
    withState(board, await board.reconnect(server, { signal })),
  ),
  'board/ping': method(
    z.object({ server: name, timeoutMs: z.exactOptional(milliseconds) }),
    (board, { server, ...options }, { signal }) => board.ping(server, { signal, ...options }),
  ),
  'board/toolsOf': method(ofServer, async (board, { server }, { signal }) => {
    await board.toolsOf(server, { signal })
    return boardState(board)
  }),
  'board/tool': method(named, async (board, { name }, { signal }) =>
    wireTool(await board.tool(name, { signal })),
  ),
  'board/call': method(
    z.object({ name, args: object, context: callContext }),
    (board, { name, args, context }, request) => board.call(name, args, contextOf(context, request)),
  ),
  'board/awaitTask': method(
    z.object({ tool: name, taskId: name, context: callContext }),
    (board, { tool, taskId, context }, request) => board.awaitTask(tool, taskId, contextOf(context, request)),
  ),
  'board/taskState': method(task, (board, { server, taskId }, { signal }) =>
    board.taskState(server, taskId, { signal }),
  ),
  'board/cancelTask': method(task, (board, { server, taskId }, { signal }) =>
    board.cancelTask(server, taskId, { signal }),
  ),
  'board/add': method(entry, async (board, { name, entry }) =>
    withState(board, await board.add(name, entry)),
  ),
  'board/update': method(entry, async (board, { name, entry }) =>
    withState(board, await board.update(name, entry)),
  ),
  'board/remove': method(named, async (board, { name }) => {
    await board.remove(name)
    return boardState(board)
  }),
  'board/changedTools': method(ofServer, (board, { server }, { signal }) =>
    board.changedTools(server, { signal }),
  ),
  'board/acceptTools': method(
    z.object({ server: name, names: z.exactOptional(names) }),
    (board, { server, names }) => board.acceptTools(server, names),
  ),
  'board/resources': method(ofAny, (board, of, { signal }) => board.resources({ ...of, signal })),
  'board/templates': method(ofAny, (board, of, { signal }) => board.templates({ ...of, signal })),
  'board/prompts': method(ofAny, (board, of, { signal }) => board.prompts({ ...of, signal })),
  'board/skills': method(ofAny, (board, of, { signal }) => board.skills({ ...of, signal })),
  'board/read': method(resource, (board, { server, uri, context }, request) =>
    board.read(server, uri, contextOf(context, request)),
  ),
  'board/subscribe': method(resource, (board, { server, uri, context }, request) =>
    board.subscribe(server, uri, contextOf(context, request)),
  ),
  'board/unsubscribe': method(z.object({ server: name, uri: name }), (board, { server, uri }) =>
    board.unsubscribe(server, uri),
  ),
  'board/prompt': method(
    z.object({ server: name, name, args: texts, context: callContext }),
    (board, { server, name, args, context }, request) =>
      board.prompt(server, name, args, contextOf(context, request)),
  ),
  'board/readSkill': method(
    z.object({ server: name, name, file: z.exactOptional(name), context: callContext }),
    async (board, { server, name, file, context }, request) => {
      const read = await board.readSkill(server, name, { ...contextOf(context, request), file })
      return { ...read, bytes: Buffer.from(read.bytes).toString('base64') }
    },
  ),
  'board/complete': method(
    z.object({ server: name, of: completion, given: z.exactOptional(texts) }),
    (board, { server, of, given }, { signal }) => board.complete(server, of, given, { signal }),
  ),
  'board/setRoots': method(z.object({ folders }), (board, { folders }) => board.setRoots(folders)),
  'board/faults': method(none, (board) => board.configurationFaults()),
  'board/reload': method(none, (board) => board.reload()),
} satisfies Readonly<Record<string, (name: string) => Method>>

/** By the name of the method. */
export const BOARD_METHODS: ReadonlyMap<string, Method> = new Map(
  Object.entries(ROWS).map(([name, row]) => [name, row(name)]),
)

function withState(board: LocalBoard, snapshot: ServerSnapshot) {
  return { snapshot: encodeErrors(snapshot), state: boardState(board) }
}
