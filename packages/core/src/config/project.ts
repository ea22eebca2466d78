// project.ts: which folder is the project, and which of its files version control brought.
import { lstat, realpath, stat } from 'node:fs/promises'
import { dirname, join, relative, resolve, sep } from 'node:path'

/** A folder with one of these is a project's top. */
const MARKERS = ['.mcp.json', '.plugboard', '.claude', '.git']
/** Folders above this many levels are not searched. */
const MAX_LEVELS = 64
const GIT_MS = 5000

/** The nearest folder at or above `cwd` that looks like a project; `cwd` itself when there is none. */
export async function findProjectRoot(cwd: string, home: string): Promise<string> {
  const start = await realpath(resolve(cwd)).catch(() => resolve(cwd))
  const homeReal = await realpath(home).catch(() => home)
  // Under whatever name the home folder is reached, its files are the person's own and not a project's.
  if (start === homeReal) return home
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
 * Did somebody else bring this private file? Yes when version control did, when it is reached through a link inside
 * the project, when another account owns it, and whenever there is no answer.
 */
export async function isTracked(file: string): Promise<boolean> {
  if (await isLinkedOrForeign(file)) return true
  const repository = await repositoryOf(dirname(file))
  if (!repository) return false
  return repository.marker === '.git' ? gitKnows(file, repository.top) : true
}

async function isLinkedOrForeign(file: string): Promise<boolean> {
  const own = process.getuid?.()
  for (const path of [dirname(file), file]) {
    const info = await lstat(path).catch(() => undefined)
    if (!info || info.isSymbolicLink()) return true
    if (own !== undefined && info.uid !== own && info.uid !== 0) return true
  }
  return false
}

/**
 * Asked of git with the repository named outright: left to look for one itself, it would take a bare repository that
 * was committed into the file's own folder at its word. Letters match in either case, as they do on disks where
 * `.Plugboard` is `.plugboard`; and the settings are off that would let the repository run a program.
 */
async function gitKnows(file: string, top: string): Promise<boolean> {
  const args = [
    `--git-dir=${join(top, '.git')}`,
    `--work-tree=${top}`,
    '-c',
    'core.fsmonitor=false',
    '-c',
    'core.hooksPath=/dev/null',
    'ls-files',
    '-z',
    '--',
    `:(top,icase,literal)${relative(top, file).split(sep).join('/')}`,
  ]
  const { execFile } = await import('node:child_process')
  const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('GIT_')))
  return new Promise((done) => {
    const options = { cwd: top, timeout: GIT_MS, windowsHide: true, env }
    execFile('git', args, options, (error, stdout) => done(error !== null || stdout !== ''))
  })
}

/** Folders that say: this is under version control. Only git is asked; for the others there is no answer. */
const VERSION_CONTROL = ['.git', '.hg', '.svn', '.jj', '.bzr', '_darcs', '.pijul', '.fslckout']

async function repositoryOf(folder: string): Promise<{ top: string; marker: string } | undefined> {
  let top = folder
  for (let level = 0; level < MAX_LEVELS; level++) {
    for (const marker of VERSION_CONTROL) if (await exists(join(top, marker))) return { top, marker }
    const parent = dirname(top)
    if (parent === top) return undefined
    top = parent
  }
  return undefined
}
