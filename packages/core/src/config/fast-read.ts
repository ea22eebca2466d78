// fast-read.ts: the fast reader for the common case: strict JSON, known keys, right types, one definition per name.
// It returns exactly what document.ts would, or nothing; then document.ts reads the file and reports what is wrong
// and where. This path loads neither the tolerant parser nor the schemas, which keeps start-up fast.
import { isObject } from '../json.ts'
import { CONFIG_LIMITS } from '../limits.ts'
import { isOwnEntry } from './adopt/own-entry.ts'
import type { ConfigDocument, Definition } from './document.ts'
import type { ServerEntry } from './entry.ts'
import { nameFault } from './names.ts'
import type { Settings } from './settings.ts'
import type { Source } from './sources.ts'

type Json = Readonly<Record<string, unknown>>

export function readPlain(text: string, source: Source, root: string): ConfigDocument | undefined {
  // Managed files are rare and important.
  if (source.shape === 'managed-mcp') return undefined
  const top = parseStrictly(text)
  if (!isObject(top)) return undefined
  const servers = serversOf(top, source, root)
  if (servers === undefined) return undefined
  const prefix =
    source.shape === 'claude-json-project' ? `projects[${JSON.stringify(root)}].mcpServers` : 'mcpServers'
  const definitions: Definition[] = []
  for (const [name, written] of Object.entries(servers)) {
    const entry = nameFault(name) ? undefined : plainEntry(written)
    // What becomes of an entry that is this board itself is the full reader's matter.
    if (!entry || isOwnEntry(entry)) return undefined
    definitions.push({ name, source, path: `${prefix}.${name}`, written, entry, faults: [] })
  }
  if (definitions.length > CONFIG_LIMITS.entriesPerFile) return undefined
  const settings = source.shape === 'settings' ? plainSettings(top, source) : {}
  return settings && { source, definitions, settings, diagnostics: [] }
}

/** JSON.parse, but undefined for what it would hide: repeated keys, prototype keys, deep nesting. */
function parseStrictly(text: string): unknown {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    // Comments, a byte order mark or a real fault: document.ts reads the file.
    return undefined
  }
  const keys = countKeys(value, 0)
  return keys !== undefined && keys === writtenKeys(text) ? value : undefined
}

/** Members in the data; undefined when one of them needs the full reader. */
function countKeys(value: unknown, depth: number): number | undefined {
  if (typeof value !== 'object' || value === null) return 0
  if (depth >= CONFIG_LIMITS.depth) return undefined
  let count = 0
  if (Array.isArray(value)) {
    for (const item of value) {
      const inner = countKeys(item, depth + 1)
      if (inner === undefined) return undefined
      count += inner
    }
    return count
  }
  for (const key of Object.keys(value)) {
    if (key === '__proto__') return undefined
    const inner = countKeys((value as Json)[key], depth + 1)
    if (inner === undefined) return undefined
    count += inner + 1
  }
  return count
}

/**
 * Members in the text, which is valid JSON: strings that a colon follows. Every string is consumed, so none is mistaken for
 * a key. One pass by hand: a regular expression runs out of stack on a string of a few megabytes.
 */
function writtenKeys(text: string): number {
  let count = 0
  for (let start = text.indexOf('"'); start !== -1; ) {
    let end = text.indexOf('"', start + 1)
    while (isEscaped(text, end)) end = text.indexOf('"', end + 1)
    let next = end + 1
    while (WHITESPACE.has(text.charAt(next))) next++
    if (text.charAt(next) === ':') count++
    start = text.indexOf('"', next)
  }
  return count
}

const WHITESPACE: ReadonlySet<string> = new Set(' \t\n\r')

/** An odd number of backslashes stands before it. */
function isEscaped(text: string, at: number): boolean {
  let before = at
  while (text.charAt(before - 1) === '\\') before--
  return (at - before) % 2 === 1
}

function serversOf(top: Json, source: Source, root: string): Json | undefined {
  const part =
    source.shape === 'claude-json-project'
      ? within(within(top['projects'])?.[root])?.['mcpServers']
      : top['mcpServers']
  if (part !== undefined) return isObject(part) ? part : undefined
  // The flat shape, and anything else unusual, is left to the full reader.
  return source.shape === 'mcp-json' ? undefined : {}
}

function within(value: unknown): Json | undefined {
  return isObject(value) ? value : undefined
}

type Check = (value: unknown) => boolean
const text: Check = (value) => typeof value === 'string'
const filled: Check = (value) => typeof value === 'string' && value !== ''
const flag: Check = (value) => typeof value === 'boolean'
const texts: Check = (value) => Array.isArray(value) && value.every(text)
const textMap: Check = (value) => isObject(value) && Object.values(value).every(text)
const folders: Check = (value) => value === false || (Array.isArray(value) && value.every(filled))
const millis: Check = (value) => typeof value === 'number' && value > 0 && value <= 2 ** 31 - 1

const COMMON: Readonly<Record<string, Check>> = {
  type: text,
  disabled: flag,
  timeout: millis,
  connectTimeout: millis,
  description: text,
  roots: folders,
}
const STDIO: Readonly<Record<string, Check>> = {
  ...COMMON,
  command: filled,
  args: texts,
  env: textMap,
  cwd: filled,
}
const REMOTE: Readonly<Record<string, Check>> = { ...COMMON, url: filled, headers: textMap }

/** A plain entry, normalised. */
function plainEntry(written: unknown): ServerEntry | undefined {
  if (!isObject(written)) return undefined
  const { type, command, url } = written
  if (typeof command === 'string' && (type === undefined || type === 'stdio')) {
    if (!fits(written, STDIO)) return undefined
    const { args = [], env = {} } = written
    return { ...written, type: 'stdio', args, env } as unknown as ServerEntry
  }
  if (typeof url !== 'string' || (type !== 'http' && type !== 'sse')) return undefined
  if (!fits(written, REMOTE) || !plainUrl(url)) return undefined
  return { ...written, headers: written['headers'] ?? {} } as unknown as ServerEntry
}

function fits(written: Json, checks: Readonly<Record<string, Check>>): boolean {
  for (const key of Object.keys(written)) {
    if (!Object.hasOwn(checks, key) || !checks[key]?.(written[key])) return false
  }
  return true
}

/** Host and path of ordinary characters; no credentials, no variables. */
function plainUrl(url: string): boolean {
  return /^https?:\/\/[A-Za-z0-9.-]+(:\d{1,5})?(\/[\w./~-]*)?$/.test(url) && URL.canParse(url)
}

const SETTINGS: Readonly<Record<string, Check>> = {
  $schema: text,
  mcpServers: isObject,
  disabledServers: texts,
  disabledMcpjsonServers: texts,
}

function plainSettings(top: Json, source: Source): Settings | undefined {
  const settings: Record<string, unknown> = {}
  for (const key of Object.keys(top)) {
    const check = Object.hasOwn(SETTINGS, key) ? SETTINGS[key] : undefined
    if (!check) {
      // Other products have their own keys; those that we use go to the full reader.
      if (source.product === 'claude' && !CAREFUL.has(key)) continue
      return undefined
    }
    if (!check(top[key])) return undefined
    if (key.startsWith('disabled')) settings[key] = top[key]
  }
  return settings
}

const CAREFUL = new Set([
  'allowedMcpServers',
  'deniedMcpServers',
  'allowManagedMcpServersOnly',
  'managedServers',
  'claudeaiServers',
  'logins',
  'gateway',
  'tools',
  'profiles',
  'audit',
  'resident',
  'builtins',
  'models',
  'plugins',
  'enabledPlugins',
  'permissions',
  'hooks',
])
