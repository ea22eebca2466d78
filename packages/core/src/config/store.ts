// store.ts: the writing edge of the configuration: one file, under a lock, replaced in one step.
import { mkdir, stat, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { InvalidInput, IoError } from '../errors.ts'
import { readTextFile, realTarget, withFileLock, writeFileAtomic } from '../files/index.ts'
import { CONFIG_LIMITS } from '../limits.ts'
import { type Change, editText } from './edit.ts'
import { member, parseDocument } from './parse.ts'
import { isUnpacked } from './project.ts'
import { SETTINGS_SCHEMA_URL, type Source } from './sources.ts'

/** What a new file of ours starts from; .mcp.json is everybody's and carries nothing of ours. */
const FRESH: Readonly<Record<string, string>> = {
  settings: `{\n  "$schema": ${JSON.stringify(SETTINGS_SCHEMA_URL)}\n}\n`,
  'mcp-json': '{\n  "mcpServers": {}\n}\n',
}

/**
 * Edits a file of ours. `plan` sees the current text and says what to change (nothing, to leave it); it runs under
 * the lock, so that two processes that edit at once both find their change in the end.
 */
export async function editSource(
  source: Source,
  plan: (text: string) => readonly Change[],
): Promise<boolean> {
  try {
    const target = await realTarget(source.file)
    const wait = { waitMs: CONFIG_LIMITS.lockWaitMs, staleMs: CONFIG_LIMITS.lockStaleMs }
    return await withFileLock(target, wait, async (lock) => {
      const before = await currentText(source)
      const start = before ?? FRESH[source.shape] ?? '{}\n'
      const after = plan(start).reduce((text, change) => editText(text, change, source.file), start)
      if (after === before || (before === undefined && after === start)) return false
      if (!(await lock.stillHeld()))
        throw new IoError(`Another process took over ${source.file}.`, {
          hint: 'Nothing was changed; try again.',
        })
      // One edit of ours does not make the rest of somebody else's file the person's own, not for a moment.
      const brought = before !== undefined && source.authorship === 'checkout' && isUnpacked(target)
      await writeFileAtomic(target, after, {
        mode: source.scope === 'project' ? 0o644 : 0o600,
        times: brought ? await stat(target) : undefined,
      })
      if (before === undefined && source.id === 'local') await keepOutOfVersionControl(source.file)
      return true
    })
  } catch (error) {
    throw explainWriteFailure(error, source.file)
  }
}

/** Where the servers of a file stand: under `mcpServers`, or at the top of a flat .mcp.json. */
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
  await mkdir(dirname(file), { recursive: true })
  if (await stat(ignore).catch(() => undefined)) return
  await writeFile(ignore, 'settings.local.json\n', { flag: 'wx' }).catch((error: NodeJS.ErrnoException) => {
    // Somebody else made it in between.
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
    ELOOP: 'it is a symbolic link that leads to itself',
  }
  const reason = code === undefined ? undefined : reasons[code]
  if (!reason) return error
  return new IoError(`${file} could not be written: ${reason}.`, {
    hint: 'Nothing was changed.',
    cause: error,
  })
}
