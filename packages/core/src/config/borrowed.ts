// borrowed.ts: servers that nobody here wrote: those of plugins and bundles, and of lists kept at a URL. It asks the
// settings which there are, brings them in, and says whose word they are.
import { homedir } from 'node:os'
import { isAbsolute, join, resolve } from 'node:path'
import type { Host } from '../host.ts'
import { BUNDLE_CACHE_LIMITS } from '../limits.ts'
import { type ConfigDocument, defineServer } from './document.ts'
import { type RawDocument, readPlugins } from './plugins/index.ts'
import { fetchServerList } from './remote-list.ts'
import type { PluginSettings, ServerListSettings } from './settings.ts'
import { type Place, plugboardHome, type Source } from './sources.ts'

export async function borrowedDocuments(
  written: readonly ConfigDocument[],
  place: Place,
  host: Host,
): Promise<ConfigDocument[]> {
  const cacheDir = join(plugboardHome(place), 'cache')
  const plugins = written.flatMap((document) =>
    (document.settings.plugins ?? []).map((plugin) => ({ plugin, document })),
  )
  const budget = { plugins: BUNDLE_CACHE_LIMITS.pendingPlugins, bytes: BUNDLE_CACHE_LIMITS.pendingBytes }
  const fromPlugins = plugins.map(async ({ plugin, document: { source } }, rank) => {
    const { path, userConfig }: PluginSettings = typeof plugin === 'string' ? { path: plugin } : plugin
    // A plugin that a project switches on is the repository's, wherever its files lie.
    const authorship = source.authorship
    const pending = authorship === 'repository' ? budget : undefined
    if (pending && pending.plugins-- <= 0)
      return pending.plugins === -1
        ? [tooMany(source.file, { id: 'plugin', scope: 'plugin', authorship, rank })]
        : []
    const documents = await readPlugins([locate(path, source, place)], {
      cacheDir,
      host,
      userConfig,
      pending,
    })
    return documents.map((raw) => judged(raw, { id: 'plugin', scope: 'plugin', authorship, rank }))
  })
  const lists = written.flatMap(({ settings: { managedServers, claudeaiServers } }) => [
    ...(managedServers ? [{ scope: 'managed' as const, list: managedServers }] : []),
    ...(claudeaiServers ? [{ scope: 'claudeai' as const, list: claudeaiServers }] : []),
  ])
  const fromLists = lists.map(
    async ({ scope, list }: { scope: 'managed' | 'claudeai'; list: ServerListSettings }, rank) => {
      const raw = await fetchServerList({ ...list, cacheDir, host })
      return [judged(raw, { id: scope, scope, authorship: 'user', rank })]
    },
  )
  return (await Promise.all([...fromPlugins, ...fromLists])).flat()
}

/** Paths in a settings file are meant from the project for a project's file, and from the home folder for the user's. */
function locate(path: string, source: Source, place: Place): string {
  if (path.startsWith('~/')) return join(place.home || homedir(), path.slice(2))
  if (isAbsolute(path)) return path
  return resolve(source.scope === 'user' || source.scope === 'enterprise' ? place.home : place.root, path)
}

function tooMany(file: string, as: Pick<Source, 'id' | 'scope' | 'authorship' | 'rank'>): ConfigDocument {
  const message = `names more than ${BUNDLE_CACHE_LIMITS.pendingPlugins} plugins; the rest is left out`
  const fault = { severity: 'warning', file, path: 'plugins', message } as const
  return judged({ source: file, servers: new Map(), diagnostics: [fault] }, as)
}

function judged(raw: RawDocument, as: Pick<Source, 'id' | 'scope' | 'authorship' | 'rank'>): ConfigDocument {
  const source: Source = { ...as, shape: 'list', product: 'shared', file: raw.source }
  const definitions = [...raw.servers].map(([name, { value, line, column }]) =>
    defineServer(name, value, source, {
      ...(line !== undefined && { line }),
      ...(column !== undefined && { column }),
      path: name,
    }),
  )
  return { source, definitions, settings: {}, diagnostics: raw.diagnostics, unpack: raw.unpack }
}
