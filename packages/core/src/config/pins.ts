// pins.ts: the files of a project that an entry names, with a hash of each, for `approve --pin`. It follows no imports:
// a pin covers the named files themselves and nothing that they load.
import { createReadStream } from 'node:fs'
import { lstat } from 'node:fs/promises'
import { relative, resolve, sep } from 'node:path'
import { lazyModule } from '../lazy.ts'
import { CONFIG_LIMITS } from '../limits.ts'
import type { ServerEntry } from './entry.ts'
import { isInside, realPath } from './project.ts'
import { headersHelperOf, startsCommand } from './transport-traits.ts'
import type { Approvals } from './trust.ts'

/** Also the words of a shell line and of an option such as `--require=./x.js`. */
const wordsOf = (text: string) => [text, ...text.split(/[\s"'`;|&<>()$={},:]+/)]

/** The command, each argument and variable, and each word in them, where it is a file inside the project. */
export async function filesOf(entry: ServerEntry, root: string): Promise<Readonly<Record<string, string>>> {
  const words = startsCommand(entry)
    ? [entry.command, ...entry.args, ...Object.values(entry.env)].flatMap((text) => [
        ...wordsOf(text),
        text.slice(text.indexOf('=') + 1),
      ])
    : wordsOf(headersHelperOf(entry) ?? '')
  const base = startsCommand(entry) && entry.cwd !== undefined ? resolve(root, entry.cwd) : root
  const files = new Map<string, string>()
  for (const word of new Set(words)) {
    const path = resolve(base, word)
    if (word === '' || !isInside(realPath(path), root)) continue
    const hash = await hashOfFile(path)
    if (hash !== undefined) files.set(relative(root, path).split(sep).join('/'), hash)
  }
  return Object.fromEntries(files)
}

/** By server: the pinned files that are missing or have another hash. */
export async function changedPins(
  approvals: Approvals,
  root: string,
): Promise<ReadonlyMap<string, readonly string[]>> {
  const changed = new Map<string, readonly string[]>()
  for (const [name, { files }] of approvals) {
    if (!files) continue
    const differing: string[] = []
    for (const [file, hash] of Object.entries(files))
      if ((await hashOfFile(resolve(root, file))) !== hash) differing.push(file)
    if (differing.length > 0) changed.set(name, differing)
  }
  return changed
}

/** Undefined for what is not a regular file, cannot be read, or is too large to hash each time. */
async function hashOfFile(path: string): Promise<string | undefined> {
  const real = realPath(path)
  const info = await lstat(real).catch(() => undefined)
  if (!info?.isFile() || info.size > CONFIG_LIMITS.pinnedFileBytes) return undefined
  const hash = lazyModule('node:crypto').createHash('sha256')
  try {
    for await (const chunk of createReadStream(real)) hash.update(chunk)
    return hash.digest('hex')
  } catch {
    // Unreadable counts as changed: the entry needs approval again.
    return undefined
  }
}
