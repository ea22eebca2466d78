// test-host.mjs: a child of `npm run mutation` that keeps one vitest for a copy of the tree, so that an edit costs neither
// its start nor the transformation of the files that did not change. Messages: `{ edited, tests, testMs }` in,
// `{ failure? }` out; every finished test file reports `{ alive }`.
import { join, relative } from 'node:path'
import { createVitest } from 'vitest/node'

const dir = process.cwd()
/** The first failure of the current run; vitest itself also keeps the ones of earlier runs. */
let failure
let before = []
const reporter = {
  onTestModuleEnd(module) {
    const errors = [...module.errors(), ...suiteErrors(module)]
    if (module.state() === 'failed' && errors.length > 0) failure ??= failureOf(module, undefined, errors)
    process.send({ alive: true })
  },
  onTestCaseResult(test) {
    const { state, errors } = test.result()
    if (state === 'failed') failure ??= failureOf(test.module, test, errors)
    process.send({ alive: true })
  },
}
const vitest = await createVitest('test', {
  config: 'test/mutation/vitest.config.ts',
  root: dir,
  watch: false,
  run: true,
  bail: 1,
  maxWorkers: 1,
  reporters: [reporter],
})

process.on('message', ({ edited, tests, testMs }) => {
  run(edited, tests, testMs).then(
    (found) => process.send({ done: true, failure: found }),
    (error) => process.send({ done: true, failure: { by: String(error) } }),
  )
})
process.send({ ready: true })

async function run(edited, tests, testMs) {
  // The file of the last edit, too: it has its own text again.
  for (const file of new Set([...before, ...edited])) vitest.invalidateFile(join(dir, file))
  before = edited
  process.env.PLUGBOARD_TEST_ORDER = JSON.stringify(tests)
  for (const project of vitest.projects) project.config.testTimeout = testMs
  const wanted = new Set(tests.map((test) => join(dir, test)))
  const found = await vitest.globTestSpecifications(tests)
  failure = undefined
  // Failures of earlier runs would count towards `bail` and stop this one at once.
  for (const kept of ['filesMap', 'idMap', 'errorsSet']) vitest.state[kept].clear()
  const { unhandledErrors } = await vitest.runTestSpecifications(
    found.filter(({ moduleId }) => wanted.has(moduleId)),
  )
  if (failure || unhandledErrors.length === 0) return failure
  const [error] = unhandledErrors
  const file = error?.VITEST_TEST_PATH && relative(dir, error.VITEST_TEST_PATH)
  return { file, by: `an error outside of a test: ${error?.message}` }
}

/** A failed test, or a file or hook that failed outside of its tests. */
function failureOf(module, test, errors) {
  const file = relative(dir, module.moduleId)
  const text = errors.map(({ message }) => message).join('\n')
  return { file, by: `${file} > ${test?.fullName ?? text.split('\n')[0]}` }
}

function suiteErrors(module) {
  return [...module.children.allSuites()].flatMap((suite) => suite.errors())
}
