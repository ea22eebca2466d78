import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { unsaidPart } from './structured-content.ts'

const unsaid = (structured: unknown, ...texts: string[]) => unsaidPart(structured, texts)
const long = 'lorem ipsum dolor sit amet '.repeat(20)

describe('structured content that the text says', () => {
  it.each<[string, unknown, string[]]>([
    ['the same JSON', { a: [1, { b: true }] }, ['{"a": [1, {"b": true}]}']],
    ['the same JSON in several parts', { a: 1 }, ['{"a"', ': 1}']],
    ['the same JSON among other parts', { a: 1 }, ['Done.', '{"a":1}']],
    ['the JSON of its only member', { result: [true, false] }, ['[true, false]']],
    ['its only member as text', { result: ' ok ' }, ['ok']],
    ['null', { result: null }, ['null']],
    ['every value, in another order', { city: 'Paris', sky: 'cloudy', temp: 21 }, ['cloudy, 21 in Paris']],
    ['all but booleans', { path: 'src/a.ts', truncated: false, ok: true }, ['src/a.ts']],
    ['all but one-digit numbers', { path: 'src/a.ts', depth: 9, offset: -9 }, ['src/a.ts']],
    ['all but null and empty texts', { path: 'src/a.ts', next: null, note: '', blank: ' ' }, ['src/a.ts']],
    ['all but the length of a list', { rows: Array(12).fill('Ann'), total: 12 }, ['Ann, twelve times']],
    ['a number with separators', { name: 'Ann', size: 1234567 }, ['Ann: 1,234,567']],
    [
      'text with its lines numbered',
      { text: 'const a = 1\n\n  const b = 2' },
      ['1: const a = 1\n2:\n3:   const b = 2'],
    ],
    [
      'text escaped in JSON',
      { text: 'say "é"\n', more: 'xyz' },
      ['[{"text": "say \\"\\u00e9\\"\\n"}, "xyz"]'],
    ],
    ['keys that are data', { 'src/a.ts': 300 }, ['src/a.ts has 300']],
    ['a superset', { name: 'Ann', ok: true }, ['{"name": "Ann", "ok": true, "age": 44}']],
    ['a text between punctuation', { a: 'src/a.ts', line: 12 }, ['(src/a.ts:12)']],
  ])('is not shown again: %s', (_, structured, texts) => {
    expect(unsaidPart(structured, texts)).toBeUndefined()
  })

  it.each<[string, unknown, string[]]>([
    ['no text', { a: true }, []],
    ['empty text', { a: true }, ['', '']],
    ['nothing of it', { id: 7 }, ['Done.']],
    ['only booleans and small numbers, which prove nothing', { ok: true, count: 3 }, ['It is done.']],
    ['only a word too short to be recognised', { status: 'a' }, ['a dog']],
    ['one value of two', { city: 'Paris', temp: 21 }, ['Paris']],
    ['a number as part of another', { name: 'Ann', size: 77 }, ['Ann 1775']],
    ['a number as part of a fraction', { name: 'Ann', size: 15 }, ['Ann 15.5']],
    ['a number behind a point', { name: 'Ann', size: 15 }, ['Ann 3.15']],
    ['a number with another sign', { name: 'Ann', size: 15 }, ['Ann -15']],
    ['a word as part of another', { name: 'Ann', b: 'xyz' }, ['Annabel xyz']],
    ['a small number that is an identifier', { title: 'Bug', issue_id: 7 }, ['Created Bug']],
    [
      'a small number that is an identifier, spelt otherwise',
      { title: 'Bug', issueNumber: 7 },
      ['Created Bug'],
    ],
    ['keys that are data', { 'src/a.ts': true, name: 'Ann' }, ['Ann']],
    ['another value of the same JSON member', { name: 'Ann', ok: true }, ['{"name": "Ann", "ok": false}']],
    ['another small number of the same JSON member', { name: 'Ann', n: 1 }, ['{"name": "Ann", "n": 2}']],
    ['a list of another length', { names: ['Ann'], ok: [true] }, ['{"names": ["Ann"], "ok": [true, true]}']],
    ['one line of two', { text: 'first line\nsecond line' }, ['first line']],
    ['the length of no list', { rows: ['Ann'], total: 12 }, ['Ann']],
  ])('is shown when the text has %s', (_, structured, texts) => {
    expect(unsaidPart(structured, texts)).toEqual(structured)
  })

  it('is shown without the long members that the text says', () => {
    const rows = Array.from({ length: 20 }, (_, at) => ({ file: `src/file-${at}.ts`, line: at + 100 }))
    const text = rows.map(({ file, line }) => `${file}:${line}`).join('\n')
    expect(unsaid({ rows, engine: 'ripgrep', truncated: false }, text)).toEqual({
      engine: 'ripgrep',
      truncated: false,
    })
    expect(unsaid({ text: long, path: 'src/a.ts' }, long)).toEqual({ path: 'src/a.ts' })
    // JSON beside it that says nothing of the member does not change that.
    expect(unsaidPart({ text: long, path: 'src/a.ts' }, [long, '{"lines": 12}'])).toEqual({
      path: 'src/a.ts',
    })
    // A long member that lacks one value stays whole, and so does a short one.
    const more = [...rows, { file: 'src/other.ts', line: 999 }]
    expect(unsaid({ rows: more, engine: 'ripgrep' }, text)).toEqual({ rows: more, engine: 'ripgrep' })
    // Long members with another value in the JSON text do not count as shown.
    const flags = rows.map((row) => ({ ...row, ok: true }))
    const other = JSON.stringify({ flags: flags.map((row) => ({ ...row, ok: false })) })
    expect(unsaid({ flags, engine: 'ripgrep' }, other)).toEqual({ flags, engine: 'ripgrep' })
  })

  it('is shown when comparing would take too long, or the stack is too small', () => {
    expect(unsaid({ a: 'xyz' }, `xyz ${'y'.repeat(1_000_001)}`)).toEqual({ a: 'xyz' })
    expect(unsaid({ a: 'xyz' }, `xyz ${'y'.repeat(1_000_001 - 6)}`)).toBeUndefined()
    let deep: unknown = 'xyz'
    for (let level = 0; level < 50_000; level++) deep = [deep]
    expect(unsaid(deep, 'xyz') === deep).toBe(true)
    const many = Array.from({ length: 4000 }, (_, at) => `${at}a`.padStart(9, 'q'))
    const started = unsaid({ many }, `${many[0]} ${'z'.repeat(900_000)}`)
    expect(started).toEqual({ many })
  })

  it('never hides a telling value that the text lacks', () => {
    const telling = fc.oneof(fc.stringMatching(/^[a-z]{4,12}$/), fc.integer({ min: 1000, max: 99_999_999 }))
    const leaf = fc.oneof(telling, fc.boolean(), fc.constant(null), fc.integer({ min: -9, max: 9 }))
    const tree = fc.letrec((tie) => ({
      any: fc.oneof(
        { maxDepth: 3 },
        leaf,
        fc.array(tie('any'), { maxLength: 4 }),
        fc.dictionary(fc.stringMatching(/^[a-z]{1,8}$/), tie('any'), { maxKeys: 4 }),
      ),
    })).any
    const values = (value: unknown): unknown[] =>
      typeof value === 'object' && value !== null ? Object.values(value).flatMap(values) : [value]
    const isTelling = (value: unknown) =>
      typeof value === 'string' || (typeof value === 'number' && Math.abs(value) > 9)
    fc.assert(
      fc.property(tree, fc.array(telling, { maxLength: 6 }), fc.boolean(), (structured, others, asJson) => {
        const all = values(structured).filter(isTelling)
        const text = asJson ? JSON.stringify([...all, ...others]) : [...all, ...others].join(' ')
        // All of it is there: nothing distinctive is left over.
        const rest = unsaidPart(structured, [text])
        if (all.length > 0) expect(rest).toBeUndefined()
        // With one value removed: it is in what is still shown.
        const [gone] = all
        if (gone === undefined) return
        const without = [...all, ...others].filter((value) => value !== gone).join(' ')
        const shown = unsaidPart(structured, [without || '-'])
        expect(values(shown)).toContainEqual(gone)
      }),
      { numRuns: 300, seed: 13 },
    )
  })
})
