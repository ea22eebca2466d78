// `npm test [-- vitest args]`: builds the command the end-to-end tests run, then runs every suite.
// Ends in a plain `N passed, N failed` line for machines that read only that.
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { build } from './build.mjs'
import { ensureInstalled, root } from './ensure-install.mjs'

ensureInstalled()
await build()

const dir = mkdtempSync(join(tmpdir(), 'plugboard-test-'))
const report = join(dir, 'report.json')
const done = spawnSync(
  process.execPath,
  [
    join(root, 'node_modules/vitest/vitest.mjs'),
    'run',
    '--reporter=default',
    '--reporter=json',
    `--outputFile.json=${report}`,
    ...process.argv.slice(2),
  ],
  { cwd: root, stdio: 'inherit' },
)
let counts = { numPassedTests: 0, numFailedTests: 0, numPendingTests: 0 }
try {
  counts = JSON.parse(readFileSync(report, 'utf8'))
} catch {
  // The runner died before it could write a report; its exit status below says so.
}
rmSync(dir, { recursive: true, force: true })
const skipped = counts.numPendingTests ? `, ${counts.numPendingTests} skipped` : ''
console.log(`${counts.numPassedTests} passed, ${counts.numFailedTests} failed${skipped}`)
process.exit(done.status ?? 1)
