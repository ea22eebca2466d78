// schema.ts: what a user may write, as Zod schemas, and its normalisation to an entry. One fault gives one
// diagnostic, whose position the caller adds; here a fault has only a path.
import * as z from 'zod/mini'
import { nearest } from '../text/nearest.ts'
import type { ServerEntry, TransportType } from './entry.ts'
import { maskUrl, maskValue } from './mask.ts'
import { type EntryKind, TRANSPORTS, WRITTEN_TYPES } from './transport-traits.ts'

export interface SchemaFault {
  readonly severity: 'error' | 'warning'
  readonly path: readonly (string | number)[]
  readonly message: string
  readonly hint?: string
  /** A key that does not exist; a value of the wrong type or out of range, where the hint is only for a file. */
  readonly kind?: 'unknown-key' | 'value'
}

export type EntryOutcome =
  | { readonly ok: true; readonly entry: ServerEntry; readonly faults: readonly SchemaFault[] }
  | { readonly ok: false; readonly faults: readonly SchemaFault[] }

const text = z.string('expected a string')
const filled = z.string('expected a string').check(z.minLength(1, 'must not be empty'))
const flag = z.boolean('expected true or false')
const names = z.array(text, 'expected a list of strings')
/** `"PORT": 3000` is common and can only mean the string. */
const stringMap = z.record(
  z.string(),
  z.union([z.string(), z.number(), z.boolean()], 'expected a string'),
  'expected an object of strings',
)
const positive = z
  .number('expected a number')
  .check(z.gt(0, 'must be greater than 0'), z.lte(2 ** 31 - 1, 'is too large'))
const count = z
  .int('expected a whole number')
  .check(z.gte(0, 'must be 0 or more'), z.lte(1000, 'is too large'))
const port = z
  .int('expected a port number')
  .check(z.gte(1, 'ports are 1 to 65535'), z.lte(65535, 'ports are 1 to 65535'))
const mode = z.enum(['allow', 'ask', 'deny'], 'expected "allow", "ask" or "deny"')

const permissions = z.object(
  {
    allowedTools: z.optional(names),
    deniedTools: z.optional(names),
    allowedResources: z.optional(names),
    readPermission: z.optional(mode),
    writePermission: z.optional(mode),
  },
  'expected an object',
)
const oauth = z.object(
  {
    clientId: z.optional(filled),
    callbackPort: z.optional(port),
    authServerMetadataUrl: z.optional(filled),
    scopes: z.optional(z.union([names, text], 'expected a list of strings')),
    xaa: z.optional(flag),
  },
  'expected an object',
)
const reconnect = z.object(
  { maxAttempts: z.optional(count), delayMs: z.optional(positive), retryMs: z.optional(positive) },
  'expected an object',
)

const common = {
  timeout: z.optional(positive),
  connectTimeout: z.optional(positive),
  disabled: z.optional(flag),
  reconnect: z.optional(reconnect),
  permissions: z.optional(permissions),
  alwaysLoad: z.optional(z.union([flag, names], 'expected true, false or a list of tool names')),
  concurrentTools: z.optional(names),
  description: z.optional(text),
  roots: z.optional(z.union([z.literal(false), z.array(filled)], 'expected false or a list of folders')),
  share: z.optional(z.enum(['user', 'project', 'session'], 'expected "user", "project" or "session"')),
}
const remote = {
  url: filled,
  headers: z.optional(stringMap),
  headersHelper: z.optional(filled),
  oauth: z.optional(oauth),
}
/** The keys that an entry of each kind may have. */
const shapes = {
  command: z.object({
    ...common,
    type: z.optional(text),
    command: filled,
    args: z.optional(
      z.array(
        z.union([z.string(), z.number(), z.boolean()], 'expected a string'),
        'expected a list of strings',
      ),
    ),
    env: z.optional(stringMap),
    cwd: z.optional(filled),
    inheritEnv: z.optional(flag),
  }),
  // `id`: of a connector behind a proxy; its address is all that is needed.
  remote: z.object({ ...common, ...remote, type: z.optional(text), id: z.optional(text) }),
  editor: z.object({
    ...common,
    type: text,
    url: z.optional(filled),
    ideName: z.optional(text),
    headers: z.optional(stringMap),
  }),
  'in-process': z.object({ ...common, type: text, name: z.optional(filled) }),
}

