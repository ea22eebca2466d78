// conformance-report.mjs: what the conformance runs found, as a table for the terminal and as a half of the page
// docs/conformance.md. Each half of the page is written by its own run.
import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from '../ensure-install.mjs'
import { REVISIONS, SUITE } from './conformance-suite.mjs'

const PAGE = join(root, 'docs', 'conformance.md')
const HALVES = ['client', 'server']
const FORMAT_MS = 30_000

/** The outcomes in the groups that a revision makes: required, beside it, and the rest. */
export function groups(list) {
  return [
    ...REVISIONS.map((revision) => [
      `${revision}, required`,
      list.filter((o) => o.revision === revision && o.scored),
    ]),
    ...REVISIONS.map((revision) => [
      `${revision}, reported beside it`,
      list.filter((o) => o.revision === revision && !o.scored),
    ]),
    ['in no revision', list.filter((o) => o.revision === undefined)],
  ].filter(([, members]) => members.length > 0)
}

export function score(members) {
  const good = members.filter(({ verdict }) => verdict === 'passed')
  const sum = (key) => members.reduce((total, each) => total + each[key], 0)
  return [`${good.length} of ${members.length}`, `${sum('passed')} of ${sum('checks')}`]
}

/** Writes one half of the page, and leaves the other as its last run left it. */
export function writeHalf(half, lines) {
  const before = existsSync(PAGE) ? readFileSync(PAGE, 'utf8') : ''
  const parts = HALVES.map((name) => {
    const kept = before.split(`<!-- ${name} -->\n`)[1]?.split(`\n<!-- end of ${name} -->`)[0]
    const text = name === half ? lines.join('\n') : (kept ?? 'Not run yet.').trim()
    return `<!-- ${name} -->\n\n${text}\n\n<!-- end of ${name} -->\n`
  })
  const opening = [
    '# Conformance',
    '',
    `What the official suite, \`${SUITE}\`, says. Run it yourself: \`npm run conformance\` (\`-- --client\` or`,
    '`-- --server` for one half) runs every scenario on its own and writes this page.',
    '',
    'A scenario counts only when one of its own checks has seen what it is about; the suite itself lets a program pass that',
    'never does it. What a revision reports beside its requirements are extensions and newer scenarios.',
  ].join('\n')
  writeFileSync(PAGE, `${opening}\n\n${parts.join('\n')}`)
  const biome = join(root, 'node_modules', '@biomejs', 'biome', 'bin', 'biome')
  spawnSync(process.execPath, [biome, 'format', '--write', PAGE], { stdio: 'ignore', timeout: FORMAT_MS })
}

export function whenAndWith() {
  return `on ${new Date().toISOString().slice(0, 10)} with Node ${process.versions.node}`
}
