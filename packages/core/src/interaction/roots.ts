// roots.ts: the folders announced to servers as roots. It only announces: it restricts no server.
import { basename, isAbsolute, join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { ServerEntry } from '../config/entry.ts'
import { startsCommand } from '../config/transport-traits.ts'
import { lazyModule } from '../lazy.ts'

export interface Root {
  readonly uri: string
  readonly name: string
}

/** Each folder once, as a file URI; relative ones are resolved from `cwd`. */
export function rootsOf(folders: readonly string[], cwd: string): readonly Root[] {
  const roots = new Map<string, Root>()
  for (const folder of folders) {
    const path = isAbsolute(folder) ? resolve(folder) : resolve(cwd, folder)
    const uri = pathToFileURL(path).href
    roots.set(uri, { uri, name: basename(path) || path })
  }
  return [...roots.values()]
}

export interface RootsPlace {
  readonly home: string
  /** The project folder, from which paths in an entry are resolved. */
  readonly cwd: string
}

/**
 * The folders of an entry itself: those listed under `roots`, else those in `args`. A server that takes its folders
 * as arguments and requests roots would otherwise lose the ones it was started for.
 */
export function entryFolders(entry: ServerEntry, place: RootsPlace): readonly string[] {
  if (entry.roots === false) return []
  const locate = (from: string) => (folder: string) => resolve(from, withHome(folder, place.home))
  if (entry.roots) return entry.roots.map(locate(place.cwd))
  if (!startsCommand(entry)) return []
  // As the server itself will resolve them.
  const located = locate(entry.cwd ?? place.cwd)
  const named = entry.args.map((word) => (word.startsWith('-') ? word.replace(/^[^=]*=?/, '') : word))
  return [
    ...new Set(
      named
        .filter((word) => word !== '')
        .map(located)
        .filter(isFolder),
    ),
  ]
}

function withHome(folder: string, home: string): string {
  if (folder === '~') return home
  return folder.startsWith('~/') ? join(home, folder.slice(2)) : folder
}

/** An argument may be anything: a name, a URL, a page of text. */
function isFolder(path: string): boolean {
  if (path.length > 4096 || path.includes('\0')) return false
  try {
    return lazyModule('node:fs').statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false
  } catch {
    // A path that we cannot stat is not announced.
    return false
  }
}
