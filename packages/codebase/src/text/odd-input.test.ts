// search_code in a hostile tree: what is not a file, what is too large, what vanishes, and a root that is removed.
import { execFileSync } from 'node:child_process'
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { Codebase } from '../codebase.ts'
import { eventually, type Scratch, scratch, textQuery } from '../fixtures/test-folders.ts'

const isWindows = process.platform === 'win32'
let tree: Scratch
let cache: Scratch
let code: Codebase
beforeAll(async () => {
  tree = scratch({
    'latin1.txt': Buffer.from('caf\xe9 walrus\n', 'latin1'),
    'new\nline "quoted".txt': 'walrus in an odd name\n',
    'sub/back\\slash.txt': 'walrus\n',
    'long.txt': `walrus ${'x'.repeat(20_000)}\n`,
  })
  for (let n = 0; n < 450; n++) tree.write(`d${n % 9}/f${n}.txt`, `file ${n}\n`)
  if (!isWindows) execFileSync('mkfifo', [join(tree.folder, 'pipe')])
  execFileSync('truncate', ['-s', '2G', join(tree.folder, 'sparse.txt')])
  cache = scratch()
  code = new Codebase({ root: tree.folder, cacheDir: cache.folder, embeddings: { kind: 'none' } })
  await code.searchCode(textQuery('walrus'))
  await eventually(async () => (await code.status()).text.state === 'ready', 'the index', 60_000)
}, 90_000)
afterAll(async () => {
  await code.close()
  tree.remove()
  cache.remove()
})

describe.skipIf(isWindows)('a hostile tree', () => {
  it('is searched without pipes and files of 2 GB, and the result says so', async () => {
    const { matches, notes, source } = await code.searchCode(textQuery('walrus'))
    expect(source).toBe('index')
    expect(matches.map(({ file_path }) => file_path)).toEqual([
      'latin1.txt',
      'long.txt',
      'new\nline "quoted".txt',
      'sub/back\\slash.txt',
    ])
    expect(notes.join()).toContain('1 files over 64 MiB')
  })

  it('says which lines are not UTF-8 and which were cut', async () => {
    const { matches } = await code.searchCode(textQuery('walrus'))
    expect(matches.map(({ note }) => note)).toEqual(['not utf-8', 'cut', undefined, undefined])
  })

  it.each([
    ['a pipe', 'pipe', 'NOT_A_FILE'],
    ['a file of 2 GB', 'sparse.txt', 'TOO_LARGE'],
    ['what is missing', 'nowhere', 'NOT_FOUND'],
    ['a NUL byte', 'a\0b', 'BAD_INPUT'],
    ['a path upward', 'd1/../../..', 'OUTSIDE_ROOT'],
  ])('is not searched in %s', async (_, path, expected) => {
    await expect(code.searchCode(textQuery('walrus', { path }))).rejects.toMatchObject({
      code: expected,
      message: expect.stringMatching(/\w{4}/),
    })
  })

  it('does not wait for a pipe that is created while it is watched', async () => {
    execFileSync('mkfifo', [join(tree.folder, 'd1', 'late-pipe')])
    expect((await code.searchCode(textQuery('file 1'))).matches.length).toBeGreaterThan(0)
    expect((await code.searchCode(textQuery('[a-z]+ 44', { regex: true }))).matches.length).toBeGreaterThan(0)
  })

  it('takes the largest number of results there is, and searches one file', async () => {
    const many = await code.searchCode(textQuery('file', { maxResults: 1e9 }))
    expect(many).toMatchObject({ truncated: false })
    expect(many.matches).toHaveLength(450)
    expect((await code.searchCode(textQuery('file', { path: 'd0/f0.txt' }))).matches).toHaveLength(1)
  })

  it('bounds a pattern that would backtrack for ever elsewhere', async () => {
    const query = textQuery('(x+x+)+y', { regex: true })
    expect((await code.searchCode(query)).matches).toEqual([])
    const large = textQuery(`(${'(x?){50}'.repeat(40)}){900}`, { regex: true })
    await expect(code.searchCode(large)).rejects.toMatchObject({ code: 'BAD_PATTERN' })
  })

  it.each(['[', '{a', '**/*.{ts', '!a['])(
    'calls the glob %s a faulty glob, not a faulty regex',
    async (glob) => {
      for (const ask of [
        () => code.searchCode(textQuery('walrus', { glob: [glob] })),
        () => code.searchCode(textQuery('wal+rus', { glob: [glob], regex: true })),
        () => code.list('.', { depth: 1, glob: [glob] }),
      ])
        await expect(ask()).rejects.toMatchObject({
          code: 'BAD_PATTERN',
          message: expect.stringContaining('glob'),
          hint: expect.stringMatching(/^In a glob/),
        })
    },
  )

  it('answers while a file is rewritten and removed under it, with whole lines only', async () => {
    const path = join(tree.folder, 'd1', 'churn.txt')
    let isThere = false
    const loop = setInterval(() => {
      if (isThere) rmSync(path, { force: true })
      else writeFileSync(path, 'narwhal here\n'.repeat(200))
      isThere = !isThere
    }, 20)
    const query = textQuery('narwhal \\w+', { regex: true })
    const seen: string[] = []
    const until = Date.now() + 30_000
    try {
      for (let n = 0; n < 15 || (seen.length === 0 && Date.now() < until); n++)
        seen.push(...(await code.searchCode(query)).matches.map(({ text }) => text))
    } finally {
      clearInterval(loop)
    }
    expect(seen.length).toBeGreaterThan(0)
    expect(new Set(seen)).toEqual(new Set(['narwhal here']))
    writeFileSync(path, 'narwhal here\n'.repeat(200))
    expect((await code.searchCode(query)).matches).toHaveLength(200)
  }, 60_000)

  it('says that the root is gone when it is removed while the index is in use', async () => {
    tree.remove()
    await expect(code.searchCode(textQuery('walrus'))).rejects.toMatchObject({ code: 'ROOT_GONE' })
    await expect(code.searchCode(textQuery('w[a-z]+s', { regex: true }))).rejects.toMatchObject({
      code: 'ROOT_GONE',
    })
  })
})

it.skipIf(isWindows)('says that large files were left out of a small tree, too', async () => {
  const small = scratch({ 'a.txt': 'walrus\n' })
  execFileSync('truncate', ['-s', '2G', join(small.folder, 'sparse.txt')])
  const own = new Codebase({ root: small.folder, index: false })
  const { matches, notes } = await own.searchCode(textQuery('walrus'))
  expect(matches).toHaveLength(1)
  expect(notes).toEqual(['1 files over 64 MiB were not searched.'])
  await own.close()
  small.remove()
})
