// Servers that users have for themselves: whose process a call reaches, whose questions are asked, and when a process ends.
import { fileURLToPath } from 'node:url'
import { PermissionDenied } from '@plugboard/core'
import { describe, expect, it } from 'vitest'
import { legacySession, modern } from '../../../../test/support/gateway.ts'
import { isRunning } from '../../../core/src/files/running.ts'
import type { User } from '../access/access.ts'
import {
  connect,
  firstText,
  folder,
  makeGateway,
  onEnd,
  serve,
  stdio,
  until,
  upstream,
} from '../fixtures/kit.ts'
import type { Gateway } from '../index.ts'
import { InstanceLeases } from '../replicas/instance-leases.ts'
import { Replicas } from '../replicas/replicas.ts'
import { KeyRing } from '../sealing/key-ring.ts'
import { MemoryStore } from '../store/memory-store.ts'
import { defaultIsolation } from './default-isolation.ts'
import { Instances } from './instances.ts'

const PLAIN = fileURLToPath(new URL('../../../../test/support/gateway-server.mjs', import.meta.url))
const token = (user: number) => `token-of-user-${user}-0123456789`

async function served(gateway: Gateway, users = 3) {
  await gateway.wake(20_000)
  const all = Array.from({ length: users }, (_, user) => ({ token: token(user), exposure: gateway.expose }))
  return await serve(gateway, all)
}

const pidOf = async (url: string, user: number): Promise<number> => {
  const { message } = await modern(url, token(user), 'tools/call', { name: 'mcp__one__read', arguments: {} })
  return Number(/\d+/.exec(message.result.content[0].text)?.[0])
}

describe('a server of which nothing is said', () => {
  const command = (...args: string[]) => ({ type: 'stdio', command: 'npx', args, env: {} }) as const
  it.each([
    ['a browser', command('@playwright/mcp'), 'user'],
    ['a terminal', command('desktop-commander'), 'user'],
    ['an entry for one session', { ...command('notes'), share: 'session' }, 'user'],
    ['an entry for one person', { ...command('notes'), share: 'user' }, 'shared'],
    ['another command', command('notes'), 'shared'],
    ['a remote browser', { type: 'http', url: 'https://browser.example', headers: {} }, 'shared'],
  ] as const)('(%s) is shared only where nothing is known to be kept', (_, entry, kind) => {
    expect(defaultIsolation({ entry: entry as never })).toBe(kind)
  })

  it("is each user's own when it keeps something, and shared when the operator says so", async () => {
    const browser = () => stdio('one', [PLAIN, '--browser'])
    const own = await served(await makeGateway([browser()], { isolation: {} }))
    expect(await pidOf(own.url, 0)).not.toBe(await pidOf(own.url, 1))
    const shared = await served(await makeGateway([browser()], { isolation: { servers: { one: 'shared' } } }))
    expect(await pidOf(shared.url, 0)).toBe(await pidOf(shared.url, 1))
  })
})

