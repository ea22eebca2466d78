// index/watch.ts: notices every change under a folder, through the kernel's own queue of events (inotify). Runs inside a
// worker thread that does little else, so that the queue never fills up; when it might have, it reports that it is not sure.
import { type FSWatcher, lstatSync, readdirSync, readFileSync, rmSync, watch, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { INDEX_LIMITS } from '../limits.ts'

export interface Changes {
  readonly paths: string[]
  /** Events may have been missed: compare everything again. */
  readonly unsure: boolean
}

interface Watched {
  readonly watcher: FSWatcher
  readonly ino: number
}

export class TreeWatcher {
  readonly #root: string
  readonly #sentinels: string
  /** Hidden folders are left out as ripgrep leaves them out, but for those that hold listed files. */
  readonly #hidden: ReadonlySet<string>
  readonly #folders = new Map<string, Watched>()
  readonly #queueLimit: number
  #sentinel: FSWatcher | undefined
  #changed = new Set<string>()
  #events = 0
  #unsure = false
  #barriers = 0
  readonly #waiting = new Map<string, () => void>()

  constructor(root: string, sentinels: string, hidden: Iterable<string>) {
    this.#root = root
    this.#sentinels = sentinels
    this.#hidden = new Set(hidden)
    this.#queueLimit = queueLimit() / 2
  }

  get folders(): number {
    return this.#folders.size
  }

  /** Throws when the system refuses to watch that many folders. */
  start(): void {
    this.#sentinel = watch(this.#sentinels, (_, name) => {
      if (name === null) return
      this.#waiting.get(name)?.()
      this.#waiting.delete(name)
    })
    this.#addTree('', false)
    if (this.#unsure) throw new Error('some folders could not be watched')
  }

  /** Everything that changed before this call, as far as the kernel knows. */
  async barrier(): Promise<Changes> {
    const name = `b${++this.#barriers}`
    const path = join(this.#sentinels, name)
    await new Promise<void>((done, fail) => {
      const timer = setTimeout(() => {
        this.#waiting.delete(name)
        fail(new Error('the watcher did not answer'))
      }, INDEX_LIMITS.barrierMs)
      this.#waiting.set(name, () => {
        clearTimeout(timer)
        done()
      })
      // The kernel queues events in order: when this one arrives, all earlier ones have.
      writeFileSync(path, '')
    }).finally(() => rmSync(path, { force: true }))
    const changes = { paths: [...this.#changed], unsure: this.#unsure || this.#events > this.#queueLimit }
    this.#changed = new Set()
    this.#events = 0
    this.#unsure = false
    return changes
  }

  close(): void {
    this.#sentinel?.close()
    for (const { watcher } of this.#folders.values()) watcher.close()
    this.#folders.clear()
  }

  #addTree(start: string, announce: boolean): void {
    const queue = [start]
    for (let folder = queue.pop(); folder !== undefined; folder = queue.pop()) {
      if (!this.#addFolder(folder)) continue
      // Listing comes after watching: what is made in between is seen twice rather than never.
      for (const item of list(join(this.#root, folder))) {
        const path = folder === '' ? item.name : `${folder}/${item.name}`
        if (item.isDirectory()) {
          if (this.#wanted(path, item.name)) queue.push(path)
        } else if (announce) this.#changed.add(path)
      }
    }
  }

  #addFolder(folder: string): boolean {
    if (this.#folders.size >= INDEX_LIMITS.watchedFolders) {
      this.#unsure = true
      return false
    }
    const absolute = join(this.#root, folder)
    try {
      const { ino } = lstatSync(absolute)
      const known = this.#folders.get(folder)
      if (known?.ino === ino) return true
      known?.watcher.close()
      const watcher = watch(absolute, (kind, name) => this.#onEvent(folder, kind, name))
      watcher.on('error', () => this.#forget(folder))
      this.#folders.set(folder, { watcher, ino })
      return true
    } catch (error) {
      // A folder that is gone again needs no watching; any other error means changes would be missed.
      if (!['ENOENT', 'ENOTDIR', 'EACCES'].includes((error as NodeJS.ErrnoException).code ?? ''))
        this.#unsure = true
      return false
    }
  }

  #onEvent(folder: string, kind: string, name: string | null): void {
    this.#events++
    if (name === null) {
      this.#unsure = true
      return
    }
    const path = folder === '' ? name : `${folder}/${name}`
    this.#changed.add(path)
    if (kind !== 'rename' || !this.#wanted(path, name)) return
    const found = lstatSync(join(this.#root, path), { throwIfNoEntry: false })
    if (found?.isDirectory()) this.#addTree(path, true)
    else if (this.#folders.has(path)) this.#forget(path)
  }

  #forget(folder: string): void {
    for (const [path, { watcher }] of this.#folders) {
      if (path !== folder && !path.startsWith(`${folder}/`)) continue
      watcher.close()
      this.#folders.delete(path)
    }
  }

  #wanted(path: string, name: string): boolean {
    return !name.startsWith('.') || this.#hidden.has(path)
  }
}

function list(folder: string) {
  try {
    return readdirSync(folder, { withFileTypes: true })
  } catch {
    // Gone or not readable; ripgrep skips it too.
    return []
  }
}

function queueLimit(): number {
  try {
    return Number(readFileSync('/proc/sys/fs/inotify/max_queued_events', 'utf8')) || 8192
  } catch {
    // Hidden by a sandbox: assume the least any kernel ships with.
    return 8192
  }
}
