// load.ts: the I/O of the configuration. It reads texts, approvals and facts and passes them to resolve.ts; it makes
// no decision about servers itself.
import { isAbsolute, resolve } from 'node:path'
import { InvalidInput } from '../errors.ts'
import { readTextFile } from '../files/read.ts'
import type { Host } from '../host.ts'
import { lazyModule } from '../lazy.ts'
import { CONFIG_LIMITS } from '../limits.ts'
import { approvalsFile, readRecords } from './approval-records.ts'
import { type BuiltinChoices, builtinDocuments, builtinSwitch } from './builtin-switches.ts'
import type { ConfigDocument } from './document.ts'
import { EDITOR_NAME, EDITOR_SOURCE, editorDefinition } from './editor-locks.ts'
import { readPlain } from './fast-read.ts'
import { goneFault, keepLastGood, sameSource, withoutItsFile, withStays } from './last-good.ts'
import { LOCKED } from './policy.ts'
import { findProjectRoot, isInside, isProjectFile, realPath } from './project.ts'
import { type Resolved, resolveConfiguration } from './resolve.ts'
import { fileSources, type Place, type Source } from './sources.ts'
import { childHostEnvironment, neutralFolder } from './start-folder.ts'
import { NO_RECORDS, type ProjectRecords } from './trust.ts'
import type { ConfiguredServer, Diagnostic } from './types.ts'

export { lockFolder } from './editor-locks.ts'

export interface LoadOptions extends BuiltinChoices {
  readonly host: Host
  readonly cwd: string
  /** `--mcp-config`: files, or JSON given in place. Later ones win. */
  readonly mcpConfig?: readonly string[]
  /**
   * Only the servers of `mcpConfig` and `servers`, and those of policy. The rules, hooks and allow/deny lists of
   * settings files still apply.
   */
  readonly strict?: boolean
  /** Servers given by the embedding program, in file syntax. */
  readonly servers?: Readonly<Record<string, unknown>>
  readonly approveProject?: boolean
  /** Leave the built-in servers out. */
  readonly withoutBuiltins?: boolean
  /** Remember where in its file every definition stands, for showing it. */
  readonly withLines?: boolean
  /** The program's own veto: why a server must not run here. Called again on every reload. */
  readonly refuse?: (server: ConfiguredServer) => string | undefined
}

export interface Configuration extends Resolved {
  readonly place: Place
  /** Every file that was searched for, found or not. */
  readonly sources: readonly Source[]
  readonly documents: readonly ConfigDocument[]
  readonly exclusiveFile?: string
  /** How it was loaded, for reloading it. */
  readonly loadedWith: LoadOptions
  /** When reading began, in milliseconds since the epoch. */
  readonly readAt: number
  /** Every file whose change can change it, found or not. */
  readonly files: readonly string[]
  /** What the user's home records about this project. */
  readonly records: ProjectRecords
  /** May the user's own servers start in the project folder? `asked`: the user's home holds a decision. */
  readonly folder: { readonly trusted: boolean; readonly asked: boolean }
}

/** Reads every source. A fault in a file is a diagnostic; only a wrong `mcpConfig` throws. */
export async function loadConfiguration(options: LoadOptions): Promise<Configuration> {
  return read(options)
}

/**
 * Reads the sources again, as the first time. A file that is now broken, empty or missing keeps its content from
 * `previous`, and a diagnostic says so; no file fault throws.
 */
export async function reloadConfiguration(previous: Configuration): Promise<Configuration> {
  return read(previous.loadedWith, previous)
}

