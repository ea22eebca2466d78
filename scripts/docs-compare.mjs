// `npm run docs:compare`: the checks behind docs/comparison.md that can be run, against the real programs in pinned
// versions, in a throw-away home. It prints what happened; no account, network or setting of the user is touched.
import { execFileSync, spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { build } from './build.mjs'
import { ensureInstalled, root } from './ensure-install.mjs'
import { onDemand } from './lib/on-demand.mjs'

const PACKAGES = [
  'mcporter@0.12.3',
  '@anthropic-ai/claude-code@2.1.325',
  'executor@1.5.9',
  '@ai-sdk/mcp@2.0.93',
]
const RUN_MS = 60_000

ensureInstalled()
await build()
const others = onDemand('compare', PACKAGES)
// Its own installer puts the program into place; npm may be told not to run such scripts.
const claude = join(others, 'node_modules/@anthropic-ai/claude-code')
spawnSync(process.execPath, [join(claude, 'install.cjs')], {
  cwd: claude,
  stdio: 'ignore',
  timeout: 5 * RUN_MS,
})

const server = join(root, 'node_modules/@modelcontextprotocol/server-everything/dist/index.js')
const top = mkdtempSync(join(tmpdir(), 'plugboard-compare-'))
try {
  unasked()
  calls()
  executor()
  await afterACrash()
} finally {
  rmSync(top, { recursive: true, force: true })
}

/** Whether a program starts what a folder brings along, before the user was asked. */
function unasked() {
  const cases = [
    ['plugboard list', '.mcp.json'],
    ['mcporter list', 'config/mcporter.json'],
    ['mcporter list', '.cursor/mcp.json'],
    ['claude mcp list', '.mcp.json'],
  ]
  for (const [line, file] of cases) {
    const { folder, run } = place()
    const proof = join(folder, 'started')
    write(folder, file, { command: 'sh', args: ['-c', `touch '${proof}'; exec node '${server}'`] })
    run(line)
    console.log(
      `${line}, with ${file} of a folder: ${existsSync(proof) ? 'started it unasked' : 'did not start it'}`,
    )
  }
}

/** How a wrong argument, an unknown tool and an unknown server are told apart. */
function calls() {
  for (const [program, file] of [
    ['plugboard', '../.plugboard/settings.json'],
    ['mcporter', 'config/mcporter.json'],
  ]) {
    const { folder, run } = place()
    write(folder, file, { command: 'node', args: [server] })
    const codes = ['one.get-sum a=one b=2', 'one.no-such', 'nobody.no-such'].map((words) =>
      run(`${program} call ${words}`),
    )
    console.log(
      `${program} call: wrong argument exit ${codes[0]}, unknown tool exit ${codes[1]}, unknown server exit ${codes[2]}`,
    )
  }
  console.log(`claude mcp call: ${place().says('claude mcp call x').trim().split('\n')[0]}`)
}

/** Its own tools alone: a server of MCP needs a connection that is made in its web page. It starts a daemon, which is stopped. */
function executor() {
  const { run } = place()
  try {
    const codes = ["call nobody nothing '{}'", `call executor coreTools connections create '{"a":1}'`].map(
      (words) => run(`executor ${words}`),
    )
    console.log(`executor call: unknown tool exit ${codes[0]}, wrong argument exit ${codes[1]}`)
  } finally {
    run('executor daemon stop')
  }
}

/** The same call again after the server's process was killed. */
async function afterACrash() {
  const from = (path) => import(pathToFileURL(path).href)
  const sdk = join(root, 'node_modules/@modelcontextprotocol/client/dist')
  const ai = join(others, 'node_modules/@ai-sdk/mcp/dist')
  const command = { command: process.execPath, args: [server] }
  const sum = { a: 1, b: 2 }
  const makers = {
    'the SDK client': async () => {
      const [{ Client }, { StdioClientTransport }] = await Promise.all([
        from(join(sdk, 'index.mjs')),
        from(join(sdk, 'stdio.mjs')),
      ])
      const client = new Client({ name: 'compare', version: '1' })
      await client.connect(new StdioClientTransport({ ...command, stderr: 'ignore' }))
      return {
        call: (args = sum) => client.callTool({ name: 'get-sum', arguments: args }),
        close: () => client.close(),
      }
    },
    '@ai-sdk/mcp': async () => {
      const { createMCPClient } = await from(join(ai, 'index.js'))
      const { Experimental_StdioMCPTransport } = await from(join(ai, 'mcp-stdio/index.js'))
      const client = await createMCPClient({
        transport: new Experimental_StdioMCPTransport({ ...command, stderr: 'ignore' }),
      })
      return {
        call: (args = sum) => client.callTool({ name: 'get-sum', arguments: args }),
        close: () => client.close(),
      }
    },
    '@plugboard/core': async () => {
      const { openBoard } = await from(join(root, 'packages/core/dist/index.js'))
      const config = {
        strict: true,
        withoutBuiltins: true,
        mcpConfig: [JSON.stringify({ mcpServers: { one: command } })],
      }
      const board = await openBoard({ caller: 'user', stateDir: join(top, 'state'), config })
      return { call: (args = sum) => board.call('one.get-sum', args), close: () => board.close() }
    },
  }
  for (const [name, make] of Object.entries(makers)) {
    const client = await make()
    await client.call()
    console.log(`${name}, a wrong argument: ${await outcome(client.call({ a: 'one', b: 2 }))}`)
    killChildren()
    await new Promise((done) => setTimeout(done, 500))
    console.log(`${name}, the next call after its server was killed: ${await outcome(client.call())}`)
    // A program that cannot be closed must not keep the others from their turn.
    await within(client.close()).catch(() => undefined)
  }
}

function outcome(call) {
  return within(call).then(
    (result) => (result.isError ? `sent, and answered with an error by the server` : 'answered'),
    (error) => `failed (${error.message.split('\n')[0]})`,
  )
}

function within(work) {
  let timer
  const late = new Promise((_, fail) => {
    timer = setTimeout(() => fail(new Error('no answer within 10 s')), 10_000)
  })
  return Promise.race([work, late]).finally(() => clearTimeout(timer))
}

/** Servers that this process started; `pgrep` names them, and itself. */
function killChildren() {
  const found = execFileSync('pgrep', ['-P', String(process.pid)], { encoding: 'utf8' })
  for (const pid of found.trim().split('\n').map(Number))
    try {
      process.kill(pid, 'SIGKILL')
    } catch {
      // It was pgrep.
    }
}

/** A home and a project in it; what runs there sees nothing of this machine's settings. */
function place() {
  const home = mkdtempSync(join(top, 'home-'))
  const folder = join(home, 'project')
  mkdirSync(folder, { recursive: true })
  const bins = [join(root, 'node_modules/.bin'), join(others, 'node_modules/.bin')]
  mkdirSync(join(home, 'bin'))
  writeFileSync(
    join(home, 'bin/plugboard'),
    `#!/bin/sh\nexec node '${join(root, 'packages/cli/bin/plugboard.cjs')}' "$@"\n`,
    { mode: 0o755 },
  )
  const env = {
    PATH: [join(home, 'bin'), ...bins, process.env.PATH].join(':'),
    HOME: home,
    PLUGBOARD_RESIDENT: '0',
    PLUGBOARD_MANAGED_DIR: join(home, 'none'),
  }
  const spawned = (line) =>
    spawnSync('sh', ['-c', line], { cwd: folder, env, encoding: 'utf8', timeout: RUN_MS })
  return { folder, run: (line) => spawned(line).status, says: (line) => spawned(line).stderr }
}

function write(folder, file, entry) {
  mkdirSync(join(folder, file, '..'), { recursive: true })
  writeFileSync(join(folder, file), JSON.stringify({ mcpServers: { one: entry } }))
}
