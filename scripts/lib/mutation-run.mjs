// mutation-run.mjs: runs test files in a copy of the tree and tells a failure that an edit caused from one that a busy
// machine caused. A failure counts when the same file fails again, and passes without the edit.
import { spawn, spawnSync } from 'node:child_process'
import {
  copyFileSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { root } from '../ensure-install.mjs'

/** A runner that reports nothing for this long is blocked: no test and no hook may take so long. */
const SILENT_MS = 200_000

/** A copy of the tree; only the installed packages are links. Work in the tree goes on without touching the copy. */
export function copyOfTree() {
  const dir = mkdtempSync(join(tmpdir(), 'plugboard-mutation-'))
  const own = readdirSync(root).filter((name) => name !== '.git' && name !== 'node_modules')
  for (const [how, names] of [
    ['-al', ['node_modules']],
    ['-a', own],
  ])
    if (spawnSync('cp', [how, ...names, dir], { cwd: root, stdio: 'inherit' }).status !== 0)
      throw new Error('the tree could not be copied')
  for (const name of ['.plugboard-build', '.plugboard-install']) {
    const stamp = join(dir, 'node_modules', name)
    rmSync(stamp, { force: true })
    if (existsSync(join(root, 'node_modules', name))) copyFileSync(join(root, 'node_modules', name), stamp)
  }
  rmSync(join(dir, 'node_modules', '.vite'), { recursive: true, force: true })
  return dir
}

/** Replaces a file of a copy. */
export function replaceFile(dir, file, text) {
  rmSync(join(dir, file))
  writeFileSync(join(dir, file), text)
}

/**
 * Runs test files in the given order until the first failure: `{ result: 'passed' }`, or `failed` with the test file and
 * the name of the test; `file` is undefined when no test failed but the run did. `built`: no test runs the command.
 */
function run(dir, tests, built) {
  const vitest = join(dir, 'node_modules/vitest/vitest.mjs')
  const report = join(dir, 'node_modules/.mutation-report.json')
  rmSync(report, { force: true })
  const reporters = ['--reporter=verbose', '--reporter=json', `--outputFile.json=${report}`]
  const config = ['--config', 'test/mutation/vitest.config.ts', '--root', '.']
  const args = [vitest, 'run', '--bail=1', '--maxWorkers=1', '--no-color', ...config, ...reporters]
  const child = spawn(process.execPath, [...args, ...tests], {
    cwd: dir,
    env: {
      ...process.env,
      PLUGBOARD_TEST_ORDER: JSON.stringify(tests),
      ...(built && { PLUGBOARD_TEST_BUILT: '1' }),
    },
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  })
  const endAll = () => {
    try {
      process.kill(-child.pid, 'SIGKILL')
    } catch {}
  }
  process.once('exit', endAll)
  let output = ''
  let blocked = false
  const onSilence = () => {
    blocked = true
    endAll()
  }
  let timer = setTimeout(onSilence, SILENT_MS)
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk) => {
      output = (output + chunk).slice(-100_000)
      clearTimeout(timer)
      timer = setTimeout(onSilence, SILENT_MS)
    })
  return new Promise((resolve) => {
    child.on('close', (code) => {
      clearTimeout(timer)
      process.removeListener('exit', endAll)
      if (code === 0) resolve({ result: 'passed' })
      else resolve({ result: 'failed', ...firstFailure(dir, report, { output, blocked, tests }) })
    })
  })
}

function firstFailure(dir, report, { output, blocked, tests }) {
  if (blocked) {
    const begun = tests.filter((test) => output.includes(test)).at(-1)
    return { file: begun ?? tests[0], by: 'the runner was blocked' }
  }
  let read
  try {
    read = JSON.parse(readFileSync(report, 'utf8'))
  } catch {
    return { by: output.trim().split('\n').at(-1) }
  }
  const suite = read.testResults.find(({ status }) => status === 'failed')
  if (!suite) {
    const file = /originated in "([^"]+)"/.exec(output)?.[1]
    return {
      file: tests.find((test) => test === file),
      by: `an error outside of a test: ${file}`,
    }
  }
  const test = suite.assertionResults.find(({ status }) => status === 'failed')
  const message = test?.failureMessages?.join('\n') ?? suite.message ?? ''
  return {
    file: relative(dir, suite.name),
    by: `${relative(dir, suite.name)} > ${test?.fullName ?? message.split('\n')[0]}`,
  }
}

/** Runs tests against edited copies; `clean` is a copy of the tree that is never edited. */
export function mutationRunner(clean) {
  const passesClean = new Map()
  /** One clean run for each test file that failed somewhere; a file that fails clean too is not run again. */
  const isSound = (file, built) => {
    if (!passesClean.has(file)) {
      const before = [...passesClean.values()].at(-1)
      const check = async () => {
        await before
        for (let attempt = 0; attempt < 2; attempt++)
          if ((await run(clean, [file], built)).result === 'passed') return true
        console.log(`ignored: ${file} fails without any edit`)
        return false
      }
      passesClean.set(file, check())
    }
    return passesClean.get(file)
  }

  /** `{ noticed, by }` for the edit that the copy has now. `built`: these tests do not run the command. */
  return async function notice(dir, tests, { built }) {
    let left = tests
    while (left.length > 0) {
      const ran = await run(dir, left, built)
      if (ran.result === 'passed') return { noticed: false }
      // An edit fails the same file again, alone; a busy machine seldom does.
      const again = await run(dir, ran.file ? [ran.file] : left, built)
      if (again.result === 'passed') {
        console.log(`not repeated: ${ran.by}`)
        left = ran.file ? left.slice(left.indexOf(ran.file) + 1) : []
        continue
      }
      if (!ran.file || (await isSound(ran.file, built))) return { noticed: true, by: ran.by }
      left = left.filter((test) => test !== ran.file)
    }
    return { noticed: false }
  }
}
