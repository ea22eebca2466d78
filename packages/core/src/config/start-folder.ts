// start-folder.ts: where programs from outside the project start, and which part of the PATH they get. Package
// runners, interpreters and version managers load code from the folder they start in and from relative PATH entries,
// so a folder that the user has not trusted is used for neither.
import { isAbsolute, join, parse, resolve } from 'node:path'
import { InitError } from '../errors.ts'
import type { Host } from '../host.ts'
import { lazyModule } from '../lazy.ts'
import type { ServerEntry } from './entry.ts'
import { hashOf } from './fingerprints.ts'
import { isInside, PROJECT_MARKERS, realPath, upwards } from './project.ts'
import { type Place, plugboardHome, type Source } from './sources.ts'
import { isRemoteEntry, startsCommand } from './transport-traits.ts'

/** Our folder in which each such server has its own folder. */
export function neutralFolder(place: Pick<Place, 'home' | 'env'>): string {
  return resolve(plugboardHome(place), 'run')
}

const DEFAULT_PATH = '/usr/bin:/bin'

/** What runners read from the folder they start in. The neutral folder must contain none of it. */
const CODE_NAMES: ReadonlySet<string> = new Set([
  'node_modules',
  'package.json',
  'bunfig.toml',
  'deno.json',
  'deno.jsonc',
  'pyproject.toml',
  'uv.toml',
  'mise.toml',
  '.npmrc',
  '.yarnrc.yml',
  '.pnpmfile.cjs',
  '.venv',
  '.python-version',
  '.node-version',
  '.nvmrc',
  '.tool-versions',
  '.mise.toml',
  '.envrc',
  '.env',
])

function holdsCode(name: string): boolean {
  return CODE_NAMES.has(name.toLowerCase()) || /\.(?:py|pyc|pth)$/i.test(name)
}

/**
 * The environment for programs of this project: PATH without empty and relative entries, and, unless the folder is
 * trusted, without folders of the project and without the variables that `npm run` sets for it.
 */
export function childHostEnvironment(
  env: Host['env'],
  place: Pick<Place, 'root' | 'home' | 'platform'>,
  folderTrusted: boolean,
): Record<string, string | undefined> {
  const kept = Object.entries(env).filter(([name]) => folderTrusted || !/^(?:npm_|init_cwd$)/i.test(name))
  return Object.fromEntries(
    kept.map(([name, value]) =>
      name.toUpperCase() === 'PATH' && value !== undefined
        ? [name, safePath(value, place, folderTrusted)]
        : [name, value],
    ),
  )
}

function safePath(
  path: string,
  { root, home, platform }: Pick<Place, 'root' | 'home' | 'platform'>,
  folderTrusted: boolean,
): string {
  const separator = platform === 'win32' ? ';' : ':'
  const own = realPath(home)
  const projects = enclosingProjects(root, own)
  const ofProject = (entry: string) =>
    [entry, realPath(entry)].some((path) => projects.some((folder) => isInside(path, folder))) &&
    !(isInside(own, root) && isInside(realPath(entry), own))
  const kept = path
    .split(separator)
    .filter((entry) => isAbsolute(entry) && (folderTrusted || !ofProject(entry)))
    .join(separator)
  // An empty PATH means the current folder.
  return kept === '' && separator === ':' ? DEFAULT_PATH : kept
}

/** `npm run` puts the folder of programs of each of these on the PATH. */
const PACKAGE_MARKERS = [...PROJECT_MARKERS, 'package.json', 'node_modules']

/**
 * The project and those around it: a submodule or a package of a monorepo came with them. None is the root of the disk
 * (a container's `/`), which contains every program, and none but the project itself contains the home folder.
 */
function enclosingProjects(root: string, home: string): readonly string[] {
  const { existsSync } = lazyModule('node:fs')
  const around = [...upwards(root)].slice(1).filter((folder) => !isInside(home, folder))
  return [
    root,
    ...around.filter((folder) => PACKAGE_MARKERS.some((name) => existsSync(join(folder, name)))),
  ].filter((folder) => folder !== parse(folder).root)
}

