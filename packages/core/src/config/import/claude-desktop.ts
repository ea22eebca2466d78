// claude-desktop.ts: claude_desktop_config.json. Local servers only, and no variables: users add remote servers in
// its settings window, not in this file.

import { pathOf, settingsFolder } from './editors.ts'
import { compact } from './fields.ts'
import {
  type Ability,
  convertEach,
  printJson,
  readOurs,
  readStdio,
  readType,
  requireOne,
  serverMap,
  UNKNOWN,
} from './servers.ts'
import { parseJson } from './tree.ts'
import type { ClientFormat, ImportNote } from './types.ts'
import { variableStyle } from './variables.ts'

const title = 'Claude Desktop'
const CAN: readonly Ability[] = ['stdio']
const style = variableStyle({ title, spell: undefined })

export const claudeDesktop: ClientFormat = {
  id: 'claude-desktop',
  title,

  files: (place) => [
    {
      path: pathOf(place).join(settingsFolder(place), 'Claude', 'claude_desktop_config.json'),
      scope: 'user',
    },
  ],

  parse(text) {
    const notes: ImportNote[] = []
    const found = serverMap(parseJson(text).mcpServers, 'mcpServers', notes)
    const servers = convertEach(found, notes, style.read, (fields) => {
      const type = readType(fields)
      const local = readStdio(fields)
      // Not documented, but users paste remote entries here, and the meaning is clear.
      const entry =
        local.command === undefined
          ? compact({ type, url: fields.text('url'), headers: fields.textMap('headers') })
          : compact(local)
      requireOne(entry, 'a command')
      fields.leftovers(UNKNOWN)
      return entry
    })
    return { servers, notes }
  },

  print(servers) {
    const notes: ImportNote[] = []
    const out = convertEach(servers, notes, style.print, (fields) => {
      const ours = readOurs(fields, { title, can: CAN })
      return ours && compact({ command: ours.command, args: ours.args, env: ours.env })
    })
    return { text: printJson({ mcpServers: Object.fromEntries(out) }), notes }
  },
}
