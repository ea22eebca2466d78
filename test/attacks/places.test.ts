// Unusual places: a home folder that is empty, relative or inside the clone, projects inside projects, plugins that say
// where to start, and things in the clone that stand where our own files belong.
import { execFileSync } from 'node:child_process'
import { mkdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type Clone, exists, hostileTree, makeClone, userProgram } from './clone.ts'

let clone: Clone
beforeEach(() => {
  clone = makeClone()
})
afterEach(() => clone.place.remove())

const shell = (name: string) => ({ command: '/bin/sh', args: ['-c', clone.mark(name)] })

describe('the home folder', () => {
  it.each(['', '.', './', 'project/..'])('is never the clone because HOME is "%s"', async (HOME) => {
    const { place } = clone
    place.write('.plugboard/settings.json', { mcpServers: { planted: shell('planted') } })
    place.write('.claude/settings.json', { mcpServers: { second: shell('second') } })
    place.write('.claude.json', { mcpServers: { third: shell('third') } })
    // The account's own folder is this machine's; ours is a variable of its own.
    const env = { HOME, PLUGBOARD_HOME: join(place.home, '.plugboard') }
    const [{ json }] = await Promise.all([place.runWith(env, 'list', '--json'), place.runWith(env, 'doctor')])
    expect(json.servers.find(({ name }: { name: string }) => name === 'planted')).toMatchObject({
      reason: 'pending approval',
    })
    expect(clone.marks()).toEqual([])
  })

  it('inside the clone does not let package runners find the code above it', async () => {
    const { place } = clone
    hostileTree(clone)
    const HOME = join(place.project, 'ci', 'home')
    place.write('ci/home/.npmrc', 'offline=true\nfetch-retries=0\n')
    place.write('ci/home/.plugboard/settings.json', {
      mcpServers: {
        memory: { command: 'npx', args: ['-y', '@modelcontextprotocol/server-memory'] },
        where: { command: '/bin/sh', args: ['-c', `pwd > '${join(place.home, 'where')}'`] },
      },
      hooks: { PreToolUse: [{ hooks: [{ type: 'command', command: `pwd > '${place.home}/hook'` }] }] },
    })
    place.write('.git/HEAD', 'ref: refs/heads/main\n')
    const PATH = `${join(place.project, 'node_modules/.bin')}:${process.env['PATH']}`
    await place.runWith({ HOME, PATH }, 'list')
    expect(clone.marks()).toEqual([])
    expect(readFileSync(join(place.home, 'where'), 'utf8')).toBe('/\n')
  })
})

describe('a server that the user adds in the clone', () => {
  beforeEach(() => hostileTree(clone))

  it.each([
    ['local', ['npx', '-y', '@modelcontextprotocol/server-memory']],
    ['project', ['npx', '-y', '@modelcontextprotocol/server-memory']],
    ['local', ['npx', '-y', '@modelcontextprotocol/server-memory', './data']],
    ['local', ['npm', 'exec', '--', '@modelcontextprotocol/server-memory']],
    ['local', ['python3', '-m', 'mcp_server_git']],
    ['local', ['uvx', 'mcp-server-fetch']],
  ])('takes no code of it before `trust` (%s): %j', async (scope, words) => {
    userProgram(clone, 'uvx', '#!/bin/sh\n[ -x ./uv-tool ] && exec ./uv-tool\nexit 1\n')
    const added = await clone.run('add', 'mine', '-s', scope, '--', ...words)
    expect(added.stderr).toContain('mine starts in a neutral folder')
    await Promise.all([clone.run('list'), clone.run('tools', 'mine'), clone.run('doctor', 'mine')])
    expect(clone.marks()).toEqual([])
    // The same entry takes it once the user trusts the folder: the code is there to be taken.
    await clone.run('trust', '--yes')
    await clone.run('list')
    expect(clone.marks()).not.toEqual([])
  })

  it('runs the script of the project that it names, in the project', async () => {
    const { place } = clone
    place.write('tell.cjs', `require('node:fs').writeFileSync('told', process.cwd())\n`)
    const added = await clone.run('add', 'mine', '--', 'node', 'tell.cjs')
    expect(added.stderr).not.toContain('neutral')
    await clone.run('list')
    expect(readFileSync(join(place.project, 'told'), 'utf8')).toBe(place.project)
    expect(clone.marks()).toEqual([])
  })

  it('keeps the meaning of the paths in its arguments', async () => {
    const { place } = clone
    userProgram(clone, 'show', `#!/bin/sh\necho "$1" > '${join(place.home, 'shown')}'\n`)
    await clone.run('add', 'mine', '--', 'show', './data')
    await clone.run('list')
    expect(readFileSync(join(place.home, 'shown'), 'utf8')).toBe(`${join(place.project, 'data')}\n`)
  })
})

