// open.ts: from options to a board: reads the configuration, plugs in logins and built-ins, and follows the files if asked.
import { join } from 'node:path'
import { Board } from '../board.ts'
import { createBuiltins } from '../builtin/index.ts'
import type { Configuration, LoadOptions } from '../config/load.ts'
import { plugboardHome } from '../config/sources.ts'
import { hostForPrograms } from '../config/start-folder.ts'
import { systemHost } from '../host.ts'
import { inProcessEntries, linkedTo } from './in-process.ts'
import type { BoardOptions } from './options.ts'
import { boardSettings } from './settings.ts'
import { stateFolder } from './state.ts'

/**
 * Opens a board. Nothing connects until it is needed.
 *
 * @example
 * await using board = await openBoard({ cwd: process.cwd() })
 * await board.ready()
 * for (const tool of board.tools()) console.log(tool.name)
 */
export async function openBoard(options: BoardOptions = {}): Promise<Board> {
  if (options.servers || options.load) return boardOf(options)
  const given = options.host ?? systemHost()
  const loading: LoadOptions = { ...options.config, host: given, cwd: options.cwd ?? process.cwd() }
  const configuration =
    options.configuration ?? (await (await import('../config/load.ts')).loadConfiguration(loading))
  const { place, servers, folder } = configuration
  const host = hostForPrograms(given, place, folder.trusted)
  const stateDir = options.stateDir ?? stateFolder(host)
  const builtins = createBuiltins({ root: place.root, host, cacheDir: join(plugboardHome(place), 'cache') })
  // Logins are loaded only where there is something to log in to.
  const remote = options.auth === undefined && (options.watch || servers.some(({ entry }) => 'url' in entry))
  const logins = remote
    ? (await import('../auth/index.ts')).loginsFor({ host, stateDir, settings: configuration.logins })
    : undefined
  const { warnings, ...settings } = boardSettings(configuration)
  const board = await boardOf({
    ...settings,
    ...(logins && { auth: logins.auth }),
    ...options,
    host,
    stateDir,
    servers,
    hooks: [...settings.hooks, ...(options.hooks ?? [])],
    // Served where the configuration lists them, and only there: it may leave them out, or forbid them.
    handOver: (name) => options.handOver?.(name) ?? linkedTo(builtins.servers, name),
  })
  board.beforeClose(() => builtins.close())
  for (const text of warnings) board.warn(text)
  if (options.watch) {
    const { watchConfiguration } = await import('../config/watch.ts')
    const follow = (next: Configuration) => {
      const { servers, rules, hooks, warnings } = boardSettings(next)
      for (const text of warnings) board.warn(text)
      return board.apply(servers, rules, [...hooks, ...(options.hooks ?? [])])
    }
    board.beforeClose(watchConfiguration(configuration, loading, follow))
    if (logins) board.beforeClose(await logins.watch((server) => board.reconnectSame(server)))
  }
  return board
}

async function boardOf(options: BoardOptions): Promise<Board> {
  const given = [...(options.servers ?? []), ...inProcessEntries(options)]
  const names = new Set(given.map(({ name }) => name))
  const loaded = (await options.load?.()) ?? []
  return new Board(options, [...given, ...loaded.filter(({ name }) => !names.has(name))])
}
