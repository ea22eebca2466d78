// Rules against servers, tools and files that try to get around them, with the real command and a real client.
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Client } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { COMMAND, makePlace, type Place } from '../support/cli.ts'

const HOSTILE = fileURLToPath(new URL('./fixtures/hostile.mjs', import.meta.url))
const PLAIN = fileURLToPath(new URL('../support/pid-server.mjs', import.meta.url))
const SECRET = 'hunter2-hunter2'
const DENIED = 6

let place: Place
const ends: (() => unknown)[] = []
beforeEach(() => {
  place = makePlace()
})
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end()
  place.remove()
})

const log = () => join(place.home, 'reached.log')
/** The methods that reached a server, without those that every connection makes. */
const reached = () =>
  (existsSync(log()) ? readFileSync(log(), 'utf8') : '')
    .split('\n')
    .filter(
      (line) =>
        line !== '' &&
        !/^(initialize|ping|server\/discover|tools\/list|[a-z]+\/list|resources\/templates\/list)$/.test(
          line,
        ),
    )
const hostile = (more: object = {}) => ({ command: process.execPath, args: [HOSTILE, log()], ...more })
const settings = (content: object) => place.write('~/.plugboard/settings.json', content)

async function served(era: 'legacy' | 'auto', ...more: string[]): Promise<Client> {
  const client = new Client({ name: 'test', version: '1' }, { versionNegotiation: { mode: era } })
  ends.push(() => client.close())
  await client.connect(
    new StdioClientTransport({
      command: process.execPath,
      args: [COMMAND, 'serve', ...more],
      cwd: place.project,
      env: {
        PATH: process.env['PATH'] ?? '',
        HOME: place.home,
        PLUGBOARD_MANAGED_DIR: join(place.home, 'managed'),
      },
      stderr: 'ignore',
    }),
  )
  return client
}

const toolsOf = async (client: Client) => (await client.listTools()).tools.map(({ name }) => name)
/** The outcome of a call, however it was refused. */
async function outcome(call: Promise<unknown>): Promise<string> {
  return await call.then(
    (result) => JSON.stringify(result),
    (error: unknown) => `error: ${error instanceof Error ? error.message : String(error)}`,
  )
}

describe('a server that is denied as a whole', () => {
  const ways: readonly (readonly [string, object])[] = [
    ['mcp__vault', { mcpServers: {}, permissions: { deny: ['mcp__vault'] } }],
    ['vault.*', { mcpServers: {}, permissions: { deny: ['vault.*'] } }],
    ['readPermission', { permissions: {}, entry: { readPermission: 'deny' } }],
    ['a deny that cannot be read', { permissions: { deny: ['vault/read'] } }],
  ]
  const write = (way: object) => {
    const { permissions, entry } = way as { permissions?: object; entry?: object }
    settings({
      mcpServers: { vault: hostile(entry && { permissions: entry }), other: hostile() },
      permissions,
    })
  }

  it.each(ways)('shows and gives nothing to the command (%s)', { timeout: 120_000 }, async (_, way) => {
    write(way)
    for (const words of [
      ['resources', 'vault'],
      ['read', 'vault', 'vault://one'],
      ['prompts', 'vault'],
      ['prompt', 'vault', 'greet'],
      ['watch', 'vault', 'vault://one'],
    ]) {
      const { code, stdout, stderr } = await place.run(...words)
      expect([words, code, stdout]).toEqual([words, DENIED, ''])
      expect(stderr).toContain('denied')
    }
    const all = await place.run('resources', '--json')
    const servers = all.json.resources.map(({ server }: { server: string }) => server)
    expect(servers).toContain('other')
    expect(servers).not.toContain('vault')
    expect(reached()).toEqual([])
  })

  it.each(['legacy', 'auto'] as const)(
    'is hidden from clients and gives them nothing (%s)',
    { timeout: 120_000 },
    async (era) => {
      settings({ mcpServers: { vault: hostile(), other: hostile() }, permissions: { deny: ['mcp__vault'] } })
      const client = await served(era)
      await expect.poll(() => toolsOf(client), { timeout: 30_000 }).toContain('mcp__other__get_issue')
      await expect
        .poll(async () => JSON.stringify(await client.listResources()), { timeout: 30_000 })
        .toContain('other')
      const lists = await Promise.all([
        toolsOf(client),
        client.listResources(),
        client.listResourceTemplates(),
        client.listPrompts(),
      ])
      expect(JSON.stringify(lists)).not.toContain('vault__')
      expect((await client.listPrompts()).prompts.map(({ name }) => name)).toContain('mcp__other__greet')
      const { resources } = await client.listResources()
      const address = resources.map(({ uri }) => uri).find((uri) => uri.includes('other')) ?? ''
      const hidden = address.replace('other', 'vault')
      expect(hidden).not.toBe(address)
      expect(await outcome(client.readResource({ uri: address }))).toContain('READ')
      const tries = [
        client.readResource({ uri: hidden }),
        client.getPrompt({ name: 'mcp__vault__greet' }),
        client.callTool({ name: 'mcp__vault__get_issue', arguments: {} }),
        client.complete({
          ref: { type: 'ref/prompt', name: 'mcp__vault__greet' },
          argument: { name: 'who', value: '' },
        }),
        ...(era === 'legacy' ? [client.subscribeResource({ uri: hidden })] : []),
      ]
      for (const result of await Promise.all(tries.map(outcome))) {
        expect(result).not.toContain(SECRET)
        expect(result).toMatch(/error|not found|denied/i)
      }
      expect(reached()).toEqual(['resources/read'])
      expect(client.getInstructions() ?? '').not.toContain(`# vault`)
    },
  )
})

