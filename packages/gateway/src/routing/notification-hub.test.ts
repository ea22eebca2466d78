// Which client hears what: the hub on a board of plain objects, so that every condition is one line of a table. What goes over
// the wire is in notifications.test.ts and changes.test.ts.
import type { LocalBoard } from '@plugboard/core'
import { GATEWAY_LIMITS } from '@plugboard/core/limits'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { EVERYTHING, type Exposure, readExposure } from '../access/exposure.ts'
import type { Client } from '../client-request.ts'
import type { ResourceUri } from '../views/resource-uris.ts'
import type { Shown } from '../views/views.ts'
import { NotificationHub, type Relay, tellRootsChanged, tooMany } from './notifications.ts'
import type { ServerRequestRouter } from './server-requests.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

const connected = (era: string, capabilities: object = { logging: {} }) => ({
  kind: 'connected',
  session: { era, capabilities },
})

interface Wish {
  readonly exposure?: Exposure
  readonly uris?: Readonly<Record<string, ResourceUri>>
  readonly tools?: boolean
  readonly resources?: boolean
}

function setup(states: Record<string, object> = { one: connected('legacy') }) {
  const handlers = new Map<string, (event: never) => void>()
  const sent: unknown[] = []
  const calls: unknown[] = []
  const about = { current: {} as object, client: undefined as object | undefined }
  const flags = { readable: true, refuse: undefined as Error | undefined, whole: EVERYTHING as Exposure }
  const connection = (name: string) => ({
    state: states[name],
    notify: async (method: string) => void calls.push(['notify', name, method]),
  })
  const board = {
    on: (kind: string, handler: (event: never) => void) => {
      handlers.set(kind, handler)
      return () => handlers.delete(kind)
    },
    servers: () =>
      Object.entries(states).map(([name, { kind }]: [string, { kind?: string }]) => ({ name, state: kind })),
    subscribe: async (server: string, uri: string) => {
      calls.push(['subscribe', server, uri])
      if (flags.refuse) throw flags.refuse
    },
    unsubscribe: async (server: string, uri: string) => {
      calls.push(['unsubscribe', server, uri])
      throw new Error('it is gone')
    },
    link: {
      connection,
      isReadable: () => flags.readable,
      request: async (server: string, method: string, params: object) => {
        calls.push([server, method, params])
        throw new Error('no such level')
      },
    },
  }
  const keys: string[] = []
  const router = {
    aboutCall: (key: string) => {
      keys.push(key)
      return about.current
    },
    clientOf: (key: string) => {
      keys.push(key)
      return about.client
    },
  }
  // Only what the hub uses of a board and a router is here.
  const hub = new NotificationHub(
    board as unknown as LocalBoard,
    router as unknown as ServerRequestRouter,
    (exposure) => exposure === flags.whole,
  )
  const emit = (kind: string, event: object = {}) => handlers.get(kind)?.(event as never)
  const listen = (name: string, { exposure = EVERYTHING, uris = {}, ...wants }: Wish = {}) =>
    hub.add({
      exposure,
      interest: {
        tools: true,
        resources: true,
        prompts: true,
        uris: new Map(Object.entries(uris)),
        ...wants,
      },
      notify: (method, params) => sent.push([name, method, ...(params.uri ? [params.uri] : [])]),
    })
  const settled = () => {
    vi.advanceTimersByTime(60)
    return sent.splice(0)
  }
  return { hub, emit, listen, settled, sent, calls, about, flags, handlers, keys, states }
}

const changed = (what: Shown) => `notifications/${what}/list_changed`
const UPDATED = 'notifications/resources/updated'
const STATUS = 'plugboard://status'

