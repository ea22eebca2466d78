// The verbs that manage the configuration, through the built command.
import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { COMMAND, makePlace, type Place, type Ran } from '../support/cli.ts'

let place: Place
beforeEach(() => {
  place = makePlace()
})
afterEach(() => place.remove())

/** Servers that are never started: disabled in their entries. */
const off = (command: string) => ({ command, args: [], disabled: true })
const named = (ran: Ran, name: string) =>
  ran.json.servers.find((server: { name: string }) => server.name === name)

describe('precedence', () => {
  it('lets local win over project over user, and explain names all three files', async () => {
    const user = place.write('~/.plugboard/settings.json', { mcpServers: { same: off('user') } })
    const project = place.write('.mcp.json', { mcpServers: { same: off('project') } })
    const local = place.write('.plugboard/settings.local.json', { mcpServers: { same: off('local') } })
    expect(named(await place.run('list', '--json'), 'same')).toMatchObject({ scope: 'local', source: local })

    const text = (await place.run('explain', 'same')).stdout
    expect(text).toMatch(/✔ local .*wins/)
    for (const file of ['.plugboard/settings.local.json', '.mcp.json', '~/.plugboard/settings.json'])
      expect(text).toContain(file)
    const { definitions } = (await place.run('explain', 'same', '--json')).json
    expect(definitions.map((one: { source: string; winner: boolean }) => [one.source, one.winner])).toEqual([
      [local, true],
      [project, false],
      [user, false],
    ])
    expect(definitions[0].line).toBe(3)
  })

  it('reads Claude Code’s files, and never writes them', async () => {
    const claude = {
      mcpServers: { everywhere: off('a') },
      projects: {
        [place.project]: { mcpServers: { here: off('b') } },
        '/elsewhere': { mcpServers: { there: off('c') } },
      },
    }
    const file = place.write('~/.claude.json', claude)
    const before = place.read('~/.claude.json')
    const ran = await place.run('list', '--json')
    expect(named(ran, 'everywhere')).toMatchObject({ scope: 'user', source: file })
    expect(named(ran, 'here')).toMatchObject({ scope: 'local', source: file })
    expect(named(ran, 'there')).toBeUndefined()
    const removed = await place.run('remove', 'everywhere', '--json')
    expect(removed.code).toBe(2)
    expect(removed.json.error.hint).toContain('plugboard disable everywhere')
    expect((await place.run('disable', 'everywhere')).code).toBe(0)
    expect(named(await place.run('list', '--json'), 'everywhere').reason).toContain('switched off')
    expect(place.read('~/.claude.json')).toBe(before)
  })

  it('takes servers from --mcp-config over all files, and only those with --strict-mcp-config', async () => {
    place.write('~/.plugboard/settings.json', { mcpServers: { one: off('a'), two: off('b') } })
    const config = JSON.stringify({ mcpServers: { one: off('given') } })
    const ran = await place.run('list', '--json', '--mcp-config', config)
    expect(named(ran, 'one').scope).toBe('dynamic')
    expect(named(ran, 'two').scope).toBe('user')
    const strict = await place.run('list', '--json', '--mcp-config', config, '--strict-mcp-config')
    expect(named(strict, 'two')).toBeUndefined()
    const broken = await place.run('list', '--json', '--mcp-config', '{"mcpServers": ')
    expect([broken.code, broken.json.error.code]).toEqual([2, 'INVALID_INPUT'])
  })
})

describe('a settings file that is broken', () => {
  it.each([['list'], ['tools'], ['get', 'same'], ['explain', 'same'], ['call', 'same.x']])(
    'is told on stderr by %s, also with --json and --quiet',
    async (...words) => {
      place.write('.mcp.json', { mcpServers: { same: off('project') } })
      place.write('~/.plugboard/settings.json', '{')
      for (const more of [[], ['--json'], ['--quiet'], ['--json', '--quiet']]) {
        const { stderr } = await place.run(...words, ...more)
        expect(stderr, more.join(' ')).toMatch(/error ~\/\.plugboard\/settings\.json:\d+:\d+: /)
      }
    },
  )

  it('is told once, and a warning is left out of --json', async () => {
    place.write('~/.plugboard/settings.json', { mcpServers: { same: off('x') }, notASetting: 1 })
    expect((await place.run('list')).stderr).toContain('notASetting')
    expect((await place.run('list', '--json')).stderr).toBe('')
    place.write('~/.plugboard/settings.json', '{')
    expect((await place.run('list', '--json')).stderr.match(/settings\.json/g)).toHaveLength(1)
  })
})

