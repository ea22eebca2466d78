// biome-ignore-all lint/suspicious/noTemplateCurlyInString: variables of configuration files are the subject here.
import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, readdir, readFile, rm, stat, symlink, utimes, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { deflateRawSync } from 'node:zlib'
import { build } from 'esbuild'
import fc from 'fast-check'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { systemHost } from '../../host.ts'
import { BUNDLE_CACHE_LIMITS, BUNDLE_LIMITS } from '../../limits.ts'
import { crc32 } from './crc32.ts'
import { type BundleContext, readPlugins } from './index.ts'
import { readManifest } from './manifest.ts'

let top: string
let dir: string
let count = 0
beforeAll(async () => {
  top = await mkdtemp(join(tmpdir(), 'plugboard-plugins-'))
})
afterAll(() => rm(top, { recursive: true, force: true }))
beforeEach(async () => {
  dir = join(top, String(count++))
  await mkdir(dir)
})

const context = (over: Partial<BundleContext> = {}): BundleContext => ({
  cacheDir: join(dir, 'cache'),
  host: systemHost({ home: '/home/me', platform: 'linux' }),
  ...over,
})

async function put(path: string, content: unknown): Promise<string> {
  const file = join(dir, path)
  await mkdir(join(file, '..'), { recursive: true })
  await writeFile(
    file,
    content instanceof Buffer || typeof content === 'string' ? content : JSON.stringify(content),
  )
  return file
}

