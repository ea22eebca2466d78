// Where the program of an entry starts, which of its arguments mean the project, and in what folder nothing may start.
import type { spawn } from 'node:child_process'
import {
  chmodSync,
  chownSync,
  mkdirSync,
  mkdtempSync,
  realpathSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { systemHost } from '../host.ts'
import type { ServerEntry } from './entry.ts'
import { source } from './fixtures/source.ts'
import {
  argsFrom,
  childHostEnvironment,
  findProgram,
  hostForPrograms,
  namesOwnScript,
  neutralFolder,
  startsIn,
  withStartFolder,
} from './start-folder.ts'

describe('a command line names a script of the project', () => {
  it.each<[string, boolean]>([
    ['./run', true],
    ['../run', true],
    ['.', true],
    ['..', true],
    ['.\\run.cmd', true],
    ['bin/run', true],
    ['bin\\run', true],
    ['.hidden', false],
    ['run', false],
    ['run.sh', false],
    ['/usr/bin/run', false],
    ['node server.js', true],
    ['node server.JS', true],
    ['node server.mjs', true],
    ['node server.cts', true],
    ['node server.tsx', true],
    ['python server.py', true],
    ['python server.pyw', true],
    ['ruby server.rb', true],
    ['java -jar server.jar', true],
    ['node --inspect lib/server.js', true],
    ['node /opt/server.js', false],
    ['node --require=hook.js', false],
    ['node server.json', false],
    ['node @scope/server.js', false],
    ['node https://example.com/server.js', false],
    ['node', false],
    ['npx chart.js', false],
    ['npx -y chart.js', false],
    ['npx.cmd chart.js', false],
    ['NPX chart.js', false],
    ['/usr/bin/npx chart.js', false],
    ['npx chart.js data.js', true],
    ['npm exec chart.js', false],
    ['npm exec chart.js data.js', true],
    ['bun x chart.js', false],
    ['pnpm dlx chart.js', false],
    ['uv tool run black.py', false],
    ['uv tool run black.py other.py', true],
    ['yarn create init', false],
    ['mynpx chart.js', true],
    ['npx-like chart.js', true],
  ])('%s: %s', (line, expected) => {
    const [command = '', ...args] = line.split(' ')
    expect(namesOwnScript({ command, args })).toBe(expected)
  })
})

describe('arguments for a program that starts elsewhere', () => {
  it.each([
    ['./data', '/p/data'],
    ['../data', '/data'],
    ['.', '/p'],
    ['..', '/'],
    ['--root=./data', '--root=/p/data'],
    ['-r=../x', '-r=/x'],
    ['./a\nb', '/p/a\nb'],
    ['data', 'data'],
    ['.data', '.data'],
    ['...', '...'],
    ['/abs', '/abs'],
    ['--root=data', '--root=data'],
    ['a=./data', 'a=./data'],
    ['https://x/./y', 'https://x/./y'],
  ])('%j becomes %j', (given, expected) => {
    expect(argsFrom('/p', [given])).toEqual([expected])
  })
})

const stdio = (over: object = {}): ServerEntry => ({
  type: 'stdio',
  command: 'npx',
  args: ['server', './data'],
  env: {},
  ...over,
})
const http = (over: object = {}): ServerEntry => ({
  type: 'http',
  url: 'https://x/mcp',
  headers: {},
  ...over,
})
const project = source('mcp-json', 'project', { authorship: 'repository' })
const user = source('settings', 'user', { authorship: 'user' })
const input = (folderTrusted: boolean) => ({ root: '/p', neutralFolder: '/n', folderTrusted })

describe('where an entry starts', () => {
  const script = stdio({ command: 'node', args: ['server.js'] })
  const helper = http({ headersHelper: './token' })
  it.each<[string, ServerEntry, 'project' | 'user', 'user' | 'repository', boolean, boolean]>([
    ['of a repository', stdio(), 'project', 'repository', false, true],
    ['of a repository, trusted', stdio(), 'project', 'repository', true, true],
    ['of the user', stdio(), 'user', 'user', false, false],
    ['of the user, with a script', script, 'user', 'user', false, false],
    ['of the user, trusted', stdio(), 'user', 'user', true, true],
    ['added to the project', stdio(), 'project', 'user', false, false],
    ['added, trusted', stdio(), 'project', 'user', true, true],
    ['added, with a script', script, 'project', 'user', false, true],
    ['added, with a helper of the project', helper, 'project', 'user', false, true],
    [
      'added, with a helper and arguments',
      http({ headersHelper: ' node  token.js ' }),
      'project',
      'user',
      false,
      true,
    ],
    ['added, with another helper', http({ headersHelper: 'get-token' }), 'project', 'user', false, false],
    ['added, remote', http(), 'project', 'user', false, false],
    ['a helper of the user', helper, 'user', 'user', false, false],
  ])('%s', (_, entry, from, author, trusted, inProject) => {
    const written = from === 'project' ? project : user
    expect(startsIn(entry, written, author, input(trusted))).toBe(inProject)
    const placed = withStartFolder('s', entry, written, author, input(trusted))
    const folder = inProject ? '/p' : '/n/s'
    if (entry.type === 'stdio') expect(placed).toMatchObject({ cwd: folder })
    else
      expect(placed).toEqual(
        entry === helper || 'headersHelper' in entry ? { ...entry, helperCwd: folder } : entry,
      )
  })

  it('leaves the arguments alone unless the entry was added to the project and starts elsewhere', () => {
    const args = (from: 'project' | 'user', author: 'user' | 'repository', trusted: boolean) => {
      const placed = withStartFolder(
        's',
        stdio(),
        from === 'project' ? project : user,
        author,
        input(trusted),
      )
      return 'args' in placed ? placed.args : undefined
    }
    expect(args('project', 'user', false)).toEqual(['server', '/p/data'])
    expect(args('project', 'user', true)).toEqual(['server', './data'])
    expect(args('project', 'repository', false)).toEqual(['server', './data'])
    expect(args('user', 'user', false)).toEqual(['server', './data'])
  })

  it.each<[string, 'project' | 'user', 'user' | 'repository', boolean, string]>([
    ['of the user', 'user', 'user', false, '/n/s/sub'],
    ['of the user, trusted', 'user', 'user', true, '/p/sub'],
    ['of a repository', 'project', 'repository', false, '/p/sub'],
    ['added to the project', 'project', 'user', false, '/p/sub'],
  ])('a relative cwd %s', (_, from, author, trusted, expected) => {
    const written = from === 'project' ? project : user
    expect(withStartFolder('s', stdio({ cwd: 'sub' }), written, author, input(trusted))).toMatchObject({
      cwd: expected,
      args: ['server', './data'],
    })
    expect(withStartFolder('s', stdio({ cwd: '/abs' }), written, author, input(trusted))).toMatchObject({
      cwd: '/abs',
    })
  })

  it.each([
    ['plain_Name-1', 'plain_Name-1'],
    ['x'.repeat(64), 'x'.repeat(64)],
    ['node_modules_', 'node_modules_'],
    ['x'.repeat(65), undefined],
    ['node_modules', undefined],
    ['Node_Modules', undefined],
    ['../up', undefined],
    ['', undefined],
  ])('%j has a folder of its own', (name, expected) => {
    const placed = withStartFolder(name, stdio(), user, 'user', input(false))
    const folder = 'cwd' in placed ? String(placed.cwd) : ''
    if (expected !== undefined) expect(folder).toBe(`/n/${expected}`)
    else expect(folder).toMatch(/^\/n\/server-[0-9a-f]{16}$/)
  })
})

describe('the folder in which programs start', () => {
  let base: string
  beforeEach(() => {
    base = realpathSync(mkdtempSync(join(tmpdir(), 'plugboard-start-')))
    for (const folder of ['home', 'p']) mkdirSync(join(base, folder))
  })
  afterEach(() => rmSync(base, { recursive: true, force: true }))
  const at = (path: string) => join(base, path)
  const placeIn = (root: string, home = at('home')) => ({ root, home, platform: 'linux' as const, env: {} })

  /** The folder that a program is really started in. */
  const startedIn = (place: ReturnType<typeof placeIn>, cwd?: string) => {
    let given: unknown
    const record: typeof spawn = ((command: string, args: string[], options: { cwd?: unknown }) => {
      given = options.cwd
      return { command, args }
      // Only the options matter here.
    }) as unknown as typeof spawn
    const host = hostForPrograms(
      { ...systemHost({ home: place.home }), spawn: record as never },
      place,
      false,
    )
    host.spawn('true', [], { ...(cwd !== undefined && { cwd }) })
    return given
  }

  it('is made, for its owner alone, where it lies in the neutral folder; another is taken as it is', () => {
    const place = placeIn(at('p'))
    const neutral = neutralFolder(place)
    expect(startedIn(place)).toBe(neutral)
    expect(startedIn(place, join(neutral, 's'))).toBe(join(neutral, 's'))
    expect(statSync(join(neutral, 's')).mode & 0o777).toBe(0o700)
    expect(startedIn(place, at('p/none'))).toBe(at('p/none'))
  })

  it('loses the permissions that others have on it', () => {
    const place = placeIn(at('p'))
    const neutral = neutralFolder(place)
    mkdirSync(neutral, { recursive: true })
    for (const mode of [0o770, 0o707, 0o701, 0o710]) {
      chmodSync(neutral, mode)
      startedIn(place)
      expect(statSync(neutral).mode & 0o777).toBe(0o700)
    }
    chmodSync(neutral, 0o500)
    startedIn(place)
    expect(statSync(neutral).mode & 0o777).toBe(0o500)
  })

  it.each([
    'node_modules',
    'package.json',
    'Package.JSON',
    '.npmrc',
    'pyproject.toml',
    '.envrc',
    'site.py',
    'x.PTH',
    'x.pyc',
  ])('refuses one that holds %s, from which programs take code', (name) => {
    const place = placeIn(at('p'))
    const neutral = neutralFolder(place)
    mkdirSync(join(neutral, 's'), { recursive: true })
    writeFileSync(join(neutral, 's', name), '')
    expect(() => startedIn(place, join(neutral, 's'))).toThrow(`holds "${name}"`)
    // The one above is looked at too.
    mkdirSync(join(neutral, 't'))
    writeFileSync(join(neutral, name), '')
    expect(() => startedIn(place, join(neutral, 't'))).toThrow(`holds "${name}"`)
  })

  it('holds anything else', () => {
    const place = placeIn(at('p'))
    const neutral = neutralFolder(place)
    mkdirSync(neutral, { recursive: true })
    for (const name of ['notes.txt', 'py', 'happy', 'my-package.json']) writeFileSync(join(neutral, name), '')
    expect(startedIn(place)).toBe(neutral)
  })

  it('refuses a link, and says what is in the way of the folder', () => {
    const place = placeIn(at('p'))
    const neutral = neutralFolder(place)
    mkdirSync(at('home/.plugboard'))
    symlinkSync(at('p'), neutral)
    expect(() => startedIn(place)).toThrow('is a link')
    rmSync(neutral)
    writeFileSync(neutral, '')
    expect(() => startedIn(place, join(neutral, 's'))).toThrow(/could not be made \(E(?:EXIST|NOTDIR)\)/)
  })

  it.runIf(process.getuid?.() === 0)('refuses one of another account', () => {
    const place = placeIn(at('p'))
    const neutral = neutralFolder(place)
    mkdirSync(neutral, { recursive: true, mode: 0o700 })
    chownSync(neutral, 12345, 12345)
    expect(() => startedIn(place)).toThrow('belongs to another account')
  })

  it('is the root of the disk where nothing can be made, and where the project contains the home folder', () => {
    expect(startedIn(placeIn(at('p'), '/sys/none'))).toBe('/')
    expect(startedIn(placeIn(base))).toBe('/')
    // The home folder as the project is the user's own.
    expect(startedIn(placeIn(at('home')))).toBe(neutralFolder(placeIn(at('home'))))
  })

  it('keeps a separator of its platform in the PATH, and invents no path on Windows', () => {
    const windows = { ...placeIn(at('p')), platform: 'win32' as const }
    expect(childHostEnvironment({ Path: `${at('a')};.;${at('p/b')};${at('c')}` }, windows, false)).toEqual({
      Path: `${at('a')};${at('c')}`,
    })
    expect(childHostEnvironment({ PATH: '.' }, windows, false)).toEqual({ PATH: '' })
    expect(childHostEnvironment({ PATH: undefined, X: '.' }, windows, false)).toEqual({
      PATH: undefined,
      X: '.',
    })
  })

  it('leaves out a link to the project, and the projects around it, but not a root that is home to everything', () => {
    for (const folder of ['p/inner', 'p/bin', 'p/.git']) mkdirSync(at(folder))
    symlinkSync(at('p'), at('link'))
    const pathOf = (root: string, entry: string, home = at('home')) =>
      childHostEnvironment({ PATH: `${entry}:/usr/bin` }, placeIn(root, home), false)['PATH']
    expect(pathOf(at('p'), at('link/bin'))).toBe('/usr/bin')
    expect(pathOf(at('p/inner'), at('p/bin'))).toBe('/usr/bin')
    // A folder around the project that contains the home folder is no project around it.
    mkdirSync(at('.git'))
    expect(pathOf(at('p/inner'), at('bin'))).toBe(`${at('bin')}:/usr/bin`)
    expect(pathOf(at('p/inner'), at('bin'), '/elsewhere')).toBe('/usr/bin')
  })
})

describe('a command that is looked up', () => {
  let base: string
  beforeEach(() => {
    base = realpathSync(mkdtempSync(join(tmpdir(), 'plugboard-find-')))
  })
  afterEach(() => rmSync(base, { recursive: true, force: true }))

  it('is a file, not a folder of that name', () => {
    mkdirSync(join(base, 'a/tool'), { recursive: true })
    mkdirSync(join(base, 'b'))
    writeFileSync(join(base, 'b/tool'), '', { mode: 0o755 })
    const PATH = `${join(base, 'none')}:${join(base, 'a')}:${join(base, 'b')}`
    expect(findProgram('tool', { PATH }, undefined)).toBe(join(base, 'b/tool'))
    expect(findProgram('tool', { PATH: join(base, 'a') }, undefined)).toBe('/nonexistent/tool')
  })

  it('with a slash is taken from where it starts; an empty one stays empty; without a PATH the usual one counts', () => {
    expect(findProgram('x/tool', {}, '/p')).toBe('/p/x/tool')
    expect(findProgram('x/tool', {}, undefined)).toBe(join(process.cwd(), 'x/tool'))
    expect(findProgram('/x/tool', {}, '/p')).toBe('/x/tool')
    expect(findProgram('', { PATH: base }, '/p')).toBe('')
    expect(findProgram('sh', {}, '/p')).toMatch(/^(?:\/usr)?\/bin\/sh$/)
  })
})
