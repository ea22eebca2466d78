// What we serve, as real clients see it: the Inspector, mcporter, Claude Code and the SDK's client list and call through
// `plugboard serve` and `plugboard codebase`, over HTTP and over stdio, and through `plugboard connect` on one resident board.
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { afterAll, beforeAll, describe, expect, it, type TestContext } from 'vitest'
import { COMMAND, makePlace, type Place } from './support/cli.ts'
import { type RealClients, realClients } from './support/real-clients.ts'

const FIXTURE = fileURLToPath(new URL('../packages/gateway/src/fixtures/server.mjs', import.meta.url))
const CONFIG = JSON.stringify({ mcpServers: { one: { command: process.execPath, args: [FIXTURE] } } })
const INSTALL_MS = 10 * 60_000
const TEST_MS = 60_000

/** What is served, and a call that shows that it is the real thing. */
const SERVED = [
  {
    verb: 'serve',
    words: ['serve', '--strict-mcp-config', '--mcp-config', CONFIG],
    tool: 'mcp__one__echo',
    args: { text: 'a word' },
    answer: '"a word"',
  },
  {
    verb: 'codebase',
    words: ['codebase'],
    tool: 'search_code',
    args: { query: 'needle' },
    answer: 'hay.ts',
  },
] as const

let installed: RealClients | undefined
beforeAll(() => {
  installed = realClients()
}, INSTALL_MS)

/** The clients; without a registry to get them from the tests are skipped. */
function need({ skip }: TestContext): RealClients {
  if (!installed) return skip('the npm registry cannot be reached')
  return installed
}

