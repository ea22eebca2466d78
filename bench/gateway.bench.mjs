// What the gateway costs in front of a server: one call at a time, 64 clients at once, every response to its client, and
// memory over many calls; beside the same server without it, and beside mcp-proxy and `mcporter serve` in front of one.
import { fork, spawn, spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { connect, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { nodeIn, onDemand } from '../scripts/lib/on-demand.mjs'
import { interleave, median, percentile, timed } from './lib/measure.mjs'
import { RawConnection } from './lib/raw-http.mjs'
import { report } from './lib/report.mjs'

const QUICK = process.argv.includes('--quick')
const ROUNDS = QUICK ? 3 : 9
const CLIENTS = 64
const MANY = 3200
const here = (path) => fileURLToPath(new URL(path, import.meta.url))
const folder = mkdtempSync(join(tmpdir(), 'plugboard-bench-'))
const children = []
const connections = []

function host(kind) {
  const script = kind === 'forwarder' ? './lib/forwarder.mjs' : './lib/gateway-host.mjs'
  const child = fork(here(script), [kind, folder], {
    stdio: ['pipe', 'pipe', 'inherit', 'ipc'],
    execArgv: ['--expose-gc'],
  })
  children.push(child)
  return new Promise((done, fail) => {
    child.stdout.once('data', (chunk) => done({ url: String(chunk).trim(), child }))
    child.once('exit', (code) => fail(new Error(`${kind} ended with ${code}`)))
  })
}

const echo = here('./lib/echo-server.mjs')
const PEERS = ['mcp-proxy@6.7.19', 'mcporter@0.12.3', 'node@24']
/** What is stopped after the contenders: a peer's daemon outlives the command that started it. */
const ends = []

/** Both peers on the Node that the newer of them needs, each in front of the same bare stdio echo. */
async function peers() {
  const installed = onDemand('gateway-peers-1', PEERS)
  const node = nodeIn(installed)
  const script = (path) => join(installed, 'node_modules', ...path.split('/'))
  const start = async (path, words, env, url) => {
    const child = spawn(node, [script(path), ...words], { stdio: 'ignore', env: { ...process.env, ...env } })
    children.push(child)
    return { url: await answering(url), child }
  }
  const proxyPort = await freePort()
  const proxyWords = ['--port', String(proxyPort), '--host', '127.0.0.1', '--', process.execPath, echo]
  const mcporterPort = await freePort()
  const HOME = join(folder, 'home')
  const config = join(folder, 'mcporter.json')
  const entry = { command: process.execPath, args: [echo], lifecycle: 'keep-alive' }
  writeFileSync(config, JSON.stringify({ mcpServers: { echo: entry }, imports: [] }))
  const mcporter = ['--config', config]
  ends.push(() =>
    spawnSync(node, [script('mcporter/dist/cli.js'), ...mcporter, 'daemon', 'stop'], {
      stdio: 'ignore',
      env: { ...process.env, HOME },
      timeout: 20_000,
    }),
  )
  return {
    'mcp-proxy': await start(
      'mcp-proxy/dist/bin/mcp-proxy.mjs',
      proxyWords,
      {},
      `http://127.0.0.1:${proxyPort}/mcp`,
    ),
    // Under the server's own path its tools have their own names, as everywhere here.
    mcporter: await start(
      'mcporter/dist/cli.js',
      [...mcporter, 'serve', '--http', String(mcporterPort)],
      { HOME },
      `http://127.0.0.1:${mcporterPort}/mcp/echo`,
    ),
  }
}

async function answering(url) {
  let last
  for (let tries = 0; tries < 120; tries++) {
    try {
      await (await client(url))('ready')
      return url
    } catch (error) {
      last = error
      await new Promise((done) => setTimeout(done, 500))
    }
  }
  throw new Error(`${url} does not answer`, { cause: last })
}

function freePort() {
  return new Promise((done) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const { port } = server.address()
      server.close(() => done(port))
    })
  })
}

/** A client on a bare socket, so that what is measured is the server. */
async function client(url, more = {}) {
  const connection = new RawConnection(url)
  const version = '2025-11-25'
  const clientInfo = { name: 'bench', version: '1' }
  const params = { protocolVersion: version, capabilities: {}, clientInfo }
  const initialize = { jsonrpc: '2.0', id: 0, method: 'initialize', params }
  const opened = await connection.post(initialize, more)
  if (opened.status !== 200) throw new Error(`initialize: ${opened.status}`)
  const session = opened.headers['mcp-session-id']
  const headers = { ...more, 'mcp-protocol-version': version, ...(session && { 'mcp-session-id': session }) }
  await connection.post({ jsonrpc: '2.0', method: 'notifications/initialized' }, headers)
  connections.push(connection)
  let id = 0
  return async (text) => {
    const call = { name: 'echo', arguments: { text } }
    const answer = await connection.post(
      { jsonrpc: '2.0', id: ++id, method: 'tools/call', params: call },
      headers,
    )
    if (!answer.text.includes(`"${text}"`)) throw new Error(`"${text}" was answered with ${answer.text}`)
  }
}

