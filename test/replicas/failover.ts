// failover.ts: clients that call without pause while a replica or the store is killed: no lasting error, no wrong answer, no write that
// was done twice, and none that was answered and is not there.
import { readFileSync } from 'node:fs'
import { connectClient, KINDS, type Kind, type ReplicaClient } from './clients.ts'
import { type Cluster, until } from './cluster.ts'

export interface LoadCounts {
  calls: number
  /** Calls that failed, and the client could go on. */
  failed: number
  wrong: number
  doubled: number
  lost: number
  /** Clients that could not call any more at the end. */
  stuck: number
}

export interface LoadReport {
  readonly trouble: string
  readonly byKind: ReadonlyMap<Kind, LoadCounts>
  /** From the end of the trouble until every replica was ready again. */
  readonly recoveryMs: number
  readonly errors: readonly string[]
}

const CLIENTS_OF_A_KIND = 4
const PAUSE_MS = 20

interface Loaded {
  readonly client: ReplicaClient
  readonly counts: LoadCounts
  /** The keys whose write was answered. */
  readonly written: string[]
  /** All keys that were sent. */
  readonly sent: string[]
}

export async function underLoad(
  cluster: Cluster,
  trouble: string,
  cause: () => Promise<number>,
): Promise<LoadReport> {
  const errors = new Set<string>()
  const byKind = new Map<Kind, LoadCounts>()
  const all: Loaded[] = []
  for (const kind of KINDS) {
    const counts = { calls: 0, failed: 0, wrong: 0, doubled: 0, lost: 0, stuck: 0 }
    byKind.set(kind, counts)
    for (let n = 0; n < CLIENTS_OF_A_KIND; n++) {
      const token = cluster.tokens[n % cluster.tokens.length] ?? ''
      const client = await connectClient(kind, cluster.url, token)
      all.push({ client, counts, written: [], sent: [] })
    }
  }
  let isOver = false
  const tag = `${process.pid}-${Date.now()}`
  const work = all.map((one, at) => calls(one, `${tag}-${at}`, () => isOver, errors))
  await pause(1000)
  const recoveryMs = await cause()
  await pause(1500)
  isOver = true
  await Promise.all(work)
  for (const { client, counts } of all)
    if (!(await works(client))) {
      counts.stuck++
      errors.add(`stuck: ${client.kind}`)
    }
  countWrites(cluster.writes, all)
  await Promise.allSettled(all.map(({ client }) => client.close()))
  return { trouble, byKind, recoveryMs, errors: [...errors].slice(0, 8) }
}

async function calls(one: Loaded, tag: string, isOver: () => boolean, errors: Set<string>): Promise<void> {
  const { client, counts, written, sent } = one
  for (let n = 0; !isOver(); n++) {
    const key = `${tag}-${n}`
    const writes = n % 2 === 0
    counts.calls++
    try {
      if (writes) sent.push(key)
      const said = writes
        ? await client.call('mcp__plain__write', { key }, { timeout: 10_000 })
        : await client.call('mcp__legacy__echo', { text: key }, { timeout: 10_000 })
      if (said !== (writes ? 'written' : key)) {
        counts.wrong++
        errors.add(`wrong: ${said.slice(0, 150)}`)
      } else if (writes) written.push(key)
    } catch (error) {
      counts.failed++
      errors.add(`${client.kind}: ${error instanceof Error ? error.message.slice(0, 150) : error}`)
    }
    await pause(PAUSE_MS)
  }
}

/** Calls go on after the trouble; a single one may still hit what is left of it. */
async function works(client: ReplicaClient): Promise<boolean> {
  for (let tries = 0; tries < 3; tries++)
    try {
      if ((await client.call('mcp__legacy__echo', { text: 'on' }, { timeout: 10_000 })) === 'on') return true
    } catch {
      await pause(200)
    }
  return false
}

function countWrites(file: string, all: readonly Loaded[]): void {
  const times = new Map<string, number>()
  for (const line of readFileSync(file, 'utf8').split('\n')) times.set(line, (times.get(line) ?? 0) + 1)
  for (const { counts, written, sent } of all) {
    counts.doubled += sent.filter((key) => (times.get(key) ?? 0) > 1).length
    counts.lost += written.filter((key) => !times.has(key)).length
  }
}

/** kill -9 of one replica, which is started again after a while. */
export async function killReplica(cluster: Cluster, at: number): Promise<number> {
  await cluster.kill(at)
  await pause(1500)
  const since = Date.now()
  await cluster.start(at)
  return Date.now() - since
}

/** kill -9 of the store, which comes back empty. */
export async function killStore(cluster: Cluster): Promise<number> {
  await cluster.redis?.stop()
  await pause(2500)
  await cluster.redis?.start()
  const since = Date.now()
  for (const at of cluster.replicas.keys())
    await until(async () => (await cluster.ready(at)).status === 'ready', 30_000)
  return Date.now() - since
}

function pause(ms: number): Promise<void> {
  return new Promise((done) => setTimeout(done, ms))
}
