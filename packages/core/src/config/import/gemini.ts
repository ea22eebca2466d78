// gemini.ts: Gemini CLI's settings.json. `httpUrl` is HTTP; a bare `url` was SSE in old versions and is tried as HTTP
// first today. A list of names beside the servers disables a server, not a key in its entry.

import { clientFormat } from './client-format.ts'
import { compact, type Fields } from './fields.ts'
import {
  type Ability,
  CLIENT_SECRET,
  oauthOf,
  permissionsOf,
  type RemoteType,
  readStdio,
  readType,
  requireOne,
  serverMap,
  UNKNOWN,
} from './servers.ts'
import { isObject, type JsonObject } from './tree.ts'
import type { ImportNote } from './types.ts'
import { NAME, variable, variableStyle } from './variables.ts'
import { pathOf } from './vscode-family.ts'

const title = 'Gemini CLI'
const CAN: readonly Ability[] = [
  'stdio',
  'http',
  'sse',
  'url',
  'cwd',
  'timeout',
  'disabled',
  'description',
  'oauth.clientId',
  'oauth.scopes',
  'permissions.allowedTools',
  'permissions.deniedTools',
]
const style = variableStyle({
  title,
  spell: variable,
  sameAsOurs: true,
  // Two hexadecimal digits between percent signs are an encoded character of a URL, not a variable of Windows.
  also: [`\\$(${NAME})`, `%(?![0-9A-Fa-f]{2}%)(${NAME})%`],
})

export const gemini = clientFormat({
  id: 'gemini',
  title,
  can: CAN,
  style,

  files(place) {
    const path = pathOf(place)
    return [
      { path: path.join(place.cwd, '.gemini', 'settings.json'), scope: 'project' },
      {
        path: path.join(place.env.GEMINI_CLI_HOME || place.home, '.gemini', 'settings.json'),
        scope: 'user',
      },
    ]
  },

  servers(document, notes) {
    const isOff = switchedOff(document, notes)
    return serverMap(document.mcpServers, 'mcpServers', notes).map(([name, value]) =>
      isOff(name) && isObject(value)
        ? ([name, { ...value, disabled: true }] as const)
        : ([name, value] as const),
    )
  },

  readEntry,

  printEntry(ours) {
    const { kind, command, args, env, cwd, url, headers, timeout, description, clientId, scopes } = ours
    return compact({
      ...{ command, args, env, cwd, timeout, description },
      // Every version understands these: the older ones ignore `type`, the newer ones still read `httpUrl`.
      ...(kind === 'http' ? { httpUrl: url } : { url, type: kind === 'sse' ? 'sse' : undefined }),
      headers,
      includeTools: ours.allowedTools,
      excludeTools: ours.deniedTools,
      oauth: compact({ clientId, scopes }),
    })
  },

  document: (servers, disabled) => ({
    ...(disabled.length > 0 && { mcp: { excluded: disabled } }),
    mcpServers: servers,
  }),
})

/** The names that `mcp.excluded`, or absence from `mcp.allowed`, disable. */
function switchedOff(document: JsonObject, notes: ImportNote[]): (name: string) => boolean {
  const mcp = isObject(document.mcp) ? document.mcp : {}
  const names = (key: string): readonly unknown[] | undefined => {
    const value = mcp[key]
    if (value !== undefined && !Array.isArray(value))
      notes.push({ field: `mcp.${key}`, message: 'A list of names is expected here; it is not read.' })
    return Array.isArray(value) ? value : undefined
  }
  const allowed = names('allowed')
  const excluded = names('excluded') ?? []
  if (mcp.serverCommand !== undefined)
    notes.push({ field: 'mcp.serverCommand', message: 'A server without a name is not carried over.' })
  return (name) => excluded.includes(name) || (allowed !== undefined && !allowed.includes(name))
}

function readEntry(fields: Fields): Record<string, unknown> {
  const type = readType(fields)
  const { command, args, env, cwd } = readStdio(fields)
  const entry = compact({
    ...(command === undefined ? readRemote(fields, type) : { command, args, env, cwd }),
    timeout: fields.number('timeout'),
    disabled: fields.boolean('disabled') || undefined,
    description: fields.plain('description'),
    permissions: permissionsOf(fields.plains('includeTools'), fields.plains('excludeTools')),
  })
  requireOne(entry, 'a command, an httpUrl or a url')
  if (fields.boolean('trust'))
    fields.note(
      'trust',
      `Trust is not given by importing; to have it, allow mcp__${fields.server} in your permissions.`,
    )
  fields.drop('extensionName', 'The extension it came with is left out.')
  fields.leftovers(UNKNOWN)
  return entry
}

function readRemote(fields: Fields, type: RemoteType): Record<string, unknown> {
  const httpUrl = fields.text('httpUrl')
  const address = httpUrl === undefined ? readUrl(fields, type) : { type: 'http', url: httpUrl }
  return { ...address, headers: fields.textMap('headers'), oauth: readOAuth(fields) }
}

/** Without a type, HTTP is tried and then SSE; an address that ends in `/sse` is SSE. */
function readUrl(fields: Fields, type: RemoteType): Record<string, unknown> {
  const url = fields.text('url')
  return { type: type ?? (url !== undefined && /\/sse\/?$/.test(url) ? 'sse' : undefined), url }
}

function readOAuth(fields: Fields): unknown {
  const oauth = fields.object('oauth')
  if (!oauth) return undefined
  if (oauth.boolean('enabled') === false) oauth.note('enabled', 'Logging in cannot be switched off here.')
  oauth.drop('clientSecret', CLIENT_SECRET)
  const ours = oauthOf({ clientId: oauth.text('clientId'), scopes: oauth.plains('scopes') })
  oauth.leftovers(UNKNOWN)
  return ours
}
