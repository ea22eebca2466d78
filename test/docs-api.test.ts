// The API reference covers every export, and every export of the libraries that programs use says what it is.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { ENTRIES, symbolsOf } from '../scripts/docs-api.mjs'

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

// The gateway is run by the command; programs use three of its functions.
it.each(ENTRIES.filter(([page]) => page !== 'gateway'))(
  'every export on docs/api/%s.md has a doc comment',
  (_page, _name, file) => {
    const bare = symbolsOf(join(ROOT, file)).filter(({ about }) => about === '')
    expect(bare.map(({ name }) => name)).toEqual([])
  },
)

it('the functions that a program begins with have examples', () => {
  const text = ENTRIES.map(([page]) => readFileSync(join(ROOT, `docs/api/${page}.md`), 'utf8')).join('\n')
  const sections = text.split(/^### /m)
  const without = [
    'openBoard',
    'runAgent',
    'fromAiSdk',
    'toAiSdk',
    'serveHttp',
    'createCodebaseServer',
  ].filter((name) => !sections.find((one) => one.startsWith(`${name}\n`))?.includes('For example:'))
  expect(without).toEqual([])
})
