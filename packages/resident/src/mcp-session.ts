// mcp-session.ts: a client of `plugboard connect`: the board as one MCP server on its socket. Each client has a board of its
// own, with its own folder and environment; the servers behind it are shared.
import type { Socket } from 'node:net'
import { pathToFileURL } from 'node:url'
import type { LocalBoard } from '@plugboard/core'
import { type Gateway, openGateway, serveStdio, type Wiring } from '@plugboard/gateway'
import { checked, mcp, permissionAnswer } from './params.ts'
import { type McpResult, type OpenParams, PROTOCOL } from './protocol.ts'
import type { OpenQuestions } from './questions.ts'
import { requireToken } from './token.ts'

export interface McpHost {
  readonly token: string
  readonly version: string
  /** A text says why the client has to serve itself. */
  open(params: OpenParams, wiring: Wiring): Promise<LocalBoard | string>
  readonly questions: OpenQuestions
}

/** The client has to open its own board; the message says why. */
class BoardRefused extends Error {}

type Ask = NonNullable<Wiring['ask']>

/** At the client, if it shows questions, and at every page: the first answer counts. Where no one can be asked it is a no. */
function askEverywhere(
  questions: OpenQuestions,
  ask: Ask,
  client: () => ReturnType<Gateway['serverRequests']['currentClient']>,
): Ask {
  return async ({ signal, ...question }) => {
    const { name, canBeAsked = false } = client() ?? {}
    if (!canBeAsked && !questions.isShown) return 'no'
    const answer = await questions.ask(
      {
        kind: 'permission',
        server: question.request.server,
        question,
        from: 'client',
        ...(name !== undefined && { who: name.slice(0, CLIENT_NAME_CHARS) }),
      },
      canBeAsked ? (other) => ask({ ...question, signal: other }) : undefined,
      signal,
    )
    return checked('questions/answer', permissionAnswer, answer)
  }
}

const CLIENT_NAME_CHARS = 100

/** Serves until the client leaves. */
export async function serveMcp(socket: Socket, given: unknown, host: McpHost): Promise<void> {
  const { token, protocol, open } = checked('board/mcp', mcp, given)
  requireToken(token, host.token)
  const { version } = host
  const answer = (result: McpResult) => socket.write(`${JSON.stringify({ jsonrpc: '2.0', result })}\n`)
  const refuse = (why: string) => {
    answer({ version, why })
    socket.end()
  }
  if (protocol !== PROTOCOL) return refuse('it speaks another protocol')
  let gateway: Gateway | undefined
  const opening = async ({ ask, ...wiring }: Wiring) => {
    const board = await host.open(open, {
      ...wiring,
      ...(ask && { ask: askEverywhere(host.questions, ask, () => gateway?.serverRequests.currentClient()) }),
    })
    if (typeof board === 'string') throw new BoardRefused(board)
    return board
  }
  gateway = await openGateway(opening, {
    ask: open.confirms ?? 'client',
    roots: () => ({ roots: [{ uri: pathToFileURL(open.cwd).href, name: open.cwd }] }),
    // Servers that the catalog knows start when they are called.
    start: 'unlisted',
  }).catch((error: unknown) => {
    if (!(error instanceof BoardRefused)) throw error
    refuse(error.message)
    return undefined
  })
  if (!gateway) return
  try {
    answer({ version })
    const handle = serveStdio(gateway, { input: socket, output: socket })
    socket.resume()
    await handle.closed
  } finally {
    socket.destroySoon()
    await gateway.close()
  }
}
