// End-to-end tests run the built command, so it has to be built from the sources under test.
import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'

export default function setup(): void {
  // A mutated copy of the tree is built only for the tests that run the command.
  if (process.env['PLUGBOARD_TEST_BUILT']) return
  const script = fileURLToPath(new URL('../../scripts/build.mjs', import.meta.url))
  const done = spawnSync(process.execPath, [script], { stdio: 'inherit' })
  if (done.status !== 0) throw new Error('the build failed, so the end-to-end tests cannot run')
}
