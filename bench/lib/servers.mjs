// Real MCP servers from npm, started as children and called in plain JSON-RPC: used by the tests and the benchmark of
// core/tools. Nothing here needs the network: the servers answer `tools/list` without their services.
import { spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('../..', import.meta.url))

/** name → package, command in it, arguments, environment. `$TMP` is a folder of its own. */
export const SERVERS = {
  everything: { package: '@modelcontextprotocol/server-everything' },
  filesystem: { package: '@modelcontextprotocol/server-filesystem', args: ['$TMP'] },
  memory: { package: '@modelcontextprotocol/server-memory', env: { MEMORY_FILE_PATH: '$TMP/memory.json' } },
  thinking: { package: '@modelcontextprotocol/server-sequential-thinking' },
  github: { package: '@modelcontextprotocol/server-github', env: { GITHUB_PERSONAL_ACCESS_TOKEN: 'none' } },
  gitlab: { package: '@modelcontextprotocol/server-gitlab', env: { GITLAB_PERSONAL_ACCESS_TOKEN: 'none' } },
  slack: {
    package: '@modelcontextprotocol/server-slack',
    env: { SLACK_BOT_TOKEN: 'none', SLACK_TEAM_ID: 'none' },
  },
  git: { package: '@cyanheads/git-mcp-server', env: { MCP_TRANSPORT_TYPE: 'stdio', LOGS_DIR: '$TMP/logs' } },
  notion: { package: '@notionhq/notion-mcp-server', env: { NOTION_TOKEN: 'none' } },
  playwright: { package: '@playwright/mcp', args: ['--headless', '--isolated'] },
  circleci: { package: '@circleci/mcp-server-circleci', env: { CIRCLECI_TOKEN: 'none' } },
}

function binOf(name) {
  const folder = join(root, 'node_modules', name)
  const { bin } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
  return join(folder, typeof bin === 'string' ? bin : Object.values(bin)[0])
}

/** How to start one of them, for callers that do it themselves; `folder` is where it may write. */
export function serverCommand(entry, folder) {
  const fill = (text) => text.replaceAll('$TMP', folder)
  return {
    args: [entry.program ?? binOf(entry.package), ...(entry.args ?? []).map(fill)],
    env: Object.fromEntries(Object.entries(entry.env ?? {}).map(([key, value]) => [key, fill(value)])),
  }
}

/** Starts one server and does the handshake. */
export async function startServer(name, options) {
  return await startCommand(name, SERVERS[name], options)
}

/** The same for a server of another table; `program` is the path of its script where it is not a package of ours. */
export async function startCommand(name, entry, { timeoutMs = 30_000, capabilities = {}, onRequest } = {}) {
  const folder = mkdtempSync(join(tmpdir(), 'mcp-server-'))
  const { args, env } = serverCommand(entry, folder)
  const child = spawn(process.execPath, args, {
    cwd: folder,
    detached: process.platform !== 'win32',
    stdio: ['pipe', 'pipe', 'ignore'],
    env: { PATH: process.env.PATH, HOME: folder, PLUGBOARD_RESIDENT: '0', ...env },
  })
  const waiting = new Map()
  const seen = []
  let nextId = 1
  let rest = ''
  const send = (message) => child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`)
  const failAll = (error) => {
    for (const { reject } of waiting.values()) reject(error)
    waiting.clear()
  }
  child.on('error', failAll)
  child.on('exit', () => failAll(new Error(`${name} ended`)))
  child.stdin.on('error', () => undefined)
  child.stdout.setEncoding('utf8').on('data', (chunk) => {
    const lines = (rest + chunk).split('\n')
    rest = lines.pop() ?? ''
    for (const line of lines) receive(line)
  })
  async function receive(line) {
    let message
    try {
      message = JSON.parse(line)
    } catch {
      return // Some servers print a banner first.
    }
    if (message.method !== undefined && message.id !== undefined) {
      const result = await onRequest?.(message.method, message.params)
      send(result ? { id: message.id, result } : { id: message.id, error: { code: -32601, message: 'no' } })
    } else if (message.method === 'notifications/progress') {
      waiting.get(message.params.progressToken)?.onProgress?.(message.params)
    } else if (message.method !== undefined) seen.push(message)
    else {
      const call = waiting.get(message.id)
      waiting.delete(message.id)
      if (message.error) call?.reject(Object.assign(new Error(message.error.message), message.error))
      else call?.resolve(message.result)
    }
  }
  function request(method, params = {}, { signal, onProgress } = {}) {
    const id = nextId++
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => reject(new Error(`${name} did not answer ${method}`)), timeoutMs)
      const end = (settle) => (value) => {
        clearTimeout(timer)
        signal?.removeEventListener('abort', onAbort)
        settle(value)
      }
      const onAbort = () => {
        send({ method: 'notifications/cancelled', params: { requestId: id } })
        waiting.delete(id)
        end(reject)(signal.reason)
      }
      waiting.set(id, { resolve: end(resolve), reject: end(reject), onProgress })
      signal?.addEventListener('abort', onAbort, { once: true })
      const meta = onProgress ? { _meta: { ...params._meta, progressToken: id } } : {}
      send({ id, method, params: { ...params, ...meta } })
    })
  }
  function close() {
    try {
      if (process.platform === 'win32') child.kill()
      else process.kill(-child.pid, 'SIGKILL')
    } catch {
      // It has ended by itself.
    }
    rmSync(folder, { recursive: true, force: true, maxRetries: 3 })
  }
  try {
    const info = await request('initialize', {
      protocolVersion: '2025-11-25',
      capabilities,
      clientInfo: { name: 'plugboard-test', version: '0' },
    })
    send({ method: 'notifications/initialized' })
    return { info, request, close, notifications: seen, folder: dirname(join(folder, 'x')) }
  } catch (error) {
    close()
    throw error
  }
}

/** The tools of every server, as they list them. Two at a time: the machine may be small. */
export async function listAllTools(names = Object.keys(SERVERS)) {
  const lists = new Map()
  const queue = [...names]
  const work = async () => {
    for (let name = queue.shift(); name; name = queue.shift()) {
      const server = await startServer(name)
      try {
        const { tools } = await server.request('tools/list')
        lists.set(name, tools)
      } finally {
        server.close()
      }
    }
  }
  await Promise.all([work(), work()])
  return new Map(names.map((name) => [name, lists.get(name) ?? []]))
}