describe('a managed machine', () => {
  it('has only the servers of managed-mcp.json and the built-ins, and says so', async () => {
    place.write('~/.plugboard/settings.json', { mcpServers: { mine: off('a') } })
    place.write('../managed/managed-mcp.json', { mcpServers: { theirs: off('b') } })
    const ran = await place.run('list', '--json')
    const names = ran.json.servers.map((server: { name: string }) => server.name)
    expect(names).toContain('theirs')
    expect(names).not.toContain('mine')
    expect(ran.json.managed.hidden).toMatchObject([{ name: 'mine', scope: 'user' }])
    expect((await place.run('list')).stderr).toMatch(/managed.*hidden: mine/)
    expect((await place.run('explain', 'mine')).stdout).toContain('allows its own servers only')
    const added = await place.run('add', 'more', '--', 'x')
    expect([added.code, added.stderr]).toEqual([6, expect.stringContaining('managed-mcp.json')])
  })

  it('fails closed when managed-mcp.json is broken', async () => {
    place.write('~/.plugboard/settings.json', { mcpServers: { mine: off('a') } })
    place.write('../managed/managed-mcp.json', '{ "mcpServers": { "x": ')
    const ran = await place.run('list', '--json')
    expect(named(ran, 'mine')).toBeUndefined()
    expect(ran.json.diagnostics[0]).toMatchObject({ severity: 'error', line: 1 })
  })
})

describe('trust', () => {
  const entry = { command: 'node', args: ['-e', '0'] }

  it("keeps a repository's server off until exactly that entry is approved", async () => {
    place.write('.mcp.json', { mcpServers: { theirs: entry } })
    const waiting = { state: 'disabled', reason: 'pending approval' }
    expect(named(await place.run('list', '--json'), 'theirs')).toMatchObject(waiting)
    const approved = await place.run('approve', '--json')
    expect(approved.json.approved).toMatchObject([{ name: 'theirs' }])
    expect(named(await place.run('list', '--json'), 'theirs').reason).toBeUndefined()
    place.write('.mcp.json', { mcpServers: { theirs: { ...entry, args: ['-e', '1'] } } })
    expect(named(await place.run('list', '--json'), 'theirs')).toMatchObject(waiting)
    expect((await place.run('explain', 'theirs')).stdout).toContain('changed since it was approved')
  })

  it('is forgotten with reset-project-choices, and --approve-project holds for one run', async () => {
    place.write('.mcp.json', { mcpServers: { theirs: entry } })
    expect(named(await place.run('list', '--json', '--approve-project'), 'theirs').reason).toBeUndefined()
    expect(named(await place.run('list', '--json'), 'theirs').reason).toBe('pending approval')
    await place.run('approve', 'theirs')
    expect((await place.run('reset-project-choices')).stdout).toContain('Forgot 1 approval')
    expect(named(await place.run('list', '--json'), 'theirs').reason).toBe('pending approval')
  })

  it('does not treat a private file as the user’s own without a record', async () => {
    place.write('.plugboard/settings.local.json', { mcpServers: { planted: entry } })
    expect(named(await place.run('list', '--json'), 'planted')).toMatchObject({
      state: 'disabled',
      reason: 'pending approval',
    })
    expect((await place.run('list')).stdout).toContain('planted: is defined in this project, with no record')
    await place.run('approve', 'planted')
    expect(named(await place.run('list', '--json'), 'planted').reason).toBeUndefined()
  })
})

