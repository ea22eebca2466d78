import { describe, expect, it } from 'vitest'
import { createColors } from '../colors.ts'
import { Markdown } from './markdown.ts'

const plain = createColors(false)

function rows(text: string, columns = 40): readonly string[] {
  const markdown = new Markdown(plain)
  return [...markdown.push(text, columns), ...markdown.end(columns)].map((row) => row.trimEnd())
}

const TEXT = [
  '# Title #',
  'some **bold _both_**, *it*, `a*b`, \\*plain\\* and snake_case_name, 2 * 3 * 4',
  '',
  '1. one',
  '   - [x] done with words that go on in the next row',
  '> quoted',
  '---',
  '| a | b |',
  '|:--|--:|',
  '| `x|y` | 1 |',
  '| long cell of many words in a table is wrapped | 22 |',
  '~~~py',
  'def f(): # comment',
  '    return "x"',
  '~~~',
  '[text](https://a.example/x) and https://b.example.',
].join('\n')

describe('Markdown on a terminal', () => {
  it('lays out what answers have', () => {
    expect(rows(TEXT)).toEqual(
      [
        'Title',
        'some bold both, it, a*b, *plain* and',
        'snake_case_name, 2 * 3 * 4',
        '',
        '1. one',
        '   ☑ done with words that go on in the',
        '     next row',
        '│ quoted',
        '─'.repeat(40),
        'a                                  │  b',
        '───────────────────────────────────┼───',
        '`x                                 │ y`',
        'long cell of many words in a table │ 22',
        'is wrapped                         │',
        '┌── py',
        '│ def f(): # comment',
        '│     return "x"',
        '└──',
        'text (https://a.example/x) and',
        'https://b.example.',
      ].map((row) => row.trimEnd()),
    )
  })

  it('is the same however it arrives', () => {
    const whole = rows(TEXT)
    for (const size of [1, 3, 7]) {
      const markdown = new Markdown(plain)
      const made = (TEXT.match(new RegExp(`[\\s\\S]{1,${size}}`, 'g')) ?? []).flatMap((piece) => {
        // Looking at what is not complete changes nothing.
        markdown.tail(40)
        return markdown.push(piece, 40)
      })
      expect([...made, ...markdown.end(40)].map((row) => row.trimEnd())).toEqual(whole)
    }
  })

  it('makes visible what would act on the terminal, in every element', () => {
    const hostile = 'a\x1b[31mb\x9bc\u202ed\x07'
    const text = `# ${hostile}\n- ${hostile}\n> ${hostile}\n\n| ${hostile} |\n|---|\n| ${hostile} |\n\n\`\`\`${hostile}\n${hostile}\n\`\`\`\n**${hostile}** [${hostile}](http://x/${hostile})`
    const shown = rows(text, 120).join('\n')
    expect(/[\p{Cc}\p{Bidi_Control}]/u.exec(shown.replaceAll('\n', ''))).toBeNull()
    expect(shown.match(/\\u001b/g)?.length).toBeGreaterThanOrEqual(7)
  })

  it('takes its time on nothing that a model may write', () => {
    // A pattern that backtracks without end would exceed the time of a test by far.
    const texts = [
      '*'.repeat(4000),
      `${'`'.repeat(3999)} \``,
      '[('.repeat(2000),
      '|'.repeat(4000),
      '_a'.repeat(2000),
    ]
    for (const text of [...texts, '**a'.repeat(1300)]) expect(rows(text).length).toBeGreaterThan(0)
  })
})