export function readEntry(written: unknown): EntryOutcome {
  if (typeof written !== 'object' || written === null || Array.isArray(written))
    return refuse(
      [],
      `expected an object, found ${describe(written)}`,
      'Write { "command": … } or { "url": … }.',
    )
  const given = written as Readonly<Record<string, unknown>>
  const kind = kindOf(given)
  if ('fault' in kind) return { ok: false, faults: [kind.fault] }
  const { type, shape, guessed } = kind
  const faults: SchemaFault[] = unknownKeys(given, shape)
  const checked = shapes[shape].safeParse(given)
  if (!checked.success) {
    // One value can break two rules at once ([] is no string, and empty); one place is one fault.
    const places = new Map<string, SchemaFault>()
    for (const issue of checked.error.issues) {
      const place = issue.path.join('\n')
      if (!places.has(place)) places.set(place, explainIssue(issue, given))
    }
    faults.push(...places.values())
    return { ok: false, faults }
  }
  const urlFault = checkUrl(given['url'], type)
  if (urlFault) return { ok: false, faults: [...faults, urlFault] }
  faults.push(...coercions(given))
  return { ok: true, entry: normalise(checked.data as Record<string, unknown>, type, guessed), faults }
}

type Kind =
  | { readonly type: TransportType; readonly shape: EntryKind; readonly guessed: boolean }
  | { readonly fault: SchemaFault }

function kindOf(given: Readonly<Record<string, unknown>>): Kind {
  const { type } = given
  if (type === undefined) {
    if (given['command'] !== undefined) return { type: 'stdio', shape: 'command', guessed: false }
    if (given['url'] !== undefined) return { type: 'http', shape: 'remote', guessed: true }
    return {
      fault: {
        severity: 'error',
        path: [],
        message: 'has neither "command" nor "url"',
        hint:
          foreignHint(given) ??
          misspelled(given) ??
          'Add "command" for a local server or "url" for a remote one.',
      },
    }
  }
  const known = typeof type === 'string' ? WRITTEN_TYPES.get(type) : undefined
  if (known) return { type: known, shape: TRANSPORTS[known].kind, guessed: false }
  return {
    fault: {
      severity: 'error',
      path: ['type'],
      message: `unknown type ${JSON.stringify(type)}`,
      hint: `Expected one of ${[...WRITTEN_TYPES.keys()].join(', ')}.`,
    },
  }
}

/** Entries copied from another product are a common mistake, and easy to recognise. */
function foreignHint(given: Readonly<Record<string, unknown>>): string | undefined {
  if ('serverUrl' in given)
    return '"serverUrl" is the key of Windsurf: write "url", or run `plugboard import windsurf`.'
  if ('httpUrl' in given)
    return '"httpUrl" is the key of Gemini: write "url", or run `plugboard import gemini`.'
  if ('mcpServers' in given || 'servers' in given)
    return 'This is a list of servers, not one server; put it under "mcpServers" at the top of the file.'
  return undefined
}

/** `comand` for `command`. */
function misspelled(given: Readonly<Record<string, unknown>>): string | undefined {
  for (const key of Object.keys(given)) {
    const close = nearest(key, ['command', 'url'])
    if (close) return `"${key}" is not a key. Did you mean "${close}"?`
  }
  return undefined
}

function unknownKeys(given: Readonly<Record<string, unknown>>, shape: EntryKind): SchemaFault[] {
  const inside = Object.entries({ permissions, oauth, reconnect }).flatMap(([field, { shape: fields }]) =>
    Object.hasOwn(shapes[shape].shape, field)
      ? unknownKeysIn(given[field], Object.keys(fields), [field], shape)
      : [],
  )
  return [...unknownKeysIn(given, Object.keys(shapes[shape].shape), [], shape), ...inside]
}

function unknownKeysIn(
  given: unknown,
  known: readonly string[],
  path: readonly string[],
  shape: EntryKind,
): SchemaFault[] {
  if (typeof given !== 'object' || given === null || Array.isArray(given)) return []
  return Object.keys(given)
    .filter((key) => !known.includes(key))
    .map((key) => ({
      severity: 'warning' as const,
      kind: 'unknown-key' as const,
      path: [...path, key],
      message: `unknown key "${key}"`,
      hint: keyHint(key, known, shape),
    }))
}

function keyHint(key: string, known: readonly string[], shape: EntryKind): string {
  const close = nearest(key, known)
  if (close) return `Did you mean "${close}"?`
  if (shape === 'command' && key === 'url')
    return 'The entry has a "command", so its "url" is ignored; keep one of them.'
  if (shape !== 'command' && ['command', 'args', 'env', 'cwd'].includes(key))
    return `"${key}" belongs to a local server (type "stdio"); it is ignored here.`
  return 'It is ignored.'
}

