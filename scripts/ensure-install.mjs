// Installs the workspace's packages when, and only when, what is installed does not match the lock file.
// Plain Node with no imports from node_modules: it has to run before anything is there.
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

export const root = fileURLToPath(new URL('..', import.meta.url))
const stampFile = join(root, 'node_modules', '.plugboard-install')

/** What an install depends on: the lock, every manifest, the platform and the Node ABI. */
function wanted() {
  const hash = createHash('sha256').update(`${process.platform} ${process.arch} ${process.versions.modules}`)
  const manifests = readdirSync(join(root, 'packages')).map((name) => join('packages', name, 'package.json'))
  for (const file of ['package.json', 'package-lock.json', ...manifests.sort()]) {
    const path = join(root, file)
    if (existsSync(path)) hash.update(file).update(readFileSync(path))
  }
  return hash.digest('hex')
}

export function ensureInstalled() {
  const stamp = wanted()
  if (existsSync(stampFile) && readFileSync(stampFile, 'utf8') === stamp) return
  console.error('plugboard: installing packages (once)…')
  const npm = process.env.npm_execpath
  // Not `npm ci`: it fails where a registry lacks the optional binaries of other platforms. The lock decides either way.
  const args = ['install', '--no-audit', '--no-fund', '--loglevel=error', '--include=dev']
  const options = { cwd: root, stdio: ['ignore', 'ignore', 'inherit'], env: { ...process.env, NODE_ENV: '' } }
  const done = npm?.endsWith('.js')
    ? spawnSync(process.execPath, [npm, ...args], options)
    : spawnSync(process.platform === 'win32' ? 'npm.cmd' : 'npm', args, {
        ...options,
        shell: process.platform === 'win32',
      })
  if (done.error || done.status !== 0) {
    console.error(
      `\nplugboard: the packages could not be installed${done.error ? ` (${done.error.message})` : ''}; npm says why above.\n` +
        'The npm registry has to be reachable once. Check the network, HTTPS_PROXY and `npm ping`, then run the\n' +
        'same command again; after one successful install no network is needed.',
    )
    process.exit(1)
  }
  mkdirSync(join(root, 'node_modules'), { recursive: true })
  writeFileSync(stampFile, stamp)
}

if (process.argv[1] === fileURLToPath(import.meta.url)) ensureInstalled()
