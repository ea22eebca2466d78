// editor-locks.ts: the lock files that running editors leave in the user's home: which editor has this folder open, on which port,
// with which token. A lock is hostile input: it must be the user's own file, outside the project, of a process that runs.
import { isAbsolute, join, relative, resolve } from 'node:path'
import { readTextFile } from '../files/read.ts'
import { isRunning } from '../files/running.ts'
import type { Host } from '../host.ts'
import { lazyModule } from '../lazy.ts'
import { IDE_LIMITS } from '../limits.ts'
import { cleanText, cutText } from '../text/sanitize.ts'
import type { Definition } from './document.ts'
import { isInside as isInFolder, realPath } from './project.ts'
import type { Source } from './sources.ts'

/** The name of the server of a running editor. An entry of that name in a file is stronger. */
export const EDITOR_NAME = 'ide'
export const EDITOR_SOURCE = 'running editor'
/** The tools of an editor that a model may call without a prompt: they only read. */
export const EDITOR_ALLOWS = ['getDiagnostics'] as const

export interface IdeLock {
  readonly port: number
  readonly workspaceFolders: readonly string[]
  readonly transport: 'ws' | 'sse'
  readonly modifiedMs: number
  readonly pid?: number
  readonly ideName?: string
  readonly authToken?: string
}

export function lockFolder({ env, home }: Pick<Host, 'env' | 'home'>): string {
  return join(env['CLAUDE_CONFIG_DIR'] || join(home, '.claude'), 'ide')
}

/** The running editor as a server, or why there is none. */
export async function editorDefinition(
  { host, cwd, root }: { readonly host: Host; readonly cwd: string; readonly root: string },
  source: Source,
): Promise<Definition> {
  const folder = lockFolder(host)
  const base = { name: EDITOR_NAME, source, path: EDITOR_NAME, written: {}, faults: [] }
  const real = realPath(folder)
  if (isInFolder(real, realPath(root)) && !isInFolder(realPath(host.home), realPath(root)))
    return { ...base, absentBecause: `Lock files of editors are not read from the project (${folder}).` }
  const locks = (await readLocks(folder, isRunning)).filter(({ pid }) => pid !== undefined)
  const lock = (['ws', 'sse'] as const)
    .flatMap((transport) => chooseLock(locks, { transport, workspace: [cwd] }) ?? [])
    .sort((one, other) => other.modifiedMs - one.modifiedMs)[0]
  if (!lock)
    return {
      ...base,
      absentBecause: `No editor that runs has this folder open (lock files are in ${folder}).`,
    }
  const type = lock.transport === 'ws' ? ('ws-ide' as const) : ('sse-ide' as const)
  const scheme = lock.transport === 'ws' ? 'ws' : 'http'
  const path = lock.transport === 'ws' ? '' : '/sse'
  // Without an address it is found again after the editor was started anew; that needs the whole project to be open in it.
  const isFound = chooseLock([lock], { transport: lock.transport, workspace: [root] }) !== undefined
  const url = isFound ? {} : { url: `${scheme}://127.0.0.1:${lock.port}${path}` }
  const ideName = cutText(cleanText(lock.ideName ?? 'An editor').replaceAll(/\s+/g, ' '), 60, '…')
  return {
    ...base,
    written: { type, ...url },
    entry: { type, headers: {}, ...url },
    note: `${ideName} (process ${lock.pid}) has this folder open. \`"builtins": { "ide": false }\` in your settings switches it off.`,
  }
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
  if (!isOwn(folder)) return []
  const names = lazyModule('node:fs').readdirSync(folder)
  const locks: IdeLock[] = []
  for (const name of names.filter((each) => each.endsWith('.lock')).slice(0, IDE_LIMITS.lockFiles)) {
    const lock = await readLock(join(folder, name), name)
    if (lock !== undefined && (lock.pid === undefined || alive(lock.pid))) locks.push(lock)
  }
  return locks
}

async function readLock(path: string, name: string): Promise<IdeLock | undefined> {
  try {
    if (!isOwn(path)) return undefined
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
    workspaceFolders: workspaceFolders
      .filter((folder) => typeof folder === 'string')
      .slice(0, IDE_LIMITS.folders),
    transport: transport === 'ws' ? 'ws' : 'sse',
    modifiedMs,
    ...(typeof pid === 'number' && Number.isInteger(pid) && pid > 0 && { pid }),
    ...(typeof ideName === 'string' && { ideName }),
    ...(typeof authToken === 'string' && { authToken }),
  }
}

/** The user's own, which no other user can write, and no link; a missing one is not. */
function isOwn(path: string): boolean {
  const stat = lazyModule('node:fs').lstatSync(path, { throwIfNoEntry: false })
  if (!stat || stat.isSymbolicLink()) return false
  const user = process.getuid?.()
  return user === undefined || (stat.uid === user && (stat.mode & 0o002) === 0)
}
