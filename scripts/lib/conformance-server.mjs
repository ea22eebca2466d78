// conformance-server.mjs: the server half: what each revision requires of a server, against a server of the official SDK
// (the gateway's fixture) alone, and against the same server through the real `plugboard serve`.
import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { root } from '../ensure-install.mjs'
import { groups, score, whenAndWith } from './conformance-report.mjs'
import { counted, firstComplaint, SCENARIO_MS, sawSomething } from './conformance-suite.mjs'
import { markdownTable, plainTable } from './table.mjs'

const FIXTURE = join(root, 'packages/gateway/src/fixtures/suite.mjs')
const COMMAND = join(root, 'packages/cli/bin/plugboard.cjs')
const START_MS = 30_000
const STOP_MS = 10_000

const ALONE = 'alone'
const SERVED = 'through plugboard serve'
const config = JSON.stringify({ mcpServers: { suite: { command: process.execPath, args: [FIXTURE] } } })
const TARGETS = new Map([
  [ALONE, [FIXTURE, '--http']],
  [
    SERVED,
    [COMMAND, 'serve', '--http', '--json', '--no-auth', '--names=plain', '--mode=all'].concat([
      '--strict-mcp-config',
      '--mcp-config',
      config,
    ]),
  ],
])

/** The suite makes no check in it: it is to be written anew, as it says itself. */
const isLeftOut = ({ name }) => name === 'tasks-status-notifications'

export class ServerHalf {
  name = 'server'
  #suite

  constructor(suite) {
    this.#suite = suite
  }

  scenarios() {
    return this.#suite.scenarios('server').filter((scenario) => !isLeftOut(scenario))
  }

  async *run(scenarios) {
    for (const [target, command] of TARGETS) {
      const server = await start(command)
      try {
        for (const scenario of scenarios) {
          const ended = await this.#suite.run(scenario, ['server', '--url', server.url])
          const verdict = server.ended()
            ? { ...counted([]), verdict: 'failed', why: server.ended() }
            : judge(ended)
          yield { ...scenario, target, ...verdict, output: ended.output }
        }
      } finally {
        await server.stop()
      }
    }
  }

  /** What a revision only reports beside its requirements is in the table, and does not fail the run. */
  isSurprise({ scored, verdict }) {
    return scored && verdict !== 'passed'
  }

  table(outcomes) {
    return plainTable(rows(outcomes))
  }

  page(outcomes) {
    return [
      '## As a server',
      '',
      '`npm run conformance -- --server`: against a server on the official SDK (packages/gateway/src/fixtures/suite.mjs) over HTTP, and against the same server',
      `over stdio behind \`plugboard serve --http --names=plain --mode=all\`, ${whenAndWith()}. \`tasks-status-notifications\` is left`,
      'out: the suite makes no check in it.',
      '',
      markdownTable(rows(outcomes)),
      ...groups(outcomes).flatMap(([title, members]) => [
        '',
        `### Server: ${title}`,
        '',
        markdownTable([['scenario', ALONE, SERVED, 'why'], ...lines(members)]),
      ]),
    ]
  }
}

function rows(outcomes) {
  const targets = [...TARGETS.keys()].map((target) => outcomes.filter((each) => each.target === target))
  return [
    ['server scenarios', ALONE, 'checks', SERVED, 'checks'],
    ...groups(outcomes).map(([title, members]) => [
      title,
      ...targets.flatMap((own) => score(own.filter((each) => members.includes(each)))),
    ]),
  ]
}

function lines(members) {
  const names = [...new Set(members.map(({ name }) => name))]
  return names.map((name) => {
    const [alone, served] = [ALONE, SERVED].map((target) =>
      members.find((each) => each.name === name && each.target === target),
    )
    const cell = (one) => (one ? `${one.verdict}, ${one.passed} of ${one.checks}` : 'not run')
    const why = [alone, served].flatMap((one) => (one && one.verdict !== 'passed' ? [one.why] : []))
    return [name, cell(alone), cell(served), [...new Set(why)].join('; ')]
  })
}

function judge({ code, timedOut, checks }) {
  const facts = counted(checks)
  if (timedOut) return { ...facts, verdict: 'failed', why: `no end within ${SCENARIO_MS} ms` }
  if (code !== 0) return { ...facts, verdict: 'failed', why: firstComplaint(checks) ?? 'the suite failed' }
  if (!sawSomething(checks))
    return { ...facts, verdict: 'vacuous', why: firstComplaint(checks) ?? 'no check was made' }
  return { ...facts, verdict: 'passed', why: '' }
}

/** Starts a server that prints `{"url": …}` as its first line, in a home of its own. */
async function start(command) {
  const home = mkdtempSync(join(tmpdir(), 'plugboard-conformance-home-'))
  const child = spawn(process.execPath, command, {
    cwd: home,
    env: { PATH: process.env.PATH ?? '', HOME: home, USERPROFILE: home, PLUGBOARD_MANAGED_DIR: home },
    stdio: ['pipe', 'pipe', 'pipe'],
  })
  let complaints = ''
  child.stderr.setEncoding('utf8').on('data', (text) => {
    complaints = (complaints + text).slice(-10_000)
  })
  const gone = new Promise((resolve) => child.on('exit', resolve))
  const stop = async () => {
    child.stdin.end()
    child.kill('SIGTERM')
    const timer = setTimeout(() => child.kill('SIGKILL'), STOP_MS)
    await gone
    clearTimeout(timer)
    rmSync(home, { recursive: true, force: true })
  }
  const ended = () =>
    child.exitCode === null && child.signalCode === null
      ? undefined
      : `the server ended: ${complaints.trim()}`
  try {
    const url = await Promise.race([urlOf(child.stdout), late(gone)])
    if (url === undefined)
      throw new Error(`The server does not start: ${complaints.trim() || 'it says nothing'}`)
    return { url, ended, stop }
  } catch (error) {
    await stop()
    throw error
  }
}

async function urlOf(stdout) {
  let said = ''
  for await (const chunk of stdout.setEncoding('utf8').iterator({ destroyOnReturn: false })) {
    said += chunk
    try {
      return JSON.parse(said).url
    } catch {
      // The document is not whole yet.
    }
  }
  return undefined
}

async function late(gone) {
  let timer
  const over = new Promise((resolve) => {
    timer = setTimeout(resolve, START_MS)
  })
  await Promise.race([gone, over])
  clearTimeout(timer)
  return undefined
}
