// `npm run bench [-- NAME …] [--markdown]`: runs bench/NAME.bench.mjs (all of them without a name).
import { spawnSync } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { build } from './build.mjs'
import { ensureInstalled, root } from './ensure-install.mjs'

ensureInstalled()
await build()

const flags = process.argv.slice(2).filter((word) => word.startsWith('--'))
const names = process.argv.slice(2).filter((word) => !word.startsWith('--'))
const known = readdirSync(join(root, 'bench'))
  .filter((file) => file.endsWith('.bench.mjs'))
  .map((file) => file.slice(0, -'.bench.mjs'.length))
const unknown = names.filter((name) => !known.includes(name))
if (unknown.length > 0) {
  console.error(`No benchmark named ${unknown.join(', ')}. There are: ${known.join(', ')}.`)
  process.exit(2)
}
let code = 0
for (const name of names.length > 0 ? names : known) {
  const done = spawnSync(process.execPath, [join(root, 'bench', `${name}.bench.mjs`), ...flags], {
    cwd: root,
    stdio: 'inherit',
  })
  if (done.status !== 0) code = 1
}
process.exit(code)
