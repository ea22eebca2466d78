// What the gateway costs in front of a server: one call at a time, 64 clients at once, every response to its client, and
// memory over many calls; beside the same server without it, and beside mcp-proxy and `mcporter serve` in front of one.
import { fork, spawn, spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { Agent, request } from 'node:http'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { nodeIn, onDemand } from '../scripts/lib/on-demand.mjs'
import { interleave, median, percentile, timed } from './lib/measure.mjs'
import { report } from './lib/report.mjs'

const ROUNDS = 9
const CLIENTS = 64
const MANY = 1280
const here = (path) => fileURLToPath(new URL(path, import.meta.url))
const folder = mkdtempSync(join(tmpdir(), 'plugboard-bench-'))
const children = []
const agent = new Agent({ keepAlive: true, maxSockets: 256 })

function host(kind) {
  const child = fork(here('./lib/gateway-host.mjs'), [kind, folder], {
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

function post(url, body, headers = {}) {
  return new Promise((done, fail) => {
    const text = JSON.stringify(body)
    const req = request(url, {
      method: 'POST',
      agent,
      headers: {
        'content-type': 'application/json',
        'content-length': Buffer.byteLength(text),
        accept: 'application/json, text/event-stream',
        ...headers,
      },
    })
    req.on('response', (res) => {
      const chunks = []
      res.on('data', (chunk) => chunks.push(chunk))
      res.on('end', () => done({ res, text: Buffer.concat(chunks).toString() }))
      res.on('error', fail)
    })
    req.on('error', fail)
    req.end(text)
  })
}

/** A client without a library, so that what is measured is the server. */
async function client(url) {
  const version = '2025-11-25'
  const clientInfo = { name: 'bench', version: '1' }
  const params = { protocolVersion: version, capabilities: {}, clientInfo }
  const { res } = await post(url, { jsonrpc: '2.0', id: 0, method: 'initialize', params })
  if (res.statusCode !== 200) throw new Error(`initialize: ${res.statusCode}`)
  const session = res.headers['mcp-session-id']
  const headers = { 'mcp-protocol-version': version, ...(session && { 'mcp-session-id': session }) }
  await post(url, { jsonrpc: '2.0', method: 'notifications/initialized' }, headers)
  let id = 0
  return async (text) => {
    const call = { name: 'echo', arguments: { text } }
    const answer = await post(url, { jsonrpc: '2.0', id: ++id, method: 'tools/call', params: call }, headers)
    if (!answer.text.includes(`"${text}"`)) throw new Error(`"${text}" was answered with ${answer.text}`)
  }
}

async function contend({ url }) {
  const clients = []
  for (let n = 0; n < CLIENTS; n++) clients.push(await client(url))
  for (let n = 0; n < 300; n++) await clients[n % CLIENTS]('warm')
  return clients
}

const rows = []
try {
  const hosts = {
    direct: await host('direct'),
    gateway: await host('gateway'),
    stdio: await host('gateway-stdio'),
  }
  Object.assign(hosts, await peers())
  const lanes = {}
  for (const [name, one] of Object.entries(hosts)) lanes[name] = await contend(one)
  const each = (work) => Object.fromEntries(Object.keys(lanes).map((name) => [name, () => work(lanes[name])]))
  const alone = await interleave(
    each(async ([call]) => {
      const took = []
      for (let n = 0; n < 200; n++) took.push(await timed(() => call('hello')))
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
    // One contest of all of them, with the first of the rows.
    const first = peer === 'mcp-proxy'
    atLeast(
      `stdio echo, ${CLIENTS} clients`,
      rate('stdio'),
      `${peer} ${rate(peer)}`,
      faster,
      1.5,
      first ? throughput(onStdio) : undefined,
    )
    const tail = p99(peer) / p99('stdio')
    atLeast(
      `stdio echo, ${CLIENTS} clients (p99)`,
      ms('stdio'),
      `${peer} ${ms(peer)}`,
      tail,
      1.5,
      first ? contest('ms', 'less', onStdio, p99) : undefined,
    )
  }
  await isolation(hosts.stdio.url)
  await memory(hosts.gateway)
  report('gateway', 'The gateway: in front of a server against the server alone', rows, [
    `Medians of ${ROUNDS} interleaved rounds on a shared machine, so read the ratios: each is the median of the ratios of the rounds, not of the two medians beside it. The client is node:http without a library.`,
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
  agent.destroy()
  rmSync(folder, { recursive: true, force: true })
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
async function memory({ url, child }) {
  const reading = () =>
    new Promise((done) => {
      child.once('message', done)
      child.send('memory')
    })
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
  const calls = process.argv.includes('--quick') ? 20_000 : 100_000
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