describe('a name made to match a rule', () => {
  it('is not allowed by a rule for a tool of another server', { timeout: 120_000 }, async () => {
    settings({
      mcpServers: { github: hostile(), github__get_issue: hostile() },
      permissions: { allow: ['mcp__github__get_issue'] },
    })
    const client = await served('legacy', '--ask=deny')
    await expect.poll(() => toolsOf(client), { timeout: 30_000 }).toContain('mcp__github__get_issue__wipe')
    const call = (name: string) => outcome(client.callTool({ name, arguments: {} }))
    expect(await call('mcp__github__get_issue')).toContain('RAN get_issue')
    expect(await call('mcp__github__get_issue__wipe')).not.toContain('RAN')
    expect(await call('mcp__github__wipe')).not.toContain('RAN')
    expect(reached()).toEqual(['tools/call get_issue'])
  })

  it('cannot be given to a new server', async () => {
    for (const words of [
      ['add', 'github__get_issue', '--', 'node', 'x.js'],
      ['add-json', 'a__b', '{"command": "node"}'],
    ]) {
      const { code, stderr } = await place.run(...words)
      expect([words, code]).toEqual([words, 2])
      expect(stderr).toContain('"__"')
    }
  })

  it('is denied in every spelling, suffix or not', { timeout: 240_000 }, async () => {
    const long = `remove_${'every_'.repeat(12)}thing`
    for (const [rule, tool] of [
      ['mcp__files__de_lete', 'de.lete'],
      ['files.de.lete', 'de.lete'],
      ['files.de_*', 'de.lete'],
      [`mcp__files__${long}`, long],
      ['files.*thing', long],
    ] as const) {
      settings({ mcpServers: { files: hostile() }, permissions: { deny: [rule] } })
      const { code, stdout } = await place.run('call', `files.${tool}`)
      expect([rule, code, stdout]).toEqual([rule, DENIED, ''])
    }
    expect(reached()).toEqual([])
  })

  it('does not get past a hook that guards it', { timeout: 240_000 }, async () => {
    const long = `remove_${'every_'.repeat(12)}thing`
    for (const [matcher, tool] of [
      ['mcp__files__de_lete', 'de.lete'],
      ['mcp__.*thing', long],
      ['files.*', 'de.lete'],
      ['(', 'de.lete'],
    ] as const) {
      const guard = { type: 'command', command: 'echo guarded >&2; exit 2' }
      settings({ mcpServers: { files: hostile() }, hooks: { PreToolUse: [{ matcher, hooks: [guard] }] } })
      const { code, stderr } = await place.run('call', `files.${tool}`)
      expect([matcher, code]).toEqual([matcher, DENIED])
      expect(stderr).toContain('guarded')
    }
    expect(reached()).toEqual([])
  })
})

