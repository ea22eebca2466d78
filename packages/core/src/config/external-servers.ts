// external-servers.ts: servers from outside the user's files: those of plugins, bundles, and lists at a URL. It reads
// from the settings which there are, loads them, and sets their author and rank.
import { homedir } from 'node:os'
import { isAbsolute, join, resolve } from 'node:path'
import type { Host } from '../host.ts'
import { lazyModule } from '../lazy.ts'
import { BUNDLE_CACHE_LIMITS } from '../limits.ts'
import { type ConfigDocument, defineServer } from './document.ts'
import { emptyFault, goneFault, withStays } from './last-good.ts'
import { enabledPlugins } from './plugins/claude-plugins.ts'
import { pluginFiles, type RawDocument, readPlugins } from './plugins/index.ts'
import { fetchServerList } from './remote-list.ts'
import type { PluginSettings, ServerListSettings } from './settings.ts'
import { type Place, plugboardHome, type Source } from './sources.ts'
import type { Diagnostic } from './types.ts'

export interface ExternalDocuments {
  readonly documents: readonly ConfigDocument[]
  /** The files of plugins, found or not. */
  readonly files: readonly string[]
}

/** `before` holds the documents of the configuration that is being reloaded. */
export async function externalDocuments(
  written: readonly ConfigDocument[],
  place: Place,
  host: Host,
  before: readonly ConfigDocument[] = [],
): Promise<ExternalDocuments> {
  const cacheDir = join(plugboardHome(place), 'cache')
  const plugins: readonly { plugin: string | PluginSettings; document: ConfigDocument }[] = [
    ...written.flatMap((document) =>
      (document.settings.plugins ?? []).map((plugin) => ({ plugin, document })),
    ),
    ...enabledPlugins(written, place).map(({ path, document }) => ({ plugin: path, document })),
  ]
  const budget = { plugins: BUNDLE_CACHE_LIMITS.pendingPlugins, bytes: BUNDLE_CACHE_LIMITS.pendingBytes }
  const fromPlugins = plugins.map(async ({ plugin: named, document: { source } }, rank) => {
    const { path, userConfig }: PluginSettings = typeof named === 'string' ? { path: named } : named
    const plugin = locate(path, source, place)
    // A plugin that a project switches on is the repository's, wherever its files lie.
    const authorship = source.authorship
    const pending = authorship === 'repository' ? budget : undefined
    if (pending && pending.plugins-- <= 0)
      return pending.plugins === -1
        ? [tooMany(source.file, { id: 'plugin', scope: 'plugin', authorship, rank, plugin })]
        : []
    const documents = await readPlugins([plugin], { cacheDir, host, userConfig, pending })
    const next = documents.map((raw) =>
      judged(raw, { id: 'plugin', scope: 'plugin', authorship, rank, plugin }),
    )
    return soundPlugin(
      next,
      before
        .filter((document) => document.source.plugin === plugin)
        .map((one) => rejudged(one, authorship, rank)),
    )
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
  const documents = (await Promise.all([...fromPlugins, ...fromLists])).flat()
  const places = plugins.map(({ plugin, document: { source } }) =>
    locate(typeof plugin === 'string' ? plugin : plugin.path, source, place),
  )
  const files = [...places.flatMap(pluginFiles), ...documents.map(({ source }) => source.file)]
  return { documents, files }
}

/**
 * A plugin counts as a whole: while one of its files is broken, empty or missing, all of it stays as it was. A
 * missing file is no fault when the plugin's other files now define its servers.
 */
function soundPlugin(
  next: readonly ConfigDocument[],
  before: readonly ConfigDocument[],
): readonly ConfigDocument[] {
  if (!before.some(({ definitions }) => definitions.length > 0)) return next
  const names = new Set(next.flatMap(({ definitions }) => definitions.map(({ name }) => name)))
  const missing = before.filter(({ definitions }) => definitions.some(({ name }) => !names.has(name)))
  const faults = [
    ...next.flatMap(({ diagnostics }) => diagnostics.filter(isAboutFile)).map(withStays),
    ...missing.flatMap(({ source: { file } }) => lossOf(file)),
  ]
  const [first, ...others] = before
  if (!first || faults.length === 0) return next
  return [{ ...first, diagnostics: faults }, ...others.map((document) => ({ ...document, diagnostics: [] }))]
}

function isAboutFile({ severity, server }: Diagnostic): boolean {
  return severity === 'error' && server === undefined
}

function lossOf(file: string): Diagnostic[] {
  const size = lazyModule('node:fs').statSync(file, { throwIfNoEntry: false })?.size
  if (size === undefined) return [goneFault(file)]
  return size === 0 ? [emptyFault(file)] : []
}

/** A plugin's author and rank follow the current settings files. */
function rejudged(document: ConfigDocument, authorship: Source['authorship'], rank: number): ConfigDocument {
  const source: Source = { ...document.source, authorship, rank }
  return {
    ...document,
    source,
    definitions: document.definitions.map((definition) => ({ ...definition, source })),
  }
}

/** Paths in a project's settings file are relative to the project, those in the user's to the home folder. */
function locate(path: string, source: Source, place: Place): string {
  if (path.startsWith('~/')) return join(place.home || homedir(), path.slice(2))
  if (isAbsolute(path)) return path
  return resolve(source.scope === 'user' || source.scope === 'enterprise' ? place.home : place.root, path)
}

function tooMany(
  file: string,
  as: Pick<Source, 'id' | 'scope' | 'authorship' | 'rank' | 'plugin'>,
): ConfigDocument {
  const message = `names more than ${BUNDLE_CACHE_LIMITS.pendingPlugins} plugins; the rest is left out`
  const fault = { severity: 'warning', file, path: 'plugins', message } as const
  return judged({ source: file, servers: new Map(), diagnostics: [fault] }, as)
}

function judged(
  raw: RawDocument,
  as: Pick<Source, 'id' | 'scope' | 'authorship' | 'rank' | 'plugin'>,
): ConfigDocument {
  const source: Source = { ...as, shape: 'list', product: 'shared', file: raw.source }
  const definitions = [...raw.servers].map(([name, { value, line, column, offBecause }]) => ({
    ...defineServer(name, value, source, {
      ...(line !== undefined && { line }),
      ...(column !== undefined && { column }),
      path: name,
    }),
    ...(offBecause !== undefined && { offBecause }),
  }))
  return { source, definitions, settings: {}, diagnostics: raw.diagnostics, unpack: raw.unpack }
}
