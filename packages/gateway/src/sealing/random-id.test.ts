import { expect, it } from 'vitest'
import { randomId } from './random-id.ts'

it('never begins like an option of a command, and is another one each time', () => {
  const ids = Array.from({ length: 2000 }, () => randomId(9))
  expect(ids.filter((id) => !/^[A-Za-z0-9_][A-Za-z0-9_-]{11}$/.test(id))).toEqual([])
  expect(new Set(ids).size).toBe(2000)
})
