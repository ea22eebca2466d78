// `npm run soak [-- --minutes 30] [-- --seed N] [-- --keep]`: fifty servers under random faults; prints a summary, and
// ends non-zero with the seed when an invariant did not hold.
import { runTypeScript } from './lib/run-typescript.mjs'

process.exitCode = await runTypeScript('test/faults/soak/main.ts', process.argv.slice(2), ['--expose-gc'])