describe.each(SERVED)('plugboard $verb', ({ verb, words, tool, args, answer }) => {
  let place: Place
  let child: ChildProcess
  let http: { readonly url: string; readonly token?: string }
  beforeAll(async () => {
    place = makePlace()
    place.write('hay.ts', 'export const needle = 1\n')
    child = spawn(process.execPath, [COMMAND, ...words, '--http', '--port', '0', '--json'], {
      cwd: place.project,
      env: { PATH: process.env['PATH'] ?? '', HOME: place.home },
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    const { url, mcp, token } = await firstDocument(child)
    http = { url: mcp ?? url, ...(token && { token }) }
  })
  afterAll(async () => {
    if (child.exitCode === null && child.kill()) await once(child, 'exit')
    place.remove()
  })

  const pairs = Object.entries(args).map(([key, value]) => `${key}=${value}`)
  const command = () => [process.execPath, COMMAND, ...words, '--cwd', place.project]
  const header = () => (http.token ? ['--header', `Authorization: Bearer ${http.token}`] : [])
  /** How each client is configured. */
  const ways = {
    HTTP: {
      inspector: () => ['--transport', 'http', '--server-url', http.url, ...header()],
      mcporter: () => [
        ...['--http-url', http.url, '--allow-http'],
        ...(http.token ? ['--header', `Authorization=Bearer ${http.token}`] : []),
      ],
      claude: () => ['--transport', 'http', 'ours', http.url, ...header()],
    },
    stdio: {
      inspector: () => ['--', ...command()],
      mcporter: () => {
        const [first = '', ...rest] = command()
        return ['--stdio', first, ...rest.flatMap((word) => ['--stdio-arg', word])]
      },
      claude: () => ['ours', '--', ...command()],
    },
  }

  describe.each(['HTTP', 'stdio'] as const)('over %s', (wire) => {
    const to = ways[wire]

    it.for(['legacy', 'modern'])(
      'lists and calls for the Inspector (%s)',
      { timeout: TEST_MS },
      async (era, context) => {
        const { inspector } = need(context)
        const ask = async (...more: string[]) =>
          JSON.parse(await inspector(place.home, '--protocol-era', era, ...more, ...to.inspector()))
        const { result: list } = await ask('--method', 'tools/list')
        expect(namesOf(list.tools)).toContain(tool)
        const call = await ask('--method', 'tools/call', '--tool-name', tool, '--tool-arg', ...pairs)
        expect(call.result.isError ?? false).toBe(false)
        expect(JSON.stringify(call.result.structuredContent)).toContain(answer)
      },
    )

    it('lists and calls for mcporter', { timeout: TEST_MS }, async (context) => {
      const { mcporter } = need(context)
      const list = JSON.parse(await mcporter(place.home, 'list', '--json', ...to.mcporter()))
      expect(list).toMatchObject({ status: 'ok' })
      expect(namesOf(list.tools)).toContain(tool)
      expect(await mcporter(place.home, 'call', ...to.mcporter(), tool, ...pairs)).toContain(answer)
    })

    it('is connected for Claude Code', { timeout: TEST_MS }, async (context) => {
      const { claude } = need(context)
      // A home of its own: servers added over one transport must not be found over the other.
      const other = makePlace()
      try {
        await claude(other.home, 'mcp', 'add', '--scope', 'user', ...to.claude())
        expect(await claude(other.home, 'mcp', 'list')).toMatch(/^ours: .*Connected/m)
      } finally {
        other.remove()
      }
    })
  })

  // Over stdio: test/cli/serve.test.ts and packages/codebase/src/server.test.ts.
  it.for(['legacy', 'modern'] as const)(
    `lists and calls over HTTP for the SDK (${verb}, %s)`,
    async (era) => {
      const mode = era === 'modern' ? ({ pin: '2026-07-28' } as const) : 'legacy'
      const client = new Client({ name: 'test', version: '1' }, { versionNegotiation: { mode } })
      const headers = http.token ? { Authorization: `Bearer ${http.token}` } : {}
      try {
        await client.connect(
          new StreamableHTTPClientTransport(new URL(http.url), { requestInit: { headers } }),
        )
        expect(client.getProtocolEra()).toBe(era)
        expect(namesOf((await client.listTools()).tools)).toContain(tool)
        const said = await client.callTool({ name: tool, arguments: args })
        expect(JSON.stringify(said.structuredContent)).toContain(answer)
      } finally {
        await client.close()
      }
    },
  )
})

describe('plugboard connect', () => {
  const tool = 'mcp__one__echo'
  let place: Place
  beforeAll(() => {
    place = makePlace()
    place.write('~/.plugboard/settings.json', CONFIG)
  })
  afterAll(() => place.remove())

  it('serves all clients from one board', {
    timeout: 4 * TEST_MS,
  }, async (context) => {
    const { inspector, mcporter, claude } = need(context)
    const { home } = place
    const connect = [process.execPath, COMMAND, 'connect']
    for (const era of ['legacy', 'modern']) {
      const words = ['--protocol-era', era, '--method', 'tools/call', '--tool-name', tool]
      const said = await inspector(home, ...words, '--tool-arg', 'text=a word', '--', ...connect)
      expect(JSON.stringify(JSON.parse(said).result.structuredContent)).toContain('"a word"')
    }
    const stdio = ['--stdio', process.execPath, '--stdio-arg', COMMAND, '--stdio-arg', 'connect']
    const list = JSON.parse(await mcporter(home, 'list', '--json', ...stdio))
    expect(namesOf(list.tools)).toContain(tool)
    expect(await mcporter(home, 'call', ...stdio, tool, 'text=a word')).toContain('"a word"')
    await claude(home, 'mcp', 'add', '--scope', 'user', 'ours', '--', ...connect)
    expect(await claude(home, 'mcp', 'list')).toMatch(/^ours: .*Connected/m)
    const { servers } = (await place.runWith({ PLUGBOARD_RESIDENT: '1' }, 'status', '--json')).json
    // The board also reads the entry that Claude Code was given. It is the board itself, and not connected to.
    expect(servers.find(({ name }: { name: string }) => name === 'ours')).toBeUndefined()
    const ones = servers.filter(({ name }: { name: string }) => name === 'one')
    // The Inspector and mcporter pass on variables of their own, which a server inherits: one process for each at most.
    expect(ones.length).toBeLessThanOrEqual(2)
    for (const server of ones) expect(server).toMatchObject({ state: 'connected' })
    // Both runs of the Inspector used the same.
    expect(Math.max(...ones.map(({ calls }: { calls: number }) => calls))).toBeGreaterThanOrEqual(2)
  })
})

function namesOf(tools: readonly { readonly name: string }[]): string[] {
  return tools.map(({ name }) => name)
}

/** The document that a server prints when it listens. */
async function firstDocument(child: ChildProcess): Promise<{ url: string; mcp?: string; token?: string }> {
  let said = ''
  for await (const chunk of child.stdout ?? []) {
    said += String(chunk)
    if (said.trimEnd().endsWith('}')) return JSON.parse(said)
  }
  throw new Error(`It did not start: ${said}`)
}