describe('a changed list', () => {
  it('is told once for many steps, to those that listen to it, until they leave', () => {
    const { hub, listen, settled, sent } = setup()
    const leave = listen('all')
    listen('prompts only', { tools: false, resources: false })
    expect(hub.listeners).toBe(2)
    for (let step = 0; step < 3; step++) hub.listChanged('tools', 'one', ['a'])
    vi.advanceTimersByTime(49)
    expect(sent).toEqual([])
    expect(settled()).toEqual([['all', changed('tools')]])
    expect(settled()).toEqual([])
    hub.listChanged('prompts', 'one')
    hub.listChanged('resources', 'one')
    expect(settled()).toEqual([
      ['all', changed('prompts')],
      ['all', changed('resources')],
      ['prompts only', changed('prompts')],
    ])
    leave()
    hub.listChanged('prompts')
    expect(settled()).toEqual([['prompts only', changed('prompts')]])
  })

  const some = readExposure(['one.read_*', 'two'])
  it.each([
    ['tools', undefined, undefined, true],
    ['tools', 'one', undefined, true],
    ['tools', 'one', ['read_a', 'write'], true],
    ['tools', 'one', ['write'], false],
    ['tools', 'one', ['wri te'], true],
    ['tools', 'one', ['-w_1'], false],
    ['tools', 'one', [], false],
    ['prompts', 'one', undefined, false],
    ['resources', 'one', undefined, false],
    ['tools', 'two', ['any'], true],
    ['prompts', 'two', undefined, true],
    ['tools', 'three', ['read_a'], false],
    ['tools', 'three', ['rea d'], false],
  ] as const)('%s of %s %j concerns a client that sees a part: %s', (what, server, tools, isTold) => {
    const { hub, listen, settled } = setup()
    listen('part', { exposure: some })
    hub.listChanged(what, server, tools)
    expect(settled()).toEqual(isTold ? [['part', changed(what)]] : [])
  })

  it('of a client that sees all that is served is told whatever its exposure says', () => {
    const { hub, listen, settled, flags } = setup()
    flags.whole = some
    listen('part', { exposure: some })
    hub.listChanged('prompts', 'three')
    expect(settled()).toHaveLength(1)
  })

  it('adds up: one step that may concern any tool makes the whole change one', () => {
    const { hub, listen, settled } = setup()
    listen('part', { exposure: some })
    const steps = (...each: (readonly string[] | undefined)[]) => {
      for (const tools of each) hub.listChanged('tools', 'one', tools)
      return settled().length
    }
    expect([steps(['read_a'], ['write']), steps(['write'], undefined), steps(undefined, ['write'])]).toEqual([
      1, 1, 1,
    ])
    expect(steps(['write'], ['other'])).toBe(0)
  })

  it('is told no more after the end', () => {
    const { hub, listen, settled, handlers } = setup()
    listen('all')
    hub.listChanged('tools')
    hub.close()
    expect([settled(), hub.listeners, handlers.size]).toEqual([[], 0, 0])
  })
})

describe('the status', () => {
  it('is told to those that follow it, of the servers that they see', () => {
    const { emit, listen, settled } = setup()
    const uris = { [STATUS]: { server: '', uri: STATUS } }
    listen('all', { uris })
    listen('part', { uris, exposure: readExposure(['two.x']) })
    listen('not following')
    const told = (kind: string, event: object) => {
      emit(kind, event)
      return settled().map((one) => (one as string[])[0])
    }
    const down = { state: { kind: 'failed' } }
    expect(told('state', { server: 'one', ...down })).toEqual(['all'])
    expect(told('state', { server: 'two', ...down })).toEqual(['all', 'part'])
    expect(told('configuration-changed', { added: ['two'], removed: [] })).toEqual(['all', 'part'])
    expect(told('configuration-changed', { added: [], removed: ['two'] })).toEqual(['all', 'part'])
    expect(told('configuration-changed', { added: [], removed: [] })).toEqual([])
    expect(told('configuration-fault', {})).toEqual(['all'])
    expect(told('configuration-mended', {})).toEqual(['all'])
    emit('configuration-fault')
    expect(settled()).toEqual([['all', UPDATED, STATUS]])
  })
})

describe('a resource', () => {
  const address = { server: 'one', uri: 'file:///a' }
  const uris = {
    'pub:a': address,
    'pub:b': { server: 'one', uri: 'file:///b' },
    'pub:c': { server: 'two', uri: 'file:///a' },
  }

  it('is subscribed to once for all clients, and let go with the last', async () => {
    const { hub, calls } = setup()
    const [one, two] = [await hub.follow(address), await hub.followForOthers(address)]
    expect(calls.splice(0)).toEqual([['subscribe', 'one', 'file:///a']])
    await one()
    await one()
    expect(calls).toEqual([])
    await two()
    expect(calls.splice(0)).toEqual([['unsubscribe', 'one', 'file:///a']])
    await hub.follow(address)
    expect(calls).toHaveLength(1)
  })

  it('that the server refuses is not followed', async () => {
    const { hub, calls, flags, emit, listen, settled } = setup()
    flags.refuse = new Error('no such resource')
    listen('all', { uris })
    await expect(hub.follow(address)).rejects.toThrow('no such resource')
    emit('resource-updated', address)
    expect(settled()).toEqual([])
    flags.refuse = undefined
    calls.splice(0)
    const gone = new AbortController()
    gone.abort()
    await expect(hub.follow(address, gone.signal)).rejects.toThrow('cancelled')
    await Promise.resolve()
    expect(calls).toEqual([
      ['subscribe', 'one', 'file:///a'],
      ['unsubscribe', 'one', 'file:///a'],
    ])
  })

  it('that changes is told under the names that each client knows it by', async () => {
    const { hub, emit, listen, settled, flags } = setup()
    listen('all', { uris })
    const stop = await hub.follow(address)
    emit('resource-updated', address)
    expect(settled()).toEqual([['all', UPDATED, 'pub:a']])
    emit('resource-updated', { ...address, uri: 'file:///b' })
    expect(settled()).toEqual([])
    flags.readable = false
    emit('resource-updated', address)
    expect(settled()).toEqual([])
    flags.readable = true
    await stop()
    emit('resource-updated', address)
    expect(settled()).toEqual([])
  })

  it('is subscribed to again when its server is configured anew, and no other', async () => {
    const { hub, calls, emit } = setup()
    await hub.follow(address)
    calls.splice(0)
    emit('configuration-changed', { added: ['two'], removed: ['one'] })
    expect(calls).toEqual([])
    emit('configuration-changed', { added: ['one'], removed: ['one'] })
    expect(calls).toEqual([['subscribe', 'one', 'file:///a']])
  })

  it.each([
    [0, false],
    [GATEWAY_LIMITS.subscriptionsPerClient - 1, false],
    [GATEWAY_LIMITS.subscriptionsPerClient, true],
  ])('after %i others is one too many: %s', (count, isTooMany) => {
    expect(tooMany(new Map(Array.from({ length: count }, (_, at) => [String(at), 1])))).toBe(isTooMany)
  })
})

