// axe.ts: what axe-core finds on a page, as lines.
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { Page } from 'playwright-core'

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')
const RULES = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice']

interface Violation {
  readonly id: string
  readonly nodes: readonly { readonly html: string }[]
}

export async function violationsOf(page: Page): Promise<readonly string[]> {
  if (!(await page.evaluate('"axe" in window'))) await page.evaluate(AXE)
  const found = await page.evaluate<readonly Violation[]>(
    `axe.run(document, { runOnly: ${JSON.stringify(RULES)} }).then((r) => r.violations)`,
  )
  return found.map(({ id, nodes }) => `${id}: ${nodes[0]?.html.slice(0, 200)}`)
}
