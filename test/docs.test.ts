// Every code block of the README and the guides, run: commands in a throw-away home with what they print compared,
// programs type-checked and run against the built packages, settings held against the JSON Schema.
// `PLUGBOARD_DOCS=write npx vitest run test/docs.test.ts` puts what was printed into the pages.
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { type Block, blocksOf, stepsOf } from './docs/blocks.ts'
import { fits } from './docs/compare.ts'
import { readPage, runPage } from './docs/page.ts'
import { settingsFaults, unknownWords } from './docs/parts.ts'
import { openPlace, ROOT } from './docs/place.ts'
import { typeErrors } from './docs/types.ts'

/** Pages whose every block is run or marked; the blocks of other pages are parsed. */
const GUIDES = [
  'README.md',
  'docs/first-server.md',
  'docs/shell.md',
  'docs/configuration.md',
  'docs/login.md',
  'docs/permissions.md',
  'docs/library.md',
  'docs/recipes.md',
  'docs/agent.md',
  'docs/codebase.md',
  'docs/serve.md',
  'docs/troubleshooting.md',
]
const PAGES = [
  'README.md',
  ...readdirSync(join(ROOT, 'docs'))
    .filter((name) => name.endsWith('.md'))
    .map((name) => `docs/${name}`),
]
const BLOCKS = PAGES.flatMap((page) => blocksOf(page, readPage(page)))
const at = ({ page, line }: Block) => `${page}:${line}`

describe.concurrent('the blocks of', () => {
  it.for(GUIDES)('%s', { timeout: 120_000 }, async (page, { expect }) => {
    expect((await runPage(page)).join('\n\n')).toBe('')
  })
})

describe('the pages', () => {
  it('have programs that type-check', async () => {
    const programs = BLOCKS.filter(({ language, file }) => language === 'ts' && !file?.endsWith('.d.ts'))
    expect(programs.length).toBeGreaterThan(3)
    expect(await typeErrors(programs)).toBe('')
  }, 60_000)

  it('have settings that the JSON Schema accepts', () => {
    const settings = BLOCKS.filter(({ language }) => language === 'json')
    expect(settings.length).toBeGreaterThan(3)
    expect(
      settings.flatMap((block) => settingsFaults(block).map((fault) => `${at(block)} ${fault}`)),
    ).toEqual([])
  })

  it('use verbs, options and npm scripts that exist, also where they are not run', () => {
    const commands = BLOCKS.filter(({ language }) => language === 'sh').flatMap((block) =>
      block.lines.some((line) => line.startsWith('$ '))
        ? stepsOf(block).map(({ command }) => ({ block, command }))
        : block.lines.map((command) => ({ block, command })),
    )
    expect(
      commands.flatMap(({ block, command }) => unknownWords(command).map((word) => `${at(block)} ${word}`)),
    ).toEqual([])
  })

  it('leave no block of a guide out', () => {
    const known = (block: Block) =>
      block.notRun !== undefined || block.shows || ['sh', 'ts', 'json'].includes(block.language) || block.file
    expect(BLOCKS.filter((block) => GUIDES.includes(block.page) && !known(block)).map(at)).toEqual([])
  })

  it('are guides that end with a recap', () => {
    const without = GUIDES.filter(
      (page) => page !== 'README.md' && !/\n## Recap\n\n(- .+\n( {2}.+\n)*)+$/.test(readPage(page)),
    )
    expect(without).toEqual([])
  })
})

describe('the runner', () => {
  it('detects a page that shows something else', () => {
    expect(fits(['a 12 ms  b'], 'a 9876 ms   b\n')).toBe(true)
    expect(fits(['one', '…', 'four'], 'one\ntwo\nthree\nfour\n')).toBe(true)
    expect(fits(['http://127.0.0.1:1/… end'], 'http://127.0.0.1:65/x end\n')).toBe(true)
    expect(fits(['one', 'two'], 'one\n')).toBe(false)
    expect(fits(['one'], 'one\ntwo\n')).toBe(false)
    expect(fits([], 'words\n')).toBe(false)
    expect(fits(['3 tools'], '4 tools\n')).toBe(false)
  })

  it('shows an exit code that is not 0, and both streams', async () => {
    const place = openPlace()
    try {
      expect(await place.run('echo out; echo err >&2; exit 3')).toBe('out\nerr\n[exit 3]\n')
      expect(await place.run('echo "$HOME/x"')).toBe('~/x\n')
    } finally {
      await place.close()
    }
  })

  it('finds unknown verbs and options, and wrong settings', () => {
    const json = (text: string) => blocksOf('x.md', `\`\`\`json\n${text}\n\`\`\`\n`)[0] as Block
    expect(unknownWords('plugboard list --no-such')).toHaveLength(1)
    expect(unknownWords('plugboard lost')).toHaveLength(1)
    expect(unknownWords('npm run no-such')).toHaveLength(1)
    expect(unknownWords('npm run bench -- no-such')).toHaveLength(1)
    expect(unknownWords("FOO=1 plugboard add x -H 'A: b' -- npx -y thing --their-own | cat")).toEqual([])
    expect(settingsFaults(json('{"mcpServers":{"a":{"comand":"x"}}}'))).not.toEqual([])
    expect(settingsFaults(json('{"mcpServers":{"a":{"command":"x"}}}'))).toEqual([])
  })
})
