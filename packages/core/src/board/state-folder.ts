// state-folder.ts: the default folder for a board's stored state.
import { join } from 'node:path'
import { plugboardHome } from '../config/sources.ts'
import type { Host } from '../host.ts'

export function stateFolder(host: Host): string {
  return host.env['PLUGBOARD_STATE_DIR'] ?? join(plugboardHome(host), 'state')
}
