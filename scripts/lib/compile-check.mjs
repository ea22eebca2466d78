// compile-check.mjs: does a copy of the tree still compile after an edit? The compiler keeps what it knows about each copy
// in a file, so a check looks at the edited file and at what depends on its types.
import { spawnSync } from 'node:child_process'
import { copyFileSync, existsSync } from 'node:fs'
import { join } from 'node:path'

const KNOWN = 'node_modules/.mutation.tsbuildinfo'

/** `compiles(dir)` for copies of `clean`, which is checked once here. */
export function compileCheck(clean) {
  const run = (dir) => {
    const tsc = join(dir, 'node_modules/typescript/bin/tsc')
    const args = ['-p', 'tsconfig.json', '--incremental', '--tsBuildInfoFile', KNOWN]
    return spawnSync(process.execPath, [tsc, ...args], { cwd: dir, stdio: 'ignore' }).status === 0
  }
  if (!run(clean)) throw new Error('the sources do not compile without any edit: run `npm run typecheck`')
  return (dir) => {
    if (!existsSync(join(dir, KNOWN))) copyFileSync(join(clean, KNOWN), join(dir, KNOWN))
    return run(dir)
  }
}
