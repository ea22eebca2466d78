// The fusion while vectors are missing, on questions drawn with a seed: at no share of vectors may it be worse than terms alone.
import { describe, expect, it } from 'vitest'
import { seeded } from '../fixtures/test-folders.ts'
import { best, fuse, type Scores } from './score-fusion.ts'

const CHUNKS = 400
const QUESTIONS = 150

interface Drawn {
  readonly right: number
  readonly words: Scores
  readonly vectors: Scores
}

/** Words and vectors both point to the right chunk, each with noise of its own, and chunks with the words are nearer on average. */
function draw(random: () => number): Drawn {
  const normal = () => Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random())
  const right = Math.floor(random() * CHUNKS)
  const words = new Float64Array(CHUNKS)
  const vectors = new Float64Array(CHUNKS)
  for (let id = 0; id < CHUNKS; id++) {
    // Most chunks have none of the words.
    const fits = random() < 0.2 ? Math.abs(normal()) * 4 : 0
    words[id] = id === right ? 5 + Math.abs(normal()) * 5 : fits
    vectors[id] = 0.02 * (words[id] as number) + 0.1 * normal() + (id === right ? 0.2 : 0)
  }
  return { right, words, vectors }
}

const reciprocalRank = (scores: Scores, right: number) => {
  const place = best(scores).findIndex(({ id }) => id === right)
  return place < 0 || place >= 10 ? 0 : 1 / (place + 1)
}

describe('fuse', () => {
  const random = seeded(18)
  const drawn = Array.from({ length: QUESTIONS }, () => draw(random))
  const accepted = new Uint8Array(CHUNKS).fill(1)
  const mean = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / values.length
  const byWords = mean(drawn.map(({ words, right }) => reciprocalRank(words, right)))
  /** With vectors for the first chunks only, and for so many of the best by words. */
  const fusedAt = (share: number, onDemand: number) =>
    mean(
      drawn.map(({ words, vectors, right }) => {
        const shown = vectors.map((near, id) => (id < share * CHUNKS ? near : Number.NaN))
        for (const { id } of best(words, 0).slice(0, onDemand)) shown[id] = vectors[id] as number
        return reciprocalRank(fuse(words, shown, accepted), right)
      }),
    )

  it.each([0.02, 0.1, 0.2, 0.45, 0.65, 0.85, 1])('is no worse than words at a share of %d', (share) => {
    for (const onDemand of [0, 3, 15]) expect(fusedAt(share, onDemand)).toBeGreaterThanOrEqual(byWords)
  })

  it('is better than words once every chunk has a vector, and nearly as good when the best by words have one', () => {
    expect(fusedAt(1, 0)).toBeGreaterThan(byWords * 1.1)
    expect(fusedAt(0.1, 20)).toBeGreaterThan(byWords * 1.1)
  })

  it('leaves out what is not accepted, and ranks by vectors where there are no words', () => {
    const none = new Float64Array(4)
    const near = Float64Array.from([0.1, 0.9, Number.NaN, 0.5])
    const order = best(fuse(none, near, Uint8Array.from([1, 1, 1, 0]))).map(({ id }) => id)
    expect(order).toHaveLength(3)
    expect(order.indexOf(1)).toBeLessThan(order.indexOf(0))
  })
})
