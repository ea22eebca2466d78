// `npm run compat [-- NAME …] [--markdown] [--json] [--without-sdk]`: real MCP servers from npm, pinned and installed on
// demand, each through the public API. It ends with a table, and with 1 when a server does not do what is expected of it.
import { fork, spawnSync } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { isAsExpected, markdownPage, terminalTable } from '../test/compat/page.mjs'
import { endAll, familyOf } from '../test/compat/processes.mjs'
import { programIn } from '../test/compat/program.mjs'
import { SERVERS } from '../test/compat/servers.mjs'
import { build } from './build.mjs'
import { ensureInstalled, root } from './ensure-install.mjs'
import { nodeIn, onDemand } from './lib/on-demand.mjs'

const AT_ONCE = 2
const CHECK_MS = 240_000
/** What `close()` promises. */
const CLOSE_MS = 1000
const FORMAT_MS = 30_000

const { values: flags, positionals: names } = parseArgs({
  allowPositionals: true,
  options: {
    markdown: { type: 'boolean' },
    json: { type: 'boolean' },
    'without-sdk': { type: 'boolean' },
  },
})
if (names.length > 0 && flags.markdown)
  refuse('--markdown writes the whole table; it does not go with names.')
const unknown = names.filter((name) => !SERVERS.some((server) => server.name === name))
if (unknown.length > 0)
  refuse(`Not here: ${unknown.join(', ')}. Here are: ${SERVERS.map(({ name }) => name).join(', ')}.`)

ensureInstalled()
await build()
const wanted = SERVERS.filter(({ name }) => names.length === 0 || names.includes(name))
const programs = new Map(wanted.map((server) => [server.name, installed(server)]))
const outcomes = await checkAll(wanted)
const surprises = outcomes.filter((outcome) => !isAsExpected(outcome))
console.log(flags.json ? JSON.stringify(outcomes, null, 2) : `\n${terminalTable(outcomes)}`)
for (const { name, expected, problems } of surprises)
  console.error(`unexpected: ${name}: ${expected ? `it works, although ${expected}` : problems.join('; ')}`)
if (flags.markdown) writePage(outcomes)
process.exitCode = surprises.length === 0 ? 0 : 1

async function checkAll(servers) {
  const found = []
  const queue = servers.entries()
  const work = async () => {
    for (const [index, server] of queue) {
      const outcome = { ...server, ...(await checkPatiently(server)) }
      found[index] = outcome
      const good = outcome.problems.length === 0
      console.error(`${good ? 'pass' : 'FAIL'} ${server.name}  ${outcome.problems.join('; ')}`)
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, work))
  return found
}

/** Every check has a timeout: its process and everything the server started are stopped. */
function checkOne({ name }) {
  const program = programs.get(name)
  if (program.problem) return { problems: [program.problem] }
  const mark = randomUUID()
  const child = fork(join(root, 'test/compat/one.mjs'), { stdio: ['ignore', 'ignore', 'inherit', 'ipc'] })
  return new Promise((resolve) => {
    let outcome
    const timer = setTimeout(() => {
      outcome = { problems: [`no end within ${CHECK_MS} ms`] }
      child.kill('SIGKILL')
    }, CHECK_MS)
    child.once('message', (message) => {
      outcome = message
    })
    // The channel broke: the exit that follows says more.
    child.on('error', () => undefined)
    child.once('exit', (code) => {
      clearTimeout(timer)
      endAll(familyOf(mark))
      resolve(outcome ?? { problems: [`the check itself ended with code ${code}`] })
    })
    child.send({ name, program, mark, withSdk: !flags['without-sdk'] })
  })
}

/** A busy machine can delay anything: a server that was only slow to close is tried once more. */
async function checkPatiently(server) {
  const first = await checkOne(server)
  if (first.problems.length > 0 || !isSlow(first)) return first
  const { problems, ...second } = await checkOne(server)
  return {
    ...second,
    problems: isSlow(second) ? [...problems, `closing took ${second.closeMs} ms`] : problems,
  }
}

function isSlow({ closeMs }) {
  return closeMs > CLOSE_MS
}

function installed(server) {
  try {
    return programOf(server)
  } catch (error) {
    return { problem: `it could not be installed: ${error.message}` }
  }
}

/** How a server's program is run, from where it is installed now. */
function programOf(server) {
  const slug = server.package.replace(/^@/, '').replaceAll('/', '-')
  // Install scripts run only where a server is incomplete without them: a compiled database, not a browser.
  const scripts = server.scripts === true
  const folder = onDemand(`compat-${slug}-${server.version}`, [`${server.package}@${server.version}`], {
    scripts,
  })
  const program = programIn(folder, server, server.node && nodeOf(server.node))
  if (!server.inner) return program
  const inner = programOf(server.inner)
  return { ...program, inner: [inner.command, ...inner.args] }
}

function nodeOf(major) {
  return nodeIn(onDemand(`compat-node-${major}`, [`node@${major}`]))
}

function writePage(rows) {
  const sdk = JSON.parse(
    readFileSync(join(root, 'node_modules/@modelcontextprotocol/client/package.json'), 'utf8'),
  ).version
  const page = join(root, 'docs', 'compatibility.md')
  const date = new Date().toISOString().slice(0, 10)
  writeFileSync(page, markdownPage(rows, { date, node: process.versions.node, sdk }))
  const biome = join(root, 'node_modules', '@biomejs', 'biome', 'bin', 'biome')
  spawnSync(process.execPath, [biome, 'format', '--write', page], { stdio: 'ignore', timeout: FORMAT_MS })
}

function refuse(message) {
  console.error(message)
  process.exit(2)
}
