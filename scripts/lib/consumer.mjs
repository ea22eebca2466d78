// consumer.mjs: what a user does who has just installed our packages into an empty project: import every public path,
// compile against the types, run the command, start the servers. Each check throws when it does not go as promised.
import { spawn, spawnSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from '../ensure-install.mjs'

const RUN_MS = 60_000
const COMPILE_MS = 300_000
const ANSWER_MS = 30_000

/** A user's first lines with the library. */
const FIRST_STEPS = `import { openBoard } from '@plugboard/core'

const board = await openBoard({ cwd: process.cwd() })
await board.ready()
for (const tool of board.tools()) console.log(tool.name)
const result = await board.call('mcp__codebase__search_code', { query: 'needleInThisProject' })
board.on('state', ({ server, state }) => console.log(server, state.kind))
console.log(result.content.map((part) => (part.type === 'text' ? part.text : '')).join(''))
await board.close()
`

/** Every way into a package, as `import` spells it. */
export function publicPaths({ name, manifest }) {
  return Object.keys(manifest.exports ?? {}).map((path) => name + path.slice(1))
}

/**
 * What is checked of an installed set, each a name and a function of `{ project, home, node, packages }`: the folder,
 * a home to throw away, the Node to run and what was packed.
 */
export const CHECKS = [
  ['imports every public path', importEverything],
  ['can be required, or says how else', requireIt],
  ['runs the first lines of the library', firstSteps],
  ['has the command', command],
  ['has the command find code in the folder', callTool],
  ['serves the board', (on) => initialize(on, ['serve'])],
  ['serves the code search alone', (on) => initialize(on, ['codebase'])],
]

async function importEverything(on) {
  const paths = on.packages.flatMap(publicPaths)
  const source = `for (const path of ${JSON.stringify(paths)}) {
    const names = Object.keys(await import(path))
    if (names.length === 0) throw new Error(path + ' exports nothing')
    console.log(path)
  }`
  const said = run(on, ['--input-type=module', '-e', source])
  expect(said.trim().split('\n').length === paths.length, `not every path was imported:\n${said}`)
}

/** The packages are ES modules. Where Node can require those it must work; older Nodes must report it themselves. */
async function requireIt(on) {
  const source = `const { openBoard } = require('@plugboard/core'); console.log(typeof openBoard)`
  const done = start(on, ['--input-type=commonjs', '-e', source])
  if (done.status === 0) expect(done.stdout.trim() === 'function', `require gave ${done.stdout}`)
  else expect(/ERR_REQUIRE_ESM/.test(done.stderr), `require failed in another way:\n${done.stderr}`)
}

async function firstSteps(on) {
  writeFileSync(join(on.project, 'needle.ts'), 'export const needleInThisProject = 1\n')
  writeFileSync(join(on.project, 'first-steps.mjs'), FIRST_STEPS)
  const said = run(on, ['first-steps.mjs'])
  expect(said.includes('mcp__codebase__search_code'), `the tools are not there:\n${said}`)
  expect(said.includes('needle.ts'), `the code was not found:\n${said}`)
}

async function command(on) {
  const { manifest } = on.packages.find(({ name }) => name === 'plugboard')
  const version = plugboard(on, ['--version']).trim()
  expect(version === manifest.version, `--version says ${version}`)
  const { servers } = JSON.parse(plugboard(on, ['list', '--json']))
  const codebase = servers.find(({ name }) => name === 'codebase')
  expect(codebase?.state === 'connected', `the built-in server is ${JSON.stringify(codebase)}`)
}

async function callTool(on) {
  writeFileSync(join(on.project, 'needle.ts'), 'export const needleInThisProject = 1\n')
  const said = plugboard(on, ['call', 'codebase.search_code', 'query=needleInThisProject'])
  expect(said.includes('needle.ts'), `the code was not found:\n${said}`)
}

/** Starts a server of ours over stdio, does the handshake, and sees it end when its input does. */
function initialize(on, words) {
  const child = spawn(on.node, [commandIn(on), ...words], {
    cwd: on.project,
    env: surroundings(on),
    stdio: 'pipe',
  })
  const initialize = {
    jsonrpc: '2.0',
    id: 1,
    method: 'initialize',
    params: {
      protocolVersion: '2025-11-25',
      capabilities: {},
      clientInfo: { name: 'consumer', version: '1' },
    },
  }
  return new Promise((resolve, reject) => {
    let stdout = ''
    let stderr = ''
    const timer = setTimeout(() => child.kill('SIGKILL'), ANSWER_MS)
    child.stderr.setEncoding('utf8').on('data', (text) => {
      stderr += text
    })
    child.stdout.setEncoding('utf8').on('data', (text) => {
      stdout += text
      if (stdout.includes('\n')) child.stdin.end()
    })
    // A server that crashed at once does not read; its output is in the report below.
    child.stdin.on('error', () => undefined)
    child.on('error', reject)
    child.on('close', (code) => {
      clearTimeout(timer)
      const [first = ''] = stdout.split('\n')
      const good = code === 0 && /"protocolVersion":"2025-11-25"/.test(first)
      if (good) resolve()
      else reject(new Error(`${words.join(' ')} ended with ${code} after ${first.slice(0, 500)}\n${stderr}`))
    })
    child.stdin.write(`${JSON.stringify(initialize)}\n`)
  })
}

/**
 * Compiles a project that uses everything, with the declarations of our packages checked as strictly as its own code:
 * the first lines, every public path, and the examples of the READMEs.
 */
export function compile(on, { tsc, resolution }) {
  const imports = on.packages
    .flatMap(publicPaths)
    .map((path, at) => `import * as _${at} from '${path}'\nvoid _${at}`)
  const files = { 'first-steps.ts': FIRST_STEPS, 'everything.ts': imports.join('\n') }
  for (const { name } of on.packages)
    for (const [at, block] of examplesOf(join(on.project, 'node_modules', name, 'README.md')).entries())
      files[`readme-${name.replace(/\W+/g, '-')}-${at}.ts`] = block
  for (const [file, text] of Object.entries(files)) writeFileSync(join(on.project, file), text)
  const config = join(on.project, `tsconfig.${resolution}.json`)
  const compilerOptions = {
    strict: true,
    exactOptionalPropertyTypes: true,
    skipLibCheck: false,
    noEmit: true,
    target: 'ES2022',
    lib: ['ES2022', 'ESNext.Disposable'],
    types: ['node'],
    module: resolution === 'bundler' ? 'esnext' : resolution,
    moduleResolution: resolution,
  }
  writeFileSync(config, JSON.stringify({ compilerOptions, files: Object.keys(files) }))
  const done = spawnSync(process.execPath, [tsc, '-p', config], {
    cwd: on.project,
    encoding: 'utf8',
    timeout: COMPILE_MS,
  })
  if (done.error) throw done.error
  expect(done.status === 0, `tsc (${resolution}) says:\n${done.stdout.slice(0, 4000)}${done.stderr}`)
}

function examplesOf(readme) {
  return [...readFileSync(readme, 'utf8').matchAll(/^```ts\n([\s\S]*?)^```$/gm)].map(([, block]) => block)
}

/** The compiler of the workspace. */
export const TSC = join(root, 'node_modules', 'typescript', 'bin', 'tsc')

function plugboard(on, words) {
  return run(on, [commandIn(on), ...words])
}

function commandIn({ project }) {
  return join(project, 'node_modules', '.bin', 'plugboard')
}

export function run(on, args) {
  const done = start(on, args)
  expect(
    done.status === 0,
    `${args.join(' ').slice(0, 200)} ended with ${done.status}:\n${done.stderr.slice(0, 4000)}`,
  )
  return done.stdout
}

function start(on, args) {
  return spawnSync(on.node, args, {
    cwd: on.project,
    env: surroundings(on),
    encoding: 'utf8',
    timeout: RUN_MS,
  })
}

/** This machine's own configuration is not seen. */
function surroundings({ home }) {
  return {
    PATH: process.env.PATH ?? '',
    HOME: home,
    PLUGBOARD_RESIDENT: '0',
    USERPROFILE: home,
    PLUGBOARD_MANAGED_DIR: join(home, 'managed'),
  }
}

function expect(truth, otherwise) {
  if (!truth) throw new Error(otherwise)
}
