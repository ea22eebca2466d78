// roots.ts: the folders that servers are told the work is in. Telling is all it does: it confines nobody.
import { basename, isAbsolute, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'

export interface Root {
  readonly uri: string
  readonly name: string
}

/** Each folder once, as a file URI; relative ones are taken from `cwd`. */
export function rootsOf(folders: readonly string[], cwd: string): readonly Root[] {
  const roots = new Map<string, Root>()
  for (const folder of folders) {
    const path = isAbsolute(folder) ? resolve(folder) : resolve(cwd, folder)
    const uri = pathToFileURL(path).href
    roots.set(uri, { uri, name: basename(path) || path })
  }
  return [...roots.values()]
}
