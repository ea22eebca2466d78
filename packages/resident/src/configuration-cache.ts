// configuration-cache.ts: configurations that were read a moment ago, for the next command of the same terminal. One is used
// again only while every file that it came from is as it was; where that cannot be told, it is read anew.
import {
  type Configuration,
  type LoadOptions,
  loadConfiguration,
  lockFolder,
  placeOf,
} from '@plugboard/core/config/load'
import { lazyModule } from '@plugboard/core/lazy'
import { RESIDENT_LIMITS } from './limits.ts'

interface Kept {
  readonly configuration: Configuration
  readonly stamps: string
}

export class ConfigurationCache {
  /** By what it was loaded with; the one used last is the last. */
  readonly #kept = new Map<string, Kept>()

  async load(options: LoadOptions): Promise<Configuration> {
    const key = keyOf(options)
    if (key === undefined) return await loadConfiguration(options)
    const known = this.#kept.get(key)
    this.#kept.delete(key)
    if (known && stampsOf(known.configuration) === known.stamps) {
      this.#kept.set(key, known)
      return known.configuration
    }
    const configuration = await loadConfiguration(options)
    const stamps = isKeepable(configuration) ? stampsOf(configuration) : undefined
    if (stamps !== undefined) this.#keep(key, { configuration, stamps })
    return configuration
  }

  #keep(key: string, kept: Kept): void {
    this.#kept.set(key, kept)
    const [oldest] = this.#kept.keys()
    if (this.#kept.size > RESIDENT_LIMITS.configurations && oldest !== undefined) this.#kept.delete(oldest)
  }
}

/** Undefined for what is given by a program rather than by files. */
function keyOf({ host, servers, refuse, ...options }: LoadOptions): string | undefined {
  return servers || refuse ? undefined : JSON.stringify([options, host.env, host.home])
}

/** Plugins, fetched lists, pinned files, bound rules and running editors depend on more than the files that are listed. */
function isKeepable({ documents, records, loadedWith: { host } }: Configuration): boolean {
  const dependsOnMore = documents.some(
    ({ source, settings }) =>
      settings.plugins ??
      settings.enabledPlugins ??
      settings.managedServers ??
      settings.claudeaiServers ??
      (source.scope === 'local' && settings.permissions?.allow),
  )
  const isPinned = [...records.approvals.values()].some(({ files }) => files !== undefined)
  return !dependsOnMore && !isPinned && !hasEntries(lockFolder(host))
}

/** A folder that cannot be read counts as full. */
function hasEntries(folder: string): boolean {
  try {
    return lazyModule('node:fs').readdirSync(folder).length > 0
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== 'ENOENT'
  }
}

/** Undefined when a file changed so short before it was read that the next change may leave no trace. */
function stampsOf({ files, readAt, place, loadedWith }: Configuration): string | undefined {
  const { statSync } = lazyModule('node:fs')
  if (placeOf(loadedWith).root !== place.root) return undefined
  const stamps: string[] = []
  for (const path of [...files, lockFolder(loadedWith.host)]) {
    const info = fileInfo(statSync, path)
    if (info && Number(info.ctimeNs / 1_000_000n) > readAt - RESIDENT_LIMITS.settledMs) return undefined
    stamps.push(
      info ? `${info.dev}:${info.ino}:${info.size}:${info.mtimeNs}:${info.ctimeNs}:${info.mode}` : '',
    )
  }
  return stamps.join()
}

function fileInfo(statSync: typeof import('node:fs').statSync, path: string) {
  try {
    return statSync(path, { bigint: true, throwIfNoEntry: false })
  } catch {
    // Below something that is no folder, or not to be seen.
    return undefined
  }
}