describe('a plugin folder', () => {
  it('gives the servers of its .mcp.json, wrapped or flat, with the plugin’s folder filled in', async () => {
    await put('a/.mcp.json', {
      mcpServers: {
        db: {
          command: '${CLAUDE_PLUGIN_ROOT}/bin/db',
          args: ['--x', '${PLUGBOARD_PLUGIN_ROOT}/c.json', '${DB_URL}'],
        },
      },
    })
    await put('b/.mcp.json', '{\n  "$schema": "s",\n  // flat\n  "Flat Name": { "command": "x" },\n}')
    const [a, b] = await readPlugins([join(dir, 'a'), join(dir, 'b')], context())
    expect(a?.source).toBe(join(dir, 'a', '.mcp.json'))
    expect(a?.servers.get('db')?.value).toEqual({
      command: join(dir, 'a', 'bin/db'),
      args: ['--x', join(dir, 'a', 'c.json'), '${DB_URL}'],
    })
    expect([...(b?.servers ?? [])]).toEqual([['Flat Name', { value: { command: 'x' }, line: 4, column: 16 }]])
    expect([a?.diagnostics, b?.diagnostics]).toEqual([[], []])
  })

  it('gives the servers of its manifest: inline, by path, or a list of both', async () => {
    await put('inline/.claude-plugin/plugin.json', {
      name: 'p',
      mcpServers: { api: { command: '${CLAUDE_PLUGIN_ROOT}/s' } },
    })
    await put('path/plugin.json', { name: 'p', mcpServers: './conf/servers.json' })
    await put('path/conf/servers.json', { mcpServers: { other: { command: 'o' } } })
    await put('list/plugin.json', { mcpServers: ['./one.json', { two: { command: '2' } }] })
    await put('list/one.json', { one: { command: '1' } })
    await put('none/plugin.json', { name: 'only commands' })
    const documents = await readPlugins(
      ['inline', 'path', 'list', 'none'].map((name) => join(dir, name)),
      context(),
    )
    const servers = documents.flatMap((document) =>
      [...document.servers].map(([name, { value }]) => [name, value]),
    )
    expect(Object.fromEntries(servers)).toEqual({
      api: { command: join(dir, 'inline', 's') },
      other: { command: 'o' },
      one: { command: '1' },
      two: { command: '2' },
    })
    expect(documents.flatMap(({ diagnostics }) => diagnostics)).toEqual([])
  })

  it('keeps the first of two servers with one name, and says so', async () => {
    await put('p/.mcp.json', { same: { command: 'first' } })
    await put('p/plugin.json', { mcpServers: { same: { command: 'second' } } })
    const [first, second] = await readPlugins([join(dir, 'p')], context())
    expect(first?.servers.get('same')?.value).toEqual({ command: 'first' })
    expect(second?.servers.size).toBe(0)
    expect(second?.diagnostics).toMatchObject([{ severity: 'warning', server: 'same' }])
  })

  it('refuses a path that leads out of the plugin, by dots, absolutely or by a link', async () => {
    const outside = await put('outside.json', { evil: { command: 'x' } })
    await put('dots/plugin.json', { mcpServers: '../outside.json' })
    await put('absolute/plugin.json', { mcpServers: outside })
    await put('link/plugin.json', { mcpServers: './inside.json' })
    await symlink(outside, join(dir, 'link', 'inside.json'))
    for (const name of ['dots', 'absolute', 'link']) {
      const [document] = await readPlugins([join(dir, name)], context())
      expect(document?.servers.size, name).toBe(0)
      expect(document?.diagnostics, name).toMatchObject([{ severity: 'error', path: 'mcpServers' }])
    }
  })

  it('says what is wrong, with the place, and goes on with the others', async () => {
    await put('broken/.mcp.json', '{\n  "mcpServers": {,}\n}')
    await put('wrong/plugin.json', { mcpServers: 5 })
    await put('list/.mcp.json', '[]')
    await put('proto/.mcp.json', '{"mcpServers":{"__proto__":{"command":"evil"},"ok":{"command":"x"}}}')
    await mkdir(join(dir, 'folder', '.mcp.json'), { recursive: true })
    await mkdir(join(dir, 'empty'))
    await put('good/.mcp.json', { good: { command: 'x' } })
    const names = ['broken', 'wrong', 'list', 'proto', 'folder', 'empty', 'missing', 'good', 'good/.mcp.json']
    const documents = await readPlugins(
      names.map((name) => join(dir, name)),
      context(),
    )
    expect(documents.map(({ diagnostics }) => diagnostics.map(({ severity }) => severity).join())).toEqual([
      'error',
      'error',
      'error',
      'error',
      'error',
      'warning',
      'error',
      '',
      'error',
    ])
    expect(documents[0]?.diagnostics[0]).toMatchObject({ line: 2, file: join(dir, 'broken', '.mcp.json') })
    expect(documents.flatMap(({ servers }) => [...servers.keys()])).toEqual(['ok', 'good'])
  })

  it('knows the line of each of thousands of servers', async () => {
    const lines = Array.from({ length: 20_000 }, (_, index) => `  "s${index}": { "command": "x" }`)
    await put('p/.mcp.json', `{\n${lines.join(',\n')}\n}`)
    const [document] = await readPlugins([join(dir, 'p')], context())
    expect(document?.servers.get('s0')).toMatchObject({ line: 2, column: 9 })
    expect(document?.servers.get('s19999')).toMatchObject({ line: 20_001, column: 13 })
  })

  it('takes a bundle that the manifest points to', async () => {
    await put('p/plugin.json', { mcpServers: './s.mcpb' })
    await put('p/s.mcpb', zip([{ name: 'manifest.json', data: JSON.stringify(manifest()) }]))
    const [document] = await readPlugins([join(dir, 'p')], context())
    expect(document?.diagnostics).toEqual([])
    expect([...(document?.servers.keys() ?? [])]).toEqual(['hello'])
  })
})

const manifest = (over: object = {}) => ({
  manifest_version: '0.3',
  name: 'hello',
  version: '1.0.0',
  description: 'Says hello',
  author: { name: 'A' },
  server: {
    type: 'node',
    entry_point: 'server/index.js',
    mcp_config: {
      command: 'node',
      args: ['${__dirname}/server/index.js'],
      env: { H: '${HOME}', P: '${PATH}' },
    },
  },
  ...over,
})

