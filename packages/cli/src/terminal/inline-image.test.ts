// Pictures in the terminal: what a terminal is said to be able to, and what an independent decoder sees of our sixels.
import { decode } from 'sixel'
import { describe, expect, it } from 'vitest'
import { withCodes } from '../colors.ts'
import { imageRows, protocolOf, readAnswers } from './inline-image.ts'
import { sixel } from './sixel.ts'

describe('which protocol', () => {
  it.each([
    [{ TERM: 'xterm-kitty' }, 'kitty'],
    [{ TERM_PROGRAM: 'ghostty', TERM: 'xterm-256color' }, 'kitty'],
    [{ TERM_PROGRAM: 'iTerm.app' }, 'iterm'],
    [{ LC_TERMINAL: 'iTerm2', TERM: 'xterm-256color' }, 'iterm'],
    [{ TERM_PROGRAM: 'iTerm.app', TMUX: '/tmp/x' }, 'none'],
    [{ TERM: 'dumb' }, 'none'],
    [{ TERM: 'xterm-kitty', PLUGBOARD_IMAGES: 'off' }, 'none'],
    [{ TMUX: '/tmp/x', PLUGBOARD_IMAGES: 'sixel' }, 'sixel'],
    [{ TERM: 'xterm-256color' }, undefined],
  ])('%j is %s', (env, protocol) => {
    expect(protocolOf(env)).toBe(protocol)
  })

  it.each([
    ['\x1b[6;18;9t\x1b[?62;4;22c', { width: 9, height: 18 }, ''],
    ['\x1b[6;18;9t\x1b[?62;22c', undefined, ''],
    ['\x1b[?64;1;4c', { width: 8, height: 15 }, ''],
    ['he\x1b[6;18;9tl\x1b[?4clo', { width: 9, height: 18 }, 'hello'],
    ['typed', undefined, 'typed'],
  ])('the answers %j', (said, cell, rest) => {
    expect(readAnswers(said)).toEqual({ cell, rest })
  })
})

describe('sixels', () => {
  it('are what was drawn, as another program reads them', () => {
    const [width, height] = [16, 13]
    const rgb = new Uint8Array(width * height * 3)
    const want = (x: number, y: number) =>
      y < 6 ? [255, 0, 0] : x < 8 ? [0, 255, 0] : y === 12 ? [0, 0, 0] : [255, 255, 255]
    for (let y = 0; y < height; y++) for (let x = 0; x < width; x++) rgb.set(want(x, y), (y * width + x) * 3)
    const text = sixel({ width, height, rgb })
    expect(text).toMatch(/^[ -~]+$/)
    const { data32, width: w, height: h } = decode(text.slice(text.indexOf('q') + 1))
    expect([w, h]).toEqual([width, height])
    for (let y = 0; y < height; y++)
      for (let x = 0; x < width; x++) {
        const pixel = data32[y * width + x] ?? 0
        expect([pixel & 255, (pixel >> 8) & 255, (pixel >> 16) & 255]).toEqual(want(x, y))
      }
  })
})

describe('a picture that is not one', () => {
  it.each(['', '!!!', Buffer.from('no picture').toString('base64'), broken()])(
    '%j is not shown',
    async (data) => {
      const terminal = { protocol: 'kitty', cell: { width: 10, height: 20 } } as const
      expect(await imageRows(data, terminal, 80)).toBeUndefined()
    },
  )

  it('text cannot become a control string of ours', () => {
    expect(withCodes('\ufdd0_Gx\u009c', (part) => part)).not.toContain('\x1b')
  })
})

/** A header that promises more pixels than fit. */
function broken(): string {
  const header = Buffer.from('89504e470d0a1a0a0000000d49484452', 'hex')
  return Buffer.concat([header, Buffer.from('7fffffff7fffffff0806000000', 'hex')]).toString('base64')
}