describe('editing', () => {
  it('keeps comments, order and layout', async () => {
    const before = `{
  // my servers
  "mcpServers": {
    "first": { "command": "a", "disabled": true }, // keep me
    /* and me */
    "second": { "command": "b", "disabled": true }
  },
}
`
    place.write('~/.plugboard/settings.json', before)
    expect((await place.run('add', '-s', 'user', 'third', '-e', 'K=V', '--', 'c', '--flag')).code).toBe(0)
    const after = place.read('~/.plugboard/settings.json')
    for (const line of before.split('\n').filter((text) => text.includes('me')))
      expect(after).toContain(line.trimEnd())
    expect((await place.run('get', 'third', '--json')).json.entry).toEqual({
      type: 'stdio',
      command: 'c',
      args: ['--flag'],
      env: { K: 'V' },
    })
    expect((await place.run('remove', 'third')).code).toBe(0)
    expect(place.read('~/.plugboard/settings.json').replace(/,(\s*})/, '$1')).toBe(
      before.replace(/,(\s*})/, '$1'),
    )
  })

  it('writes $schema into our own new files and nothing of ours into .mcp.json', async () => {
    await place.run('add', '-s', 'user', 'a', 'https://example.com/mcp')
    await place.run('add', '-s', 'project', 'b', 'https://example.com/sse', '-t', 'sse')
    expect(JSON.parse(place.read('~/.plugboard/settings.json')).$schema).toMatch(/settings\.schema\.json$/)
    expect(JSON.parse(place.read('.mcp.json'))).toEqual({
      mcpServers: { b: { type: 'sse', url: 'https://example.com/sse' } },
    })
  })

  it('keeps private settings out of version control', async () => {
    await place.run('add', 'a', '--', 'x')
    expect(place.read('.plugboard/.gitignore')).toBe('settings.local.json\n')
  })

  it('loses nothing when two processes add twenty servers each at once', async () => {
    const adder = (prefix: string) => async () => {
      for (let index = 0; index < 20; index++) {
        const ran = await place.run('add', '-s', 'user', `${prefix}${index}`, '--', 'node')
        expect(ran.stderr).toBe('')
      }
    }
    await Promise.all([adder('a')(), adder('b')()])
    const { mcpServers } = JSON.parse(place.read('~/.plugboard/settings.json'))
    expect(Object.keys(mcpServers)).toHaveLength(40)
    expect(existsSync(join(place.home, '.plugboard/settings.json.lock'))).toBe(false)
  }, 120_000)

  it('refuses to touch a broken file, and says where it is broken', async () => {
    place.write('~/.plugboard/settings.json', '{\n  "mcpServers": {\n    "a": { "command" "x" }\n  }\n}')
    const ran = await place.run('add', '-s', 'user', 'b', '--', 'x')
    expect([ran.code, ran.stderr]).toEqual([2, expect.stringMatching(/settings\.json:3.*colon/)])
  })
})

describe('wrong command lines', () => {
  const cases: [string, string[], number, RegExp][] = [
    ['an unknown verb', ['lsit'], 2, /no verb "lsit"/],
    ['an unknown option', ['list', '--jsn'], 2, /--jsn is not an option/],
    ['an option of the server', ['add', 'x', 'npx', '-y', 'pkg'], 2, /put -- before/],
    ['a reserved name', ['add', 'codebase', '--', 'x'], 2, /reserved/],
    ['a name with a slash', ['add', 'a/b', '--', 'x'], 2, /characters? that names may not have|a character/],
    ['a look-alike', ['add', 'gіthub', '--', 'x'], 2, /U\+0456/],
    ['a bad scope', ['add', '-s', 'world', 'x', '--', 'y'], 2, /local, project, user/],
    ['a missing command', ['add', 'x'], 2, /URL, or -- and the command/],
    ['a bad pair', ['add', 'x', '-e', 'novalue', '--', 'y'], 2, /KEY=value/],
    ['bad JSON', ['add-json', 'x', '{"command":'], 2, /not valid/],
    ['a wrong entry', ['add-json', 'x', '{"type":"smoke"}'], 2, /unknown type "smoke"/],
    ['an unknown server', ['get', 'nobody'], 3, /no server named "nobody"/],
    ['an unknown client', ['import', 'netscape'], 2, /Choose one of/],
    ['a folder that is not there', ['list', '--cwd', '/nowhere/at/all'], 2, /not a folder/],
  ]
  it.each(cases)('%s', async (_, args, code, message) => {
    const ran = await place.run(...args)
    expect([ran.code, ran.stderr]).toEqual([code, expect.stringMatching(message)])
    expect(ran.stdout).toBe('')
    const json = await place.run(...args.slice(0, 1), '--json', ...args.slice(1))
    expect(json.json.error).toMatchObject({ code: expect.any(String), message: expect.stringMatching(/./) })
  })

  it('never reports a fault in a file as a usage error', async () => {
    place.write('.mcp.json', {
      mcpServers: { bad: { command: 7 }, worse: 'no', good: off('x'), codebase: off('y') },
    })
    place.write('.plugboard/settings.json', 'not json at all')
    place.write('.claude/settings.json/file-inside', 'a folder where a file should be')
    const ran = await place.run('list', '--json')
    expect(ran.code).toBe(0)
    expect(named(ran, 'good')).toBeDefined()
    expect(named(ran, 'bad')).toBeUndefined()
    const messages = ran.json.diagnostics.map((one: { message: string }) => one.message).join('\n')
    expect(messages).toMatch(/expected a string, found the number 7/)
    expect(messages).toMatch(/expected an object, found the string "no"/)
    expect(messages).toMatch(/reserved/)
    expect(messages).toMatch(/is a folder/)
    expect((await place.run('list')).stderr).toMatch(/\.mcp\.json:\d+:\d+: mcpServers\.bad\.command/)
  })
})

