// Vectors of tools: made once, kept by text, in a file for the next process, and never in the way of a search by words.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import { type TextEmbedder, ToolVectors } from './tool-vectors.ts'

const DIMENSIONS = 16
const folders: string[] = []
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true })
})
function fileIn(): string {
  const folder = mkdtempSync(join(tmpdir(), 'tool-vectors-'))
  folders.push(folder)
  return join(folder, 'vectors.json')
}

/** Counts letters: texts with the same letters are near. */
function letters(seen: string[], fail?: (text: string) => boolean, id = 'letters'): TextEmbedder {
  return {
    id,
    dimensions: DIMENSIONS,
    async embed(text) {
      seen.push(text)
      if (fail?.(text)) throw new Error('the model is gone')
      const vector = new Float32Array(DIMENSIONS)
      for (const char of text) {
        const at = char.charCodeAt(0) % DIMENSIONS
        vector[at] = (vector[at] ?? 0) + 1
      }
      const length = Math.hypot(...vector) || 1
      return vector.map((value) => value / length)
    },
    close: async () => undefined,
  }
}

const TEXTS = ['read a file', 'send a mail', 'take a picture']

describe('vectors of tools', () => {
  it('are made in the background, then say which text is nearest', async () => {
    const vectors = new ToolVectors({ embedder: letters([]) })
    expect(await vectors.nearness('a mail', TEXTS)).toBeUndefined()
    await vectors.prepare(TEXTS)
    const near = [...((await vectors.nearness('send the mail', TEXTS)) ?? [])]
    expect(near).toHaveLength(3)
    expect(near.indexOf(Math.max(...near))).toBe(1)
    expect(near.every((value) => value >= -1.01 && value <= 1.01)).toBe(true)
  })

  it('are made once for a text, also by the next process', async () => {
    const file = fileIn()
    const seen: string[] = []
    const first = new ToolVectors({ embedder: letters(seen), file })
    await Promise.all([first.prepare(TEXTS), first.prepare([...TEXTS, 'new'])])
    await first.prepare([...TEXTS, 'new'])
    expect([...seen].sort()).toEqual([...TEXTS, 'new'].sort())
    await first.close()
    const second = new ToolVectors({ embedder: letters(seen), file })
    await second.prepare(TEXTS)
    expect(seen).toHaveLength(4)
    expect(await second.nearness('q', TEXTS)).toHaveLength(3)
  })

  it.each([
    ['not JSON', () => 'x'],
    ['another model', (text: string) => text.replace('letters', 'other')],
    ['vectors of another length', (text: string) => text.replace(/":"[^"]{4}/, '":"')],
    ['odd members', () => '{"model":"letters","vectors":{"a":7,"b":null}}'],
  ])('are made anew where the file has %s', async (_, spoil) => {
    const file = fileIn()
    const seen: string[] = []
    await new ToolVectors({ embedder: letters(seen), file }).prepare(TEXTS)
    writeFileSync(file, spoil(readFileSync(file, 'utf8')))
    seen.length = 0
    const vectors = new ToolVectors({ embedder: letters(seen), file })
    await vectors.prepare(TEXTS)
    expect(seen.length).toBeGreaterThan(0)
    expect(await vectors.nearness('q', TEXTS)).toHaveLength(3)
  })

  it('are done without when the model fails, for the tools or for a query, and that is said once', async () => {
    for (const failing of ['send a mail', 'the query']) {
      const said: unknown[] = []
      const embedder = letters([], (text) => text === failing)
      const vectors = new ToolVectors({ embedder, failed: (error) => said.push(error) })
      await vectors.prepare(TEXTS)
      for (const _ of [1, 2]) expect(await vectors.nearness('the query', TEXTS)).toBeUndefined()
      expect(said).toHaveLength(1)
    }
  })

  it('do not hold a search up when the model does not answer', async () => {
    let isStuck = false
    const plain = letters([])
    const embedder: TextEmbedder = {
      ...plain,
      embed: (text) => (isStuck ? new Promise(() => undefined) : plain.embed(text)),
    }
    const vectors = new ToolVectors({ embedder })
    await vectors.prepare(TEXTS)
    isStuck = true
    expect(await vectors.nearness('the query', TEXTS)).toBeUndefined()
  })

  it('end with their owner while they are being made', async () => {
    const many = Array.from({ length: 1000 }, (_, at) => `tool ${at}`)
    const seen: string[] = []
    const vectors = new ToolVectors({ embedder: letters(seen) })
    const work = vectors.prepare(many)
    await Promise.resolve()
    await vectors.close()
    await work
    expect(seen.length).toBeLessThan(1000)
  })
})