async function read(options: LoadOptions, previous?: Configuration): Promise<Configuration> {
  const { host } = options
  const readAt = host.now()
  // The missing file may have been what made the folder a project; a board stays where it was opened.
  const place = previous?.place ?? placeOf(options)
  const sources = fileSources(place)
  const fromFiles = onlyRestricting(
    await Promise.all(
      sources.map(async (source) => orLastGood(await readSource(source, place, options), previous)),
    ),
  )
  const files = fromFiles.flatMap(({ document }) => document ?? [])
  const exclusiveFile = fromFiles.find(({ present, source }) => present && source.id === 'managed-mcp')
    ?.source.file
  const dynamic = await dynamicDocuments(options, place, previous)
  const { records, diagnostics } = await recordsOrNone(place, previous)
  const unwritten = options.withoutBuiltins ? [] : await unwrittenDocuments(files, dynamic, options, place)
  const written = [...unwritten, ...dynamic, ...files]
  const grants = await grantsOf(written, place)
  const fromOutside = await outsideDocuments(written, place, host, previous)
  const documents = [...written, ...fromOutside.documents]
  const approveProject = options.approveProject ?? false
  // The home folder belongs to the user, whatever it contains.
  const folderTrusted = approveProject || records.folder === true || place.root === place.home
  const pinned = [...records.approvals.values()].some(({ files }) => files !== undefined)
  const resolved = resolveConfiguration({
    documents,
    root: place.root,
    env: childHostEnvironment(host.env, place, folderTrusted),
    records,
    grants,
    approveProject,
    ...(pinned && {
      changedFiles: await (await import('./pins.ts')).changedPins(records.approvals, place.root),
    }),
    folderTrusted,
    neutralFolder: neutralFolder(place),
    exclusiveFile,
  })
  const unpacked = await unpackTrusted(fromOutside.documents, resolved)
  return {
    ...resolved,
    servers: options.refuse ? resolved.servers.map(refusing(options.refuse)) : resolved.servers,
    diagnostics: onlyOnce([...diagnostics, ...resolved.diagnostics, ...unpacked]),
    records,
    folder: { trusted: folderTrusted, asked: records.folder !== undefined },
    place,
    sources,
    documents,
    ...(exclusiveFile !== undefined && { exclusiveFile }),
    loadedWith: options,
    readAt,
    files: watchedFiles([
      ...sources.map(({ file }) => file),
      ...dynamic.map(({ source }) => source.file),
      ...fromOutside.files,
      approvalsFile(place),
    ]),
  }
}

/** Plugins, bundles and fetched lists; most configurations name none, and load no code for them. */
async function outsideDocuments(
  written: readonly ConfigDocument[],
  place: Place,
  host: Host,
  previous: Configuration | undefined,
) {
  const asksForMore = written.some(
    ({ settings }) =>
      settings.plugins ?? settings.enabledPlugins ?? settings.managedServers ?? settings.claudeaiServers,
  )
  if (!asksForMore) return { documents: [], files: [] }
  const { externalDocuments } = await import('./external-servers.ts')
  return externalDocuments(written, place, host, previous?.documents)
}

/** Labels such as `--mcp-config` are not files. */
function watchedFiles(files: readonly string[]): readonly string[] {
  return [...new Set(files.filter((file) => isAbsolute(file)))]
}

function refusing(refuse: NonNullable<LoadOptions['refuse']>) {
  return (server: ConfiguredServer): ConfiguredServer => {
    const text = server.disabled ? undefined : refuse(server)
    return text === undefined ? server : { ...server, disabled: { kind: 'config', text } }
  }
}

/**
 * Policy from an environment variable is the user's own choice. Where an administrator's file exists, it may forbid
 * more but never admit: it adds no servers, no allow list and no permissions.
 */
function onlyRestricting(read: readonly ReadSource[]): readonly ReadSource[] {
  const managed = read.some(
    ({ source, present }) => present && source.scope === 'enterprise' && !source.addedByEnv,
  )
  if (!managed) return read
  return read.map((each) => {
    if (!each.source.addedByEnv || !each.document) return each
    const { deniedMcpServers, disabledServers, permissions } = each.document.settings
    const { deny, ask } = permissions ?? {}
    const settings = {
      ...(deniedMcpServers && { deniedMcpServers }),
      ...(disabledServers && { disabledServers }),
      ...(permissions && { permissions: { ...(deny && { deny }), ...(ask && { ask }) } }),
    }
    return { source: each.source, present: false, document: { ...each.document, definitions: [], settings } }
  })
}

/** A bundle of the project is unpacked only once its server may start. */
async function unpackTrusted(
  fromOutside: readonly ConfigDocument[],
  { resolutions }: Resolved,
): Promise<readonly Diagnostic[]> {
  const wanted = fromOutside.filter(({ definitions, unpack }) =>
    definitions.some((definition) => {
      const resolution = unpack && resolutions.get(definition.name)
      const winner = resolution?.contenders.find(({ verdict }) => verdict.kind === 'winner')?.definition
      return winner === definition && resolution?.server?.disabled === undefined
    }),
  )
  return (await Promise.all(wanted.map(({ unpack }) => unpack?.()))).flatMap((fault) => fault ?? [])
}

/** A file in two rows of the table (~/.claude.json) reports each fault once. */
function onlyOnce(diagnostics: readonly Diagnostic[]): Diagnostic[] {
  return [...new Map(diagnostics.map((diagnostic) => [JSON.stringify(diagnostic), diagnostic])).values()]
}

export function placeOf({ host, cwd }: Pick<LoadOptions, 'host' | 'cwd'>): Place {
  const root = findProjectRoot(cwd, host.home)
  const place = { root, home: host.home, platform: host.platform, env: host.env }
  assertOwnHome(place)
  return place
}

