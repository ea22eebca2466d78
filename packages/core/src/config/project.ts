// project.ts: which folder is the project, and which of its files version control brought.
import { realpath, stat } from 'node:fs/promises'
import { basename, dirname, join, resolve } from 'node:path'

/** A folder with one of these is a project's top. */
const MARKERS = ['.mcp.json', '.plugboard', '.claude', '.git']
/** Folders above this many levels are not searched. */
const MAX_LEVELS = 64
const GIT_MS = 5000

/** The nearest folder at or above `cwd` that looks like a project; `cwd` itself when there is none. */
export async function findProjectRoot(cwd: string, home: string): Promise<string> {
  const start = await realpath(resolve(cwd)).catch(() => resolve(cwd))
  const homeReal = await realpath(home).catch(() => home)
  let folder = start
  for (let level = 0; level < MAX_LEVELS; level++) {
    // The home folder has .claude and .plugboard of its own; they do not make everything below it one project.
    if (folder === homeReal) break
    const found = await Promise.all(MARKERS.map((marker) => exists(join(folder, marker))))
    if (found.some(Boolean)) return folder
    const parent = dirname(folder)
    if (parent === folder) break
    folder = parent
  }
  return start
}

async function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  )
}

/**
 * Did version control bring this file? Asked of git itself, in the file's own folder (it may be a submodule), with
 * the settings off that would let a repository's configuration run a program. No answer counts as yes.
 */
export async function isTracked(file: string): Promise<boolean> {
  if (!(await insideRepository(dirname(file)))) return false
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
  const { execFile } = await import('node:child_process')
  return new Promise((done) => {
    const options = { cwd: dirname(file), timeout: GIT_MS, windowsHide: true }
    execFile('git', args, options, (error) => {
      // git says 1 for a file it does not know; anything else that is not 0 is no answer.
      done(!(error && (error as { code?: unknown }).code === 1))
    })
  })
}

async function insideRepository(folder: string): Promise<boolean> {
  let at = folder
  for (let level = 0; level < MAX_LEVELS; level++) {
    if (await exists(join(at, '.git'))) return true
    const parent = dirname(at)
    if (parent === at) return false
    at = parent
  }
  return false
}
