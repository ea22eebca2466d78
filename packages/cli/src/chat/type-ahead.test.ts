import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { inOneLine, TypeAhead, withLineEnds } from './type-ahead.ts'

const lines = (ahead: TypeAhead) => {
  const taken: string[] = []
  for (let next = ahead.take(); next !== ''; next = ahead.take()) taken.push(withLineEnds(next))
  return taken
}

describe('type-ahead', () => {
  it('is handed out line by line', () => {
    const ahead = new TypeAhead()
    ahead.add('first\rsecond\r')
    ahead.add('thi')
    expect(lines(ahead)).toEqual(['first\r', 'second\r', 'thi'])
    ahead.add('rd\r')
    expect(ahead.take()).toBe('rd\r')
  })

  it('reports a Ctrl-C in it, and keeps the rest', () => {
    const ahead = new TypeAhead()
    expect(ahead.add('ab\x03cd\x03')).toEqual({ interrupts: 2 })
    expect(ahead.take()).toBe('abcd')
  })

  it('is one line when pasted, whatever keys the paste has', () => {
    const ahead = new TypeAhead()
    expect(ahead.add('\x1b[200~one\r\ntwo\tthree\x03\x04\x1b[A\n\x1b[201~ more\r')).toEqual({ interrupts: 0 })
    expect(lines(ahead)).toEqual(['one\ntwo\tthree[A more\r'])
  })

  it('passes on an Escape that starts no paste', () => {
    const ahead = new TypeAhead()
    ahead.add('\x1b')
    expect(ahead.take()).toBe('')
    ahead.release()
    expect(ahead.take()).toBe('\x1b')
    ahead.add('\x1b[A')
    expect(ahead.take()).toBe('\x1b[A')
  })

  it('loses nothing, however the terminal cuts it into pieces', () => {
    const text = fc.stringMatching(/^[a-z \n\t]{1,20}$/).filter((one) => one.trim() !== '')
    fc.assert(
      fc.property(
        fc.array(fc.record({ text, pasted: fc.boolean() }), { maxLength: 8 }),
        fc.array(fc.integer({ min: 1, max: 7 }), { minLength: 1 }),
        (parts, sizes) => {
          const sent = parts
            .map(({ text: one, pasted }) =>
              pasted ? `\x1b[200~${one}\x1b[201~\r` : `${one.replace(/[\n\t]/g, ' ')}\r`,
            )
            .join('')
          const ahead = new TypeAhead()
          for (let at = 0, turn = 0; at < sent.length; turn++) {
            const size = sizes[turn % sizes.length] ?? 1
            ahead.add(sent.slice(at, at + size))
            at += size
          }
          expect(lines(ahead)).toEqual(
            parts.map(({ text: one, pasted }) =>
              pasted ? `${one.replace(/\n+$/, '')}\r` : `${one.replace(/[\n\t]/g, ' ')}\r`,
            ),
          )
        },
      ),
    )
  })

  it('comes back from the history as it was', () => {
    expect(withLineEnds(inOneLine('a\n\tb\r\nc'))).toBe('a\n\tb\nc')
  })
})
