// mcp-session.ts: a client of `plugboard connect`: the board as one MCP server on its socket. Each client has a board of its
// own, with its own folder and environment; the servers behind it are shared.
import type { Socket } from 'node:net'
import { pathToFileURL } from 'node:url'
import type { LocalBoard } from '@plugboard/core'
import { openGateway, serveStdio, type Wiring } from '@plugboard/gateway'
import { checked, mcp } from './params.ts'
import { type McpResult, type OpenParams, PROTOCOL } from './protocol.ts'
import { requireToken } from './token.ts'

export interface McpHost {
  readonly token: string
  readonly version: string
  /** A text says why the client has to serve itself. */
  open(params: OpenParams, wiring: Wiring): Promise<LocalBoard | string>
}

/** The client has to open its own board; the message says why. */
class BoardRefused extends Error {}

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
  const opening = async (wiring: Wiring) => {
    const board = await host.open(open, wiring)
    if (typeof board === 'string') throw new BoardRefused(board)
    return board
  }
  const gateway = await openGateway(opening, {
    roots: () => ({ roots: [{ uri: pathToFileURL(open.cwd).href, name: open.cwd }] }),
    // Servers that the catalog knows start when they are called.
    start: 'unlisted',
  }).catch((error: unknown) => {
    if (!(error instanceof BoardRefused)) throw error
    refuse(error.message)
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
