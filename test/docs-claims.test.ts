// Claims in the pages: every error code is described, a link leads somewhere, and a figure is near the command that
// prints it.
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { exitCodeOf } from '../packages/cli/src/output.ts'
import { type ErrorCode, PlugboardError } from '../packages/core/src/errors.ts'
import { unknownWords } from './docs/parts.ts'
import { ROOT } from './docs/place.ts'

const PAGES = [
  'README.md',
  ...readdirSync(join(ROOT, 'docs'))
    .filter((name) => name.endsWith('.md'))
    .map((name) => `docs/${name}`),
]
const ALL_PAGES = [...PAGES, 'ARCHITECTURE.md', 'CONTRIBUTING.md']
/** Programs that a page calls by another name than their package's. */
const TITLES: Record<string, string> = {
  '@anthropic-ai/claude-code': 'Claude Code',
  executor: 'Executor',
  mcporter: 'mcporter',
}
const read = (path: string) => readFileSync(join(ROOT, path), 'utf8')

describe('docs/troubleshooting.md', () => {
  const page = read('docs/troubleshooting.md')
  const codes = [...read('packages/core/src/errors.ts').matchAll(/^ {2}\| '([A-Z_]+)'$/gm)].map(
    ([, code]) => code ?? '',
  )

  it('has a section for every error code, and for no other', () => {
    expect(codes.length).toBeGreaterThan(10)
    const sections = [...page.matchAll(/^### ([A-Z_]+)$/gm)].map(([, code]) => code)
    expect([...sections].sort()).toEqual([...codes].sort())
  })

  it('describes every code of the code search', () => {
    const own = [...read('packages/codebase/src/errors.ts').matchAll(/^ {2}\| '([A-Z_]+)'$/gm)]
    const table = page.split('## The code search\n')[1]?.split(/^## /m)[0] ?? ''
    expect(own.length).toBeGreaterThan(10)
    expect(own.map(([, code]) => code).filter((code) => !table.includes(`\`${code}\``))).toEqual([])
  })

  it.each(codes)('names the exit code of %s', (code) => {
    const section = page.split(`### ${code}\n`)[1]?.split(/^##/m)[0] ?? ''
    const exit = exitCodeOf(new PlugboardError(code as ErrorCode, ''))
    expect(section).toMatch(new RegExp(`[Ee]xit code:? ${exit}\\b|exit code: ${exit}\\b`))
  })
})

it('every link between the pages leads to a file, and to a heading in it', () => {
  const dead = ALL_PAGES.flatMap((page) =>
    [...withoutCode(read(page)).matchAll(/\]\(([^)#:]*)(?:#([^)]*))?\)/g)]
      .filter(([, path, anchor]) => {
        const file = path ? join(dirname(page), path) : page
        if (!existsSync(join(ROOT, file))) return true
        return anchor !== undefined && !anchorsIn(read(file)).includes(anchor)
      })
      .map(([link]) => `${page} → ${link}`),
  )
  expect(dead).toEqual([])
})

it('every command that a sentence names exists, with its options', () => {
  const inline = ALL_PAGES.flatMap((page) =>
    [
      ...withoutCode(read(page))
        .replaceAll('VERB', 'list')
        .matchAll(/`((?:npm (?:run|test|start)|plugboard)\b[^`]*)`/g),
    ].map(([, command]) => ({ page, command: (command ?? '').replaceAll('\n', ' ') })),
  )
  expect(inline.length).toBeGreaterThan(50)
  expect(
    inline.flatMap(({ page, command }) => unknownWords(command).map((word) => `${page}: ${word}`)),
  ).toEqual([])
})

it('the versions in the comparison and beside the benchmarks are those that are run', () => {
  const pinned = (path: string) =>
    [...read(path).matchAll(/'((?:@[\w-]+\/)?[\w-]+)@(\d+\.\d+\.\d+)'/g)].map(([, name, version]) => ({
      name: name ?? '',
      version: version ?? '',
    }))
  const shown = (page: string, { name, version }: { name: string; version: string }) =>
    [`${name}@${version}`, `\`${name}\` ${version}`, `${TITLES[name]} ${version}`].some((words) =>
      read(page).includes(words),
    )
  const sdk = JSON.parse(read('node_modules/@modelcontextprotocol/client/package.json'))
  const compared = [...pinned('scripts/docs-compare.mjs'), { name: sdk.name, version: sdk.version }]
  const measured = [...pinned('bench/peers.bench.mjs'), ...pinned('bench/gateway.bench.mjs')]
  expect([compared.length, measured.length]).toEqual([5, 4])
  expect(compared.filter((one) => !shown('docs/comparison.md', one))).toEqual([])
  expect(measured.filter((one) => !shown('docs/performance.md', one))).toEqual([])
  expect(shown('docs/compatibility.md', { name: sdk.name, version: sdk.version })).toBe(true)
})

it('the sums of docs/compatibility.md are those of its table', () => {
  const page = read('docs/compatibility.md')
  const rows = page
    .split('\n')
    .filter((line) => line.startsWith('| '))
    .map((line) => line.split('|').map((cell) => cell.trim()))
    .slice(2)
  const column = (title: string) =>
    page
      .match(/^\| server.*$/m)?.[0]
      .split('|')
      .findIndex((cell) => cell.trim() === title) ?? 0
  const of = (title: string) => rows.map((row) => row[column(title)] ?? '')
  const servers = new Set(of('package').map((name) => name.split(' ')[0])).size
  const works = of('outcome').filter((outcome) => outcome === 'works').length
  const tools = of('tools').reduce((sum, count) => sum + Number(count), 0)
  const words = page.replaceAll('\n', ' ')
  expect(words).toContain(`${servers} real MCP servers from npm, ${rows.length} ways of reaching them`)
  expect(words).toContain(`${works} of ${rows.length} work`)
  expect(words).toContain(`every tool (${tools} in all)`)
})

/** Servers that are reached by a URL are played twice: with a login provider and without. */
function scenesIn(page: string): number {
  const TWICE = new Set(['http', 'sse', 'ws'])
  let columns: string[] | undefined
  let scenes = 0
  for (const line of page.split('\n')) {
    const cells = line.startsWith('|') ? line.split('|').map((cell) => cell.trim()) : undefined
    if (cells && columns)
      for (const [at, cell] of cells.entries())
        if (cell === '✔') scenes += TWICE.has(columns[at] ?? '') ? 2 : 1
    columns = cells && (columns ?? cells)
  }
  return scenes
}

it('the sums of docs/reliability.md and docs/conformance.md are those of their tables', () => {
  const faults = read('docs/reliability.md')
  expect(faults).toContain(`**${scenesIn(faults)} scenes, `)
  const page = read('docs/conformance.md')
  const parts = [...page.matchAll(/^### (Client|Server): (.*)\n\n((?:\|.*\n)+)/gm)]
  expect(parts.length).toBeGreaterThan(5)
  for (const [, half = '', title = '', table = ''] of parts) {
    const rows = table.trim().split('\n').slice(2)
    const passed = rows.filter((row) => row.split('|')[half === 'Client' ? 2 : 3]?.includes('passed')).length
    const summary = page
      .split(`## As a ${half.toLowerCase()}\n`)[1]
      ?.match(new RegExp(`^\\| ${title} .*$`, 'm'))?.[0]
    expect(summary?.split('|')[half === 'Client' ? 2 : 4]?.trim()).toBe(`${passed} of ${rows.length}`)
  }
})

describe('a figure', () => {
  it.each(PAGES)('of %s is in a section with the command that prints it', (page) => {
    expect(unfounded(read(page))).toEqual([])
  })

  it('without one is found', () => {
    expect(unfounded('# Fast\n\nA call takes 12 µs.\n')).toEqual(['Fast: 12 µs'])
    expect(unfounded('# A\n\nPrinted by `npm run bench -- x`.\n\n## B\n\n3 times faster, 40 MiB\n')).toEqual([
      'B: 3 times faster',
      'B: 40 MiB',
    ])
    expect(unfounded('# A\n\n`plugboard serve` speaks thirty languages to 54 real servers.\n')).toEqual([
      'A: thirty languages',
      'A: 54 real servers',
    ])
    expect(unfounded('# A\n\n`npm run bench -- x`: 12 µs\n')).toEqual([])
    expect(unfounded('# A\n\n```sh\n$ plugboard list\n12 ms\n```\n')).toEqual([])
  })
})

/**
 * Measured speeds, sizes and scores, in sections that name no command which prints them. A section of the
 * second level counts for itself, with everything below it. Limits and settings ("within 3 s", "over 64 MiB", "at most")
 * are promises of the code, not measurements.
 */
function unfounded(markdown: string): readonly string[] {
  return withoutCode(markdown)
    .split(/^(?=#{1,2} )/m)
    .flatMap((section) => {
      if (/`npm (run|test)\b[^`]*`/.test(section)) return []
      const title = /^#+ (.*)/.exec(section)?.[1] ?? ''
      const figure =
        /(?<!(?:within|over|at most|up to|under|after|every|limit of|than) )(?<![\w.-])(?:\d(?:[\d.,]*\d)?|(?:thirty|forty|fifty|hundreds)\b)(?: ?(?:µs|ms|MiB|MB|KiB|kB|GiB|k\/s|%)(?!\w)| times (?:faster|slower|smaller|less)| of \d+ (?:checks|scenarios|tests)| (?:[a-z]+ )?(?:servers|scenarios|scenes|languages|chunks a second)\b)/gi
      return [...section.matchAll(figure)].map(([text]) => `${title}: ${text}`)
    })
}

/** The anchors of a page's headings, as GitHub names them. */
function anchorsIn(markdown: string): readonly string[] {
  return [...withoutCode(markdown).matchAll(/^#+ (.*)$/gm)].map(([, title]) =>
    (title ?? '')
      .toLowerCase()
      .replace(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-'),
  )
}

/** The content of a fence was printed by the command in it, and is compared by docs.test.ts. */
function withoutCode(markdown: string): string {
  return markdown.replace(/^```[\s\S]*?^```$/gm, '')
}
