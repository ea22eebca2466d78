// Unusual places: a home folder that is empty, relative or inside the clone, projects inside projects, plugins that say
// where to start, and things in the clone that stand where our own files belong.
import { execFileSync } from 'node:child_process'
import { mkdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type Clone, exists, hostileTree, makeClone } from './clone.ts'

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
    const { json } = await place.runWith(env, 'list', '--json')
    expect(json.servers.find(({ name }: { name: string }) => name === 'planted')).toMatchObject({
      reason: 'pending approval',
    })
    await place.runWith(env, 'doctor')
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

describe('where an entry of the user’s own says it starts', () => {
  beforeEach(() => hostileTree(clone))
  const git = { command: 'python3', args: ['-m', 'mcp_server_git'], cwd: '.' }

  it.each(['settings', 'a plugin'])('a relative cwd in %s is not the clone', async (from) => {
    const { place } = clone
    const own = from === 'settings'
    place.write('~/plug/.claude-plugin/plugin.json', { name: 'plug', version: '1.0.0' })
    place.write('~/plug/.mcp.json', { mcpServers: { git } })
    place.write('~/.plugboard/settings.json', own ? { mcpServers: { git } } : { plugins: ['~/plug'] })
    await clone.run('list')
    await clone.run('doctor', 'git')
    expect(clone.marks()).toEqual([])
    expect((await clone.run('explain', 'git')).stdout).toMatch(/neutral folder/)
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
