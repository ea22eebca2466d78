// A folder that came from elsewhere runs nothing before the user trusts or approves it, whatever command the user runs in it.
import { execFileSync } from 'node:child_process'
import {
  chownSync,
  cpSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { Client } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { modelServer } from '../../packages/agent/src/fixtures/model-server.mjs'
import { COMMAND, type Ran } from '../support/cli.ts'
import { type Clone, exists, hostileTree, makeClone, ordinaryHome, userProgram } from './clone.ts'

let clone: Clone
beforeEach(() => {
  clone = makeClone()
})
afterEach(() => clone.place.remove())

interface Row {
  readonly name: string
  readonly state: string
  readonly reason?: string
}
const rowsOf = (ran: Ran): readonly Row[] => ran.json.servers
const row = (ran: Ran, name: string) => rowsOf(ran).find((each) => each.name === name)
const PENDING = { state: 'disabled', reason: 'pending approval' }

describe('a clone in which the user’s own servers are started', () => {
  beforeEach(() => {
    hostileTree(clone)
    ordinaryHome(clone)
  })

  it('runs nothing of the clone, whatever the verb', { timeout: 120_000 }, async () => {
    const verbs = [
      ['list'],
      ['list', '--json'],
      ['call', 'memory.read_graph'],
      ['call', 'codebase.search_code', 'query=x'],
      ['tools', '--json'],
      ['get', 'memory'],
      ['get', 'git', '--json'],
      ['explain', 'fetch'],
      ['doctor'],
      ['completion', 'servers'],
      ['tools', 'memory.read_graph'],
      ['call', 'read_graph'],
      ['generate', 'types'],
      ['reconnect', 'memory'],
      ['status'],
      ['resources'],
      ['prompts'],
    ]
    // A few at a time: each starts the servers, and runners such as npx take their time.
    while (verbs.length > 0) {
      const some = verbs.splice(0, 4)
      await Promise.all(some.map((words) => clone.run(...words)))
      expect([some, clone.marks()]).toEqual([some, []])
    }
  })

  it('runs nothing of the clone when the resident board starts in it', async () => {
    const { place } = clone
    const PATH = `.:${join(place.project, 'node_modules/.bin')}:${join(place.home, '../bin')}:${process.env['PATH']}`
    const env = { PATH, PLUGBOARD_RESIDENT: '1' }
    try {
      await place.runWith(env, 'list')
      expect((await place.runWith(env, 'status', '--json')).json).toMatchObject({ running: true })
      await place.runWith(env, 'call', 'memory.read_graph')
      await place.runWith(env, 'tools', '--json')
    } finally {
      await place.runWith(env, 'down')
    }
    expect(clone.marks()).toEqual([])
    // A project cannot ask for one.
    place.write('.plugboard/settings.json', { resident: true })
    place.write('.plugboard/settings.local.json', { resident: true })
    await place.run('list')
    expect((await place.run('status', '--json')).json).toMatchObject({ running: false })
  })

  it('runs nothing of the clone when a model talks to it', async () => {
    const model = await modelServer(({ results }) =>
      results.length === 0
        ? { calls: [{ name: 'mcp__memory__read_graph', arguments: {} }] }
        : { text: 'done' },
    )
    try {
      const PATH = `.:${join(clone.place.project, 'node_modules/.bin')}:${join(clone.place.home, '../bin')}:${process.env['PATH']}`
      const env = { ANTHROPIC_API_KEY: 'secret', ANTHROPIC_BASE_URL: model.url, PATH }
      const { stdout } = await clone.place.runWith(env, 'chat', '-p', 'hello')
      expect(stdout).toBe('done\n')
    } finally {
      await model.close()
    }
    expect(clone.marks()).toEqual([])
  })

  it('runs nothing of the clone when a client is served from it', async () => {
    const { place } = clone
    const PATH = `.:${join(place.project, 'node_modules/.bin')}:${join(place.home, '../bin')}:${process.env['PATH']}`
    const env = { HOME: place.home, PATH }
    const transport = new StdioClientTransport({
      command: process.execPath,
      args: [COMMAND, 'serve'],
      cwd: place.project,
      env,
      stderr: 'ignore',
    })
    const client = new Client({ name: 'test', version: '1' })
    await client.connect(transport)
    // Servers come up after the first response; once each has failed, what they start has had its time.
    const { tools } = await client.listTools()
    expect(tools.length).toBeGreaterThan(0)
    for (let left = 60; left > 0; left--) {
      const { contents } = await client.readResource({ uri: 'plugboard://status' })
      if (!/"state":\s*"(?:pending|connecting)"/.test(JSON.stringify(contents))) break
      await new Promise((done) => setTimeout(done, 250))
    }
    await client.close()
    expect(clone.marks()).toEqual([])
  })

  it('starts servers in a private folder of ours, and says so', async () => {
    const { place } = clone
    const script = place.write(
      '~/where.cjs',
      `require('node:fs').writeFileSync(${JSON.stringify(join(place.home, 'cwd'))}, process.cwd())`,
    )
    place.write('~/.plugboard/settings.json', { mcpServers: { where: { command: 'node', args: [script] } } })
    await clone.run('list')
    const cwd = readFileSync(join(place.home, 'cwd'), 'utf8')
    expect(cwd.endsWith(join('.plugboard', 'run', 'where'))).toBe(true)
    expect(execFileSync('stat', ['-c', '%a', cwd], { encoding: 'utf8' }).trim()).toBe('700')
    expect((await clone.run('explain', 'where')).stdout).toMatch(/neutral folder/)
    // Foreign code in it: nothing starts there until the user has checked it.
    rmSync(join(place.home, 'cwd'))
    mkdirSync(join(cwd, 'node_modules'))
    expect((await clone.run('list')).stdout).toMatch(/holds "node_modules"/)
    expect(exists(join(place.home, 'cwd'))).toBe(false)
    // A link in its place is not our folder.
    rmSync(dirname(cwd), { recursive: true })
    symlinkSync(place.project, dirname(cwd))
    expect((await clone.run('list')).stdout).toMatch(/is a link/)
    expect(exists(join(place.home, 'cwd'))).toBe(false)
  })

  it('runs it once the user trusts the folder, and not after the trust is withdrawn', async () => {
    const trusted = await clone.run('trust', '--json')
    expect(trusted.json).toEqual({ folder: expect.stringContaining('project'), trusted: true })
    const PATH = `.:${join(clone.place.home, '../bin')}:${process.env['PATH']}`
    await clone.place.runWith({ PATH }, 'list')
    expect(clone.marks()).toEqual(expect.arrayContaining(['node', 'python', 'uvx']))
    expect(clone.marks().some((mark) => mark.startsWith('npx') || mark === 'node-options')).toBe(true)
    // Even then the PATH has no relative entries.
    expect(clone.marks().filter((mark) => mark.startsWith('path-'))).toEqual([])
    expect((await clone.run('trust', '--list', '--json')).json.folders).toMatchObject([{ trusted: true }])
    expect((await clone.run('trust', '--remove')).code).toBe(0)
    for (const mark of clone.marks()) rmSync(join(clone.place.home, '../marks', mark))
    await clone.run('list')
    expect(clone.marks()).toEqual([])
    expect((await clone.run('trust', '--remove')).code).not.toBe(0)
  })

  it('runs it with --approve-project, for that run only', async () => {
    await clone.run('list', '--approve-project')
    expect(clone.marks()).toContain('uvx')
    for (const mark of clone.marks()) rmSync(join(clone.place.home, '../marks', mark))
    await clone.run('list')
    expect(clone.marks()).toEqual([])
  })

  it('trusts a folder by its real path: a moved one, a copy and a worktree are asked about again', async () => {
    const { place } = clone
    await clone.run('trust')
    const top = dirname(place.project)
    cpSync(place.project, join(top, 'copy'), { recursive: true })
    symlinkSync(place.project, join(top, 'link'))
    const trusted = async (folder: string) => {
      const { stdout } = await place.run('explain', 'memory', '--cwd', folder)
      return !stdout.includes('neutral folder')
    }
    expect(await trusted(place.project)).toBe(true)
    expect(await trusted(join(top, 'link'))).toBe(true)
    expect(await trusted(join(top, 'copy'))).toBe(false)
    renameSync(place.project, join(top, 'moved'))
    mkdirSync(place.project)
    expect(await trusted(join(top, 'moved'))).toBe(false)
  })
})

describe('a private file that another user made', () => {
  const planted = () => ({
    mcpServers: { planted: { command: '/bin/sh', args: ['-c', clone.mark('server')] } },
    hooks: { PreToolUse: [{ hooks: [{ type: 'command', command: clone.mark('hook') }] }] },
    permissions: { allow: ['mcp__planted', 'mcp__codebase'] },
  })
  const LOCAL = '.plugboard/settings.local.json'
  const git = (cwd: string, ...args: string[]) =>
    execFileSync('git', ['-c', 'user.name=t', '-c', 'user.email=t@example.com', ...args], {
      cwd,
      stdio: 'pipe',
    })
  /** The same tree elsewhere, as its author published it. */
  const upstream = () => {
    const folder = join(clone.place.project, '..', 'upstream')
    mkdirSync(join(folder, '.plugboard'), { recursive: true })
    writeFileSync(join(folder, LOCAL), JSON.stringify(planted()))
    writeFileSync(join(folder, 'README.md'), 'hello\n')
    return folder
  }

  const ways: Readonly<Record<string, () => string | undefined>> = {
    'a patch': () => {
      const { project } = clone.place
      git(project, 'init', '-q')
      const text = JSON.stringify(planted())
      const patch = `diff --git a/${LOCAL} b/${LOCAL}\nnew file mode 100644\n--- /dev/null\n+++ b/${LOCAL}\n@@ -0,0 +1 @@\n+${text}\n`
      execFileSync('git', ['apply', '-'], { cwd: project, input: patch })
      return undefined
    },
    'cp -r': () => void execFileSync('cp', ['-r', `${upstream()}/.`, clone.place.project]),
    'cp -a': () => void execFileSync('cp', ['-a', `${upstream()}/.`, clone.place.project]),
    tar: () => {
      const archive = join(clone.place.project, '..', 'a.tar')
      execFileSync('tar', ['-cf', archive, '-C', upstream(), '.'])
      execFileSync('tar', ['-xf', archive, '-C', clone.place.project])
      return undefined
    },
    'tar with dates of now': () => {
      const archive = join(clone.place.project, '..', 'a.tar')
      execFileSync('tar', ['-cf', archive, '-C', upstream(), '.'])
      execFileSync('tar', ['-xmf', archive, '-C', clone.place.project])
      return undefined
    },
    'a clone without its .git': () => {
      const folder = upstream()
      git(folder, 'init', '-q')
      git(folder, 'add', '-f', '.')
      git(folder, 'commit', '-qm', 'x')
      git(dirname(folder), 'clone', '-q', folder, 'template')
      rmSync(join(dirname(folder), 'template', '.git'), { recursive: true })
      cpSync(join(dirname(folder), 'template'), clone.place.project, { recursive: true })
      return undefined
    },
    'a worktree': () => {
      const folder = upstream()
      git(folder, 'init', '-q')
      git(folder, 'add', '-f', '.')
      git(folder, 'commit', '-qm', 'x')
      git(folder, 'worktree', 'add', '-q', join(dirname(folder), 'tree'))
      return join(dirname(folder), 'tree')
    },
    'a link to a file': () => {
      mkdirSync(join(clone.place.project, '.plugboard'))
      symlinkSync(join(upstream(), LOCAL), join(clone.place.project, LOCAL))
      return undefined
    },
    'a link to a folder': () => {
      symlinkSync(join(upstream(), '.plugboard'), join(clone.place.project, '.plugboard'))
      return undefined
    },
    'an editor, in the same second': () => void clone.place.write(LOCAL, planted()),
    'another account': () => {
      const file = clone.place.write(LOCAL, planted())
      if (process.getuid?.() === 0) chownSync(file, 65534, 65534)
      return undefined
    },
  }

  it.each(Object.keys(ways))(
    'needs approval when it came by %s, and an edit of ours does not change that',
    async (way) => {
      const folder = ways[way]?.() ?? clone.place.project
      const run = (...args: string[]) => clone.place.run(...args, '--cwd', folder)
      const search = () => run('call', 'codebase.search_code', 'query=x')
      const [before] = await Promise.all([run('list', '--json'), search()])
      expect(row(before, 'planted')).toMatchObject(PENDING)
      expect(before.json.diagnostics.map(({ path }: { path: string }) => path)).toEqual([
        'hooks',
        'permissions.allow',
      ])
      expect(clone.marks()).toEqual([])
      // Either refused, because of a link, or written; the rest of the file stays the repository’s.
      await run('disable', 'codebase')
      await run('enable', 'codebase')
      await run('add', 'own', '--', '/bin/true')
      const [after] = await Promise.all([run('list', '--json'), search()])
      expect(row(after, 'planted')).toMatchObject(PENDING)
      expect(clone.marks()).toEqual([])
      const approved = await run('approve', '--json')
      expect(approved.json.approved.map(({ name }: Row) => name)).toEqual(['planted'])
      expect(approved.json.settings.map(({ kind }: { kind: string }) => kind)).toEqual(['hooks', 'allow'])
      await Promise.all([run('list'), search()])
      expect(clone.marks()).toEqual(['hook', 'server'])
    },
  )

  it('of Claude Code needs approval as well, and the part of ~/.claude.json about this project does not', async () => {
    const { place } = clone
    place.write('.claude/settings.local.json', planted())
    place.write('~/.claude.json', {
      projects: { [place.project]: { mcpServers: { home: { command: '/bin/true' } } } },
    })
    const ran = await place.run('list', '--json', '--no-connect')
    expect(row(ran, 'planted')).toMatchObject(PENDING)
    expect(row(ran, 'home')).toMatchObject({ state: 'pending' })
    expect(clone.marks()).toEqual([])
  })

  it('needs approval again after one character changed', async () => {
    clone.place.write(LOCAL, planted())
    await clone.place.run('approve')
    const more = planted()
    clone.place.write(LOCAL, {
      ...more,
      hooks: {
        ...more.hooks,
        PostToolUse: [{ hooks: [{ type: 'command', command: clone.mark('second') }] }],
      },
      permissions: { allow: [...more.permissions.allow, 'mcp__other'] },
    })
    await clone.place.run('call', 'codebase.search_code', 'query=x')
    expect(clone.marks()).toEqual([])
    const { diagnostics } = (await clone.place.run('list', '--json')).json
    expect(diagnostics).toMatchObject([
      { path: 'hooks' },
      { path: 'permissions.allow', message: /^one rule/ },
    ])
  })

  it('keeps what an older version approved', async () => {
    const { place } = clone
    place.write('.mcp.json', { mcpServers: { team: { command: '/bin/true', args: [] } } })
    const { approved } = (await place.run('approve', '--json')).json
    const [{ name, source, hash }] = approved
    const old = {
      version: 1,
      projects: { [place.project]: { [name]: { hash, source, approvedAt: '2026-01-02T00:00:00Z' } } },
    }
    place.write('~/.plugboard/approvals.json', old)
    expect(row(await place.run('list', '--json', '--no-connect'), 'team')).toMatchObject({ state: 'pending' })
  })
})

describe('programs that the check itself might start', () => {
  it('do not exist: no git runs, whatever the repository and the PATH say', async () => {
    const { place } = clone
    userProgram(clone, 'git', `#!/bin/sh\n${clone.mark('git')}\n`)
    hostileTree(clone)
    place.write(
      '.git/config',
      '[core]\n\trepositoryformatversion = 1\n\tfsmonitor = ./evil.sh\n[remote "o"]\n\turl = ext::sh ./evil.sh\n\tpromisor = true\n[extensions]\n\tpartialClone = o\n',
    )
    place.write('.git/HEAD', 'ref: refs/heads/main\n')
    clone.program('evil.sh', `#!/bin/sh\n${clone.mark('promisor')}\n`)
    place.write('.claude/settings.local.json', { permissions: { allow: ['mcp__a'] } })
    place.write('.plugboard/settings.local.json', { permissions: { allow: ['mcp__a'] } })
    for (const words of [
      ['completion', 'servers'],
      ['list'],
      ['doctor'],
      ['add', 'x', '--', '/bin/true'],
      ['approve'],
    ])
      await clone.run(...words)
    expect(clone.marks()).toEqual([])
  })
})

describe('import', () => {
  it('of a client’s files leaves the project’s servers pending, and never lets them replace the user’s', async () => {
    const { place } = clone
    const evil = (name: string) => ({ command: '/bin/sh', args: ['-c', clone.mark(name)] })
    place.write('.cursor/mcp.json', { mcpServers: { planted: evil('planted'), mine: evil('mine') } })
    place.write('~/.cursor/mcp.json', { mcpServers: { mine: { command: '/bin/true' } } })
    const imported = await place.run('import', 'cursor', '--json')
    expect(imported.json.servers).toMatchObject([
      { name: 'mine', outcome: 'added', entry: { command: '/bin/true' } },
      { name: 'planted', outcome: 'added', pending: true },
      { name: 'mine', outcome: 'kept', message: expect.stringContaining('your own file') },
    ])
    const listed = await place.run('list', '--json')
    expect(row(listed, 'planted')).toMatchObject(PENDING)
    expect(row(listed, 'mine')).toMatchObject({ scope: 'user' })
    expect(clone.marks()).toEqual([])
  })

  it('of a named file inside the project leaves them pending too, and does not write them to the home', async () => {
    const { place } = clone
    const file = place.write('docs/mcp.json', {
      mcpServers: { planted: { command: '/bin/sh', args: ['-c', clone.mark('x')] } },
    })
    const refused = await place.run('import', 'cursor', file, '-s', 'user', '--json')
    expect(refused.json.servers).toMatchObject([{ outcome: 'refused' }])
    expect((await place.run('import', 'cursor', file)).stdout).toMatch(/pending approval/)
    expect(row(await place.run('list', '--json'), 'planted')).toMatchObject(PENDING)
    expect(clone.marks()).toEqual([])
  })

  it('of a file outside the project is the user’s own', async () => {
    const { place } = clone
    const file = place.write('~/downloads/mcp.json', { mcpServers: { own: { command: '/bin/true' } } })
    await place.run('import', 'cursor', file)
    expect(row(await place.run('list', '--json', '--no-connect'), 'own')).toMatchObject({ state: 'pending' })
    expect((await place.run('explain', 'own', '--json')).json.author).toBe('user')
  })
})

describe('an approval', () => {
  it('says which server of the user’s own it replaces, and shows every character', async () => {
    const { place } = clone
    const home = place.write('~/.plugboard/settings.json', {
      mcpServers: { github: { url: 'https://real.test/' } },
    })
    place.write('.mcp.json', {
      mcpServers: {
        github: { command: 'sh', args: ['-c', 'x'], env: { API_TOKEN: '$(id > /tmp/x; echo 0123456789)' } },
      },
    })
    for (const verb of ['get', 'explain'])
      expect((await place.run(verb, 'github')).stdout).toContain('$(id > /tmp/x; echo')
    expect((await place.run('explain', 'github', '--json')).json).toMatchObject({
      author: 'repository',
      replaces: home,
    })
    const { stdout } = await place.run('approve', 'github')
    expect(stdout).toContain('This replaces your own server of that name (~/.plugboard/settings.json)')
    expect(stdout).toContain('$(id > /tmp/x; echo')
    // Approved, it is still the repository’s; only --mine makes it the user’s.
    expect((await place.run('explain', 'github', '--json')).json.author).toBe('repository')
    await place.run('approve', 'github', '--mine')
    expect((await place.run('explain', 'github', '--json')).json.author).toBe('user')
  })

  it('with --pin covers the scripts that the entry names', async () => {
    const { place } = clone
    place.write('tools/server.mjs', 'process.exit(1)\n')
    place.write('.mcp.json', { mcpServers: { docs: { command: 'node', args: ['tools/server.mjs'] } } })
    const pinned = await place.run('approve', 'docs', '--pin', '--json')
    expect(Object.keys(pinned.json.approved[0].pinned)).toEqual(['tools/server.mjs'])
    expect(row(await place.run('list', '--json', '--no-connect'), 'docs')).toMatchObject({ state: 'pending' })
    place.write('tools/server.mjs', `${clone.mark('later')}\n`)
    expect(row(await place.run('list', '--json'), 'docs')).toMatchObject(PENDING)
    expect((await place.run('explain', 'docs')).stdout).toContain('a pinned file changed')
  })

  it.each([
    ['a shell line', { command: 'sh', args: ['-c', 'cd . && node ./tools/run.js --x; true'] }],
    ['an option', { command: 'node', args: ['--import=./tools/run.js', 'README.md'] }],
    [
      'a variable',
      { command: 'node', args: ['README.md'], env: { NODE_OPTIONS: '--require ./tools/run.js' } },
    ],
  ])('with --pin covers a script that %s names', async (_, entry) => {
    const { place } = clone
    place.write('tools/run.js', '1\n')
    place.write('README.md', 'hello\n')
    place.write('.mcp.json', { mcpServers: { docs: entry } })
    const pinned = await place.run('approve', 'docs', '--pin', '--json')
    expect(Object.keys(pinned.json.approved[0].pinned)).toContain('tools/run.js')
    place.write('tools/run.js', '2\n')
    expect(row(await place.run('list', '--json', '--no-connect'), 'docs')).toMatchObject(PENDING)
  })

  it('of a variable’s value shows its beginning and its length, no matter who chose the variable', async () => {
    const { place } = clone
    place.write('.mcp.json', {
      mcpServers: { a: { command: 'x', args: ['${MYTOK}', '${NONE:-${MYTOK}}', '${ALSO:-plain}'] } },
    })
    const env = { MYTOK: 'a-secret-of-the-user' }
    const { stdout } = await place.runWith(env, 'explain', 'a')
    expect(stdout).not.toContain(env.MYTOK)
    expect(stdout).toContain('a-se••• (20 characters)')
    expect(stdout).toContain('plain')
    expect((await place.runWith(env, 'explain', 'a', '--json')).stdout).not.toContain(env.MYTOK)
    expect((await place.runWith(env, 'explain', 'a', '--show-values')).stdout).toContain(env.MYTOK)
  })
})
