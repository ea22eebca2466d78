// journal.ts: every edit as it was before and after, on disk, so that it can be undone, also after a crash. One file an edit, for
// the user alone. An edit is undone only while its files are as it left them.
import { createHash, randomUUID } from 'node:crypto'
import { mkdir, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import * as z from 'zod'
import { WorkspaceError } from './errors.ts'
import { WORKSPACE_LIMITS } from './limits.ts'
import type { EditPlan, FileChange, ProjectFiles } from './project-files.ts'

const ENTRY = z.object({
  session: z.string(),
  tool: z.string(),
  files: z.array(
    z.object({
      path: z.string(),
      before: z.nullable(z.string()),
      after: z.nullable(z.string()),
      mode: z.number(),
    }),
  ),
})
type Entry = z.infer<typeof ENTRY>

const NAME = /^\d{13}-\d{6}-[0-9a-f]{8}\.json$/

export class Journal {
  readonly #folder: string
  readonly #session = randomUUID()
  readonly #now: () => number
  #count = 0

  /** `stateDir`: where the journals of all projects are. */
  constructor(stateDir: string, root: string, now: () => number = Date.now) {
    this.#folder = join(stateDir, createHash('sha256').update(root).digest('hex').slice(0, 16))
    this.#now = now
  }

  async add(tool: string, changes: readonly FileChange[]): Promise<void> {
    const entry: Entry = {
      session: this.#session,
      tool,
      files: changes.map(({ file, after }) => ({
        path: file.path,
        before: file.text ?? null,
        after: after ?? null,
        mode: file.mode,
      })),
    }
    await mkdir(this.#folder, { recursive: true, mode: 0o700 })
    const count = String(this.#count++ % 1_000_000).padStart(6, '0')
    const name = `${String(this.#now()).padStart(13, '0')}-${count}-${this.#session.slice(0, 8)}.json`
    const temporary = join(this.#folder, `.${name}`)
    await writeFile(temporary, JSON.stringify(entry), { mode: 0o600 })
    await rename(temporary, join(this.#folder, name))
    await this.#prune()
  }

  /** What undoing the last edit would change: the last of this session, or with `earlier` of this project. */
  async plan(files: ProjectFiles, earlier: boolean): Promise<EditPlan> {
    const names = await this.#names()
    const own = names.filter((name) => name.includes(this.#session.slice(0, 8)))
    const name = own.at(-1) ?? (earlier ? names.at(-1) : undefined)
    const entry = name === undefined ? undefined : await this.#read(name)
    if (name === undefined || entry === undefined)
      throw new WorkspaceError(
        'NOTHING_TO_UNDO',
        'No edit of this session is left to undo.',
        names.length > 0 ? 'With earlier: true, an edit of an earlier session is undone.' : undefined,
      )
    const changes: FileChange[] = []
    for (const { path, before, after, mode } of entry.files) {
      const file = await files.find(path)
      if (file.text !== (after ?? undefined))
        throw new WorkspaceError(
          'CHANGED',
          `${path} was changed again since that edit, so the edit is not undone.`,
          'Change it with edit_file.',
        )
      changes.push({
        file: { ...file, mode: file.text === undefined ? mode : file.mode },
        after: before ?? undefined,
      })
    }
    // In the other order: what was moved goes back to where it was.
    return { changes: changes.reverse(), undoes: name }
  }

  async forget(name: string): Promise<void> {
    await rm(join(this.#folder, name), { force: true })
  }

  async #read(name: string): Promise<Entry | undefined> {
    try {
      return ENTRY.parse(JSON.parse(await readFile(join(this.#folder, name), 'utf8')))
    } catch {
      // A damaged entry cannot be undone, and must not stand before the others.
      await this.forget(name)
      return undefined
    }
  }

  /** The oldest first. */
  async #names(): Promise<string[]> {
    const names = await readdir(this.#folder).catch(() => [])
    return names.filter((name) => NAME.test(name)).sort()
  }

  async #prune(): Promise<void> {
    const names = await this.#names()
    let bytes = 0
    for (const [index, name] of names.reverse().entries()) {
      bytes += (await stat(join(this.#folder, name)).catch(() => undefined))?.size ?? 0
      if (index >= WORKSPACE_LIMITS.journalEntries || (index > 0 && bytes > WORKSPACE_LIMITS.journalBytes))
        await this.forget(name)
    }
  }
}
