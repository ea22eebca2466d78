// The region on a small emulator: after any frames the screen shows what was printed and the last frame, and nothing else.
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { terminalText } from '../streams.ts'
import { LiveRegion } from './live-region.ts'

/** As much of a terminal as the region uses: it scrolls, moves and erases. */
class Emulator {
  lines: string[] = ['']
  row = 0
  column = 0
  readonly height: number

  constructor(height: number) {
    this.height = height
  }

  write(text: string): void {
    // biome-ignore lint/suspicious/noControlCharactersInRegex: codes of a terminal
    for (const [, code, char = ''] of terminalText(text).matchAll(/\x1b\[(\??\d*[A-Za-z])|([\s\S])/g)) {
      if (code !== undefined) this.#obey(Number.parseInt(code, 10) || 0, code.at(-1) ?? '', code)
      else if (char === '\n') {
        this.row++
        this.column = 0
        while (this.lines.length <= this.row) this.lines.push('')
      } else {
        const line = (this.lines[this.row] ?? '').padEnd(this.column)
        this.lines[this.row] = line.slice(0, this.column) + char + line.slice(this.column + 1)
        this.column++
      }
    }
  }

  #obey(count: number, final: string, code: string): void {
    // The cursor cannot leave the screen: rows above it have scrolled away.
    const top = Math.max(0, this.lines.length - this.height)
    if (code.startsWith('?')) return
    if (final === 'A') this.row = Math.max(top, this.row - count)
    if (final === 'B') this.row = Math.min(this.lines.length - 1, this.row + count)
    if (final === 'G') this.column = count - 1
    if (final === 'K' || final === 'J')
      this.lines[this.row] = (this.lines[this.row] ?? '').slice(0, this.column)
    if (final === 'J') this.lines.length = this.row + 1
  }
}

const row = fc.string({ minLength: 0, maxLength: 12, unit: fc.constantFrom(...'abc xyz') })
const frame = fc.record({
  printed: fc.array(row, { maxLength: 4 }),
  live: fc.array(row, { minLength: 1, maxLength: 6 }),
  cursor: fc.nat(5),
})

describe('the live region', () => {
  it('shows what was printed and the last frame, after any frames', () => {
    fc.assert(
      fc.property(fc.array(frame, { minLength: 1, maxLength: 12 }), (frames) => {
        const screen = new Emulator(20)
        const region = new LiveRegion({
          write: (text) => screen.write(text),
          size: () => ({ columns: 80, rows: 20 }),
        })
        const printed: string[] = []
        for (const { printed: rows, live, cursor } of frames) {
          printed.push(...rows)
          const place = { row: Math.min(cursor, live.length - 1), column: 2 }
          region.draw(rows, live, place)
          expect(screen.lines.map((line) => line.trimEnd())).toEqual(
            [...printed, ...live].map((line) => line.trimEnd()),
          )
          expect([screen.row, screen.column]).toEqual([printed.length + place.row, 2])
        }
        region.erase()
        expect(screen.lines.map((line) => line.trimEnd())).toEqual([
          ...printed.map((line) => line.trimEnd()),
          '',
        ])
      }),
    )
  })

  it('leaves out the upper part of a frame that is higher than the screen', () => {
    const screen = new Emulator(5)
    const region = new LiveRegion({
      write: (text) => screen.write(text),
      size: () => ({ columns: 80, rows: 5 }),
    })
    const live = Array.from({ length: 9 }, (_, at) => `row ${at}`)
    region.draw(['printed'], live, { row: 8, column: 0 })
    region.draw([], ['short'], { row: 0, column: 0 })
    expect(screen.lines).toEqual(['printed', 'short'])
  })
})