describe('with other replicas', () => {
  const address = { server: 'one', uri: 'file:///a' }
  function replicated() {
    const made = setup()
    const told: unknown[] = []
    const relay: Relay = {
      followed: async ({ uri }) => void told.push(['followed', uri]),
      unfollowed: ({ uri }) => told.push(['unfollowed', uri]),
      updated: ({ uri }) => told.push(['updated', uri]),
      listChanged: (what, server, tools) => told.push([what, server, tools]),
    }
    made.hub.relay = relay
    made.listen('all', { uris: { 'pub:a': address } })
    return { ...made, told: () => told.splice(0) }
  }

  it('they follow what the first client here follows, until the last one leaves', async () => {
    const { hub, told } = replicated()
    const stops = [await hub.follow(address), await hub.follow(address)]
    const other = await hub.followForOthers(address)
    expect(told()).toEqual([['followed', 'file:///a']])
    await stops[0]?.()
    expect(told()).toEqual([])
    await stops[1]?.()
    expect(told()).toEqual([['unfollowed', 'file:///a']])
    await other()
    expect(told()).toEqual([])
  })

  it('they hear of a changed list, but not of what they told themselves', () => {
    const { hub, told, settled, emit } = replicated()
    hub.listChanged('tools', 'one', ['a'])
    hub.listChanged('prompts')
    emit('configuration-fault')
    expect(settled()).toHaveLength(2)
    expect(told()).toEqual([
      ['tools', 'one', ['a']],
      ['prompts', undefined, undefined],
    ])
    hub.changedElsewhere('tools', 'one', ['a'])
    expect([settled().length, told()]).toEqual([1, []])
    // It changed here as well, before or after: then they hear of it.
    hub.listChanged('tools', 'one', ['a'])
    hub.changedElsewhere('tools', 'one', ['b'])
    settled()
    expect(told()).toEqual([['tools', 'one', ['a', 'b']]])
    hub.changedElsewhere('tools', 'one', ['b'])
    hub.listChanged('tools', 'one', ['a'])
    settled()
    expect(told()).toEqual([['tools', 'one', ['b', 'a']]])
    hub.changedElsewhere('tools', 'one', undefined)
    hub.changedElsewhere('prompts', 'two', undefined)
    settled()
    hub.listChanged('tools', 'one')
    settled()
    expect(told()).toEqual([['tools', 'one', undefined]])
  })

  it('a resource that several of them tell of is told at once, and once more for all that follows', async () => {
    const { hub, told, emit, sent } = replicated()
    emit('resource-updated', address)
    expect([told(), sent.splice(0)]).toEqual([[], []])
    await hub.follow(address)
    told()
    emit('resource-updated', address)
    expect([told().length, sent.splice(0).length]).toEqual([1, 1])
    hub.updatedElsewhere(address)
    hub.updatedElsewhere(address)
    expect(sent).toEqual([])
    vi.advanceTimersByTime(50)
    expect(sent.splice(0)).toHaveLength(1)
    vi.advanceTimersByTime(500)
    expect(sent).toEqual([])
    hub.updatedElsewhere(address)
    expect(sent).toHaveLength(1)
  })
})

