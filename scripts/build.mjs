// Builds what changed: the libraries with tsc (ESM and types), the command with esbuild (one lazy chunk a verb).
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { cpSync, existsSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { basename, dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { root } from './ensure-install.mjs'
import { noticesFor } from './lib/notices.mjs'

const stampFile = join(root, 'node_modules', '.plugboard-build')

function* sources(dir) {
  for (const item of readdirSync(dir, { withFileTypes: true }).sort((a, b) => (a.name < b.name ? -1 : 1))) {
    if (item.name === 'dist' || item.name === 'node_modules' || item.name === 'fixtures') continue
    const path = join(dir, item.name)
    if (item.isDirectory()) yield* sources(path)
    else if (!item.name.endsWith('.test.ts') && !item.name.endsWith('.tsbuildinfo')) yield path
  }
}

/** Cheap and exact enough: a touched file changes it, and so does a lock or a build script. */
function fingerprint() {
  const hash = createHash('sha256')
  for (const dir of ['packages', 'scripts'])
    for (const path of sources(join(root, dir))) {
      const { mtimeMs, size } = statSync(path)
      hash.update(`${relative(root, path)} ${mtimeMs} ${size}\n`)
    }
  hash.update(readFileSync(join(root, 'package-lock.json')))
  return hash.digest('hex')
}

function run(script, args, env = {}) {
  const done = spawnSync(process.execPath, [join(root, script), ...args], {
    cwd: root,
    stdio: 'inherit',
    env: { ...process.env, ...env },
  })
  if (done.status !== 0) {
    console.error(`plugboard: the build failed in ${script}; the messages above say where.`)
    process.exit(1)
  }
}

/** The libraries in the order they depend on each other. */
const libraries = ['codebase', 'workspace', 'core', 'agent', 'gateway', 'resident'].filter((name) =>
  existsSync(join(root, 'packages', name, 'tsconfig.json')),
)

export async function build() {
  const stamp = fingerprint()
  const main = join(root, 'packages/cli/dist/main.cjs')
  if (existsSync(main) && existsSync(stampFile) && readFileSync(stampFile, 'utf8') === stamp) return
  console.error('plugboard: building…')
  // From scratch: old output of a removed source would go into the packages.
  for (const name of libraries)
    for (const left of ['dist', 'tsconfig.tsbuildinfo'])
      rmSync(join(root, 'packages', name, left), { recursive: true, force: true })
  run('node_modules/typescript/bin/tsc', ['-b', ...libraries.map((name) => `packages/${name}`)])
  buildPage()
  await bundleCommand()
  writeFileSync(stampFile, stamp)
}

/** The page of the board, when its sources changed; its types are checked with it. */
function buildPage() {
  const web = join(root, 'packages/web')
  const hash = createHash('sha256').update(readFileSync(join(root, 'package-lock.json')))
  for (const path of [...sources(web), ...sources(join(root, 'packages/resident/src/web'))])
    hash.update(`${relative(root, path)}\n`).update(readFileSync(path))
  const stamp = hash.digest('hex')
  const stampPath = join(root, 'node_modules', '.plugboard-page')
  const isBuilt = existsSync(join(web, 'dist/index.html')) && existsSync(stampPath)
  if (isBuilt && readFileSync(stampPath, 'utf8') === stamp) return
  run('node_modules/typescript/bin/tsc', ['-p', 'packages/web'])
  run('scripts/lib/build-page.mjs', [], { NODE_ENV: 'production' })
  writeFileSync(stampPath, stamp)
}

/** Packages with native code or data files, and those that are optional, stay dependencies; the rest is inside the bundle. */
const EXTERNAL = [
  '@plugboard/codebase',
  '@plugboard/workspace',
  '@playwright/mcp',
  'computer-use-mcp',
  '@napi-rs/keyring',
  'sharp',
]

/**
 * The command in two halves. Verbs that only read and edit the configuration, or use the board of the resident process, are
 * CommonJS, the form that Node starts fastest: one file, and one more for every dynamic import, each complete in itself. The
 * board and the other verbs of src/board-verbs/ are ESM in shared chunks, loaded when they are needed.
 */
async function bundleCommand() {
  const esbuild = await import('esbuild')
  const outdir = join(root, 'packages/cli/dist')
  rmSync(outdir, { recursive: true, force: true })
  const manifest = JSON.parse(readFileSync(join(root, 'packages/cli/package.json'), 'utf8'))
  const common = {
    absWorkingDir: root,
    bundle: true,
    platform: 'node',
    target: 'node20',
    mainFields: ['module', 'main'],
    minify: true,
    // The licences of what is inside go along in one file.
    legalComments: 'none',
    metafile: true,
    logLevel: 'warning',
    external: EXTERNAL,
  }
  const define = { 'process.env.PLUGBOARD_VERSION': JSON.stringify(manifest.version) }
  const parts = new Map(['main', 'thin', 'thin-connect'].map((name) => [name, `packages/cli/src/${name}.ts`]))
  const inputs = new Set()
  const bundle = async ({ plugins = [], ...options }) => {
    const english = { name: 'english-only', setup: englishOnly }
    const { metafile } = await esbuild.build({ ...common, ...options, plugins: [english, ...plugins] })
    for (const input of Object.keys(metafile.inputs)) inputs.add(input)
  }
  for (const name of lightVerbs()) parts.set(`light-${name}`, `packages/cli/src/board-verbs/${name}.ts`)
  for (const [name, entry] of parts)
    await bundle({
      entryPoints: [entry],
      outfile: join(outdir, `${name}.cjs`),
      format: 'cjs',
      supported: { 'dynamic-import': false },
      // It is given to `createRequire` alone, which takes a path too.
      define: { ...define, 'import.meta.url': '__filename' },
      plugins: [
        { name: 'parts', setup: (build) => splitDynamicImports(build, parts) },
        { name: 'module-on-demand', setup: moduleOnDemand },
      ],
    })
  for (const name of parts.keys()) markWithHash(join(outdir, `${name}.cjs`))
  const boardVerbs = join(root, 'packages/cli/src/board-verbs')
  const light = lightVerbs()
  await bundle({
    entryPoints: readdirSync(boardVerbs)
      .filter(
        (file) => file.endsWith('.ts') && !file.endsWith('.test.ts') && !light.has(basename(file, '.ts')),
      )
      .map((file) => join(boardVerbs, file)),
    outdir: join(outdir, 'board-verbs'),
    format: 'esm',
    splitting: true,
    conditions: ['import', 'node'],
    define,
    banner: { js: "import{createRequire as __cr}from'node:module';const require=__cr(import.meta.url);" },
  })
  writeFileSync(join(outdir, 'THIRD-PARTY.txt'), noticesFor(inputs, root))
  cpSync(join(root, 'packages/web/dist'), join(outdir, 'web'), { recursive: true })
}

/** By which bin/code-cache.cjs tells compiled code of this bundle from that of another build. */
function markWithHash(file) {
  const text = readFileSync(file)
  const hash = createHash('sha256').update(text).digest('hex').slice(0, 32)
  writeFileSync(file, Buffer.concat([Buffer.from(`/*${hash}*/`), text]))
}

/** The verbs that work on the resident board: bin/plugboard.cjs has the list. */
function lightVerbs() {
  const text = readFileSync(join(root, 'packages/cli/bin/plugboard.cjs'), 'utf8')
  const [, names = ''] = /const LIGHT = new Set\(\[([^\]]*)\]\)/.exec(text) ?? []
  return new Set([...names.matchAll(/'([a-z-]+)'/g)].map(([, name]) => name))
}

/** Zod's messages in fifty languages are two thirds of its code, and the command shows its own. */
function englishOnly(build) {
  build.onLoad({ filter: /[\\/]zod[\\/]v4[\\/]locales[\\/]index\.js$/ }, () => ({
    contents: "export { default as en } from './en.js'",
  }))
}

/** `node:module` loads Node's whole ESM loader, for a function that newer versions of Node do not need. */
function moduleOnDemand(build) {
  const name = 'module-on-demand'
  build.onResolve({ filter: /^node:module$/ }, ({ kind }) =>
    kind === 'import-statement' ? { path: name, namespace: name } : undefined,
  )
  build.onLoad({ filter: /.*/, namespace: name }, () => ({
    contents: "export const createRequire = (from) => require('node:module').createRequire(from)",
  }))
}

/** esbuild splits ESM only; a dynamic import here becomes a `require` of a bundle of its own. */
function splitDynamicImports(build, parts) {
  build.onResolve({ filter: /^\./ }, ({ path, kind, resolveDir }) => {
    if (kind !== 'dynamic-import') return undefined
    const file = join(resolveDir, path)
    const name = `part-${basename(dirname(file))}-${basename(file).replace(/\.[tj]s$/, '')}`
    parts.set(name, file)
    return { path: `./${name}.cjs`, external: true }
  })
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await build()
