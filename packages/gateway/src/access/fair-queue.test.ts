// Requests of different owners are started in rotation, and those of one owner in the order in which they came.
import { expect, it } from 'vitest'
import { FairQueue } from './fair-queue.ts'

const turn = () => new Promise((done) => setImmediate(done))

it('starts an owner with one request before the rest of an owner with many', async () => {
  const queue = new FairQueue()
  const started: string[] = []
  for (let n = 0; n < 300; n++) queue.run('noisy', () => started.push(`noisy ${n}`))
  queue.run('quiet', () => started.push('quiet'))
  await turn()
  expect(started.indexOf('quiet')).toBe(1)
  expect(started.length).toBeLessThan(300)
  for (let turns = 0; turns < 20; turns++) await turn()
  expect(started.filter((one) => one !== 'quiet')).toEqual(
    Array.from({ length: 300 }, (_, n) => `noisy ${n}`),
  )
})

it('gives each of several owners its share of a turn', async () => {
  const queue = new FairQueue()
  const started: string[] = []
  for (const owner of ['a', 'b', 'c', 'd'])
    for (let n = 0; n < 100; n++) queue.run(owner, () => started.push(owner))
  await turn()
  const counts = ['a', 'b', 'c', 'd'].map((owner) => started.filter((one) => one === owner).length)
  expect(Math.max(...counts) - Math.min(...counts)).toBeLessThanOrEqual(1)
})

it('starts work that arrives while other work is started', async () => {
  const queue = new FairQueue()
  const started: string[] = []
  queue.run('a', () => {
    started.push('first')
    queue.run('a', () => started.push('second'))
  })
  await turn()
  await turn()
  expect(started).toEqual(['first', 'second'])
})
