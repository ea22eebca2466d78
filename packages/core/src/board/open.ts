// open.ts: from options to a board: reads the configuration, adds logins and built-ins, and watches the files on request.
import { type BuiltinContext, type Builtins, builtinContext, createBuiltins } from '../builtin/index.ts'
import { type BuiltinChoices, OWN_BUILTIN_SOURCE } from '../config/builtin-switches.ts'
import { hashOf } from '../config/fingerprints.ts'
import type { Configuration } from '../config/load.ts'
import { stateFolder } from '../config/sources.ts'
import { hostForPrograms } from '../config/start-folder.ts'
import { urlOf } from '../config/transport-traits.ts'
import type { WatchedConfiguration } from '../config/watch.ts'
import { InvalidInput } from '../errors.ts'
import { type Host, systemHost } from '../host.ts'
import type { BoardLink } from './board-link.ts'
import { givenBuiltins } from './given-builtins.ts'
import { givenRules, joinedRules } from './given-rules.ts'
import { inProcessEntries, linkedTo } from './in-process.ts'
import { LocalBoard } from './local-board.ts'
import type { BoardOptions } from './options.ts'
import { givenServers } from './programmatic-servers.ts'
import { boardSettings } from './settings.ts'

/**
 * Opens a board. Nothing connects until it is needed.
 *
 * @example
 * await using board = await openBoard({ cwd: process.cwd() })
 * await board.ready()
 * for (const tool of board.tools()) console.log(tool.name)
 */
export async function openBoard(options: BoardOptions = {}): Promise<LocalBoard> {
  if (options.servers || options.load) return programBoard(options)
  const { configuration: given, config, builtins: wanted, ...behaviour } = options
  const { own, choices } = givenBuiltins(wanted)
  const configuration = await configurationFor(options, choices)
  const { place, folder } = configuration
  const host = hostForPrograms(options.host ?? configuration.loadedWith.host, place, folder.trusted)
  const stateDir = options.stateDir ?? stateFolder(host)
  const context = builtinContext(place.root, host)
  const makeBuiltins = () => createBuiltins(context, own)
  const { pool } = options
  const isShared = pool !== undefined && Object.keys(own).length === 0
  const builtins = isShared ? pool.keep(builtinsKey(context), makeBuiltins) : makeBuiltins()
  // Logins are loaded only where a server may need one.
  const remote =
    options.auth === undefined &&
    (options.watch || configuration.servers.some(({ entry }) => urlOf(entry) !== undefined))
  const logins = remote
    ? (await import('../auth/index.ts')).loginsFor({ host, stateDir, settings: configuration.logins })
    : undefined
  const { warnings, ...settings } = boardSettings(configuration)
  const board = await boardOf({
    ...settings,
    ...(logins && { auth: logins.auth }),
    ...behaviour,
    rules: joinedRules(configuration.rules, givenRules(options.rules)),
    cwd: options.cwd ?? settings.cwd,
    host,
    stateDir,
    servers: builtins.fitting(configuration.servers),
    hooks: [...settings.hooks, ...(options.hooks ?? [])],
    // Served only where the configuration lists them: it may leave them out, or forbid them.
    handOver: (name) => options.handOver?.(name) ?? linkedTo(builtins.servers, name),
    builtinAsks: (...call) => builtins.asks(...call),
    builtinPreview: (...call) => builtins.preview(...call),
    builtinAllows: (server) => builtins.allows(server),
    ...(pool && { poolIdentity: loginIdentity(configuration, host) }),
  })
  const { link } = board
  if (!isShared) link.beforeClose(() => builtins.close())
  link.setConfigurationFaults(configuration.diagnostics)
  if (options.watch) {
    const files = await follow(link, configuration, options, builtins)
    link.reloadWith(() => files.reload())
    link.beforeClose(() => files.stop())
    if (logins) link.beforeClose(await logins.watch((server) => link.reconnectSame(server)))
  }
  // Last: the caller listens from now on.
  for (const text of warnings) link.warn(text)
  return board
}

/** Built-in servers of one project folder are the same for all boards of a pool, unless their own settings differ. */
function builtinsKey({ root, home, host }: BuiltinContext): string {
  const settings = Object.entries(host.env).filter(([name]) => /^PLUGBOARD_(?:EMBEDDINGS_|ONNX)/.test(name))
  return `builtins ${hashOf([root, home, Object.fromEntries(settings)])}`
}

