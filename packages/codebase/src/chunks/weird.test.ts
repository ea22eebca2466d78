import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterAll, describe, expect, it } from 'vitest'
import { Codebase } from '../codebase.ts'
import { CHUNK_LIMITS } from '../limits.ts'
import { chunkText } from './chunk.ts'
import { Parsers } from './parsers.ts'

const parsers = new Parsers()

/** What holds for every text: nothing lost, nothing twice, no piece too large, and the same result twice. */
async function check(path: string, text: string): Promise<void> {
  const chunks = await chunkText(path, text, parsers)
  expect(chunks.map((chunk) => chunk.text).join('') === text).toBe(true)
  let at = 0
  for (const { start, end, startLine, endLine, text: own } of chunks) {
    expect(start).toBe(at)
    expect(own.length).toBeLessThanOrEqual(CHUNK_LIMITS.maxChars)
    expect(endLine).toBeGreaterThanOrEqual(startLine)
    at = end
  }
  expect(await chunkText(path, text, parsers)).toEqual(chunks)
}

const line = 'function add(a, b) { return a + b } '

describe('malformed files', () => {
  it.each([
    ['a byte order mark', 'a.js', `\ufeff${`${line}\n`.repeat(200)}`],
    ['lines that end in CRLF', 'a.py', 'def f(x):\r\n    return x\r\n\r\n'.repeat(300)],
    ['lines that end in CR alone', 'a.c', 'int f(int a) { return a; }\r'.repeat(500)],
    ['no newline at the end', 'a.go', 'package p\n\nfunc f() int {\n\treturn 1\n}'],
    ['one minified line of 5 MB', 'a.js', line.repeat(Math.ceil((5 << 20) / line.length))],
    ['braces 20,000 deep', 'a.ts', `${'{'.repeat(20_000)}1${'}'.repeat(20_000)}`],
    ['brackets 20,000 deep on lines of their own', 'a.js', `${'[\n'.repeat(20_000)}${']\n'.repeat(20_000)}`],
    [
      'classes inside classes',
      'a.py',
      Array.from({ length: 60 }, (_, n) => `${'  '.repeat(n)}class C${n}:\n`).join(''),
    ],
    ['only blank lines', 'a.rb', '\n'.repeat(9000)],
    ['only a comment', 'a.rs', `/*${' long '.repeat(4000)}*/`],
    ['half of a character', 'a.ts', `const a = '\ud83d'\n${'x\udc00'.repeat(3000)}`],
    ['emoji at every cut', 'a.txt', '😀'.repeat(5000)],
    ['a heading of 10,000 characters', 'a.md', `# ${'h'.repeat(10_000)}\n\ntext\n`],
  ])('%s', (_, path, text) => check(path, text), 60_000)

  it('of any characters, in any language', async () => {
    const endings = [
      'py',
      'ts',
      'tsx',
      'js',
      'c',
      'cpp',
      'go',
      'rs',
      'java',
      'rb',
      'php',
      'md',
      'html',
      'css',
      'sh',
      'zig',
    ]
    const piece = fc.oneof(
      fc.string({ unit: 'binary', maxLength: 40 }),
      fc.constantFrom(
        '{',
        '}',
        '(',
        '\r\n',
        '\n\n',
        '/*',
        '*/',
        '"""',
        "'",
        '`',
        '#',
        '\t',
        '\ufeff',
        '=>',
        'class A {\n',
      ),
      fc.constantFrom('x'.repeat(2500), '\n'.repeat(2500), '{'.repeat(300)),
    )
    await fc.assert(
      fc.asyncProperty(fc.array(piece, { maxLength: 40 }), fc.constantFrom(...endings), (parts, ending) =>
        check(`a.${ending}`, parts.join('')),
      ),
      { numRuns: 80 },
    )
  }, 60_000)
})

describe('bytes that are no text', () => {
  const folder = mkdtempSync(join(tmpdir(), 'plugboard-weird-'))
  const code = new Codebase({ root: folder, index: false })
  afterAll(async () => {
    await code.close()
    rmSync(folder, { recursive: true, force: true })
  })

  it('are refused with a reason, and a byte order mark before text is not', async () => {
    writeFileSync(join(folder, 'broken.js'), Buffer.from([0x61, 0xff, 0xfe, 0xc3, 0x28, 0x0a]))
    writeFileSync(join(folder, 'nul.js'), Buffer.from('a\0b'))
    writeFileSync(join(folder, 'marked.js'), Buffer.from('\ufefffunction f() {\n  return 1\n}\n'))
    writeFileSync(join(folder, 'wide.js'), Buffer.from('\ufefffunction f() {\n  return 1\n}\n', 'utf16le'))
    for (const name of ['broken.js', 'nul.js'])
      await expect(code.chunkFile(name)).rejects.toMatchObject({ code: 'NOT_TEXT' })
    for (const name of ['marked.js', 'wide.js'])
      expect((await code.chunkFile(name)).chunks).toMatchObject([{ name: 'f', start_line: 1, end_line: 3 }])
  })
})
