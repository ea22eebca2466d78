// Which instances there are and when each ends, with connections that only say whether they are open.
import type { LocalBoard } from '@plugboard/core'
import { IoError, PermissionDenied } from '@plugboard/core'
import { afterEach, describe, expect, it, vi } from 'vitest'
import type { User } from '../access/access.ts'
import type { Client } from '../client-request.ts'
import type { IsolationConfig } from '../config/schema.ts'
import { Instances } from './instances.ts'

const MINUTE = 60_000
const made: Instances[] = []
afterEach(async () => {
  for (const one of made.splice(0)) await one.close()
  vi.useRealTimers()
})

const named = (key: string): User => ({ key, name: key, roles: [] })
const client = (owner: string, more: Partial<Client> = {}) =>
  ({ id: `session-${owner}`, owner, era: 'legacy', ...more }) as Client

function scene(config: IsolationConfig, loginServers: readonly string[] = []) {
  vi.useFakeTimers()
  const open: string[] = []
  let changed: (event: { removed: readonly string[] }) => void = () => undefined
  // What instances use of a board.
  const board = {
    on: (_: string, tell: typeof changed) => {
      changed = tell
      return () => undefined
    },
    link: {
      configured: () => undefined,
      instance: (server: string, key: string) => {
        open.push(key)
        return { server, close: async () => void open.splice(open.indexOf(key), 1) }
      },
    },
  } as unknown as LocalBoard
  const logins = {
    serves: (server: string) => loginServers.includes(server),
    variant: () => 'v',
    instanceLogin: () => ({}),
  }
  const instances = new Instances(board, config, () => undefined, { logins: logins as never })
  made.push(instances)
  const running = () => open.map((key) => JSON.parse(key).slice(0, 2).join(' ')).sort()
  const use = (server: string, owner: string, more: Partial<Client> = {}) =>
    instances.use(server, client(owner, more))
  return { instances, use, running, remove: (removed: readonly string[]) => changed({ removed }) }
}

describe('an instance', () => {
  it('is there for whom its server says, and is used again', () => {
    const { instances, use, running } = scene({ servers: { a: 'user', b: 'session' } })
    expect([use('shared', 'ada'), instances.kindOf('shared')]).toEqual([undefined, 'shared'])
    const first = use('a', 'ada')
    expect(use('a', 'ada')?.connection).toBe(first?.connection)
    use('a', 'ada', { user: named('person') })
    use('b', 'ada')
    use('b', 'ada', { era: 'modern' })
    expect(running()).toEqual(['a ada', 'a person', 'b ada', 'b session-ada'])
    expect(instances.count).toBe(4)
  })

  it('ends with its session, its owner, its server or its kind, and with nothing else', () => {
    const { instances, use, running, remove } = scene({ servers: { a: 'user', b: 'session', c: 'user' } })
    for (const owner of ['ada', 'eve']) for (const server of ['a', 'b', 'c']) use(server, owner)
    instances.left({ id: 'session-ada' })
    expect(running()).toEqual(['a ada', 'a eve', 'b session-eve', 'c ada', 'c eve'])
    instances.dropOwner('eve')
    expect(running()).toEqual(['a ada', 'c ada'])
    remove(['c', 'other'])
    expect(running()).toEqual(['a ada'])
    instances.replace({ servers: { a: 'user', b: 'user' } })
    expect(running()).toEqual(['a ada'])
    instances.replace({ servers: { a: 'session' } })
    expect(running()).toEqual([])
  })

  it('ends when it was idle for its time, and not while a call runs', () => {
    const { use, running } = scene({ servers: { a: 'user', b: 'user' }, idleMinutes: 10 })
    const idle = use('a', 'ada')
    use('b', 'ada')
    idle?.release()
    idle?.release()
    vi.advanceTimersByTime(9 * MINUTE)
    expect(running()).toEqual(['a ada', 'b ada'])
    vi.advanceTimersByTime(3 * MINUTE)
    expect(running()).toEqual(['b ada'])
  })

  it('is released once by each call that uses it', () => {
    const { use, running } = scene({ servers: { a: 'user' }, idleMinutes: 1 })
    const [one, two] = [use('a', 'ada'), use('a', 'ada')]
    one?.release()
    one?.release()
    vi.advanceTimersByTime(10 * MINUTE)
    expect(running()).toEqual(['a ada'])
    two?.release()
    vi.advanceTimersByTime(10 * MINUTE)
    expect(running()).toEqual([])
  })

  it('takes the place of the longest idle one of its user, or of all, and of none that is busy', () => {
    const servers = { a: 'user', b: 'user', c: 'user', d: 'user' } as const
    const { use, running } = scene({ servers, perUser: 2, inAll: 3 })
    const first = use('a', 'ada')
    const second = use('b', 'ada')
    expect(() => use('c', 'ada')).toThrow(IoError)
    second?.release()
    vi.advanceTimersByTime(1)
    first?.release()
    const third = use('c', 'ada')
    expect(running()).toEqual(['a ada', 'c ada'])
    use('a', 'eve')
    expect(running()).toEqual(['a ada', 'a eve', 'c ada'])
    use('b', 'eve')
    expect(running()).toEqual(['a eve', 'b eve', 'c ada'])
    expect(() => use('a', 'bob')).toThrow('Too many servers of users are running')
    third?.release()
    use('a', 'bob')
    expect(running()).toEqual(['a bob', 'a eve', 'b eve'])
  })
})

describe('an instance with the login of a user', () => {
  it('is for users with a name, and ends with the login at its server', () => {
    const { instances, use, running } = scene({ servers: { plain: 'user' } }, ['one', 'two'])
    expect(instances.kindOf('one')).toBe('user')
    expect(() => use('one', 'ada')).toThrow(PermissionDenied)
    const all = () => {
      for (const key of ['ada', 'eve'])
        for (const server of ['one', 'two', 'plain']) use(server, `token-${key}`, { user: named(key) })
    }
    all()
    expect(instances.existing('one', named('ada'))).toBeDefined()
    expect(instances.existing('one', named('bob'))).toBeUndefined()
    instances.dropLogins('ada', 'one')
    expect(running()).toEqual(['one eve', 'plain ada', 'plain eve', 'two ada', 'two eve'])
    instances.dropLogins('eve', undefined)
    expect(running()).toEqual(['plain ada', 'plain eve', 'two ada'])
    all()
    instances.dropLogins(undefined, 'two')
    expect(running()).toEqual(['one ada', 'one eve', 'plain ada', 'plain eve'])
    instances.dropLogins(undefined, undefined)
    expect(running()).toEqual(['plain ada', 'plain eve'])
  })
})
