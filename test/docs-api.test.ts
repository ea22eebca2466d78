// The API reference covers every export, and every export says what it is. docs-examples.test.ts runs the examples.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { CODE_KINDS, ENTRIES, symbolsOf } from '../scripts/docs-api.mjs'

const ROOT = fileURLToPath(new URL('..', import.meta.url))

describe.each(ENTRIES)('docs/api/%s.md', (page, name, file) => {
  const symbols = symbolsOf(join(ROOT, file))
  const text = readFileSync(join(ROOT, `docs/api/${page}.md`), 'utf8')

  it(`has a section for every export of ${name}; \`npm run docs\` writes it`, () => {
    expect(symbols.length).toBeGreaterThan(10)
    const sections = new Set([...text.matchAll(/^### (\S+)$/gm)].map(([, title]) => title))
    expect(symbols.filter((symbol) => !sections.has(symbol.name)).map((symbol) => symbol.name)).toEqual([])
  })
})

it.each(ENTRIES)('every export on docs/api/%s.md has a doc comment', (_page, _name, file) => {
  const bare = symbolsOf(join(ROOT, file)).filter(({ about }) => about === '')
  expect(bare.map(({ name }) => name)).toEqual([])
})

it.each(ENTRIES)('every function, class and value on docs/api/%s.md has an example', (_page, _name, file) => {
  const code = symbolsOf(join(ROOT, file)).filter(({ kind }) => CODE_KINDS.has(kind))
  expect(code.length).toBeGreaterThan(2)
  expect(code.filter(({ examples }) => examples.length === 0).map(({ name }) => name)).toEqual([])
})
