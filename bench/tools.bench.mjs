// `npm run bench -- tools`: how well tools are found, how the checker agrees with Ajv, and what a call costs beside the
// request itself. Everything runs on the real tools of the servers installed for the tests; `--held-out` also asks servers that
// the search was not tuned on.
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openTextEmbedder } from '../packages/codebase/dist/index.js'
import { systemHost } from '../packages/core/dist/host.js'
import { openBoard } from '../packages/core/dist/index.js'
import { AuditLog, PermissionGate } from '../packages/core/dist/permissions/index.js'
import { describeTool } from '../packages/core/dist/text/sanitize.js'
import { callTool } from '../packages/core/dist/tools/call.js'
import { readToolList } from '../packages/core/dist/tools/definition.js'
import { BoundTool, embeddingText, NameRegistry, ToolIndex } from '../packages/core/dist/tools/index.js'
import { compileSchema, loadZod, toZod } from '../packages/core/dist/tools/schema/index.js'
import { linkedPair } from '../packages/core/dist/transports/linked-pair.js'
import { ToolVectors } from '../packages/gateway/dist/index.js'
import { cacheDir } from '../scripts/lib/on-demand.mjs'
import { heldOutQueries, heldOutTools, tuningQueries, tuningTools } from './lib/held-out.mjs'
import { report } from './lib/report.mjs'
import { pairs } from './lib/schemas.mjs'
import { listAllTools } from './lib/servers.mjs'

const rows = []
const row = (what, value, goal = '') => rows.push({ what, value, goal, met: isMet(value, goal) })
const isMet = (value, goal) => {
  const [, sign, limit] = /(≥|≤|<|^)\s*(\d+(?:\.\d+)?) (?:%|ms|µs)/.exec(goal) ?? []
  if (limit === undefined) return undefined
  const measured = Number.parseFloat(value)
  if (sign === '≥' || sign === '') return measured >= Number(limit)
  return sign === '<' ? measured < Number(limit) : measured <= Number(limit)
}
const percent = (part, whole) => `${((100 * part) / whole).toFixed(1)} % (${part}/${whole})`
const quantile = (sorted, share) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))]

const zod = await loadZod()
const lists = await listAllTools()
const definitions = [...lists].flatMap(([server, list]) =>
  readToolList(list).tools.map((definition) => ({ server, definition })),
)
const asSearchable = ({ server, definition }) => ({
  name: `${server}.${definition.name}`,
  server,
  tool: definition.name,
  title: definition.title ?? definition.annotations?.title,
  description: describeTool(definition.description),
  inputJsonSchema: definition.inputSchema,
})
const searchable = definitions.map(asSearchable)

function recall() {
  const labelled = JSON.parse(readFileSync(new URL('./lib/queries.json', import.meta.url), 'utf8'))
  const index = new ToolIndex(searchable)
  const hit = ({ query, tools }) => {
    const found = index.search(query, 5).map(({ name }) => name)
    return tools.some((name) => found.includes(name))
  }
  const found = labelled.map(hit)
  const half = (rest) => found.filter((_, at) => at % 2 === rest)
  const count = (list) => percent(list.filter(Boolean).length, list.length)
  row(`search: recall@5, ${labelled.length} requests, ${searchable.length} tools`, count(found), '≥ 90 %')
  row('search: recall@5, the half used for tuning', count(half(0)))
  row('search: recall@5, the half held out', count(half(1)))
  const names = new NameRegistry().update(
    definitions.map(({ server, definition }) => ({ server, tool: definition.name })),
  )
  row(
    'names: unique and at most 64 characters',
    percent(new Set(names.filter((name) => name.length <= 64)).size, names.length),
    '100 %',
  )
  return labelled
}

/** `--held-out`: it installs a dozen servers when it is first asked for. */
async function heldOutRecall() {
  const others = searchables(await heldOutTools())
  const queries = heldOutQueries()
  const withRequests = new Set(queries.flatMap(({ tools }) => tools.map((name) => name.split('.')[0])))
  const own = searchable.filter(({ server }) => !others.some((tool) => tool.server === server))
  await recallOf('for servers not tuned on', queries, [
    others.filter(({ server }) => withRequests.has(server)),
    [...others, ...own],
  ])
}

/** `--tuning`: the requests that synonyms and weights were chosen with, over servers of their own. */
async function tuningRecall() {
  const others = searchables(await tuningTools())
  const own = searchable.filter(({ server }) => !others.some((tool) => tool.server === server))
  await recallOf('for tuning', tuningQueries(), [[...others, ...own]])
}