describe('a repository', () => {
  const repository = (permissions?: object) =>
    place.write('.mcp.json', { mcpServers: { github: hostile(permissions && { permissions }) } })

  it('cannot grant its server anything by what it writes into the entry', { timeout: 120_000 }, async () => {
    repository({ readPermission: 'allow', writePermission: 'allow' })
    const client = await served('legacy', '--ask=deny', '--approve-project')
    await expect.poll(() => toolsOf(client), { timeout: 30_000 }).toContain('mcp__github__wipe')
    for (const name of ['mcp__github__wipe', 'mcp__github__de_lete'])
      expect(await outcome(client.callTool({ name, arguments: {} }))).not.toContain('RAN')
    expect(reached()).toEqual([])
    const explained = await place.run('explain', 'github')
    expect(explained.stdout).toContain(
      'readPermission: "allow" has no effect, because you did not write this entry',
    )
  })

  it('does not get what the user allowed for a server of the same name', { timeout: 120_000 }, async () => {
    repository()
    settings({ mcpServers: { github: hostile() }, permissions: { allow: ['mcp__github__*'] } })
    const client = await served('legacy', '--ask=deny', '--approve-project')
    await expect.poll(() => toolsOf(client), { timeout: 30_000 }).toContain('mcp__github__wipe')
    expect(await outcome(client.callTool({ name: 'mcp__github__wipe', arguments: {} }))).not.toContain('RAN')
    expect((await place.run('explain', 'github')).stdout).toContain('has no effect on this server')
    place.write('.mcp.json', { mcpServers: {} })
    const own = await served('legacy', '--ask=deny')
    await expect.poll(() => toolsOf(own), { timeout: 30_000 }).toContain('mcp__github__wipe')
    expect(await outcome(own.callTool({ name: 'mcp__github__wipe', arguments: {} }))).toContain('RAN wipe')
  })
})

describe('readPermission "allow" of the user’s own entry', () => {
  it('lets tools that only read run, and explain says so', { timeout: 120_000 }, async () => {
    settings({ mcpServers: { own: hostile({ permissions: { readPermission: 'allow' } }) } })
    const client = await served('legacy', '--ask=deny')
    await expect.poll(() => toolsOf(client), { timeout: 30_000 }).toContain('mcp__own__get_issue')
    expect(await outcome(client.callTool({ name: 'mcp__own__get_issue', arguments: {} }))).toContain('RAN')
    expect(await outcome(client.callTool({ name: 'mcp__own__de_lete', arguments: {} }))).not.toContain('RAN')
    expect((await place.run('explain', 'own')).stdout).toContain(
      'tools that say they only read run without asking',
    )
  })
})

describe('a rule that is misspelled', () => {
  it('is reported by every command, with its place and what was meant', { timeout: 240_000 }, async () => {
    settings({
      mcpServers: { files: hostile(), other: hostile() },
      permissions: { deny: ['files/de_lete', 'other.wipe'] },
    })
    const verbs = [
      ['list'],
      ['list', '--json'],
      ['tools'],
      ['tools', 'other'],
      ['call', 'other.get_issue'],
      ['call', 'other.get_issue', '--json', '-q'],
      ['get', 'other'],
      ['explain', 'other'],
      ['doctor', 'other'],
      ['resources', 'other'],
      ['chat', '-p', 'hi', '--base-url', 'http://127.0.0.1:9/v1', '--model', 'none'],
      ['serve'],
    ]
    const ran = await Promise.all(verbs.map((words) => place.run(...words)))
    for (const [at, { stderr, code }] of ran.entries()) {
      const words = verbs[at]
      expect([words, code < 9]).toEqual([words, true])
      expect([words, stderr]).toEqual([words, expect.stringContaining('permissions.deny[0]')])
      expect(stderr).toMatch(
        /settings\.json:\d+:\d+: permissions\.deny\[0\]: the deny rule "files\/de_lete" is not a rule/,
      )
      expect(stderr).toContain('Did you mean "files.de_lete"?')
    }
    // Until it is repaired, it denies more than was meant, never less.
    expect((await place.run('call', 'files.get_issue')).code).toBe(DENIED)
    expect((await place.run('call', 'other.wipe')).code).toBe(DENIED)
    expect((await place.run('call', 'other.get_issue')).stdout).toContain('RAN get_issue')
  })

  it('about an unknown server or tool is a warning of list and doctor', { timeout: 120_000 }, async () => {
    const stray = ['files.de_lte', 'mcp__files__get_isue', 'files.drop_*']
    const fine = ['files.wipe', 'mcp__files__de_lete', 'files.get_*', '*.nothing', 'away.nothing']
    settings({
      mcpServers: {
        files: hostile(),
        plain: { command: process.execPath, args: [PLAIN] },
        away: { command: 'y', disabled: true },
      },
      permissions: { deny: ['fils.de_lete', ...stray, 'plain.whoamy'], ask: fine },
    })
    const list = await place.run('list')
    const doctor = await place.run('doctor', 'files')
    for (const { stderr } of [list, doctor]) {
      expect(stderr).toContain('Did you mean the server "files"?')
      for (const rule of stray)
        expect(stderr).toContain(`permissions.deny: the rule "${rule}" matches no tool of "files"`)
      expect(stderr).toContain('Did you mean the tool "de_lete"?')
      expect(stderr).toContain('Did you mean the tool "get_issue"?')
      expect(stderr).toContain('`plugboard tools files` lists the tools that there are.')
      for (const rule of fine) expect(stderr).not.toContain(`"${rule}"`)
    }
    // Without a start, by what it listed last.
    const explained = (await place.run('explain', 'plain')).stdout
    expect(explained).toMatch(/deny +plain\.whoamy .*; matches no tool\. Did you mean the tool "whoami"\?/)
    expect(explained.match(/matches no tool/g)).toHaveLength(1)
    const { stdout, stderr } = await place.run('call', 'files.de_lete')
    expect(stdout).toContain('RAN de_lete')
    expect(stderr).not.toMatch(/fils|de_lte/)
  })

  it('of another product is left alone in its own file', { timeout: 120_000 }, async () => {
    place.write('~/.claude/settings.json', {
      permissions: { deny: ['Bash(rm *)', 'Read', 'WebFetch(domain:x.com)', 'mcp__files__wipe'] },
    })
    settings({ mcpServers: { files: hostile() } })
    const { stderr, code } = await place.run('list')
    expect([code, stderr]).toEqual([0, ''])
    expect((await place.run('call', 'files.wipe')).code).toBe(DENIED)
  })

  it('on the command line ends the command', { timeout: 120_000 }, async () => {
    place.write('tokens', `${'t'.repeat(20)} files/x\n`)
    for (const words of [
      ['chat', '-p', 'hi', '--allow', 'Bash(ls)'],
      ['chat', '-p', 'hi', '--allow', '*'],
      ['serve', '--expose', 'files/x'],
      ['serve', '--http', '--token-file', 'tokens'],
    ]) {
      const { code, stderr } = await place.runWith({ ANTHROPIC_API_KEY: 'none' }, ...words)
      expect([words, code]).toEqual([words, 2])
      expect(stderr).toMatch(/is not a rule|has a "\*"/)
    }
  })
})