/** The same host, for starting programs: the safe environment, a safe folder where none is given, a safe look-up. */
export function hostForPrograms(host: Host, place: Place, folderTrusted: boolean): Host {
  const neutral = neutralFolder(place)
  return {
    ...host,
    env: childHostEnvironment(host.env, place, folderTrusted),
    spawn: (command, args, options) => {
      const cwd = options.cwd === undefined ? neutral : String(options.cwd)
      return host.spawn(command, args, {
        ...options,
        cwd: isInside(cwd, neutral) ? outsideProject(prepared(cwd, neutral), place) : cwd,
      })
    },
  }
}

/**
 * Where the home folder lies inside the project, the neutral folder does too, and package runners look for code in every
 * folder above the one they start in. Then the root of the disk serves.
 */
function outsideProject(folder: string, { root, home }: Pick<Place, 'root' | 'home'>): string {
  return root !== home && isInside(realPath(folder), root) ? parse(folder).root : folder
}

/** `ENOENT` is what Node makes of a parent folder that it may not make. */
const UNWRITABLE: ReadonlySet<string> = new Set(['EACCES', 'EROFS', 'EPERM', 'ENOSPC', 'ENOENT'])

/** Makes the folder, or says why nothing may start in it. Where nothing can be written, the root of the disk serves. */
function prepared(folder: string, neutral: string): string {
  const { mkdirSync } = lazyModule('node:fs')
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 })
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code !== undefined && UNWRITABLE.has(code)) return parse(neutral).root
    throw new InitError(`${folder}, where your servers start, could not be made (${code}).`, {
      stage: 'transport',
      hint: `Remove what is in the way at ${neutral}.`,
      cause: error,
    })
  }
  for (const each of new Set([neutral, folder])) check(each)
  return folder
}

function check(folder: string): void {
  const { lstatSync, readdirSync, chmodSync } = lazyModule('node:fs')
  const fail = (why: string, hint: string) =>
    new InitError(`${folder}, where your servers start, ${why}.`, { stage: 'transport', hint })
  const info = lstatSync(folder)
  if (!info.isDirectory()) throw fail('is a link', 'Remove it; it is made again.')
  const own = process.getuid?.()
  if (own !== undefined && info.uid !== own)
    throw fail('belongs to another account', 'Remove it; it is made again.')
  if (process.platform !== 'win32' && (info.mode & 0o077) !== 0) chmodSync(folder, 0o700)
  const code = readdirSync(folder).find(holdsCode)
  if (code !== undefined)
    throw fail(
      `holds ${JSON.stringify(code.slice(0, 64))}, from which programs would take code`,
      `Look at ${join(folder, code)} and remove it.`,
    )
}

/** Their first plain argument is a package, not a file, even if its name ends like one (`chart.js`). */
const PACKAGE_RUNNERS = /^(?:npx|bunx|pnpx|uvx|pipx|npm|pnpm|yarn|bun|uv|deno)(?:\.(?:cmd|exe))?$/i
/** What the longer forms say before the package. */
const RUNNER_WORDS: ReadonlySet<string> = new Set(['exec', 'x', 'dlx', 'run', 'tool', 'create', 'init'])
const SCRIPT = /\.(?:[cm]?[jt]sx?|pyw?|rb|pl|php|lua|sh|bash|zsh|fish|ps1|bat|cmd|exe|jar|wasm)$/i
const FROM_HERE = /^\.\.?(?:[/\\]|$)/

/**
 * Does the command line itself name a script by a path from the project, as in `node server.js` or `./run`? Then the user
 * has chosen code of the project. It looks at what was typed only: files in the folder cannot change the answer.
 */
export function namesOwnScript({
  command,
  args,
}: {
  readonly command: string
  readonly args: readonly string[]
}): boolean {
  if (FROM_HERE.test(command) || (/[/\\]/.test(command) && !isAbsolute(command))) return true
  const plain = args.filter((arg) => !arg.startsWith('-'))
  const runner = PACKAGE_RUNNERS.test(command.split(/[/\\]/).at(-1) ?? '')
  const words = runner ? plain.slice(plain.findIndex((arg) => !RUNNER_WORDS.has(arg)) + 1) : plain
  return words.some(
    (arg) => SCRIPT.test(arg) && !isAbsolute(arg) && !arg.startsWith('@') && !arg.includes(':'),
  )
}

