// windsurf.ts: ~/.codeium/windsurf/mcp_config.json. Remote servers have `serverUrl` (older: `url`); their transport
// is found by trying.

import { clientFormat, onlyMcpServers } from './client-format.ts'
import { compact, type Fields, WrongShape } from './fields.ts'
import { type Ability, permissionsOf, readStdio, readType, UNKNOWN } from './servers.ts'
import { variable, variableStyle } from './variables.ts'
import { pathOf } from './vscode-family.ts'

const title = 'Windsurf'
const CAN: readonly Ability[] = ['stdio', 'url', 'disabled', 'permissions.deniedTools']
const style = variableStyle({ title, spell: (name) => variable(`env:${name}`) })

export const windsurf = clientFormat({
  id: 'windsurf',
  title,
  can: CAN,
  style,

  files(place) {
    const path = pathOf(place)
    return [
      { path: path.join(place.home, '.codeium', 'windsurf', 'mcp_config.json'), scope: 'user' },
      { path: path.join(place.home, '.codeium', 'mcp_config.json'), scope: 'user' },
    ]
  },

  servers: onlyMcpServers,
  readEntry,

  printEntry(ours) {
    const { command, args, env, url, headers, deniedTools } = ours
    return compact({
      ...{ command, args, env, serverUrl: url, headers },
      disabled: ours.disabled || undefined,
      disabledTools: deniedTools,
    })
  },
})

function readEntry(fields: Fields): Record<string, unknown> {
  const type = readType(fields)
  const { command, args, env, cwd } = readStdio(fields)
  const url = fields.text('serverUrl') ?? fields.text('url')
  if (command === undefined && url === undefined) throw new WrongShape('command', 'a command or a serverUrl')
  const entry =
    command === undefined ? { type, url, headers: fields.textMap('headers') } : { command, args, env, cwd }
  const written = compact({
    ...entry,
    timeout: fields.number('timeout'),
    disabled: fields.boolean('disabled') || undefined,
    permissions: permissionsOf(undefined, fields.plains('disabledTools')),
  })
  fields.leftovers(UNKNOWN)
  return written
}
