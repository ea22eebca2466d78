// `npm run conformance [-- --only PATTERN] [--markdown] [--verbose]`: the official MCP conformance suite, pinned, against
// test/conformance/client.mjs: what each protocol revision requires of a client, one scenario at a time (the suite's own
// parallel mode fails small machines). It ends with a table, and with 1 when something failed that was not expected to.
import { spawn, spawnSync } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { build } from './build.mjs'
import { ensureInstalled, root } from './ensure-install.mjs'
import { nodeIn, onDemand } from './lib/on-demand.mjs'

const SUITE = '@modelcontextprotocol/conformance@0.2.0-alpha.12'
const REVISIONS = ['2025-11-25', '2026-07-28']
const CLIENT_MS = 30_000
const SCENARIO_MS = 45_000
const LIST_MS = 30_000

/** What is known not to work, and why. A scenario here that passes is reported too: then its line must go. */
const EXPECTED = new Map()

/**
 * Where the client must not get through, and what must have stopped it: the suite only sees that no token was asked for,
 * which a client that crashed would achieve as well.
 */
const MUST_STOP = new Map([
  ['auth/scope-retry-limit', 'AUTH_REQUIRED'],
  ['auth/resource-mismatch', 'resource-mismatch'],
  ['auth/iss-supported-missing', 'issuer-mismatch'],
  ['auth/iss-wrong-issuer', 'issuer-mismatch'],
  ['auth/iss-unexpected', 'issuer-mismatch'],
  ['auth/iss-normalized', 'issuer-mismatch'],
  ['auth/metadata-issuer-mismatch', 'issuer-mismatch'],
  ['sep-2640-client-verify-digest', 'digest'],
  ['sep-2640-client-verify-size', 'size'],
  ['sep-2640-client-verify-frontmatter', 'frontmatter'],
])

const { values: flags } = parseArgs({
  options: { only: { type: 'string' }, markdown: { type: 'boolean' }, verbose: { type: 'boolean' } },
})

if (flags.only && flags.markdown) {
  console.error('--markdown writes the whole table; it does not go with --only.')
  process.exit(2)
}

ensureInstalled()
await build()
const suiteDir = onDemand('conformance-0.2.0-alpha.12', [SUITE, 'node@24'])
const suite = [join(suiteDir, 'node_modules/@modelcontextprotocol/conformance/dist/index.js')]
const clientCommand = `"${process.execPath}" "${join(root, 'test/conformance/client.mjs')}"`

const wanted = scenarios().filter(({ name }) => !flags.only || new RegExp(flags.only).test(name))
if (wanted.length === 0) {
  console.error(`No scenario matches ${flags.only}.`)
  process.exit(2)
}
const outcomes = []
for (const scenario of wanted) {
  const outcome = await run(scenario)
  outcomes.push(outcome)
  const why = outcome.verdict === 'passed' ? '' : `  ${outcome.why}`
  console.log(`${mark(outcome)} ${scenario.name} (${scenario.revision ?? 'no revision'})${why}`)
  if (flags.verbose && outcome.verdict !== 'passed') console.log(indented(outcome.output))
}
console.log(`\n${table(outcomes).join('\n')}`)
const surprises = outcomes.filter(isSurprise)
for (const { name, revision, why } of surprises)
  console.log(`unexpected: ${name} (${revision ?? 'no revision'}): ${why}`)
if (flags.markdown) writeMarkdown(outcomes)
process.exit(surprises.length === 0 ? 0 : 1)