/** The user's settings and records are trusted, so they may not lie where a repository could write them. */
function assertOwnHome({ root, home, env }: Place): void {
  const own = env['PLUGBOARD_HOME']
  if (!own) return
  const hint = 'Set it to an absolute path outside the project, or unset it.'
  if (!isAbsolute(own)) throw new InvalidInput(`PLUGBOARD_HOME (${own}) is not an absolute path.`, { hint })
  const real = realPath(own)
  if (real !== root && isInside(real, root) && !isInside(realPath(home), root))
    throw new InvalidInput(
      `PLUGBOARD_HOME (${own}) is inside the project ${root}, so a repository could have put files into it.`,
      { hint },
    )
}

function orLastGood(found: ReadSource, previous: Configuration | undefined): ReadSource {
  const before = previous && documentAt(previous, found.source)
  if (!before) return found
  const document = found.document ? keepLastGood(found.document, before) : withoutItsFile(before)
  return document ? { ...found, present: true, document } : found
}

function documentAt({ documents }: Configuration, source: Source): ConfigDocument | undefined {
  return documents.find((document) => sameSource(document.source, source))
}

interface ReadSource {
  readonly source: Source
  readonly present: boolean
  readonly document?: ConfigDocument
}

async function readSource(
  source: Source,
  place: Place,
  { strict, withLines }: LoadOptions,
): Promise<ReadSource> {
  // The user cannot leave policy out.
  const rulesOnly = strict && source.scope !== 'enterprise'
  if (rulesOnly && source.shape !== 'settings') return { source, present: false }
  const limit = source.shape.startsWith('claude-json')
    ? CONFIG_LIMITS.foreignFileBytes
    : CONFIG_LIMITS.fileBytes
  const outcome = await readTextFile(source.file, limit)
  if (outcome.kind === 'missing') return { source, present: false }
  if (outcome.kind === 'text') {
    const quick = withLines ? undefined : readPlain(outcome.text, source, place.root)
    const document = quick ?? (await careful()).readDocument(outcome.text, source, place.root)
    return { source, present: true, document: rulesOnly ? withoutServers(document) : document }
  }
  const fault: Diagnostic = {
    severity: 'error',
    file: source.file,
    message: `the file ${outcome.message}`,
    hint: outcome.hint,
  }
  const settings = source.scope === 'enterprise' ? LOCKED : {}
  const document: ConfigDocument = {
    source,
    definitions: [],
    settings,
    diagnostics: [fault],
    unusable: 'unreadable',
  }
  return { source, present: true, document }
}

/** Choosing other servers does not lift the rules on what a server may do, or which may run. */
function withoutServers({ settings, ...document }: ConfigDocument): ConfigDocument {
  const { permissions, hooks, allowedMcpServers, deniedMcpServers, gateway, audit, models, resident } =
    settings
  const { tools, profiles } = settings
  const kept = {
    ...(settings.builtins && { builtins: settings.builtins }),
    ...(gateway && { gateway }),
    ...(tools && { tools }),
    ...(profiles && { profiles }),
    ...(audit && { audit }),
    ...(models && { models }),
    ...(resident !== undefined && { resident }),
    ...(permissions && { permissions }),
    ...(hooks && { hooks }),
    ...(allowedMcpServers && { allowedMcpServers }),
    ...(deniedMcpServers && { deniedMcpServers }),
  }
  return { ...document, definitions: [], settings: kept }
}

/** The tolerant parser and the schemas take as long to load as everything else; most files never need them. */
function careful(): Promise<typeof import('./document.ts')> {
  return import('./document.ts')
}

async function dynamicDocuments(
  options: LoadOptions,
  place: Place,
  previous: Configuration | undefined,
): Promise<ConfigDocument[]> {
  const given = options.mcpConfig ?? []
  const documents = await Promise.all(
    given.map((word, index) => mcpConfigDocument(word, given.length - index, options, place, previous)),
  )
  if (!options.servers) return documents
  const source = dynamicSource('(given by the program)', 0)
  const { defineServer } = await careful()
  const definitions = Object.entries(options.servers).map(([name, written]) =>
    defineServer(name, written, source),
  )
  return [{ source, definitions, settings: {}, diagnostics: [] }, ...documents]
}

