// index/dirty-files.ts: how the tree differs from what the text index says of it, and which folders and globs of it are known.
// It is given changed paths and asks ripgrep which of them count; it neither watches nor indexes.
import { lstatSync } from 'node:fs'
import { join } from 'node:path'
import { FILE_LIMITS } from '../limits.ts'
import { listFiles } from '../ripgrep.ts'
import { type Seen, survey } from './jobs.ts'
import type { PlacedState, TextSnapshot } from './storage.ts'

const GLOBS_KEPT = 20
const IGNORED_KEPT = 10_000

export interface Tree {
  readonly root: string
  readonly ripgrep: string
  readonly signal: AbortSignal
}

export class DirtyFiles {
  readonly #tree: Tree
  readonly #dirty = new Set<string>()
  readonly #absent = new Set<string>()
  /** Existing files that the rules ignore: kept so that a change of one costs no listing. */
  readonly #ignored = new Set<string>()
  readonly #folders = new Set([''])
  readonly #globs = new Map<string, ReadonlySet<string>>()
  /** Counts the times that new files appeared, which no earlier list of a glob knows. */
  #generation = 0
  #touched: Set<string> | undefined
  #largeFiles = 0

  constructor(tree: Tree) {
    this.#tree = tree
  }

  /** Files that differ from the index, new ones included. */
  get dirty(): ReadonlySet<string> {
    return this.#dirty
  }

  /** Indexed files that the rules now ignore. */
  get absent(): ReadonlySet<string> {
    return this.#absent
  }

  get folders(): ReadonlySet<string> {
    return this.#folders
  }

  /** Files that count but are too large to search. */
  get largeFiles(): number {
    return this.#largeFiles
  }

  async findFolders(): Promise<void> {
    const { root: cwd, ripgrep, signal } = this.#tree
    await listFiles(ripgrep, { cwd, signal }, (path) => this.#addFolders(path))
  }

  /** Compares every file once: after that, every difference to this snapshot is known. */
  async findAll(text: TextSnapshot): Promise<void> {
    const seen = new Uint8Array(text.places)
    await survey(this.#tree.root, this.#tree.ripgrep, (file) => {
      this.#addFolders(file.path)
      const state = text.state(file.path)
      if (state) seen[state.place] = 1
      if (file.size > FILE_LIMITS.searchBytes) this.#largeFiles++
      if (!state || !isSame(state, file)) this.#dirty.add(file.path)
    })
    for (const path of text.paths()) {
      const state = text.state(path)
      if (state && seen[state.place] === 0) this.#absent.add(path)
    }
  }

  /** Takes in the changes since. */
  async note(paths: readonly string[], text: TextSnapshot | undefined): Promise<void> {
    const unknown: string[] = []
    for (const path of paths) {
      this.#touched?.add(path)
      if (this.#dirty.has(path) || this.#ignored.has(path) || this.#folders.has(path)) continue
      if (text?.has(path) && !this.#absent.has(path)) this.#dirty.add(path)
      else unknown.push(path)
    }
    if (unknown.length > 0) await this.#sortOut(unknown)
  }

  /** Starts to record which files change; the returned function ends that and returns them. */
  remember(): () => ReadonlySet<string> {
    const touched = new Set<string>()
    this.#touched = touched
    return () => {
      this.#touched = undefined
      return touched
    }
  }

  /** The index now has this file as it is. */
  settle(path: string): void {
    this.#dirty.delete(path)
  }

  /** Another process keeps the index: files it has taken in are no longer different. A later change is an event again. */
  followWriter(text: TextSnapshot): void {
    for (const path of this.#dirty) {
      const state = text.state(path)
      const found = lstatSync(join(this.#tree.root, path), { throwIfNoEntry: false })
      if (found && state ? isSame(state, found) : !found && !state) this.#dirty.delete(path)
    }
  }

  /** A link in place of a folder leads the names of its files elsewhere, perhaps out of the root. */
  isReplaced(path: string): boolean {
    if (!this.#folders.has(path)) return false
    const found = lstatSync(join(this.#tree.root, path), { throwIfNoEntry: false })
    return found !== undefined && !found.isDirectory()
  }

  /** The files a glob matches; the same set until a new file appears. */
  async globbed(glob: readonly string[]): Promise<ReadonlySet<string>> {
    const key = JSON.stringify(glob)
    const known = this.#globs.get(key)
    if (known) return known
    const flags = glob.map((one) => `--glob=${one}`)
    const generation = this.#generation
    const found = new Set(await this.#list([''], flags))
    if (generation !== this.#generation) return found
    if (this.#globs.size > GLOBS_KEPT) this.#globs.clear()
    this.#globs.set(key, found)
    return found
  }

  /** False when a new file appeared since: the glob may match that as well. */
  isGlobbed(glob: readonly string[], found: ReadonlySet<string>): boolean {
    return this.#globs.get(JSON.stringify(glob)) === found
  }

  /** Asks ripgrep which of the new paths count, by listing the folders they are in. */
  async #sortOut(paths: readonly string[]): Promise<void> {
    const shallow = new Set<string>()
    const deep = new Set<string>()
    for (const path of paths) {
      const parent = parentOf(path)
      if (this.#folders.has(parent)) shallow.add(parent)
      else deep.add(this.#nearest(parent))
    }
    const before = new Map(paths.map((path) => [path, this.#fileAt(path)]))
    const listed = new Set([
      ...(await this.#list([...shallow], ['--max-depth=1'])),
      ...(await this.#list([...deep], [])),
    ])
    for (const path of paths) {
      if (listed.has(path)) {
        this.#dirty.add(path)
        this.#addFolders(path)
        this.#globs.clear()
        this.#generation++
      } else this.#ignore(path, before.get(path))
    }
  }

  /** Only a file that existed during the whole listing was ignored by the rules; any other may still appear. */
  #ignore(path: string, before: string | undefined): void {
    if (before === undefined || this.#fileAt(path) !== before) return
    if (this.#ignored.size >= IGNORED_KEPT) this.#ignored.clear()
    this.#ignored.add(path)
  }

  /** Which file has this name now. */
  #fileAt(path: string): string | undefined {
    try {
      const found = lstatSync(join(this.#tree.root, path), { throwIfNoEntry: false })
      return found?.isFile() ? `${found.ino} ${found.birthtimeMs}` : undefined
    } catch {
      // A folder on the way may not be entered: whether the file exists is not known.
      return undefined
    }
  }

  #nearest(folder: string): string {
    let at = folder
    while (at !== '' && !this.#folders.has(at)) at = parentOf(at)
    return at
  }

  async #list(folders: readonly string[], flags: readonly string[]): Promise<string[]> {
    const names: string[] = []
    const { root: cwd, ripgrep, signal } = this.#tree
    if (folders.length > 0)
      await listFiles(ripgrep, { cwd, signal, folders, flags }, (name) => names.push(name))
    return names
  }

  #addFolders(path: string): void {
    for (let folder = parentOf(path); !this.#folders.has(folder); folder = parentOf(folder))
      this.#folders.add(folder)
  }
}

function isSame(state: PlacedState, now: Omit<Seen, 'path'>): boolean {
  return state.size === now.size && state.mtimeMs === now.mtimeMs && state.ctimeMs === now.ctimeMs
}

function parentOf(path: string): string {
  const at = path.lastIndexOf('/')
  return at < 0 ? '' : path.slice(0, at)
}
