// windsurf.ts: ~/.codeium/windsurf/mcp_config.json. Remote servers have `serverUrl` (older: `url`); their transport
// is found by trying.

import { pathOf } from './editors.ts'
import { compact, type Fields, WrongShape } from './fields.ts'
import {
  type Ability,
  convertEach,
  noteOthers,
  permissionsOf,
  printJson,
  readOurs,
  readStdio,
  readType,
  serverMap,
  UNKNOWN,
} from './servers.ts'
import { parseJson } from './tree.ts'
import type { ClientFormat, ImportNote } from './types.ts'
import { variable, variableStyle } from './variables.ts'

const title = 'Windsurf'
const CAN: readonly Ability[] = ['stdio', 'url', 'disabled', 'permissions.deniedTools']
const style = variableStyle({ title, spell: (name) => variable(`env:${name}`) })

export const windsurf: ClientFormat = {
  id: 'windsurf',
  title,

  files(place) {
    const path = pathOf(place)
    return [
      { path: path.join(place.home, '.codeium', 'windsurf', 'mcp_config.json'), scope: 'user' },
      { path: path.join(place.home, '.codeium', 'mcp_config.json'), scope: 'user' },
    ]
  },

  parse(text) {
    const notes: ImportNote[] = []
    const document = parseJson(text)
    noteOthers(document, ['mcpServers'], notes)
    const found = serverMap(document.mcpServers, 'mcpServers', notes)
    return { servers: convertEach(found, notes, style.read, readEntry), notes }
  },

  print(servers) {
    const notes: ImportNote[] = []
    const out = convertEach(servers, notes, style.print, (fields) => {
      const ours = readOurs(fields, { title, can: CAN })
      if (!ours) return undefined
      const { command, args, env, url, headers, deniedTools } = ours
      return compact({
        ...{ command, args, env, serverUrl: url, headers },
        disabled: ours.disabled || undefined,
        disabledTools: deniedTools,
      })
    })
    return { text: printJson({ mcpServers: Object.fromEntries(out) }), notes }
  },
}

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
