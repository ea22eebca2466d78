import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { HttpEntry, StdioEntry } from './entry.ts'
import { expandEntry } from './expand.ts'

type Env = Readonly<Record<string, string | undefined>>
const stdio = (command: string): StdioEntry => ({ type: 'stdio', command, args: [], env: {} })
const expand = (text: string, env: Env) => {
  const { entry, expansions } = expandEntry(stdio(text), env)
  return { text: (entry as StdioEntry).command, expansions }
}

describe('a variable', () => {
  const env: Env = {
    A: 'one',
    B: 'two',
    EMPTY: '',
    NESTED: '${A}',
    CIRCLE: '${LOOP}',
    LOOP: '${CIRCLE}',
    GONE: undefined,
  }
  it.each([
    ['is replaced', '${A}', 'one'],
    ['is replaced inside a text, every time', 'x${A}y${B}z${A}', 'xoneytwozone'],
    ['that is set beats its default', '${A:-other}', 'one'],
    ['that is not set takes its default', '${X:-other}', 'other'],
    ['that is empty takes its default, as in a shell', '${EMPTY:-other}', 'other'],
    ['that is empty and has no default is empty', '[${EMPTY}]', '[]'],
    ['may have an empty default', '[${X:-}]', '[]'],
    ['may have a default with signs in it', '${X:-https://a:b/?c={d}', 'https://a:b/?c={d'],
    ['may have a variable in its default', '${X:-${A}}', 'one'],
    ['that is set swallows a default with a variable whole', '[${B:-${A}}]', '[two]'],
    ['may have defaults inside defaults', '${X:-${Y:-${B}}}', 'two'],
    ['that is missing stays as it was written', 'a${X}b', 'a${X}b'],
    ['that is undefined is missing', '${GONE}', '${GONE}'],
    ['is not looked for inside a value', '${NESTED}', '${A}'],
    ['may be part of a circle', '${CIRCLE}', '${LOOP}'],
    ['needs its braces', '$A', '$A'],
    ['needs a proper name', '${1A} ${A-B} ${} ${A B} ${env:A}', '${1A} ${A-B} ${} ${A B} ${env:A}'],
    ['that is never closed is text', '${A:-x ${B', '${A:-x ${B'],
    ['is never something that objects have by birth', '${constructor} ${toString:-x}', '${constructor} x'],
  ])('%s', (_, written, expected) => expect(expand(written, env).text).toBe(expected))

  it('is reported with its place and where the value came from', () => {
    const entry: StdioEntry = {
      type: 'stdio',
      command: '${A}',
      args: ['plain', '${X:-d}'],
      env: { K: '${MISSING}' },
      cwd: '${B}',
    }
    const { entry: expanded, expansions } = expandEntry(entry, env)
    expect(expanded).toEqual({
      ...entry,
      command: 'one',
      args: ['plain', 'd'],
      env: { K: '${MISSING}' },
      cwd: 'two',
    })
    expect(expansions).toEqual([
      { path: 'command', variable: 'A', from: 'environment', value: 'one' },
      { path: 'args[1]', variable: 'X', from: 'default', value: 'd' },
      { path: 'env.K', variable: 'MISSING', from: 'missing' },
      { path: 'cwd', variable: 'B', from: 'environment', value: 'two' },
    ])
  })

  it('works in url and headers of a remote server, and not in header names', () => {
    const entry: HttpEntry = { type: 'http', url: 'https://${A}/', headers: { '${A}': 'x ${B}' } }
    expect(expandEntry(entry, env).entry).toEqual({
      type: 'http',
      url: 'https://one/',
      headers: { '${A}': 'x two' },
    })
  })

  it('takes no longer for being hostile', () => {
    expect(expand('${A:-'.repeat(100_000), env).text).toBe('${A:-'.repeat(100_000))
    expect(expand('${A:-'.repeat(20_000) + '}'.repeat(20_000), {}).text).toContain('${A:-')
  })
})

describe('expansion never invents', () => {
  const piece = fc.constantFrom(
    'a',
    '$',
    '{',
    '}',
    '${',
    ':-',
    'A',
    'B',
    '${A}',
    '${B:-d}',
    '${A:-${B}}',
    ' ',
  )
  const written = fc.array(piece, { maxLength: 15 }).map((parts) => parts.join(''))

  it('without variables in reach, only defaults are unwrapped: the result is the text with characters left out', () => {
    fc.assert(
      fc.property(written, (text) => {
        expect(isSubsequence(expand(text, {}).text, text)).toBe(true)
      }),
    )
  })

  it('a value appears as it is, whatever it looks like', () => {
    const value = fc.array(piece, { minLength: 1, maxLength: 6 }).map((parts) => parts.join(''))
    fc.assert(
      fc.property(written, value, (text, inside) => {
        // With a marker for the value, the text shows where it goes; putting the real value there is all that happens.
        const plan = expand(text, { A: '\u0000' }).text
        expect(expand(text, { A: inside }).text).toBe(plan.replaceAll('\u0000', () => inside))
      }),
    )
  })

  it('text without a reference is left alone', () => {
    fc.assert(
      fc.property(fc.string(), (text) => {
        fc.pre(!text.includes('${'))
        expect(expand(text, { A: 'x' })).toEqual({ text, expansions: [] })
      }),
    )
  })
})

function isSubsequence(part: string, whole: string): boolean {
  let at = 0
  for (const char of whole) if (char === part[at]) at++
  return at === part.length
}

describe('what is no reference', () => {
  it.each([
    ['${1} ${A}', '${1} one'],
    ['${} ${A}', '${} one'],
    ['${X:-x${}y}z', 'x${}yz'],
    ['${X:-${Y:-a}b}c', 'abc'],
    ['${X:-a', '${X:-a'],
  ])('%s becomes %s', (text, expanded) => {
    expect(expand(text, { A: 'one' }).text).toBe(expanded)
  })

  it('is a default inside of eight others', () => {
    const nested = (levels: number): string => (levels === 0 ? 'x' : `\${A:-${nested(levels - 1)}}`)
    expect(expand(nested(8), {}).text).toBe('x')
    expect(expand(nested(9), {}).text).toBe('${A:-x}')
  })
})
