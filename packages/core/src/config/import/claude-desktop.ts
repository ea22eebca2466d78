// claude-desktop.ts: claude_desktop_config.json. Local servers only, and no variables: users add remote servers in
// its settings window, not in this file.

import { clientFormat } from './client-format.ts'
import { compact } from './fields.ts'
import { type Ability, readStdio, readType, requireOne, serverMap, UNKNOWN } from './servers.ts'
import { variableStyle } from './variables.ts'
import { pathOf, settingsFolder } from './vscode-family.ts'

const title = 'Claude Desktop'
const CAN: readonly Ability[] = ['stdio']
const style = variableStyle({ title, spell: undefined })

export const claudeDesktop = clientFormat({
  id: 'claude-desktop',
  title,
  can: CAN,
  style,

  files: (place) => [
    {
      path: pathOf(place).join(settingsFolder(place), 'Claude', 'claude_desktop_config.json'),
      scope: 'user',
    },
  ],

  servers: (document, notes) => serverMap(document.mcpServers, 'mcpServers', notes),

  readEntry(fields) {
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
  },

  printEntry: ({ command, args, env }) => compact({ command, args, env }),
})
