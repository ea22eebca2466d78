// `npm run packages`: every package packed, checked by publint and by Are The Types Wrong, installed by npm into an empty
// project outside the workspace, and used there on Node 20 and on the newest LTS. It ends with a table of their
// sizes, writes it to docs/packages.md, and ends with 1 when anything is wrong.
import { spawnSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { build } from './build.mjs'
import { ensureInstalled, root } from './ensure-install.mjs'
import { CHECKS, compile, TSC } from './lib/consumer.mjs'
import { nodeIn, onDemand } from './lib/on-demand.mjs'
import { emptyProject, installByNpm, packAll } from './lib/packed.mjs'
import { markdownTable, plainTable } from './lib/table.mjs'

const TOOLS = ['publint@0.3.25', '@arethetypeswrong/cli@0.18.5', 'typescript@5.9.3', 'node@24']
const TOOL_MS = 120_000
const RESOLUTIONS = ['node16', 'nodenext', 'bundler']

ensureInstalled()
await build()
const tools = onDemand('packages-1', TOOLS)
const nodes = [process.execPath, nodeIn(tools)]
const compilers = [TSC, join(tools, 'node_modules', 'typescript', 'bin', 'tsc')]
const outcomes = []
const place = emptyProject()
try {
  const packages = packAll(place.tarballs)
  for (const one of packages) await judge(one)
  console.log('installing all of them with npm…')
  installByNpm(place.project, packages, ['@types/node@20'])
  for (const node of nodes)
    for (const [name, check] of CHECKS)
      await attempt(`Node ${versionOf(node)}: ${name}`, () => check({ ...place, node, packages }))
  for (const tsc of compilers)
    for (const resolution of RESOLUTIONS)
      await attempt(`${compilerOf(tsc)}, ${resolution}: compiles`, () =>
        compile({ ...place, packages }, { tsc, resolution }),
      )
  report(
    packages,
    packages.map((one) => weigh(one, packages)),
  )
} finally {
  place.remove()
}
const failed = outcomes.filter(({ why }) => why !== undefined)
console.log(`${outcomes.length - failed.length} of ${outcomes.length} checks passed`)
process.exit(failed.length === 0 ? 0 : 1)

async function attempt(name, work) {
  let why
  try {
    await work()
  } catch (error) {
    why = error.message
  }
  outcomes.push({ name, why })
  console.log(`${why === undefined ? 'pass' : 'FAIL'}  ${name}${why === undefined ? '' : `\n${why}`}`)
}

async function judge({ name, tarball, manifest }) {
  await attempt(`publint: ${name}`, () => tool(['publint', 'src', 'cli.js'], ['run', tarball, '--strict']))
  // The command has nothing to import.
  if (!manifest.exports) return
  const words = [tarball, '--profile', 'esm-only', '--no-emoji', '--no-color']
  await attempt(`types: ${name}`, () => tool(['@arethetypeswrong', 'cli', 'dist', 'index.js'], words))
}

function tool(path, args) {
  const script = join(tools, 'node_modules', ...path)
  const done = spawnSync(process.execPath, [script, ...args], {
    cwd: place.project,
    encoding: 'utf8',
    timeout: TOOL_MS,
  })
  if (done.status !== 0) throw done.error ?? new Error(`${done.stdout}${done.stderr}`.slice(0, 4000))
}

/** The install size of one package alone: npm decides what comes along. */
function weigh(one, packages) {
  const alone = emptyProject()
  try {
    installByNpm(alone.project, [one, ...oursBehind(one, packages)])
    const lock = JSON.parse(readFileSync(join(alone.project, 'package-lock.json'), 'utf8'))
    // A lock also names the builds for other platforms, which are not there.
    const came = Object.keys(lock.packages).filter((path) => path && existsSync(join(alone.project, path)))
    const { dependencies = {}, optionalDependencies = {} } = one.manifest
    return {
      direct: Object.keys(dependencies).length,
      optional: Object.keys(optionalDependencies).length,
      total: came.length - 1,
      bytes: sizeOf(join(alone.project, 'node_modules')),
    }
  } finally {
    alone.remove()
  }
}

/** Our own packages that a package of ours depends on: no registry has them yet. */
function oursBehind({ manifest }, packages) {
  const direct = packages.filter(({ name }) => manifest.dependencies?.[name])
  return [...new Set(direct.flatMap((one) => [one, ...oursBehind(one, packages)]))]
}

function sizeOf(folder) {
  let bytes = 0
  for (const item of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, item.name)
    if (item.isDirectory()) bytes += sizeOf(path)
    else if (item.isFile()) bytes += statSync(path).size
  }
  return bytes
}

function report(packages, weights) {
  const rows = packages.map(({ name, size, unpackedSize, files }, at) => {
    const { direct, optional, total, bytes } = weights[at]
    return [name, kb(size), kb(unpackedSize), files.length, `${direct} + ${optional}`, total, kb(bytes)]
  })
  const head = [
    'package',
    'tarball',
    'unpacked',
    'files',
    'direct + optional',
    'packages along',
    'node_modules',
  ]
  console.log(`\n${plainTable([head, ...rows])}\n`)
  const page = join(root, 'docs', 'packages.md')
  const text = readFileSync(page, 'utf8')
  const [before, after] = text.split(/<!-- figures -->[\s\S]*<!-- end of figures -->/)
  const made = [
    '<!-- figures -->',
    '',
    `Measured on ${new Date().toISOString().slice(0, 10)} on ${process.platform}-${process.arch}, Node ${nodes.map(versionOf).join(' and ')}: ${summary()}.`,
    '',
    markdownTable([head, ...rows]),
    '',
    '<!-- end of figures -->',
  ]
  writeFileSync(page, `${before}${made.join('\n')}${after}`)
  const biome = join(root, 'node_modules', '@biomejs', 'biome', 'bin', 'biome')
  spawnSync(process.execPath, [biome, 'format', '--write', page], { stdio: 'ignore', timeout: TOOL_MS })
}

function summary() {
  return `${outcomes.filter(({ why }) => why === undefined).length} of ${outcomes.length} checks passed`
}

function kb(bytes) {
  return bytes >= 10_000_000 ? `${(bytes / 1e6).toFixed(0)} MB` : `${Math.round(bytes / 1000)} kB`
}

function versionOf(node) {
  return spawnSync(node, ['--version'], { encoding: 'utf8', timeout: TOOL_MS }).stdout.trim().slice(1)
}

function compilerOf(tsc) {
  const { version } = JSON.parse(readFileSync(join(tsc, '..', '..', 'package.json'), 'utf8'))
  return `TypeScript ${version}`
}
