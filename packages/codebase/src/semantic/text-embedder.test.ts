// The model for short texts: the installed one, on its own thread.
import { expect, it } from 'vitest'
import { textEmbedder } from './text-embedder.ts'

it('finds texts of one meaning nearer than others, and ends', async () => {
  const embedder = textEmbedder()
  if (!embedder) throw new Error('the model is a dependency of this workspace')
  const vectors = await Promise.all(
    ['delete a folder', 'remove the directory', 'play some music'].map((text) => embedder.embed(text)),
  )
  const [a, b, c] = vectors
  const dot = (x?: Float32Array, y?: Float32Array) =>
    x?.reduce((sum, value, at) => sum + value * (y?.[at] ?? 0), 0) ?? 0
  expect(a).toHaveLength(embedder.dimensions)
  expect(dot(a, a)).toBeCloseTo(1, 3)
  expect(dot(a, b)).toBeGreaterThan(dot(a, c) + 0.2)
  await embedder.close()
  await expect(embedder.embed('more')).rejects.toThrow()
}, 60_000)
