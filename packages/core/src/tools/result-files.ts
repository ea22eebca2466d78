// result-files.ts: saves the parts of a result that are too large or too binary for a model: files in one folder of
// ours, with names that we choose. No text of a server becomes part of a path.
import { mkdir, readdir, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { IoError } from '../errors.ts'
import type { Host } from '../host.ts'
import { RESULT_LIMITS } from '../limits.ts'

/** A file that a part of a result was saved to. */
export interface SavedFile {
  readonly path: string
  readonly mimeType: string
  readonly bytes: number
}

/** Saves parts of results to files. */
export interface ResultFiles {
  save(data: Buffer | string, mimeType: string, extension: string): Promise<SavedFile>
}

export interface ResultFilesOptions {
  readonly folder: string
  readonly host: Pick<Host, 'now' | 'random'>
  /** The server and tool, for a name that the user recognises. */
  readonly server: string
  readonly tool: string
}

/**
 * Where files of results are saved.
 *
 * @example
 * const files = resultFiles({ folder: '/tmp/plugboard-results', host: systemHost(), server: 'notes', tool: 'say' })
 * console.log((await files.save('hello', 'text/plain', 'txt')).bytes) // 5
 */
export function resultFiles({ folder, host, server, tool }: ResultFilesOptions): ResultFiles {
  return {
    async save(data, mimeType, extension) {
      const bytes = typeof data === 'string' ? Buffer.byteLength(data) : data.length
      if (bytes > RESULT_LIMITS.savedTextBytes)
        throw new IoError(`A result of ${bytes} bytes is too large to be saved.`, { server, stage: 'call' })
      const time = new Date(host.now()).toISOString().replace(/[:.]/g, '-')
      const chance = Math.floor(host.random() * 0xffffffff).toString(36)
      const path = join(folder, `${time}-${plain(server)}-${plain(tool)}-${chance}.${plain(extension)}`)
      try {
        await mkdir(folder, { recursive: true, mode: 0o700 })
        // `wx`: never writes through an existing file or link.
        await writeFile(path, data, { flag: 'wx', mode: 0o600 })
      } catch (error) {
        throw new IoError(
          `A result could not be saved (${(error as NodeJS.ErrnoException).code ?? 'unknown'}).`,
          {
            server,
            stage: 'call',
            hint: `Check that you may write to ${folder} and that the disk is not full.`,
            cause: error,
          },
        )
      }
      return { path, mimeType, bytes }
    },
  }
}

function plain(part: string): string {
  return part.replace(/[^A-Za-z0-9_-]+/g, '_').slice(0, 40) || '_'
}

/** Removes old saved results. */
export async function pruneResults(folder: string, host: Pick<Host, 'now'>, keepMs: number): Promise<number> {
  let removed = 0
  for (const name of await readdir(folder).catch(() => [])) {
    const path = join(folder, name)
    const info = await stat(path).catch(() => undefined)
    if (!info?.isFile() || host.now() - info.mtimeMs < keepMs) continue
    await rm(path, { force: true })
    removed++
  }
  return removed
}