const sound = () => [
  { name: 'manifest.json', data: JSON.stringify(manifest()) },
  { name: 'server/', data: '' },
  { name: 'server/index.js', data: 'console.log(1)\n'.repeat(50) },
  { name: 'server/run', data: '#!/bin/sh\n', mode: 0o100755 },
  { name: 'server/suid', data: 'x', mode: 0o104777 },
]

async function readOne(archive: Buffer, over: Partial<BundleContext> = {}) {
  const file = await put('bundle.mcpb', archive)
  const [document] = await readPlugins([file], context(over))
  if (!document) throw new Error('no document')
  const [server] = document.servers
  return {
    document,
    file,
    name: server?.[0],
    entry: server?.[1].value as Record<string, unknown> | undefined,
  }
}

const bundles = async () => readdir(join(dir, 'cache', 'bundles')).catch(() => [])

describe('a bundle', () => {
  it('is unpacked under the hash of its archive, with nothing but the executable bit kept', async () => {
    const archive = zip(sound())
    const { document, entry, name } = await readOne(archive)
    const folder = join(dir, 'cache', 'bundles', createHash('sha256').update(archive).digest('hex'))
    expect(document.diagnostics).toEqual([])
    expect(name).toBe('hello')
    expect(entry).toEqual({
      command: 'node',
      args: [`${folder}/server/index.js`],
      env: { H: '/home/me', P: '${PATH}' },
      cwd: folder,
      description: 'Says hello',
    })
    expect(await readFile(join(folder, 'server/index.js'), 'utf8')).toBe('console.log(1)\n'.repeat(50))
    const mode = async (path: string) => (await stat(join(folder, path))).mode & 0o7777
    expect([
      await mode('server/index.js'),
      await mode('server/run'),
      await mode('server/suid'),
      await mode('server'),
    ]).toEqual([0o600, 0o700, 0o700, 0o700])
    expect(await bundles()).toEqual([createHash('sha256').update(archive).digest('hex')])
  })

  it('is found again without unpacking, also as .dxt and elsewhere', async () => {
    const archive = zip(sound())
    const { entry } = await readOne(archive)
    const marker = join(String(entry?.cwd), 'server', 'index.js')
    await writeFile(marker, 'kept')
    const before = await stat(join(dir, 'cache', 'bundles'))
    const again = await readPlugins([await put('elsewhere/b.dxt', archive)], context())
    expect(again[0]?.servers.get('hello')?.value).toEqual(entry)
    expect(await readFile(marker, 'utf8')).toBe('kept')
    // No temporary folder came and went either.
    expect((await stat(join(dir, 'cache', 'bundles'))).mtimeMs).toBe(before.mtimeMs)
  })

  it('is unpacked once when several ask at the same time', async () => {
    const file = await put('b.mcpb', zip(sound()))
    const answers = await Promise.all(Array.from({ length: 8 }, () => readPlugins([file], context())))
    for (const [document] of answers) expect(document?.diagnostics).toEqual([])
    expect(new Set(answers.map(([document]) => JSON.stringify([...(document?.servers ?? [])]))).size).toBe(1)
    expect(await bundles()).toHaveLength(1)
  })

  it('clears away what a crash left behind, and not what is under way', async () => {
    const old = join(dir, 'cache', 'bundles', '.draft-1-old')
    const fresh = join(dir, 'cache', 'bundles', '.draft-1-new')
    await mkdir(join(old, 'content'), { recursive: true })
    await mkdir(fresh)
    await utimes(old, new Date(0), new Date(0))
    await readOne(zip(sound()))
    expect([existsSync(old), existsSync(fresh)]).toEqual([false, true])
  })

  it('gives the entry point of a binary server the bit it needs', async () => {
    const server = { type: 'binary', entry_point: 'bin/tool', mcp_config: { command: 'bin/tool' } }
    const { entry } = await readOne(
      zip([
        { name: 'manifest.json', data: JSON.stringify(manifest({ server })) },
        { name: 'bin/tool', data: 'x', mode: 0 },
      ]),
    )
    expect(entry?.command).toBe(join(String(entry?.cwd), 'bin/tool'))
    expect((await stat(String(entry?.command))).mode & 0o777).toBe(0o700)
  })

  it('stops when asked to', async () => {
    const file = await put('b.mcpb', zip(sound()))
    await expect(readPlugins([file], context({ signal: AbortSignal.abort() }))).rejects.toMatchObject({
      code: 'CANCELLED',
    })
    expect(await bundles()).toEqual([])
  })

  it('reports a cache folder that cannot be written', async () => {
    await put('cache', 'a file in the way')
    const { document } = await readOne(zip(sound()))
    expect(document.diagnostics).toMatchObject([{ severity: 'error' }])
  })
})

