// `npm run replicas [-- --replicas 2,3] [-- --tries 6] [-- --only TEXT] [-- --no-faults] [-- --soak MINUTES]
// [-- --markdown]`: several gateways behind nginx with one Redis, and real clients: the correctness table, which --markdown keeps in
// docs/replicas.md. Redis and nginx are installed where that is possible.
import { ensureSystem } from './ensure-system.mjs'
import { runTypeScript } from './lib/run-typescript.mjs'

const problems = ensureSystem(['redis-server', 'nginx'])
for (const problem of problems) console.error(`plugboard: ${problem}`)
process.exitCode =
  problems.length > 0 ? 1 : await runTypeScript('test/replicas/main.ts', process.argv.slice(2))
