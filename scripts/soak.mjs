// `npm run soak [-- --minutes 30] [-- --seed N] [-- --keep]`: fifty servers under random faults; prints a summary, and
// ends non-zero with the seed when an invariant did not hold. `--replicas`: three gateways behind nginx with one Redis instead, under
// load, while replicas and the store are killed.
import { ensureSystem } from './ensure-system.mjs'
import { runTypeScript } from './lib/run-typescript.mjs'

const words = process.argv.slice(2)
const HELP = `npm run soak -- [--minutes N] [--seed N] [--keep]    fifty servers under random faults
npm run soak -- --replicas [--minutes N] [--seed N]  three gateways, nginx and Redis: replicas and Redis are killed under load`

if (words.includes('--help')) console.log(HELP)
else if (words.includes('--replicas')) process.exitCode = await replicas()
else process.exitCode = await runTypeScript('test/faults/soak/main.ts', words, ['--expose-gc'])

async function replicas() {
  const problems = ensureSystem(['redis-server', 'nginx'])
  for (const problem of problems) console.error(`plugboard: ${problem}`)
  if (problems.length > 0) return 1
  const after = (flag, otherwise) => {
    const at = words.indexOf(flag)
    return at === -1 ? otherwise : (words[at + 1] ?? '')
  }
  return await runTypeScript('test/replicas/main.ts', [
    '--soak',
    after('--minutes', '3'),
    '--seed',
    after('--seed', '1'),
  ])
}
