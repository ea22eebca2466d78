// The resident board: a call from a shell while its server is kept warm, the first one, lists from the catalog, and what many
// clients cost together. Beside the daemons of mcporter and of the MCP Inspector (`mcpdo`), each with a home of its own, on the
// same servers.
import { execFileSync, spawn } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { nodeIn, onDemand } from '../scripts/lib/on-demand.mjs'
import { ECHO } from './lib/board-only.mjs'
import { rawPipe } from './lib/contenders.mjs'
import { interleave, median, onOneCore, timed } from './lib/measure.mjs'
import { report } from './lib/report.mjs'
import { SERVERS, serverCommand } from './lib/servers.mjs'

const MCPORTER = 'mcporter@0.12.3'
const INSPECTOR = '@modelcontextprotocol/inspector@2.12.0'
const ROUNDS = 15
const FIRSTS = 7
const CLIENTS = 20
const MANY = 12
const CALLS = 2000
const COMMAND_MS = 60_000

const root = fileURLToPath(new URL('..', import.meta.url))
const tools = onDemand('bench-resident', ['node@24', MCPORTER, INSPECTOR])
// The peers need a newer Node than ours, which starts faster too; every ratio is against `node -e 0` of the same Node.
const node = process.execPath
const peersNode = nodeIn(tools)
const folder = mkdtempSync(join(tmpdir(), 'plugboard-bench-'))
const project = join(folder, 'project')
mkdirSync(project)
const plugboard = join(root, 'packages/cli/bin/plugboard.cjs')
const mcporter = join(tools, 'node_modules/mcporter/dist/cli.js')
const mcpdo = join(tools, 'node_modules/@modelcontextprotocol/inspector/clients/mcpdo/build/mcp-bin.js')

const { args, env } = serverCommand(SERVERS.everything, project)
const everything = { command: node, args, env }
const echo = (name) => ({ command: node, args: [ECHO], env: { MARK: name } })
const many = Object.fromEntries(Array.from({ length: MANY }, (_, at) => [`s${at}`, echo(`s${at}`)]))

/** A home with servers in the file that this contender reads. */
function homeFor(contender, file, servers, settings = {}) {
  const home = join(folder, contender)
  mkdirSync(join(home, file, '..'), { recursive: true })
  writeFileSync(join(home, file), JSON.stringify({ mcpServers: servers, ...settings }))
  return home
}

const surroundings = (home) => ({ PATH: process.env.PATH, HOME: home, XDG_STATE_HOME: join(home, 'state') })

function run(home, file, args, more = {}) {
  return execFileSync(file, args, {
    cwd: project,
    env: { ...surroundings(home), ...more },
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: COMMAND_MS,
  }).toString()
}

const OFF = { PLUGBOARD_RESIDENT: '0' }
const SETTINGS = '.plugboard/settings.json'
const one = homeFor('ours', SETTINGS, { everything }, { disabledServers: ['codebase'] })
const twelve = homeFor('twelve', SETTINGS, many, { disabledServers: ['codebase'] })
const idle = homeFor('idle', SETTINGS, {}, { disabledServers: ['codebase'] })
const porter = homeFor('mcporter', '.mcporter/mcporter.json', {
  everything: { ...everything, lifecycle: 'keep-alive' },
})
const inspector = homeFor('mcpdo', '.mcp-inspector/mcp.json', { everything })
const ours = (home, ...words) => run(home, node, [plugboard, ...words])
const theirs = (...words) => run(porter, peersNode, [mcporter, ...words])
const inspected = (...words) => run(inspector, peersNode, [mcpdo, ...words])
const nothing = () => run(folder, node, ['-e', '0'])
const CALL = ['call', 'everything.echo', 'message=hi']

function answered(text, who) {
  if (!text.includes('Echo: hi')) throw new Error(`${who} did not bring the answer of the call:\n${text}`)
}

const medians = async (contenders, rounds) =>
  Object.fromEntries(
    Object.entries(
      await interleave(
        Object.fromEntries(Object.entries(contenders).map(([name, work]) => [name, () => timed(work)])),
        rounds,
      ),
    ).map(([name, took]) => [name, median(took)]),
  )

const milliseconds = (value) => `${value.toFixed(0)} ms`

/** The peers run where they are; one that cannot be started is left out and named. */
function peerOrNothing(name, start) {
  try {
    start()
    return true
  } catch (error) {
    notes.push(`${name} could not be used here: ${String(error.message).split('\n')[0]}`)
    return false
  }
}
const notes = []

