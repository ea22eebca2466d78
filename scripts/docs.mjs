// `npm run docs`: writes what is made from the sources: the JSON Schemas that ship with the command, the references of
// settings, verbs and the API in docs/, the overview of the benchmarks, and the figures in the README. `--check` writes nothing and
// ends with 1 when one is stale.
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { withOverview } from '../bench/lib/report.mjs'
import { build } from './build.mjs'
import { apiPages } from './docs-api.mjs'
import { withFigures } from './docs-figures.mjs'
import { references } from './docs-references.mjs'
import { ensureInstalled, root } from './ensure-install.mjs'

const check = process.argv.includes('--check')
// A check reads what is built; tests run it beside others that use the same files.
if (!check) {
  ensureInstalled()
  await build()
}

// The pages of the API change with every type; a check is about what they cover, in test/docs-api.test.ts.
const made = { ...(check ? {} : apiPages()), ...(await references()) }
made['docs/performance.md'] = withOverview(read('docs/performance.md'))
made['README.md'] = withFigures(read('README.md'), read('docs/performance.md'), read('docs/conformance.md'))
const stale = Object.entries(made).filter(([path, text]) => read(path) !== text)
for (const [path, text] of stale) {
  if (check) console.error(`${path} is stale; run \`npm run docs\`.`)
  else {
    mkdirSync(dirname(join(root, path)), { recursive: true })
    writeFileSync(join(root, path), text)
    console.error(`Wrote ${path}`)
  }
}
if (!check && stale.length === 0) console.error('Everything is as it should be.')
process.exit(check && stale.length > 0 ? 1 : 0)

function read(path) {
  const file = join(root, path)
  return existsSync(file) ? readFileSync(file, 'utf8') : ''
}