/** The same arguments for a program that starts elsewhere: `./data` and `--root=./data` still mean the project's. */
export function argsFrom(root: string, args: readonly string[]): string[] {
  return args.map((arg) => {
    const [, option = '', path = ''] = /^(--?[\w-]+=)?(.*)$/s.exec(arg) ?? []
    return FROM_HERE.test(path) ? option + resolve(root, path) : arg
  })
}

interface StartInput {
  /** The project's top folder. */
  readonly root: string
  readonly neutralFolder: string
  readonly folderTrusted: boolean
}

export function startsInProject(source: Source, input: Pick<StartInput, 'folderTrusted'>): boolean {
  return source.authorship === 'repository' || input.folderTrusted
}

/**
 * Only what the user approved as the project's starts in the project's top folder: package runners take code from the
 * folder they start in, so everything else needs the user's trust in the folder, also an entry that the user added to the
 * project. A relative `cwd` is meant from where the entry would start.
 */
export function withStartFolder(
  name: string,
  entry: ServerEntry,
  source: Source,
  author: 'user' | 'repository',
  input: StartInput,
): ServerEntry {
  const added = source.authorship === 'repository' && author === 'user'
  const inProject = startsIn(entry, source, author, input)
  const folder = inProject ? input.root : join(input.neutralFolder, folderName(name))
  if (isRemoteEntry(entry) && entry.headersHelper !== undefined) return { ...entry, helperCwd: folder }
  if (!startsCommand(entry)) return entry
  // A folder that the user typed into an entry of the project is the project's.
  if (entry.cwd !== undefined) return { ...entry, cwd: resolve(added ? input.root : folder, entry.cwd) }
  if (added && !inProject) return { ...entry, cwd: folder, args: argsFrom(input.root, entry.args) }
  return { ...entry, cwd: folder }
}

/** Does the entry start in the project folder? */
export function startsIn(
  entry: ServerEntry,
  source: Source,
  author: 'user' | 'repository',
  input: StartInput,
): boolean {
  if (author === 'repository' || source.authorship === 'user') return startsInProject(source, input)
  if (input.folderTrusted) return true
  if (isRemoteEntry(entry) && entry.headersHelper !== undefined) {
    const [command = '', ...args] = entry.headersHelper.trim().split(/\s+/)
    return namesOwnScript({ command, args })
  }
  return startsCommand(entry) && namesOwnScript(entry)
}

/** Names of configured servers are plain, except one that means something to a package runner. */
function folderName(name: string): string {
  return /^(?!node_modules$)[A-Za-z0-9_-]{1,64}$/i.test(name) ? name : `server-${hashOf(name).slice(0, 16)}`
}

/** A path that exists on no system: a missing command must not be looked up again in the start folder. */
const NOWHERE = '/nonexistent'

/**
 * The file that a command names: on PATH without empty and relative entries, never in the folder it starts in. A path
 * that does not exist when there is none.
 */
export function findProgram(
  command: string,
  env: Readonly<Record<string, string | undefined>>,
  cwd: string | undefined,
): string {
  if (command.includes('/')) return resolve(cwd ?? process.cwd(), command)
  if (command === '') return command
  const { accessSync, constants, statSync } = lazyModule('node:fs')
  let forbidden: string | undefined
  for (const folder of (env['PATH'] ?? DEFAULT_PATH).split(':')) {
    if (!isAbsolute(folder)) continue
    const file = join(folder, command)
    try {
      if (!statSync(file).isFile()) continue
    } catch {
      // Missing, or inside a folder that we cannot read.
      continue
    }
    try {
      accessSync(file, constants.X_OK)
      return file
    } catch {
      // A later folder may have an executable one; otherwise starting this one reports what is wrong with it.
      forbidden ??= file
    }
  }
  return forbidden ?? join(NOWHERE, command)
}
