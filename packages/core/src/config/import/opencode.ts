// opencode.ts: opencode.json(c), servers under `mcp` (version 2: under `mcp.servers`). Command and arguments are one
// list; a remote server is tried as HTTP and then as SSE.

import { clientFormat } from './client-format.ts'
import { compact, type Fields, WrongShape } from './fields.ts'
import { type Ability, CLIENT_SECRET, oauthOf, serverMap, UNKNOWN } from './servers.ts'
import { isObject, type JsonObject } from './tree.ts'
import type { ImportNote } from './types.ts'
import { variableStyle } from './variables.ts'
import { pathOf } from './vscode-family.ts'

const title = 'opencode'
const CAN: readonly Ability[] = [
  'stdio',
  'url',
  'cwd',
  'timeout',
  'disabled',
  'oauth.clientId',
  'oauth.scopes',
  'oauth.callbackPort',
]
const style = variableStyle({ title, spell: (name) => `{env:${name}}`, foreign: '\\{file:[^{}]*\\}' })

export const opencode = clientFormat({
  id: 'opencode',
  title,
  can: CAN,
  style,

  files(place) {
    const path = pathOf(place)
    const both = (...parts: string[]) =>
      ['opencode.json', 'opencode.jsonc'].map((name) => path.join(...parts, name))
    const custom = place.env.OPENCODE_CONFIG
    const config = place.env.XDG_CONFIG_HOME || path.join(place.home, '.config')
    return [
      ...both(place.cwd).map((file) => ({ path: file, scope: 'project' as const })),
      ...both(place.cwd, '.opencode').map((file) => ({ path: file, scope: 'project' as const })),
      ...(custom ? [{ path: custom, scope: 'user' as const }] : []),
      ...both(config, 'opencode').map((file) => ({ path: file, scope: 'user' as const })),
    ]
  },

  servers: entriesOf,
  readEntry,

  printEntry(ours) {
    const { command, args = [], env, cwd, url, headers, timeout, clientId, callbackPort } = ours
    return compact({
      ...(ours.kind === 'stdio'
        ? { type: 'local', command: [command, ...args], environment: env, cwd }
        : {
            type: 'remote',
            url,
            headers,
            oauth: compact({ clientId, scope: ours.scopes?.join(' '), callbackPort }),
          }),
      enabled: ours.disabled ? false : undefined,
      timeout,
    })
  },

  document: (servers) => ({ $schema: 'https://opencode.ai/config.json', mcp: servers }),
})

function entriesOf(document: JsonObject, notes: ImportNote[]) {
  const mcp = document.mcp
  if (!isObject(mcp) || !isObject(mcp.servers) || typeof mcp.servers.type === 'string')
    return serverMap(mcp, 'mcp', notes)
  for (const key of Object.keys(mcp))
    if (key !== 'servers') notes.push({ field: `mcp.${key}`, message: 'This setting is not carried over.' })
  return serverMap(mcp.servers, 'mcp.servers', notes)
}

function readEntry(fields: Fields): Record<string, unknown> {
  const type = fields.plain('type')
  if (type !== 'local' && type !== 'remote') throw new WrongShape('type', '"local" or "remote"')
  const entry = compact({
    ...(type === 'local' ? readLocal(fields) : readRemote(fields)),
    timeout: typeof fields.any('timeout') === 'object' ? undefined : fields.number('timeout'),
    disabled: fields.boolean('enabled') === false || fields.boolean('disabled') || undefined,
  })
  if (typeof fields.any('timeout') === 'object')
    fields.note('timeout', 'Several timeouts for one server have no counterpart; they are left out.')
  fields.leftovers(UNKNOWN)
  return entry
}

function readLocal(fields: Fields): Record<string, unknown> {
  const list = typeof fields.any('command') === 'string' ? [fields.text('command')] : fields.texts('command')
  const [command, ...args] = list ?? []
  if (!command) throw new WrongShape('command', 'a list of the command and its arguments')
  return {
    command,
    args: args.length > 0 ? args : undefined,
    env: fields.textMap('environment'),
    cwd: fields.text('cwd'),
  }
}

function readRemote(fields: Fields): Record<string, unknown> {
  const url = fields.text('url')
  if (url === undefined) throw new WrongShape('url', 'a url')
  return { url, headers: fields.textMap('headers'), oauth: readOAuth(fields) }
}

function readOAuth(fields: Fields): unknown {
  if (fields.any('oauth') === false) {
    fields.note('oauth', 'Logging in cannot be switched off here.')
    return undefined
  }
  const oauth = fields.object('oauth')
  if (!oauth) return undefined
  oauth.drop('clientSecret', CLIENT_SECRET)
  const scopes = oauth.plain('scope')?.split(/\s+/).filter(Boolean)
  const ours = oauthOf({
    clientId: oauth.text('clientId'),
    scopes,
    callbackPort: oauth.number('callbackPort'),
  })
  oauth.leftovers(UNKNOWN)
  return ours
}
