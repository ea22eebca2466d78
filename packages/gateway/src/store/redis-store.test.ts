// What only the store in Redis has: two connections that break, hang and end, and a server that other programs use as well. What
// every store does is in store.test.ts.
import { Redis } from 'ioredis'
import { afterEach, expect, it, vi } from 'vitest'
import { startRedis } from '../../../../test/support/redis.ts'
import { until } from '../fixtures/kit.ts'
import { RedisStore } from './redis-store.ts'
import { StoreUnavailable } from './store.ts'

const PING_MS = 2000
const COMMAND_MS = 1000

const ends: (() => unknown)[] = []
afterEach(async () => {
  vi.useRealTimers()
  for (const end of ends.splice(0).reverse()) await end()
})

async function opened() {
  const server = await startRedis()
  ends.push(() => server.stop())
  const store = await RedisStore.open(server.url)
  ends.push(() => store.close())
  const changes: boolean[] = []
  store.onChange((isUp) => changes.push(isUp))
  /** Another program on the same Redis. */
  const admin = new Redis(server.url).on('error', () => undefined)
  ends.push(() => admin.disconnect())
  return { server, store, changes, admin }
}

it('is down when Redis no longer answers a ping, and up with its subscriptions when Redis goes on', async () => {
  // The clock also runs by itself: the client of Redis has timers of its own.
  vi.useFakeTimers({
    toFake: ['setInterval', 'clearInterval', 'setTimeout', 'clearTimeout'],
    shouldAdvanceTime: true,
  })
  const { server, store, changes } = await opened()
  const heard: string[] = []
  await store.subscribe('news', (message) => heard.push(message))
  server.pause()
  await vi.advanceTimersByTimeAsync(PING_MS)
  await vi.advanceTimersByTimeAsync(COMMAND_MS)
  expect(changes).toEqual([false])
  expect(store.isUp).toBe(false)
  server.goOn()
  await until(() => store.isUp)
  await store.publish('news', 'again')
  await until(() => heard.length > 0)
  expect(heard).toEqual(['again'])
  expect(changes).toEqual([false, true])
})

it('listens at Redis to a channel as long as it has a receiver', async () => {
  const { server, store, admin } = await opened()
  const channels = () => admin.pubsub('CHANNELS')
  const heard: string[] = []
  const stopFirst = await store.subscribe('news', (message) => heard.push(`first ${message}`))
  const stopSecond = await store.subscribe('news', (message) => heard.push(`second ${message}`))
  expect(await channels()).toEqual(['pb:news'])
  stopFirst()
  await store.publish('news', 'one')
  await until(() => heard.length > 0)
  expect(heard).toEqual(['second one'])
  stopSecond()
  await until(async () => ((await channels()) as string[]).length === 0)
  await server.stop()
  await until(() => !store.isUp)
  await server.start()
  await until(() => store.isUp)
  expect(await channels()).toEqual([])
})

it('stays down while Redis refuses its subscriptions, and comes up when Redis takes them again', async () => {
  const { store, changes, admin } = await opened()
  const heard: string[] = []
  await store.subscribe('news', (message) => heard.push(message))
  // Redis ends the connections whose channels are no longer allowed.
  await admin.acl('SETUSER', 'default', 'resetchannels')
  await until(() => !store.isUp)
  const refused = async () => ((await admin.acl('LOG')) as unknown[]).length > 0
  await until(refused)
  expect(changes).toEqual([false])
  await admin.acl('SETUSER', 'default', 'allchannels')
  await until(() => store.isUp)
  await store.publish('news', 'again')
  await until(() => heard.length > 0)
  expect(changes).toEqual([false, true])
})

it('rejects what Redis refuses, and stays up', async () => {
  const { store, admin } = await opened()
  await admin.set('pb:text', 'no number')
  await expect(store.increment('text', 1, 60_000)).rejects.toBeInstanceOf(StoreUnavailable)
  expect(await store.get('text')).toBe('no number')
  expect(store.isUp).toBe(true)
})

it('leaves out what another program wrote to a list in its own form', async () => {
  const { store, admin } = await opened()
  await store.append('list', 'a', 1000)
  await admin.xadd('pb:list', '*', 'other', 'x')
  await store.append('list', 'b', 1000)
  expect(await store.last('list', 10)).toEqual(['a', 'b'])
})

it('ends both connections when it is closed, and tells no listener', async () => {
  const { store, changes, admin } = await opened()
  const connections = async () =>
    String(await admin.client('LIST'))
      .trim()
      .split('\n').length
  expect(await connections()).toBe(3)
  await store.close()
  await until(async () => (await connections()) === 1)
  expect([store.isUp, changes]).toEqual([false, []])
  await expect(store.get('a')).rejects.toBeInstanceOf(StoreUnavailable)
})

it('tells a change to the listeners that are left', async () => {
  const { server, store, changes } = await opened()
  const stopped: boolean[] = []
  store.onChange((isUp) => stopped.push(isUp))()
  await server.stop()
  await until(() => changes.length > 0)
  expect([changes, stopped]).toEqual([[false], []])
})
