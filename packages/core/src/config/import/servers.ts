// servers.ts: the loop over all servers of a document, shared by every client and both directions: it makes names
// legal, keeps one bad entry from affecting the others, and notes what the target format cannot express.
import { CONFIG_LIMITS } from '../../limits.ts'
import { excerpt } from './excerpt.ts'
import { compact, Fields, type Translate, WrongShape } from './fields.ts'
import { isObject, type JsonObject } from './tree.ts'
import type { ImportNote, WrittenEntry } from './types.ts'

/** Converts each entry; `undefined` from `convert` means it was left out and a note says why. */
export function convertEach(
  entries: Iterable<readonly [string, unknown]>,
  notes: ImportNote[],
  translate: Translate,
  convert: (fields: Fields) => Record<string, unknown> | undefined,
): Map<string, Record<string, unknown>> {
  const all = [...entries]
  const list = all.slice(0, CONFIG_LIMITS.entriesPerFile)
  if (list.length < all.length)
    notes.push({ message: `Only the first ${CONFIG_LIMITS.entriesPerFile} servers are converted.` })
  const names = legalNames(list.map(([name]) => name))
  const out = new Map<string, Record<string, unknown>>()
  for (const [index, [original, value]] of list.entries()) {
    const name = names[index] ?? original
    if (original === '__proto__') {
      notes.push({ server: original, message: 'This name is not allowed; the server is left out.' })
      continue
    }
    if (name !== original)
      notes.push({
        server: name,
        field: 'name',
        message: `The name "${excerpt(original)}" is now "${name}": letters, digits, - and _ only.`,
      })
    const entry = convertOne(name, value, notes, translate, convert)
    if (entry) out.set(name, entry)
  }
  return out
}

function convertOne(
  name: string,
  value: unknown,
  notes: ImportNote[],
  translate: Translate,
  convert: (fields: Fields) => Record<string, unknown> | undefined,
): Record<string, unknown> | undefined {
  if (!isObject(value)) {
    notes.push({ server: name, message: 'An object is expected; the server is left out.' })
    return undefined
  }
  // Drop the other notes about a server that is left out, so the one that says so stands out.
  const own: ImportNote[] = []
  try {
    const entry = convert(new Fields(name, value, own, translate))
    // One by one: there may be more of them than a call accepts as arguments.
    for (const note of own) notes.push(note)
    return entry
  } catch (error) {
    if (!(error instanceof WrongShape)) throw error
    const message = `Expected ${error.expected}; the server is left out.`
    notes.push({ server: name, field: error.field, message })
    return undefined
  }
}

/** A legal name for each, all distinct; a name that is already legal is never given to another. */
function legalNames(names: readonly string[]): readonly string[] {
  const taken = new Set([...names.filter(isLegal), '__proto__'])
  return names.map((name) => {
    if (isLegal(name)) return name
    const base =
      name
        .slice(0, CONFIG_LIMITS.nameLength)
        .replace(/[^A-Za-z0-9_-]+/g, '-')
        .replace(/^-+|-+$/g, '')
        .slice(0, CONFIG_LIMITS.nameLength - 6) || 'server'
    let legal = base
    for (let count = 2; taken.has(legal); count++) legal = `${base}-${count}`
    taken.add(legal)
    return legal
  })
}

const isLegal = (name: string) => /^[A-Za-z0-9_-]+$/.test(name) && name.length <= CONFIG_LIMITS.nameLength

/** The servers of a client's document: the object under `key`, or none. */
export function serverMap(
  value: unknown,
  key: string,
  notes: ImportNote[],
): readonly (readonly [string, unknown])[] {
  if (value === undefined || value === null) return []
  if (isObject(value)) return Object.entries(value)
  notes.push({ field: key, message: 'An object of servers is expected here; nothing is read from it.' })
  return []
}

/** Notes the unknown top-level keys of a file that is about servers only. */
export function noteOthers(document: JsonObject, known: readonly string[], notes: ImportNote[]): void {
  for (const key of Object.keys(document))
    if (!known.includes(key) && key !== '$schema')
      notes.push({ field: key, message: 'This part of the file is not carried over.' })
}

export const printJson = (value: unknown) => `${JSON.stringify(value, null, 2)}\n`

const HTTP_NAMES = ['http', 'streamable-http', 'streamableHttp', 'streamable_http', 'streamablehttp']

export type RemoteType = 'http' | 'sse' | undefined

/** `type` as clients write it: ours, or undefined where it adds nothing to `command` or `url`. */
export function readType(fields: Fields, key = 'type'): RemoteType {
  const type = fields.plain(key)
  if (type === undefined || type === 'stdio') return undefined
  if (HTTP_NAMES.includes(type)) return 'http'
  if (type === 'sse') return 'sse'
  throw new WrongShape(key, 'stdio, http or sse')
}

/** The fields that nearly every client has under the same names. */
export function readStdio(fields: Fields): Record<string, unknown> {
  return {
    command: fields.text('command'),
    args: fields.texts('args'),
    env: fields.textMap('env'),
    cwd: fields.text('cwd'),
  }
}

export function requireOne(entry: WrittenEntry, hint: string): void {
  if (entry.command === undefined && entry.url === undefined) throw new WrongShape('command', hint)
}

export const CLIENT_SECRET = 'A client secret is not kept in a file: set MCP_CLIENT_SECRET when you log in.'
export const UNKNOWN = 'This field is not known here and is left out.'

/** Which of our fields a client's entry can express, besides command, args, env, url and headers. */
export type Ability =
  | 'stdio'
  | 'http'
  | 'sse'
  /** A URL whose transport is found by trying. */
  | 'url'
  | 'cwd'
  | 'timeout'
  | 'connectTimeout'
  | 'disabled'
  | 'description'
  | 'permissions.allowedTools'
  | 'permissions.deniedTools'
  | 'oauth.clientId'
  | 'oauth.scopes'
  | 'oauth.callbackPort'
  | 'headersHelper'