/** The built-ins, and the editor that runs and has this folder open; an entry of the editor's name is stronger. */
async function unwrittenDocuments(
  files: readonly ConfigDocument[],
  dynamic: readonly ConfigDocument[],
  options: LoadOptions,
  { root }: Place,
): Promise<readonly ConfigDocument[]> {
  const builtins = builtinDocuments(files, options, builtinSource)
  const named = [...dynamic, ...files].flatMap(({ definitions }) => definitions)
  if (options.strict || named.some(({ name }) => name === EDITOR_NAME)) return builtins
  const source = builtinSource(EDITOR_SOURCE)
  const { isOn, why } = builtinSwitch(EDITOR_NAME, files, options)
  const definition = isOn
    ? await editorDefinition({ host: options.host, cwd: options.cwd, root }, source)
    : { name: EDITOR_NAME, source, path: EDITOR_NAME, written: {}, faults: [], absentBecause: why }
  return [...builtins, { source, definitions: [definition], settings: {}, diagnostics: [] }]
}

function builtinSource(file: string): Source {
  return { ...dynamicSource(file, -1), id: 'built-in' }
}

function dynamicSource(file: string, rank: number): Source {
  return {
    id: 'dynamic',
    scope: 'dynamic',
    shape: 'mcp-json',
    authorship: 'user',
    product: 'plugboard',
    file,
    rank,
  }
}

/** A fault in a command-line value stops the command at its start, unlike a fault in a file. */
async function mcpConfigDocument(
  word: string,
  rank: number,
  { cwd }: LoadOptions,
  place: Place,
  previous: Configuration | undefined,
): Promise<ConfigDocument> {
  const inline = word.trimStart().startsWith('{')
  const file = inline ? '--mcp-config' : isAbsolute(word) ? word : resolve(cwd, word)
  const given = dynamicSource(file, rank)
  const source = !inline && isProjectFile(file, place) ? { ...given, fromProject: true as const } : given
  const outcome = inline
    ? ({ kind: 'text', text: word } as const)
    : await readTextFile(file, CONFIG_LIMITS.fileBytes)
  const before = previous && documentAt(previous, source)
  if (outcome.kind === 'missing') {
    if (before) return { ...before, diagnostics: [goneFault(file)] }
    throw new InvalidInput(`--mcp-config: there is no file ${file}.`, {
      hint: 'Give a file, or JSON that starts with {.',
    })
  }
  if (outcome.kind === 'problem') {
    const { message, hint } = outcome
    if (before)
      return {
        ...before,
        diagnostics: [withStays({ severity: 'error', file, message: `the file ${message}`, hint })],
      }
    throw new InvalidInput(`--mcp-config: ${file} ${message}.`, { hint })
  }
  const { readDocument } = await careful()
  const document = readDocument(outcome.text, source, place.root)
  const broken = document.diagnostics.find(({ severity }) => severity === 'error')
  if (before) return keepLastGood(broken ? { ...document, unusable: 'unreadable' } : document, before)
  if (broken)
    throw new InvalidInput(
      `--mcp-config: ${broken.message} (line ${broken.line ?? 1}, column ${broken.column ?? 1}).`,
      {
        hint: broken.hint,
      },
    )
  return document
}

async function recordsOrNone(
  place: Place,
  previous: Configuration | undefined,
): Promise<{ records: ProjectRecords; diagnostics: readonly Diagnostic[] }> {
  const file = approvalsFile(place)
  try {
    const records = await readRecords(place)
    const gone = previous !== undefined && saysSomething(previous.records) && !isThere(file)
    return gone
      ? { records: previous.records, diagnostics: [APPROVALS_GONE(file)] }
      : { records, diagnostics: [] }
  } catch (error) {
    // Unreadable records approve nothing new, and the user is told why.
    if (!(error instanceof InvalidInput)) throw error
    const hint = error.hint === undefined ? {} : { hint: error.hint }
    const fault: Diagnostic = { severity: 'error', file, message: error.message, ...hint }
    if (!previous) return { records: NO_RECORDS, diagnostics: [fault] }
    return { records: previous.records, diagnostics: [withStays(fault)] }
  }
}

function saysSomething({ approvals, settings, folder }: ProjectRecords): boolean {
  return approvals.size > 0 || settings.size > 0 || folder !== undefined
}

const APPROVALS_GONE = (file: string): Diagnostic => ({
  ...goneFault(file),
  message: 'the file is gone; what was approved keeps running until it is back or the board restarts',
  hint: 'Restore the file, or run `plugboard reset-project-choices` to withdraw the approvals.',
})

function isThere(file: string): boolean {
  return lazyModule('node:fs').existsSync(file)
}

/** Only rules in the project's private files are ever bound to one server. */
async function grantsOf(documents: readonly ConfigDocument[], place: Place) {
  const allows = documents.some(
    ({ source, settings }) => source.scope === 'local' && settings.permissions?.allow !== undefined,
  )
  return allows ? await (await import('./always-rules.ts')).readAlwaysRules(place) : undefined
}