const searchables = (lists) =>
  [...lists].flatMap(([server, list]) =>
    readToolList(list).tools.map((definition) => asSearchable({ server, definition })),
  )

/** By words, and by words and the embedding model as `serve` uses it. */
async function recallOf(which, queries, sets) {
  const embedder = await openTextEmbedder()
  const vectors = embedder && new ToolVectors({ embedder, file: join(cacheDir(), 'bench-tool-vectors.json') })
  for (const tools of sets) {
    const index = new ToolIndex(tools)
    const texts = tools.map(embeddingText)
    await vectors?.prepare(texts)
    for (const [how, nearness] of [
      ['words', () => undefined],
      ...(vectors ? [['words and embeddings', (query) => vectors.nearness(query, texts)]] : []),
    ]) {
      const ranks = []
      for (const { query, tools: right } of queries) {
        const hits = index.search(query, 10, await nearness(query))
        ranks.push(hits.findIndex(({ name }) => right.includes(name)))
        if (process.argv.includes('--missed') && (ranks.at(-1) < 0 || ranks.at(-1) >= 5))
          console.error(
            `${how} ${ranks.at(-1)}: ${query} → ${right.join(', ')}; ${hits.map(({ name }) => name).join(' ')}`,
          )
      }
      for (const [at, goal] of [
        [5, '≥ 95 %'],
        [10, '≥ 98 %'],
      ]) {
        const found = ranks.filter((rank) => rank >= 0 && rank < at).length
        row(
          `search by ${how}: recall@${at}, ${queries.length} requests ${which}, ${tools.length} tools`,
          percent(found, queries.length),
          goal,
        )
      }
    }
  }
  await vectors?.close()
}

function searchTime(labelled) {
  const many = Array.from({ length: 2000 }, (_, at) => {
    const tool = searchable[at % searchable.length]
    const copy = Math.floor(at / searchable.length)
    return copy === 0 ? tool : { ...tool, name: `${tool.name}_${copy}`, server: `${tool.server}-${copy}` }
  })
  const started = performance.now()
  const index = new ToolIndex(many)
  row('search: building the index of 2,000 tools', `${(performance.now() - started).toFixed(0)} ms`)
  const times = []
  for (let round = 0; round < 5; round++)
    for (const { query } of labelled) {
      const from = performance.now()
      index.search(query, 5)
      times.push(performance.now() - from)
    }
  times.sort((a, b) => a - b)
  row(
    'search: one request over 2,000 tools, p50 / p99',
    `${quantile(times, 0.5).toFixed(2)} / ${quantile(times, 0.99).toFixed(2)} ms`,
    'p50 < 3 ms',
  )
}

function conversion() {
  let total = 0
  let threw = 0
  let partly = 0
  const started = performance.now()
  for (const { definition } of definitions)
    for (const schema of [definition.inputSchema, definition.outputSchema]) {
      if (schema === undefined) continue
      total++
      try {
        const compiled = compileSchema(schema)
        compiled.check({})
        toZod(zod, schema, compiled).safeParse({})
        if (compiled.warnings.length > 0) partly++
      } catch {
        threw++
      }
    }
  const each = ((performance.now() - started) / total).toFixed(2)
  row(
    `schemas: of real tools that convert (${partly} with a warning)`,
    percent(total - threw, total),
    '100 %',
  )
  row('schemas: compile, convert to Zod and check once', `${each} ms`)
}

function agreement() {
  for (const [draft, modern] of [
    ['draft 7', false],
    ['2020-12', true],
  ]) {
    let total = 0
    let agree = 0
    const differing = new Map()
    const compiled = new Map()
    for (const { schema, value, expected } of pairs({ modern, count: 400, values: 20, seed: 7 })) {
      if (!compiled.has(schema)) compiled.set(schema, compileSchema(schema))
      total++
      if ((compiled.get(schema).check(value).kind !== 'invalid') === expected) agree++
      else differing.set(JSON.stringify(schema), { schema, value, expected })
    }
    row(`schemas: yes and no as Ajv, ${draft}, generated`, percent(agree, total), '≥ 99 %')
    if (process.argv.includes('--differences'))
      for (const one of differing.values()) console.log(JSON.stringify(one))
    else if (differing.size > 0)
      row(`  schemas with a difference (listed by --differences)`, String(differing.size))
  }
}

