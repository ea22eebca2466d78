// The edits that `npm run mutation` makes, and how it draws its sample.
import { execFileSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { importGraph } from '../../scripts/lib/import-graph.mjs'
import { mutantsOf, withMutant } from '../../scripts/lib/mutants.mjs'
import { sampleOf } from '../../scripts/lib/sample.mjs'

/** Every text that is one edit away from `code`. */
function edited(code: string): string[] {
  return mutantsOf(code).map((mutant) => withMutant(code, mutant))
}

describe('an edit', () => {
  it.each([
    ['if (a) b()', ['if (!(a)) b()']],
    ['if (a) throw b', ['{}', 'if (!(a)) throw b']],
    ['x = a ? b : c', ['x = !(a) ? b : c']],
    ['x = a && b', ['x = a || b']],
    ['x = a || b', ['x = a && b']],
    ['x = a ?? b', ['x = (a)']],
    ['x = a === b', ['x = a !== b']],
    ['x = a < b', ['x = a <= b']],
    ['x = a >= b', ['x = a > b']],
    ['x = list.some(f)', ['x = list.every(f)']],
    ['x = true', ['x = false']],
    ['f({ once: true, deep: true })', ['f({ once: true, deep: false })']],
    ['timer.clear()', [';']],
    ['await this.stream.close()', [';']],
    ['stop?.abort()', [';']],
  ])('of %j', (code, texts) => {
    const wrapped = (text: string) => `async function f() { ${text} }`
    expect(edited(wrapped(code))).toEqual(texts.map(wrapped))
  })

  it('leaves types, imports and plain values alone', () => {
    expect(
      edited("import type { A } from './a.ts'\ntype B = A extends true ? 1 : 2\nlet x: true | false = y"),
    ).toEqual([])
  })

  it('replaces the operator, not one inside an operand', () => {
    expect(edited("x = '&&' + (a && b)")).toEqual(["x = '&&' + (a || b)"])
  })
})

describe('a sample', () => {
  const areas = ['large', 'small']
  const mutants = Array.from({ length: 120 }, (_, at) => ({ area: at < 100 ? 'large' : 'small', at }))
  const draw = (seed: number) => sampleOf(mutants, areas, { seed, count: 50 })

  it('is the same for a seed and another for another', () => {
    expect(draw(1)).toEqual(draw(1))
    expect(draw(1)).not.toEqual(draw(2))
  })

  it('has ten of a small area, takes turns and repeats nothing', () => {
    const sample = draw(3)
    expect(sample.filter(({ area }) => area === 'small').length).toBeGreaterThanOrEqual(10)
    expect(sample.slice(0, 4).map(({ area }) => area)).toEqual(['large', 'small', 'large', 'small'])
    expect(new Set(sample).size).toBe(sample.length)
    expect(sample.length).toBe(50)
  })
})

const root = fileURLToPath(new URL('../..', import.meta.url))

describe('the tests of a source file', () => {
  const graph = importGraph(root)
  const source = 'packages/core/src/permissions/decide.ts'

  it('are those that import it, the test of its name first, then the nearest', () => {
    const tests = graph.testsFor(source, ['packages/core/src/tools', 'packages/core/src/permissions'])
    expect(tests[0]).toBe('packages/core/src/permissions/decide.test.ts')
    expect(tests.indexOf('packages/core/src/permissions/permissions.test.ts')).toBeLessThan(
      tests.indexOf('packages/core/src/tools/call.test.ts'),
    )
    expect(tests).not.toContain('packages/core/src/tools/names.test.ts')
  })

  it('are looked for in the named places only', () => {
    expect(graph.testsFor(source, ['packages/core/src/config/names.test.ts'])).toEqual([])
  })
})

describe('npm run mutation', () => {
  const list = (...args: string[]) =>
    execFileSync(process.execPath, ['scripts/mutation.mjs', '--list', ...args], {
      cwd: root,
      encoding: 'utf8',
    })
      .trim()
      .split('\n')

  it('lists a sample of the chosen files', () => {
    const rows = list('--area', 'permissions', '--file', 'permissions/rules.ts', '--count', '12')
    expect(rows).toHaveLength(12)
    for (const row of rows)
      expect(row).toMatch(/^permissions {2}packages\/core\/src\/permissions\/rules\.ts:\d+ {2}/)
  })

  it('finds every named edit in today’s sources', () => {
    expect(list('--named').length).toBeGreaterThan(10)
  })
})