it('keeps the cache of unpacked bundles within its limit: the ones not used for longest go', async () => {
  const { keptBundles } = BUNDLE_CACHE_LIMITS
  const bundles = join(dir, 'cache', 'bundles')
  for (let n = 0; n < keptBundles + 10; n++) {
    const folder = join(bundles, `old${n}`)
    await mkdir(folder, { recursive: true })
    const used = new Date(Date.UTC(2026, 0, 1) + n * 1000)
    await utimes(folder, used, used)
  }
  await mkdir(join(bundles, 'running'))
  await readOne(zip(sound()))
  const left = await readdir(bundles)
  expect(left).toContain('running')
  expect(left).not.toContain('old0')
  expect(left).toContain(`old${keptBundles + 9}`)
  expect(left.length).toBeLessThanOrEqual(keptBundles + 1)
})

it('computes the check sum that every zip program computes', () => {
  expect(crc32(Buffer.from('123456789'))).toBe(0xcbf43926)
  expect(crc32(Buffer.from('6789'), crc32(Buffer.from('12345')))).toBe(0xcbf43926)
})

describe('a bundle between processes', () => {
  const FILES = 500
  const large = () =>
    zip([
      ...sound(),
      ...Array.from({ length: FILES }, (_, index) => ({ name: `lib/f${index}.js`, data: `file ${index}` })),
    ])
  let script: string
  beforeAll(async () => {
    script = join(top, 'unpack.cjs')
    await build({
      stdin: {
        contents: `import { unpackArchive } from './unpack.ts'
          unpackArchive(process.argv[2], process.argv[3]).then((folder) => process.stdout.write(folder))`,
        resolveDir: fileURLToPath(new URL('.', import.meta.url)),
        loader: 'ts',
      },
      bundle: true,
      platform: 'node',
      format: 'cjs',
      outfile: script,
      logLevel: 'error',
    })
  })
  const start = (file: string) => {
    const child = spawn(process.execPath, [script, file, join(dir, 'cache', 'bundles')], {
      stdio: ['ignore', 'pipe', 'inherit'],
      timeout: 15_000,
    })
    const output = new Promise<string>((done) => {
      let text = ''
      child.stdout.on('data', (chunk) => {
        text += chunk
      })
      child.on('close', () => done(text))
    })
    return { child, output }
  }

  it('is whole for everyone when several unpack it at once', async () => {
    const file = await put('b.mcpb', large())
    const folders = await Promise.all([1, 2, 3].map(() => start(file).output))
    expect(new Set(folders).size).toBe(1)
    expect(await readdir(join(folders[0] ?? '', 'lib'))).toHaveLength(FILES)
    expect(await bundles()).toHaveLength(1)
  })

  it('does not appear when its process is killed in the middle, and is whole the next time', async () => {
    const archive = large()
    const file = await put('b.mcpb', archive)
    const { child, output } = start(file)
    const begun = async () => {
      const [draft] = await bundles()
      return (
        draft !== undefined && existsSync(join(dir, 'cache', 'bundles', draft, 'content', 'lib', 'f5.js'))
      )
    }
    const deadline = Date.now() + 10_000
    while (!(await begun()) && child.exitCode === null && Date.now() < deadline)
      await new Promise((done) => setTimeout(done, 1))
    child.kill('SIGKILL')
    await output
    const hash = createHash('sha256').update(archive).digest('hex')
    expect(await bundles()).not.toContain(hash)
    const [document] = await readPlugins([file], context())
    expect(document?.diagnostics).toEqual([])
    expect(await readdir(join(dir, 'cache', 'bundles', hash, 'lib'))).toHaveLength(FILES)
  })
})

