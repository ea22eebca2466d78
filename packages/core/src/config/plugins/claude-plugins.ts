// claude-plugins.ts: the plugins that `enabledPlugins` of Claude Code's settings switches on, and where it keeps their files:
// `~/.claude/plugins/cache/MARKETPLACE/PLUGIN`, with a folder for each version. It reads no server.
import { join } from 'node:path'
import { lazyModule } from '../../lazy.ts'
import type { ConfigDocument } from '../document.ts'
import type { Place } from '../sources.ts'

/** `plugin@marketplace`; each part is one plain folder name. */
const ID = /^([A-Za-z0-9][\w.-]{0,99})@([A-Za-z0-9][\w.-]{0,99})$/
const MARKS = ['.claude-plugin', '.mcp.json']
const MOST_VERSIONS = 50
const MOST_PLUGINS = 200

export interface EnabledPlugin {
  readonly path: string
  /** The file that switches it on: its author is the author of the plugin's servers. */
  readonly document: ConfigDocument
}

export function enabledPlugins(documents: readonly ConfigDocument[], place: Place): readonly EnabledPlugin[] {
  const ids = new Set(documents.flatMap(({ settings }) => Object.keys(settings.enabledPlugins ?? {})))
  const cache = join(place.env['CLAUDE_CONFIG_DIR'] || join(place.home, '.claude'), 'plugins', 'cache')
  return [...ids].slice(0, MOST_PLUGINS).flatMap((id) => {
    const [, plugin = '', marketplace = ''] = ID.exec(id) ?? []
    if (plugin === '' || plugin.includes('..') || marketplace.includes('..')) return []
    const document = enabledBy(id, documents)
    const path = document && installedAt(join(cache, marketplace, plugin))
    return document && path !== undefined ? [{ path, document }] : []
  })
}

/** An administrator decides first. A user's `false` switches it off; a user's `true` is stronger than a repository's. */
function enabledBy(id: string, documents: readonly ConfigDocument[]): ConfigDocument | undefined {
  const said = documents.filter(({ settings }) => Object.hasOwn(settings.enabledPlugins ?? {}, id))
  const isOn = ({ settings }: ConfigDocument) => settings.enabledPlugins?.[id] === true
  const managed = said.find(({ source }) => source.scope === 'enterprise')
  if (managed) return isOn(managed) ? managed : undefined
  const own = said.filter(({ source }) => source.authorship === 'user')
  if (own.length > 0) return own.every(isOn) ? own[0] : undefined
  return said.find(isOn)
}

/** The newest version that has the files of a plugin. */
function installedAt(folder: string): string | undefined {
  const fs = lazyModule('node:fs')
  const isPlugin = (path: string) => MARKS.some((mark) => fs.existsSync(join(path, mark)))
  if (isPlugin(folder)) return folder
  try {
    const versions = fs
      .readdirSync(folder, { withFileTypes: true })
      .filter((item) => item.isDirectory())
      .slice(0, MOST_VERSIONS)
      .map(({ name }) => join(folder, name))
      .filter(isPlugin)
    return versions.sort((one, other) => fs.statSync(other).mtimeMs - fs.statSync(one).mtimeMs)[0]
  } catch {
    // It is switched on, but not installed here.
    return undefined
  }
}
