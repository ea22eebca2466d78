export interface Pair {
  readonly schema: boolean | Record<string, unknown>
  readonly value: unknown
  readonly expected: boolean
}
export function pairs(options: {
  modern: boolean
  count: number
  values: number
  seed: number
}): Iterable<Pair>
