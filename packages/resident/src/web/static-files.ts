// static-files.ts: the built files of the page, read once. A request names one of these or gets nothing, so no path of a
// request ever reaches the file system.
import { readdirSync, readFileSync } from 'node:fs'
import { extname, join } from 'node:path'
import { IoError } from '@plugboard/core/errors'

export interface StaticFile {
  readonly body: Buffer
  readonly type: string
  /** Its name holds a hash of its content. */
  readonly immutable: boolean
}

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.txt': 'text/plain; charset=utf-8',
}

export function readStaticFiles(folder: string): ReadonlyMap<string, StaticFile> {
  const files = new Map<string, StaticFile>()
  const add = (below: string) => {
    for (const item of readdirSync(join(folder, below), { withFileTypes: true })) {
      const path = `${below}/${item.name}`
      const type = TYPES[extname(item.name)]
      if (item.isDirectory()) add(path)
      else if (type !== undefined)
        files.set(path, {
          body: readFileSync(join(folder, path)),
          type,
          immutable: path.startsWith('/assets/'),
        })
    }
  }
  try {
    add('')
  } catch (error) {
    throw new IoError(`The files of the page are missing: ${folder} could not be read.`, {
      hint: 'Run `npm run build`, or install the command again.',
      cause: error,
    })
  }
  return files
}
