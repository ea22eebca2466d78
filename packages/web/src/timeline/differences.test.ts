import { expect, it } from 'vitest'
import { differences } from './differences.ts'

it.for([
  [{ a: 1 }, { a: 1 }, []],
  [{ a: 1, b: 2 }, { a: 1, b: 3 }, ['b']],
  [{ a: { 'x y': 1 } }, { a: { 'x y': 2 } }, ['a."x y"']],
  [[1, 2], [1, 2, 3], ['[2]']],
  [{ a: [] }, { a: {} }, ['a']],
  [null, {}, ['(all)']],
  [{ a: 1 }, {}, ['a']],
] as const)('%j and %j differ at %j', ([before, after, paths]) => {
  expect(differences(before, after).map(({ path }) => path)).toEqual(paths)
})

it('stops at a bound', () => {
  const many = Object.fromEntries(Array.from({ length: 1000 }, (_, at) => [`k${at}`, at]))
  expect(differences(many, {})).toHaveLength(200)
})
