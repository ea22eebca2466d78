// cursor.ts: .cursor/mcp.json. A `url` without a type is tried as HTTP and then as SSE, as in our format.

import { clientFormat, onlyMcpServers } from './client-format.ts'
import { compact, type Fields } from './fields.ts'
import { type Ability, CLIENT_SECRET, oauthOf, readType, requireOne, UNKNOWN } from './servers.ts'
import { variableStyle } from './variables.ts'
import {
  ENV_FILE,
  editorSpelling,
  editorVariable,
  pathOf,
  printWorkspaceCwd,
  readWorkspaceCwd,
} from './vscode-family.ts'

const title = 'Cursor'
const CAN: readonly Ability[] = ['stdio', 'http', 'sse', 'url', 'cwd', 'oauth.clientId', 'oauth.scopes']
const style = variableStyle({ title, spell: editorSpelling, special: editorVariable })

export const cursor = clientFormat({
  id: 'cursor',
  title,
  can: CAN,
  style,

  files(place) {
    const path = pathOf(place)
    return [
      { path: path.join(place.cwd, '.cursor', 'mcp.json'), scope: 'project' },
      { path: path.join(place.home, '.cursor', 'mcp.json'), scope: 'user' },
    ]
  },

  servers: onlyMcpServers,
  readEntry,

  printEntry(ours) {
    const { kind, command, args, env, url, headers, clientId, scopes } = ours
    return compact({
      type: kind === 'url' ? undefined : kind,
      ...{ command, args, env, cwd: printWorkspaceCwd(ours.cwd), url, headers },
      auth: compact({ CLIENT_ID: clientId, scopes }),
    })
  },
})

function readEntry(fields: Fields): Record<string, unknown> {
  const type = readType(fields)
  const command = fields.text('command')
  const disabled = fields.boolean('disabled') || undefined
  const entry =
    command === undefined
      ? compact({
          type,
          url: fields.text('url'),
          headers: fields.textMap('headers'),
          oauth: readAuth(fields),
          disabled,
        })
      : compact({
          command,
          args: fields.texts('args'),
          env: fields.textMap('env'),
          cwd: readWorkspaceCwd(fields),
          disabled,
        })
  requireOne(entry, 'a command or a url')
  fields.drop('envFile', ENV_FILE)
  fields.leftovers(UNKNOWN)
  return entry
}

function readAuth(fields: Fields): unknown {
  const auth = fields.object('auth')
  if (!auth) return undefined
  auth.drop('CLIENT_SECRET', CLIENT_SECRET)
  const oauth = oauthOf({ clientId: auth.text('CLIENT_ID'), scopes: auth.plains('scopes') })
  auth.leftovers(UNKNOWN)
  return oauth
}
