// meaning/passage.ts: a chunk as the language model reads it best: names first, identifiers as words, signs left out.
import type { Chunk } from '../chunks/chunk.ts'

export function passageOf(path: string, chunk: Pick<Chunk, 'text' | 'name' | 'within'>): string {
  const file = path.slice(path.lastIndexOf('/') + 1).replace(/\.\w+$/, '')
  return `${words([...chunk.within, chunk.name ?? ''].join(' '))}. ${words(file)}. ${words(chunk.text)}`
}

/** `getHTTPResponse_ok(2)` → `get HTTP Response ok 2`. */
export function words(text: string): string {
  return text
    .replace(/([a-z0-9])([A-Z])/g, '$1 $2')
    .replace(/([A-Z]+)([A-Z][a-z])/g, '$1 $2')
    .replace(/[^\p{L}\p{N}]+/gu, ' ')
    .trim()
}