async function overhead() {
  const host = systemHost()
  const definition = definitions.find(
    ({ server, definition: one }) => server === 'everything' && one.name === 'echo',
  )?.definition
  const answer = { content: [{ type: 'text', text: 'Echo: hi' }] }
  const options = {
    name: 'mcp__everything__echo',
    server: 'everything',
    definition,
    trusted: false,
    env: {},
    zod,
  }
  const tool = new BoundTool(options, {})
  const standing = { rules: [{ effect: 'allow', text: 'mcp__everything', source: 'bench' }] }
  const base = {
    host,
    send: async () => answer,
    standing: () => standing,
    gate: new PermissionGate(),
    resultsFolder: join(tmpdir(), 'plugboard-bench'),
  }
  const audit = new AuditLog({ path: join(tmpdir(), `plugboard-bench-${process.pid}`, 'audit.jsonl'), host })
  const args = { message: 'hi' }
  const p50 = async (call) => {
    const times = []
    for (let at = 0; at < 6000; at++) {
      const from = performance.now()
      await call()
      if (at >= 1000) times.push((performance.now() - from) * 1000)
      if (at % 50 === 0) await audit.flush()
    }
    return quantile(
      times.sort((a, b) => a - b),
      0.5,
    )
  }
  const bare = await p50(() => base.send())
  const piped = await p50(() => callTool(base, tool, args))
  const audited = await p50(() => callTool({ ...base, audit }, tool, args))
  await audit.flush()
  row('call: the pipeline beside the request, no hooks, p50', `${(piped - bare).toFixed(1)} µs`, '≤ 25 µs')
  row('call: the same with the audit log', `${(audited - bare).toFixed(1)} µs`, '≤ 25 µs')
}

/** A whole call on a real board: an echo server in this process, called three ways in turn. */
async function wholeWay() {
  const { McpServer } = await import('@modelcontextprotocol/server')
  const { Client } = await import('@modelcontextprotocol/client')
  const serve = async (end) => {
    const server = new McpServer({ name: 'echo', version: '1' })
    const inputSchema = zod.object({ message: zod.string() })
    server.registerTool('echo', { inputSchema }, async ({ message }) => ({
      content: [{ type: 'text', text: `Echo: ${message}` }],
    }))
    await server.connect(end)
  }
  const stateDir = mkdtempSync(join(tmpdir(), 'plugboard-bench-'))
  const rules = [{ action: 'allow', rule: 'mcp__echo', file: 'bench', scope: 'user' }]
  const board = await openBoard({ servers: [], inProcess: { echo: serve }, stateDir, rules })
  const [ours, theirs] = linkedPair()
  await serve(theirs)
  const client = new Client({ name: 'bench', version: '1' })
  await client.connect(ours)
  const params = { name: 'echo', arguments: { message: 'hi' } }
  const ways = {
    sdk: () => client.callTool(params),
    request: () => board.link.request('echo', 'tools/call', params),
    call: () => board.call('mcp__echo__echo', params.arguments),
  }
  const times = { sdk: [], request: [], call: [] }
  try {
    for (let round = 0; round < 4000; round++)
      for (const [name, way] of Object.entries(ways)) {
        const from = performance.now()
        await way()
        if (round >= 1000) times[name].push((performance.now() - from) * 1000)
      }
  } finally {
    await client.close()
    await board.close()
    rmSync(stateDir, { recursive: true, force: true })
  }
  const p50 = (name) =>
    quantile(
      times[name].sort((a, b) => a - b),
      0.5,
    )
  const [sdk, request, call] = [p50('sdk'), p50('request'), p50('call')]
  row('board: callTool of the SDK client, in-process, p50', `${sdk.toFixed(0)} µs`)
  row('board: a bare request of the board, in-process, p50', `${request.toFixed(0)} µs`)
  row('board: board.call, in-process, with audit, p50', `${call.toFixed(0)} µs`)
  row('board: board.call beside its bare request', `${(call - request).toFixed(1)} µs`, '≤ 25 µs')
  row('board: board.call beside callTool of the SDK client', `${(call - sdk).toFixed(1)} µs`, '≤ 25 µs')
}

const labelled = recall()
if (process.argv.includes('--tuning')) await tuningRecall()
if (process.argv.includes('--held-out')) await heldOutRecall()
searchTime(labelled)
conversion()
agreement()
await overhead()
await wholeWay()

report('tools', 'Tools: finding, checking, calling', rows)