async function contend({ url }) {
  const clients = []
  for (let n = 0; n < CLIENTS; n++) clients.push(await client(url))
  // As in the rounds, all at a time: else the first of them would measure the compiler.
  let left = MANY
  const warm = async (call) => {
    while (left-- > 0) await call('warm')
  }
  await Promise.all(clients.map(warm))
  return clients
}

const rows = []
try {
  const hosts = {
    direct: await host('direct'),
    gateway: await host('gateway'),
    stdio: await host('gateway-stdio'),
    forwarder: await host('forwarder'),
  }
  Object.assign(hosts, await peers())
  const lanes = {}
  for (const [name, one] of Object.entries(hosts)) lanes[name] = await contend(one)
  const each = (work) => Object.fromEntries(Object.keys(lanes).map((name) => [name, () => work(lanes[name])]))
  const alone = await interleave(
    each(async ([call]) => {
      const took = []
      for (let n = 0; n < (QUICK ? 50 : 200); n++) took.push(await timed(() => call('hello')))
      return median(took)
    }),
    ROUNDS,
  )
  const tails = Object.fromEntries(Object.keys(lanes).map((name) => [name, []]))
  const together = await interleave(
    Object.fromEntries(
      Object.keys(lanes).map((name) => [
        name,
        async () => {
          let left = MANY
          const lane = async (call, who) => {
            while (left-- > 0) tails[name].push(await timed(() => call(`${who} of ${left}`)))
          }
          return (MANY / (await timed(() => Promise.all(lanes[name].map(lane))))) * 1000
        },
      ]),
    ),
    ROUNDS,
  )
  const ratio = (samples, one, other) => median(samples[one].map((value, at) => value / samples[other][at]))
  const us = (name) => `${(median(alone[name]) * 1000).toFixed(0)} µs`
  const rate = (name) => `${(median(together[name]) / 1000).toFixed(2)} k/s`
  const p99 = (name) => percentile(tails[name], 0.99)
  const ms = (name) => `${p99(name).toFixed(0)} ms`
  const atMost = (what, value, against, measured, goal, contest) =>
    rows.push({ what, value, against, ratio: measured, goal: `≤ ${goal}`, met: measured <= goal, contest })
  const atLeast = (what, value, against, measured, goal, contest) =>
    rows.push({ what, value, against, ratio: measured, goal: `≥ ${goal}`, met: measured >= goal, contest })
  const contest = (unit, better, names, figure) => ({
    unit,
    better,
    of: Object.fromEntries(Object.entries(names).map(([peer, name]) => [peer, figure(name)])),
  })
  const withDirect = { Plugboard: 'gateway', 'bare SDK': 'direct' }
  const onStdio = { Plugboard: 'stdio', mcporter: 'mcporter', 'mcp-proxy': 'mcp-proxy' }
  const added = ratio(alone, 'gateway', 'direct')
  atMost(
    'in-process echo, one call at a time (p50)',
    us('gateway'),
    `the SDK serving it: ${us('direct')}`,
    added,
    1.6,
    contest('µs', 'less', withDirect, (name) => median(alone[name]) * 1000),
  )
  const kept = ratio(together, 'gateway', 'direct')
  const throughput = (names) => contest('/s', 'more', names, (name) => median(together[name]))
  atLeast(
    `in-process echo, ${CLIENTS} clients`,
    rate('gateway'),
    `the SDK serving it: ${rate('direct')}`,
    kept,
    0.6,
    throughput(withDirect),
  )
  for (const peer of ['mcp-proxy', 'mcporter']) {
    const faster = ratio(together, 'stdio', peer)
    const [goal, tailGoal] = peer === 'mcp-proxy' ? [4, 3.3] : [1.5, 1.5]
    // One contest of all of them, with the first of the rows.
    const first = peer === 'mcp-proxy'
    atLeast(
      `stdio echo, ${CLIENTS} clients`,
      rate('stdio'),
      `${peer} ${rate(peer)}`,
      faster,
      goal,
      first ? throughput(onStdio) : undefined,
    )
    const tail = p99(peer) / p99('stdio')
    atLeast(
      `stdio echo, ${CLIENTS} clients (p99)`,
      ms('stdio'),
      `${peer} ${ms(peer)}`,
      tail,
      tailGoal,
      first ? contest('ms', 'less', onStdio, p99) : undefined,
    )
  }
  atLeast(
    `stdio echo, ${CLIENTS} clients`,
    rate('stdio'),
    `a forwarder without checks ${rate('forwarder')}`,
    ratio(together, 'stdio', 'forwarder'),
    0.7,
  )
  await processorTime(hosts, lanes)
  await thousandClients(hosts, median(together.stdio))
  await noisyUser(await host('gateway-tokens'))
  await slowReaders(await host('gateway-stdio'))
  await isolation(hosts.stdio.url)
  await memory(hosts.gateway)
  report('gateway', 'The gateway: in front of a server against the server alone', rows, [
    `Medians of ${ROUNDS} interleaved rounds on a shared machine, so read the ratios: each is the median of the ratios of the rounds, not of the two medians beside it. The client writes HTTP to a bare socket, without a library.`,
    'The forwarder gives every request a new id and does nothing else: no access check, session, limit, permission or audit. Processor time is that of the process that forwards, all threads.',
    'Noisy user: its 256 connections are made by another process than those of the user who is measured. Slow readers: what the process holds more than before, against the bytes of the answers, while 20 clients read theirs at 1 MB a second.',
    'Memory: medians of the first and the last three of eleven readings, each after a full collection.',
    'The SDK serves the same echo over HTTP itself, in one process as behind the gateway.',
    `${PEERS.join(', ')}: both peers, on that newer Node, serve over HTTP the same bare stdio echo as the gateway beside them; mcporter keeps it in a daemon of its own.`,
  ])
} finally {
  for (const child of children) {
    try {
      child.kill()
    } catch {
      // It is gone already.
    }
  }
  for (const end of ends) end()
  for (const connection of connections) connection.close()
  rmSync(folder, { recursive: true, force: true })
}

