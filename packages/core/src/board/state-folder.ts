// state-folder.ts: where a board keeps what it remembers, unless it is told otherwise.
import { join } from 'node:path'
import { plugboardHome } from '../config/sources.ts'
import type { Host } from '../host.ts'

export function stateFolder(host: Host): string {
  return host.env['PLUGBOARD_STATE_DIR'] ?? join(plugboardHome(host), 'state')
}