describe('a hostile bundle', () => {
  const ok = { name: 'manifest.json', data: JSON.stringify(manifest()) }
  const cases: readonly (readonly [string, () => Buffer, RegExp])[] = [
    ['a name that climbs out', () => zip([ok, { name: '../evil', data: 'x' }]), /refused/],
    ['a name that climbs out from inside', () => zip([ok, { name: 'a/../../evil', data: 'x' }]), /refused/],
    ['an absolute name', () => zip([ok, { name: '/etc/evil', data: 'x' }]), /refused/],
    ['a drive letter', () => zip([ok, { name: 'C:/evil', data: 'x' }]), /refused/],
    ['a backslash', () => zip([ok, { name: '..\\evil', data: 'x' }]), /refused/],
    ['a NUL in a name', () => zip([ok, { name: 'a\0b', data: 'x' }]), /refused/],
    ['an empty part', () => zip([ok, { name: 'a//b', data: 'x' }]), /refused/],
    ['a dot as part', () => zip([ok, { name: './a', data: 'x' }]), /refused/],
    ['a device of Windows', () => zip([ok, { name: 'a/NUL.txt', data: 'x' }]), /refused/],
    ['a name Windows would shorten', () => zip([ok, { name: 'a. /b', data: 'x' }]), /refused/],
    ['a name beyond measure', () => zip([ok, { name: `a${'/'.repeat(60_000)}b`, data: 'x' }]), /too long/],
    [
      'a symbolic link',
      () => zip([ok, { name: 'link', data: '/etc/passwd', mode: 0o120777 }]),
      /link or a device/,
    ],
    ['a device', () => zip([ok, { name: 'dev', data: '', mode: 0o020666 }]), /link or a device/],
    ['a pipe', () => zip([ok, { name: 'pipe', data: '', mode: 0o010666 }]), /link or a device/],
    ['the same name twice', () => zip([ok, { name: 'a', data: '1' }, { name: 'a', data: '2' }]), /twice/],
    [
      'names that differ in case only',
      () => zip([ok, { name: 'A', data: '1' }, { name: 'a', data: '2' }]),
      /twice/,
    ],
    [
      'names that differ in composition only',
      () => zip([ok, { name: 'é', data: '1' }, { name: 'e\u0301', data: '2' }]),
      /twice/,
    ],
    ['a second manifest in other letters', () => zip([ok, { name: 'MANIFEST.json', data: '{}' }]), /twice/],
    [
      'a file that is a folder too',
      () => zip([ok, { name: 'a', data: '1' }, { name: 'a/b', data: '2' }]),
      /file and a folder/,
    ],
    [
      'a folder that is a file too',
      () => zip([ok, { name: 'a/', data: '' }, { name: 'A', data: '2' }]),
      /file and a folder/,
    ],
    ['no manifest', () => zip([{ name: 'x', data: 'x' }]), /no manifest/],
    ['an encrypted entry', () => zip([ok, { name: 'x', data: 'x', flags: 1 }]), /encrypted/],
    [
      'a broken stream',
      () => zip([ok, { name: 'x', data: 'x'.repeat(100), raw: Buffer.from('not deflate at all') }]),
      /not a readable zip/,
    ],
    [
      'bytes changed on the way',
      () => zip([ok, { name: 'x', data: 'right', raw: Buffer.from('wrong'), stored: true }]),
      /damaged/,
    ],
    [
      'a size that lies low',
      () => zip([ok, { name: 'x', data: 'x'.repeat(5000), claim: 10 }]),
      /not a readable zip/,
    ],
    ['a size that lies high', () => zip([ok, { name: 'x', data: 'x', claim: 5000 }]), /not a readable zip/],
    [
      'entries that share their bytes',
      () => zip([ok, { name: 'x', data: 'x'.repeat(100) }, { name: 'y', data: '', sameAs: 'x' }]),
      /overlap/,
    ],
    ['text that is no zip', () => Buffer.from('hello'), /not a readable zip/],
    ['nothing at all', () => Buffer.alloc(0), /not a readable zip/],
    [
      'half a zip',
      () => {
        const whole = zip(sound())
        return whole.subarray(0, whole.length / 2)
      },
      /not a readable zip/,
    ],
  ]

  it.each(cases)('with %s is refused and leaves nothing', async (_what, make, reason) => {
    const { document } = await readOne(make())
    expect(document.servers.size).toBe(0)
    expect(document.diagnostics).toMatchObject([{ severity: 'error' }])
    expect(document.diagnostics[0]?.message).toMatch(reason)
    expect(await bundles()).toEqual([])
    expect(await readdir(dir)).not.toContain('evil')
  })

  const limits = {
    ...BUNDLE_LIMITS,
    unpackedBytes: 100_000,
    files: 20,
    manifestBytes: 5000,
    archiveBytes: 50_000,
  }

  it('that claims too much is refused before anything is written', async () => {
    const { document } = await readOne(zip([ok, { name: 'x', data: '0'.repeat(200_000) }]), { limits })
    expect(document.diagnostics[0]?.message).toMatch(/larger than/)
    expect(await bundles()).toEqual([])
  })

  it('that unpacks to more than it claims is stopped by what really comes out', async () => {
    const bomb = zip([ok, { name: 'x', data: '0'.repeat(30_000_000), claim: 50 }])
    const { document } = await readOne(bomb, { limits })
    expect(document.diagnostics[0]?.message).toMatch(/refused/)
    expect(await bundles()).toEqual([])
  })

  it('with too many files, too large a manifest or too large itself is refused', async () => {
    const many = zip([ok, ...Array.from({ length: 30 }, (_, index) => ({ name: `f${index}`, data: '' }))])
    expect((await readOne(many, { limits })).document.diagnostics[0]?.message).toMatch(/more than 20 files/)
    const wordy = zip([{ name: 'manifest.json', data: JSON.stringify(manifest({ long: 'x'.repeat(6000) })) }])
    expect((await readOne(wordy, { limits })).document.diagnostics[0]?.message).toMatch(/manifest is larger/)
    const large = zip([
      ok,
      {
        name: 'x',
        data: Buffer.from(Array.from({ length: 60_000 }, (_, i) => (i * 7919) >> 3)),
        stored: true,
      },
    ])
    expect((await readOne(large, { limits })).document.diagnostics[0]?.message).toMatch(/larger than/)
    expect(await bundles()).toEqual([])
  })

  it('with bytes changed at random is read or refused, and leaves no half of itself', async () => {
    const whole = zip(sound())
    const byte = fc.tuple(fc.nat(whole.length - 1), fc.integer({ min: 0, max: 255 }))
    await fc.assert(
      fc.asyncProperty(fc.array(byte, { minLength: 1, maxLength: 6 }), async (changes) => {
        const broken = Buffer.from(whole)
        for (const [at, value] of changes) broken[at] = value
        const { document } = await readOne(broken)
        expect(document.servers.size + document.diagnostics.length).toBeGreaterThan(0)
        for (const name of await bundles()) expect(name).toMatch(/^[0-9a-f]{64}$/)
        expect((await readdir(dir)).sort()).toEqual(expect.arrayContaining(['bundle.mcpb']))
      }),
      { numRuns: 150 },
    )
    expect((await readdir(dir)).filter((name) => name !== 'cache')).toEqual(['bundle.mcpb'])
  })

  it('with a broken manifest gives a diagnostic and no server', async () => {
    for (const data of [
      '',
      '{',
      '[]',
      '{}',
      '{"name":"x"}',
      '{"name":"x","server":{"type":"perl"}}',
      '[['.repeat(100_000),
    ]) {
      const { document } = await readOne(zip([{ name: 'manifest.json', data }]))
      expect(document.servers.size, data.slice(0, 40)).toBe(0)
      expect(document.diagnostics, data.slice(0, 40)).toMatchObject([{ severity: 'error' }])
    }
  })
})

