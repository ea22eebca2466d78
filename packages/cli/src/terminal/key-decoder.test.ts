import { describe, expect, it } from 'vitest'
import { type Input, KeyDecoder } from './key-decoder.ts'

const read = (...pieces: string[]): readonly Input[] => {
  const decoder = new KeyDecoder()
  return [...pieces.flatMap((piece) => decoder.push(piece)), ...decoder.flush()]
}
const names = (...pieces: string[]) =>
  read(...pieces).map((input) => {
    if (input.kind !== 'key') return `${input.kind}:${input.text}`
    return `${input.ctrl ? 'ctrl-' : ''}${input.alt ? 'alt-' : ''}${input.shift ? 'shift-' : ''}${input.name}`
  })

describe('what a terminal sends', () => {
  it.each([
    ['ab c', ['text:ab c']],
    ['a\rb', ['text:a', 'enter', 'text:b']],
    ['\x03\x04\x12\x1f', ['ctrl-c', 'ctrl-d', 'ctrl-r', 'ctrl-_']],
    ['\x7f\t\n', ['backspace', 'tab', 'ctrl-j']],
    ['\x1b[A\x1bOB\x1b[1;5C\x1b[3~\x1b[Z', ['up', 'down', 'ctrl-right', 'delete', 'shift-tab']],
    ['\x1b[13;2u\x1b[27;2;13~\x1b\r', ['shift-enter', 'shift-enter', 'alt-enter']],
    ['\x1bb\x1b\x7f', ['alt-b', 'alt-backspace']],
    ['\x1b', ['escape']],
    ['\x1b\x1b[A', ['escape', 'up']],
    ['\x1b[I\x1b[?1;2c', []],
    ['日本 é 👍🏽', ['text:日本 é 👍🏽']],
  ])('%j', (sent, keys) => {
    expect(names(sent)).toEqual(keys)
  })

  it('is the same however it is cut', () => {
    const sent = 'a\x1b[1;5Cb\x1b[200~x\ny\x1b[201~\x1b[Ac'
    const whole = names(sent)
    for (let at = 1; at < sent.length; at++) expect(names(sent.slice(0, at), sent.slice(at))).toEqual(whole)
  })

  it('keeps a paste as one text, whatever is in it', () => {
    expect(read('\x1b[200~one\r\ntwo\rthree\n\x03\x1b[A\ttab\x1b[201~')).toEqual([
      { kind: 'paste', text: 'one\ntwo\nthree\n[A\ttab' },
    ])
  })

  it('takes many lines at once for a paste where the terminal marks none', () => {
    const lines = Array.from({ length: 8 }, (_, at) => `line ${at}`).join('\r')
    expect(names(`${lines}\r`)).toEqual([`paste:${lines.replaceAll('\r', '\n')}\n`])
    expect(names('go\ry\r')).toEqual(['text:go', 'enter', 'text:y', 'enter'])
  })
})