/** Memory and processor time of a contender; `memory` collects garbage first. */
function readingOf({ child }, what) {
  return new Promise((done) => {
    child.once('message', done)
    child.send(what)
  })
}

/** What one call costs the process itself: steadier than wall time on a shared machine. */
async function processorTime(hosts, lanes) {
  const cost = {}
  for (let round = 0; round < 3; round++)
    for (const name of ['stdio', 'forwarder']) {
      let left = MANY * 2
      const before = await readingOf(hosts[name], 'cpu')
      await Promise.all(
        lanes[name].map(async (call) => {
          while (left-- > 0) await call('hello')
        }),
      )
      const after = await readingOf(hosts[name], 'cpu')
      cost[name] = [...(cost[name] ?? []), ((after.cpuMs - before.cpuMs) * 1000) / (MANY * 2)]
    }
  const ratio = median(cost.stdio.map((value, at) => value / cost.forwarder[at]))
  rows.push({
    what: `processor time of a call, ${CLIENTS} clients`,
    value: `${median(cost.stdio).toFixed(0)} µs`,
    against: `a forwarder without checks ${median(cost.forwarder).toFixed(0)} µs`,
    ratio,
    goal: '≤ 1.43',
    met: ratio <= 1.43,
  })
}

/** Calls each second of 1,000 clients at a time, and how long each took. */
async function thousandOn({ url }) {
  const clients = []
  for (let n = 0; n < 1000; n++) clients.push(await client(url))
  const took = []
  const run = async (calls) => {
    let left = calls
    return await timed(() =>
      Promise.all(
        clients.map(async (call) => {
          while (left-- > 0) took.push(await timed(() => call('hello')))
        }),
      ),
    )
  }
  await run(2000)
  took.length = 0
  const calls = 10_000
  return { rate: (calls / (await run(calls))) * 1000, took }
}

async function thousandClients(hosts, rateOf64) {
  const { rate, took } = await thousandOn(hosts.stdio)
  const floor = await thousandOn(hosts.forwarder)
  const thousand = 'stdio echo, 1,000 clients'
  const row = (against, other, goal) =>
    rows.push({
      what: thousand,
      value: `${(rate / 1000).toFixed(2)} k/s`,
      against: `${against} ${(other / 1000).toFixed(2)} k/s`,
      ratio: rate / other,
      goal: `≥ ${goal}`,
      met: rate / other >= goal,
    })
  row('64 clients', rateOf64, 0.95)
  row('a forwarder without checks, 1,000 clients', floor.rate, 0.7)
  const spread = percentile(took, 0.99) / median(took)
  rows.push({
    what: 'stdio echo, 1,000 clients (p99)',
    value: `${percentile(took, 0.99).toFixed(0)} ms`,
    against: `p50 ${median(took).toFixed(0)} ms`,
    ratio: spread,
    goal: '≤ 3',
    met: spread <= 3,
  })
}

