// `plugboard serve` as a client starts it: over stdio in both eras, and over HTTP with its token, to the end.
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { afterEach, describe, expect, it } from 'vitest'
import { COMMAND, makePlace, type Place } from '../support/cli.ts'
import { SERVER } from '../support/gateway.ts'

const FIXTURE = fileURLToPath(new URL('../../packages/gateway/src/fixtures/server.mjs', import.meta.url))
const config = (...names: string[]) =>
  JSON.stringify({
    mcpServers: Object.fromEntries(
      names.map((name) => [name, { command: process.execPath, args: [FIXTURE] }]),
    ),
  })

let place: Place | undefined
const ends: (() => unknown)[] = []
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end()
  place?.remove()
})

function surroundings(): { cwd: string; env: Record<string, string> } {
  place = makePlace()
  return { cwd: place.project, env: { PATH: process.env['PATH'] ?? '', HOME: place.home } }
}

function words(...more: string[]): string[] {
  return [COMMAND, 'serve', '--strict-mcp-config', '--mcp-config', config('one'), ...more]
}

async function startHttp(...more: string[]): Promise<{ child: ChildProcess; url: string; token: string }> {
  const child = spawn(process.execPath, words('--http', '--json', ...more), {
    ...surroundings(),
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  ends.push(async () => {
    if (child.exitCode === null && child.kill('SIGKILL')) await once(child, 'exit')
  })
  let said = ''
  for await (const chunk of child.stdout) {
    said += String(chunk)
    if (said.trimEnd().endsWith('}')) break
  }
  return { child, ...JSON.parse(said) }
}

async function toolsOf(client: Client): Promise<string[]> {
  return (await client.listTools()).tools.map(({ name }) => name)
}

describe('plugboard serve', () => {
  it.each(['legacy', 'auto'] as const)(
    'answers over stdio (%s)',
    async (mode) => {
      const client = new Client({ name: 'test', version: '1' }, { versionNegotiation: { mode } })
      ends.push(() => client.close())
      await client.connect(
        new StdioClientTransport({
          command: process.execPath,
          args: words(),
          ...surroundings(),
          stderr: 'ignore',
        }),
      )
      expect(client.getProtocolEra()).toBe(mode === 'auto' ? 'modern' : 'legacy')
      // A list waits only a little for servers that are still coming up.
      await expect.poll(() => toolsOf(client), { timeout: 30_000 }).toContain('mcp__one__echo')
      const said = await client.callTool({ name: 'mcp__one__echo', arguments: { text: 'hi' } })
      expect(said.content).toEqual([{ type: 'text', text: 'hi' }])
    },
    60_000,
  )

  it('answers over HTTP with the token it prints, and lets a running call finish on SIGTERM', async () => {
    const { child, url, token } = await startHttp()
    const client = new Client({ name: 'test', version: '1' })
    const headers = { Authorization: `Bearer ${token}` }
    await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } }))
    let begun = () => {}
    const working = new Promise<void>((done) => {
      begun = done
    })
    const call = client.callTool(
      { name: 'mcp__one__work', arguments: { ms: 1500 } },
      { onprogress: () => begun() },
    )
    await working
    const exited = once(child, 'exit')
    child.kill('SIGTERM')
    expect((await call).content).toEqual([{ type: 'text', text: 'done' }])
    expect((await exited)[0]).toBe(0)
    await client.close()
  }, 60_000)

  it('refuses names that collide, however long the servers take, and clients without a token', async () => {
    surroundings()
    const slow = (ms: number) => ({ command: process.execPath, args: [SERVER], env: { DELAY: String(ms) } })
    const servers = JSON.stringify({ mcpServers: { one: slow(0), two: slow(5000) } })
    const plain = ['--names=plain', '--strict-mcp-config', '--mcp-config', servers]
    const collided = await place?.run('serve', '--http', ...plain)
    expect(collided).toMatchObject({ code: 2 })
    expect(collided?.stderr).toContain('collide')
    const open = await place?.run('serve', '--http', '--no-auth', '--host', '0.0.0.0')
    expect(open).toMatchObject({ code: 2 })
  }, 120_000)

  it('says what is wrong with an address that cannot be used', async () => {
    surroundings()
    // Without a name server the look-up fails for now; with one the name is unknown.
    for (const [host, why] of [
      [
        'no-such-host.invalid',
        /--host "no-such-host\.invalid" (is not a known host name|could not be looked up now)/,
      ],
      ['192.0.2.1', /--host "192\.0\.2\.1" is not an address of this machine/],
    ] as const) {
      const ran = await place?.run('serve', '--http', '--strict-mcp-config', '--host', host)
      expect(ran).toMatchObject({ code: 2, stderr: expect.stringMatching(why) })
    }
  }, 60_000)
})

describe('a file of tokens', () => {
  const ADA = 'secret-of-ada-4711'

  it('may say on each line what it is for', async () => {
    const file = join(mkdtempSync(join(tmpdir(), 'plugboard-tokens-')), 'tokens')
    ends.push(() => rmSync(dirname(file), { recursive: true }))
    writeFileSync(file, `# who may come in\n${ADA} one.echo # only this, for now\n`)
    const { url } = await startHttp('--token-file', file)
    const client = new Client({ name: 'test', version: '1' })
    ends.push(() => client.close())
    const headers = { Authorization: `Bearer ${ADA}` }
    await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } }))
    await expect.poll(() => toolsOf(client), { timeout: 30_000 }).toEqual(['mcp__one__echo'])
  }, 60_000)

  it('is refused when it grants one token two things', async () => {
    surroundings()
    place?.write('tokens', `${ADA} one\n${ADA}\n`)
    const ran = await place?.run('serve', '--http', '--token-file', 'tokens')
    expect(ran).toMatchObject({ code: 2, stderr: expect.stringContaining('the same token twice') })
  }, 60_000)
})

describe('a board that finds its own endpoint in a file', () => {
  it('does not serve itself in a loop', async () => {
    const here = makePlace()
    place = here
    const self = { command: process.execPath, args: [COMMAND, 'serve'] }
    const hidden = { command: 'sh', args: ['-c', `'${process.execPath}' '${COMMAND}' serve`] }
    here.write('~/.claude.json', { mcpServers: { self, hidden } })
    const { servers } = (await here.run('list', '--json')).json
    const row = (name: string) => servers.find((one: { name: string }) => one.name === name)
    expect(row('self')).toMatchObject({ state: 'disabled' })
    expect(row('hidden')).toMatchObject({
      state: 'failed',
      error: expect.stringContaining('serve itself in an endless loop'),
    })
  })
})
