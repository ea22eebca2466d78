// Programs that some tests drive and npm does not bring. `node scripts/ensure-system.mjs tmux` makes sure it is there:
// exit 0 when it is, 1 with a reason when it cannot be. Only root installs; it never asks for a password.
import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'

/** The program → the Debian package that brings it. */
const PACKAGES = { tmux: 'tmux' }
const INSTALL_MS = 120_000

function isThere(program) {
  return spawnSync(program, ['-V'], { stdio: 'ignore' }).status === 0
}

/** Undefined when it is there in the end, otherwise why it is not. */
function ensureSystem(program) {
  if (isThere(program)) return undefined
  const name = PACKAGES[program]
  if (!name) return `${program} is not a program this project knows how to install.`
  const how = `Install it yourself, for example \`apt-get install ${name}\`.`
  if (process.platform !== 'linux' || process.getuid?.() !== 0)
    return `${program} is missing, and only root on Linux can install it here. ${how}`
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' }
  const apt = (...args) =>
    spawnSync('apt-get', args, { env, stdio: 'ignore', timeout: INSTALL_MS }).status === 0
  if (!apt('install', '-y', '--no-install-recommends', name)) {
    apt('update')
    apt('install', '-y', '--no-install-recommends', name)
  }
  return isThere(program) ? undefined : `${program} is missing, and apt-get could not install it. ${how}`
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const problems = process.argv.slice(2).flatMap((program) => ensureSystem(program) ?? [])
  for (const problem of problems) console.error(`plugboard: ${problem}`)
  process.exit(problems.length > 0 ? 1 : 0)
}
