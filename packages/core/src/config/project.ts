// project.ts: which folder is the project, and which of its files version control brought.
import { basename, dirname, join, resolve } from 'node:path'
import { lazyModule } from '../lazy.ts'

/** A folder with one of these is a project's top. */
const MARKERS = ['.mcp.json', '.plugboard', '.claude', '.git']
/** Folders above this many levels are not searched. */
const MAX_LEVELS = 64
const GIT_MS = 5000

/** The nearest folder at or above `cwd` that looks like a project; `cwd` itself when there is none. */
export function findProjectRoot(cwd: string, home: string): string {
  const start = realPath(resolve(cwd))
  const homeReal = realPath(home)
  for (const folder of upwards(start)) {
    // The home folder has .claude and .plugboard of its own; they do not make everything below it one project.
    if (folder === homeReal) break
    if (MARKERS.some((marker) => exists(join(folder, marker)))) return folder
  }
  return start
}

function* upwards(start: string): Generator<string> {
  let folder = start
  for (let level = 0; level < MAX_LEVELS; level++) {
    yield folder
    const parent = dirname(folder)
    if (parent === folder) return
    folder = parent
  }
}

function realPath(path: string): string {
  try {
    return lazyModule('node:fs').realpathSync(path)
  } catch {
    // A folder that is not there is its own path.
    return path
  }
}

function exists(path: string): boolean {
  return lazyModule('node:fs').existsSync(path)
}

/**
 * Did version control bring this file? Asked of git itself, in the file's own folder (it may be a submodule), with
 * the settings off that would let a repository's configuration run a program. No answer counts as yes.
 */
export async function isTracked(file: string): Promise<boolean> {
  const repository = [...upwards(dirname(file))].some((folder) => exists(join(folder, '.git')))
  if (!repository) return false
  const args = [
    '-c',
    'core.fsmonitor=false',
    '-c',
    'core.hooksPath=/dev/null',
    'ls-files',
    '--error-unmatch',
    '--',
    basename(file),
  ]
  const { execFile } = lazyModule('node:child_process')
  return new Promise((done) => {
    const options = { cwd: dirname(file), timeout: GIT_MS, windowsHide: true }
    execFile('git', args, options, (error) => {
      // git says 1 for a file it does not know; anything else that is not 0 is no answer.
      done(!(error && (error as { code?: unknown }).code === 1))
    })
  })
}
