// Claims in the pages: an error code has its words, a link leads somewhere, and a figure stands near the command that
// prints it.
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { exitCodeOf } from '../packages/cli/src/output.ts'
import { type ErrorCode, PlugboardError } from '../packages/core/src/errors.ts'
import { ROOT } from './docs/place.ts'

const PAGES = [
  'README.md',
  ...readdirSync(join(ROOT, 'docs'))
    .filter((name) => name.endsWith('.md'))
    .map((name) => `docs/${name}`),
]
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

  it.each(codes)('names the exit code of %s', (code) => {
    const section = page.split(`### ${code}\n`)[1]?.split(/^##/m)[0] ?? ''
    const exit = exitCodeOf(new PlugboardError(code as ErrorCode, ''))
    expect(section).toMatch(new RegExp(`[Ee]xit code:? ${exit}\\b|exit code: ${exit}\\b`))
  })
})

it('every link between the pages leads to a file', () => {
  const dead = [...PAGES, 'ARCHITECTURE.md', 'CONTRIBUTING.md'].flatMap((page) =>
    [...withoutCode(read(page)).matchAll(/\]\(([^)#:]+)(#[^)]*)?\)/g)]
      .map(([, path]) => path ?? '')
      .filter((path) => !existsSync(join(ROOT, dirname(page), path)))
      .map((path) => `${page} → ${path}`),
  )
  expect(dead).toEqual([])
})

describe('a figure', () => {
  it.each(PAGES)('of %s stands in a section with the command that prints it', (page) => {
    expect(unfounded(read(page))).toEqual([])
  })

  it('without one is found', () => {
    expect(unfounded('# Fast\n\nA call takes 12 µs.\n')).toEqual(['Fast: 12 µs'])
    expect(unfounded('# A\n\nPrinted by `npm run bench -- x`.\n\n## B\n\n3 times faster, 40 MiB\n')).toEqual([
      'B: 3 times faster',
      'B: 40 MiB',
    ])
    expect(unfounded('# A\n\n`npm run bench -- x`: 12 µs\n')).toEqual([])
    expect(unfounded('# A\n\n```sh\n$ plugboard list\n12 ms\n```\n')).toEqual([])
  })
})

/**
 * Speeds, sizes and scores that somebody measured, in sections that name no command which prints them. A section of the
 * second level counts for itself, with everything below it. Limits and settings ("within 3 s", "over 64 MiB", "at most")
 * are promises of the code, not measurements.
 */
function unfounded(markdown: string): readonly string[] {
  return withoutCode(markdown)
    .split(/^(?=#{1,2} )/m)
    .flatMap((section) => {
      if (/`(npm (run|test|start)|plugboard) ?[^`]*`/.test(section)) return []
      const title = /^#+ (.*)/.exec(section)?.[1] ?? ''
      const figure =
        /(?<!(?:within|over|at most|up to|under|after|every|limit of|than) )(?<![\w.-])\d[\d.,]*(?: ?(?:µs|ms|MiB|MB|KiB|kB|GiB|k\/s|%)(?!\w)| times (?:faster|slower|smaller|less)| of \d+ (?:checks|scenarios|tests))/g
      return [...section.matchAll(figure)].map(([text]) => `${title}: ${text}`)
    })
}

/** What stands in a fence was printed by the command in it, and is compared by docs.test.ts. */
function withoutCode(markdown: string): string {
  return markdown.replace(/^```[\s\S]*?^```$/gm, '')
}
