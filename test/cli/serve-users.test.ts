// Named tokens and gateway.json as an operator uses them: the commands in their own processes, and a running gateway that follows.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import { COMMAND, makePlace, type Place } from '../support/cli.ts'
import {
  type GatewayOptions,
  legacySession,
  modern,
  SERVER,
  type ServedGateway,
  serveGateway,
  until,
} from '../support/gateway.ts'

const ends: (() => unknown)[] = []
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end()
})

const servers = {
  one: { command: process.execPath, args: [SERVER] },
  two: { command: process.execPath, args: [SERVER] },
}

async function served(options: GatewayOptions): Promise<ServedGateway> {
  const gateway = await serveGateway({ servers, ...options })
  ends.push(() => gateway.remove())
  return gateway
}

function place(): Place {
  const made = makePlace()
  ends.push(() => made.remove())
  return made
}

async function toolsOf(url: string, token: string): Promise<string[]> {
  const { message, status } = await modern(url, token, 'tools/list')
  if (status !== 200) throw new Error(`tools/list: ${status}`)
  return message.result.tools.map(({ name }: { name: string }) => name)
}

const status = async (url: string, token?: string) => (await modern(url, token, 'tools/list')).status

describe('serve token', () => {
  it('makes, lists and revokes tokens; the file holds digests and is for its owner alone', async () => {
    const { run, read, home } = place()
    const made = await run('serve', 'token', 'add', 'ada', '--expires', '30d', '--json')
    expect(made).toMatchObject({
      code: 0,
      json: { name: 'ada', token: expect.stringMatching(/^pb_[\w-]{43}$/) },
    })
    const plain = await run('serve', 'token', 'add', 'bob')
    expect(plain.stdout.trim()).toMatch(/^pb_[\w-]{43}$/)
    const text = read('~/.plugboard/gateway-tokens.json')
    for (const token of [made.json.token, plain.stdout.trim()]) expect(text).not.toContain(token)
    expect(statSync(join(home, '.plugboard/gateway-tokens.json')).mode & 0o777).toBe(0o600)
    const listed = (await run('serve', 'token', 'list', '--json')).json.tokens
    expect(listed.map(({ name }: { name: string }) => name)).toEqual(['ada', 'bob'])
    expect(Date.parse(listed[0].expires) - Date.now()).toBeGreaterThan(29 * 86_400_000)
    expect((await run('serve', 'token', 'revoke', 'ada')).stdout).toContain('Revoked ada')
    expect((await run('serve', 'token', 'list')).stdout).not.toContain('ada')
  }, 120_000)

  it.for([
    [['add'], 'NAME is missing'],
    [['add', 'a b'], 'is not a name for a token'],
    [['add', 'ada', '--expires', 'soon'], '--expires "soon" is not a time'],
    [['add', 'ada', '--expires', '0d'], 'is not a time'],
    [['add', 'ada', '--role', 'dev'], '--role needs the file'],
    [['ad', 'ada'], 'Did you mean `plugboard serve token add`?'],
    [['revoke', 'ada'], 'There is no token named "ada"'],
    [['list', 'ada'], '"ada" is not expected here'],
    [['list', '--role', 'dev'], '--role belongs to'],
  ] as [string[], string][])('refuses %j', { timeout: 60_000 }, async ([words, wanted]) => {
    const ran = await place().run('serve', 'token', ...words)
    expect(ran.code).toBe(2)
    expect(ran.stderr).toContain(wanted)
  })

  it('keeps both of two tokens that are made at the same time, and refuses the same name twice', async () => {
    const { run } = place()
    const made = await Promise.all(['a', 'b', 'a'].map((name) => run('serve', 'token', 'add', name)))
    expect(made.map(({ code }) => code).sort()).toEqual([0, 0, 2])
    expect((await run('serve', 'token', 'list', '--json')).json.tokens).toHaveLength(2)
  }, 60_000)
})

