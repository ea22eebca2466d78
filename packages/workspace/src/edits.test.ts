// Edits: exact replacement, patches in both forms, line ends, and what is said when they do not fit.
import { describe, expect, it } from 'vitest'
import { applyHunks } from './apply-hunks.ts'
import { plainText } from './line-endings.ts'
import { type FilePatch, parsePatch } from './patch-syntax.ts'
import { replaceText } from './replace-text.ts'

const replace = (text: string, oldText: string, newText: string, all = false) =>
  replaceText(text, { oldText, newText, all }, 'a.ts')

describe('an exact replacement', () => {
  it('replaces one occurrence, or all when asked; `$` has no meaning', () => {
    expect(replace('a b c', 'b', '$&$1')).toBe('a $&$1 c')
    expect(replace('x x', 'x', 'y', true)).toBe('y y')
  })

  it.each([
    ['nothing like it', 'one\ntwo', 'three', 'x', /NO_MATCH|does not occur/],
    ['other spaces', 'if (a)  {\n', 'if (a) {', 'x', /does not occur/],
    ['two occurrences', 'x\ny\nx\n', 'x', 'z', /2 times in a\.ts \(lines 1, 3\)/],
    ['nothing to find', 'x', '', 'z', /empty/],
    ['the same text', 'x', 'x', 'x', /same/],
    ['an empty file', '', 'x', 'y', /does not occur/],
  ])('says what is wrong: %s', (_, text, from, to, said) => {
    expect(() => replace(text, from, to)).toThrow(said)
  })

  it('hints at the line that differs in spaces only', () => {
    try {
      replace('a\n\tif (b) {\n', 'if  (b) {', 'x')
      expect.unreachable()
    } catch (error) {
      expect(error).toMatchObject({ code: 'NO_MATCH', hint: expect.stringContaining('Line 2') })
    }
  })
})

describe('line ends', () => {
  it.each([
    ['windows', 'a\r\nb\r\n', 'a\nb\n'],
    ['unix', 'a\nb\n', 'a\nb\n'],
    ['both kinds: as they are', 'a\r\nb\n', 'a\r\nb\n'],
    ['byte order mark', '\ufeffa\n', 'a\n'],
  ])('%s', (_, written, text) => {
    const plain = plainText(written)
    expect(plain.text).toBe(text)
    expect(plain.restore(plain.text)).toBe(written)
  })
})

function update(patch: string, text: string): string {
  const [file] = parsePatch(patch)
  if (file?.kind !== 'update') throw new Error(`no update: ${file?.kind}`)
  return applyHunks(text, file.hunks, file.path)
}

const unified = (body: string) => `--- a/f\n+++ b/f\n${body}`
const wrapped = (body: string) => `*** Begin Patch\n*** Update File: f\n${body}\n*** End Patch`

describe('a patch', () => {
  it.each([
    ['unified', unified('@@ -1,3 +1,3 @@\n a\n-b\n+B\n c\n'), 'a\nb\nc\n', 'a\nB\nc\n'],
    ['counts and line numbers that are wrong', unified('@@ -90,9 +1,1 @@\n a\n-b\n+B\n'), 'a\nb\n', 'a\nB\n'],
    [
      'the nearest of several places',
      unified('@@ -4,1 +4,1 @@\n-x\n+y\n'),
      'x\na\nb\nx\nx\n',
      'x\na\nb\ny\nx\n',
    ],
    [
      'several hunks that move each other',
      unified('@@ -1 +1,2 @@\n a\n+A\n@@ -3 +4 @@\n-c\n+C\n'),
      'a\nb\nc\n',
      'a\nA\nb\nC\n',
    ],
    ['a trimmed empty line of context', unified('@@ -1,3 +1,3 @@\n a\n\n-b\n+B\n'), 'a\n\nb\n', 'a\n\nB\n'],
    ['only additions at the top', unified('@@ -0,0 +1,1 @@\n+a\n'), 'b\n', 'a\nb\n'],
    [
      'no line break at the end any more',
      unified('@@ -1 +1 @@\n-a\n+b\n\\ No newline at end of file\n'),
      'a\n',
      'b',
    ],
    [
      'a line break at the end again',
      unified('@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+b\n'),
      'a',
      'b\n',
    ],
    ['everything removed', unified('@@ -1 +0,0 @@\n-a\n'), 'a\n', ''],
    ['envelope', wrapped('@@\n a\n-b\n+B'), 'a\nb\nc\n', 'a\nB\nc\n'],
    [
      'envelope below a line',
      wrapped('@@ function two() {\n-x\n+y'),
      'function one() {\nx\n}\nfunction two() {\nx\n}\n',
      'function one() {\nx\n}\nfunction two() {\ny\n}\n',
    ],
    ['envelope to the end of the file', wrapped('@@\n-b\n+B\n*** End of File'), 'a\nb\n', 'a\nB\n'],
  ])('%s', (_, patch, text, after) => {
    expect(update(patch, text)).toBe(after)
  })

  it.each<[string, string, FilePatch[]]>([
    [
      'adds',
      '--- /dev/null\n+++ b/n\n@@ -0,0 +1,2 @@\n+a\n+b\n',
      [{ kind: 'add', path: 'n', text: 'a\nb\n' }],
    ],
    ['removes', '--- a/n\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n', [{ kind: 'remove', path: 'n' }]],
    [
      'moves',
      'diff --git a/x b/y\nsimilarity index 100%\nrename from x\nrename to y\n',
      [{ kind: 'update', path: 'x', movedTo: 'y', hunks: [] }],
    ],
    [
      'adds in the envelope',
      '*** Begin Patch\n*** Add File: n\n+a\n+\n+b\n*** End Patch',
      [{ kind: 'add', path: 'n', text: 'a\n\nb\n' }],
    ],
    [
      'removes in the envelope',
      '*** Begin Patch\n*** Delete File: n\n*** End Patch',
      [{ kind: 'remove', path: 'n' }],
    ],
    [
      'moves in the envelope',
      '*** Begin Patch\n*** Update File: x\n*** Move to: y\n*** End Patch',
      [{ kind: 'update', path: 'x', movedTo: 'y', hunks: [] }],
    ],
  ])('%s a file', (_, patch, files) => {
    expect(parsePatch(patch)).toEqual(files)
  })

  it.each([
    ['no patch at all', 'hello', /names no file/],
    ['cut off', '*** Begin Patch\n*** Update File: f\n@@\n-a\n', /End Patch is missing/],
    ['binary', 'diff --git a/x b/x\nGIT binary patch\n', /binary/],
    ['a hunk of no file', '@@ -1 +1 @@\n-a\n+b\n', /without/],
    ['a quoted name', '--- "a/\\303"\n+++ "b/\\303"\n@@ -1 +1 @@\n-a\n+b\n', /quoted/],
  ])('is refused: %s', (_, patch, said) => {
    expect(() => parsePatch(patch)).toThrow(said)
  })

  it.each([
    ['lines that are not there', unified('@@ -1 +1 @@\n-nope\n+x\n'), 'a\n', /does not fit/],
    ['several places without a number', wrapped('-x\n+y'), 'x\nx\n', /fits 2 places/],
    ['a missing line above', wrapped('@@ nope\n-a\n+b'), 'a\n', /no line of f/],
  ])('that does not fit says so: %s', (_, patch, text, said) => {
    expect(() => update(patch, text)).toThrow(said)
  })
})
