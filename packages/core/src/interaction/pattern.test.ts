import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { compilePattern } from './pattern.ts'
import { formatCheck } from './string-formats.ts'

const piece = fc.constantFrom(
  'a',
  'b',
  '.',
  '\\d',
  '[a-c]',
  '(a|b)',
  '(?:ab)',
  '(a+)',
  '(?=a)',
  '^',
  '$',
  '\\b',
)
const repeat = fc.constantFrom('', '', '*', '+', '?', '{2}', '{1,3}', '{2,}', '*?')
const source = fc
  .array(
    fc.tuple(piece, repeat).map((parts) => parts.join('')),
    { maxLength: 5 },
  )
  .map((parts) => parts.join(''))

describe('patterns from servers', () => {
  it('match as they would by themselves', () => {
    fc.assert(
      fc.property(source, fc.stringMatching(/^[abc1 ]{0,12}$/), (pattern, text) => {
        const compiled = compilePattern(pattern)
        let native: RegExp
        try {
          native = new RegExp(pattern, 'u')
        } catch {
          return // Repeats on an anchor: not a pattern in either.
        }
        const match = compiled.ok ? compiled.pattern.test(text) : 'no pattern'
        if (match !== 'too-slow') expect(match).toBe(native.test(text) ? 'yes' : 'no')
      }),
      { numRuns: 300 },
    )
  })

  it.each([
    ['(a+)+$', `${'a'.repeat(50)}b`],
    ['(a|a)*$', `${'a'.repeat(50)}b`],
    ['^(([a-z])+.)+[A-Z]([a-z])+$', 'a'.repeat(60)],
    [`${'(a|a)'.repeat(30)}c`, 'a'.repeat(40)],
    ['(a?){30}a{30}', 'a'.repeat(29)],
    ['a*a*a*a*a*a*a*c', 'a'.repeat(3000)],
    ['(x+x+)+y', 'x'.repeat(40)],
  ])('end though they explode: %s', (pattern, text) => {
    const compiled = compilePattern(pattern)
    if (!compiled.ok) throw new Error(compiled.reason)
    expect(['too-slow', 'no']).toContain(compiled.pattern.test(text))
  })

  it('are refused when they are no patterns or too long', () => {
    for (const bad of ['(', '[', '*', 'a'.repeat(5000)]) expect(compilePattern(bad).ok).toBe(false)
  })
})

describe('formats', () => {
  it.each<[string, string[], string[]]>([
    ['date', ['2024-02-29'], ['2023-02-29', '2024-13-01', '24-01-01']],
    ['time', ['10:00:00Z', '23:59:60Z', '10:00:00.5+02:00'], ['25:00:00Z', '10:00', '12:00:60Z']],
    ['date-time', ['2026-01-01T00:00:00Z'], ['2026-01-01', '2026-01-01T00:00:00']],
    ['email', ['a.b@c.de'], ['a', 'a@', '@b', 'a b@c.de']],
    [
      'uri',
      ['https://a.b/c?d#e', 'urn:x:y', 'http://[::1]:80/'],
      ['a/b', '/a', 'http://a b', 'http://[zz]/'],
    ],
    ['uri-reference', ['../a', '#x', 'https://a'], ['a b', '\\']],
    ['uuid', ['123e4567-e89b-12d3-a456-426614174000'], ['123e4567']],
    ['ipv4', ['127.0.0.1'], ['256.0.0.1', '01.1.1.1', '1.1.1']],
    ['ipv6', ['::', '::1', '1:2:3:4:5:6:7:8', '::ffff:1.2.3.4'], [':', '1:2', ':::', '1::2::3', '12345::']],
    ['hostname', ['a.b-c.de'], ['-a', 'a..b', '']],
    ['duration', ['P1Y', 'PT1S', 'P2W'], ['P', 'PT', '1D']],
  ])('%s', (format, good, bad) => {
    const fits = formatCheck(format)
    for (const text of good) expect(fits?.(text), text).toBe(true)
    for (const text of bad) expect(fits?.(text), text).toBe(false)
  })

  it('that are unknown are no checks', () => {
    for (const none of ['unheard-of', '__proto__', 7, undefined]) expect(formatCheck(none)).toBeUndefined()
  })
})
