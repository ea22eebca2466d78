// What the board costs on top of a connection: calls through all of it against the bare SDK client and against the
// raw floor, large results, connecting twelve servers, second connects, and an idle board.
import { execFileSync, spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { configured, core, openBoard, stdioEntry } from './lib/board-only.mjs'
import { rawPipe, stdioContenders } from './lib/contenders.mjs'
import { atOnce, cpuOf, interleave, LANES, median, timed } from './lib/measure.mjs'
import { contendersOf, oneAtATime, onOneCore, turns, warmUp } from './lib/one-at-a-time.mjs'
import { report } from './lib/report.mjs'
import { SERVERS, serverCommand } from './lib/servers.mjs'

const folder = mkdtempSync(join(tmpdir(), 'plugboard-bench-'))
// The SDK's HTTP transport leaks abort listeners and Node warns about each; only the table should be printed.
process.removeAllListeners('warning')

const { childEnvironment } = await core('transports/environment.js')
const rows = []
try {
  await calls('stdio', {
    rounds: 120,
    batch: 50,
    many: 960,
    warm: 8000,
    goals: { p50: 1.0, throughput: 3.5, floorP50: 1.15, floorThroughput: 0.75, cpu: 1.75 },
  })
  await calls('http', {
    rounds: 30,
    batch: 30,
    many: 320,
    warm: 1500,
    goals: { p50: 0.9, throughput: 1.2, floorP50: 1.1, floorThroughput: 0.85 },
  })
  await calls('in-process', {
    rounds: 60,
    batch: 100,
    many: 960,
    warm: 8000,
    goals: { p50: 1.15, throughput: 1.5 },
  })
  await bigResult()
  await twelveServers()
  await secondConnect()
  idleBoard()
  report('connections', 'Connections: the whole board against the bare SDK client', rows, [
    'Medians of 30 to 120 short interleaved rounds (7 for twelve servers, 3 for the large result); a shared machine, so read the ratios.',
    'One echo server without a library behind stdio and http, one of the SDK in-process. The board does `board.call`: name, schema, permission, order, call, result and audit.',
    ...(onOneCore().length > 0
      ? [
          'One call at a time: client and server share one core (`taskset`); on two cores the time to wake an idle one, 25 or 70 µs a round trip by chance, hides what a client costs.',
        ]
      : []),
    'The floor is hand-written JSON on the same pipe, or a node:http POST: nothing is checked, timed, ordered or cancelled.',
  ])
} finally {
  rmSync(folder, { recursive: true, force: true })
}

/** Many short rounds: a busy moment of the machine spoils few of them, and affects all contenders alike. */
async function calls(kind, { rounds, batch, many, warm, goals }) {
  const sequential = oneAtATime(kind, { rounds, batch, warm })
  const contenders = await contendersOf(kind)
  const names = Object.keys(contenders)
  try {
    await warmUp(contenders, warm)
    const both = await interleave(
      turns(contenders, ({ call }) => atOnce(call, many)),
      Math.min(rounds, 30),
    )
    const pick = (field) =>
      Object.fromEntries(names.map((name) => [name, both[name].map((sample) => sample[field])]))
    const measured = { sequential, rate: pick('rate'), cpu: pick('cpu') }
    rows.push(...callRows(kind, names, measured, goals))
  } finally {
    for (const name of names) await contenders[name].close()
  }
}

function callRows(kind, names, { sequential, rate, cpu }, goals) {
  const us = (name) => `${(median(sequential[name]) * 1000).toFixed(0)} µs`
  const perSecond = (name) => `${(median(rate[name]) / 1000).toFixed(1)} k/s`
  const cost = (name) => `${median(cpu[name]).toFixed(1)} µs`
  const hasFloor = names.includes('raw')
  const others = (shown) =>
    `SDK ${shown('sdk')}, connection alone ${shown('bare')}${hasFloor ? `, floor ${shown('raw')}` : ''}`
  const ratio = (samples, to) => median(samples.board) / median(samples[to])
  const contest = (samples, unit, better, scale) => ({
    unit,
    better,
    of: {
      Plugboard: median(samples.board) * scale,
      'bare SDK': median(samples.sdk) * scale,
      ...(samples.raw && { 'raw floor': median(samples.raw) * scale }),
    },
  })
  const atMost = (value, goal) => goal !== undefined && { goal: `≤ ${goal}`, met: value <= goal }
  const atLeast = (value, goal) => goal !== undefined && { goal: `≥ ${goal}`, met: value >= goal }
  const found = [
    {
      contest: contest(sequential, 'µs', 'less', 1000),
      what: `${kind}, one call at a time (p50)`,
      value: us('board'),
      against: others(us),
      ratio: ratio(sequential, 'sdk'),
      ...atMost(ratio(sequential, 'sdk'), goals.p50),
    },
    {
      contest: contest(rate, '/s', 'more', 1),
      what: `${kind}, ${LANES} at a time (throughput)`,
      value: perSecond('board'),
      against: others(perSecond),
      ratio: ratio(rate, 'sdk'),
      ...atLeast(ratio(rate, 'sdk'), goals.throughput),
    },
    {
      what: `${kind}, ${LANES} at a time (CPU of this process for each call)`,
      value: cost('board'),
      against: others(cost),
      ratio: ratio(cpu, hasFloor ? 'raw' : 'sdk'),
      ...(goals.cpu !== undefined && {
        goal: `≤ ${goals.cpu}`,
        met: ratio(cpu, 'raw') <= goals.cpu,
      }),
    },
  ]
  if (!hasFloor) return found
  return [
    ...found,
    {
      what: `${kind}, one call at a time (p50), to the floor`,
      value: us('board'),
      against: `floor ${us('raw')}`,
      ratio: ratio(sequential, 'raw'),
      ...atMost(ratio(sequential, 'raw'), goals.floorP50),
    },
    {
      what: `${kind}, ${LANES} at a time, to the floor`,
      value: perSecond('board'),
      against: `floor ${perSecond('raw')}`,
      ratio: ratio(rate, 'raw'),
      ...atLeast(ratio(rate, 'raw'), goals.floorThroughput),
    },
  ]
}

async function bigResult() {
  const { board, sdk, raw } = await stdioContenders()
  const MB = 1024 * 1024
  try {
    const samples = await interleave(
      {
        board: () => cpuOf(() => board.big(40 * MB)),
        raw: () => cpuOf(() => raw.big(40 * MB)),
        // Past 10 MiB the SDK closes the connection, and what it costs grows with the square.
        sdk: () => cpuOf(() => sdk.big(9 * MB)),
      },
      3,
    )
    const ms = (name) => `${median(samples[name]).toFixed(0)} ms`
    const of = { Plugboard: median(samples.board), 'raw floor': median(samples.raw) }
    rows.push({
      contest: { unit: 'ms', better: 'less', of },
      what: 'a result of 40 MB over stdio (CPU)',
      value: ms('board'),
      against: `SDK with 9 MB ${ms('sdk')}, floor ${ms('raw')}`,
      ratio: median(samples.board) / median(samples.raw),
      goal: '< 1000 ms',
      met: median(samples.board) < 1000,
    })
  } finally {
    for (const contender of [board, sdk, raw]) await contender.close()
  }
}

/** Real servers from npm, each three times. */
async function twelveServers() {
  const names = ['everything', 'filesystem', 'memory', 'thinking']
  const commands = Array.from({ length: 12 }, (_, n) => {
    const name = names[n % names.length]
    return { name: `${name}-${n}`, ...serverCommand(SERVERS[name], folder) }
  })
  const stateDir = join(folder, 'state')
  const servers = commands.map(({ name, args, env }) =>
    configured(name, { type: 'stdio', command: process.execPath, args, env, cwd: folder }),
  )
  const withBoard = async () => {
    const { board, close } = await openBoard({ servers, stateDir })
    const took = await timed(() => board.ready())
    const failed = board.servers().filter(({ state }) => state !== 'connected')
    await close()
    if (failed.length > 0) throw new Error(`${failed[0].name}: ${failed[0].error}`)
    return took
  }
  const byHand = async () => {
    const children = []
    const queue = [...commands]
    const slot = async () => {
      for (let next = queue.shift(); next; next = queue.shift()) children.push(await bringUp(next))
    }
    const took = await timed(() => Promise.all([slot(), slot(), slot()]))
    await Promise.all(children.map(ended))
    return took
  }
  await withBoard() // From now on it knows which protocol each of them speaks, as the script does.
  const samples = await interleave({ board: withBoard, byHand }, 7)
  const ratio = median(samples.board.map((took, round) => took / samples.byHand[round]))
  const of = { Plugboard: median(samples.board), 'raw floor': median(samples.byHand) }
  rows.push({
    contest: { unit: 'ms', better: 'less', of },
    what: '`board.ready()` with 12 stdio servers from npm',
    value: `${median(samples.board).toFixed(0)} ms`,
    against: `by hand, same slots and handshakes: ${median(samples.byHand).toFixed(0)} ms`,
    ratio,
    goal: '≤ 1.15',
    met: ratio <= 1.15,
  })
}

function ended(child) {
  return new Promise((done) => {
    child.once('exit', done)
    process.kill(-child.pid, 'SIGKILL')
  })
}

async function bringUp({ args, env }) {
  const child = spawn(process.execPath, args, {
    cwd: folder,
    // The same as the board gives: an extra certificate file alone makes every start of Node half as long again.
    env: childEnvironment({ env }, process),
    stdio: ['pipe', 'pipe', 'ignore'],
    detached: true,
  })
  const pipe = rawPipe(child)
  const clientInfo = { name: 'bench', version: '1' }
  const { capabilities } = await pipe.request('initialize', {
    protocolVersion: '2025-11-25',
    capabilities: {},
    clientInfo,
  })
  pipe.notify('notifications/initialized')
  await Promise.all(
    ['tools', 'resources', 'prompts'].map((kind) => capabilities[kind] && pipe.request(`${kind}/list`, {})),
  )
  return child
}

async function secondConnect() {
  const starts = join(folder, 'starts')
  const servers = [configured('it', stdioEntry({ STARTS: starts }))]
  const stateDir = join(folder, 'known')
  const count = async () => {
    const { board, close } = await openBoard({ servers, stateDir })
    await board.ready()
    await close()
    return readFileSync(starts, 'utf8').trim().split('\n').length
  }
  const first = await count()
  const second = (await count()) - first
  rows.push({
    what: 'processes for a second connect to a known server',
    value: `${second}`,
    against: `first connect ${first}`,
    goal: '1',
    met: second === 1,
  })
}

function idleBoard() {
  const seconds = 10
  const script = fileURLToPath(new URL('lib/idle.mjs', import.meta.url))
  const idle = (who, servers = 12, wait = seconds) =>
    JSON.parse(
      execFileSync(process.execPath, ['--expose-gc', script, who, String(wait), String(servers)]).toString(),
    )
  const [few, many] = [4, 36]
  const each = (field) =>
    median([1, 2, 3].map(() => idle('board', many, 1)[field] - idle('board', few, 1)[field])) / (many - few)
  const rss = each('rss') / 2 ** 20
  rows.push({
    what: 'memory of one more idle stdio server, beside its own process (RSS)',
    value: `${rss.toFixed(2)} MiB`,
    against: `heap ${(each('heap') / 1024).toFixed(0)} KiB`,
    goal: '≤ 0.5 MiB',
    met: rss <= 0.5,
  })
  const board = idle('board')
  const sdk = idle('sdk')
  const mib = ({ rss }) => `${(rss / 2 ** 20).toFixed(0)} MiB`
  const of = { Plugboard: board.rss / 2 ** 20, 'bare SDK': sdk.rss / 2 ** 20 }
  rows.push({
    contest: { unit: 'MiB', better: 'less', of },
    what: 'an idle board with 12 servers, memory (RSS)',
    value: mib(board),
    against: `SDK ${mib(sdk)}`,
    ratio: board.rss / sdk.rss,
    goal: '≤ 1.3',
    met: board.rss / sdk.rss <= 1.3,
  })
  rows.push({
    what: 'timers that fire in it, each second',
    value: (board.fired / seconds).toFixed(1),
    against: `SDK ${(sdk.fired / seconds).toFixed(1)}`,
    goal: '≤ 1',
    met: board.fired / seconds <= 1,
  })
}
