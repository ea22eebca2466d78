// project.ts: which folder is the project, and whether a path is inside it. It starts no program: records (trust.ts)
// tell what the user wrote from what a repository contains, never version control, dates or owners.
import { dirname, isAbsolute, join, relative, resolve, sep } from 'node:path'
import { lazyModule } from '../lazy.ts'

/** A folder with one of these is a project's top. */
export const PROJECT_MARKERS: readonly string[] = ['.mcp.json', '.plugboard', '.claude', '.git']
/** Folders above this many levels are not searched. */
const MAX_LEVELS = 64

/** The nearest folder at or above `cwd` that looks like a project; `cwd` itself when there is none. */
export function findProjectRoot(cwd: string, home: string): string {
  const start = realPath(resolve(cwd))
  const homeReal = realPath(home)
  // By whatever path the home folder is reached, its files are the user's and not a project's.
  if (start === homeReal) return home
  for (const folder of upwards(start)) {
    // The home folder has .claude and .plugboard of its own; they do not make everything below it one project.
    if (folder === homeReal) break
    if (PROJECT_MARKERS.some((marker) => exists(join(folder, marker)))) return folder
  }
  return start
}

/** The folder itself, then each one above it. */
export function* upwards(start: string): Generator<string> {
  let folder = start
  for (let level = 0; level < MAX_LEVELS; level++) {
    yield folder
    const parent = dirname(folder)
    if (parent === folder) return
    folder = parent
  }
}

export function realPath(path: string): string {
  try {
    const { realpathSync } = lazyModule('node:fs')
    // The system's own is many times faster. Elsewhere it spells a path anew, in another case or as another drive.
    return process.platform === 'linux' ? realpathSync.native(path) : realpathSync(path)
  } catch {
    // A folder that does not exist keeps its path.
    return path
  }
}

/** Is `path` the folder itself or below it? Compares texts: give it real paths where links matter. */
export function isInside(path: string, folder: string): boolean {
  const way = relative(folder, path)
  return way === '' || (way !== '..' && !way.startsWith(`..${sep}`) && !isAbsolute(way))
}

/** A file of the project, by its name or by the target of its links. In the home folder everything is the user's. */
export function isProjectFile(
  path: string,
  place: { readonly root: string; readonly home: string },
): boolean {
  if (place.root === place.home) return false
  return isInside(resolve(path), place.root) || isInside(realPath(resolve(path)), place.root)
}

function exists(path: string): boolean {
  return lazyModule('node:fs').existsSync(path)
}