describe('isolation', () => {
  it('gives every user a process of its own, the same at the next call', async () => {
    const gateway = await makeGateway([stdio('one', [PLAIN])], { isolation: { servers: { one: 'user' } } })
    const { url } = await served(gateway)
    const [ada, eve] = [await pidOf(url, 0), await pidOf(url, 1)]
    expect(ada).not.toBe(eve)
    expect([await pidOf(url, 0), await pidOf(url, 1)]).toEqual([ada, eve])
    // A session of the same user reaches the same process.
    const session = await legacySession(url, token(0))
    const { message } = await session.call('mcp__one__read')
    expect(message.result.content[0].text).toBe(`read ${ada}`)
    gateway.instances?.replace({ servers: {} })
    await until(() => !isRunning(ada) && !isRunning(eve))
    expect(await pidOf(url, 0)).toBe(await pidOf(url, 1))
  }, 40_000)

  it('gives every session a process that ends with it', async () => {
    const gateway = await makeGateway([stdio('one', [PLAIN])], { isolation: { servers: { one: 'session' } } })
    const { url } = await served(gateway)
    const sessions = [await legacySession(url, token(0)), await legacySession(url, token(0))]
    const pids: number[] = []
    for (const session of sessions) {
      const { message } = await session.call('mcp__one__read')
      pids.push(Number(/\d+/.exec(message.result.content[0].text)?.[0]))
    }
    expect(pids[0]).not.toBe(pids[1])
    await fetch(url, { method: 'DELETE', headers: sessions[0]?.headers ?? {} })
    await until(() => !isRunning(pids[0] ?? 0))
    expect(isRunning(pids[1] ?? 0)).toBe(true)
  }, 40_000)

  it('asks ten users at once each its own question of a legacy server', async () => {
    const gateway = await makeGateway([upstream('one', 'legacy', folder())], {
      isolation: { servers: { one: 'user' } },
    })
    const { url } = await served(gateway, 10)
    const answers = await Promise.all(
      Array.from({ length: 10 }, async (_, user) => {
        const client = await connect(url, {
          token: token(user),
          era: user % 2 ? 'modern' : 'legacy',
          capabilities: { elicitation: { form: {} } },
          prepare: (one) =>
            one.setRequestHandler('elicitation/create', async () => ({
              action: 'accept',
              content: { name: `user ${user}` },
            })),
        })
        return firstText(await client.callTool({ name: 'mcp__one__ask', arguments: {} }))
      }),
    )
    expect(answers).toEqual(Array.from({ length: 10 }, (_, user) => `accept user ${user}`))
  }, 60_000)

  it('has one holder over replicas, except where the login of the user makes the connection', async () => {
    const store = new MemoryStore()
    const keys = KeyRing.ephemeral()
    const servers = [stdio('one', [PLAIN]), stdio('two', [PLAIN])]
    const logins = {
      serves: (server: string) => server === 'two',
      variant: (_: string, { email }: User) => {
        if (email === undefined) throw new PermissionDenied('no e-mail address')
        return email
      },
      instanceLogin: () => ({}),
    }
    const ada = { owner: 'o', user: { key: 'ada', name: 'ada', roles: [], email: 'a@example.com' } }
    const replica = async () => {
      const { board } = await makeGateway(servers)
      const replicas = new Replicas(store, keys)
      onEnd(() => replicas.close())
      const leases = new InstanceLeases(replicas)
      const config = { servers: { one: 'user' } } as const
      const instances = new Instances(board, config, () => undefined, { leases, logins })
      onEnd(() => instances.close())
      return { id: replicas.id, leases, instances }
    }
    const [first, second] = [await replica(), await replica()]
    await first.instances.claim('one', ada)
    expect(await second.instances.elsewhere('one', ada)).toBe(first.id)
    for (const { instances } of [first, second]) {
      expect(instances.claim('two', ada)).toBeUndefined()
      expect(instances.elsewhere('two', ada)).toBeUndefined()
    }
    expect(first.leases.held().map(({ key }) => key)).toEqual(['["one","ada"]'])
    expect(second.leases.held()).toEqual([])
    const caller = { ...ada, era: 'modern', id: 'c' } as const
    const nameless = { ...caller, user: { key: 'bob', name: 'bob', roles: [] } }
    const names = [first.instances.keyOf('one', caller), first.instances.keyOf('two', caller)]
    expect(names).toEqual(['["one","ada"]', '["two","ada","a@example.com"]'])
    // Of a user that the server cannot be told about, the call itself is refused, not its name.
    expect(first.instances.keyOf('two', nameless)).toBe('["two","bob"]')
  })

  it('has limits, and ends what an owner without access had', async () => {
    const isolation = { servers: { one: 'user', two: 'user' }, perUser: 1, inAll: 2 } as const
    const gateway = await makeGateway([stdio('one', [PLAIN]), stdio('two', [PLAIN])], { isolation })
    const handle = await served(gateway)
    const first = await pidOf(handle.url, 0)
    const params = { name: 'mcp__two__slow', arguments: { ms: 3000 } }
    // An idle one makes space for another; one that is busy does not.
    const slow = modern(handle.url, token(0), 'tools/call', params)
    await until(() => !isRunning(first))
    const { message } = await modern(handle.url, token(0), 'tools/call', {
      name: 'mcp__one__read',
      arguments: {},
    })
    expect(message.result.content[0].text).toContain('all of them are busy')
    // The refused call is over for those that count running calls.
    expect([gateway.drains.running('one'), gateway.drains.running('two')]).toEqual([0, 1])
    const eve = await pidOf(handle.url, 1)
    const third = await pidOf(handle.url, 2)
    expect(isRunning(third)).toBe(true)
    await until(() => !isRunning(eve))
    expect((await slow).message.result.content[0].text).toBe('slow')
    handle.setGrants([0, 1].map((user) => ({ token: token(user), exposure: gateway.expose })))
    await until(() => !isRunning(third))
  }, 40_000)
})
