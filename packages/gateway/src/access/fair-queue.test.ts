// Requests of different owners are started in rotation, and those of one owner in the order in which they came.
import { expect, it } from 'vitest'
import { FairQueue } from './fair-queue.ts'

const turn = () => new Promise((done) => setImmediate(done))

it('starts an owner with one request before the rest of an owner with many', async () => {
  const queue = new FairQueue()
  const started: string[] = []
  for (let n = 0; n < 300; n++) queue.run('noisy', () => void started.push(`noisy ${n}`))
  queue.run('quiet', () => void started.push('quiet'))
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
    for (let n = 0; n < 100; n++) queue.run(owner, () => void started.push(owner))
  await turn()
  const counts = ['a', 'b', 'c', 'd'].map((owner) => started.filter((one) => one === owner).length)
  expect(Math.max(...counts) - Math.min(...counts)).toBeLessThanOrEqual(1)
})

it('starts work that arrives while other work is started', async () => {
  const queue = new FairQueue()
  const started: string[] = []
  queue.run('a', () => {
    started.push('first')
    queue.run('a', () => void started.push('second'))
    return undefined
  })
  await turn()
  await turn()
  expect(started).toEqual(['first', 'second'])
})

it('lets an owner run only some of its requests while another is active, but never waits for slow ones', async () => {
  const queue = new FairQueue()
  let running = 0
  const ends: (() => void)[] = []
  const slow = () => {
    running++
    return new Promise<void>((done) => ends.push(done))
  }
  const poll = async (until: () => boolean) => {
    for (let tries = 0; tries < 500 && !until(); tries++) await new Promise((done) => setTimeout(done, 10))
  }
  queue.run('quiet', () => undefined)
  for (let n = 0; n < 100; n++) queue.run('noisy', slow)
  await turn()
  await turn()
  expect(running).toBeLessThan(100)
  const before = running
  // One that ends makes room for the next.
  ends.shift()?.()
  await turn()
  await turn()
  expect(running).toBeGreaterThan(before)
  await poll(() => running === 100)
  expect(running).toBe(100)
  for (const end of ends) end()
})

it('does not limit the only owner', async () => {
  const queue = new FairQueue()
  let running = 0
  for (let n = 0; n < 200; n++)
    queue.run('one', () => {
      running++
      return new Promise<void>(() => undefined)
    })
  for (let turns = 0; turns < 10; turns++) await turn()
  expect(running).toBe(200)
})
