// policy.ts: which servers the administrator or the user admits. Pure: lists in, verdict out.
import { domainToASCII } from 'node:url'
import type { ServerEntry } from './entry.ts'
import type { PolicyMatcher, Settings } from './settings.ts'
import { headersHelperOf, startsCommand, urlOf } from './transport-traits.ts'
import type { Scope } from './types.ts'

/** One file's part of the policy. */
export interface PolicyPart {
  readonly file: string
  readonly scope: Scope
  readonly settings: Pick<Settings, 'allowedMcpServers' | 'deniedMcpServers' | 'allowManagedMcpServersOnly'>
}

/** An unreadable administrator's file: nothing starts until it is repaired. */
export const LOCKED: PolicyPart['settings'] = { allowManagedMcpServersOnly: true, allowedMcpServers: [] }

export type PolicyVerdict =
  | { readonly admitted: true; readonly by: string }
  | { readonly admitted: false; readonly reason: string; readonly file: string }

/** `exempt`: built-ins and servers of the embedding program skip the allow list; a denial still counts. */
export function admit(
  name: string,
  entry: ServerEntry,
  parts: readonly PolicyPart[],
  exempt: boolean,
): PolicyVerdict {
  for (const { file, settings } of parts)
    for (const matcher of settings.deniedMcpServers ?? [])
      if (matches(matcher, name, entry, 'deny'))
        return { admitted: false, reason: `denied by policy (${describe(matcher)})`, file }
  if (exempt) return { admitted: true, by: 'no allow list applies to it' }

  const strict = parts.find((part) => part.settings.allowManagedMcpServersOnly)
  const lists = parts.filter(
    (part) => part.settings.allowedMcpServers && (!strict || part.scope === 'enterprise'),
  )
  const [first] = lists
  if (!first) {
    if (strict)
      return {
        admitted: false,
        reason: 'no managed allow list admits it (allowManagedMcpServersOnly)',
        file: strict.file,
      }
    return { admitted: true, by: 'no policy restricts it' }
  }
  const allowed = lists.flatMap((part) =>
    (part.settings.allowedMcpServers ?? []).map((matcher) => ({ matcher, part })),
  )
  const binding = allowed.filter(({ matcher }) => bindsKind(matcher, entry))
  // Once commands (or URLs) are listed, a name alone no longer admits a server of that kind: anyone can choose a name.
  const relevant = binding.length > 0 ? binding : allowed
  const hit = relevant.find(({ matcher }) => matches(matcher, name, entry, 'allow'))
  if (hit) return { admitted: true, by: `${describe(hit.matcher)} in ${hit.part.file}` }
  const near = relevant.find(({ matcher }) => names(matcher, name, entry, 'allow'))
  if (near)
    return {
      admitted: false,
      reason: `${describe(near.matcher)} does not cover its ${beyond(near.matcher, entry)}`,
      file: near.part.file,
    }
  return { admitted: false, reason: 'not on the allow list', file: first.file }
}

function bindsKind(matcher: PolicyMatcher, entry: ServerEntry): boolean {
  return startsCommand(entry) ? matcher.serverCommand !== undefined : matcher.serverUrl !== undefined
}

function matches(matcher: PolicyMatcher, name: string, entry: ServerEntry, purpose: Purpose): boolean {
  return names(matcher, name, entry, purpose) && (purpose === 'deny' || beyond(matcher, entry) === undefined)
}

/**
 * What an allowed command or URL would do in addition: other variables or another folder run other code with the same
 * command, and a helper is a command of its own. A denial holds whatever is added.
 */
function beyond(matcher: PolicyMatcher, entry: ServerEntry): string | undefined {
  if (matcher.serverUrl !== undefined)
    return headersHelperOf(entry) !== undefined && !matcher.headersHelper ? '"headersHelper"' : undefined
  if (!matcher.serverCommand || !startsCommand(entry)) return undefined
  if (entry.cwd !== undefined && !matcher.cwd) return '"cwd"'
  if (matcher.env === '*') return undefined
  if (entry.inheritEnv) return '"inheritEnv"'
  const more = Object.keys(entry.env).find((name) => !HARMLESS.test(name) && !matcher.env?.includes(name))
  return more === undefined ? undefined : `"env.${more}"`
}

/** Variables that configure output and identity of a program, never what it loads. */
const HARMLESS =
  /^(?:LANG|LANGUAGE|LC_[A-Z]+|TZ|TERM|NO_COLOR|FORCE_COLOR|LOG_LEVEL|[A-Z][A-Z0-9_]*_(?:TOKEN|API_KEY))$/

function names(matcher: PolicyMatcher, name: string, entry: ServerEntry, purpose: Purpose): boolean {
  if (matcher.serverName !== undefined)
    return matcher.serverName === name || (purpose === 'deny' && sameLetters(matcher.serverName, name))
  if (matcher.serverCommand) {
    if (!startsCommand(entry)) return false
    const words = [entry.command, ...entry.args]
    return (
      words.length === matcher.serverCommand.length &&
      words.every((word, at) => {
        const wanted = matcher.serverCommand?.[at] ?? ''
        return word === wanted || (at === 0 && purpose === 'deny' && wanted === programName(word))
      })
    )
  }
  const url = urlOf(entry)
  return matcher.serverUrl !== undefined && url !== undefined && urlMatches(matcher.serverUrl, url, purpose)
}