describe('a hook that removes a secret from a result', () => {
  const redact = (event: string) => ({
    [event]: [
      {
        matcher: 'mcp__vault__.*',
        hooks: [{ type: 'command', command: `echo '{"updatedToolOutput": "redacted"}'` }],
      },
    ],
  })
  beforeEach(() => {
    settings({
      mcpServers: { vault: hostile() },
      hooks: { ...redact('PostToolUse'), ...redact('PostToolUseFailure') },
    })
  })

  it('removes it from everything that the command prints and stores', { timeout: 120_000 }, async () => {
    for (const words of [
      ['call', 'vault.leak'],
      ['call', 'vault.leak', '--json'],
      ['call', 'vault.fail', '--json'],
    ]) {
      const { stdout, stderr } = await place.run(...words)
      expect([words, stdout]).toEqual([words, expect.stringContaining('redacted')])
      expect(stdout + stderr).not.toContain(SECRET)
      expect(stdout).not.toContain(Buffer.from(SECRET).toString('base64').slice(0, 12))
    }
    const kept = readdirSync(place.home, { recursive: true, withFileTypes: true })
      .filter((file) => file.isFile())
      // The catalog keeps what the server lists, and this one lists its secret too. Results are in no list.
      .filter(({ parentPath }) => !parentPath.endsWith('catalog'))
      .filter((file) => readFileSync(join(file.parentPath, file.name), 'utf8').includes(SECRET))
      .map(({ name }) => name)
    expect(kept).toEqual([])
  })

  it.each(['legacy', 'auto'] as const)(
    'removes it from what clients get (%s)',
    { timeout: 120_000 },
    async (era) => {
      const client = await served(era)
      await expect.poll(() => toolsOf(client), { timeout: 30_000 }).toContain('mcp__vault__leak')
      for (const name of ['mcp__vault__leak', 'mcp__vault__fail']) {
        const result = await client.callTool({ name, arguments: {} })
        expect(JSON.stringify(result)).not.toContain(SECRET)
        expect(result.content).toEqual([{ type: 'text', text: 'redacted' }])
        expect(result.structuredContent).toBeUndefined()
        expect(result.isError ?? false).toBe(name.endsWith('fail'))
      }
    },
  )
})
