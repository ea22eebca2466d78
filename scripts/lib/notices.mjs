// notices.mjs: the licences of what a bundle has inside, gathered from the packages themselves. Code that is copied into
// our files keeps its authors' terms, which require that they are passed on.
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

const LICENCE_FILE = /^(licen[cs]e|copying|notice)/i

/** One text for all packages that the bundler read a file of; `inputs` are its paths, relative to `root`. */
export function noticesFor(inputs, root) {
  const folders = new Set()
  for (const input of inputs) {
    const [, folder] = input.match(/^(.*node_modules\/(?:@[^/]+\/)?[^/]+)\//) ?? []
    if (folder) folders.add(folder)
  }
  const parts = [...folders].sort().map((folder) => notice(join(root, folder)))
  return `The files in this folder contain code of these packages.\n\n${parts.join('\n')}`
}

function notice(folder) {
  const { name, version, license } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
  if (!license) throw new Error(`${name} names no licence, so it cannot be bundled.`)
  const texts = readdirSync(folder)
    .filter((file) => LICENCE_FILE.test(file))
    .sort()
    .map((file) => readFileSync(join(folder, file), 'utf8').trim())
  return `${'='.repeat(80)}\n${name} ${version}, ${license}\n\n${texts.join('\n\n')}\n`
}
