import { describe, expect, it } from 'vitest'
import { Encoder } from './encoder.ts'
import { modelFolder, readModel } from './weights.ts'

const folder = modelFolder()

describe.skipIf(folder === undefined)('the encoder', () => {
  const encoder = new Encoder(readModel(folder ?? ''))
  const near = (a: string, b: string) => {
    const [x, y] = [encoder.embed(a, 128), encoder.embed(b, 128)]
    return x.reduce((sum, value, n) => sum + value * (y[n] ?? 0), 0)
  }

  it('gives vectors of length 1, the same for the same text', () => {
    const vector = encoder.embed('parse the configuration file', 128)
    expect(Math.hypot(...vector)).toBeCloseTo(1, 4)
    expect(encoder.embed('parse the configuration file', 128)).toEqual(vector)
  })

  it('is as near to the published model as 8-bit weights allow', () => {
    // The first numbers of all-MiniLM-L6-v2 in full precision for this sentence, as its model card prints them.
    const [a = 0, b = 0, c = 0, d = 0] = encoder.embed('This is an example sentence', 128)
    for (const [ours, published] of [
      [a, 0.0676],
      [b, 0.0635],
      [c, 0.0487],
      [d, 0.0793],
    ] as const)
      expect(Math.abs(ours - published)).toBeLessThan(0.04)
  })

  it('gives similar vectors to texts of the same meaning, and others to different ones', () => {
    expect(
      near('The weather is sunny in Paris today.', 'It is a nice sunny day in the French capital.'),
    ).toBeGreaterThan(0.6)
    expect(
      near('How do I open a file for reading?', 'function openFile(path) { return fs.open(path, "r") }'),
    ).toBeGreaterThan(0.4)
    expect(near('How do I open a file for reading?', 'The weather is sunny in Paris today.')).toBeLessThan(
      0.2,
    )
  })

  it('takes any text: empty, long, odd', () => {
    for (const text of ['', ' ', 'x'.repeat(100_000), '漢字 é \u0000 😀 \ud800', '('.repeat(500)])
      expect(Math.hypot(...encoder.embed(text, 128))).toBeCloseTo(1, 3)
  })
})
