// Real folders and the real git: which folder is the project, and who brought its private files.
import { execFileSync } from 'node:child_process'
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  realpathSync,
  renameSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { cameWithItsDate, findProjectRoot, isBrought } from './project.ts'

let base: string
beforeEach(() => {
  base = realpathSync(mkdtempSync(join(tmpdir(), 'plugboard-project-')))
})
afterEach(() => rmSync(base, { recursive: true, force: true }))

function put(path: string, text = '{}'): string {
  const file = join(base, path)
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, text)
  return file
}

function git(folder: string, ...args: string[]): void {
  const identity = ['-c', 'user.name=t', '-c', 'user.email=t@example.com', '-c', 'protocol.file.allow=always']
  execFileSync('git', [...identity, ...args], { cwd: join(base, folder), stdio: 'pipe' })
}

describe('the project folder', () => {
  it.each(['.mcp.json', '.plugboard/settings.json', '.claude/settings.json', '.git/HEAD'])(
    'is the nearest one with %s',
    async (marker) => {
      put(`outer/${marker}`)
      put('outer/inner/deep/file')
      expect(await findProjectRoot(join(base, 'outer/inner/deep'), '/nowhere')).toBe(join(base, 'outer'))
    },
  )

  it('is the folder itself when nothing marks one, and never the home folder above it', async () => {
    put('home/.claude/settings.json')
    put('home/work/file')
    expect(await findProjectRoot(join(base, 'home/work'), join(base, 'home'))).toBe(join(base, 'home/work'))
  })

  it('is home under its usual name when home is where we are, also through a link', async () => {
    put('data/user/.claude/settings.json')
    symlinkSync(join(base, 'data/user'), join(base, 'home'))
    expect(await findProjectRoot(join(base, 'data/user'), join(base, 'home'))).toBe(join(base, 'home'))
    expect(await findProjectRoot(join(base, 'home'), join(base, 'home'))).toBe(join(base, 'home'))
  })

  it('is the folder that was asked for even if it does not exist', async () => {
    expect(await findProjectRoot(join(base, 'gone'), '/nowhere')).toBe(join(base, 'gone'))
  })
})

describe('a private file', () => {
  const local = 'p/.plugboard/settings.local.json'

  it('is the person’s own outside version control, and while git does not know it', async () => {
    const file = put(local)
    expect(await isBrought(file)).toBe(false)
    git('p', 'init', '-q')
    expect(await isBrought(file)).toBe(false)
    put('p/.gitignore', 'settings.local.json\n')
    expect(await isBrought(file)).toBe(false)
  })

  it('is the repository’s once it is in the index', async () => {
    const file = put(local)
    git('p', 'init', '-q')
    git('p', 'add', '-f', '.')
    expect(await isBrought(file)).toBe(true)
    git('p', 'commit', '-qm', 'x')
    expect(await isBrought(file)).toBe(true)
  })

  it('is the repository’s when its folder is a submodule', async () => {
    put('lib/settings.local.json')
    git('lib', 'init', '-q')
    git('lib', 'add', '.')
    git('lib', 'commit', '-qm', 'x')
    mkdirSync(join(base, 'p'))
    git('p', 'init', '-q')
    git('p', 'submodule', 'add', '-q', join(base, 'lib'), '.plugboard')
    expect(await isBrought(join(base, local))).toBe(true)
    expect(await isBrought(put('p/.plugboard/other.json'))).toBe(false)
  })

  it('is found in a linked worktree', async () => {
    put(local)
    git('p', 'init', '-q')
    git('p', 'add', '.')
    git('p', 'commit', '-qm', 'x')
    git('p', 'worktree', 'add', '-q', join(base, 'w'))
    expect(await isBrought(join(base, 'w/.plugboard/settings.local.json'))).toBe(true)
  })

  it('is not believed to be private because of a bare repository committed around it', async () => {
    const file = put(local)
    put('p/.plugboard/HEAD', 'ref: refs/heads/main\n')
    put('p/.plugboard/config', '[core]\n\trepositoryformatversion = 0\n\tbare = false\n\tworktree = .\n')
    put('p/.plugboard/objects/keep', '')
    put('p/.plugboard/refs/keep', '')
    git('p', 'init', '-q')
    git('p', 'add', '-f', '.')
    expect(await isBrought(file)).toBe(true)
  })

  it('is not believed to be private because its letters differ in case', async () => {
    put('p/.Plugboard/Settings.Local.json')
    git('p', 'init', '-q')
    git('p', 'add', '-f', '.')
    // On a disk that ignores case this is the same file; here a second one plays it.
    expect(await isBrought(put(local))).toBe(true)
  })

  it.each([
    ['as an archive has it', -3600],
    ['with a date that is still to come', 3600],
  ])('that was unpacked here, %s, is its maker’s until it is saved here', async (_, seconds) => {
    const file = put(local)
    const date = new Date(Date.now() + seconds * 1000)
    utimesSync(file, date, date)
    expect(await isBrought(file)).toBe(true)
    put(local, '{ "mcpServers": {} }')
    expect(await isBrought(file)).toBe(false)
  })

  const hour = 3_600_000
  it.each([
    ['typed and edited', 'linux', 1, 5, 5, false],
    ['typed, its rights changed later', 'linux', 1, 5, 9, false],
    ['unpacked', 'linux', 5, 1, 5, true],
    ['unpacked with a date to come', 'linux', 5, 7, 5, true],
    ['unpacked on a disk that keeps no birth', 'linux', 0, 1, 5, true],
    ['typed on a disk that keeps no birth', 'linux', 0, 5, 5, false],
    ['unpacked where an archive sets the birth as well', 'darwin', 1, 1, 5, true],
    ['typed there', 'darwin', 1, 5, 5, false],
    ['unpacked there', 'win32', 0.5, 1, 5, true],
  ] as const)('%s (%s)', (_, platform, born, written, changed, brought) => {
    const times = { birthtimeMs: born * hour, mtimeMs: written * hour, ctimeMs: changed * hour }
    expect(cameWithItsDate(times, platform)).toBe(brought)
  })

  it('stays the person’s own when its rights are changed or its folder is moved', async () => {
    const file = put(local)
    chmodSync(file, 0o600)
    renameSync(join(base, 'p'), join(base, 'q'))
    expect(await isBrought(file.replace('/p/', '/q/'))).toBe(false)
  })

  it('reached through a link inside the project may be anybody’s', async () => {
    put('p/node_modules/evil/settings.local.json')
    symlinkSync('node_modules/evil', join(base, 'p/.plugboard'))
    expect(await isBrought(join(base, local))).toBe(true)
  })

  it('in a repository that cannot be asked may be anybody’s', async () => {
    const file = put(local)
    put('p/.git', 'gitdir: /nowhere\n')
    expect(await isBrought(file)).toBe(true)
    rmSync(join(base, 'p/.git'))
    mkdirSync(join(base, 'p/.hg'))
    expect(await isBrought(file)).toBe(true)
  })

  it('is judged by its own repository, whatever the environment says', async () => {
    const file = put(local)
    git('p', 'init', '-q')
    git('p', 'add', '-f', '.')
    mkdirSync(join(base, 'other'))
    git('other', 'init', '-q')
    process.env['GIT_DIR'] = join(base, 'other/.git')
    try {
      expect(await isBrought(file)).toBe(true)
    } finally {
      delete process.env['GIT_DIR']
    }
  })
})