function explainIssue(issue: z.core.$ZodIssue, given: unknown): SchemaFault {
  const path = issue.path.filter((step) => typeof step !== 'symbol')
  const found = path.reduce<unknown>((at, step) => (at as Record<string, unknown> | undefined)?.[step], given)
  if (found === undefined)
    return {
      severity: 'error',
      path: path.slice(0, -1),
      message: `"${String(path.at(-1))}" is missing`,
      hint: 'Add it.',
    }
  const wrongType =
    issue.code === 'invalid_type' || issue.code === 'invalid_union' || issue.code === 'invalid_value'
  return {
    severity: 'error',
    kind: 'value',
    path,
    message: wrongType ? `${issue.message}, found ${describe(found, String(path.at(-1)))}` : issue.message,
    hint: 'Correct it; until then the entry is skipped.',
  }
}

/** A message may end up in a log, so a value in it is masked. */
function describe(value: unknown, name = ''): string {
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'a list'
  if (typeof value === 'object') return 'an object'
  if (typeof value === 'string') {
    const shown = maskValue(name, value)
    return `the string ${JSON.stringify(shown.length > 40 ? `${shown.slice(0, 40)}…` : shown)}`
  }
  return `the ${typeof value} ${String(value)}`
}

function checkUrl(url: unknown, type: TransportType): SchemaFault | undefined {
  const schemes: readonly string[] = TRANSPORTS[type].schemes
  if (typeof url !== 'string' || schemes.length === 0 || url.includes('${')) return undefined
  const fault = (message: string, hint: string): SchemaFault => ({
    severity: 'error',
    path: ['url'],
    message,
    hint,
  })
  if (!URL.canParse(url))
    return fault(`"${maskUrl(url)}" is not a URL`, 'Write it whole, as in "https://example.com/mcp".')
  const { protocol, username, password } = new URL(url)
  if (!schemes.includes(protocol))
    return fault(
      `a server of type "${type}" cannot have a ${protocol} URL`,
      `Expected ${schemes.map((scheme) => `${scheme}//`).join(' or ')}.`,
    )
  if (username || password)
    return fault(
      'the URL carries a user name or password',
      'Put credentials into "headers", from a ${VARIABLE}.',
    )
  return undefined
}

/** Numbers and booleans where strings belong are converted to text, with a note. */
function coercions(given: Readonly<Record<string, unknown>>): SchemaFault[] {
  const faults: SchemaFault[] = []
  for (const field of ['args', 'env', 'headers'])
    for (const [key, value] of Object.entries((given[field] ?? {}) as object))
      if (typeof value !== 'string')
        faults.push({
          severity: 'warning',
          kind: 'value',
          path: [field, Array.isArray(given[field]) ? Number(key) : key],
          message: `expected a string, found ${Array.isArray(given[field]) ? describe(value) : `a ${typeof value}`}`,
          hint: 'It is taken as text; put it in double quotes.',
        })
  return faults
}

function normalise(
  data: Readonly<Record<string, unknown>>,
  type: TransportType,
  guessed: boolean,
): ServerEntry {
  const strings = (value: unknown) =>
    Object.fromEntries(Object.entries((value ?? {}) as object).map(([key, item]) => [key, String(item)]))
  const entry: Record<string, unknown> = { ...data, type }
  const { kind } = TRANSPORTS[type]
  if (kind === 'command') {
    entry['args'] = ((data['args'] ?? []) as unknown[]).map(String)
    entry['env'] = strings(data['env'])
  } else if (kind !== 'in-process') entry['headers'] = strings(data['headers'])
  const settings = data['oauth'] as { scopes?: string | string[] } | undefined
  if (typeof settings?.scopes === 'string')
    entry['oauth'] = { ...settings, scopes: settings.scopes.split(/\s+/).filter(Boolean) }
  if (guessed) entry['fallbackToSse'] = true
  // The shape was checked above field by field; `type` names the arm of the union.
  return entry as unknown as ServerEntry
}

function refuse(path: readonly (string | number)[], message: string, hint: string): EntryOutcome {
  return { ok: false, faults: [{ severity: 'error', path, message, hint }] }
}

/** One server as JSON Schema describes it, for editors. */
export const writtenEntrySchema = z.union([
  shapes.command,
  shapes.remote,
  shapes.editor,
  shapes['in-process'],
])
/** The kinds of that union in its order, and the value of `type` for each. */
export const entryKinds = (
  [
    ['a local server', 'command'],
    ['a remote server', 'remote'],
    ["an editor's server", 'editor'],
    ['a server of the embedding program', 'in-process'],
  ] as const
).map(([title, kind]) => ({
  title,
  types: [...WRITTEN_TYPES].flatMap(([written, type]) => (TRANSPORTS[type].kind === kind ? [written] : [])),
}))
