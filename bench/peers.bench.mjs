// The command beside other commands, on the same real servers from npm: connecting and listing them all, and one
// call from a cold start. Each contender has a home of its own and runs on the same Node, which comes from npm too.
import { execFileSync, spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { nodeIn, onDemand } from '../scripts/lib/on-demand.mjs'
import { rawPipe } from './lib/contenders.mjs'
import { interleave, median, timed } from './lib/measure.mjs'
import { report } from './lib/report.mjs'
import { SERVERS, serverCommand } from './lib/servers.mjs'

const MCPORTER = 'mcporter@0.12.3'
const CLAUDE = '@anthropic-ai/claude-code@2.1.197'
const NAMES = ['everything', 'filesystem', 'memory', 'thinking']
const ROUNDS = 9
const COMMAND_MS = 60_000

const root = fileURLToPath(new URL('..', import.meta.url))
const tools = onDemand('bench-peers', ['node@24', MCPORTER, CLAUDE])
const node = nodeIn(tools)
const folder = mkdtempSync(join(tmpdir(), 'plugboard-bench-'))
const project = join(folder, 'project')
mkdirSync(project)

const servers = Object.fromEntries(
  NAMES.map((name) => {
    const { args, env } = serverCommand(SERVERS[name], project)
    return [name, { command: node, args, env }]
  }),
)

/** A home with the same servers in the file that this contender reads. */
function homeFor(contender, file, settings = {}) {
  const home = join(folder, contender)
  mkdirSync(join(home, file, '..'), { recursive: true })
  writeFileSync(join(home, file), JSON.stringify({ mcpServers: servers, ...settings }))
  return home
}

function command(home, file, args) {
  return () =>
    execFileSync(file, args, {
      cwd: project,
      env: { PATH: process.env.PATH, HOME: home, PLUGBOARD_RESIDENT: '0' },
      stdio: ['ignore', 'pipe', 'pipe'],
      timeout: COMMAND_MS,
    }).toString()
}

// No other contender has a built-in server: ours is switched off, so that the work is the same.
const ours = homeFor('ours', '.plugboard/settings.json', { disabledServers: ['codebase'] })
const theirs = homeFor('mcporter', '.mcporter/mcporter.json')
const claudes = homeFor('claude', '.claude.json')
const plugboard = join(root, 'packages/cli/bin/plugboard.cjs')
const mcporter = join(tools, 'node_modules/mcporter/dist/cli.js')
const claude = join(tools, 'node_modules/.bin/claude')

const listing = {
  Plugboard: command(ours, node, [plugboard, 'list']),
  mcporter: command(theirs, node, [mcporter, 'list']),
  'Claude Code': command(claudes, claude, ['mcp', 'list']),
  'raw floor': () => byHand(NAMES),
}
const calling = {
  Plugboard: command(ours, node, [plugboard, 'call', 'everything.echo', 'message=hi']),
  mcporter: command(theirs, node, [mcporter, 'call', 'everything.echo', 'message=hi']),
  'raw floor': () => byHand(['everything'], { name: 'echo', arguments: { message: 'hi' } }),
}

/** All of them at once, in this process, with nothing but the messages: what the servers themselves cost. */
function byHand(names, call) {
  return Promise.all(
    names.map(async (name) => {
      const { command: file, args, env } = servers[name]
      const child = spawn(file, args, {
        cwd: project,
        env: { PATH: process.env.PATH, HOME: folder, PLUGBOARD_RESIDENT: '0', ...env },
        stdio: ['pipe', 'pipe', 'ignore'],
      })
      const gone = new Promise((done) => child.once('exit', done))
      try {
        const pipe = rawPipe(child)
        const clientInfo = { name: 'bench', version: '1' }
        await pipe.request('initialize', { protocolVersion: '2025-11-25', capabilities: {}, clientInfo })
        pipe.notify('notifications/initialized')
        await pipe.request('tools/list', {})
        if (call) await pipe.request('tools/call', call)
      } finally {
        child.kill('SIGKILL')
        await gone
      }
    }),
  )
}

function check() {
  const listed = {
    Plugboard: (text) => NAMES.every((name) => new RegExp(`✔ ${name} `).test(text)),
    mcporter: (text) => text.includes(`(${NAMES.length} healthy)`),
    'Claude Code': (text) => text.split('✔ Connected').length - 1 === NAMES.length,
  }
  for (const [name, good] of Object.entries(listed)) {
    const text = listing[name]()
    if (!good(text)) throw new Error(`${name} did not list all ${NAMES.length} servers:\n${text}`)
  }
  for (const name of ['Plugboard', 'mcporter'])
    if (!calling[name]().includes('Echo: hi')) throw new Error(`${name} did not bring the answer of the call`)
}

async function contest(what, contenders, notes = {}) {
  const samples = await interleave(
    Object.fromEntries(Object.entries(contenders).map(([name, run]) => [name, () => timed(run)])),
    ROUNDS,
  )
  const of = Object.fromEntries(Object.entries(samples).map(([name, took]) => [name, median(took)]))
  const peers = Object.entries(of).filter(([name]) => name !== 'Plugboard')
  return {
    what,
    value: `${of.Plugboard.toFixed(0)} ms`,
    against: peers.map(([name, took]) => `${name} ${took.toFixed(0)} ms`).join(', '),
    ratio: of.Plugboard / of.mcporter,
    contest: { unit: 'ms', better: 'less', of },
    ...notes,
  }
}

try {
  check()
  report(
    'peers',
    'The command beside others',
    [
      await contest(`\`list\`: ${NAMES.length} stdio servers from npm, from a cold start`, listing),
      await contest('`call`: one tool of one of them, from a cold start', calling),
    ],
    [
      `Medians of ${ROUNDS} interleaved rounds, every command on Node 24 but Claude Code, which brings its own. ${MCPORTER}, ${CLAUDE}. The ratio is against mcporter.`,
      'The floor is the servers alone: started and spoken to by hand from a process that runs already, and killed.',
      'Claude Code asks the servers whether they are well and does not list their tools here; it has no command for one call.',
    ],
  )
} finally {
  rmSync(folder, { recursive: true, force: true })
}