describe('a running gateway', () => {
  it('takes new tokens and drops revoked ones with their streams, without a restart', async () => {
    const gateway = await served({ gateway: () => ({}) })
    const { url, place: where } = gateway
    expect(gateway.stderr()).toContain('No client can connect yet')
    expect(await status(url)).toBe(401)
    const token = (await where.run('serve', 'token', 'add', 'ada', '--json')).json.token
    await until(async () => (await status(url, token)) === 200)
    const session = await legacySession(url, token)
    const stream = await fetch(url, { headers: { ...session.headers, accept: 'text/event-stream' } })
    expect(stream.status).toBe(200)
    const ended = stream.text().catch(() => 'cut')
    await where.run('serve', 'token', 'revoke', 'ada')
    await ended
    expect((await session.request('tools/list')).status).toBe(401)
    // Made again under the same name, it does not open the session of before.
    const again = (await where.run('serve', 'token', 'add', 'ada', '--json')).json.token
    await until(async () => (await status(url, again)) === 200)
    const stolen = await fetch(url, {
      headers: { ...session.headers, authorization: `Bearer ${again}`, accept: 'text/event-stream' },
    })
    expect(stolen.status).toBe(404)
    expect(await gateway.stop()).toBe(0)
    expect((await where.run('serve', 'token', 'list', '--json')).json.tokens[0].lastUsed).toBeDefined()
  }, 120_000)

  it('shows each role its part, follows changes of the file, and keeps the last good one', async () => {
    const config = (roles: object) => JSON.stringify({ auth: { tokens: 'tokens.json' }, roles })
    const gateway = await served({
      gateway: () => JSON.parse(config({ dev: { expose: ['one'], deny: ['one.write'] } })),
    })
    const { url, place: where } = gateway
    const file = join(where.project, 'gateway.json')
    const added = await where.run(
      'serve',
      'token',
      'add',
      'dev',
      '--role',
      'dev',
      '--gateway',
      file,
      '--json',
    )
    const token: string = added.json.token
    expect(added.json.file).toBe(join(where.project, 'tokens.json'))
    await until(async () => (await status(url, token)) === 200)
    const first = await toolsOf(url, token)
    expect(first).toContain('mcp__one__read')
    expect(first.filter((name) => name.startsWith('mcp__two') || name === 'mcp__one__write')).toEqual([])
    const called = await modern(url, token, 'tools/call', {
      name: 'mcp__one__write',
      arguments: { key: 'x' },
    })
    expect(called.message.error.message).toContain('mcp__one__write')
    writeFileSync(file, config({ dev: { expose: ['two'] } }))
    await until(async () => (await toolsOf(url, token)).some((name) => name.startsWith('mcp__two')))
    expect((await toolsOf(url, token)).some((name) => name.startsWith('mcp__one'))).toBe(false)
    writeFileSync(file, '{ "rolls": {} }')
    await until(() => gateway.stderr().includes('Did you mean "roles"?'))
    expect(gateway.stderr()).toContain('The last good configuration stays in use')
    expect((await toolsOf(url, token)).some((name) => name.startsWith('mcp__two'))).toBe(true)
    writeFileSync(file, config({ other: {} }))
    await until(async () => (await status(url, token)) === 403)
    expect(gateway.stderr()).toContain('is good again')
  }, 120_000)

  it('accepts named tokens beside the token of the run when no file is given', async () => {
    const where = place()
    const child = spawn(process.execPath, [COMMAND, 'serve', '--http', '--json'], {
      cwd: where.project,
      env: { PATH: process.env['PATH'] ?? '', HOME: where.home },
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
    const { url, token } = JSON.parse(said)
    const named = (await where.run('serve', 'token', 'add', 'laptop', '--json')).json.token
    await until(async () => (await status(url, named)) === 200)
    expect(
      await Promise.all([status(url, token), status(url, named), status(url), status(url, 'x')]),
    ).toEqual([200, 200, 401, 401])
  }, 60_000)
})

describe('gateway check', () => {
  it('explains a good file and names every fault of a bad one', async () => {
    const { run, write } = place()
    write('good.json', {
      publicUrl: 'https://mcp.example.com',
      roles: { dev: { groups: ['eng'], expose: ['docs'] } },
    })
    const good = await run('gateway', 'check', 'good.json')
    expect(good.code).toBe(0)
    expect(good.stdout).toMatch(/role dev\s+users in eng; sees docs/)
    write('bad.json', '{\n "rolls": {},\n "auth": { "token": "x" }\n}')
    const bad = await run('gateway', 'check', 'bad.json', '--json')
    expect(bad.code).toBe(2)
    expect(bad.json.faults.map(({ line, path }: { line: number; path: string }) => [line, path])).toEqual([
      [3, 'auth.token'],
      [2, 'rolls'],
    ])
    expect((await run('gateway', 'check', 'none.json')).stderr).toContain('cannot be read (ENOENT)')
    expect((await run('gateway', 'chek', 'good.json')).code).toBe(2)
    const refused = await run('serve', '--http', '--gateway', 'bad.json')
    expect([refused.code, refused.stderr.includes('Did you mean "roles"?')]).toEqual([2, true])
    expect((await run('serve', '--http', '--gateway', 'good.json', '--no-auth')).stderr).toContain(
      'cannot be used together',
    )
    expect((await run('serve', '--gateway', 'good.json')).stderr).toContain('--gateway is for HTTP')
  }, 120_000)
})
