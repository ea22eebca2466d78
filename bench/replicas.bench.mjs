// What a company's gateway costs over a plain one: users of an identity provider, limits and a shared store on every call; sessions of
// many users; and how fast a revoked token is refused by every replica. Redis and nginx are not on the measured machine's network: all is
// loopback. The correctness table is `npm run replicas`.
import { spawn, spawnSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { exportJWK, generateKeyPair, SignJWT } from 'jose'
import { ensureSystem } from '../scripts/ensure-system.mjs'
import { freePort } from '../test/support/free-port.mjs'
import { interleave, median, until } from './lib/measure.mjs'
import { RawConnection } from './lib/raw-http.mjs'
import { report } from './lib/report.mjs'

const QUICK = process.argv.includes('--quick')
// Many short rounds: what else the machine does then hits both gateways of a pair alike, and a disturbed pair is one of many.
const ROUNDS = QUICK ? 9 : 81
const CALLS = QUICK ? 640 : 960
const WARM_UP = QUICK ? 5 : 20
const SESSIONS = QUICK ? 1000 : 10_000
const USERS = QUICK ? 200 : 2000
const CONNECTIONS = 32
const here = (path) => fileURLToPath(new URL(path, import.meta.url))
const COMMAND = here('../packages/cli/bin/plugboard.cjs')
const folder = mkdtempSync(join(tmpdir(), 'plugboard-bench-'))
const keys = `k:${randomBytes(32).toString('base64')}`
const children = []
const INFO = { name: 'bench', version: '1' }

const problems = ensureSystem(['redis-server'])
if (problems.length > 0) {
  for (const problem of problems) console.error(`plugboard: ${problem}`)
  process.exit(1)
}

function started(command, words, options) {
  const child = spawn(command, words, { stdio: ['ignore', 'ignore', 'inherit'], ...options })
  children.push(child)
  return child
}

async function redis() {
  const port = await freePort()
  const words = ['--port', String(port), '--bind', '127.0.0.1', '--save', '', '--dir', folder]
  started('redis-server', words, { stdio: 'ignore' })
  return `redis://127.0.0.1:${port}`
}

/** An identity provider as far as the gateway needs one: keys, and tokens for a user. */
async function identityProvider() {
  const { privateKey, publicKey } = await generateKeyPair('ES256')
  const jwk = { ...(await exportJWK(publicKey)), kid: 'one', alg: 'ES256', use: 'sig' }
  const server = createServer((_req, res) => {
    res.setHeader('content-type', 'application/json')
    res.end(JSON.stringify({ keys: [jwk] }))
  })
  await new Promise((done) => server.listen(0, '127.0.0.1', done))
  const issuer = `http://127.0.0.1:${server.address().port}`
  const tokenFor = (subject, audience) =>
    new SignJWT({})
      .setProtectedHeader({ alg: 'ES256', kid: 'one', typ: 'at+jwt' })
      .setIssuer(issuer)
      .setAudience(audience)
      .setSubject(subject)
      .setIssuedAt()
      .setExpirationTime('2h')
      .sign(privateKey)
  return { issuer, tokenFor, close: () => server.close() }
}

async function gateway(name, makeArgs) {
  const home = join(folder, name)
  mkdirSync(join(home, '.plugboard'), { recursive: true })
  const echo = { command: process.execPath, args: [here('./lib/echo-server.mjs')] }
  const limits = { sessions: 20_000, sessionsPerOwner: 20_000 }
  writeFileSync(
    join(home, '.plugboard', 'settings.json'),
    JSON.stringify({ mcpServers: { echo }, gateway: { limits }, builtins: { codebase: false } }),
  )
  const port = await freePort()
  const env = { PATH: process.env.PATH, HOME: home, PLUGBOARD_KEYS: keys }
  const words = [COMMAND, 'serve', '--http', '--port', String(port), ...(await makeArgs(home, port))]
  const child = started(process.execPath, words, { cwd: home, env })
  const base = `http://127.0.0.1:${port}`
  await until(async () => (await fetch(`${base}/ready`).catch(() => undefined))?.status === 200, name, 60_000)
  return { url: `${base}/mcp`, child, home, env }
}

async function session(url, token) {
  const one = new RawConnection(url)
  const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: INFO }
  const authorization = `Bearer ${token}`
  const init = { jsonrpc: '2.0', id: 0, method: 'initialize', params }
  const { status, headers } = await one.post(init, { authorization })
  const all = {
    authorization,
    'mcp-protocol-version': '2025-11-25',
    'mcp-session-id': headers['mcp-session-id'],
  }
  let id = 0
  const call = () => {
    const text = `t${++id}`
    const request = { name: 'mcp__echo__echo', arguments: { text } }
    return one.post({ jsonrpc: '2.0', id, method: 'tools/call', params: request }, all).then((answer) => {
      if (!answer.text.includes(`"${text}"`))
        throw new Error(`Wrong answer: ${answer.status} ${answer.text.slice(0, 200)}`)
    })
  }
  return { status, call, close: () => one.close() }
}

/** Calls a second with all connections. */
async function throughput(sessions) {
  const each = Math.ceil(CALLS / sessions.length)
  const start = performance.now()
  await Promise.all(
    sessions.map(async ({ call }) => {
      for (let n = 0; n < each; n++) await call()
    }),
  )
  return (each * sessions.length) / ((performance.now() - start) / 1000)
}

/** Microseconds of CPU that a process has used; threads of its own and the kernel's work for it are in it. */
function cpuOf({ pid }) {
  let nanoseconds = 0
  for (const thread of readdirSync(`/proc/${pid}/task`))
    nanoseconds += Number(readFileSync(`/proc/${pid}/task/${thread}/schedstat`, 'utf8').split(' ')[0])
  return nanoseconds / 1000
}

