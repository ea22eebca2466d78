import { expect, it } from 'vitest'
import { seeded } from '../fixtures/test-folders.ts'
import { FileTable } from './file-table.ts'

it('answers as a map does, through growth and removal', () => {
  const random = seeded(11)
  const names = Array.from({ length: 5000 }, (_, n) => `folder${n % 70}/päth ${n}.ts`)
  const table = new FileTable((place) => names[place % names.length] as string)
  const judge = new Map<string, number>()
  for (let n = 0; n < 40_000; n++) {
    const at = Math.floor(random() * names.length)
    const name = names[at] as string
    if (random() < 0.4) {
      table.delete(name)
      judge.delete(name)
    } else {
      const place = at + names.length * Math.floor(random() * 3)
      table.set(name, place)
      judge.set(name, place)
    }
  }
  expect(table.size).toBe(judge.size)
  for (const name of names) expect(table.get(name)).toBe(judge.get(name))
  expect([...table.places()].sort()).toEqual([...judge.values()].sort())
  expect(table.get('folder0/not there')).toBeUndefined()
})