/** What each revision requires of a client, what it reports beside that, and the rest of what the suite has. */
function scenarios() {
  const found = []
  for (const revision of REVISIONS) {
    const text = listed(['--requirements', revision])
    const [required = '', beside = ''] = text.split(/^Run and reported/m)
    const clients = required.split(/^Client scenarios.*$/m)[1] ?? ''
    for (const [, name] of clients.matchAll(/^ {2}- (\S+)$/gm)) found.push({ name, revision, scored: true })
    for (const [, name] of beside.matchAll(/^ {4}- (\S+) \[client\]$/gm))
      found.push({ name, revision, scored: false })
  }
  const known = new Set(found.map(({ name }) => name))
  const all = (listed(['--client']).split(/^Client scenarios.*$/m)[1] ?? '').split(/^\S/m)[0] ?? ''
  for (const [, name] of all.matchAll(/^ {2}- (\S+) \[/gm))
    if (!known.has(name)) found.push({ name, revision: undefined, scored: false })
  return found
}

function listed(args) {
  const done = spawnSync(nodeIn(suiteDir), [...suite, 'list', ...args], {
    encoding: 'utf8',
    timeout: LIST_MS,
  })
  if (done.status !== 0)
    throw new Error(`The suite does not list its scenarios: ${done.stderr || done.error}`)
  return done.stdout
}

async function run(scenario) {
  const results = mkdtempSync(join(tmpdir(), 'plugboard-conformance-results-'))
  try {
    const { name, revision, scored } = scenario
    const version = revision ? ['--spec-version', revision, ...(scored ? [] : ['--force'])] : []
    const args = ['client', '--command', clientCommand, '--scenario', name, '--timeout', String(CLIENT_MS)]
    const started = Date.now()
    const ended = await bounded([...args, ...version, '-o', results])
    const checks = checksIn(results)
    return { ...scenario, ...judge(name, ended, checks), output: ended.output, ms: Date.now() - started }
  } finally {
    rmSync(results, { recursive: true, force: true })
  }
}

/** Every scenario has an end: the suite, and with it the client, is stopped as one process group. */
function bounded(args) {
  return new Promise((resolve) => {
    const child = spawn(nodeIn(suiteDir), [...suite, ...args], {
      stdio: ['ignore', 'pipe', 'pipe'],
      detached: process.platform !== 'win32',
    })
    let output = ''
    let timedOut = false
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding('utf8').on('data', (text) => {
        output = (output + text).slice(-1_000_000)
      })
    const timer = setTimeout(() => {
      timedOut = true
      if (process.platform === 'win32') child.kill()
      else process.kill(-child.pid, 'SIGKILL')
    }, SCENARIO_MS)
    const end = (code) => {
      clearTimeout(timer)
      resolve({ code, output, timedOut })
    }
    child.on('error', (error) => {
      output += String(error)
      end(1)
    })
    child.on('close', end)
  })
}

function checksIn(results) {
  const [folder] = readdirSync(results, { recursive: true }).filter((path) => path.endsWith('checks.json'))
  return folder ? JSON.parse(readFileSync(join(results, folder), 'utf8')) : []
}

/**
 * The suite passes a client that never does what a scenario is about. Here that is a failure: at least one check of
 * the scenario's own must have seen something.
 */
function judge(name, { code, timedOut, output }, checks) {
  const count = (status) => checks.filter((check) => check.status === status).length
  const facts = { passed: count('SUCCESS'), checks: count('SUCCESS') + count('FAILURE') + count('WARNING') }
  if (timedOut) return { ...facts, verdict: 'failed', why: `no end within ${SCENARIO_MS} ms` }
  if (code !== 0)
    return { ...facts, verdict: 'failed', why: firstComplaint(checks) ?? 'the client ended with an error' }
  const [, stoppedBy] = output.match(/^ended with (\S+)$/m) ?? []
  if (stoppedBy !== MUST_STOP.get(name))
    return { ...facts, verdict: 'failed', why: `the client ended with ${stoppedBy ?? 'no error'}` }
  const seen = checks.some(({ id, status }) => status === 'SUCCESS' && !id.startsWith('wire-schema-'))
  if (!seen) return { ...facts, verdict: 'vacuous', why: firstComplaint(checks) ?? 'no check was made' }
  return { ...facts, verdict: 'passed', why: 'passes although it is not expected to' }
}

function firstComplaint(checks) {
  for (const status of ['FAILURE', 'WARNING', 'SKIPPED'])
    for (const check of checks) {
      const { id, errorMessage, description } = check
      if (check.status === status)
        return `${id}: ${(errorMessage ?? description).split('\n', 1)[0].slice(0, 200)}`
    }
  return undefined
}

function mark({ verdict }) {
  return { passed: 'pass   ', failed: 'FAIL   ', vacuous: 'VACUOUS' }[verdict]
}

function isSurprise({ name, verdict }) {
  return (verdict === 'passed') === EXPECTED.has(name)
}

function groups(list) {
  return [
    ...REVISIONS.map((revision) => [
      `${revision}, required`,
      list.filter((o) => o.revision === revision && o.scored),
    ]),
    ...REVISIONS.map((revision) => [
      `${revision}, reported beside it`,
      list.filter((o) => o.revision === revision && !o.scored),
    ]),
    ['in no revision', list.filter((o) => o.revision === undefined)],
  ].filter(([, members]) => members.length > 0)
}

function row(title, members) {
  const good = members.filter(({ verdict }) => verdict === 'passed')
  const sum = (key) => members.reduce((total, each) => total + each[key], 0)
  return [title, `${good.length} of ${members.length}`, `${sum('passed')} of ${sum('checks')}`]
}

function table(list) {
  const rows = [
    ['client scenarios', 'passed', 'checks'],
    ...groups(list).map(([title, members]) => row(title, members)),
  ]
  const widths = rows[0].map((_, column) => Math.max(...rows.map((cells) => cells[column].length)))
  return rows.map((cells) =>
    cells
      .map((cell, column) => cell.padEnd(widths[column]))
      .join('  ')
      .trimEnd(),
  )
}

function writeMarkdown(list) {
  const line = (cells) => `| ${cells.map((cell) => String(cell).replaceAll('|', '\\|')).join(' | ')} |`
  const lines = [
    '# Conformance',
    '',
    `The official suite, \`${SUITE}\`, against a small program on the public API (test/conformance/client.mjs), on`,
    `${new Date().toISOString().slice(0, 10)} with Node ${process.versions.node}. Run it yourself: \`npm run conformance\`.`,
    '',
    line(['client scenarios', 'passed', 'checks']),
    line(['---', '---', '---']),
    ...groups(list).map(([title, members]) => line(row(title, members))),
    '',
    'A scenario counts only when one of its own checks has seen the client do what it is about; the suite itself lets a',
    'client pass that never does. What a revision reports beside its requirements are extensions and newer scenarios.',
    ...groups(list).flatMap(([title, members]) => [
      '',
      `## Client: ${title}`,
      '',
      line(['scenario', 'outcome', 'checks', 'why']),
      line(['---', '---', '---', '---']),
      ...members.map(({ name, verdict, passed, checks, why }) =>
        line([
          name,
          verdict,
          `${passed} of ${checks}`,
          verdict === 'passed' ? '' : (EXPECTED.get(name) ?? why),
        ]),
      ),
    ]),
  ]
  const page = join(root, 'docs', 'conformance.md')
  writeFileSync(page, `${lines.join('\n')}\n`)
  const biome = join(root, 'node_modules', '@biomejs', 'biome', 'bin', 'biome')
  spawnSync(process.execPath, [biome, 'format', '--write', page], { stdio: 'ignore', timeout: LIST_MS })
}

function indented(text) {
  return text.replace(/^/gm, '        ')
}
