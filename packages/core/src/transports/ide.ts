// ide.ts: an editor's server, found by the lock file that the editor leaves in the user's home.
// The token in it opens the editor to us, so it is only ever sent to this machine.
import { readdir } from 'node:fs/promises'
import { isAbsolute, join, relative, resolve } from 'node:path'
import type { Transport } from '@modelcontextprotocol/client'
import type { IdeEntry } from '../config/entry.ts'
import { traitsOf } from '../config/transport-traits.ts'
import { InitError } from '../errors.ts'
import { readTextFile } from '../files/index.ts'
import { IDE_LIMITS } from '../limits.ts'
import type { TransportContext } from './open.ts'

const TOKEN_HEADER = 'x-claude-code-ide-authorization'

export interface IdeLock {
  readonly port: number
  readonly workspaceFolders: readonly string[]
  readonly transport: 'ws' | 'sse'
  readonly modifiedMs: number
  readonly pid?: number
  readonly ideName?: string
  readonly authToken?: string
}

export async function openIde(entry: IdeEntry, context: TransportContext): Promise<Transport> {
  const locks = await readLocks(lockFolder(context), isAlive)
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

function lockFolder(context: TransportContext): string {
  return join(context.host.env['CLAUDE_CONFIG_DIR'] || join(context.host.home, '.claude'), 'ide')
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

export interface IdeWish {
  readonly transport: 'ws' | 'sse'
  readonly ideName?: string | undefined
  readonly workspace?: readonly string[] | undefined
}

/** The newest editor that has the workspace open. */
export function chooseLock(locks: readonly IdeLock[], wanted: IdeWish): IdeLock | undefined {
  return locks
    .filter((lock) => lock.transport === wanted.transport)
    .filter((lock) => wanted.ideName === undefined || lock.ideName === wanted.ideName)
    .filter(
      (lock) =>
        wanted.workspace === undefined ||
        wanted.workspace.some((folder) => lock.workspaceFolders.some((open) => isInside(folder, open))),
    )
    .sort((one, other) => other.modifiedMs - one.modifiedMs)[0]
}

function isInside(folder: string, open: string): boolean {
  if (!isAbsolute(open)) return false
  const path = relative(resolve(open), resolve(folder))
  return path === '' || (!path.startsWith('..') && !isAbsolute(path))
}

/** Every readable lock of a running editor. A broken lock counts as none. */
export async function readLocks(folder: string, alive: (pid: number) => boolean): Promise<IdeLock[]> {
  // No folder: no editor has written a lock here.
  const names = await readdir(folder).catch((): string[] => [])
  const locks: IdeLock[] = []
  for (const name of names.filter((each) => each.endsWith('.lock')).slice(0, IDE_LIMITS.lockFiles)) {
    const lock = await readLock(join(folder, name), name)
    if (lock !== undefined && (lock.pid === undefined || alive(lock.pid))) locks.push(lock)
  }
  return locks
}

async function readLock(path: string, name: string): Promise<IdeLock | undefined> {
  try {
    const read = await readTextFile(path, IDE_LIMITS.lockBytes)
    if (read.kind !== 'text') return undefined
    return parseLock(JSON.parse(read.text), name, read.mtimeMs)
  } catch {
    // Half written, just deleted or not JSON: the editor will write it again.
    return undefined
  }
}

export function parseLock(value: unknown, name: string, modifiedMs: number): IdeLock | undefined {
  if (typeof value !== 'object' || value === null) return undefined
  // Members are read as unknown until each has been checked.
  const { port, workspaceFolders, pid, ideName, transport, authToken } = value as Record<string, unknown>
  const number = typeof port === 'number' ? port : Number(/^(\d{1,5})\.lock$/.exec(name)?.[1])
  if (!Number.isInteger(number) || number < 1 || number > 65535) return undefined
  if (!Array.isArray(workspaceFolders)) return undefined
  return {
    port: number,
    workspaceFolders: workspaceFolders.filter((folder) => typeof folder === 'string'),
    transport: transport === 'ws' ? 'ws' : 'sse',
    modifiedMs,
    ...(typeof pid === 'number' && Number.isInteger(pid) && pid > 0 && { pid }),
    ...(typeof ideName === 'string' && { ideName }),
    ...(typeof authToken === 'string' && { authToken }),
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    // EPERM: it runs, but under another user.
    return error instanceof Error && 'code' in error && error.code === 'EPERM'
  }
}
