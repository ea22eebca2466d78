// random.ts: seeded random numbers, so that a failed run can be repeated.

export interface Random {
  /** In [0, 1). */
  next(): number
  /** A whole number from 0 up to, not including, `below`. */
  below(below: number): number
  pick<T>(items: readonly T[]): T
  chance(of: number): boolean
}

/** Independent streams of one seed: what one generator draws does not shift what another gets. */
export function randomOf(seed: number, stream: number): Random {
  let state = (seed ^ Math.imul(stream + 1, 0x9e3779b1)) >>> 0
  const next = () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
  const below = (bound: number) => Math.floor(next() * bound)
  return {
    next,
    below,
    pick: (items) => {
      const item = items[below(items.length)]
      if (item === undefined) throw new Error('nothing to pick from')
      return item
    },
    chance: (of) => next() < of,
  }
}
