// project.ts: which folder is the project, and which of its private files somebody else brought.
import { dirname, join, relative, resolve, sep } from 'node:path'
import { lazyModule } from '../lazy.ts'

/** A folder with one of these is a project's top. */
const MARKERS = ['.mcp.json', '.plugboard', '.claude', '.git']
/** Folders above this many levels are not searched. */
const MAX_LEVELS = 64
const GIT_MS = 5000
/** Disks keep times as coarse as this. */
const TIME_STEP_MS = 2000

/** The nearest folder at or above `cwd` that looks like a project; `cwd` itself when there is none. */
export function findProjectRoot(cwd: string, home: string): string {
  const start = realPath(resolve(cwd))
  const homeReal = realPath(home)
  // Under whatever name the home folder is reached, its files are the person's own and not a project's.
  if (start === homeReal) return home
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
 * Did somebody else bring this private file? Yes when version control did, when it was unpacked here, when it is
 * reached through a link inside the project, when another account owns it, and whenever there is no answer.
 */
export async function isBrought(file: string): Promise<boolean> {
  if (isLinkedOrForeign(file) || isUnpacked(file)) return true
  const repository = repositoryOf(dirname(file))
  if (!repository) return false
  return repository.marker === '.git' ? gitKnows(file, repository.top) : true
}

function isLinkedOrForeign(file: string): boolean {
  const own = process.getuid?.()
  for (const path of [dirname(file), file]) {
    const info = lazyModule('node:fs').lstatSync(path, { throwIfNoEntry: false })
    if (!info || info.isSymbolicLink()) return true
    if (own !== undefined && info.uid !== own && info.uid !== 0) return true
  }
  return false
}

export function isUnpacked(file: string): boolean {
  const info = lazyModule('node:fs').lstatSync(file, { throwIfNoEntry: false })
  return !info || cameWithItsDate(info)
}

export interface FileTimes {
  readonly birthtimeMs: number
  readonly mtimeMs: number
  readonly ctimeMs: number
}

/**
 * A text that was typed here is no older than the file that holds it, and its disk saw it change. What an archive was
 * unpacked to is older than its file, or claims a date that the disk knows nothing of; which of the two, its maker
 * decides, but not to within seconds of the moment at which somebody unpacks it. Linux lets nobody set when a file was
 * made; elsewhere archives do, and the last change of the file's own record takes its place.
 */
export function cameWithItsDate(times: FileTimes, platform: NodeJS.Platform = process.platform): boolean {
  const { birthtimeMs, mtimeMs, ctimeMs } = times
  const arrivedMs = platform === 'linux' && birthtimeMs > 0 ? birthtimeMs : ctimeMs
  return mtimeMs < arrivedMs - TIME_STEP_MS || mtimeMs > ctimeMs + TIME_STEP_MS
}

/**
 * Asked of git with the repository named outright: left to look for one itself, it would take a bare repository that
 * was committed into the file's own folder at its word. Letters match in either case, as they do on disks where
 * `.Plugboard` is `.plugboard`; and the settings are off that would let the repository run a program.
 */
function gitKnows(file: string, top: string): Promise<boolean> {
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
  const { execFile } = lazyModule('node:child_process')
  const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('GIT_')))
  return new Promise((done) => {
    const options = { cwd: top, timeout: GIT_MS, windowsHide: true, env }
    execFile('git', args, options, (error, stdout) => done(error !== null || stdout !== ''))
  })
}

/** Folders that say: this is under version control. Only git is asked; for the others there is no answer. */
const VERSION_CONTROL = ['.git', '.hg', '.svn', '.jj', '.bzr', '_darcs', '.pijul', '.fslckout']

function repositoryOf(folder: string): { top: string; marker: string } | undefined {
  for (const top of upwards(folder)) {
    const marker = VERSION_CONTROL.find((name) => exists(join(top, name)))
    if (marker !== undefined) return { top, marker }
  }
  return undefined
}
