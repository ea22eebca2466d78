// serve-mcp.ts: a client of `plugboard connect`: the board as one MCP server on its socket. Each client has a board of its
// own, with its own folder and environment; the servers behind it are shared.
import { timingSafeEqual } from 'node:crypto'
import type { Socket } from 'node:net'
import { pathToFileURL } from 'node:url'
import type { LocalBoard } from '@plugboard/core'
import { openGateway, serveStdio, type Wiring } from '@plugboard/gateway'
import type { HelloParams, OpenParams } from './protocol.ts'

export interface McpHost {
  readonly token: string
  open(params: OpenParams, wiring: Wiring): Promise<LocalBoard>
}

export type McpParams = HelloParams & { readonly open: OpenParams }

/** Serves until the client leaves. */
export async function serveMcp(socket: Socket, given: unknown, host: McpHost): Promise<void> {
  const { token, open } = given as McpParams
  const [a, b] = [Buffer.from(String(token)), Buffer.from(host.token)]
  if (a.length !== b.length || !timingSafeEqual(a, b)) return void socket.destroy()
  const gateway = await openGateway((wiring) => host.open(open, wiring), {
    roots: () => ({ roots: [{ uri: pathToFileURL(open.cwd).href, name: open.cwd }] }),
  })
  try {
    void gateway.wake()
    const handle = serveStdio(gateway, { input: socket, output: socket })
    socket.resume()
    await handle.closed
  } finally {
    socket.destroy()
    await gateway.close()
  }
}
