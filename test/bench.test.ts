// Benchmarks run by themselves and take minutes; that their imports exist is tested every day.
import { spawnSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { expect, it } from 'vitest'

const FILES = ['bench', 'bench/lib'].flatMap((folder) =>
  readdirSync(folder)
    .filter((name) => name.endsWith('.mjs'))
    .map((name) => join(folder, name)),
)
const STATIC = /^import (?:\{([^}]*)\}|\S+) from '(\.[^']*)'/gm
const LATE = /const \{([^}]*)\} = await import\(join\(root, '([^']*)'\)\)/g

/** `[file, module, name]` of everything that is imported by name from a file of ours. */
function imports(file: string): [string, string, string][] {
  const text = readFileSync(file, 'utf8')
  const fromFile = [...text.matchAll(STATIC)].map(([, names, path]) => [
    names,
    resolve(dirname(file), path ?? ''),
  ])
  const fromRoot = [...text.matchAll(LATE)].map(([, names, path]) => [names, resolve(path ?? '')])
  return [...fromFile, ...fromRoot].flatMap(([names = '', module = '']) =>
    names
      .split(',')
      .map((name) => name.trim().split(/ as |:/)[0] ?? '')
      .filter((name) => name !== '')
      .map((name): [string, string, string] => [file, module, name]),
  )
}

it('import from the packages, and from each other, only what exists', async () => {
  const wanted = FILES.flatMap(imports)
  expect(wanted.filter(([, module]) => module.includes('/dist/')).length).toBeGreaterThan(15)
  const missing: string[] = []
  for (const [file, module, name] of wanted) {
    const found = existsSync(module) ? readFileSync(module, 'utf8') : undefined
    // A benchmark must not be imported, because it would run; its exports can be read.
    const has = module.includes('/dist/')
      ? found !== undefined && name in (await import(pathToFileURL(module).href))
      : found !== undefined && new RegExp(`export [^;=]*\\b${name}\\b`).test(found)
    if (!has) missing.push(`${file}: ${name} from ${module}`)
  }
  expect(missing).toEqual([])
})

it('shows that a call has not become dearer: its processor time against a hand-written client in the same process', () => {
  const ran = spawnSync(process.execPath, ['bench/call-cost.bench.mjs', '--quick'], {
    encoding: 'utf8',
    timeout: 110_000,
  })
  expect(ran.stdout).not.toContain('NOT MET')
  expect(ran.stdout).toContain('stdio, 64 at a time')
  expect(ran.status).toBe(0)
}, 120_000)