/** Our entry, checked and reduced to what the client can express. */
export interface Written {
  readonly kind: 'stdio' | 'http' | 'sse' | 'url'
  readonly command?: string | undefined
  readonly args?: readonly string[] | undefined
  readonly env?: Readonly<Record<string, string>> | undefined
  readonly cwd?: string | undefined
  readonly url?: string | undefined
  readonly headers?: Readonly<Record<string, string>> | undefined
  readonly timeout?: number | undefined
  readonly connectTimeout?: number | undefined
  readonly disabled?: boolean | undefined
  readonly description?: string | undefined
  readonly allowedTools?: readonly string[] | undefined
  readonly deniedTools?: readonly string[] | undefined
  readonly clientId?: string | undefined
  readonly scopes?: readonly string[] | undefined
  readonly callbackPort?: number | undefined
  readonly headersHelper?: string | undefined
}

export interface Target {
  readonly title: string
  readonly can: readonly Ability[]
  /** Leave the strings in `env` and `headers` alone: the client has its own fields for variables in them. */
  readonly rawMaps?: boolean
}

/** Reads one of our entries for `target` and notes what it cannot express. Undefined: the server is left out. */
export function readOurs(fields: Fields, target: Target): Written | undefined {
  const { title } = target
  const can = (ability: Ability) => target.can.includes(ability)
  const leftOut = (field: string, why: string): undefined => {
    fields.note(field, `${why}; the server is left out.`)
    return undefined
  }
  const kind = kindOf(fields)
  if (kind === undefined) return leftOut('type', `${title} has no such kind of server`)
  const substitute = can(kind) ? kind : insteadOf(kind, can)
  if (substitute === undefined)
    return leftOut(kind === 'stdio' ? 'command' : 'type', `${title} cannot connect to this kind of server`)
  if (substitute !== kind) fields.note('type', changeOfKind(title, kind, substitute))
  if (fields.boolean('disabled') && !can('disabled'))
    return leftOut('disabled', `It is disabled, and ${title} has no switch for that`)
  return writtenFor(fields, target, substitute)
}

function writtenFor(fields: Fields, target: Target, kind: Written['kind']): Written {
  const { title } = target
  const keep = <T>(ability: Ability, field: Fields, value: T | undefined): T | undefined => {
    if (value === undefined || target.can.includes(ability)) return value
    field.note(ability.slice(ability.lastIndexOf('.') + 1), `${title} has no counterpart.`)
    return undefined
  }
  const permissions = fields.object('permissions')
  const oauth = fields.object('oauth')
  const map = (key: string) => (target.rawMaps ? fields.plainMap(key) : fields.textMap(key))
  const written: Written = {
    kind,
    ...(kind === 'stdio'
      ? {
          command: fields.text('command'),
          args: fields.texts('args'),
          env: map('env'),
          cwd: keep('cwd', fields, fields.text('cwd')),
        }
      : {
          url: fields.text('url'),
          headers: map('headers'),
          headersHelper: keep('headersHelper', fields, fields.plain('headersHelper')),
        }),
    timeout: keep('timeout', fields, fields.number('timeout')),
    connectTimeout: keep('connectTimeout', fields, fields.number('connectTimeout')),
    disabled: fields.boolean('disabled'),
    description: keep('description', fields, fields.plain('description')),
    ...(permissions && {
      allowedTools: keep('permissions.allowedTools', permissions, permissions.plains('allowedTools')),
      deniedTools: keep('permissions.deniedTools', permissions, permissions.plains('deniedTools')),
    }),
    ...(oauth && {
      clientId: keep('oauth.clientId', oauth, oauth.text('clientId')),
      scopes: keep('oauth.scopes', oauth, oauth.plains('scopes')),
      callbackPort: keep('oauth.callbackPort', oauth, oauth.number('callbackPort')),
    }),
  }
  for (const part of [permissions, oauth, fields]) part?.leftovers(`${title} has no counterpart.`)
  return written
}

function kindOf(fields: Fields): Written['kind'] | undefined {
  const type = fields.plain('type')
  if (type === 'stdio' || (type === undefined && fields.has('command'))) {
    if (fields.plain('command') === undefined) throw new WrongShape('command', 'a command')
    return 'stdio'
  }
  if (type === undefined || type === 'http' || type === 'streamable-http' || type === 'sse') {
    if (fields.plain('url') === undefined) throw new WrongShape('url', 'a command or a url')
    return type === 'sse' ? 'sse' : type === undefined ? 'url' : 'http'
  }
  return undefined
}

function insteadOf(kind: Written['kind'], can: (ability: Ability) => boolean): Written['kind'] | undefined {
  if (kind === 'stdio') return undefined
  if (kind === 'url') return can('http') ? 'http' : undefined
  return can('url') ? 'url' : undefined
}

function changeOfKind(title: string, from: string, to: string): string {
  if (to === 'url') return `${title} finds out by itself whether a URL is HTTP or SSE; "${from}" is left out.`
  return `${title} takes this URL for HTTP and does not fall back to SSE.`
}

/** The `oauth` of our entry, or undefined when none of it was read. */
export function oauthOf(values: Pick<Written, 'clientId' | 'scopes' | 'callbackPort'>): unknown {
  const oauth = compact(values)
  return Object.keys(oauth).length === 0 ? undefined : oauth
}

export function permissionsOf(
  allowedTools: readonly string[] | undefined,
  deniedTools: readonly string[] | undefined,
): unknown {
  return allowedTools === undefined && deniedTools === undefined
    ? undefined
    : compact({ allowedTools, deniedTools })
}
