// What the agent costs: the first token of `chat -p` beside a server that needs ten seconds to start, against none at
// all; and the tokens that 500 plugged-in tools take of a request, against sending every definition.
import { spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { modelServer } from '../packages/agent/src/fixtures/model-server.mjs'
import { interleave, median } from './lib/measure.mjs'
import { report } from './lib/report.mjs'
import { listAllTools } from './lib/servers.mjs'

const ROUNDS = 15
const MODEL_MS = 300
const TOOLS = 500
const root = fileURLToPath(new URL('..', import.meta.url))
const command = join(root, 'packages/cli/bin/plugboard.cjs')
const folder = mkdtempSync(join(tmpdir(), 'plugboard-bench-'))

/** A home of its own, with these servers. */
function place(name, mcpServers) {
  const home = join(folder, name)
  mkdirSync(join(home, '.plugboard'), { recursive: true })
  mkdirSync(join(home, 'project'), { recursive: true })
  writeFileSync(join(home, '.plugboard', 'settings.json'), JSON.stringify({ mcpServers }))
  return home
}

/** Milliseconds from the start of the command to the first byte of its answer. */
function firstToken(home, env) {
  return new Promise((resolve, reject) => {
    const began = performance.now()
    let first
    const child = spawn(process.execPath, [command, 'chat', '-p', 'hi'], {
      cwd: join(home, 'project'),
      env: {
        PATH: process.env.PATH,
        HOME: home,
        PLUGBOARD_RESIDENT: '0',
        PLUGBOARD_MANAGED_DIR: join(folder, 'managed'),
        ...env,
      },
      stdio: ['ignore', 'pipe', 'pipe'],
      timeout: 60_000,
    })
    let said = ''
    child.stdout.on('data', () => {
      first ??= performance.now() - began
    })
    child.stderr.on('data', (bytes) => {
      said += bytes
    })
    child.on('error', reject)
    child.on('exit', (code) =>
      code === 0 && first !== undefined
        ? resolve(first)
        : reject(new Error(`chat ended with ${code}: ${said}`)),
    )
  })
}

/** Tasks in plain words and the tool that does each, of the real servers among the many. */
const TASKS = [
  ['create an issue in a github repository', /^mcp__github__create_issue$/],
  ['send a message to a slack channel', /^mcp__slack__.*post_message$/],
  ['read the text of a file', /^mcp__filesystem__read_(text_)?file$/],
  ['add observations to the knowledge graph', /^mcp__memory__add_observations$/],
  ['take a screenshot of the web page', /^mcp__playwright__browser_take_screenshot$/],
  ['show the commit log of the git repository', /^mcp__git__git_log$/],
]

try {
  const none = place('none', {})
  const slow = place('slow', {
    slow: { command: process.execPath, args: ['-e', 'setTimeout(() => {}, 10000)'] },
  })
  // A model that answers at once shows every delay; with a slow one the servers start meanwhile.
  const waits = []
  for (const delayMs of [0, MODEL_MS]) {
    const plain = await modelServer(() => ({ text: 'Hello.', delayMs }))
    const env = { ANTHROPIC_API_KEY: 'k', ANTHROPIC_BASE_URL: plain.url }
    await firstToken(none, env)
    const samples = await interleave(
      { none: () => firstToken(none, env), slow: () => firstToken(slow, env) },
      ROUNDS,
    )
    await plain.close()
    waits.push({ delayMs, without: median(samples.none), beside: median(samples.slow) })
  }

  const { sentTokens, knownTokens, worst, right, known } = await toolTokensPerTurn()
  report(
    'agent',
    'The agent: slow servers, and many tools',
    [
      ...waits.map(({ delayMs, without, beside }) => ({
        what: `first token of \`chat -p\`, one server needing 10 s, model ${delayMs} ms`,
        value: `${beside.toFixed(0)} ms`,
        against: `no servers: ${without.toFixed(0)} ms`,
        ratio: beside / without,
        goal: '≤ 1.2',
        met: beside / without <= 1.2,
      })),
      {
        what: `tokens for tools in a turn, ${known} plugged in`,
        value: `${sentTokens.toFixed(0)} (worst ${worst})`,
        against: `all of them: ${knownTokens}`,
        ratio: sentTokens / knownTokens,
        goal: '≤ 0.05',
        met: sentTokens / knownTokens <= 0.05,
      },
      {
        what: 'tasks for which the right tool was found and called',
        value: `${right} of ${TASKS.length}`,
        goal: `${TASKS.length}`,
        met: right === TASKS.length,
      },
    ],
    [
      `Medians of ${ROUNDS} interleaved rounds against a scripted model on loopback; tokens are estimates, the mean over all turns of all tasks.`,
    ],
  )
} finally {
  rmSync(folder, { recursive: true, force: true, maxRetries: 3 })
}

/** The loop over 500 tools: those of real servers, and made-up ones of the same sizes beside them. */
async function toolTokensPerTurn() {
  const { openBoard } = await import(join(root, 'packages/core/dist/index.js'))
  const { chooseModel, runAgent, userMessage } = await import(join(root, 'packages/agent/dist/index.js'))
  const { systemHost } = await import(join(root, 'packages/core/dist/host.js'))
  const lists = await listAllTools()
  const real = [...lists].flatMap(([server, tools]) => tools.map((tool) => ({ server, tool })))
  const filler = Array.from({ length: Math.max(0, TOOLS - real.length) }, (_, index) => {
    const { tool } = real[index % real.length]
    // The same shape and size, about nothing that a task asks for.
    const description = (tool.description ?? '').replace(/[a-z]+/gi, (word) =>
      'zq'.repeat(word.length).slice(0, word.length),
    )
    return {
      server: `extra${index % 5}`,
      tool: { ...tool, name: `zq_${index}`, description, annotations: {} },
    }
  })
  const all = Map.groupBy
    ? Map.groupBy([...real, ...filler], ({ server }) => server)
    : grouped([...real, ...filler])
  const inProcess = Object.fromEntries(
    [...all].map(([server, items]) => [server, servesTools(items.map(({ tool }) => tool))]),
  )
  const host = systemHost({ env: {} })
  const board = await openBoard({
    host,
    inProcess,
    servers: [],
    stateDir: join(folder, 'state'),
    rules: [...all.keys()].map((server) => ({
      action: 'allow',
      rule: `mcp__${server}`,
      file: 'bench',
      scope: 'dynamic',
    })),
  })
  try {
    await board.ready()
    const turns = []
    let right = 0
    for (const [task, wanted] of TASKS) {
      // Searches with the words of the task, then calls the first tool that the search returned.
      const scripted = await modelServer(({ results }) => {
        if (results.length === 0)
          return { calls: [{ name: 'tool_search', arguments: { query: task, max_results: 3 } }] }
        if (results[0].name === 'tool_search') {
          const found = results[0].text.match(/^mcp__\S+/gm) ?? []
          return { calls: [{ name: found[0] ?? 'none', arguments: {} }] }
        }
        return { text: `used ${results[0].name}` }
      })
      const model = chooseModel({ host, api: 'anthropic', model: 'scripted', baseUrl: scripted.url })
      for await (const event of runAgent({
        host,
        board,
        model,
        subAgents: false,
        messages: [userMessage(task)],
      })) {
        if (event.type === 'turn') turns.push(event.tools)
        if (event.type === 'done' && wanted.test(event.text.replace('used ', ''))) right++
        else if (event.type === 'done') console.error(`  ${task}: ${event.text}`)
      }
      await scripted.close()
    }
    return {
      right,
      known: turns[0].known,
      knownTokens: turns[0].knownTokens,
      sentTokens: turns.reduce((sum, one) => sum + one.sentTokens, 0) / turns.length,
      worst: Math.max(...turns.map((one) => one.sentTokens)),
    }
  } finally {
    await board.close()
  }
}

function grouped(items) {
  const groups = new Map()
  for (const item of items) groups.set(item.server, [...(groups.get(item.server) ?? []), item])
  return groups
}

/** A server in this process that has these tools and does nothing. */
function servesTools(tools) {
  return (end) => {
    end.onmessage = ({ id, method, params }) => {
      if (id === undefined) return
      const reply = (result) => end.send({ jsonrpc: '2.0', id, result })
      if (method === 'initialize')
        reply({
          protocolVersion: params.protocolVersion,
          capabilities: { tools: {} },
          serverInfo: { name: 'many', version: '1' },
        })
      else if (method === 'tools/list') reply({ tools })
      else if (method === 'tools/call') reply({ content: [{ type: 'text', text: 'done' }] })
      else end.send({ jsonrpc: '2.0', id, error: { code: -32601, message: 'no such method' } })
    }
    return end.start()
  }
}
