// project-files.ts: reads and writes text files below the root. Every path goes through root.ts of the codebase package. Git's
// own folder and Plugboard's are refused: what is written there runs or decides outside of any question.
import { randomBytes } from 'node:crypto'
import { constants } from 'node:fs'
import { chmod, lstat, mkdir, open, realpath, rename, rm, unlink } from 'node:fs/promises'
import { basename, dirname, join, relative, sep } from 'node:path'
import { CodebaseError, isInside, quote, Root } from '@plugboard/codebase/root'
import { WorkspaceError } from './errors.ts'
import { WORKSPACE_LIMITS } from './limits.ts'

export interface ProjectFile {
  /** Relative to the root, with `/`. */
  readonly path: string
  readonly absolute: string
  /** Undefined when there is no such file. */
  readonly text: string | undefined
  readonly mode: number
}

/** A file and what it shall contain; undefined removes it. */
export interface FileChange {
  readonly file: ProjectFile
  readonly after: string | undefined
}

export interface EditPlan {
  readonly changes: readonly FileChange[]
  /** The entry of the journal that is undone. */
  readonly undoes?: string
}

const NEW_FILE_MODE = 0o666

export class ProjectFiles {
  readonly root: Root
  readonly #protectedFolders: readonly string[]

  constructor(root: string, protectedFolders: readonly string[]) {
    this.root = new Root(root)
    this.#protectedFolders = protectedFolders
  }

  /** A text file that may be written, or the place of one that does not exist. */
  async find(given: string): Promise<ProjectFile> {
    const place = await this.root.findForWriting(given)
    await this.#refuseProtected(given, place)
    const path = place.relative
    if (!place.exists) return { path, absolute: place.absolute, text: undefined, mode: NEW_FILE_MODE }
    const { handle, stats, absolute } = await this.root.open(given)
    try {
      if (stats.size > WORKSPACE_LIMITS.textChars) throw tooLarge(quote(given))
      return { path, absolute, text: textOf(await handle.readFile(), given), mode: stats.mode & 0o7777 }
    } finally {
      await handle.close()
    }
  }

  async existing(given: string): Promise<ProjectFile & { readonly text: string }> {
    const file = await this.find(given)
    if (file.text === undefined)
      throw new CodebaseError(
        'NOT_FOUND',
        `There is no ${quote(given)} here.`,
        'write_file makes a new file.',
      )
    return { ...file, text: file.text }
  }

  /** All or none: when one cannot be written, those before it are put back. */
  async apply(changes: readonly FileChange[]): Promise<void> {
    const done: FileChange[] = []
    try {
      for (const change of changes) {
        await this.#write(change)
        done.push(change)
      }
    } catch (error) {
      for (const { file, after } of done.reverse())
        await this.#write({ file: { ...file, text: after }, after: file.text }).catch(() => undefined)
      throw error
    }
  }

  async #write({ file, after }: FileChange): Promise<void> {
    if (after !== undefined && after.length > WORKSPACE_LIMITS.textChars) throw tooLarge(file.path)
    const now = await this.find(file.path)
    if (now.text !== file.text || now.absolute !== file.absolute)
      throw new WorkspaceError('CHANGED', `${file.path} changed meanwhile.`, 'Read it again.')
    if (after === undefined) return file.text === undefined ? undefined : await unlink(file.absolute)
    const folder = dirname(file.absolute)
    await mkdir(folder, { recursive: true })
    await sameFolder(folder, file.path)
    const temporary = join(
      folder,
      `.${basename(file.absolute).slice(0, 100)}.${randomBytes(6).toString('hex')}`,
    )
    try {
      const flags = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | (constants.O_NOFOLLOW ?? 0)
      const handle = await open(temporary, flags, file.mode)
      try {
        await handle.writeFile(after)
      } finally {
        await handle.close()
      }
      if (file.text !== undefined) await chmod(temporary, file.mode)
      // A folder on the way may have become a link meanwhile.
      await sameFolder(folder, file.path)
      await rename(temporary, file.absolute)
    } catch (error) {
      await rm(temporary, { force: true })
      throw error
    }
  }

  async #refuseProtected(given: string, place: { relative: string; absolute: string }): Promise<void> {
    const real = relative(await this.root.real(), place.absolute)
      .split(sep)
      .join('/')
    for (const path of [place.relative, real])
      if (path.split('/').some(isGitFolder))
        throw new WorkspaceError(
          'PROTECTED',
          `${quote(given)} is a file of git itself, and those are not written here.`,
          'Use run_command with git.',
        )
    for (const folder of this.#protectedFolders) {
      const own = await realpath(folder).catch(() => folder)
      if (isInside(own, place.absolute))
        throw new WorkspaceError('PROTECTED', `${quote(given)} is in ${own}, which is not written here.`)
    }
  }
}

/** Also as systems without case, and Windows with its short names and streams, read it. */
const isGitFolder = (name: string) => /^(?:\.git|git~\d+)[. ]*(?::.*)?$/i.test(name)

async function sameFolder(folder: string, path: string): Promise<void> {
  const isSame = (await realpath(folder)) === folder && (await lstat(folder)).isDirectory()
  if (!isSame)
    throw new WorkspaceError('CHANGED', `The folder of ${path} changed while it was written.`, 'Try again.')
}

function textOf(bytes: Buffer, given: string): string {
  const notText = () =>
    new WorkspaceError('NOT_TEXT', `${quote(given)} is not UTF-8 text.`, 'Such files are not changed here.')
  if (bytes.includes(0)) throw notText()
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch {
    throw notText()
  }
}

function tooLarge(path: string): WorkspaceError {
  return new WorkspaceError(
    'TOO_LARGE',
    `${path} is larger than ${WORKSPACE_LIMITS.textChars / 1024 / 1024} MiB.`,
    'Such files are not changed here.',
  )
}
