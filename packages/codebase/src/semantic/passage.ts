// semantic/passage.ts: a chunk in the form that a language model reads best: names first, identifiers as words, signs left out; and
// as windows for a model with a short input.
import type { Chunk } from '../chunks/chunk-types.ts'
import { SEMANTIC_LIMITS } from '../limits.ts'
import { unit } from './vectors.ts'

export interface Passage {
  /** What encloses it, its own name, its file. */
  readonly names: string
  /** Its first line of code. */
  readonly opening: string
  readonly text: string
}

export function passageOf(path: string, chunk: Pick<Chunk, 'text' | 'name' | 'within'>): Passage {
  const file = path.slice(path.lastIndexOf('/') + 1).replace(/\.\w+$/, '')
  const names = `${words([...chunk.within, chunk.name ?? ''].join(' '))}. ${words(file)}.`
  const line = chunk.text.split('\n').find((one) => /\w/.test(one) && !/^\s*[@#*/]/.test(one)) ?? ''
  const opening = words(line).split(' ').slice(0, SEMANTIC_LIMITS.openingWords).join(' ')
  return { names, opening, text: words(chunk.text) }
}

/** For a model that reads it all at once. */
export const wholeOf = ({ names, text }: Passage) => `${names} ${text}`

/**
 * One vector for a model with a short input: the mean of its windows, and half as much of its names alone, because a
 * name says what a function is for and has little weight in a long body.
 */
export async function embedInParts(
  { names, opening, text }: Passage,
  count: (text: string) => number,
  embed: (text: string) => Float32Array | Promise<Float32Array>,
): Promise<Float32Array> {
  const windows = windowsOf(names, text, count)
  const sum = await embed(`${names} ${opening}`)
  for (let n = 0; n < sum.length; n++) sum[n] = (sum[n] as number) * SEMANTIC_LIMITS.nameWeight
  for (const window of windows) {
    const vector = await embed(window)
    for (let n = 0; n < sum.length; n++) sum[n] = (sum[n] as number) + (vector[n] as number) / windows.length
  }
  return unit(sum)
}

/** The text in stretches that fit, each with the names before it. */
function windowsOf(names: string, text: string, count: (text: string) => number): string[] {
  const { modelTokens, windowsMax } = SEMANTIC_LIMITS
  const room = Math.max(modelTokens / 2, modelTokens - 2 - count(names))
  const windows: string[] = []
  let current: string[] = []
  let size = 0
  for (const word of text.split(' ')) {
    const own = count(word)
    if (size + own > room && current.length > 0) {
      windows.push(`${names} ${current.join(' ')}`)
      if (windows.length === windowsMax) return windows
      current = []
      size = 0
    }
    current.push(word)
    size += own
  }
  windows.push(`${names} ${current.join(' ')}`)
  return windows
}

/** `getHTTPResponse_ok(2)` → `get HTTP Response ok 2`. */
export function words(text: string): string {
  return text
    .replace(/([a-z0-9])([A-Z])/g, '$1 $2')
    .replace(/([A-Z]+)([A-Z][a-z])/g, '$1 $2')
    .replace(/[^\p{L}\p{N}]+/gu, ' ')
    .trim()
}
