// `npm start [-- verb …]`: install if needed, build if needed, run the command.
import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { build } from './build.mjs'
import { ensureInstalled, root } from './ensure-install.mjs'

ensureInstalled()
await build()

const child = spawn(
  process.execPath,
  [join(root, 'packages/cli/bin/plugboard.cjs'), ...process.argv.slice(2)],
  {
    stdio: 'inherit',
  },
)
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal))
child.on('exit', (code, signal) => process.exit(code ?? (signal === 'SIGINT' ? 130 : 1)))