describe('explain and get', () => {
  it('mask secrets everywhere', async () => {
    place.write('~/.plugboard/settings.json', {
      mcpServers: {
        s: {
          command: 'x',
          args: ['--api-key', 'argsecret-1234567890'],
          env: { GITHUB_TOKEN: 'ghp_literalsecret000000', PATH: '/usr/bin' },
          disabled: true,
        },
        h: { type: 'http', url: 'https://e.com/mcp', headers: { 'X-Key': '${MY_VALUE}' }, disabled: true },
      },
    })
    for (const verb of ['get', 'explain'])
      for (const name of ['s', 'h'])
        for (const flags of [[], ['--json']]) {
          const { stdout } = await place.runWith({ MY_VALUE: 'envsecret-0987654321' }, verb, name, ...flags)
          expect(stdout).not.toMatch(/literalsecret|argsecret-1234567890|envsecret-0987654321/)
        }
    expect((await place.run('get', 's')).stdout).toContain('/usr/bin')
  })
})

describe('other spellings', () => {
  it("understands Claude Code's", async () => {
    const added = await place.run(
      'mcp',
      'add',
      '--transport',
      'http',
      '--scope',
      'user',
      'docs',
      'https://e.com/mcp',
      '--header',
      'A: b',
    )
    expect(added.code).toBe(0)
    expect((await place.run('mcp', 'get', 'docs', '--json')).json.entry).toEqual({
      type: 'http',
      url: 'https://e.com/mcp',
      headers: { A: 'b' },
    })
    expect((await place.run('mcp', 'remove', 'docs')).code).toBe(0)
  })
})

describe('config schema', () => {
  it('prints a JSON Schema that names every key', async () => {
    const { json } = await place.run('config', 'schema')
    expect(Object.keys(json.properties)).toEqual(
      expect.arrayContaining(['mcpServers', 'plugins', 'permissions', 'deniedMcpServers', 'disabledServers']),
    )
  })
})

describe('completion', () => {
  it.each(['bash', 'zsh', 'fish'])('is a script that %s accepts', async (shell) => {
    const { stdout, code } = await place.run('completion', shell)
    expect(code).toBe(0)
    expect(stdout).toContain('explain')
    const file = place.write(`completion.${shell}`, stdout)
    try {
      execFileSync(shell, ['-n', file], { stdio: 'pipe' })
    } catch (error) {
      // A shell that is not installed here cannot check it.
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
    }
  })

  it('completes verbs, options and server names in bash', async () => {
    place.write('~/.plugboard/settings.json', { mcpServers: { alpha: off('a'), beta: off('b') } })
    const { stdout } = await place.run('completion', 'bash')
    const complete = (...words: string[]) => {
      const script = `plugboard() { ${process.execPath} "$PB" "$@"; }; ${stdout}
        COMP_WORDS=(${words.map((word) => `'${word}'`).join(' ')}); COMP_CWORD=${words.length - 1}; _plugboard; echo "\${COMPREPLY[@]}"`
      const env = {
        PATH: process.env['PATH'] ?? '',
        HOME: place.home,
        PB: COMMAND,
      }
      return execFileSync('bash', ['-c', script], { cwd: place.project, env }).toString().trim()
    }
    expect(complete('plugboard', 'exp')).toBe('export explain')
    expect(complete('plugboard', 'remove', 'al')).toBe('alpha')
    expect(complete('plugboard', 'add', '-s', 'p')).toBe('project')
  })
})
