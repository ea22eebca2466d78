// policy.ts: which servers an administrator or the person admits. Pure: lists in, verdict out.
import type { ServerEntry } from './entry.ts'
import type { PolicyMatcher, Settings } from './settings.ts'
import type { Scope } from './types.ts'

/** One file's part of the policy. */
export interface PolicyPart {
  readonly file: string
  readonly scope: Scope
  readonly settings: Pick<Settings, 'allowedMcpServers' | 'deniedMcpServers' | 'allowManagedMcpServersOnly'>
}

export type PolicyVerdict =
  | { readonly admitted: true; readonly by: string }
  | { readonly admitted: false; readonly reason: string; readonly file: string }

/** `exempt`: built-ins and what the embedding program hands over pass the allow list; a denial still counts. */
export function admit(
  name: string,
  entry: ServerEntry,
  parts: readonly PolicyPart[],
  exempt: boolean,
): PolicyVerdict {
  for (const { file, settings } of parts)
    for (const matcher of settings.deniedMcpServers ?? [])
      if (matches(matcher, name, entry))
        return { admitted: false, reason: `denied by policy (${describe(matcher)})`, file }
  if (exempt) return { admitted: true, by: 'no allow list applies to it' }

  const managedOnly = parts.some((part) => part.settings.allowManagedMcpServersOnly)
  const lists = parts.filter(
    (part) => part.settings.allowedMcpServers && (!managedOnly || part.scope === 'enterprise'),
  )
  const [first] = lists
  if (!first) {
    const strict = managedOnly && parts.find((part) => part.settings.allowManagedMcpServersOnly)
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
  // Once commands (or URLs) are listed, a name alone no longer admits a server of that kind: names are free to choose.
  const relevant = binding.length > 0 ? binding : allowed
  const hit = relevant.find(({ matcher }) => matches(matcher, name, entry))
  if (hit) return { admitted: true, by: `${describe(hit.matcher)} in ${hit.part.file}` }
  return { admitted: false, reason: 'not on the allow list', file: first.file }
}

function bindsKind(matcher: PolicyMatcher, entry: ServerEntry): boolean {
  return entry.type === 'stdio' ? matcher.serverCommand !== undefined : matcher.serverUrl !== undefined
}

function matches(matcher: PolicyMatcher, name: string, entry: ServerEntry): boolean {
  if (matcher.serverName !== undefined) return matcher.serverName === name
  if (matcher.serverCommand) {
    if (entry.type !== 'stdio') return false
    const words = [entry.command, ...entry.args]
    return (
      words.length === matcher.serverCommand.length &&
      words.every((word, at) => word === matcher.serverCommand?.[at])
    )
  }
  if (matcher.serverUrl === undefined || entry.type === 'stdio' || entry.type === 'sdk') return false
  return entry.url !== undefined && urlMatches(matcher.serverUrl, entry.url)
}

/**
 * `*` stands for any run of characters, but one in the host never reaches into the path: otherwise
 * `https://*.example.com/*` would admit `https://evil.test/.example.com/`.
 */
export function urlMatches(pattern: string, url: string): boolean {
  if (pattern === '*') return true
  if (!URL.canParse(url)) return globMatches(pattern, url)
  const { protocol, host, pathname, search } = new URL(url)
  const cut = /^([^/]*):\/\/([^/]*)(\/.*)?$/.exec(pattern)
  if (!cut) return globMatches(pattern.toLowerCase(), host)
  const [, scheme = '', wantedHost = '', wantedPath = ''] = cut
  if (!globMatches(scheme.toLowerCase(), protocol.slice(0, -1))) return false
  if (!hostMatches(wantedHost.toLowerCase(), host, protocol)) return false
  if (wantedPath === '') return pathname === '/' && search === ''
  return globMatches(wantedPath, pathname + search)
}

function hostMatches(pattern: string, host: string, protocol: string): boolean {
  const usual = { 'https:': ':443', 'wss:': ':443', 'http:': ':80', 'ws:': ':80' }[protocol]
  const plain = usual && pattern.endsWith(usual) ? pattern.slice(0, -usual.length) : pattern
  return globMatches(plain, host)
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
    } else if (at < pattern.length && pattern[at] === text[index]) {
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
