// cluster.ts: several `plugboard serve --http` behind nginx (plain round robin) with one Redis, each a process of its own. Everything
// runs on loopback, keeps its files in a folder of its own, and is ended by process id.
import { type ChildProcess, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { freePort } from '../support/free-port.mjs'
import { type RedisServer, startRedis } from '../support/redis.ts'

const COMMAND = fileURLToPath(new URL('../../packages/cli/bin/plugboard.cjs', import.meta.url))
const EVERYTHING = fileURLToPath(new URL('../../packages/gateway/src/fixtures/server.mjs', import.meta.url))
const PLAIN = fileURLToPath(new URL('../support/gateway-server.mjs', import.meta.url))

export interface Replica {
  readonly port: number
  readonly child: ChildProcess
  stderr(): string
}

export interface Cluster {
  /** Of nginx. */
  readonly url: string
  readonly folder: string
  readonly redis: RedisServer | undefined
  readonly replicas: readonly Replica[]
  readonly tokens: readonly string[]
  /** Every replica's server `plain` appends the keys of its writes here. */
  readonly writes: string
  /** The cancelled and started calls of the servers. */
  readonly seen: string
  kill(at: number): Promise<void>
  start(at: number): Promise<void>
  ready(at: number): Promise<{ readonly status: string; readonly peers?: number }>
  close(): Promise<void>
}

export interface ClusterOptions {
  readonly replicas: number
  /** Left out: without a store, to see what is missing then. */
  readonly store?: boolean
  readonly gateway?: object
  readonly args?: readonly string[]
}

export async function startCluster(options: ClusterOptions): Promise<Cluster> {
  const folder = mkdtempSync(join(tmpdir(), 'plugboard-replicas-'))
  const redis = options.store === false ? undefined : await startRedis()
  const tokens = Array.from(
    { length: 4 },
    (_, at) => `token-of-user-${at}-${randomBytes(12).toString('hex')}`,
  )
  writeFileSync(join(folder, 'tokens'), `${tokens.join('\n')}\n`, { mode: 0o600 })
  const ports: number[] = []
  for (let at = 0; at < options.replicas; at++) ports.push(await freePort())
  const files = { writes: join(folder, 'writes'), seen: join(folder, 'seen') }
  for (const file of Object.values(files)) writeFileSync(file, '')
  const key = `k1:${randomBytes(32).toString('base64')}`
  const spawnReplica = (at: number) =>
    startReplica(folder, at, ports[at] ?? 0, key, redis?.url, files, options)
  const replicas = ports.map((_, at) => spawnReplica(at))
  const nginx = await startNginx(folder, ports)
  const cluster: Cluster = {
    url: `http://127.0.0.1:${nginx.port}/mcp`,
    folder,
    redis,
    replicas,
    tokens,
    ...files,
    kill: async (at) => await end(replicas[at]?.child, 'SIGKILL'),
    start: async (at) => {
      replicas[at] = spawnReplica(at)
      await readiness(replicas[at])
    },
    ready: async (at) => await probe(ports[at] ?? 0),
    close: async () => {
      await Promise.all([end(nginx.child, 'SIGTERM'), ...replicas.map(({ child }) => end(child, 'SIGTERM'))])
      await redis?.stop()
      rmSync(folder, { recursive: true, force: true })
    },
  }
  try {
    for (const replica of replicas) await readiness(replica)
    if (redis) await peersKnown(cluster)
  } catch (error) {
    await cluster.close()
    throw error
  }
  return cluster
}

function startReplica(
  folder: string,
  at: number,
  port: number,
  keys: string,
  store: string | undefined,
  { writes, seen }: { readonly writes: string; readonly seen: string },
  options: ClusterOptions,
): Replica {
  const home = join(folder, `home-${at}`)
  mkdirSync(join(home, '.plugboard'), { recursive: true })
  const entry = (script: string, env: object) => ({ command: process.execPath, args: [script], env })
  const servers = {
    legacy: entry(EVERYTHING, { ERA: 'legacy', SEEN: seen }),
    modern: entry(EVERYTHING, { ERA: 'modern-only', SEEN: seen }),
    plain: entry(PLAIN, { FILE: writes }),
  }
  writeFileSync(join(home, '.plugboard', 'settings.json'), JSON.stringify({ mcpServers: servers }))
  const auth = options.gateway
    ? ['--gateway', join(folder, 'gateway.json')]
    : ['--token-file', join(folder, 'tokens')]
  if (options.gateway) writeFileSync(join(folder, 'gateway.json'), JSON.stringify(options.gateway))
  const words = ['serve', '--http', '--port', String(port), ...auth]
  if (store !== undefined) words.push('--store', store)
  const child = spawn(process.execPath, [COMMAND, ...words, ...(options.args ?? [])], {
    cwd: home,
    env: { PATH: process.env['PATH'] ?? '', HOME: home, PLUGBOARD_KEYS: keys },
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  let stderr = ''
  child.stderr?.on('data', (chunk) => {
    stderr = (stderr + chunk).slice(-10_000)
  })
  return { port, child, stderr: () => stderr }
}

async function startNginx(folder: string, ports: readonly number[]) {
  const port = await freePort()
  const place = join(folder, 'nginx')
  mkdirSync(place)
  const upstreams = ports.map((one) => `server 127.0.0.1:${one} max_fails=1 fail_timeout=1s;`).join(' ')
  writeFileSync(
    join(place, 'nginx.conf'),
    `daemon off; worker_processes 1; pid ${place}/pid; error_log ${place}/error.log;
events { worker_connections 8192; }
http {
  access_log off;
  client_body_temp_path ${place}/body; proxy_temp_path ${place}/proxy; fastcgi_temp_path ${place}/f;
  uwsgi_temp_path ${place}/u; scgi_temp_path ${place}/s;
  upstream gateway { ${upstreams} keepalive 64; }
  server {
    listen 127.0.0.1:${port};
    client_max_body_size 16m;
    location / {
      proxy_pass http://gateway;
      proxy_http_version 1.1;
      proxy_set_header Connection "";
      proxy_set_header Host $http_host;
      proxy_buffering off;
      proxy_read_timeout 1h;
    }
  }
}
`,
  )
  const child = spawn('nginx', ['-p', place, '-c', join(place, 'nginx.conf')], { stdio: 'ignore' })
  return { port, child }
}

export async function end(child: ChildProcess | undefined, signal: NodeJS.Signals): Promise<void> {
  if (!child || child.exitCode !== null || child.signalCode !== null) return
  const ended = once(child, 'exit')
  child.kill(signal)
  await ended
}

async function probe(port: number): Promise<{ status: string; peers?: number }> {
  try {
    const response = await fetch(`http://127.0.0.1:${port}/ready`)
    return (await response.json()) as { status: string }
  } catch {
    return { status: 'gone' }
  }
}

async function readiness({ port, child, stderr }: Replica): Promise<void> {
  await until(
    async () => {
      if (child.exitCode !== null) throw new Error(`A replica ended: ${stderr()}`)
      return (await probe(port)).status === 'ready'
    },
    90_000,
    () => stderr(),
  )
}

async function peersKnown({ replicas, ready }: Cluster): Promise<void> {
  const others = replicas.length - 1
  for (const at of replicas.keys()) await until(async () => (await ready(at)).peers === others)
}

export async function until(
  what: () => boolean | Promise<boolean>,
  ms = 30_000,
  why: () => string = () => '',
): Promise<void> {
  const limit = Date.now() + ms
  while (!(await what())) {
    if (Date.now() > limit) throw new Error(`It did not happen in time. ${why()}`)
    await new Promise((done) => setTimeout(done, 25))
  }
}