describe('the manifest of a bundle', () => {
  const place = { file: '/b.mcpb', folder: '/cache/b', home: '/home/me', platform: 'linux' } as const
  const read = (
    over: object,
    values = {},
    at: Partial<{ platform: NodeJS.Platform; folder: string }> = {},
  ) => {
    const { server, diagnostics } = readManifest(manifest(over), values, { ...place, ...at })
    return { entry: server?.entry as Record<string, unknown> | undefined, diagnostics }
  }
  const files = {
    server: {
      type: 'node',
      mcp_config: {
        command: 'node',
        args: ['x.js', '${user_config.dirs}', '--max=${user_config.max}', '${user_config.optional}'],
        env: { KEY: '${user_config.key}', OPT: '${user_config.optional}', DIRS: '${user_config.dirs}' },
      },
    },
    user_config: {
      dirs: {
        type: 'directory',
        title: 'Folders',
        multiple: true,
        required: true,
        default: ['${HOME}/Desktop', '${DOCUMENTS}'],
      },
      key: { type: 'string', title: 'API Key', sensitive: true, required: true },
      max: { type: 'number', default: 10, min: 1, max: 100 },
      optional: { type: 'string' },
    },
  }

  it('takes values from the user, and the author’s defaults otherwise', () => {
    const { entry, diagnostics } = read(files, { key: '${MY_KEY}' })
    expect(diagnostics).toEqual([])
    expect(entry).toMatchObject({
      args: ['x.js', '/home/me/Desktop', '/home/me/Documents', '--max=10'],
      env: { KEY: '${MY_KEY}', DIRS: '/home/me/Desktop,/home/me/Documents' },
    })
    expect(entry?.disabled).toBeUndefined()
    expect(read(files, { key: 'k', dirs: ['/a b', '${HOME}/c'], max: 7, optional: 'o' }).entry).toMatchObject(
      {
        args: ['x.js', '/a b', '${HOME}/c', '--max=7', 'o'],
        env: { KEY: 'k', OPT: 'o' },
      },
    )
  })

  it('names a value that is missing or wrong, and keeps the server from starting half set up', () => {
    const missing = read(files)
    expect(missing.entry?.disabled).toBe(true)
    expect(missing.diagnostics).toMatchObject([{ severity: 'error', path: 'user_config.key' }])
    expect(missing.diagnostics[0]?.message).toContain('API Key')
    const wrong = read(files, { key: 5, max: 1000, dirs: [1], stray: 's3cret' })
    expect(wrong.diagnostics.map(({ path, severity }) => `${severity} ${path}`)).toEqual([
      'error user_config.dirs',
      'error user_config.key',
      'error user_config.max',
      'warning user_config.stray',
    ])
    expect(JSON.stringify(wrong.diagnostics)).not.toContain('s3cret')
  })

  it('follows the overrides for the platform', () => {
    const server = {
      type: 'binary',
      entry_point: 'server/tool',
      mcp_config: {
        command: 'server/tool',
        args: ['a'],
        env: { A: '1', B: '1' },
        platform_overrides: { win32: { args: ['w'], env: { B: '2' } } },
      },
    }
    expect(read({ server }).entry).toMatchObject({
      command: '/cache/b/server/tool',
      args: ['a'],
      env: { A: '1', B: '1' },
    })
    expect(read({ server }, {}, { platform: 'win32', folder: 'C:\\b' }).entry).toMatchObject({
      command: 'C:\\b\\server\\tool.exe',
      args: ['w'],
      env: { A: '1', B: '2' },
    })
  })

  it('knows how to start each type that does not say', () => {
    const start = (type: string) => read({ server: { type, entry_point: 'src/server.py' } }).entry
    expect(start('uv')).toMatchObject({
      command: 'uv',
      args: ['run', '--directory', '/cache/b', 'src/server.py'],
    })
    expect(start('python')).toMatchObject({ command: 'python3', args: ['/cache/b/src/server.py'] })
    expect(start('node')).toMatchObject({ command: 'node', args: ['/cache/b/src/server.py'] })
    expect(start('binary')).toMatchObject({ command: '/cache/b/src/server.py', args: [] })
    for (const entry_point of ['../out.py', '/abs.py', 'C:\\x.py', 'a\\b', '', 5])
      expect(read({ server: { type: 'python', entry_point } }).entry, String(entry_point)).toBeUndefined()
  })

  it('lists a bundle for other platforms as disabled', () => {
    const { entry, diagnostics } = read({ compatibility: { platforms: ['darwin'] } })
    expect(entry?.disabled).toBe(true)
    expect(diagnostics).toMatchObject([{ path: 'compatibility.platforms' }])
  })

  it('warns of a setting that is used and not defined, and reads the older dxt_version', () => {
    const server = { type: 'node', mcp_config: { command: 'node', args: ['${user_config.ghost}'] } }
    const { entry, diagnostics } = read({ server, manifest_version: undefined, dxt_version: '0.1' })
    expect(entry?.args).toEqual([])
    expect(diagnostics).toMatchObject([{ severity: 'warning', path: 'user_config.ghost' }])
  })
})

