// `npm run replicas`: what holds when several gateways stand behind plain round robin: every row of the table with every client, then
// the faults. Exit code 1 when a cell does not hold. `--markdown` keeps the tables in docs/replicas.md.
import { readFileSync, writeFileSync } from 'node:fs'
import { cpus } from 'node:os'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { markdownTable } from '../../scripts/lib/table.mjs'
import { connectClient, KINDS, type Kind } from './clients.ts'
import { type Cluster, startCluster } from './cluster.ts'
import { killReplica, killStore, type LoadReport, underLoad } from './failover.ts'
import { SCENES } from './scenes.ts'

const { values } = parseArgs({
  options: {
    replicas: { type: 'string', default: '2,3' },
    tries: { type: 'string', default: '6' },
    only: { type: 'string' },
    'no-store': { type: 'boolean', default: false },
    'no-faults': { type: 'boolean', default: false },
    soak: { type: 'string' },
    seed: { type: 'string', default: '1' },
    markdown: { type: 'boolean', default: false },
  },
})
const SCENE_MS = 30_000
const TROUBLE_COLUMNS = [
  'trouble under load',
  'client',
  'calls',
  'failed, then went on',
  'wrong',
  'doubled writes',
  'lost writes',
  'stuck clients',
  'ready again',
]
const PAGE = fileURLToPath(new URL('../../docs/replicas.md', import.meta.url))
const MARK = /<!-- replicas -->[\s\S]*?<!-- end of replicas -->/
let failures = 0
/** What was printed, as it goes into the page. */
const parts: string[] = []

if (values.soak !== undefined) await soak(Number(values.soak))
else for (const replicas of values.replicas.split(',').map(Number)) await run(replicas)
if (values.markdown && parts.length > 0) keepTables()
process.exit(failures > 0 ? 1 : 0)

function keepTables(): void {
  const words = process.argv.slice(2).filter((word) => word !== '--markdown')
  const command = ['npm run replicas', ...(words.length > 0 ? ['--', ...words] : [])].join(' ')
  const when = `\`${command}\` (${new Date().toISOString().slice(0, 10)}, ${cpus().length} shared cores, Node ${process.versions.node})`
  const text = `<!-- replicas -->\n\n${[when, ...parts].join('\n\n')}\n\n<!-- end of replicas -->`
  writeFileSync(
    PAGE,
    readFileSync(PAGE, 'utf8').replace(MARK, () => text),
  )
}

async function run(replicas: number): Promise<void> {
  const cluster = await startCluster({ replicas, store: !values['no-store'] })
  try {
    await table(cluster, replicas)
    if (values['no-faults'] || values['no-store']) return
    faultTable([
      await underLoad(cluster, 'kill -9 of a replica, started again', () => killReplica(cluster, 0)),
      await underLoad(cluster, 'Redis killed and back', () => killStore(cluster)),
    ])
  } finally {
    await cluster.close()
  }
}

/** Minutes of load with 3 replicas, while replicas and the store are killed in an order that the seed decides. */
async function soak(minutes: number): Promise<void> {
  const cluster = await startCluster({ replicas: 3 })
  const random = seeded(Number(values.seed))
  const until = Date.now() + minutes * 60_000
  const total = { calls: 0, failed: 0, wrong: 0, doubled: 0, lost: 0, stuck: 0 }
  const troubles = new Map<string, number>()
  /** A replica that is started again reads its code and starts its servers; the others only connect to a new store. */
  const slowest = new Map<string, number>()
  try {
    while (Date.now() < until) {
      const at = Math.floor(random() * 4)
      const isStore = at === 3
      const name = isStore ? 'Redis killed' : 'replica killed'
      const report = await underLoad(cluster, name, () =>
        isStore ? killStore(cluster) : killReplica(cluster, at),
      )
      troubles.set(name, (troubles.get(name) ?? 0) + 1)
      slowest.set(name, Math.max(slowest.get(name) ?? 0, report.recoveryMs))
      for (const counts of report.byKind.values())
        for (const key of Object.keys(total) as (keyof typeof total)[]) total[key] += counts[key]
      if (report.errors.some((error) => !error.includes('502')))
        console.log(`  ${report.errors.join('\n  ')}`)
    }
  } finally {
    await cluster.close()
  }
  failures += total.wrong + total.doubled + total.lost + total.stuck
  const happened = [...troubles].map(([name, count]) => `${name} ${count} times`).join(', ')
  const recovered = [...slowest].map(([name, ms]) => `${(ms / 1000).toFixed(1)} s (${name})`).join(', ')
  console.log(
    `${minutes} minutes, 3 replicas, ${happened}: ${total.calls} calls, ${total.failed} failed and their clients went on, ${total.wrong} wrong, ${total.doubled} doubled, ${total.lost} lost, ${total.stuck} clients stuck; ready again within ${recovered}`,
  )
}

