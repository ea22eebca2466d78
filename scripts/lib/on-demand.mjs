// on-demand.mjs: packages that a check of ours needs and the project does not depend on. They are installed once, by
// name, from the npm registry into a cache folder of the user's, never into the workspace.
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'

const INSTALL_MS = 10 * 60_000

/** A folder for what can always be fetched again: `PLUGBOARD_CACHE_DIR`, else the user's cache folder. */
export function cacheDir() {
  const { PLUGBOARD_CACHE_DIR, XDG_CACHE_HOME, LOCALAPPDATA } = process.env
  if (PLUGBOARD_CACHE_DIR) return PLUGBOARD_CACHE_DIR
  if (process.platform === 'win32')
    return join(LOCALAPPDATA ?? join(homedir(), 'AppData', 'Local'), 'plugboard', 'cache')
  if (process.platform === 'darwin') return join(homedir(), 'Library', 'Caches', 'plugboard')
  return join(XDG_CACHE_HOME || join(homedir(), '.cache'), 'plugboard')
}

/**
 * The folder whose node_modules holds exactly these packages; installed when it is not there yet. Their install scripts
 * run unless `scripts` is false.
 */
export function onDemand(name, packages, { scripts = true } = {}) {
  const folder = join(cacheDir(), name)
  const done = join(folder, 'installed.json')
  const isThere = () => existsSync(done) && readFileSync(done, 'utf8') === JSON.stringify(packages)
  if (isThere()) return folder
  console.error(`Installing ${packages.join(', ')} into ${folder} (once)…`)
  mkdirSync(cacheDir(), { recursive: true })
  // Installed beside its place and then moved: an interrupted install is never mistaken for a complete one.
  const making = mkdtempSync(join(cacheDir(), `.${name}-`))
  try {
    writeFileSync(join(making, 'package.json'), '{"private":true}\n')
    const quiet = ['--no-audit', '--no-fund', '--loglevel=error', ...(scripts ? [] : ['--ignore-scripts'])]
    npm(['install', ...quiet, ...packages], making)
    writeFileSync(join(making, 'installed.json'), JSON.stringify(packages))
    // Another process may have been faster, and be using it by now.
    if (isThere()) return folder
    rmSync(folder, { recursive: true, force: true })
    renameSync(making, folder)
  } finally {
    rmSync(making, { recursive: true, force: true })
  }
  return folder
}

/** A Node of the version that the `node` package brought along. */
export function nodeIn(folder) {
  return join(folder, 'node_modules', 'node', 'bin', process.platform === 'win32' ? 'node.exe' : 'node')
}

/** Runs npm, the one that runs us if there is one; returns what it prints on stdout. */
export function npm(args, cwd) {
  const script = process.env.npm_execpath
  const options = {
    cwd,
    stdio: ['ignore', 'pipe', 'inherit'],
    timeout: INSTALL_MS,
    encoding: 'utf8',
    maxBuffer: 64 * 1024 * 1024,
  }
  const windows = process.platform === 'win32'
  const run = script?.endsWith('.js')
    ? spawnSync(process.execPath, [script, ...args], options)
    : spawnSync(windows ? 'npm.cmd' : 'npm', args, { ...options, shell: windows })
  if (run.error || run.status !== 0) {
    console.error('npm could not do it, and says why above. An install needs the npm registry, once.')
    throw run.error ?? new Error(`npm ended with code ${run.status}`)
  }
  return run.stdout
}
