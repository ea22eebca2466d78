// `npm run faults [-- --only TEXT] [-- --on stdio|http|sse|ws]`: every fault of test/faults/table.ts through the public
// API, one after the other; writes docs/reliability.md when all were run. Non-zero when one does not hold.
import { runTypeScript } from './lib/run-typescript.mjs'

process.exitCode = await runTypeScript('test/faults/main.ts', process.argv.slice(2), ['--expose-gc'])