interface Item {
  readonly name: string
  readonly data: string | Buffer
  readonly mode?: number
  readonly flags?: number
  /** The size in the headers, right or wrong. */
  readonly claim?: number
  /** Compressed bytes to write instead of the real ones. */
  readonly raw?: Buffer
  readonly stored?: boolean
  /** Point at the bytes of an earlier entry. */
  readonly sameAs?: string
}

/** A zip, byte by byte, because a library would refuse to write most of these. */
function zip(items: readonly Item[]): Buffer {
  const parts: Buffer[] = []
  const central: Buffer[] = []
  const written = new Map<string, { offset: number; packed: number }>()
  let offset = 0
  for (const { name, data, mode = 0o100644, flags = 0, claim, raw, stored, sameAs } of items) {
    const bytes = Buffer.from(data)
    const packed = raw ?? (stored ? bytes : deflateRawSync(bytes))
    const fileName = Buffer.from(name)
    const shared = sameAs === undefined ? undefined : written.get(sameAs)
    const common = Buffer.alloc(26)
    common.writeUInt16LE(20, 0)
    common.writeUInt16LE(flags | 0x800, 2)
    common.writeUInt16LE(stored ? 0 : 8, 4)
    common.writeUInt32LE(crc32(bytes), 10)
    common.writeUInt32LE(shared?.packed ?? packed.length, 14)
    common.writeUInt32LE(claim ?? bytes.length, 18)
    common.writeUInt16LE(fileName.length, 22)
    const directory = Buffer.alloc(14)
    directory.writeUInt32LE((name.endsWith('/') && mode === 0o100644 ? 0o040755 : mode) * 65536, 6)
    directory.writeUInt32LE(shared?.offset ?? offset, 10)
    central.push(Buffer.from([0x50, 0x4b, 1, 2, 63, 3]), common, directory, fileName)
    if (shared) continue
    written.set(name, { offset, packed: packed.length })
    const local = [Buffer.from([0x50, 0x4b, 3, 4]), common, fileName, packed]
    parts.push(...local)
    offset += local.reduce((sum, part) => sum + part.length, 0)
  }
  const directory = Buffer.concat(central)
  const end = Buffer.alloc(22)
  end.writeUInt32LE(0x06054b50, 0)
  end.writeUInt16LE(items.length, 8)
  end.writeUInt16LE(items.length, 10)
  end.writeUInt32LE(directory.length, 12)
  end.writeUInt32LE(offset, 16)
  return Buffer.concat([...parts, directory, end])
}
