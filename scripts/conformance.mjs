// `npm run conformance [-- scenario …]`: runs the official MCP conformance suite's client auth scenarios against our
// auth, one at a time (the suite's own parallel mode fails on small machines). The suite and the Node it needs are
// installed into .cache, outside the project's dependencies.
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { ensureInstalled, root } from './ensure-install.mjs'

const SUITE = '@modelcontextprotocol/conformance@0.2.0-alpha.12'
const NODE = 'node@24'
const cache = join(root, '.cache', 'conformance')
const suiteNode = join(cache, 'node_modules/node/bin/node')
const suite = join(cache, 'node_modules/@modelcontextprotocol/conformance/dist/index.js')

const VERSIONS = ['2025-11-25', '2026-07-28']
const SCENARIO_TIMEOUT_MS = 60_000

function ensureSuite() {
  if (existsSync(suite) && existsSync(suiteNode)) return
  console.error(`conformance: installing ${SUITE} and ${NODE} into .cache…`)
  mkdirSync(cache, { recursive: true })
  writeFileSync(join(cache, 'package.json'), '{"private":true}\n')
  const npm = process.platform === 'win32' ? 'npm.cmd' : 'npm'
  const done = spawnSync(npm, ['install', '--no-audit', '--no-fund', '--loglevel=error', SUITE, NODE], {
    cwd: cache,
    stdio: 'inherit',
    shell: process.platform === 'win32',
  })
  if (done.status !== 0 || !existsSync(suite)) {
    console.error('conformance: the suite could not be installed; is the npm registry reachable?')
    process.exit(1)
  }
}

async function bundleClient() {
  const esbuild = await import('esbuild')
  const outfile = join(cache, 'client.mjs')
  await esbuild.build({
    absWorkingDir: root,
    entryPoints: ['test/conformance/client.ts'],
    outfile,
    bundle: true,
    platform: 'node',
    format: 'esm',
    target: 'node20',
    external: ['@napi-rs/keyring'],
    tsconfig: 'tsconfig.json',
    logLevel: 'error',
    banner: { js: "import{createRequire as __cr}from'node:module';const require=__cr(import.meta.url);" },
  })
  return outfile
}

function suiteRun(args) {
  return spawnSync(suiteNode, [suite, ...args], {
    cwd: cache,
    encoding: 'utf8',
    timeout: SCENARIO_TIMEOUT_MS,
    maxBuffer: 64 * 1024 * 1024,
  })
}

/** `name [versions or extension]` lines of `conformance list`, the auth ones of the client. */
function scenarios() {
  const listed = suiteRun(['list']).stdout ?? ''
  return [...listed.matchAll(/^\s*- (auth\/\S+) \[([^\]]*)\]/gm)].map(([, name, versions]) => ({
    name,
    versions: VERSIONS.filter((version) => versions.includes(version)),
  }))
}

ensureInstalled()
ensureSuite()
const client = await bundleClient()
const wanted = process.argv.slice(2)
let failed = 0
let passed = 0
for (const { name, versions } of scenarios()) {
  if (wanted.length > 0 && !wanted.includes(name)) continue
  // A scenario of an extension or an older revision runs once, in the era the suite gives it.
  for (const version of versions.length > 0 ? versions : [undefined]) {
    const run = suiteRun([
      'client',
      '--command',
      `${process.execPath} ${client}`,
      '--scenario',
      name,
      '--timeout',
      '30000',
      ...(version ? ['--spec-version', version] : []),
    ])
    const ok = run.status === 0
    if (ok) passed++
    else failed++
    console.log(`${ok ? 'ok  ' : 'FAIL'} ${name}${version ? ` (${version})` : ''}`)
    if (!ok) console.log(`${run.stdout}\n${run.stderr}`.replace(/^/gm, '     '))
  }
}
console.log(`${passed} passed, ${failed} failed`)
process.exit(failed === 0 && passed > 0 ? 0 : 1)
