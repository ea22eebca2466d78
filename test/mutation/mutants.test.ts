// The edits that `npm run mutation` makes, and how it draws its sample.
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { importGraph } from '../../scripts/lib/import-graph.mjs'
import { mutantsOf, withMutant } from '../../scripts/lib/mutants.mjs'
import { sampleOf } from '../../scripts/lib/sample.mjs'
import { makeSwitches, withSwitches } from '../../scripts/lib/switches.mjs'
import { EQUIVALENTS } from './areas.mjs'

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

describe('switches', () => {
  /** What the function in `text` returns or throws. */
  function value(text: string): unknown {
    try {
      return new Function(`${text}; return f()`)()
    } catch (error) {
      return error
    }
  }

  /** Runs `code` with one switch on, or none. */
  function run(code: string, on?: number): { result: unknown; reached: number[] } {
    const edits = makeSwitches()
    edits.active = on
    const mutants = mutantsOf(code).map((mutant, id) => ({ ...mutant, id, file: 'f.ts' }))
    const before = Object.getOwnPropertyDescriptor(globalThis, '__edits')
    Object.defineProperty(globalThis, '__edits', { value: edits, configurable: true, writable: true })
    try {
      const result = value(withSwitches(code, mutants))
      return { result, reached: [...edits.reached].sort() }
    } finally {
      if (before) Object.defineProperty(globalThis, '__edits', before)
      else Reflect.deleteProperty(globalThis, '__edits')
    }
  }

  it.each([
    'const a = 1, b = 2; return [a < b, a <= b, a > b, a >= b, a < (1 + 0), a === b, a !== b]',
    'let log = ""; const f = (x) => (log += x, x); return [f(1) && f(0) || f(3), f(null) ?? f(4), log]',
    'const list = [1, 2]; return [list.some((x) => x > 1), list\n.every((x) => x > 1), "ab".startsWith("a")]',
    'const f = (x) => { if (x) return 1; else if (x === 0) return 2; return true }; return [f(1), f(0), f("")]',
    'const out = []; for (const x of [1, 2, 3]) { if (x === 2 || !x) continue; out.push(x ? x : 0) } return out',
    'const s = new Set([1]); const clear = () => s.clear(); if (s.size > 0) { clear() } return s.size',
    'if ((undefined ?? 1 === 1) && !(0 || false)) return { deep: true }; throw 1',
  ])('off change nothing, and each does what its edit does: %s', (body) => {
    const code = `function f() { ${body} }`
    expect(run(code).result).toEqual(value(code))
    const mutants = mutantsOf(code)
    expect(mutants.length).toBeGreaterThan(1)
    for (const [id, mutant] of mutants.entries())
      expect([mutant.kind, mutant.before, run(code, id).result]).toEqual([
        mutant.kind,
        mutant.before,
        value(withMutant(code, mutant)),
      ])
  })

  it('know which edits were reached', () => {
    expect(run('function f() { const g = () => 1 < 2; return true }').reached).toEqual([1])
    expect(run('function f() { return 1 < 2 }').reached).toEqual([0])
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

  it('has twenty of an area with a goal, and fewer of each when it is small', () => {
    const strict = { name: 'strict', goal: 0.95 }
    const other = { name: 'other' }
    const all = Array.from({ length: 400 }, (_, at) => ({ area: at < 40 ? strict : other, at }))
    const ofStrict = (count: number) =>
      sampleOf(all, [strict, other], { seed: 1, count }).filter(({ area }) => area === strict).length
    expect(ofStrict(100)).toBe(27)
    expect(ofStrict(30)).toBe(20)
    expect(ofStrict(15)).toBe(10)
  })

  it('takes another of the area for one that is refused', () => {
    const first = draw(4)
    const refused = new Set(first.slice(0, 10))
    const second = sampleOf(mutants, areas, { seed: 4, count: 50, refused })
    expect(second).toHaveLength(first.length)
    expect(second.some((mutant) => refused.has(mutant))).toBe(false)
    const of = (sample: typeof first) => sample.filter(({ area }) => area === 'small').length
    expect(of(second)).toBe(of(first))
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

  it.each(EQUIVALENTS)(
    'accepts an edit that is there: $file $kind, because $reason',
    ({ file, kind, before }) => {
      const text = readFileSync(join(root, file), 'utf8')
      const at = text.indexOf(before)
      const accepted = mutantsOf(text).filter(
        (mutant) => mutant.kind === kind && mutant.start >= at && mutant.end <= at + before.length,
      )
      expect(at).toBeGreaterThan(-1)
      expect(accepted.length).toBeGreaterThan(0)
    },
  )

  it('finds every named edit in today’s sources', () => {
    expect(list('--named').length).toBeGreaterThan(10)
  })
})
