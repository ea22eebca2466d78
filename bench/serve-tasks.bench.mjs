// `npm run bench -- serve-tasks`: sixty tasks over fourteen real servers behind `plugboard serve`, with every tool listed and with search.
// A scripted agent takes the right tool where a model would see it: in the list, or among the first five of a search for the
// wish, and where it is not there, among the first twenty of a second search. It reads its definition, calls it, and the
// result's content decides. `--missed` names what failed.
import { existsSync, mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Client } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { realServerEntries } from '../test/support/real-server-entries.mjs'
import { report } from './lib/report.mjs'
import { prepareTasks, serveTasks } from './lib/serve-tasks.mjs'

const SHOWN = 5
const SHOWN_AGAIN = 20
/** name → how `serve` is started. */
const WAYS = {
  '`--mode all`': { mode: 'all' },
  '`--mode search`, words alone': { mode: 'search', env: { PLUGBOARD_EMBEDDINGS_MODEL: 'none' } },
  '`--mode search`': { mode: 'search', vectors: true },
}
const UP_MS = 60_000
const command = fileURLToPath(new URL('../packages/cli/bin/plugboard.cjs', import.meta.url))
/** As elsewhere in these figures: about four characters of JSON. */
const tokensOf = (value) => Math.ceil(JSON.stringify(value).length / 4)

async function inPlace({ mode, env = {}, vectors = false }, work) {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'plugboard-tasks-')))
  const [home, project] = [join(folder, 'home'), join(folder, 'work')]
  for (const one of [home, project]) mkdirSync(one)
  prepareTasks(project, home)
  writeFileSync(join(home, 'servers.json'), JSON.stringify({ mcpServers: realServerEntries(project) }))
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: [
      command,
      'serve',
      '--mode',
      mode,
      '--strict-mcp-config',
      '--mcp-config',
      join(home, 'servers.json'),
    ],
    cwd: project,
    env: { PATH: process.env.PATH ?? '', HOME: home, PLUGBOARD_RESIDENT: '0', ...env },
    stderr: 'ignore',
  })
  const client = new Client({ name: 'bench', version: '1' })
  try {
    await client.connect(transport)
    await allUp(client)
    await client.listTools()
    // Written when every tool has its vector.
    if (vectors) await until(() => existsSync(join(home, '.plugboard', 'state', 'tool-vectors.json')))
    return await work(client, serveTasks(project))
  } finally {
    await client.close()
    rmSync(folder, { recursive: true, force: true, maxRetries: 3 })
  }
}

async function allUp(client) {
  await until(async () => {
    const { contents } = await client.readResource({ uri: 'plugboard://status' })
    const { servers } = JSON.parse(contents[0].text)
    return servers.every(({ state }) => state === 'connected')
  })
}

async function until(fact) {
  const end = Date.now() + UP_MS
  while (!(await fact())) {
    if (Date.now() > end) throw new Error(`waited too long for: ${fact}`)
    await new Promise((done) => setTimeout(done, 200))
  }
}

/** Tokens that a model reads and writes for tools: the definitions of its first request, and what it says and gets in each task. */
async function solveAll(way) {
  return await inPlace(way, async (client, tasks) => {
    const { tools } = await client.listTools()
    const used = { definitions: tokensOf(tools), calls: 0 }
    const call = async (name, args) => {
      const result = await client.callTool({ name, arguments: args }, { timeout: UP_MS })
      used.calls += tokensOf({ name, args }) + tokensOf(result.content)
      return result
    }
    const missed = []
    let again = 0
    for (const task of tasks) {
      const why =
        way.mode === 'all' ? await byList(call, tools, task) : await bySearch(call, task, () => again++)
      if (why !== undefined) missed.push(`${task.wish}: ${why}`)
    }
    return { solved: tasks.length - missed.length, of: tasks.length, again, missed, ...used }
  })
}

async function byList(call, tools, { tools: right, args, answer }) {
  const name = right.find((one) => tools.some((tool) => tool.name === one))
  if (name === undefined) return 'not listed'
  return judge(await call(name, args), answer)
}

async function bySearch(call, { wish, tools: right, args, answer }, onAgain) {
  const find = async (limit) => {
    const found = textOf(await call('search_tools', { query: wish, limit }))
    return (found.match(/^[^(\s]+/gm) ?? []).find((one) => right.includes(one))
  }
  let name = await find(SHOWN)
  if (name === undefined) {
    onAgain()
    if (process.argv.includes('--missed')) console.error(`searched again: ${wish}`)
    name = await find(SHOWN_AGAIN)
  }
  if (name === undefined) return 'not found'
  const described = textOf(await call('describe_tools', { names: [name] }))
  const { inputSchema } = JSON.parse(described)
  for (const key of Object.keys(args))
    if (!(key in (inputSchema.properties ?? {}))) return `no ${key} in its schema`
  return judge(await call('call_tool', { name, arguments: args }), answer)
}

const textOf = (result) => result.content.map(({ text }) => text ?? '').join('\n')
function judge(result, answer) {
  const said = JSON.stringify([result.content, result.structuredContent])
  if (result.isError) return `an error: ${said.slice(0, 300)}`
  return answer.test(said) || answer.test(textOf(result)) ? undefined : `answered ${said.slice(0, 300)}`
}

const outcomes = {}
for (const [name, way] of Object.entries(WAYS)) {
  outcomes[name] = await solveAll(way)
  if (process.argv.includes('--missed'))
    for (const line of outcomes[name].missed) console.error(`${name}: ${line}`)
}
const goal = outcomes['`--mode all`'].solved
report(
  'serve-tasks',
  'Tasks over fourteen real servers behind `serve`',
  [
    ...Object.entries(outcomes).map(([name, { solved, of, again }]) => ({
      what: `tasks solved, ${name}`,
      value: `${solved} of ${of}${again > 0 ? `, ${again} by a second search` : ''}`,
      ...(again !== undefined && { goal: `${goal}`, met: solved >= goal }),
    })),
    ...Object.entries(outcomes).map(([name, { definitions, calls, of }]) => ({
      what: `tokens: definitions in every request + calls and results of a task, ${name}`,
      value: `${definitions.toLocaleString('en-US')} + ${(calls / of).toFixed(0)}`,
    })),
  ],
  [
    'A scripted agent: it takes the right tool where a model would see it, in the list or among the first five of a search for the wish, else among the first twenty of a second search. Tokens are estimates.',
  ],
)
