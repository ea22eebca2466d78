// root.ts: the one folder that may be used, and the only way to a file in it. Nothing outside is ever opened: not by
// `..`, not by an absolute path, not through a symbolic link, not when a folder is swapped for a link meanwhile.
// @plugboard/workspace uses it too, for files that it writes.
import { constants, type Stats } from 'node:fs'
import { type FileHandle, lstat, open, realpath, stat } from 'node:fs/promises'
import { dirname, isAbsolute, join, relative, resolve, sep } from 'node:path'
import { CodebaseError, errno } from './errors.ts'
import { FILE_LIMITS } from './limits.ts'

export { CodebaseError } from './errors.ts'
export { isShown } from './protected-names.ts'

export interface PathInRoot {
  /** With `/` between the names, whatever the system; empty for the root itself. */
  readonly relative: string
  readonly absolute: string
}

export class Root {
  readonly path: string

  constructor(path: string) {
    this.path = resolve(path)
  }

  /** Where the root really is now; the error says when it is gone. */
  async real(): Promise<string> {
    try {
      const real = await realpath(this.path)
      if (!(await stat(real)).isDirectory())
        throw new CodebaseError('ROOT_GONE', `The root ${this.path} is not a folder.`)
      return real
    } catch (error) {
      if (error instanceof CodebaseError) throw error
      throw new CodebaseError(
        'ROOT_GONE',
        `The root folder ${this.path} cannot be read (${errno(error) ?? 'unknown error'}).`,
        'Was it moved or removed? Start the server again with the right folder.',
        error,
      )
    }
  }

  /** Checks the text of a path and follows its links; the result is inside the root. */
  async find(given: string): Promise<PathInRoot> {
    const real = await this.real()
    const wanted = await this.#spelled(given, real)
    const absolute = resolve(real, wanted)
    if (!isInside(real, absolute)) throw outside(given)
    let found: string
    try {
      found = await realpath(absolute)
    } catch (error) {
      const code = errno(error)
      if (code === 'ENOENT' || code === 'ENOTDIR')
        throw new CodebaseError(
          'NOT_FOUND',
          `There is no ${quote(given)} here.`,
          'Try list_directory.',
          error,
        )
      throw new CodebaseError(
        'IO',
        `${quote(given)} cannot be read (${code ?? 'unknown error'}).`,
        undefined,
        error,
      )
    }
    if (!isInside(real, found)) throw outside(given)
    return { relative: relative(real, absolute).split(sep).join('/'), absolute: found }
  }

  /** The same for a file that may not exist yet, nor the folders above it. `absolute` has no links in it. */
  async findForWriting(given: string): Promise<PathInRoot & { readonly exists: boolean }> {
    try {
      return { ...(await this.find(given)), exists: true }
    } catch (error) {
      if (!(error instanceof CodebaseError) || error.code !== 'NOT_FOUND') throw error
    }
    const real = await this.real()
    const wanted = resolve(real, await this.#spelled(given, real))
    if (!isInside(real, wanted)) throw outside(given)
    let known = wanted
    for (;;) {
      const found = await realpath(known).catch(() => undefined)
      if (found !== undefined) {
        const absolute = join(found, relative(known, wanted))
        if (!isInside(real, absolute)) throw outside(given)
        if (!(await stat(found)).isDirectory())
          throw new CodebaseError(
            'NOT_A_DIRECTORY',
            `${quote(given)} cannot be made: a name on its way is no folder.`,
          )
        return { relative: relative(real, wanted).split(sep).join('/'), absolute, exists: false }
      }
      // A link whose target is missing: where it would lead is not ours to create.
      if (await lstat(known).catch(() => undefined)) throw outside(given)
      known = dirname(known)
    }
  }

  /** Opens a regular file for reading; the caller closes the handle. */
  async open(given: string): Promise<PathInRoot & { readonly handle: FileHandle; readonly stats: Stats }> {
    const place = await this.find(given)
    const before = await lstat(place.absolute).catch(() => undefined)
    if (before?.isDirectory())
      throw new CodebaseError(
        'IS_DIRECTORY',
        `${quote(given)} is a folder.`,
        'Use list_directory for folders.',
      )
    if (before && !before.isFile())
      throw new CodebaseError('NOT_A_FILE', `${quote(given)} is not a regular file.`)
    let handle: FileHandle
    try {
      // The path has no links left; O_NOFOLLOW and O_NONBLOCK guard against a link or a FIFO put there since.
      const flags = constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0)
      handle = await open(place.absolute, flags)
    } catch (error) {
      const code = errno(error)
      if (code === 'ENOENT') throw new CodebaseError('NOT_FOUND', `There is no ${quote(given)} here.`)
      if (code === 'ELOOP') throw outside(given)
      throw new CodebaseError(
        'IO',
        `${quote(given)} cannot be opened (${code ?? 'unknown error'}).`,
        undefined,
        error,
      )
    }
    try {
      const stats = await handle.stat()
      if (!stats.isFile()) throw new CodebaseError('NOT_A_FILE', `${quote(given)} is not a regular file.`)
      await this.#sameAsNamed(given, place, stats)
      return { ...place, handle, stats }
    } catch (error) {
      await handle.close()
      throw error
    }
  }

  /** A folder on the way may have become a link between the check and the open: then the names lead elsewhere now. */
  async #sameAsNamed(given: string, place: PathInRoot, stats: Stats): Promise<void> {
    const again = await realpath(place.absolute).catch(() => undefined)
    const named = again === undefined ? undefined : await lstat(again).catch(() => undefined)
    if (again !== place.absolute) throw outside(given)
    if (named && (named.ino !== stats.ino || named.dev !== stats.dev))
      throw new CodebaseError('IO', `${quote(given)} changed while it was opened.`, 'Try again.')
  }

  async #spelled(given: string, real: string): Promise<string> {
    if (given.includes('\0')) throw new CodebaseError('BAD_INPUT', 'A path must not contain a NUL byte.')
    if (given.length > FILE_LIMITS.pathChars)
      throw new CodebaseError(
        'BAD_INPUT',
        `A path must not be longer than ${FILE_LIMITS.pathChars} characters.`,
      )
    if (sep === '\\' || !given.includes('\\')) return this.#fromOwnRoot(given, real)
    // Elsewhere than on Windows a backslash may be part of a name; only when no such file exists is it a separator.
    const literal = resolve(real, given)
    if (isInside(real, literal) && (await lstat(literal).catch(() => undefined))) return given
    if (/^([A-Za-z]:)?\\/.test(given) || /^[A-Za-z]:/.test(given)) throw outside(given)
    return given.replaceAll('\\', '/')
  }

  /** An absolute path may name the root as it was given, before its links were followed. */
  #fromOwnRoot(given: string, real: string): string {
    if (!isAbsolute(given) || this.path === real || !isInside(this.path, resolve(given))) return given
    return relative(this.path, resolve(given)) || '.'
  }
}

export function isInside(root: string, path: string): boolean {
  if (path === root) return true
  return path.startsWith(root.endsWith(sep) ? root : root + sep)
}

function outside(given: string): CodebaseError {
  return new CodebaseError(
    'OUTSIDE_ROOT',
    `${quote(given)} is outside the root folder.`,
    'Only files inside the root can be used; give a path relative to it.',
  )
}

/** Names may hold anything, newlines and escapes included; in a message they are escaped. */
export function quote(name: string): string {
  return JSON.stringify(name.length > 200 ? `${name.slice(0, 200)}…` : name)
}
