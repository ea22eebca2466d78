// protected-files.ts: which files are not shown without a yes: ignored files, hidden files, and files whose name says that they hold
// credentials. Search never shows these; a call that names one is refused, or the calling program asks the user.
import { lstat, readdir, realpath } from 'node:fs/promises'
import { join, relative, sep } from 'node:path'
import { CodebaseError } from './errors.ts'
import { holdsCredentials, isHidden } from './protected-names.ts'
import { ripgrepNames } from './ripgrep.ts'
import { isInside, quote, type Root } from './root.ts'

/** Sibling folders are kept out of the walk up to this many; past it, the walk is longer but just as right. */
const SIBLINGS_MAX = 1000

export interface ProtectionOptions {
  readonly root: Root
  readonly ripgrep: () => Promise<string>
  /** Folders whose content is never shown, wherever they are. */
  readonly folders: readonly string[]
}

export class Protection {
  readonly #options: ProtectionOptions

  constructor(options: ProtectionOptions) {
    this.#options = options
  }

  /** Why the target of this path is protected, as part of a sentence; undefined when it is not. Throws when it does not exist. */
  async reason(given: string): Promise<string | undefined> {
    const { root } = this.#options
    const place = await root.find(given)
    const real = await root.real()
    // What counts is where the path leads: a link to a protected file is as protected as the file.
    const path = relative(real, place.absolute).split(sep).join('/')
    const isFolder = (await lstat(place.absolute).catch(() => undefined))?.isDirectory() === true
    for (const name of [place.relative, path]) {
      if (isHidden(name)) return `${quote(given)} is hidden: a name on its way starts with a dot`
      if (!isFolder && holdsCredentials(name)) return `${quote(given)} holds credentials, by its name`
    }
    for (const folder of this.#options.folders) {
      const own = await realpath(folder).catch(() => undefined)
      if (own !== undefined && isInside(own, place.absolute)) return `${quote(given)} is in ${own}`
    }
    if (path === '' || (await this.#isSeen(real, path, place.absolute))) return undefined
    return `${quote(given)} is left out by the ignore rules`
  }

  /** ripgrep decides here too. It walks from the root, because a folder that is named is never ignored. */
  async #isSeen(real: string, path: string, absolute: string): Promise<boolean> {
    const found = await lstat(absolute).catch(() => undefined)
    if (!found?.isDirectory() && !found?.isFile()) return true
    // An empty folder has nothing to protect, and ripgrep does not name it.
    if (found.isDirectory() && (await readdir(absolute).catch(() => ['?'])).length === 0) return true
    const depth = found.isDirectory() ? [] : [`--max-depth=${path.split('/').length}`]
    let isSeen = false
    await ripgrepNames(
      await this.#options.ripgrep(),
      ['--files', ...depth, ...(await besides(real, path)), '--', './'],
      { cwd: real },
      (name) => {
        isSeen ||= name === path || (found.isDirectory() && name.startsWith(`${path}/`))
      },
      () => !isSeen,
    )
    return isSeen
  }
}

/** Flags that keep ripgrep out of every folder that is not on the way. They only leave out: no rule is overridden. */
async function besides(real: string, path: string): Promise<string[]> {
  const flags: string[] = []
  const names = path.split('/')
  for (let n = 0; n < names.length; n++) {
    const above = names.slice(0, n).join('/')
    const items = await readdir(join(real, above), { withFileTypes: true }).catch(() => [])
    for (const item of items)
      if (item.isDirectory() && item.name !== names[n] && !item.name.includes('\ufffd'))
        flags.push(`--glob=!/${above === '' ? '' : `${escaped(above)}/`}${escaped(item.name)}`)
    if (flags.length > SIBLINGS_MAX) return []
  }
  return flags
}

const escaped = (name: string) => name.replaceAll(/[\\*?[\]{}! ]/g, '\\$&')

/** What each tool would read by name. */
export function namedPaths(tool: string, args: Readonly<Record<string, unknown>>): string[] {
  const given =
    tool === 'read_file' || tool === 'chunk_file'
      ? args['file_path']
      : tool === 'chunk_files'
        ? args['file_paths']
        : args['path']
  return [given].flat().filter((path): path is string => typeof path === 'string')
}

export function refused(reason: string): CodebaseError {
  return new CodebaseError(
    'PROTECTED',
    `${reason}, and such files are not read here.`,
    'Start the server with --allow-ignored to read them by name.',
  )
}
