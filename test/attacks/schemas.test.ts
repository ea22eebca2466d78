// A server that lists tools made to break a client: only these tools are lost. As users see it: the
// command, and a board that is served over HTTP.
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { COMMAND, makePlace, type Place } from '../support/cli.ts'
import { odd } from '../support/servers.ts'

const HOSTILE = fileURLToPath(new URL('./hostile-tools.mjs', import.meta.url))
const KEPT = ['bare', 'cycle', 'deep_meta', 'deep_output', 'good', 'proto', 'wordy']
const LEFT_OUT = ['deep', 'deep_data', 'deep_default', 'megabyte', 'wide']
const LONG = 60_000

let place: Place
const children: ChildProcess[] = []
beforeEach(() => {
  place = makePlace()
  place.write('~/.plugboard/settings.json', {
    mcpServers: { hostile: { command: process.execPath, args: [HOSTILE] }, other: odd() },
  })
})
afterEach(async () => {
  for (const child of children.splice(0))
    if (child.exitCode === null && child.kill('SIGKILL')) await once(child, 'exit')
  place.remove()
})

const namesOf = (tools: readonly { name: string }[], start: string) =>
  tools.flatMap(({ name }) => (name.startsWith(start) ? [name.slice(start.length)] : [])).sort()

describe('tool definitions meant to break a client', () => {
  it('are left out of `tools --json`, and a warning names the server and each tool', {
    timeout: LONG,
  }, async () => {
    const ran = await place.run('tools', '--json')
    expect(ran.code).toBe(0)
    expect(namesOf(ran.json.tools, 'mcp__hostile__')).toEqual(KEPT)
    expect(namesOf(ran.json.tools, 'mcp__other__')).toContain('answer')
    for (const name of LEFT_OUT) expect(ran.stderr).toMatch(new RegExp(`hostile: .*"${name}" .* left out`))
    expect(ran.stderr).not.toContain('internal error')
    const of = (tool: string) => ran.json.tools.find((one: { tool: string }) => one.tool === tool)
    expect(of('bare')).toMatchObject({ description: 'Bare.', inputSchema: { type: 'object' } })
    expect(of('wordy').description.length).toBeLessThanOrEqual(2048)
    expect(of('deep_output')).not.toHaveProperty('outputSchema')
    expect(Object.keys(of('proto').inputSchema.properties)).toEqual(['__proto__', 'constructor'])
  })

  it('do not affect calls and the tools lock', { timeout: LONG }, async () => {
    const called = await place.run('call', 'hostile.good', 'text=hi')
    expect(called).toMatchObject({ code: 0, stdout: 'said hi\n' })
    const changes = await place.run('tools', 'hostile', '--changes', '--json')
    expect(changes).toMatchObject({ code: 0, json: { servers: [] } })
    const cycle = await place.run('call', 'hostile.cycle', '--args', '{"a": 1, "b": {}}')
    expect(cycle.code).toBe(0)
    const gone = await place.run('call', 'hostile.deep')
    expect(gone.code).toBe(3)
  })

  it('are reported by doctor', { timeout: LONG }, async () => {
    const ran = await place.run('doctor', 'hostile', '--json')
    const [{ findings }] = ran.json.servers
    const said: string[] = findings.map(({ message }: { message: string }) => message)
    for (const name of LEFT_OUT) expect(said).toContainEqual(expect.stringMatching(`"${name}" .* left out`))
    expect(findings).toContainEqual(expect.objectContaining({ tool: 'bare', kind: 'schema-missing' }))
  })

  it('do not affect a served board for any client', { timeout: LONG }, async () => {
    const child = spawn(process.execPath, [COMMAND, 'serve', '--http', '--json', '--port', '0'], {
      cwd: place.project,
      env: { PATH: process.env['PATH'] ?? '', HOME: place.home },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    children.push(child)
    let said = ''
    let noted = ''
    child.stderr?.on('data', (chunk) => {
      noted += chunk
    })
    for await (const chunk of child.stdout ?? []) {
      said += String(chunk)
      if (said.trimEnd().endsWith('}')) break
    }
    const { url, token } = JSON.parse(said)
    for (let at = 0; at < 2; at++) {
      const client = new Client({ name: 'test', version: '1' })
      await client.connect(
        new StreamableHTTPClientTransport(new URL(url), {
          requestInit: { headers: { authorization: `Bearer ${token}` } },
        }),
      )
      await expect
        .poll(async () => namesOf((await client.listTools()).tools, 'mcp__hostile__'), { timeout: 20_000 })
        .toEqual(KEPT)
      const { content } = await client.callTool({ name: 'mcp__hostile__good', arguments: { text: 'x' } })
      expect(content).toEqual([{ type: 'text', text: 'said x' }])
      await client.close()
    }
    expect(noted).not.toContain('internal error')
  })
})
