// import-graph.mjs: which test files reach a source file through imports, the nearest first. Reads import statements only,
// so it is fast, and it runs nothing.
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { basename, dirname, join, relative } from 'node:path'

const IMPORT = /(?:\bfrom|\bimport|\bimport\()\s*'([^'\n]+)'/g

/** Every `.ts` file under a path; a path may be a file. */
export function* typescriptIn(path) {
  if (!existsSync(path)) return
  if (statSync(path).isFile()) {
    if (/\.m?ts$/.test(path)) yield path
    return
  }
  for (const name of readdirSync(path).sort())
    if (name !== 'node_modules' && name !== 'dist') yield* typescriptIn(join(path, name))
}

/** The files that a file of the workspace imports; packages from npm are left out. */
function importsOf(root, file) {
  const text = readFileSync(file, 'utf8')
  return [...text.matchAll(IMPORT)].flatMap(([, name]) => {
    const own = /^@plugboard\/([^/]+)(?:\/(.+))?$/.exec(name)
    const base = own
      ? join(root, 'packages', own[1], 'src', own[2] ?? 'index')
      : name.startsWith('.')
        ? join(dirname(file), name)
        : undefined
    if (!base) return []
    const found = [base, base.replace(/\.js$/, '.ts'), `${base}.ts`, join(base, 'index.ts')].find(
      (path) => path.endsWith('.ts') && existsSync(path),
    )
    return found ? [found] : []
  })
}

/**
 * `weight(file)`: how many files it loads. `testsFor(source, tests)`: those of the test files that import the source, directly or through others, ordered by the
 * number of imports between; a test of the same name comes first. Paths are relative to the root.
 */
export function importGraph(root) {
  const known = new Map()
  const importers = new Map()
  for (const folder of ['packages', 'test'])
    for (const file of typescriptIn(join(root, folder))) {
      known.set(file, importsOf(root, file))
      for (const target of known.get(file)) {
        if (!importers.has(target)) importers.set(target, new Set())
        importers.get(target).add(file)
      }
    }
  const distancesFrom = (source) => {
    const distance = new Map([[source, 0]])
    for (const [file, steps] of distance)
      for (const importer of importers.get(file) ?? [])
        if (!distance.has(importer)) distance.set(importer, steps + 1)
    return distance
  }
  /** How many files of the workspace a file loads. */
  const weight = (file) => {
    const loaded = new Set([join(root, file)])
    for (const one of loaded) for (const target of known.get(one) ?? []) loaded.add(target)
    return loaded.size
  }
  return {
    weight,
    testsFor(source, tests) {
      const distance = distancesFrom(join(root, source))
      const sameName = basename(source).replace(/\.ts$/, '.test.ts')
      const steps = (test) => (basename(test) === sameName ? 0 : distance.get(test))
      return tests
        .flatMap((test) => [...typescriptIn(join(root, test))])
        .filter((test) => test.endsWith('.test.ts') && distance.has(test))
        .sort((a, b) => steps(a) - steps(b) || (a < b ? -1 : 1))
        .map((test) => relative(root, test))
    },
  }
}
