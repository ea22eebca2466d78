// unsuitable-root.ts: folders that a code search must not take as its root. The home folder holds more secrets than
// code (keys, logins, our own vault), and so does everything above it.
import { realpathSync } from 'node:fs'
import { sep } from 'node:path'

export interface PrivateFolders {
  /** The user's home. */
  readonly home: string
  /** Where Plugboard stores its own files. */
  readonly own: string
}

/** Why this folder must not be searched, as part of a sentence; undefined when it may be. Links are resolved first. */
export function unsuitableRoot(root: string, { home, own }: PrivateFolders): string | undefined {
  const at = real(root)
  const house = real(home)
  if (at === house) return `${root} is your home folder`
  if (isInside(at, house)) return `${root} contains your home folder`
  if (at.split(sep).every((name) => name === '' || /^[A-Za-z]:$/.test(name)))
    return `${root} is the whole disk`
  if (isInside(real(own), at)) return `${root} is where Plugboard keeps its own files`
  return undefined
}

function real(path: string): string {
  try {
    return realpathSync.native(path)
  } catch {
    // A path that does not exist contains nothing and is in nothing.
    return path
  }
}

function isInside(folder: string, path: string): boolean {
  return path === folder || path.startsWith(folder.endsWith(sep) ? folder : folder + sep)
}
