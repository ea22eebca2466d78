// `npm test [-- vitest args]`: builds the command the end-to-end tests run, then runs every suite.
// A few files that fail are run once more, alone: a shared machine starves a process now and then. What passes only
// then is named at the end. The last line is a plain `N passed, N failed` for machines that read only that.
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { build } from './build.mjs'
import { ensureInstalled, root } from './ensure-install.mjs'
import { ensureSystemForTests } from './ensure-system.mjs'

// More failing files than this are no accident.
const RUN_AGAIN_AT_MOST = 5

ensureInstalled()
ensureSystemForTests()
await build()

const folder = mkdtempSync(join(tmpdir(), 'plugboard-test-'))

/** Runs vitest and reads its report; `undefined` when the runner died before it could write one. */
function run(args) {
  const report = join(folder, 'report.json')
  rmSync(report, { force: true })
  const vitest = join(root, 'node_modules/vitest/vitest.mjs')
  const reporters = ['--reporter=default', '--reporter=json', `--outputFile.json=${report}`]
  const done = spawnSync(process.execPath, [vitest, 'run', ...reporters, ...args], {
    cwd: root,
    stdio: 'inherit',
  })
  try {
    return { status: done.status ?? 1, ...JSON.parse(readFileSync(report, 'utf8')) }
  } catch {
    return { status: done.status ?? 1 }
  }
}

const failedTests = (result) =>
  (result.testResults ?? []).flatMap((file) =>
    file.assertionResults
      .filter(({ status }) => status === 'failed')
      .map(({ fullName }) => `${relative(root, file.name)} > ${fullName}`),
  )
const failedFiles = (result) =>
  (result.testResults ?? [])
    .filter(({ status }) => status === 'failed')
    .map(({ name }) => relative(root, name))

const args = process.argv.slice(2)
const first = run(args)
const files = failedFiles(first)
const options = args.filter((arg) => arg.startsWith('-'))
let { status } = first
let passed = first.numPassedTests ?? 0
let failed = first.numFailedTests ?? 0
let unsteady = []
if (status !== 0 && files.length > 0 && files.length <= RUN_AGAIN_AT_MOST) {
  console.log(`\n${files.length} file(s) failed; running them once more, alone`)
  const second = run([...files, ...options, '--maxWorkers=1'])
  const still = new Set(failedTests(second))
  unsteady = failedTests(first).filter((name) => !still.has(name))
  if (failedFiles(second).length === 0 && second.status === 0) status = 0
  passed += unsteady.length
  failed = Math.max(failed - unsteady.length, still.size)
}
rmSync(folder, { recursive: true, force: true })
for (const name of unsteady) console.log(`passed only when it was run again: ${name}`)
const skipped = first.numPendingTests ? `, ${first.numPendingTests} skipped` : ''
console.log(`${passed} passed, ${failed} failed${skipped}`)
process.exit(status)
