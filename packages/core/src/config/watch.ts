// watch.ts: follows the files of a configuration. Any change of any of them reads the whole configuration again, after
// a moment of quiet; what differs is for the board to find out.
import { dirname, join, sep } from 'node:path'
import { lazyModule } from '../lazy.ts'
import { CONFIG_LIMITS } from '../limits.ts'
import { approvalsFile } from './approvals.ts'
import { type Configuration, type LoadOptions, loadConfiguration } from './load.ts'

/** Calls back with every new configuration; the answer stops it. */
export function watchConfiguration(
  first: Configuration,
  options: LoadOptions,
  changed: (next: Configuration) => unknown,
): () => void {
  const { host } = options
  const files = new Set([
    ...first.sources.map(({ file }) => file),
    ...first.documents.map(({ source }) => source.file),
    approvalsFile(first.place),
  ])
  const watchers = new Map<string, { close(): void }>()
  let stopped = false
  let settle: (() => void) | undefined
  let running: Promise<void> = Promise.resolve()

  const soon = () => {
    settle?.()
    settle = host.backgroundTimer(CONFIG_LIMITS.watchSettleMs, () => {
      running = running.then(reload, reload)
    })
  }
  const reload = async () => {
    if (stopped) return
    watchFolders()
    const next = await loadConfiguration(options)
    if (!stopped) await changed(next)
  }
  /** A home folder is busy; only what leads to one of the files counts. */
  const concerns = (folder: string, name: string) => {
    const path = join(folder, name)
    return [...files].some((file) => file === path || file.startsWith(path + sep))
  }
  /** Folders are watched, not files: an atomic replacement is a new file. A folder that is not there yet is awaited above. */
  const watchFolders = () => {
    const { existsSync, watch } = lazyModule('node:fs')
    for (const file of files) {
      let folder = dirname(file)
      while (!existsSync(folder) && dirname(folder) !== folder) folder = dirname(folder)
      if (watchers.has(folder)) continue
      try {
        const watcher = watch(folder, { persistent: false }, (_, name) => {
          if (name === null || concerns(folder, name)) soon()
        })
        watcher.on('error', () => {
          // The folder went away; the next change above it finds it again.
          watcher.close()
          watchers.delete(folder)
          soon()
        })
        watchers.set(folder, watcher)
      } catch {
        // A folder that may not be watched is read at the next change of another one.
      }
    }
  }
  watchFolders()
  return () => {
    stopped = true
    settle?.()
    for (const watcher of watchers.values()) watcher.close()
  }
}
