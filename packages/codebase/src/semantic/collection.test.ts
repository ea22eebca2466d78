import { describe, expect, it } from 'vitest'
import { MemoryStore } from '../index/memory-store.ts'
import { batchOf } from './chunk-batch.ts'
import { ChunkCollection } from './collection.ts'
import { best } from './score-fusion.ts'
import { packVector, unit } from './vectors.ts'

type Direction = readonly [number, number]

/** One file a list of directions, one chunk a direction; the store is a real one. */
async function stored(files: readonly (readonly Direction[])[]) {
  const chunks = new MemoryStore().chunks({ id: 'test', dimensions: 2 })
  const name = await chunks.add(
    batchOf(
      files.map((directions, f) => ({
        path: `src/file${f}.ts`,
        size: 1,
        mtimeMs: 1,
        cut: directions.map((_, n) => ({
          start: n,
          end: n + 1,
          startLine: n + 1,
          endLine: n + 1,
          kind: 'block' as const,
          within: [],
          language: 'typescript',
          text: `line ${n}`,
        })),
      })),
    ),
  )
  await chunks.commit([name])
  const give = (directions: readonly Direction[]) =>
    chunks.addVectors(
      name,
      Buffer.concat(directions.map((direction) => packVector(unit(Float32Array.from(direction))))),
    )
  const collection = () =>
    new ChunkCollection(
      chunks.segments().map((segment) => ({
        segment,
        base: 0,
        stale: new Uint8Array(segment.files.length),
        fileOf: undefined,
      })),
    )
  return { give, collection }
}

const COMMON: Direction = [1, 0]
const SPECIAL: Direction = [1, 1]
/** Similar a little to what is special, and much to what every chunk has in common. */
const QUESTION = unit(Float32Array.from([1, 0.2]))

describe('similarity among many chunks', () => {
  it('is measured from their mean, which counts more the more chunks there are', async () => {
    const directions = Array.from({ length: 300 }, (_, n): Direction => [1, Math.sin(n)])
    const { give, collection } = await stored([directions])
    await give(directions)
    const all = collection()
    const scores = all.byVectors(QUESTION, all.accepted(undefined, undefined))
    const vectors = directions.map((direction) => unit(Float32Array.from(direction)))
    const middle = [0, 1].map((n) => vectors.reduce((sum, vector) => sum + (vector[n] as number), 0) / 400)
    vectors.forEach((vector, id) => {
      const seen = unit(vector.map((value, n) => value - (middle[n] as number)))
      const near =
        (seen[0] as number) * (QUESTION[0] as number) + (seen[1] as number) * (QUESTION[1] as number)
      expect(scores[id]).toBeCloseTo(near, 1)
    })
  })

  it('is plain cosine similarity among few, whose common part is not known', async () => {
    const { give, collection } = await stored([[COMMON, SPECIAL]])
    await give([COMMON, SPECIAL])
    const few = collection()
    expect(best(few.byVectors(QUESTION, few.accepted(undefined, undefined)))[0]?.id).toBe(0)
  })

  it('takes in vectors that are added later, as if they had always been there', async () => {
    const directions = [...Array<Direction>(600).fill(COMMON), SPECIAL]
    const { give, collection } = await stored([directions])
    const growing = collection()
    const accepted = growing.accepted(undefined, undefined)
    await give([COMMON])
    const early = growing.byVectors(QUESTION, accepted)
    expect(Number.isNaN(early[600])).toBe(true)
    expect(Number.isFinite(early[0])).toBe(true)
    await give(directions.slice(1))
    expect(growing.byVectors(QUESTION, accepted)).toEqual(collection().byVectors(QUESTION, accepted))
  })
})

describe('chunks of one file', () => {
  it('get a share of the best one’s score, and stay behind it', async () => {
    const { collection } = await stored([[COMMON, COMMON], [COMMON]])
    const all = collection()
    all.accepted(undefined, undefined)
    const [good, neighbour, otherFile] = all.boostSameFile(Float64Array.from([3, 1, 1.2]))
    expect(neighbour).toBeGreaterThan(otherFile as number)
    expect(good).toBeGreaterThan(neighbour as number)
  })

  it('are not changed by one that was left out', async () => {
    const { collection } = await stored([[COMMON, COMMON]])
    const all = collection()
    all.accepted(undefined, undefined)
    const lent = all.boostSameFile(Float64Array.from([Number.NaN, 1]))
    expect(lent[0]).toBeNaN()
    expect(Number.isFinite(lent[1])).toBe(true)
  })
})
