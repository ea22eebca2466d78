// program.mjs: how a server's program is run from the folder whose node_modules it is in.
import { closeSync, openSync, readFileSync, readSync } from 'node:fs'
import { join } from 'node:path'

/** A command and its first arguments. `node` is the one that scripts run with. */
export function programIn(folder, server, node = process.execPath) {
  const home = join(folder, 'node_modules', server.package)
  const { bin, name } = JSON.parse(readFileSync(join(home, 'package.json'), 'utf8'))
  const commands = typeof bin === 'string' ? { [name.split('/').at(-1)]: bin } : bin
  const [command] = Object.keys(commands)
  if (server.npx) return { command: 'npx', args: ['--no', '--prefix', folder, command] }
  const file = join(home, commands[command])
  return isScript(file) ? { command: node, args: [file] } : { command: file, args: [] }
}

/** Some packages bring a compiled program instead. */
function isScript(file) {
  const head = Buffer.alloc(64)
  const opened = openSync(file, 'r')
  readSync(opened, head)
  closeSync(opened)
  return head.toString('latin1').startsWith('#!') ? head.includes('node') : /\.[cm]?js$/.test(file)
}
