import { readdirSync, readFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createColors, cursor, withoutCodes } from './colors.ts'
import { jsonLine, table } from './output.ts'
import { terminalText } from './streams.ts'

const OBEYED = /(?![\n\t])[\p{Cc}\p{Bidi_Control}\p{Zl}\p{Zp}\p{Noncharacter_Code_Point}\p{Cs}]/u
const colors = createColors(true)
const any = fc.array(
  fc.oneof(
    fc.integer({ min: 0, max: 0x10ffff }).map((code) => String.fromCodePoint(code)),
    fc.constantFrom(
      '\x1b[31m',
      '\x1b]0;title\x07',
      '\x1b]8;;http://x\x1b\\',
      '\x9b2J',
      '\ufdd0',
      '\ufdd031m',
      '\r',
    ),
  ),
  { maxLength: 40 },
)

describe('the writer of the command', () => {
  it('passes our own styling and no foreign codes', () => {
    fc.assert(
      fc.property(any, (parts) => {
        const foreign = parts.join('')
        const shown = terminalText(`${colors.red(foreign)}${cursor.up(2)}${cursor.home()}${foreign}`)
        const start = '\x1b[31m'
        expect(shown.startsWith(start)).toBe(true)
        const rest = shown.slice(start.length).replace('\x1b[39m\x1b[2A\x1b[1G', '')
        expect(OBEYED.test(rest)).toBe(false)
      }),
      { numRuns: 2000 },
    )
  })

  it('makes a server’s code visible that looks like ours', () => {
    expect(terminalText(`${colors.bold('x')} \x1b[31mred\x1b[0m`)).toBe(
      '\x1b[1mx\x1b[22m \\u001b[31mred\\u001b[0m',
    )
  })

  it('measures text without our codes', () => {
    expect(withoutCodes(colors.bold(colors.red('abc')))).toBe('abc')
    expect(
      withoutCodes(
        table([
          [colors.bold('a'), 'x'],
          ['bbb', 'y'],
        ]),
      ),
    ).toBe('a    x\nbbb  y')
  })

  it('writes JSON with the same values, and no invisible characters in its text', () => {
    fc.assert(
      fc.property(any, (parts) => {
        const value = parts.join('')
        const line = jsonLine({ value })
        expect(JSON.parse(line)).toEqual({ value })
        expect(OBEYED.test(line)).toBe(false)
      }),
    )
  })

  it('is the only one: no other file writes to the terminal, or makes its codes', () => {
    const root = fileURLToPath(new URL('.', import.meta.url))
    const files = readdirSync(root, { recursive: true, withFileTypes: true })
      .filter((item) => item.isFile() && item.name.endsWith('.ts') && !item.name.endsWith('.test.ts'))
      .map((item) => join(item.parentPath ?? item.path, item.name))
    expect(files.length).toBeGreaterThan(40)
    const around = /process\.(?:stdout|stderr)\b|\bconsole\.|writeSync\(|\\x1b\[|\\u001b\[|output: process\./
    const strays = files
      .map((file) => relative(root, file))
      // The second is where the first ends, and what the smallest command writes with: text that the resident made fit to show.
      .filter((file) => !['streams.ts', 'raw-output.ts', 'colors.ts'].includes(file))
      // They hand their pipe to the protocol, and refuse a terminal.
      .filter((file) => file !== join('board-verbs', 'connect.ts') && file !== 'thin-connect.ts')
      // It writes to a file of its own.
      .filter((file) => file !== join('board-verbs', 'record.ts'))
      .filter((file) => {
        const lines = readFileSync(join(root, file), 'utf8').split('\n')
        return lines.some((line) => around.test(line) && !KEYS_READ.some((known) => line.includes(known)))
      })
    expect(strays).toEqual([])
  })
})

/** Patterns of what comes from a terminal or a server, which is read and not written. */
const KEYS_READ = ["const PASTE_START = '", "const PASTE_END = '", 'const COLOR_CODE = /']
