// `npm run conformance [-- --client | --server] [--only PATTERN] [--verbose]`: the official MCP conformance suite, pinned,
// one scenario at a time (the suite's own parallel mode fails small machines): its client half against our client, its
// server half against what we serve. It ends with a table, and with 1 when something failed that was not expected to.
// A whole half is written into docs/conformance.md, and its sum into the README.
import { parseArgs } from 'node:util'
import { build } from './build.mjs'
import { keepFigures } from './docs-figures.mjs'
import { ensureInstalled, root } from './ensure-install.mjs'
import { ClientHalf } from './lib/conformance-client.mjs'
import { writeHalf } from './lib/conformance-report.mjs'
import { ServerHalf } from './lib/conformance-server.mjs'
import { Suite } from './lib/conformance-suite.mjs'

const MARKS = { passed: 'pass   ', failed: 'FAIL   ', vacuous: 'VACUOUS' }

const { values: flags } = parseArgs({
  options: {
    client: { type: 'boolean' },
    server: { type: 'boolean' },
    only: { type: 'string' },
    verbose: { type: 'boolean' },
  },
})

ensureInstalled()
await build()
const suite = new Suite()
const both = !flags.client && !flags.server
const halves = [
  ...(both || flags.client ? [new ClientHalf(suite)] : []),
  ...(both || flags.server ? [new ServerHalf(suite)] : []),
]
const ran = []
for (const half of halves) {
  const wanted = half.scenarios().filter(({ name }) => !flags.only || new RegExp(flags.only).test(name))
  if (wanted.length === 0) continue
  const outcomes = []
  for await (const outcome of half.run(wanted)) {
    outcomes.push(outcome)
    report(half, outcome)
  }
  if (!flags.only) writeHalf(half.name, half.page(outcomes))
  ran.push({ half, outcomes })
}
if (!flags.only) keepFigures(root)
if (ran.length === 0) {
  console.error(`No scenario matches ${flags.only}.`)
  process.exit(2)
}
let surprises = 0
for (const { half, outcomes } of ran) {
  console.log(`\n${half.table(outcomes)}`)
  for (const outcome of outcomes.filter((each) => half.isSurprise(each))) {
    surprises++
    console.log(`unexpected: ${titleOf(half, outcome)}: ${outcome.why}`)
  }
}
process.exit(surprises === 0 ? 0 : 1)

function report(half, outcome) {
  const why = outcome.verdict === 'passed' ? '' : `  ${outcome.why}`
  console.log(`${MARKS[outcome.verdict]} ${titleOf(half, outcome)}${why}`)
  if (flags.verbose && outcome.verdict !== 'passed') console.log(outcome.output.replace(/^/gm, '        '))
}

function titleOf(half, { name, revision, target }) {
  return `${half.name} ${name} (${[revision ?? 'no revision', ...(target ? [target] : [])].join(', ')})`
}