async function warm() {
  answered(ours(one, ...CALL), 'Plugboard')
  const hasPorter = peerOrNothing('mcporter', () => answered(theirs(...CALL), 'mcporter'))
  const toolsCall = ['--connection', 'everything', 'tools/call', 'echo', 'message:="hi"']
  const hasInspector = peerOrNothing('mcpdo', () => {
    inspected('connect', 'everything')
    answered(inspected(...toolsCall), 'mcpdo')
  })
  const of = await medians(
    {
      'node -e 0': nothing,
      Plugboard: () => ours(one, ...CALL),
      ...(hasPorter && { mcporter: () => theirs(...CALL) }),
      ...(hasInspector && { mcpdo: () => inspected(...toolsCall) }),
    },
    ROUNDS,
  )
  const ratio = of.Plugboard / of['node -e 0']
  const { 'node -e 0': _, ...contest } = of
  const against = Object.entries(of).filter(([name]) => name !== 'Plugboard')
  const peer = of.mcporter === undefined ? [] : [of.Plugboard / of.mcporter]
  return [
    {
      what: '`call`, its server warm',
      value: milliseconds(of.Plugboard),
      against: against.map(([name, took]) => `${name} ${milliseconds(took)}`).join(', '),
      ratio,
      goal: '<= 1.4 x node -e 0',
      met: ratio <= 1.4,
      contest: { unit: 'ms', better: 'less', of: contest },
    },
    ...peer.map((part) => ({
      what: '`call`, its server warm, against mcporter',
      value: milliseconds(of.Plugboard),
      against: `mcporter ${milliseconds(of.mcporter)}`,
      ratio: part,
      goal: '<= 0.25 x',
      met: part <= 0.25,
    })),
  ]
}

/** The first call starts the board; the one without a board starts its server alone. */
async function first() {
  const withBoard = []
  const without = []
  const porterFirst = []
  for (let round = 0; round < FIRSTS; round++) {
    ours(one, 'down')
    withBoard.push(await timed(() => answered(ours(one, ...CALL), 'Plugboard')))
    without.push(await timed(() => answered(run(one, node, [plugboard, ...CALL], OFF), 'Plugboard')))
    try {
      theirs('daemon', 'stop')
      porterFirst.push(await timed(() => answered(theirs(...CALL), 'mcporter')))
    } catch {
      // Said above.
    }
  }
  const ratio = median(withBoard) / median(without)
  const peers = porterFirst.length > 0 ? { mcporter: median(porterFirst) } : {}
  return {
    what: 'the first `call`, which starts the board',
    value: milliseconds(median(withBoard)),
    against: [`without a board ${milliseconds(median(without))}`]
      .concat(Object.entries(peers).map(([name, took]) => `${name} ${milliseconds(took)}`))
      .join(', '),
    ratio,
    goal: '<= 1.15 x without a board',
    met: ratio <= 1.15,
    contest: { unit: 'ms', better: 'less', of: { Plugboard: median(withBoard), ...peers } },
  }
}

/** Processes below this one, with what each holds in memory. */
function below(pid) {
  const children = execFileSync('ps', ['-e', '-o', 'pid=,ppid=,rss=,args='])
    .toString()
    .trim()
    .split('\n')
    .map((line) => /^\s*(\d+)\s+(\d+)\s+(\d+)\s+(.*)$/.exec(line))
    .filter(Boolean)
    .map(([, id, parent, rss, line]) => ({ id: Number(id), parent: Number(parent), rss: Number(rss), line }))
  return children.filter(({ parent, line }) => parent === pid && line.includes('echo-server'))
}