async function noisyUser({ url }) {
  const calls = []
  for (let n = 0; n < 4; n++) calls.push(await client(url, { authorization: 'Bearer quiet' }))
  const measure = async (count) => {
    const took = []
    let left = count
    await Promise.all(
      calls.map(async (call) => {
        while (left-- > 0) took.push(await timed(() => call('hello')))
      }),
    )
    return percentile(took, 0.99)
  }
  await measure(2000)
  const ratios = []
  const [alone, beside] = [[], []]
  for (let round = 0; round < 3; round++) {
    alone.push(await measure(1500))
    const noise = fork(here('./lib/noisy-user.mjs'), [url, 'noisy', '256'], { stdio: 'ignore' })
    children.push(noise)
    await new Promise((done) => noise.once('message', done))
    beside.push(await measure(1500))
    noise.kill()
    ratios.push(beside[round] / alone[round])
  }
  rows.push({
    what: 'a user beside one with 256 connections (p99)',
    value: `${median(beside).toFixed(1)} ms`,
    against: `alone ${median(alone).toFixed(1)} ms`,
    ratio: median(ratios),
    goal: '≤ 4',
    met: median(ratios) <= 4,
  })
}

/** 20 clients ask for 20 MB each and read it slowly. */
async function slowReaders(target) {
  const bytes = 20_000_000
  const before = (await readingOf(target, 'memory')).rss
  const { hostname, port } = new URL(target.url)
  const readers = []
  for (let n = 0; n < 20; n++) {
    const call = await client(target.url)
    await call('warm')
    readers.push(await slowRead({ hostname, port, url: target.url, bytes }))
  }
  let most = 0
  for (let reading = 0; reading < 20; reading++) {
    await new Promise((done) => setTimeout(done, 500))
    const { rss } = await readingOf(target, reading % 4 === 3 ? 'memory' : 'cpu')
    if (reading >= 8) most = Math.max(most, rss)
  }
  for (const socket of readers) socket.destroy()
  const ratio = (most - before) / (20 * bytes)
  rows.push({
    what: '20 clients reading 20 MB slowly: RSS',
    value: `${(most / 2 ** 20).toFixed(0)} MiB`,
    against: `before ${(before / 2 ** 20).toFixed(0)} MiB, the answers ${((20 * bytes) / 2 ** 20).toFixed(0)} MiB`,
    ratio,
    goal: '≤ 1.3',
    met: ratio <= 1.3,
  })
}

/** A connection that reads 100 kB every 100 ms. */
async function slowRead({ hostname, port, url, bytes }) {
  const connection = new RawConnection(url)
  const params = {
    protocolVersion: '2025-11-25',
    capabilities: {},
    clientInfo: { name: 'slow', version: '1' },
  }
  const { headers } = await connection.post({ jsonrpc: '2.0', id: 0, method: 'initialize', params })
  connection.close()
  const call = { name: 'big', arguments: { bytes } }
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: call })
  const socket = connect({ host: hostname, port: Number(port) })
  socket.write(
    `POST /mcp HTTP/1.1\r\nHost: ${hostname}:${port}\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\nMcp-Session-Id: ${headers['mcp-session-id']}\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
  )
  socket.on('data', () => {
    socket.pause()
    setTimeout(() => socket.resume(), 60)
  })
  socket.on('error', () => undefined)
  return socket
}

/** Unique payloads of 50 clients: `client` throws when a response is not its own. */
async function isolation(url) {
  const clients = []
  for (let n = 0; n < 50; n++) clients.push(await client(url))
  let answered = 0
  await Promise.all(
    clients.map(async (call, who) => {
      for (let n = 0; n < 200; n++) {
        await call(`client ${who} call ${n}`)
        answered++
      }
    }),
  )
  rows.push({
    what: '10,000 calls of 50 clients',
    value: `${answered} right`,
    goal: '10000',
    met: answered === 10_000,
  })
}

/** Readings after every tenth of the calls: a single one depends more on the garbage collector than on what is kept. */
async function memory(target) {
  const { url } = target
  const reading = () => readingOf(target, 'memory')
  const clients = []
  for (let n = 0; n < 32; n++) clients.push(await client(url))
  const run = async (calls) => {
    let left = calls
    await Promise.all(
      clients.map(async (call) => {
        while (left-- > 0) await call('hello')
      }),
    )
  }
  const calls = QUICK ? 20_000 : 100_000
  await run(calls / 5)
  const readings = [await reading()]
  for (let tenth = 0; tenth < 10; tenth++) {
    await run(calls / 10)
    readings.push(await reading())
  }
  const mib = (bytes) => `${(bytes / 2 ** 20).toFixed(0)} MiB`
  for (const [what, field] of [
    ['RSS', 'rss'],
    ['live heap', 'heapUsed'],
  ]) {
    const values = readings.map((one) => one[field])
    const before = median(values.slice(0, 3))
    const after = median(values.slice(-3))
    const ratio = after / before
    rows.push({
      what: `${what} after ${calls / 1000} k more calls`,
      value: mib(after),
      against: `before ${mib(before)}`,
      ratio,
      goal: '≤ 1.1',
      met: ratio <= 1.1,
    })
  }
}
