// manifest.ts: the manifest of a bundle and the user's values → one server entry. Pure: the bundle's path and the
// platform come in as data.
import { posix, win32 } from 'node:path'
import { excerpt } from '../import/excerpt.ts'
import { isObject, type JsonObject } from '../import/tree.ts'
import type { Diagnostic } from '../types.ts'

export interface BundlePlace {
  /** The archive, for diagnostics. */
  readonly file: string
  /** Where it is unpacked. */
  readonly folder: string
  readonly home: string
  readonly platform: NodeJS.Platform
}

/** Values for a bundle's `user_config`, by key. A string may itself be `${VAR}`: it is expanded like any other. */
export type UserValues = Readonly<Record<string, unknown>>

export interface BundleServer {
  readonly name: string
  readonly entry: Readonly<Record<string, unknown>>
  /** Why the entry is disabled. */
  readonly offBecause?: string
}

export interface ManifestOutcome {
  /** Absent when the manifest describes nothing that can be started. */
  readonly server?: BundleServer
  readonly diagnostics: readonly Diagnostic[]
}

type Value = string | readonly string[]

/** The default command per server type, for a manifest that does not say how to start its server. */
const RUNTIMES = {
  node: (entry: string) => ({ command: 'node', args: [entry] }),
  python: (entry: string, platform: NodeJS.Platform) => ({
    command: platform === 'win32' ? 'python' : 'python3',
    args: [entry],
  }),
  uv: (entry: string) => ({ command: 'uv', args: ['run', '--directory', dirVariable, entry] }),
  binary: (entry: string) => ({ command: entry, args: [] }),
} as const
const dirVariable = `\${__dirname}`

export function readManifest(manifest: unknown, values: UserValues, place: BundlePlace): ManifestOutcome {
  const diagnostics: Diagnostic[] = []
  const report = (severity: 'error' | 'warning', path: string, message: string, hint?: string) =>
    diagnostics.push({ severity, file: place.file, path, message, ...(hint !== undefined && { hint }) })
  const broken = (path: string, message: string): ManifestOutcome => {
    report('error', path, message, 'Ask its author for a bundle that follows the MCPB manifest.')
    return { diagnostics }
  }

  if (!isObject(manifest)) return broken('manifest.json', 'The manifest is not an object.')
  const { name, server } = manifest
  if (typeof name !== 'string' || name === '' || name === '__proto__')
    return broken('name', 'The manifest has no usable name.')
  if (!isObject(server)) return broken('server', 'The manifest does not say what server it brings.')
  const type = server.type
  if (typeof type !== 'string' || !Object.hasOwn(RUNTIMES, type))
    return broken('server.type', 'The type of its server is not node, python, binary or uv.')
  const start = startOf(type as keyof typeof RUNTIMES, server, place)
  if (typeof start === 'string') return broken('server.mcp_config', start)

  const config = userConfig(manifest.user_config, values, place, report)
  const fill = filler(config.values, place)
  const unknown = unknownKeys(start, config.values)
  for (const key of unknown)
    report('warning', `user_config.${key}`, `The manifest uses "${excerpt(key)}" without defining it.`)
  const runsHere = fitsPlatform(manifest, place.platform)
  if (!runsHere)
    report(
      'error',
      'compatibility.platforms',
      `This bundle is not made for ${place.platform}.`,
      'It is listed as disabled.',
    )

  const entry = {
    command: resolveCommand(fill.one(start.command), type === 'binary', place),
    args: start.args.flatMap(fill.many),
    env: Object.fromEntries(
      Object.entries(start.env)
        .map(([key, value]) => [key, fill.maybe(value)] as const)
        .filter(([key, value]) => value !== undefined && key !== '__proto__'),
    ),
    // Manifests name their files relative to the bundle.
    cwd: place.folder,
    ...(typeof manifest.description === 'string' && { description: manifest.description }),
    ...((config.lacks.length > 0 || !runsHere) && { disabled: true }),
  }
  const offBecause = runsHere ? lackText(config.lacks, place) : `it is not made for ${place.platform}`
  return { server: { name, entry, ...(offBecause !== undefined && { offBecause }) }, diagnostics }
}

