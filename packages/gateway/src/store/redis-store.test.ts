// What only the store in Redis has: two connections that break, hang and end, and a server that other programs use as well. What
// every store does is in store.test.ts.
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
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

it('is up again only when it hears its channels', async () => {
  const server = await startRedis()
  ends.push(() => server.stop())
  const { proxy, url } = await holdingProxy(server.port)
  const store = await RedisStore.open(url)
  ends.push(() => store.close())
  const heard: string[] = []
  await store.subscribe('news', (message) => heard.push(message))
  // The connection for commands is ready last, while the channels are not heard yet.
  proxy.hold()
  proxy.breakAll()
  await until(() => !store.isUp)
  await until(() => proxy.subscribing)
  await proxy.letInfoPass()
  expect(store.isUp).toBe(false)
  proxy.letSubscribePass()
  await until(() => store.isUp)
  await store.publish('news', 'again')
  await until(() => heard.length > 0)
  expect(heard).toEqual(['again'])
})

/** Between the store and Redis: after `hold`, the first connection's INFO waits, and so does SUBSCRIBE. */
async function holdingProxy(port: number) {
  const sockets = new Set<Socket>()
  let held: { isFirst: boolean; info: (() => void)[] | undefined; subscribe: (() => void)[] } | undefined
  const server = createServer((client) => {
    const redis = connect(port, '127.0.0.1')
    const isFirst = held?.isFirst === true
    if (held) held.isFirst = false
    for (const socket of [client, redis]) {
      sockets.add(socket)
      socket.on('error', () => undefined)
    }
    client.on('data', (bytes) => {
      const pass = () => void redis.write(bytes)
      const text = bytes.toString('latin1').toLowerCase()
      if (held && text.includes('subscribe')) held.subscribe.push(pass)
      else if (held?.info && isFirst && text.includes('info')) held.info.push(pass)
      else pass()
    })
    redis.pipe(client)
    client.on('close', () => redis.destroy())
  })
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  ends.push(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  const proxy = {
    hold: () => {
      held = { isFirst: true, info: [], subscribe: [] }
    },
    breakAll: () => {
      for (const socket of sockets) socket.destroy()
    },
    get subscribing() {
      return (held?.subscribe.length ?? 0) > 0 && (held?.info?.length ?? 0) > 0
    },
    /** Resolves when its answer is there. */
    letInfoPass: async () => {
      for (const pass of held?.info ?? []) pass()
      if (held) held.info = undefined
      const admin = new Redis(port)
      await admin.ping()
      admin.disconnect()
      for (let turn = 0; turn < 20; turn++) await new Promise((done) => setTimeout(done, 5))
    },
    letSubscribePass: () => {
      for (const pass of held?.subscribe.splice(0) ?? []) pass()
      held = undefined
    },
  }
  const { port: own } = server.address() as AddressInfo
  return { proxy, url: `redis://127.0.0.1:${own}` }
}

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
