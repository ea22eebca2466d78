// Untrusted text as it is shown in errors of the authorization flow.
import { describe, expect, it } from 'vitest'
import { quoted, shownUrl } from './auth-refused.ts'

describe('untrusted text', () => {
  it.each<[unknown, readonly (string | undefined)[], string]>([
    ['plain', [], 'plain'],
    [' a\n\tb\u202ec ', [], 'a b c'],
    ['x'.repeat(200), [], 'x'.repeat(200)],
    ['x'.repeat(201), [], `${'x'.repeat(200)}…`],
    [undefined, [], ''],
    [{ a: 1 }, [], ''],
    ['the secret abcd leaks', ['abcd'], 'the secret *** leaks'],
    ['the word abc stays', ['abc', '', undefined], 'the word abc stays'],
    [`encoded ${encodeURIComponent('pass word/long')}`, ['pass word/long'], 'encoded ***'],
  ])('%j without %j is %j', (text, secrets, expected) => {
    expect(quoted(text, secrets)).toBe(expected)
  })

  it.each([
    ['https://user:pass@host:8443/path?token=1#x', 'https://host:8443/path'],
    ['not a url', 'not a url'],
    [new URL('http://localhost/a'), 'http://localhost/a'],
  ])('the address %s is shown as %s', (url, expected) => {
    expect(shownUrl(url)).toBe(expected)
  })
})
