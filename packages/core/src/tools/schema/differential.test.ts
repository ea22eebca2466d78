// The checker against Ajv on generated schemas and values. bench/ runs the same over more of them and prints the figure.
import { describe, expect, it } from 'vitest'
import { type Pair, pairs } from '../../../../../bench/lib/schemas.mjs'
import { type CompiledSchema, compileSchema, loadZod, toZod } from './index.ts'

describe.each([
  ['draft 7', false],
  ['2020-12', true],
])('%s', (_, modern) => {
  it('says yes and no as Ajv does, in at least 99 of 100 cases, and Zod always as the checker', async () => {
    const z = await loadZod()
    const forms = new Map<unknown, { compiled: CompiledSchema; zod: ReturnType<typeof toZod> }>()
    const differing: Pair[] = []
    const split: Pair[] = []
    let total = 0
    let accepted = 0
    for (const pair of pairs({ modern, count: 130, values: 20, seed: 2026 })) {
      let form = forms.get(pair.schema)
      if (!form) {
        const compiled = compileSchema(pair.schema)
        form = { compiled, zod: toZod(z, pair.schema, compiled) }
        forms.set(pair.schema, form)
      }
      const fits = form.compiled.check(pair.value).kind !== 'invalid'
      if (fits !== pair.expected) differing.push(pair)
      if (form.zod.safeParse(pair.value).success !== fits) split.push(pair)
      if (pair.expected) accepted++
      total++
    }
    expect(total).toBeGreaterThan(2000)
    expect(accepted / total).toBeGreaterThan(0.2)
    expect(split).toEqual([])
    expect(differing.length / total, JSON.stringify(differing.slice(0, 3))).toBeLessThanOrEqual(0.01)
  })
})
