// registry.ts: tests that need a package from the npm registry are skipped when it cannot be reached, and only then.
import { spawnSync } from 'node:child_process'

const PING_MS = 20_000

/** The result of `make`; undefined when it failed and the registry is out of reach. */
export function withRegistry<T>(make: () => T): T | undefined {
  try {
    return make()
  } catch (error) {
    const shell = process.platform === 'win32'
    const ping = spawnSync('npm', ['ping'], { stdio: 'ignore', timeout: PING_MS, shell })
    if (ping.status === 0) throw error
    console.error('The npm registry cannot be reached: what needs it is not tested.')
    return undefined
  }
}
