// test-support.ts: trees on disk and servers over them, for the tests of this package.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import type { TextQuery } from './text/search.ts'

export interface Scratch {
  readonly folder: string
  /** A path inside it, made if it has to be. */
  write(path: string, data: string | Uint8Array): string
  remove(): void
}

export function scratch(files: Readonly<Record<string, string | Uint8Array>> = {}): Scratch {
  const folder = mkdtempSync(join(tmpdir(), 'plugboard-codebase-'))
  const write = (path: string, data: string | Uint8Array) => {
    const target = join(folder, path)
    mkdirSync(dirname(target), { recursive: true })
    writeFileSync(target, data)
    return target
  }
  for (const [path, data] of Object.entries(files)) write(path, data)
  return { folder, write, remove: () => rmSync(folder, { recursive: true, force: true }) }
}

export const textQuery = (query: string, extra: Partial<TextQuery> = {}): TextQuery => ({
  query,
  regex: false,
  caseSensitive: true,
  glob: [],
  path: undefined,
  contextLines: 0,
  maxResults: 10_000,
  ...extra,
})

/** Waits for a condition; fails loudly when it does not come true. */
export async function eventually(
  check: () => boolean | Promise<boolean>,
  what: string,
  limitMs = 45_000,
): Promise<void> {
  const end = Date.now() + limitMs
  while (!(await check())) {
    if (Date.now() > end) throw new Error(`${what} did not happen within ${limitMs} ms`)
    await new Promise((done) => setTimeout(done, 20))
  }
}

/** A generator with a fixed seed. */
export function seeded(seed: number): () => number {
  let state = seed
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    return state / 2 ** 32
  }
}