const rssOf = (pid) =>
  Number(/^VmRSS:\s*(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? Number.NaN) / 1024

async function listed() {
  ours(twelve, 'list')
  ours(twelve, 'down')
  const { pid } = JSON.parse(ours(twelve, 'up', '--json'))
  const count = JSON.parse(ours(twelve, 'tools', '--json')).tools.length
  if (count !== MANY * 2) throw new Error(`${count} tools of ${MANY} servers`)
  const of = await medians({ 'node -e 0': nothing, tools: () => ours(twelve, 'tools') }, ROUNDS)
  const started = below(pid).length
  const ratio = of.tools / of['node -e 0']
  return {
    what: `\`tools\` of ${MANY} servers from the catalog`,
    value: `${milliseconds(of.tools)}, ${started} servers started`,
    against: `node -e 0 ${milliseconds(of['node -e 0'])}`,
    ratio,
    goal: '<= 1.5 x node -e 0, none started',
    met: ratio <= 1.5 && started === 0,
  }
}

/** A client of `plugboard connect` or `serve`, after its handshake. */
async function client(home, words, more = {}) {
  const child = spawn(node, [plugboard, ...words], {
    cwd: project,
    env: { ...surroundings(home), ...more },
    stdio: ['pipe', 'pipe', 'ignore'],
  })
  const pipe = rawPipe(child)
  const clientInfo = { name: 'bench', version: '1' }
  await pipe.request('initialize', { protocolVersion: '2025-11-25', capabilities: {}, clientInfo })
  pipe.notify('notifications/initialized')
  return {
    call: (name, text) => pipe.request('tools/call', { name, arguments: { text } }),
    tools: async () => (await pipe.request('tools/list', {})).tools,
    end: () => {
      const gone = new Promise((done) => child.once('exit', done))
      child.stdin.end()
      return gone
    },
  }
}

async function crowd() {
  const { pid } = JSON.parse(ours(twelve, 'up', '--json'))
  const clients = []
  for (let at = 0; at < CLIENTS; at++) clients.push(await client(twelve, ['connect']))
  await Promise.all(
    clients.map(async ({ call }, at) => {
      for (const name of Object.keys(many)) {
        const { content } = await call(`mcp__${name}__echo`, `${at}`)
        if (content[0].text !== `${at}`) throw new Error(`client ${at} got the answer of another`)
      }
    }),
  )
  const processes = below(pid).length
  const rss = rssOf(pid)
  await Promise.all(clients.map(({ end }) => end()))
  ours(twelve, 'down')
  return {
    what: `${CLIENTS} clients of \`connect\` x ${MANY} servers, each called by each`,
    value: `${processes} server processes, resident ${rss.toFixed(0)} MiB`,
    against: `${CLIENTS * MANY} processes without it`,
    goal: `${MANY} processes, <= 90 MiB`,
    met: processes === MANY && rss <= 90,
  }
}

function resting() {
  const { pid } = JSON.parse(ours(idle, 'up', '--json'))
  const rss = rssOf(pid)
  ours(idle, 'down')
  return {
    what: 'memory of the idle process, without servers',
    value: `${rss.toFixed(0)} MiB`,
    goal: '<= 60 MiB',
    met: rss <= 60,
  }
}

/** One after the other: what a call through `connect` takes beside one through `serve`, which is in the client's own process tree. */
async function overhead() {
  // A board of its own, on the core of this process.
  ours(twelve, 'down')
  ours(twelve, 'up')
  const through = { connect: await client(twelve, ['connect']), serve: await client(twelve, ['serve'], OFF) }
  const took = { connect: [], serve: [] }
  for (const [name, { call }] of Object.entries(through))
    for (let at = 0; at < 200; at++) await call('mcp__s0__echo', name)
  for (let at = 0; at < CALLS; at++)
    for (const [name, { call }] of Object.entries(through))
      took[name].push((await timed(() => call('mcp__s0__echo', 'x'))) * 1000)
  await Promise.all(Object.values(through).map(({ end }) => end()))
  ours(twelve, 'down')
  const [mine, direct] = [median(took.connect), median(took.serve)]
  return {
    what: 'one call through `connect`, p50',
    value: `${mine.toFixed(0)} us`,
    against: `direct \`serve\` ${direct.toFixed(0)} us`,
    ratio: mine / direct,
    goal: '<= 150 us more',
    met: mine - direct <= 150,
  }
}

async function starting() {
  ours(twelve, 'up')
  const hello = JSON.stringify({
    jsonrpc: '2.0',
    id: 1,
    method: 'initialize',
    params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'bench', version: '1' } },
  })
  const connect = () => {
    const text = execFileSync(node, [plugboard, 'connect'], {
      cwd: project,
      env: surroundings(twelve),
      input: `${hello}\n`,
      stdio: ['pipe', 'pipe', 'ignore'],
      timeout: COMMAND_MS,
    }).toString()
    if (!text.includes('"serverInfo"')) throw new Error(`connect did not answer: ${text}`)
  }
  const of = await medians({ 'node -e 0': nothing, connect }, ROUNDS)
  const ratio = of.connect / of['node -e 0']
  return {
    what: '`connect`: start, handshake and end',
    value: milliseconds(of.connect),
    against: `node -e 0 ${milliseconds(of['node -e 0'])}`,
    ratio,
    goal: '<= 1.3 x node -e 0',
    met: ratio <= 1.3,
  }
}

try {
  const [latency, isPinned] = await onOneCore(overhead)
  const rows = [
    ...(await warm()),
    await first(),
    await listed(),
    await crowd(),
    resting(),
    latency,
    await starting(),
  ]
  report('resident', 'The resident board', rows, [
    `Medians of ${ROUNDS} interleaved rounds (${FIRSTS} for first calls, ${CALLS} for calls through a pipe), Plugboard and \`node -e 0\` on Node ${process.versions.node}, the peers on Node 24, which they need and which starts faster. ${MCPORTER} with its daemon, \`mcpdo\` of ${INSPECTOR}.`,
    `The calls through a pipe were measured with all processes on ${isPinned ? 'one core (`taskset`): between two cores each message also waits for the other core to wake' : 'all cores'}.`,
    'The servers are `@modelcontextprotocol/server-everything` for calls from a shell, and twelve copies of a minimal server for the rest.',
    ...notes,
  ])
} finally {
  for (const home of [one, twelve, idle])
    if (existsSync(join(home, '.plugboard/state/resident/board.sock'))) ours(home, 'down')
  for (const end of [() => theirs('daemon', 'stop'), () => inspected('daemon', 'stop')])
    try {
      end()
    } catch {
      // It does not run.
    }
  rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
}
