import fc from 'fast-check'
import { beforeEach, describe, expect, it } from 'vitest'
import { LineSplitter } from './line-splitter.ts'

let chunkwise = false

function split(chunks: readonly Buffer[], maxBytes = 1000): { lines: string[]; overflows: string[] } {
  const lines: string[] = []
  const overflows: string[] = []
  const splitter = new LineSplitter({
    maxBytes,
    chunkwise,
    onLine: (line) => lines.push(line),
    onOverflow: (start) => overflows.push(start),
  })
  for (const chunk of chunks) splitter.push(chunk)
  splitter.end()
  return { lines, overflows }
}

describe.each([false, true])('lines out of bytes (decoded chunk by chunk: %s)', (way) => {
  beforeEach(() => {
    chunkwise = way
  })

  it('are the same, wherever the chunks are cut, also within a character', () => {
    const text = fc.array(
      fc.string({ unit: 'binary', maxLength: 20 }).map((line) => line.replace(/[\r\n]/g, '')),
    )
    fc.assert(
      fc.property(
        text,
        fc.array(fc.integer({ min: 1, max: 7 }), { minLength: 1 }),
        fc.boolean(),
        (lines, sizes, crlf) => {
          const bytes = Buffer.from(lines.map((line) => `${line}${crlf ? '\r\n' : '\n'}`).join(''))
          const chunks: Buffer[] = []
          for (let at = 0, n = 0; at < bytes.length; n++) {
            const size = sizes[n % sizes.length] ?? 1
            chunks.push(bytes.subarray(at, at + size))
            at += size
          }
          expect(split(chunks).lines).toEqual(lines.map((line) => Buffer.from(line).toString()))
        },
      ),
    )
  })

  it('that are too long tell how they began and ended, wherever they are cut', () => {
    const line = `start${'x'.repeat(5000)}end`
    const found: string[][] = []
    const lines: string[] = []
    for (const size of [1, 7, 700, 10_000]) {
      const splitter = new LineSplitter({
        maxBytes: 2000,
        chunkwise,
        onLine: (text) => lines.push(text),
        onSkipped: (start, end) => found.push([start.slice(0, 6), end.slice(-4)]),
      })
      const bytes = Buffer.from(`${line}\nnext\n`)
      for (let at = 0; at < bytes.length; at += size) splitter.push(bytes.subarray(at, at + size))
    }
    expect(found).toEqual(Array.from({ length: 4 }, () => ['startx', 'xend']))
    expect(lines).toEqual(['next', 'next', 'next', 'next'])
  })

  it('need no newline at the very end', () => {
    expect(split([Buffer.from('one\ntwo')]).lines).toEqual(['one', 'two'])
  })

  it('that are too long are dropped with their beginning told, once, and the next one is whole', () => {
    const long = Buffer.from('x'.repeat(50))
    const chunks = [
      Buffer.from('ok\n'),
      long,
      long,
      Buffer.from('rest\nnext\n'),
      Buffer.from(`${'y'.repeat(70)}\nlast\n`),
    ]
    const { lines, overflows } = split(chunks, 64)
    expect(lines).toEqual(['ok', 'next', 'last'])
    expect(overflows.map((start) => start[0])).toEqual(['x', 'y'])
  })
})
