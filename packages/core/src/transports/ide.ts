// ide.ts: the connection to an editor's server, found by the lock file that the editor leaves in the user's home.
// The token in it opens the editor to us, so it is only ever sent to this machine.
import type { Transport } from '@modelcontextprotocol/client'
import { chooseLock, lockFolder, readLocks } from '../config/editor-locks.ts'
import type { IdeEntry } from '../config/entry.ts'
import { traitsOf } from '../config/transport-traits.ts'
import { InitError } from '../errors.ts'
import { isRunning } from '../files/running.ts'
import type { TransportContext } from './open.ts'

const TOKEN_HEADER = 'x-claude-code-ide-authorization'

export async function openIde(entry: IdeEntry, context: TransportContext): Promise<Transport> {
  const locks = await readLocks(lockFolder(context.host), isRunning)
  const transport = traitsOf(entry).opensWith === 'websocket' ? 'ws' : 'sse'
  const url = entry.url === undefined ? undefined : loopbackUrl(entry.url, context.server)
  const lock =
    url === undefined
      ? chooseLock(locks, { transport, ideName: entry.ideName, workspace: context.workspace })
      : locks.find(({ port }) => String(port) === url.port)
  if (url === undefined && lock === undefined)
    throw new InitError('No editor with this workspace was found.', {
      server: context.server,
      stage: 'transport',
      hint: 'Open the folder in the editor and check that its MCP extension is running.',
    })
  const target = {
    url:
      url?.href ??
      (transport === 'ws' ? `ws://127.0.0.1:${lock?.port}` : `http://127.0.0.1:${lock?.port}/sse`),
    headers: {
      ...entry.headers,
      ...(lock?.authToken !== undefined && { [TOKEN_HEADER]: lock.authToken }),
    },
  }
  return transport === 'ws'
    ? (await import('./websocket.ts')).openWebSocket(target, context)
    : (await import('./sse.ts')).openSse(target, context)
}

function loopbackUrl(text: string, server: string): URL {
  const url = new URL(text)
  if (!/^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])$/.test(url.hostname))
    throw new InitError(`"${server}" is an editor's server, and ${url.host} is not this machine.`, {
      server,
      stage: 'transport',
      hint: 'Use type "ws" or "sse" for a server elsewhere.',
    })
  return url
}