/** The logins that the settings define, with the secrets they name: two boards that differ in them share no server. */
function loginIdentity({ logins }: Configuration, { env }: Host): string {
  const secrets = Object.values(logins?.machines ?? {}).map(({ privateKeyEnv, clientSecretEnv }) =>
    [privateKeyEnv, clientSecretEnv].map((name) => (name === undefined ? '' : (env[name] ?? ''))),
  )
  return hashOf([logins ?? {}, secrets])
}

/** A configuration that was read without the program's built-ins is read again with them: policy applies to them too. */
async function configurationFor(options: BoardOptions, choices: BuiltinChoices): Promise<Configuration> {
  const { configuration: given } = options
  if (!given) return await loadedFrom(options, choices)
  if (!choices.builtins && !choices.ownBuiltins) return given
  const { loadConfiguration } = await import('../config/load.ts')
  return await loadConfiguration({ ...given.loadedWith, ...choices })
}

async function loadedFrom(
  { host, cwd, config }: BoardOptions,
  choices: BuiltinChoices,
): Promise<Configuration> {
  // Checked here, because a fault in a configuration is only a diagnostic, and the program's server would be missing.
  if (config?.servers) await givenServers(config.servers, 'config.servers')
  const { loadConfiguration } = await import('../config/load.ts')
  return await loadConfiguration({
    ...config,
    ...choices,
    host: host ?? systemHost(),
    cwd: cwd ?? process.cwd(),
  })
}

/** Applies every new configuration until it is stopped. */
async function follow(
  link: BoardLink,
  first: Configuration,
  options: BoardOptions,
  builtins: Builtins,
): Promise<WatchedConfiguration> {
  const { watchConfiguration } = await import('../config/watch.ts')
  let warned = new Set(boardSettings(first).warnings)
  return watchConfiguration(first, {
    changed: (next) => {
      const { servers, rules, hooks, warnings } = boardSettings(next)
      for (const text of warnings) if (!warned.has(text)) link.warn(text)
      warned = new Set(warnings)
      link.setConfigurationFaults(next.diagnostics)
      const own = givenRules(options.rules).filter((rule) => !first.rules.includes(rule))
      return link.apply(builtins.fitting(servers), joinedRules(rules, own), [
        ...hooks,
        ...(options.hooks ?? []),
      ])
    },
    failed: (error) =>
      link.warn(`The configuration could not be read again, and the last one stays: ${textOf(error)}`),
  })
}

function textOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}

/** A board of the program's own servers. Of the built-ins it has those that the program registers. */
async function programBoard(options: BoardOptions): Promise<LocalBoard> {
  const { own, choices } = givenBuiltins(options.builtins)
  const ours = Object.keys(choices.builtins ?? {})
  if (ours.length > 0)
    throw new InvalidInput(`\`builtins.${ours[0]}\` has no effect on a board of \`servers\`.`, {
      hint: 'Open the board with `config: { servers }`, which adds them to those of the files.',
    })
  if (Object.keys(own).length === 0) return boardOf(options)
  const host = options.host ?? systemHost()
  const builtins = createBuiltins(builtinContext(options.cwd ?? process.cwd(), host), own)
  const entries = Object.keys(own).map((name) => ({
    name,
    scope: 'dynamic' as const,
    source: OWN_BUILTIN_SOURCE,
    entry: { type: 'sdk' as const },
    signature: `in-process:${name}`,
  }))
  const board = await boardOf({
    ...options,
    servers: [...(await givenServers(options.servers ?? [], 'servers')), ...builtins.fitting(entries)],
    handOver: (name) => options.handOver?.(name) ?? linkedTo(builtins.servers, name),
    builtinAsks: (...call) => builtins.asks(...call),
    builtinPreview: (...call) => builtins.preview(...call),
    builtinAllows: (server) => builtins.allows(server),
  } as Omit<BoardOptions, 'config' | 'configuration'>)
  board.link.beforeClose(() => builtins.close())
  return board
}

async function boardOf(options: Omit<BoardOptions, 'config' | 'configuration'>): Promise<LocalBoard> {
  const { load, servers: written = [], rules, ...behaviour } = options
  const servers = await givenServers(written, 'servers')
  const given = [...servers, ...inProcessEntries({ ...behaviour, servers })]
  const names = new Set(given.map(({ name }) => name))
  const loaded = await givenServers((await load?.()) ?? [], 'load()')
  return new LocalBoard({ ...behaviour, servers, rules: givenRules(rules) }, [
    ...given,
    ...loaded.filter(({ name }) => !names.has(name)),
  ])
}