describe('where an entry of the user’s own says it starts', () => {
  beforeEach(() => hostileTree(clone))
  const git = { command: 'python3', args: ['-m', 'mcp_server_git'], cwd: '.' }

  it.each(['settings', 'a plugin'])('a relative cwd in %s is not the clone', async (from) => {
    const { place } = clone
    const own = from === 'settings'
    place.write('~/plug/.claude-plugin/plugin.json', { name: 'plug', version: '1.0.0' })
    place.write('~/plug/.mcp.json', { mcpServers: { git } })
    place.write('~/.plugboard/settings.json', own ? { mcpServers: { git } } : { plugins: ['~/plug'] })
    const [explained] = await Promise.all([
      clone.run('explain', 'git'),
      clone.run('list'),
      clone.run('doctor', 'git'),
    ])
    expect(clone.marks()).toEqual([])
    expect(explained.stdout).toMatch(/neutral folder/)
    // Trusted, it means the project folder.
    await place.run('trust')
    await place.run('list')
    expect(clone.marks()).toContain('python')
  })
})

describe('a project inside another', () => {
  it('finds no programs of the one around it', async () => {
    const { place } = clone
    hostileTree(clone)
    place.write('.git/HEAD', 'ref: refs/heads/main\n')
    place.write('child/.git', 'gitdir: ../.git/modules/child\n')
    place.write('~/.plugboard/settings.json', {
      mcpServers: {
        fetch: { command: 'uvx', args: ['x'] },
        git: { command: 'python3', args: ['-m', 'mcp_server_git'] },
      },
    })
    const child = join(place.project, 'child')
    await clone.run('list', '--cwd', child)
    expect(clone.marks()).toEqual([])
    // Trust in the outer folder says nothing about the inner one, and the reverse.
    await clone.run('trust')
    await clone.run('list', '--cwd', child)
    expect(clone.marks()).toEqual([])
    await clone.run('trust', '--remove')
    await clone.run('trust', '--cwd', child)
    await clone.place.run('list')
    expect(clone.marks()).toEqual([])
  })
})

describe('what stands where a lock belongs', () => {
  const LOCK = '.plugboard/settings.local.json.lock'
  const planted: Readonly<Record<string, (path: string) => void>> = {
    'a folder': (path) => mkdirSync(join(path, 'inside'), { recursive: true }),
    'no regular file': (path) => execFileSync('mkfifo', [path]),
    'a link': (path) => symlinkSync('/dev/zero', path),
  }

  it.each(Object.keys(planted))('%s is named, and the command ends', async (what) => {
    const { place } = clone
    mkdirSync(join(place.project, '.plugboard'))
    const path = join(place.project, LOCK)
    planted[what]?.(path)
    const ran = await place.run('add', 'own', '--', '/bin/true')
    expect(ran.code).not.toBe(0)
    expect(ran.stderr).toContain(`${LOCK}, where a lock belongs, is ${what}.`)
    expect(exists(path)).toBe(true)
    rmSync(path, { recursive: true })
    expect((await place.run('add', 'own', '--', '/bin/true')).code).toBe(0)
  })
})
