// ripgrep is the reference: whatever the index says, the lines are exactly those ripgrep prints over the same tree.
import { execFileSync, spawnSync } from 'node:child_process'
import { cpSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { rgPath } from '@vscode/ripgrep'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { Codebase } from '../codebase.ts'
import { eventually, type Scratch, scratch, seeded, textQuery } from '../fixtures/test-folders.ts'
import type { TextAnswer, TextQuery } from './search.ts'

const modules = fileURLToPath(new URL('../../../../node_modules', import.meta.url))

/** What ripgrep finds. A glob of ours only narrows, so of the files it names those count that the ignore rules leave. */
function judge(root: string, query: TextQuery): string[] {
  const seen = new Set(
    spawnSync(rgPath, ['--no-config', '--null', '--files', `./${query.path ?? ''}`], {
      cwd: root,
      maxBuffer: 1 << 28,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'pipe'],
    })
      .stdout.split('\0')
      .map((name) => name.replace(/^\.\//, '')),
  )

  const flags = [
    query.regex ? '--no-fixed-strings' : '-F',
    query.caseSensitive ? '-s' : '-i',
    ...query.glob.map((glob) => `-g${glob}`),
  ]
  const done = spawnSync(
    rgPath,
    ['--no-config', '--json', ...flags, '-e', query.query, `./${query.path ?? ''}`],
    {
      cwd: root,
      maxBuffer: 1 << 28,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'pipe'],
    },
  )
  return done.stdout
    .split('\n')
    .filter((line) => line.startsWith('{"type":"match"'))
    .map(
      (line) =>
        (
          JSON.parse(line) as {
            data: { path: { text: string }; line_number: number; lines: { text?: string; bytes?: string } }
          }
        ).data,
    )
    .filter(({ path }) => seen.has(path.text.replace(/^\.\//, '')))
    .map((data) => {
      const text = data.lines.text ?? Buffer.from(data.lines.bytes ?? '', 'base64').toString('utf8')
      return `${data.path.text.replace(/^\.\//, '')}:${data.line_number}:${text.replace(/\r?\n$/, '').slice(0, 4000)}`
    })
    .sort()
}

const found = async (code: Codebase, query: TextQuery) => linesOf(await code.searchCode(query))

function linesOf({ matches }: TextAnswer): string[] {
  return matches.map(({ file_path, line, text }) => `${file_path}:${line}:${text.slice(0, 4000)}`).sort()
}

const ready = (code: Codebase) =>
  eventually(async () => (await code.status()).text.state === 'ready', 'the index')

describe('search_code against ripgrep', () => {
  let tree: Scratch
  let cache: Scratch
  let code: Codebase
  let words: string[]

  beforeAll(async () => {
    tree = scratch({
      '.gitignore': 'ignored/\n*.log\n!keep.log\n/only-here.txt\n',
      'ignored/x.ts': 'const zebra = 1',
      'a.log': 'zebra',
      'keep.log': 'zebra kept',
      'only-here.txt': 'zebra',
      'sub/only-here.txt': 'zebra below',
      'sub/.gitignore': '*.gen\n',
      'sub/x.gen': 'zebra',
      'sub/.ignore': 'y.txt\n',
      'sub/y.txt': 'zebra',
      '.hidden/z.txt': 'zebra',
      'nul.bin': Buffer.from('zebra first\nsecond zebra\0zebra after\nzebra\n'),
      'late-nul.txt': Buffer.concat([
        Buffer.from(`early ${'y'.repeat(60)}\n`.repeat(2000)),
        Buffer.from('zebra late\n'),
        Buffer.from([0]),
        Buffer.from('late zebra\n'),
      ]),
      'odd [name]*.txt': Buffer.concat([
        Buffer.from(`zebra ${'x'.repeat(70)}\n`.repeat(1500)),
        Buffer.from([0]),
      ]),
      'utf16.txt': Buffer.from('\ufeffzebra in sixteen bits\n', 'utf16le'),
      'utf16be.txt': Buffer.from('\ufeffzèbre in sixteen bits, the other way\n', 'utf16le').swap16(),
      'utf16-broken.txt': Buffer.concat([
        Buffer.from('\ufeffa half: ', 'utf16le'),
        Buffer.from([0x00, 0xd8]),
        Buffer.from(' quagga\n', 'utf16le'),
        Buffer.from([0x41]),
      ]),
      'bom.txt': '\ufeffzebra after a mark\n',
      'crlf.txt': 'one zebra\r\ntwo\r\nzebra three\r\n',
      'latin1.txt': Buffer.from([0x7a, 0x65, 0x62, 0x72, 0x61, 0x20, 0xe9, 0x0a]),
      'kelvin.txt': 'tas\u212a and \u017ftring and ta\u017f\u212a\n',
      'no-newline.txt': 'last zebra',
      'new\nline.txt': 'zebra in an odd name\n',
      'empty.txt': '',
    })
    execFileSync('git', ['init', '-q'], { cwd: tree.folder })
    for (const name of ['hono', 'jose', 'fast-check'])
      cpSync(join(modules, name), join(tree.folder, 'lib', name), { recursive: true })
    cache = scratch()
    // Search by name is compared too, so named files are read.
    code = new Codebase({
      root: tree.folder,
      cacheDir: cache.folder,
      embeddings: { kind: 'none' },
      protectedFiles: 'allow',
    })
    code.warmUp()
    await ready(code)
    const random = seeded(42)
    const files = (readdirSync(join(tree.folder, 'lib'), { recursive: true }) as string[]).filter((name) =>
      /\.(ts|js|md)$/.test(name),
    )
    words = Array.from({ length: 150 }, () => {
      const text = readFileSync(
        join(tree.folder, 'lib', files[Math.floor(random() * files.length)] ?? ''),
        'utf8',
      )
      const start = Math.floor(random() * Math.max(1, text.length - 30))
      return (text.slice(start, start + 3 + Math.floor(random() * 14)).split('\n')[0] ?? '').replaceAll(
        '\r',
        '',
      )
    }).filter((word) => word.trim().length >= 2)
  }, 120_000)
  afterAll(async () => {
    await code.close()
    tree.remove()
    cache.remove()
  })

  it.each(['sixteen bits', 'zèbre', 'quagga', '\ufffd', 'half: \ufffd', 'no such beast', 'A'])(
    'gives the same lines for "%s", which files in UTF-16 may have',
    async (word) => {
      const query = textQuery(word)
      expect(linesOf(await code.searchCode(query))).toEqual(judge(tree.folder, query))
    },
  )

  it('gives the same lines for 100 random pieces of text', async () => {
    let fromIndex = 0
    for (const word of words.slice(0, 100)) {
      const query = textQuery(word)
      const expected = judge(tree.folder, query)
      if (expected.length >= 10_000) continue
      const answer = await code.searchCode(query)
      if (answer.source === 'index') fromIndex++
      expect(linesOf(answer), JSON.stringify(word)).toEqual(expected)
    }
    expect(fromIndex).toBeGreaterThan(60)
  }, 120_000)

  it('gives the same lines for 50 regular expressions made from the tree', async () => {
    const random = seeded(7)
    const quoted = (text: string) => text.replaceAll(/[\\^$.*+?()[\]{}|#&~<>/-]/g, '\\$&')
    const shapes = [
      (a: string, b: string) => `${quoted(a)}|${quoted(b)}`,
      (a: string) => `${quoted(a)}\\w*`,
      (a: string) => `\\b${quoted(a.trim())}`,
      (a: string) => `(?:${quoted(a)})+`,
      (a: string) => `(?i)${quoted(a)}`,
      (a: string) => `${quoted(a.slice(0, 3))}.${quoted(a.slice(4))}`,
      (a: string) => `^\\s*${quoted(a.trim())}`,
      (a: string, b: string) => `(${quoted(a)}|${quoted(b)})[;,)]?$`,
      (a: string) => `${quoted(a)}{1,2}?x?`,
      () => 'z[aeiou]b[a-z]a',
    ]
    let compared = 0
    for (let n = 0; n < 50; n++) {
      const pick = () => words[Math.floor(random() * words.length)] ?? 'zebra'
      const pattern = shapes[n % shapes.length]?.(pick(), pick()) ?? ''
      const query = textQuery(pattern, { regex: true, caseSensitive: n % 3 !== 0 })
      const expected = judge(tree.folder, query)
      if (expected.length >= 10_000) continue
      compared++
      expect(await found(code, query), pattern).toEqual(expected)
    }
    expect(compared).toBeGreaterThan(30)
  }, 120_000)

  it('gives the same lines for regular expressions without a word in them', async () => {
    const random = seeded(23)
    const pieces = [
      () => '[0-9]',
      () => '\\d',
      () => '\\w',
      () => '[A-Z]',
      () => '[a-f0-9]',
      () => '[^a-z\\s]',
      () => '[_$]',
      () => '[-+.]',
      () => '[]x]',
      () => '[a-z&&[^aeiou]]',
      () => '[k-s--n]',
      () => 'é?',
      () => '\\b',
      () => '^',
      () => '$',
      () => '.',
      () => '(?:e|t)',
      () => '(?:re|)',
      () => (words[Math.floor(random() * words.length)] ?? 'ze').slice(0, 2).replaceAll(/\W/g, '\\W'),
    ]
    const counts = ['', '', '', '{2}', '{3}', '{2,3}', '+', '?', '*', '{0}', '{2}{2}', '+?']
    const pick = <T>(from: readonly T[]): T => from[Math.floor(random() * from.length)] as T
    let fromIndex = 0
    for (let n = 0; n < 70; n++) {
      const pattern = Array.from({ length: 2 + Math.floor(random() * 4) }, () => {
        const piece = pick(pieces)()
        return ['^', '$', '\\b', ''].includes(piece)
          ? piece
          : `${piece}${piece.endsWith('?') ? '' : pick(counts)}`
      }).join('')
      const query = textQuery(pattern, { regex: true, caseSensitive: n % 4 !== 0, maxResults: 1000 })
      const answer = await code.searchCode(query).catch((error: unknown) => error as Error)
      if (!(answer instanceof Error) && answer.truncated) continue
      const expected = judge(tree.folder, query)
      if (answer instanceof Error) {
        expect(expected, pattern).toEqual([])
        continue
      }
      if (answer.source === 'index') fromIndex++
      expect(linesOf(answer), pattern).toEqual(expected)
    }
    expect(fromIndex).toBeGreaterThan(5)
  }, 120_000)

  it.each([
    ['zebra', {}],
    ['ZEBRA', { caseSensitive: false }],
    ['task', { caseSensitive: false }],
    ['string and', { caseSensitive: false }],
    ['zebra', { glob: ['*.txt'] }],
    ['zebra', { glob: ['!sub/**', '*.txt'] }],
    ['zebra', { glob: ['!sub/**'] }],
    ['zebra', { glob: ['.hidden/**'] }],
    ['zebra', { glob: ['*.log', 'ignored/**', '*.gen'] }],
    ['zebra\\w*', { glob: ['**/*'], regex: true }],
    ['zebra', { path: 'ignored', glob: ['*.ts'] }],
    ['zebra', { path: 'sub' }],
    ['zebra', { path: 'sub/only-here.txt' }],
    ['zebra', { path: 'ignored' }],
    ['zebra|second', { regex: true }],
    ['zebra\\s', { regex: true }],
    ['ze', {}],
  ] as const)('agrees on %s %j: ignored, hidden, binary, encoded and odd files', async (text, extra) => {
    const query = textQuery(text, extra)
    expect(await found(code, query)).toEqual(judge(tree.folder, query))
  })

  it('shows the lines around a match, with and without the index', async () => {
    const scan = new Codebase({ root: tree.folder, index: false })
    for (const text of ['HTTPException', 'zebra three']) {
      const query = textQuery(text, { contextLines: 2, maxResults: 500 })
      const [a, b] = [await code.searchCode(query), await scan.searchCode(query)]
      expect(a.source).toBe('index')
      expect(b.source).toBe('scan')
      expect([a.truncated, b.truncated]).toEqual([false, false])
      expect(a.matches.length).toBeGreaterThan(0)
      expect(a.matches).toEqual(b.matches)
    }
    await scan.close()
  })

  it('stops at max_results and says that there is more', async () => {
    const all = (await code.searchCode(textQuery('HonoRequest'))).matches.length
    const some = await code.searchCode(textQuery('HonoRequest', { maxResults: 3 }))
    expect(some).toMatchObject({ truncated: true })
    expect(some.matches).toHaveLength(3)
    expect((await code.searchCode(textQuery('HonoRequest', { maxResults: all }))).truncated).toBe(false)
  })

  it('sees every change at once: new, edited, renamed, removed, newly ignored', async () => {
    const query = textQuery('quaggaword')
    const now = async (what: string) =>
      expect(await found(code, query), what).toEqual(judge(tree.folder, query))
    for (let n = 0; n < 5; n++) {
      tree.write(`fresh/deep${n}/new.ts`, `// quaggaword ${n}\n`)
      await now('a new file in a new folder')
      writeFileSync(join(tree.folder, 'lib/hono/package.json'), `{"quaggaword": ${n}}\n`)
      await now('an edited file')
      tree.write('ignored/more.ts', 'quaggaword')
      tree.write(`more${n}.log`, 'quaggaword')
      await now('new files that are ignored')
      renameSync(join(tree.folder, `fresh/deep${n}`), join(tree.folder, `moved${n}`))
      await now('a renamed folder')
      tree.write(`moved${n}/new.ts`, `// again quaggaword ${n}\n`)
      await now('an edit inside a renamed folder')
      tree.write(`moved${n}/nul.bin`, Buffer.from(`quaggaword\n\0quaggaword`))
      await now('a new binary file')
      if (n === 2) tree.write('.gitignore', 'moved1/\nignored/\n')
      await now('an edited rule')
      if (n === 3) rmSync(join(tree.folder, 'moved0'), { recursive: true })
      await now('a removed folder')
      await new Promise((done) => setTimeout(done, n * 150))
      await now('after the index took it in')
    }
    await eventually(async () => (await code.searchCode(query)).source === 'index', 'the index in use again')
  }, 60_000)

  it('survives a file that vanishes and grows while it is searched', async () => {
    let isThere = false
    const loop = setInterval(() => {
      if (isThere) rmSync(join(tree.folder, 'churn'), { recursive: true, force: true })
      else tree.write('churn/a.txt', 'churnword\n'.repeat(50))
      isThere = !isThere
    }, 20)
    const seen: string[] = []
    const until = Date.now() + 30_000
    try {
      for (let n = 0; n < 30 || (seen.length === 0 && Date.now() < until); n++)
        seen.push(...(await code.searchCode(textQuery('churnword'))).matches.map(({ text }) => text))
    } finally {
      clearInterval(loop)
    }
    expect(seen.length).toBeGreaterThan(0)
    expect(new Set(seen)).toEqual(new Set(['churnword']))
    tree.write('churn/a.txt', 'churnword\n'.repeat(50))
    expect((await code.searchCode(textQuery('churnword'))).matches).toHaveLength(50)
  }, 60_000)

  it('answers from the kept index after a restart, with what changed meanwhile', async () => {
    const before = (await code.status()).text
    await code.close()
    tree.write('while-closed.txt', 'quokkaword\n')
    mkdirSync(join(tree.folder, 'late'))
    code = new Codebase({ root: tree.folder, cacheDir: cache.folder, embeddings: { kind: 'none' } })
    expect(await found(code, textQuery('quokkaword'))).toEqual(['while-closed.txt:1:quokkaword'])
    await ready(code)
    expect((await code.status()).text.files).toBeGreaterThanOrEqual(before.files)
    const answer = await code.searchCode(textQuery('quokkaword'))
    expect(answer).toMatchObject({ source: 'index', matches: [{ file_path: 'while-closed.txt' }] })
  }, 30_000)
})

describe('bad queries', () => {
  let tree: Scratch
  let code: Codebase
  beforeAll(() => {
    tree = scratch({ 'a.txt': 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!\n' })
    code = new Codebase({ root: tree.folder, index: false })
  })
  afterAll(async () => {
    await code.close()
    tree.remove()
  })

  it.each([
    ['an empty query', textQuery(''), 'BAD_INPUT'],
    ['a megabyte of query', textQuery('x'.repeat(1 << 20)), 'BAD_INPUT'],
    ['a query over two lines', textQuery('a\nb'), 'BAD_INPUT'],
    ['a NUL byte', textQuery('a\0b'), 'BAD_INPUT'],
    ['an unclosed group', textQuery('(a', { regex: true }), 'BAD_PATTERN'],
    ['a back-reference', textQuery('(a)\\1', { regex: true }), 'BAD_PATTERN'],
    ['a pattern that explodes', textQuery('((a{1,500}){1,500}){1,500}', { regex: true }), 'BAD_PATTERN'],
    ['a bad glob', textQuery('a', { glob: ['[z-'] }), 'BAD_PATTERN'],
  ] as const)('refuses %s clearly', async (_, query, expected) => {
    await expect(code.searchCode(query)).rejects.toMatchObject({
      code: expected,
      message: expect.stringMatching(/\w/),
    })
  })

  it('is not slowed down by a pattern that backtracks elsewhere', async () => {
    const { matches } = await code.searchCode(textQuery('(a+)+$', { regex: true }))
    expect(matches).toEqual([])
  })
})

it('follows ripgrep in a tree that is no git repository: .ignore counts, and a .gitignore does not', async () => {
  // What Debian unpacks as the source of the kernel ignores all of itself.
  const own = scratch({ '.gitignore': '/*\n', '.ignore': 'b.txt\n', 'a.txt': 'okapi', 'b.txt': 'okapi' })
  const code = new Codebase({ root: own.folder, index: false })
  const { matches } = await code.searchCode(textQuery('okapi'))
  expect(matches.map(({ file_path }) => file_path)).toEqual(['a.txt'])
  expect(await code.files()).toEqual(['a.txt'])
  await code.close()
  own.remove()
})
