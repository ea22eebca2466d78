// board-methods.ts: the control protocol's `board/*` methods, each a call of the board. One table: a new method of the
// board is one more row here and one more method in client/remote-board.ts.
import type { LocalBoard } from '@plugboard/core'
import type { BoundTool } from '@plugboard/core/tools'
import { encodeErrors, encodeTool, type WireTool } from './encoding.ts'
import type { RequestContext } from './wire.ts'

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

// biome-ignore lint/suspicious/noExplicitAny: each row states what it takes; the client is this program's own
type Method = (board: LocalBoard, params: any, context: RequestContext) => unknown

type Of = { readonly server?: string }
type Named = { readonly server: string; readonly name: string }
type Entry = { readonly name: string; readonly entry: Parameters<LocalBoard['add']>[1] }
type Context = { readonly context: Readonly<Record<string, unknown>> }

/** JSON has no infinity: `null` stands for no limit. */
function callContext({ context }: Context, { signal, progress }: RequestContext) {
  const { maxResultChars, ...rest } = context
  return {
    ...rest,
    ...(maxResultChars !== undefined && {
      maxResultChars: maxResultChars === null ? Number.POSITIVE_INFINITY : Number(maxResultChars),
    }),
    signal,
    onProgress: progress,
  }
}

export const BOARD_METHODS: Readonly<Record<string, Method>> = {
  'board/state': (board) => boardState(board),
  'board/ready': async (board, { timeoutMs }: { readonly timeoutMs?: number }, { signal }) => {
    await board.ready({ signal, timeoutMs })
    return boardState(board)
  },
  'board/connect': async (board, { server }: { readonly server: string }, { signal }) => {
    const snapshot = await board.connect(server, { signal })
    return { snapshot: encodeErrors(snapshot), state: boardState(board) }
  },
  'board/reconnect': async (board, { server }: { readonly server: string }, { signal }) => {
    const snapshot = await board.reconnect(server, { signal })
    return { snapshot: encodeErrors(snapshot), state: boardState(board) }
  },
  'board/ping': (
    board,
    { server, timeoutMs }: { readonly server: string; readonly timeoutMs?: number },
    { signal },
  ) => board.ping(server, { signal, timeoutMs }),
  'board/toolsOf': async (board, { server }: { readonly server: string }, { signal }) => {
    await board.toolsOf(server, { signal })
    return boardState(board)
  },
  'board/tool': async (board, { name }: { readonly name: string }, { signal }) =>
    wireTool(await board.tool(name, { signal })),
  'board/call': (
    board,
    params: Context & { readonly name: string; readonly args: Readonly<Record<string, unknown>> },
    context,
  ) => board.call(params.name, params.args, callContext(params, context)),
  'board/add': async (board, { name, entry }: Entry) => {
    const snapshot = await board.add(name, entry)
    return { snapshot: encodeErrors(snapshot), state: boardState(board) }
  },
  'board/update': async (board, { name, entry }: Entry) => {
    const snapshot = await board.update(name, entry)
    return { snapshot: encodeErrors(snapshot), state: boardState(board) }
  },
  'board/remove': async (board, { name }: { readonly name: string }) => {
    await board.remove(name)
    return boardState(board)
  },
  'board/changedTools': (board, { server }: { readonly server: string }, { signal }) =>
    board.changedTools(server, { signal }),
  'board/acceptTools': (
    board,
    { server, names }: { readonly server: string; readonly names?: readonly string[] },
  ) => board.acceptTools(server, names),
  'board/resources': (board, { server }: Of, { signal }) => board.resources({ server, signal }),
  'board/templates': (board, { server }: Of, { signal }) => board.templates({ server, signal }),
  'board/prompts': (board, { server }: Of, { signal }) => board.prompts({ server, signal }),
  'board/skills': (board, { server }: Of, { signal }) => board.skills({ server, signal }),
  'board/read': (board, params: Context & { readonly server: string; readonly uri: string }, context) =>
    board.read(params.server, params.uri, callContext(params, context)),
  'board/subscribe': (board, params: Context & { readonly server: string; readonly uri: string }, context) =>
    board.subscribe(params.server, params.uri, callContext(params, context)),
  'board/unsubscribe': (board, { server, uri }: { readonly server: string; readonly uri: string }) =>
    board.unsubscribe(server, uri),
  'board/prompt': (
    board,
    params: Context & Named & { readonly args: Readonly<Record<string, string>> },
    context,
  ) => board.prompt(params.server, params.name, params.args, callContext(params, context)),
  'board/readSkill': async (board, params: Context & Named & { readonly file?: string }, context) => {
    const { server, name, file } = params
    const read = await board.readSkill(server, name, { ...callContext(params, context), file })
    return { ...read, bytes: Buffer.from(read.bytes).toString('base64') }
  },
  'board/complete': (
    board,
    {
      server,
      of,
      given,
    }: {
      readonly server: string
      readonly of: Parameters<LocalBoard['complete']>[1]
      readonly given?: Readonly<Record<string, string>>
    },
    { signal },
  ) => board.complete(server, of, given, { signal }),
  'board/setRoots': (board, { folders }: { readonly folders: readonly string[] }) => board.setRoots(folders),
  'board/faults': (board) => board.configurationFaults(),
  'board/reload': (board) => board.reload(),
}
