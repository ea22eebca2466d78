// Programs that some tests drive and npm does not bring: a terminal, a browser, a desktop's keychain, a shell.
// `node scripts/ensure-system.mjs tmux …` makes sure they are there: exit 0 when they are, 1 with a reason when they cannot
// be. `npm test` asks for all of them, once. Only root on Debian or Ubuntu installs; it never asks for a password.
import { spawnSync } from 'node:child_process'
import { accessSync, constants, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { delimiter, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { findBrowser } from './ensure-browser.mjs'
import { root } from './ensure-install.mjs'

/** The program → the Debian package that brings it, and the tests that are skipped without it. */
const PROGRAMS = {
  tmux: { package: 'tmux', tests: 'the tests at a terminal' },
  chromium: { package: 'chromium', tests: 'the login in a browser' },
  'dbus-run-session': { package: 'dbus-daemon', tests: 'the keychain of a desktop' },
  'gnome-keyring-daemon': { package: 'gnome-keyring', tests: 'the keychain of a desktop' },
  bwrap: { package: 'bubblewrap', tests: 'commands in a sandbox' },
  socat: { package: 'socat', tests: 'commands in a sandbox' },
  rg: { package: 'ripgrep', tests: 'commands in a sandbox' },
  Xvfb: { package: 'xvfb', tests: 'the screen, pointer and keyboard' },
  // It also brings libxtst6, which the pointer needs.
  xdotool: { package: 'xdotool', tests: 'the screen, pointer and keyboard' },
  xmessage: { package: 'x11-utils', tests: 'the screen, pointer and keyboard' },
  zsh: { package: 'zsh', tests: 'completion in zsh' },
  fish: { package: 'fish', tests: 'completion in fish' },
  'redis-server': { package: 'redis-server', tests: 'the store of several gateways' },
  nginx: { package: 'nginx-light', tests: 'several gateways behind a load balancer' },
}
const INSTALL_MS = 240_000
const stampFile = join(root, 'node_modules', '.plugboard-system')

export function isThere(program) {
  if (program === 'chromium') return findBrowser() !== undefined
  return (process.env.PATH ?? '').split(delimiter).some((folder) => {
    try {
      accessSync(join(folder, program), constants.X_OK)
      return true
    } catch {
      return false
    }
  })
}

/** One sentence for each program that is missing in the end. */
export function ensureSystem(programs) {
  const unknown = programs.filter((program) => !Object.hasOwn(PROGRAMS, program))
  const missing = programs.filter((program) => !unknown.includes(program) && !isThere(program))
  const mayInstall = existsSync('/usr/bin/apt-get') && process.getuid?.() === 0
  if (missing.length > 0 && mayInstall) install(missing.map((program) => PROGRAMS[program].package))
  const why = mayInstall
    ? 'apt-get could not install it'
    : 'only root on Debian or Ubuntu can install it here'
  return [
    ...unknown.map((program) => `${program} is not a program this project knows how to install.`),
    ...missing
      .filter((program) => !isThere(program))
      .map(
        (program) =>
          `${program} is missing, and ${why}. Without it these tests are skipped: ${PROGRAMS[program].tests}. Install it yourself, for example \`apt-get install ${PROGRAMS[program].package}\`.`,
      ),
  ]
}

function install(packages) {
  const until = Date.now() + INSTALL_MS
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' }
  const apt = (...args) =>
    spawnSync('apt-get', args, { env, stdio: 'ignore', timeout: Math.max(1000, until - Date.now()) })
      .status === 0
  const all = () => apt('install', '-y', '--no-install-recommends', ...packages)
  if (all() || (apt('update') && all())) return
  // One package that is not to be had must not keep the others away.
  for (const name of packages) apt('install', '-y', '--no-install-recommends', name)
}

/** All of them, before the tests run. What could not be had is told, and not tried again for a day. */
export function ensureSystemForTests() {
  const wanted = Object.keys(PROGRAMS)
  const missing = wanted.filter((program) => !isThere(program))
  if (missing.length === 0 || process.env.PLUGBOARD_SYSTEM === 'skip') return
  const tried = existsSync(stampFile) ? readFileSync(stampFile, 'utf8').split('\n') : []
  const day = new Date().toISOString().slice(0, 10)
  if (tried[0] === day && missing.every((program) => tried.includes(program))) return
  console.error(
    `plugboard: programs that tests need are missing (${missing.join(', ')}); trying to install them (once)…`,
  )
  for (const problem of ensureSystem(missing)) console.error(`plugboard: ${problem}`)
  mkdirSync(dirname(stampFile), { recursive: true })
  writeFileSync(stampFile, [day, ...missing.filter((program) => !isThere(program))].join('\n'))
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const problems = ensureSystem(process.argv.slice(2))
  for (const problem of problems) console.error(`plugboard: ${problem}`)
  process.exit(problems.length > 0 ? 1 : 0)
}
