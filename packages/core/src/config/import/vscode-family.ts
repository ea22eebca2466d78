// vscode-family.ts: what VS Code and the editors made from it share: their own variables, and paths under the workspace.
import { posix, win32 } from 'node:path'
import type { Fields } from './fields.ts'
import type { ClientMachine, Tell } from './types.ts'
import { variable } from './variables.ts'

const WORKSPACE = /^\$\{(?:workspaceFolder|workspaceRoot|cwd)\}(?:[\\/]+(.*))?$/s

/** What `${…}` means in an editor besides variables of the environment. */
export function editorVariable(inner: string, tell: Tell): string | undefined {
  if (inner === 'workspaceFolder' || inner === 'workspaceRoot' || inner === 'cwd') {
    tell(`${variable(inner)} became ${variable('PWD')}: the folder that plugboard is started in.`)
    return variable('PWD')
  }
  if (inner === 'userHome') return variable('HOME')
  if (inner === 'pathSeparator' || inner === '/') return '/'
  return undefined
}

export function editorSpelling(name: string): string {
  if (name === 'PWD') return variable('workspaceFolder')
  if (name === 'HOME') return variable('userHome')
  return variable(`env:${name}`)
}

/** A working folder under the workspace becomes a relative one. */
export function readWorkspaceCwd(fields: Fields): string | undefined {
  const inside = WORKSPACE.exec(fields.plain('cwd') ?? '')
  return inside ? inside[1] || '.' : fields.text('cwd')
}

export function printWorkspaceCwd(cwd: string | undefined): string | undefined {
  if (cwd === undefined || /^(?:[\\/~]|[A-Za-z]:|\$\{)/.test(cwd)) return cwd
  return cwd === '.' ? variable('workspaceFolder') : `${variable('workspaceFolder')}/${cwd}`
}

export const ENV_FILE =
  'Environment files are not read here: put the variables into `env`, or set them before starting.'

/** The path module of the given platform, which may differ from this machine's. */
export const pathOf = (place: ClientMachine) => (place.platform === 'win32' ? win32 : posix)

/** Where desktop programs keep a user's settings. */
export function settingsFolder(place: ClientMachine): string {
  const path = pathOf(place)
  if (place.platform === 'win32') return place.env.APPDATA || path.join(place.home, 'AppData', 'Roaming')
  if (place.platform === 'darwin') return path.join(place.home, 'Library', 'Application Support')
  return place.env.XDG_CONFIG_HOME || path.join(place.home, '.config')
}
