// test-host.mjs: a child of `npm run mutation` that keeps one vitest, so that a test file costs neither its start nor the
// transformation of the sources. Messages: `{ test }` in, `{ done }` out; what happened is in the folder of the edits.
import { join } from 'node:path'
import { createVitest } from 'vitest/node'

const dir = process.cwd()
const vitest = await createVitest('test', {
  config: 'test/mutation/vitest.config.ts',
  root: dir,
  watch: false,
  run: true,
  maxWorkers: 1,
  reporters: [{}],
})

process.on('message', ({ test }) => {
  run(test).then(
    () => process.send({ done: true }),
    (error) => process.send({ done: true, error: String(error) }),
  )
})
process.on('disconnect', () => process.exit())
process.send({ ready: true })

async function run(test) {
  const found = await vitest.globTestSpecifications([test])
  for (const kept of ['filesMap', 'idMap', 'errorsSet']) vitest.state[kept].clear()
  await vitest.runTestSpecifications(found.filter(({ moduleId }) => moduleId === join(dir, test)))
}