describe('the level of log messages', () => {
  const level = (name: string) => ['one', 'logging/setLevel', { level: name }]
  const client = () => ({}) as Client

  it('is the lowest that a client wants, told to legacy servers that log', () => {
    const { hub, calls, emit, states } = setup({
      one: connected('legacy'),
      modern: connected('modern'),
      silent: connected('legacy', {}),
      down: { kind: 'failed' },
    })
    const [quiet, chatty] = [client(), client()]
    emit('state', { server: 'one', state: states['one'] })
    expect(calls).toEqual([])
    hub.wantLevel(quiet, 'error')
    hub.wantLevel(quiet, 'error')
    hub.wantLevel(chatty, 'debug')
    hub.forgetLevel(client())
    hub.forgetLevel(chatty)
    hub.forgetLevel(chatty)
    hub.forgetLevel(quiet)
    expect(calls.splice(0)).toEqual([level('error'), level('debug'), level('error'), level('info')])
    emit('state', { server: 'one', state: states['one'] })
    emit('state', { server: 'down', state: states['down'] })
    emit('state', { server: 'one', state: { kind: 'failed' } })
    expect(calls).toEqual([level('info')])
  })
})

describe('a log message', () => {
  const line = { level: 'warning', data: 'x' }
  function logging(logLevel: string | undefined, era: 'legacy' | 'modern' = 'legacy', withRequest = false) {
    const made = setup()
    const heard: unknown[] = []
    const notify = (by: string) => (method: string, params: object) => void heard.push([by, method, params])
    made.about.current = {
      client: { logLevel, era, notify: notify('client') },
      ...(withRequest && { request: { notify: notify('request') } }),
    }
    const log = (params: unknown = line, server = 'one') =>
      made.emit('notification', { server, method: 'notifications/message', params })
    return { ...made, log, heard: () => heard.splice(0) }
  }

  it.each([
    ['warning', 'legacy', false, 'client'],
    ['debug', 'legacy', false, 'client'],
    ['error', 'legacy', false, undefined],
    [undefined, 'legacy', false, undefined],
    ['warning', 'modern', false, undefined],
    ['warning', 'modern', true, 'request'],
    ['warning', 'legacy', true, 'request'],
  ] as const)(
    'for a client that wants %s, %s, with a request %s, goes to: %s',
    (wanted, era, withRequest, by) => {
      const { log, heard } = logging(wanted, era, withRequest)
      log()
      const told = [by, 'notifications/message', { ...line, logger: 'one' }]
      expect(heard()).toEqual(by === undefined ? [] : [told])
    },
  )

  it('names its server and its logger; what is no message is left out', () => {
    const { log, heard, about, emit, hub, keys } = logging('debug')
    log({ ...line, logger: 'db' })
    log({ ...line, logger: 5 })
    expect(heard().map((one) => (one as [string, string, { logger: string }])[2].logger)).toEqual([
      'one/db',
      'one',
    ])
    log('x')
    log({ level: 'no such', data: 'x' })
    emit('notification', { server: 'one', method: 'notifications/other', params: line })
    about.current = {}
    log()
    expect(heard()).toEqual([])
    hub.heardFrom('one of ada', 'one', 'notifications/message', line)
    expect(keys).toEqual(['one', 'one', 'one', 'one', 'one of ada'])
  })

  it('is left out after too many in a second, which is told with the next; a new server begins anew', () => {
    const { log, heard, emit } = logging('debug')
    for (let n = 0; n < 502; n++) log()
    expect(heard()).toHaveLength(500)
    log(line, 'two')
    expect(heard()).toHaveLength(1)
    vi.advanceTimersByTime(1000)
    log()
    const texts = heard().map((one) => (one as [string, string, { data: string }])[2].data)
    expect(texts).toEqual([
      expect.stringMatching(/^2 log messages of "one" were left out.* 500 in a second/),
      'x',
    ])
    for (let n = 0; n < 501; n++) log()
    heard()
    emit('configuration-changed', { added: [], removed: ['one'] })
    log()
    expect(heard()).toHaveLength(1)
  })

  it('is no end of a question: that goes to the client that was asked', () => {
    const { emit, about, heard } = logging('debug')
    const method = 'notifications/elicitation/complete'
    emit('notification', { server: 'one', method, params: { elicitationId: 'e' } })
    expect(heard()).toEqual([])
    const told: unknown[] = []
    about.client = { notify: (...args: unknown[]) => told.push(args) }
    emit('notification', { server: 'one', method, params: { elicitationId: 'e' } })
    expect(told).toEqual([[method, { elicitationId: 'e' }]])
  })
})

it('changed roots are told to the legacy servers that are connected', () => {
  const calls: string[] = []
  const states: Record<string, object> = {
    old: connected('legacy'),
    modern: connected('modern'),
    down: { kind: 'failed' },
  }
  const connection = (name: string) => ({
    state: states[name],
    notify: async (method: string) => {
      calls.push(`${name} ${method}`)
      throw new Error('it goes down')
    },
  })
  const board = { servers: () => Object.keys(states).map((name) => ({ name })), link: { connection } }
  tellRootsChanged(board as unknown as LocalBoard)
  expect(calls).toEqual(['old notifications/roots/list_changed'])
})
