import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type Linked, LinkedSet } from './linked-set.ts'

interface Item extends Linked<Item> {
  readonly name: number
}

describe('a linked set', () => {
  it('holds what a Set would hold, in the same order', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.boolean(), fc.nat(6))), (steps) => {
        const items: Item[] = Array.from({ length: 7 }, (_, name) => ({ name }))
        const linked = new LinkedSet<Item>()
        const expected = new Set<Item>()
        for (const [adds, which] of steps) {
          const item = items[which] as Item
          if (adds) {
            linked.add(item)
            expected.add(item)
          } else expect(linked.delete(item)).toBe(expected.delete(item))
          expect(linked.list().map(({ name }) => name)).toEqual([...expected].map(({ name }) => name))
          expect(linked.size).toBe(expected.size)
          expect(linked.first).toBe([...expected][0])
          for (const one of items) expect(linked.has(one)).toBe(expected.has(one))
        }
      }),
    )
  })
})