/** Which values to give, and where. */
function lackText(lacks: readonly string[], { file }: BundlePlace): string | undefined {
  if (lacks.length === 0) return undefined
  const values = lacks.map((key) => `${JSON.stringify(excerpt(key))}: …`).join(', ')
  return `it needs ${lacks.length === 1 ? 'a value' : 'values'} for ${lacks.map(excerpt).join(', ')}; write {"path": ${JSON.stringify(file)}, "userConfig": {${values}}} under "plugins" where it is switched on`
}

interface Start {
  readonly command: string
  readonly args: readonly string[]
  readonly env: Readonly<Record<string, string>>
}

/** How to start it, variables unexpanded; a string is the reason why it cannot. */
function startOf(type: keyof typeof RUNTIMES, server: JsonObject, place: BundlePlace): Start | string {
  const config = server.mcp_config
  if (config === undefined) {
    const entry = entryPoint(server)
    if (entry === undefined)
      return 'The manifest has neither mcp_config nor an entry_point inside the bundle.'
    return { ...RUNTIMES[type](type === 'uv' ? entry : `${dirVariable}/${entry}`, place.platform), env: {} }
  }
  if (!isObject(config)) return 'mcp_config is not an object.'
  const overrides = config.platform_overrides
  const own =
    isObject(overrides) && Object.hasOwn(overrides, place.platform) ? overrides[place.platform] : undefined
  const override = isObject(own) ? own : {}
  const command = override.command ?? config.command
  const args = override.args ?? config.args ?? []
  const env = { ...asObject(config.env), ...asObject(override.env) }
  if (typeof command !== 'string' || command === '') return 'mcp_config.command is not a text.'
  if (!Array.isArray(args) || !args.every((arg) => typeof arg === 'string'))
    return 'mcp_config.args is not a list of texts.'
  if (!Object.values(env).every((value) => typeof value === 'string'))
    return 'mcp_config.env is not an object of texts.'
  return { command, args, env: env as Record<string, string> }
}

const asObject = (value: unknown): JsonObject => (isObject(value) ? value : {})

/** The entry point, if it is a path inside the bundle. */
export function entryPoint(server: JsonObject): string | undefined {
  const entry = server.entry_point
  if (typeof entry !== 'string' || entry === '' || /[\\\0]/.test(entry)) return undefined
  // On Windows a path that begins with a slash is absolute too.
  if (win32.isAbsolute(entry) || posix.normalize(entry).startsWith('..')) return undefined
  return posix.normalize(entry)
}

function fitsPlatform(manifest: JsonObject, platform: NodeJS.Platform): boolean {
  const platforms = asObject(manifest.compatibility).platforms
  return !Array.isArray(platforms) || platforms.includes(platform)
}

/** A command with a slash is a file of the bundle; on Windows a program may be named without its `.exe`. */
function resolveCommand(command: string, isBinary: boolean, place: BundlePlace): string {
  const path = place.platform === 'win32' ? win32 : posix
  if (!/[\\/]/.test(command)) return command
  const file = path.isAbsolute(command) ? command : path.join(place.folder, command)
  return isBinary && place.platform === 'win32' && path.extname(file) === '' ? `${file}.exe` : file
}

type Report = (severity: 'error' | 'warning', path: string, message: string, hint?: string) => void

function userConfig(
  definitions: unknown,
  values: UserValues,
  place: BundlePlace,
  report: Report,
): { values: ReadonlyMap<string, Value | undefined>; lacks: readonly string[] } {
  const filled = new Map<string, Value | undefined>()
  const lacks: string[] = []
  const places = filler(new Map(), place)
  for (const [key, definition] of Object.entries(asObject(definitions))) {
    if (!isObject(definition)) continue
    const path = `user_config.${key}`
    const title =
      typeof definition.title === 'string' ? `${excerpt(key)} (${excerpt(definition.title)})` : excerpt(key)
    const given = Object.hasOwn(values, key) ? values[key] : undefined
    const value = usable(given ?? definition.default, definition)
    if (typeof value === 'object' && 'wrong' in value) {
      report(
        'error',
        path,
        `The value for ${title} is not ${value.wrong}.`,
        `Correct ${JSON.stringify(excerpt(key))} in its "userConfig" under "plugins".`,
      )
      lacks.push(key)
    } else if (value === undefined && definition.required === true) {
      const secret = definition.sensitive === true ? ` It is a secret: give it as a variable, \${NAME}.` : ''
      report(
        'error',
        path,
        `This bundle needs a value for ${title}.`,
        `Write "userConfig": {${JSON.stringify(excerpt(key))}: …} beside its "path" under "plugins".${secret}`,
      )
      lacks.push(key)
    }
    const text = typeof value === 'object' && 'wrong' in value ? undefined : value
    // Only the author's defaults may use place variables; what the user wrote stays as it is.
    filled.set(key, given === undefined ? fillPlaces(text, places.one) : text)
  }
  for (const key of Object.keys(values))
    if (!filled.has(key))
      report('warning', `user_config.${key}`, `This bundle has no setting named "${excerpt(key)}".`)
  return { values: filled, lacks }
}