const sameLetters = (a: string, b: string) => a.toLowerCase() === b.toLowerCase()

/** What a ban calls `npx` is the same program by its path, and with the endings that Windows adds. */
function programName(command: string): string {
  return command
    .slice(Math.max(command.lastIndexOf('/'), command.lastIndexOf('\\')) + 1)
    .replace(/\.(?:exe|cmd|bat|ps1)$/i, '')
}

/** An allow list admits exactly its text; a denial also covers other spellings of the same place. */
type Purpose = 'allow' | 'deny'

/**
 * `*` matches any run of characters, but one in the host never matches into the path: otherwise
 * `https://*.example.com/*` would admit `https://evil.test/.example.com/`. Both sides are compared as a browser would
 * read them (case, default port, international names, without user names). Without a scheme any scheme matches.
 */
export function urlMatches(pattern: string, url: string, purpose: Purpose = 'allow'): boolean {
  if (!URL.canParse(url)) return globMatches(pattern, url)
  const wanted = readPattern(pattern)
  const { protocol, host, pathname, search } = new URL(url)
  const schemes = purpose === 'deny' ? sameWire(protocol) : [protocol]
  if (!schemes.some((scheme) => globMatches(wanted.scheme, scheme.slice(0, -1)))) return false
  if (!hostMatches(wanted.host, host, protocol)) return false
  if (wanted.path === undefined) return true
  if (wanted.path === '') return purpose === 'deny' || (pathname === '/' && search === '')
  const path = plainEscapes(pathname)
  const spellings = [path + search]
  if (purpose === 'deny') spellings.push(path, path.replace(/\/+$/, ''), `${path.replace(/\/+$/, '')}/`)
  return spellings.some((spelling) => globMatches(plainEscapes(wanted.path ?? ''), spelling))
}

interface UrlPattern {
  readonly scheme: string
  readonly host: string
  /** Empty: the bare origin. Undefined: any path. */
  readonly path: string | undefined
}

function readPattern(pattern: string): UrlPattern {
  const [, scheme, host = '', path] = /^(?:([^/]*):\/\/)?([^/]*)(\/.*)?$/s.exec(pattern) ?? []
  // `https://*` and `http://localhost:*` end in a star without a limit; a bare host covers all of it.
  const open = path === undefined && (scheme === undefined || host.endsWith('*'))
  return {
    scheme: (scheme ?? '*').toLowerCase(),
    host: asciiHost(host.toLowerCase()),
    path: open ? undefined : (path ?? ''),
  }
}

const ASCII = /^[\x20-\x7e]*$/

/** International names are compared in their ASCII form. */
function asciiHost(host: string): string {
  const [, name = host, port = ''] = /^(.*?)(:[\d*]*)?$/.exec(host) ?? []
  const labels = name.split('.').map((label) => (ASCII.test(label) ? label : domainToASCII(label) || label))
  return labels.join('.').replace(/\.$/, '') + port
}

function hostMatches(pattern: string, host: string, protocol: string): boolean {
  const usual = { 'https:': ':443', 'wss:': ':443', 'http:': ':80', 'ws:': ':80' }[protocol]
  const plain = usual && pattern.endsWith(usual) ? pattern.slice(0, -usual.length) : pattern
  // A name with a trailing root dot is the same name.
  return globMatches(plain, host.replace(/\.(?=:\d+$|$)/, ''))
}

/** A WebSocket starts as an HTTP request to the same place. */
function sameWire(protocol: string): readonly string[] {
  const equivalents: Readonly<Record<string, string>> = {
    'ws:': 'http:',
    'wss:': 'https:',
    'http:': 'ws:',
    'https:': 'wss:',
  }
  const equivalent = equivalents[protocol]
  return equivalent === undefined ? [protocol] : [protocol, equivalent]
}

/** Letters and digits mean the same escaped or not. */
function plainEscapes(path: string): string {
  return path.replace(/%[0-9a-f]{2}/gi, (written) => {
    const char = String.fromCharCode(Number.parseInt(written.slice(1), 16))
    return /[A-Za-z0-9._~-]/.test(char) ? char : written.toUpperCase()
  })
}

/** Linear in practice and never exponential, whatever the pattern. */
export function globMatches(pattern: string, text: string): boolean {
  let at = 0
  let star = -1
  let mark = 0
  let index = 0
  while (index < text.length) {
    if (pattern[at] === '*') {
      star = at++
      mark = index
    } else if (pattern[at] === text[index]) {
      at++
      index++
    } else if (star >= 0) {
      at = star + 1
      index = ++mark
    } else return false
  }
  while (pattern[at] === '*') at++
  return at === pattern.length
}

function describe(matcher: PolicyMatcher): string {
  if (matcher.serverName !== undefined) return `serverName "${matcher.serverName}"`
  if (matcher.serverCommand) return `serverCommand ${JSON.stringify(matcher.serverCommand)}`
  return `serverUrl "${matcher.serverUrl}"`
}
