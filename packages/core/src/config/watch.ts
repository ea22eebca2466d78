// watch.ts: follows the files of a configuration. Any change of any of them reloads the whole configuration after a
// quiet moment; the board computes the difference. System events make it fast; polling every file once a second makes
// it reliable where events are missing: swapped links and folders, network disks, exhausted watches.
import { dirname, join, sep } from 'node:path'
import { lazyModule } from '../lazy.ts'
import { CONFIG_LIMITS } from '../limits.ts'
import { type Configuration, reloadConfiguration } from './load.ts'

export interface ConfigurationListener {
  /** A new configuration, loaded like the first. The next one waits until this call ends. */
  changed(next: Configuration, before: Configuration): unknown
  /** Loading or applying failed for a reason that no file explains; the last configuration stays. */
  failed(error: unknown): void
}

export interface WatchedConfiguration {
  /** Reloads every file now. The listener receives a failure. */
  reload(): Promise<void>
  stop(): void
}

/** Reports every new configuration until it is stopped. It neither throws nor rejects. */
export function watchConfiguration(
  first: Configuration,
  listener: ConfigurationListener,
): WatchedConfiguration {
  return new ConfigurationWatch(first, listener)
}

class ConfigurationWatch implements WatchedConfiguration {
  readonly #listener: ConfigurationListener
  readonly #watchers = new Map<string, { close(): void }>()
  #current: Configuration
  #looks: ReadonlyMap<string, string>
  #stopped = false
  #reading = false
  /** Something changed while the files were being read. */
  #again = false
  #firstChange: number | undefined
  #cancelSettling: (() => void) | undefined
  #cancelPoll: (() => void) | undefined
  #reportedFailure: string | undefined

  constructor(first: Configuration, listener: ConfigurationListener) {
    this.#current = first
    this.#listener = listener
    this.#looks = looksOf(first.files)
    this.#followFolders()
    this.#poll()
    if (changedSince(first)) this.#scheduleReload()
  }

  stop(): void {
    this.#stopped = true
    this.#cancelSettling?.()
    this.#cancelPoll?.()
    for (const watcher of this.#watchers.values()) watcher.close()
    this.#watchers.clear()
  }

  reload(): Promise<void> {
    return this.#reload()
  }

  get #host() {
    return this.#current.loadedWith.host
  }

  #poll(): void {
    this.#cancelPoll = this.#host.backgroundTimer(CONFIG_LIMITS.watchPollMs, () => {
      const looks = looksOf(this.#current.files)
      const changed = [...looks].some(([file, look]) => this.#looks.get(file) !== look)
      if (changed || this.#reportedFailure !== undefined) this.#scheduleReload()
      this.#poll()
    })
  }

  /** A file that is written without a pause is read all the same. */
  #scheduleReload(): void {
    if (this.#stopped) return
    this.#cancelSettling?.()
    const now = this.#host.now()
    this.#firstChange ??= now
    const left = this.#firstChange + CONFIG_LIMITS.watchSettleAtMostMs - now
    const wait = Math.max(0, Math.min(CONFIG_LIMITS.watchSettleMs, left))
    this.#cancelSettling = this.#host.backgroundTimer(wait, () => {
      this.#firstChange = undefined
      void this.#reload()
    })
  }

  async #reload(): Promise<void> {
    if (this.#reading) {
      this.#again = true
      return
    }
    this.#reading = true
    try {
      // Before the files are read: the next poll finds what changes meanwhile.
      this.#looks = looksOf(this.#current.files)
      const before = this.#current
      const next = await reloadConfiguration(before)
      if (this.#stopped) return
      this.#current = next
      for (const [file, look] of looksOf(next.files.filter((file) => !this.#looks.has(file))))
        this.#looks = new Map([...this.#looks, [file, look]])
      this.#followFolders()
      await this.#listener.changed(next, before)
      this.#reportedFailure = undefined
    } catch (error) {
      this.#fail(error)
    } finally {
      this.#reading = false
      if (this.#again) {
        this.#again = false
        this.#scheduleReload()
      }
    }
  }

  /** Retried at every poll, reported once. */
  #fail(error: unknown): void {
    const text = String(error)
    if (this.#stopped || this.#reportedFailure === text) return
    this.#reportedFailure = text
    this.#listener.failed(error)
  }

  /** Watches folders, not files: an atomic replacement is a new file. For a missing folder its parent is watched. */
  #followFolders(): void {
    const { existsSync } = lazyModule('node:fs')
    const wanted = new Set<string>()
    for (const file of this.#current.files) {
      let folder = dirname(file)
      while (!existsSync(folder) && dirname(folder) !== folder) folder = dirname(folder)
      wanted.add(folder)
    }
    for (const [folder, watcher] of this.#watchers) {
      if (wanted.has(folder)) continue
      watcher.close()
      this.#watchers.delete(folder)
    }
    for (const folder of wanted) if (!this.#watchers.has(folder)) this.#followFolder(folder)
  }

  #followFolder(folder: string): void {
    try {
      const watcher = lazyModule('node:fs').watch(folder, { persistent: false }, (_, name) => {
        if (name === null || this.#concerns(folder, name)) this.#scheduleReload()
      })
      watcher.on('error', () => {
        // The folder went away; the next poll finds out whether it is back.
        watcher.close()
        this.#watchers.delete(folder)
        this.#scheduleReload()
      })
      this.#watchers.set(folder, watcher)
    } catch {
      // The folder may not be watched, or the system has no more watches: polling covers it.
    }
  }

  /**
   * A home folder is busy; only paths that lead to one of the files count, and the links a mounted volume is swapped
   * by.
   */
  #concerns(folder: string, name: string): boolean {
    const path = join(folder, name)
    return (
      name === '..data' || this.#current.files.some((file) => file === path || file.startsWith(path + sep))
    )
  }
}

/** The resolution of file times on a disk. */
const DISK_TIME_MS = 20

/** Did a file change between the reading and now? */
function changedSince({ files, readAt }: Configuration): boolean {
  const { statSync } = lazyModule('node:fs')
  return files.some((file) => {
    try {
      const found = statSync(file, { throwIfNoEntry: false })
      return found?.isFile() === true && found.ctimeMs > readAt - DISK_TIME_MS
    } catch {
      // An unreadable file has not become readable since.
      return false
    }
  })
}

/** A file's state from outside, links followed: another file, another time or other rights differ. */
function looksOf(files: readonly string[]): ReadonlyMap<string, string> {
  const { statSync } = lazyModule('node:fs')
  return new Map(
    files.map((file) => {
      try {
        const found = statSync(file, { throwIfNoEntry: false })
        if (!found) return [file, 'missing']
        const { dev, ino, size, mode, mtimeMs, ctimeMs } = found
        // The plugin's files report what happens inside its folder.
        if (found.isDirectory()) return [file, ['folder', dev, ino].join(' ')]
        return [file, [dev, ino, size, mode, mtimeMs, ctimeMs].join(' ')]
      } catch (error) {
        return [file, (error as NodeJS.ErrnoException).code ?? 'unreadable']
      }
    }),
  )
}
