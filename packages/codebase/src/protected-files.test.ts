// What is not shown without a yes: hidden and ignored files and credentials, by any spelling of their path, through any tool.
import { execFileSync } from 'node:child_process'
import { mkdirSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { Client } from '@modelcontextprotocol/client'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { Codebase } from './codebase.ts'
import { eventually, type Scratch, scratch, textQuery } from './fixtures/test-folders.ts'
import { createCodebaseServer } from './index.ts'
import { holdsCredentials } from './protected-names.ts'

const SECRET = 'hunter2secret'
const isWindows = process.platform === 'win32'
let tree: Scratch
let cache: Scratch
beforeAll(() => {
  tree = scratch({
    '.gitignore': 'dist/\n*.log\n/local.txt\n!keep.log\n',
    '.env': SECRET,
    '.ENV.local': SECRET,
    '.ssh/id_rsa': SECRET,
    '.git-credentials': SECRET,
    'dist/out.js': SECRET,
    'dist/deep/er.js': SECRET,
    'debug.log': SECRET,
    'keep.log': 'kept\n',
    'local.txt': SECRET,
    'sub/local.txt': 'seen\n',
    'sub/.hidden/x.txt': SECRET,
    'certs/Server.PEM': SECRET,
    'certs/id_ed25519': SECRET,
    'certs/readme.md': '# Certificates\n',
    'prod.env': SECRET,
    'vault/state.json': SECRET,
    'odd [x]/a b!.txt': 'odd\n',
    'src/a.ts': 'export const a = 1\n',
  })
  execFileSync('git', ['init', '-q'], { cwd: tree.folder })
  mkdirSync(join(tree.folder, 'hollow'))
  symlinkSync('../.env', join(tree.folder, 'src', 'settings.txt'))
  symlinkSync('../dist', join(tree.folder, 'src', 'built'))
  symlinkSync('a.ts', join(tree.folder, 'src', 'b.ts'))
  cache = scratch()
})
afterAll(() => {
  tree.remove()
  cache.remove()
})

const PROTECTED = [
  '.env',
  './.env',
  './/.env',
  'src/../.env',
  '.ENV.local',
  '.git',
  '.git/config',
  '.git/',
  '.ssh/id_rsa',
  '.ssh',
  '.git-credentials',
  'dist',
  'dist/',
  'dist/.',
  'dist/out.js',
  'dist/deep/er.js',
  'debug.log',
  'local.txt',
  'sub/.hidden',
  'sub/.hidden/x.txt',
  'certs/Server.PEM',
  'certs/id_ed25519',
  'prod.env',
  'src/settings.txt',
  'src/built/out.js',
  'src/built',
  'vault/state.json',
  'vault',
]
const OPEN = [
  '.',
  './',
  'src',
  'src/a.ts',
  'src/b.ts',
  'keep.log',
  'sub/local.txt',
  'certs',
  'certs/readme.md',
  'odd [x]/a b!.txt',
  'hollow',
]

const codebase = (protectedFiles?: 'refuse' | 'gated' | 'allow') =>
  new Codebase({
    root: tree.folder,
    index: false,
    protectedFolders: [join(tree.folder, 'vault')],
    ...(protectedFiles && { protectedFiles }),
  })

describe.skipIf(isWindows)('a path', () => {
  it.each(PROTECTED)('%j is refused by every tool and resource, and needs a yes', async (path) => {
    const code = codebase()
    const refusal = { code: 'PROTECTED', hint: expect.stringContaining('--allow-ignored') }
    await expect(code.read(path, {})).rejects.toMatchObject(refusal)
    await expect(code.chunkFile(path)).rejects.toMatchObject(refusal)
    await expect(code.list(path, { depth: 1, glob: [] })).rejects.toMatchObject(refusal)
    await expect(code.searchCode(textQuery(SECRET, { path }))).rejects.toMatchObject(refusal)
    await expect(
      code.semanticSearch({ query: SECRET, mode: 'text', language: undefined, path, maxResults: 5 }),
    ).rejects.toMatchObject(refusal)
    await expect(code.readUngated(path)).rejects.toMatchObject(refusal)
    await expect(codebase('gated').readUngated(path)).rejects.toMatchObject(refusal)
    for (const [tool, args] of [
      ['read_file', { file_path: path }],
      ['chunk_file', { file_path: path }],
      ['chunk_files', { file_paths: ['src/a.ts', path] }],
      ['list_directory', { path }],
      ['search_code', { query: 'x', path }],
      ['search_by_embedding', { query: 'x', path }],
    ] as const)
      expect(await code.reasonToAsk(tool, args), tool).toContain(JSON.stringify(path))
  })

  it('as an absolute one inside the root is the same', async () => {
    const code = codebase()
    for (const path of PROTECTED)
      await expect(code.read(join(tree.folder, path), {}), path).rejects.toMatchObject({ code: 'PROTECTED' })
  })

  it.each(OPEN)('%j is open', async (path) => {
    const code = codebase()
    expect(await code.reasonToAsk('list_directory', { path })).toBeUndefined()
    expect(await code.reasonToAsk('read_file', { file_path: path })).toBeUndefined()
    await expect(code.list(path, { depth: 1, glob: [] }).catch(({ code: why }) => why)).resolves.not.toBe(
      'PROTECTED',
    )
  })

  it.each(['gated', 'allow'] as const)('that is protected is read when that is %s', async (mode) => {
    const code = codebase(mode)
    expect((await code.read('.env', {})).text).toBe(SECRET)
    expect((await code.read('dist/out.js', {})).text).toBe(SECRET)
    for (const path of ['.ssh', 'certs/Server.PEM', 'dist'])
      expect((await code.searchCode(textQuery(SECRET, { path }))).matches.length, path).toBeGreaterThan(0)
  })

  it('that does not exist has its own error, and no question', async () => {
    const code = codebase()
    for (const path of ['.envy', '../x', '/etc/passwd', 'a\0b', 'x'.repeat(5000)]) {
      expect(await code.reasonToAsk('read_file', { file_path: path })).toBeUndefined()
      await expect(code.read(path, {})).rejects.toMatchObject({
        code: expect.stringMatching(/^(NOT_FOUND|OUTSIDE_ROOT|BAD_INPUT)$/),
      })
    }
  })
})

describe('a search without a path', () => {
  it.each([true, false])(
    'never shows a secret, whatever its glob (index: %s)',
    async (index) => {
      for (let n = 0; index && n < 420; n++) tree.write(`many/f${n}.txt`, `file ${n}\n`)
      const code = new Codebase({
        root: tree.folder,
        cacheDir: cache.folder,
        index,
        embeddings: { kind: 'none' },
        protectedFiles: 'allow',
      })
      if (index) {
        await code.searchCode(textQuery('kept'))
        await eventually(async () => (await code.status()).text.state === 'ready', 'the index', 60_000)
      }
      for (const glob of [[], ['*'], ['**/*'], ['.env'], ['.*/**'], ['*.pem', '*.PEM'], ['dist/**'], ['!x']])
        for (const regex of [false, true]) {
          const { matches } = await code.searchCode(textQuery(SECRET, { glob, regex }))
          // The vault is an ordinary folder here: none is named as protected.
          expect(
            matches.map(({ file_path }) => file_path).filter((path) => path !== 'vault/state.json'),
          ).toEqual([])
        }
      expect((await code.searchCode(textQuery('export', { glob: ['*.ts'] }))).matches).toHaveLength(1)
      const meaning = {
        query: SECRET,
        mode: 'text',
        language: undefined,
        path: undefined,
        maxResults: 50,
      } as const
      const { results } = await code.semanticSearch(meaning)
      expect(
        results.filter(({ text, file_path }) => text.includes(SECRET) && file_path !== 'vault/state.json'),
      ).toEqual([])
      const names = await code.fileList()
      expect(names).toEqual(expect.arrayContaining(['src/a.ts', 'keep.log']))
      expect(names.filter((name) => /env|pem|dist|id_|debug|\/\./i.test(name))).toEqual([])
      const listed = await code.list('.', { depth: 5, glob: ['**/*.js', '.env', '.git/**', '*.log'] })
      expect(listed.entries.map(({ path }) => path)).toEqual(['keep.log'])
      await code.close()
    },
    90_000,
  )
})

it('a resource is refused too, even where the calling program asks about tools', async () => {
  const server = createCodebaseServer({ root: tree.folder, index: false, protectedFiles: 'gated' })
  const client = new Client({ name: 'test', version: '1' })
  await client.connect(server.inProcess())
  for (const path of ['.env', '%2eenv', './.env', 'dist/out.js', 'src/settings.txt', 'certs/Server.PEM'])
    await expect(client.readResource({ uri: `codebase://file/${path}` }), path).rejects.toMatchObject({
      code: -32602,
    })
  expect(await client.readResource({ uri: 'codebase://file/src/a.ts' })).toMatchObject({
    contents: [{ text: expect.stringContaining('export') }],
  })
  await client.close()
  await server.close()
})

it.each([
  ['a/server.pem', true],
  ['a/SERVER.Key', true],
  ['id_rsa', true],
  ['id_work', true],
  ['id_rsa.pub', false],
  ['id_generator.py', false],
  ['terraform.tfstate.backup', true],
  ['prod.env', true],
  ['environment.ts', false],
  ['env.ts', false],
  ['secrets.yaml', true],
  ['secrets.ts', false],
  ['client_secret_123.json', true],
  ['keyboard.ts', false],
  ['monkey', false],
])('%s holds credentials by its name: %s', (name, expected) => {
  expect(holdsCredentials(name)).toBe(expected)
})
