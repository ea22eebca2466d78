// Paragraphs in lines: broken between words, never inside a command that the user may copy.
import { expect, it } from 'vitest'
import { wrapped } from './wrap.ts'

it.each([
  ['plain words', 'one two three four', 9, ['one two', 'three', 'four']],
  ['a word that is too long stays whole', 'a verylongword b', 5, ['a', 'verylongword', 'b']],
  ['a command stays in one line', 'Run `plugboard call x y` now', 22, ['Run', '`plugboard call x y`', 'now']],
  [
    'a command that fits no line is broken',
    'Run `plugboard call x y` now',
    12,
    ['Run', '`plugboard', 'call x y`', 'now'],
  ],
  ['a lone backtick is text', 'one ` two three', 9, ['one ` two', 'three']],
  ['nothing', '', 10, ['']],
])('%s', (_what, text, columns, lines) => {
  expect(wrapped(text, columns)).toEqual(lines)
  // No character but the spaces at the breaks is lost.
  expect(wrapped(text, columns).join(' ')).toBe(text)
})