/** The same for a round of calls, by call: other programs on the machine change it less than the time. */
async function measured(sessions, { child }) {
  const before = cpuOf(child)
  const rate = await throughput(sessions)
  const calls = Math.ceil(CALLS / sessions.length) * sessions.length
  return { rate, cpu: (cpuOf(child) - before) / calls }
}

/** What the company's gateway had against the plain one in the same round. */
function medianOfPairs({ plain, company }) {
  return median(company.map((value, at) => value / plain[at]))
}

function rssOf({ pid }) {
  const [, kb] = /^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? []
  return Number(kb) * 1024
}

try {
  const store = await redis()
  const idp = await identityProvider()
  const tokens = Array.from({ length: USERS }, (_, at) => `token-number-${at}-0123456789abcdef`)
  const plain = await gateway('plain', (home) => {
    writeFileSync(join(home, 'tokens'), `${tokens.join('\n')}\n`)
    return ['--token-file', join(home, 'tokens')]
  })
  const company = (name) =>
    gateway(name, (home, port) => {
      const config = {
        publicUrl: `http://127.0.0.1:${port}`,
        store,
        auth: {
          issuers: [{ issuer: idp.issuer, jwksUri: `${idp.issuer}/jwks`, audience: 'bench' }],
          tokens: join(folder, 'named-tokens.json'),
        },
        limits: {
          user: { perMinute: 100_000_000, burst: 10_000_000, perDay: 1_000_000_000, concurrent: 10_000 },
        },
      }
      writeFileSync(join(home, 'gateway.json'), JSON.stringify(config))
      return ['--gateway', join(home, 'gateway.json')]
    })
  const one = await company('company')
  const jwt = await idp.tokenFor('ada', 'bench')
  const open = (url, token) => Promise.all(Array.from({ length: CONNECTIONS }, () => session(url, token)))
  const [plainSessions, companySessions] = [await open(plain.url, tokens[0]), await open(one.url, jwt)]
  const run = { plain: () => throughput(plainSessions), company: () => throughput(companySessions) }
  for (let n = 0; n < WARM_UP; n++) for (const work of Object.values(run)) await work()
  const cpu = { plain: [], company: [] }
  const counted = (name, sessions, of) => async () => {
    const { rate, cpu: used } = await measured(sessions, of)
    cpu[name].push(used)
    return rate
  }
  const samples = await interleave(
    { plain: counted('plain', plainSessions, plain), company: counted('company', companySessions, one) },
    ROUNDS,
  )
  const ratio = medianOfPairs(samples)
  const cpuRatio = medianOfPairs(cpu)

  const users = await Promise.all(tokens.map((token) => session(plain.url, token)))
  const served = users.filter(({ status }) => status === 200).length
  for (const user of users) user.close()
  const before = rssOf(plain.child)
  for (let n = 0; n < SESSIONS; n += 100) {
    const more = await Promise.all(
      Array.from({ length: 100 }, (_, at) => session(plain.url, tokens[(n + at) % tokens.length])),
    )
    for (const made of more) made.close()
  }
  const perSession = (rssOf(plain.child) - before) / SESSIONS

  const two = await company('second')
  const cli = (...words) =>
    spawnSync(
      process.execPath,
      [COMMAND, 'serve', 'token', ...words, '--gateway', 'gateway.json', '--json'],
      {
        cwd: one.home,
        env: one.env,
        encoding: 'utf8',
      },
    )
  const { token } = JSON.parse(cli('add', 'leaver').stdout)
  const status = async (url) => (await session(url, token)).status
  await until(
    async () => (await status(one.url)) === 200 && (await status(two.url)) === 200,
    'the token',
    20_000,
  )
  cli('revoke', 'leaver')
  const revoked = performance.now()
  await until(
    async () => (await status(one.url)) === 401 && (await status(two.url)) === 401,
    'revocation',
    20_000,
  )
  const revokedMs = performance.now() - revoked

  const perSecond = (value) => `${Math.round(value)} calls/s`
  report('replicas', "A company's gateway", [
    {
      what: `users by JWT, limits and a shared store, ${CONNECTIONS} clients`,
      value: perSecond(median(samples.company)),
      against: `static tokens, one process: ${perSecond(median(samples.plain))}`,
      ratio,
      goal: '≥ 0.85',
      met: ratio >= 0.85,
    },
    {
      what: 'the same as CPU time of the gateway, for a call',
      value: `${Math.round(median(cpu.company))} µs`,
      against: `static tokens, one process: ${Math.round(median(cpu.plain))} µs`,
      ratio: cpuRatio,
      goal: '≤ 1.18',
      met: cpuRatio <= 1 / 0.85,
    },
    { what: `${USERS} users initialize`, value: `${served} served`, goal: 'all', met: served === USERS },
    {
      what: `memory of an idle session, ${SESSIONS} sessions`,
      value: `${(perSession / 1024).toFixed(1)} kB`,
      goal: '≤ 20 kB',
      met: perSession <= 20 * 1024,
    },
    {
      what: 'a revoked token is refused by both replicas, after the command',
      value: `${Math.round(revokedMs)} ms`,
      goal: '≤ 1000 ms',
      met: revokedMs <= 1000,
    },
  ])
  idp.close()
} finally {
  for (const child of children) child.kill('SIGKILL')
  rmSync(folder, { recursive: true, force: true })
}
process.exit(process.exitCode ?? 0)