const fillPlaces = (value: Value | undefined, one: (text: string) => string): Value | undefined =>
  typeof value === 'string' ? one(value) : value?.map(one)

/** The value as text, or what it should have been. */
function usable(value: unknown, definition: JsonObject): Value | undefined | { readonly wrong: string } {
  if (value === undefined || value === null || value === '') return undefined
  if (definition.multiple === true) {
    const list = Array.isArray(value) ? value : [value]
    return list.every((item) => typeof item === 'string') ? list : { wrong: 'a list of texts' }
  }
  const { type, min, max } = definition
  if (type === 'boolean') return typeof value === 'boolean' ? String(value) : { wrong: 'true or false' }
  if (type === 'number') {
    if (typeof value !== 'number' || !Number.isFinite(value)) return { wrong: 'a number' }
    if (typeof min === 'number' && value < min) return { wrong: `${min} or more` }
    if (typeof max === 'number' && value > max) return { wrong: `${max} or less` }
    return String(value)
  }
  return typeof value === 'string' ? value : { wrong: 'a text' }
}

// No brace inside braces, or a text full of `${` takes quadratic time.
const VARIABLE = /\$\{([^{}]*)\}/g
const USER = 'user_config.'

function unknownKeys(start: Start, known: ReadonlyMap<string, unknown>): ReadonlySet<string> {
  const texts = [start.command, ...start.args, ...Object.values(start.env)]
  const used = texts.flatMap((text) => [...text.matchAll(VARIABLE)].map((match) => match[1] ?? ''))
  return new Set(
    used
      .filter((inner) => inner.startsWith(USER))
      .map((inner) => inner.slice(USER.length))
      .filter((key) => !known.has(key)),
  )
}

/** Expands the variables of a manifest. Others, such as `${PATH}`, are left to the expansion of every entry. */
function filler(values: ReadonlyMap<string, Value | undefined>, place: BundlePlace) {
  const path = place.platform === 'win32' ? win32 : posix
  const places: ReadonlyMap<string, string> = new Map([
    ['__dirname', place.folder],
    ['HOME', place.home],
    ['DESKTOP', path.join(place.home, 'Desktop')],
    ['DOCUMENTS', path.join(place.home, 'Documents')],
    ['DOWNLOADS', path.join(place.home, 'Downloads')],
    ['pathSeparator', path.sep],
    ['/', path.sep],
  ])
  const look = (inner: string): Value | undefined =>
    inner.startsWith(USER) ? values.get(inner.slice(USER.length)) : places.get(inner)

  const one = (text: string): string =>
    text.replace(VARIABLE, (match, inner: string) => {
      const value = look(inner)
      if (value === undefined) return inner.startsWith(USER) ? '' : match
      return typeof value === 'string' ? value : value.join(',')
    })
  /** The value, when the text consists of exactly one user value: `{ value }`, undefined when it was not given. */
  const sole = (text: string): { readonly value: Value | undefined } | undefined => {
    const inner = /^\$\{([^{}]*)\}$/.exec(text)?.[1]
    return inner?.startsWith(USER) ? { value: look(inner) } : undefined
  }

  return {
    one,
    /** An argument: a list becomes several, a missing value none. */
    many(text: string): readonly string[] {
      const user = sole(text)
      if (!user) return [one(text)]
      return user.value === undefined ? [] : typeof user.value === 'string' ? [user.value] : user.value
    },
    /** An environment variable: not set when its value was not given. */
    maybe(text: string): string | undefined {
      const user = sole(text)
      return user && user.value === undefined ? undefined : one(text)
    },
  }
}
