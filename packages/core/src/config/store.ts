// store.ts: writes the configuration: one file, under a lock, replaced in one step.
import { lstat, writeFile } from 'node:fs/promises'
import { dirname, join, relative, sep } from 'node:path'
import { InvalidInput, IoError } from '../errors.ts'
import { readTextFile, realTarget, withFileLock, writeFileAtomic } from '../files/index.ts'
import { CONFIG_LIMITS } from '../limits.ts'
import { type Change, editText } from './edit.ts'
import { member, parseDocument } from './parse.ts'
import { type Place, SETTINGS_SCHEMA_URL, type Source } from './sources.ts'

/** What a new file of ours starts from; the shared .mcp.json carries nothing of ours. */
const FRESH: Readonly<Record<string, string>> = {
  settings: `{\n  "$schema": ${JSON.stringify(SETTINGS_SCHEMA_URL)}\n}\n`,
  'mcp-json': '{\n  "mcpServers": {}\n}\n',
}

/**
 * Edits a file of ours. `plan` gets the current text and returns what to change (nothing, to leave it); it runs under
 * the lock, so that of two processes that edit at once both changes are kept. A user's file may be a link; inside a
 * project a link would let the repository choose what is overwritten, so it is refused.
 */
export async function editSource(
  place: Pick<Place, 'root'>,
  source: Source,
  plan: (text: string) => readonly Change[],
): Promise<boolean> {
  const ofProject = source.authorship === 'repository'
  try {
    if (ofProject) await refuseLinks(source.file, place.root)
    const target = ofProject ? source.file : await realTarget(source.file)
    const wait = { waitMs: CONFIG_LIMITS.lockWaitMs, staleMs: CONFIG_LIMITS.lockStaleMs }
    return await withFileLock(target, wait, async (lock) => {
      const { before, start, after } = await plannedEdit(source, plan)
      if (after === before || (before === undefined && after === start)) return false
      if (!(await lock.stillHeld()))
        throw new IoError(`Another process took over ${source.file}.`, {
          hint: 'Nothing was changed; try again.',
        })
      await writeFileAtomic(target, after, {
        mode: source.scope === 'project' ? 0o644 : 0o600,
        // A private file may hold a token; one that came with the repository was readable for all users.
        forceMode: ofProject && source.scope === 'local',
        noFollow: ofProject,
      })
      if (before === undefined && source.id === 'local') await keepOutOfVersionControl(source.file)
      return true
    })
  } catch (error) {
    throw explainWriteFailure(error, source.file)
  }
}

/** The text of a file before and after a change, without writing it. `start` is what a new file begins with. */
export async function plannedEdit(
  source: Source,
  plan: (text: string) => readonly Change[],
): Promise<{ readonly before: string | undefined; readonly start: string; readonly after: string }> {
  const before = await currentText(source)
  const start = before ?? FRESH[source.shape] ?? '{}\n'
  const after = plan(start).reduce((text, change) => editText(text, change, source.file), start)
  return { before, start, after }
}

/** The project folder itself is a real path; the repository controls everything below it. */
async function refuseLinks(file: string, root: string): Promise<void> {
  let path = root
  for (const step of relative(root, file).split(sep)) {
    path = join(path, step)
    if (!(await lstat(path).catch(() => undefined))?.isSymbolicLink()) continue
    throw new InvalidInput(
      `${path} is a symbolic link, and plugboard does not write through links inside a project.`,
      {
        hint: 'Nothing was changed. Look where it leads, and replace it by a real file or folder.',
      },
    )
  }
}

/** Where the servers of a file are: under `mcpServers`, or at the top of a flat .mcp.json. */
export function serverPath(text: string, source: Source, name: string): readonly string[] {
  if (source.shape !== 'mcp-json') return ['mcpServers', name]
  const { root } = parseDocument(text, source.file)
  const flat =
    root?.kind === 'object' &&
    root.members.some(({ key }) => key !== '$schema') &&
    !member(root, 'mcpServers')
  return flat ? [name] : ['mcpServers', name]
}

async function currentText(source: Source): Promise<string | undefined> {
  const outcome = await readTextFile(source.file, CONFIG_LIMITS.fileBytes)
  if (outcome.kind === 'text' && !outcome.exact)
    throw new InvalidInput(
      `${source.file} is not UTF-8, so it cannot be edited without changing other bytes.`,
      {
        hint: 'Save it as UTF-8 first; nothing was changed.',
      },
    )
  if (outcome.kind === 'text') return outcome.text
  if (outcome.kind === 'missing') return undefined
  throw new InvalidInput(`${source.file} ${outcome.message}.`, { hint: outcome.hint })
}

/** A private file inside a repository should not be committed by accident. */
async function keepOutOfVersionControl(file: string): Promise<void> {
  const ignore = join(dirname(file), '.gitignore')
  await writeFile(ignore, 'settings.local.json\n', { flag: 'wx' }).catch((error: NodeJS.ErrnoException) => {
    // The user's own list, or another process was faster.
    if (error.code !== 'EEXIST') throw error
  })
}

function explainWriteFailure(error: unknown, file: string): unknown {
  const code = (error as NodeJS.ErrnoException).code
  const reasons: Readonly<Record<string, string>> = {
    EACCES: 'permission denied',
    EPERM: 'not permitted',
    EROFS: 'the file system is read-only',
    ENOSPC: 'the disk is full',
    EISDIR: 'a folder is in its place',
    ENOTDIR: 'a file is where its folder should be',
    EEXIST: 'a file is where its folder should be',
    ELOOP: 'a symbolic link is in its place',
  }
  const reason = code === undefined ? undefined : reasons[code]
  if (!reason) return error
  return new IoError(`${file} could not be written: ${reason}.`, {
    hint: 'Nothing was changed.',
    cause: error,
  })
}