function seeded(seed: number): () => number {
  let state = seed
  return () => {
    state = (state * 1_103_515_245 + 12_345) % 2 ** 31
    return state / 2 ** 31
  }
}

async function table(cluster: Cluster, replicas: number): Promise<void> {
  const tries = Number(values.tries)
  const rows = Object.keys(SCENES).filter((name) => !values.only || name.includes(values.only))
  const title = `${replicas} replicas behind round robin, ${tries} fresh clients a cell`
  console.log(`\n${title}\n`)
  const kept: string[][] = [['operation', ...KINDS]]
  console.log(`| ${['operation', ...KINDS].join(' | ')} |\n| ${'--- | '.repeat(KINDS.length + 1)}`.trimEnd())
  const why: string[] = []
  for (const row of rows) {
    const cells: string[] = []
    for (const kind of KINDS) {
      let held = 0
      for (let n = 0; n < tries; n++) {
        const fault = await attempt(cluster, row, kind, n)
        if (fault === undefined) held++
        else why.push(`${row}, ${kind}: ${fault}`)
      }
      failures += tries - held
      cells.push(`${held}/${tries}`)
    }
    kept.push([row, ...cells])
    console.log(`| ${[row, ...cells].join(' | ')} |`)
  }
  parts.push(`${title}:`, markdownTable(kept))
  for (const line of [...new Set(why)].slice(0, 20)) console.log(`  ${line}`)
}

/** Undefined when it holds. */
async function attempt(cluster: Cluster, row: string, kind: Kind, n: number): Promise<string | undefined> {
  const token = cluster.tokens[n % cluster.tokens.length] ?? ''
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, fail) => {
    timer = setTimeout(() => fail(new Error('It did not end.')), SCENE_MS)
  })
  const work = async () => {
    const client = await connectClient(kind, cluster.url, token)
    try {
      await SCENES[row]?.({ client, cluster, token })
    } finally {
      await client.close()
    }
  }
  try {
    await Promise.race([work(), late])
    return undefined
  } catch (error) {
    return error instanceof Error ? (error.message.split('\n', 1)[0] ?? '') : String(error)
  } finally {
    clearTimeout(timer)
  }
}

function faultTable(reports: readonly LoadReport[]): void {
  const kept: string[][] = [TROUBLE_COLUMNS]
  console.log(`\n| ${TROUBLE_COLUMNS.join(' | ')} |\n${'| --- '.repeat(TROUBLE_COLUMNS.length)}|`)
  for (const { trouble, byKind, recoveryMs, errors } of reports) {
    for (const [kind, { calls, failed, wrong, doubled, lost, stuck }] of byKind) {
      failures += wrong + doubled + lost + stuck
      const counts = [calls, failed, wrong, doubled, lost, stuck].map(String)
      kept.push([trouble, kind, ...counts, `${(recoveryMs / 1000).toFixed(1)} s`])
      console.log(`| ${kept.at(-1)?.join(' | ')} |`)
    }
    for (const error of errors) console.log(`  ${error}`)
  }
  parts.push(markdownTable(kept))
}
