import { readFileSync } from 'node:fs'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { CHUNK_LIMITS } from '../limits.ts'
import { chunkText } from './chunk.ts'
import { PARSED_LANGUAGES } from './languages.ts'
import { Parsers } from './parsers.ts'

const parsers = new Parsers()

/** One named function in each language, long enough to stand alone. */
const SAMPLES: Readonly<Record<string, readonly [file: string, code: string]>> = {
  shell: ['a.sh', 'deploy_all() {\n  echo "starting"\n  ls\n}\n'],
  c: ['a.c', '/* adds */\nint deploy_all(int a)\n{\n  return a + 1;\n}\n'],
  cpp: ['a.cpp', 'namespace n {\nclass K {\n  int deploy_all() { return 1; }\n};\n}\n'],
  csharp: ['a.cs', 'class K {\n  int deploy_all() { return 1; }\n}\n'],
  go: ['a.go', 'package p\n\n// deploys\nfunc deploy_all(a int) int {\n\treturn a\n}\n'],
  java: ['A.java', 'class K {\n  int deploy_all() { return 1; }\n}\n'],
  javascript: ['a.js', 'export function deploy_all() {\n  return 1\n}\n'],
  kotlin: ['a.kt', 'fun deploy_all(): Int {\n  return 1\n}\n'],
  lua: ['a.lua', 'function deploy_all()\n  return 1\nend\n'],
  php: ['a.php', '<?php\nfunction deploy_all() {\n  return 1;\n}\n'],
  python: ['a.py', '# deploys\ndef deploy_all():\n    return 1\n'],
  ruby: ['a.rb', 'def deploy_all\n  1\nend\n'],
  rust: ['a.rs', '/// deploys\nfn deploy_all() -> i32 {\n    1\n}\n'],
  scala: ['a.scala', 'object O {\n  def deploy_all(): Int = 1\n}\n'],
  swift: ['a.swift', 'func deploy_all() -> Int {\n  return 1\n}\n'],
  typescript: ['a.ts', 'export const deploy_all = (): number => {\n  return 1\n}\n'],
  tsx: ['a.tsx', 'export function deploy_all() {\n  return <b>1</b>\n}\n'],
  dart: ['a.dart', 'int deploy_all() {\n  return 1;\n}\n'],
}

describe('chunks', () => {
  it('know more than fifteen languages by their grammar', () => {
    expect(PARSED_LANGUAGES.length).toBeGreaterThanOrEqual(15)
  })

  it.each(Object.entries(SAMPLES))('name a function in %s', async (language, [file, code]) => {
    const chunks = await chunkText(file, code, parsers)
    expect(chunks.map(({ text }) => text).join('')).toBe(code)
    expect(chunks.every((chunk) => chunk.language === language)).toBe(true)
    const said = chunks.map((chunk) => [...chunk.within, chunk.name].join('.')).join(' ')
    // Inside a class too small to cut, the class's name stands for its methods.
    expect(said).toMatch(/class|namespace|object/.test(code) ? /deploy_all|K|O|n/ : /deploy_all/)
    expect(chunks.some(({ kind }) => kind !== 'block')).toBe(true)
  })

  it('keep a function with the comment above it, and a method inside its class', async () => {
    const body = '  const total = items.reduce((sum, item) => sum + item.price * item.count, 0)\n'.repeat(4)
    const code = `import x from 'y'\n\n/** Adds up. */\nexport function total(items) {\n${body}}\n\nclass Cart {\n  /** Empties it. */\n  clear() {\n${body.repeat(6)}  }\n\n  fill() {\n${body.repeat(6)}  }\n}\n`
    const chunks = await chunkText('cart.js', code, parsers)
    const total = chunks.find(({ name }) => name?.includes('total'))
    expect(total?.text).toContain('/** Adds up. */')
    const clear = chunks.find(({ name, kind }) => kind === 'method' && name === 'clear')
    expect(clear).toMatchObject({ within: ['Cart'] })
    expect(clear?.text).toContain('Empties it.')
  })

  it('follow the headings of Markdown, but not those inside code', async () => {
    const text = `intro\n\n# One\n\n${'word '.repeat(60)}\n\n## Deeper\n\n\`\`\`sh\n# not a heading\n\`\`\`\n${'word '.repeat(60)}\n\n# Two\n\n${'word '.repeat(60)}\n`
    const chunks = await chunkText('README.md', text, parsers)
    expect(chunks.map(({ name }) => name)).toEqual(['One', 'Deeper', 'Two'])
    expect(chunks[1]?.within).toEqual(['One'])
  })

  it('cover every character once, in order, the same way twice, for any text', async () => {
    const alphabet = fc.constantFrom(
      'def f():\n',
      '  x = 1\n',
      'class A {\n',
      '}\n',
      '\n',
      '// c\n',
      'é漢😀',
      '"',
      '`',
      '\r\n',
      'function g() {',
      ' '.repeat(40),
      'x'.repeat(3000),
    )
    await fc.assert(
      fc.asyncProperty(
        fc.array(alphabet, { maxLength: 60 }),
        fc.constantFrom('a.py', 'a.ts', 'a.c', 'a.md', 'a.rb', 'a.txt'),
        async (parts, file) => {
          const text = parts.join('')
          const chunks = await chunkText(file, text, parsers)
          expect(chunks.map((chunk) => chunk.text).join('')).toBe(text)
          expect(await chunkText(file, text, parsers)).toEqual(chunks)
          for (const [n, chunk] of chunks.entries()) {
            expect(chunk.start).toBe(chunks[n - 1]?.end ?? 0)
            expect(chunk.text.length).toBeLessThanOrEqual(CHUNK_LIMITS.maxChars)
            expect(text.slice(0, chunk.start).split('\n').length).toBe(chunk.startLine)
          }
        },
      ),
      { numRuns: 60 },
    )
  })

  it('cut its own source into pieces of a readable size', async () => {
    const text = readFileSync(new URL('./chunk.ts', import.meta.url), 'utf8')
    const chunks = await chunkText('chunk.ts', text, parsers)
    expect(chunks.map(({ name }) => name).join(' ')).toContain('cutNode')
    expect(chunks.map((chunk) => chunk.text).join('')).toBe(text)
  })
})
