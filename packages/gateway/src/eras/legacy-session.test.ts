// One legacy session on a gateway of plain objects: its requests to the client, what it follows, and what ends with it.
import { JsonRpcError } from '@plugboard/core'
import { GATEWAY_LIMITS } from '@plugboard/core/limits'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { EVERYTHING } from '../access/exposure.ts'
import { flush } from '../fixtures/requests.ts'
import type { Gateway } from '../gateway.ts'
import type { Json } from '../json-rpc.ts'
import { LegacySession, readHandshake, type SessionSharing } from './legacy.ts'

afterEach(() => void vi.useRealTimers())
const HELLO = {
  protocolVersion: '2025-11-25',
  capabilities: { roots: {} },
  clientInfo: { name: 'c', version: '1' },
}

function made(shared?: Partial<SessionSharing>) {
  const log: unknown[] = []
  const sent: { message: Json; about: unknown }[] = []
  let listed: Promise<void> = Promise.resolve()
  const gateway = {
    listed: () => listed,
    instructions: () => 'Hello.',
    isNarrow: () => false,
    mustBeShared: () => undefined,
    rootsChanged: () => log.push('roots'),
    findResource: async (uri: string) => (uri.startsWith('no') ? undefined : { server: 'one', uri }),
    instances: { left: () => log.push('left') },
    notifications: {
      add: () => {
        log.push('listens')
        return () => log.push('listens no more')
      },
      wantLevel: (_: unknown, level: string) => log.push(`wants ${level}`),
      forgetLevel: () => log.push('forgets'),
      follow: async ({ uri }: { uri: string }) => {
        log.push(`follows ${uri}`)
        return async () => void log.push(`leaves ${uri}`)
      },
    },
  }
  const whole = shared && {
    replica: 'r1',
    read: async () => undefined,
    setLevel: async (level: string) => void log.push(`shares ${level}`),
    follow: async (uri: string) => void log.push(`shares ${uri}`),
    unfollow: async (uri: string) => void log.push(`unshares ${uri}`),
    cancel: (id: unknown) => log.push(`cancels ${String(id)}`),
    ...shared,
  }
  const outlet = {
    send: (message: object, about?: unknown) => void sent.push({ message: message as Json, about }),
  }
  const session = new LegacySession(gateway as unknown as Gateway, outlet, EVERYTHING, whole)
  let id = 0
  const request = async (method: string, params: Json = {}) =>
    (await session.request({ jsonrpc: '2.0', id: ++id, method, params })) as Json | undefined
  const notified = (method: string, params: Json = {}) => session.notified({ jsonrpc: '2.0', method, params })
  const hold = () => {
    let release: () => void = () => undefined
    listed = new Promise((done) => {
      release = done
    })
    return () => release()
  }
  return { session, log, sent, request, notified, hold }
}

describe('the requests of a session', () => {
  it('begin with initialize, once', async () => {
    const { request, session, log } = made()
    expect(await request('tools/list')).toMatchObject({
      error: { message: expect.stringContaining('Not initialized') },
    })
    expect(await request('ping')).toMatchObject({ result: {} })
    session.notify('x', {})
    expect(await request('initialize', HELLO)).toMatchObject({
      result: { protocolVersion: '2025-11-25', instructions: 'Hello.' },
    })
    expect([session.name, session.asksForTasks, log]).toEqual(['c', true, ['listens']])
    expect(await request('initialize', HELLO)).toMatchObject({ error: { code: -32600 } })
  })

  it('have ids of their own, and are limited', async () => {
    const { session, hold } = made()
    const release = hold()
    const send = (id: number) => session.request({ jsonrpc: '2.0', id, method: 'initialize', params: HELLO })
    const first = send(1)
    expect(session.busy).toBe(true)
    expect(await send(1)).toMatchObject({ error: { message: 'A request with this id is still open.' } })
    release()
    await first
    expect(session.busy).toBe(false)
    const many = made()
    many.session.restore(readHandshake(HELLO))
    const all = Array.from({ length: GATEWAY_LIMITS.openPerClient + 1 }, (_, id) =>
      many.session.request({ jsonrpc: '2.0', id, method: 'resources/subscribe', params: { uri: 'a:1' } }),
    )
    const replies = await Promise.all(all)
    expect(replies.filter((reply) => reply?.error?.message === 'Too many requests are open.')).toHaveLength(1)
  })

  it('are cancelled by the client, by its connection, and by the end of the session', async () => {
    const { session, notified, hold, log } = made({})
    const connection = { gone: false, onGone: undefined as (() => void) | undefined }
    const release = hold()
    const asked = [1, 2, 3].map((id) =>
      session.request(
        { jsonrpc: '2.0', id, method: 'initialize', params: HELLO },
        id === 2 ? connection : undefined,
      ),
    )
    notified('notifications/cancelled', { requestId: 9 })
    expect(log).toEqual(['cancels 9'])
    notified('notifications/cancelled', { requestId: 1 })
    expect([log.length, session.cancel(1), session.cancel(9)]).toEqual([1, true, false])
    connection.onGone?.()
    await session.close()
    release()
    expect(await Promise.all(asked)).toEqual([undefined, undefined, undefined])
    const gone = made()
    expect(
      await gone.session.request(
        { jsonrpc: '2.0', id: 1, method: 'ping', params: {} },
        { gone: true, onGone: undefined },
      ),
    ).toBeUndefined()
  })

  it('tell of roots where the client has some', async () => {
    for (const [capabilities, times] of [
      [{ roots: {} }, 2],
      [{}, 0],
    ] as const) {
      const { request, notified, log } = made()
      await request('initialize', { ...HELLO, capabilities })
      for (const what of ['initialized', 'roots/list_changed', 'other']) notified(`notifications/${what}`)
      expect(log.filter((one) => one === 'roots')).toHaveLength(times)
    }
  })
})

describe('a question to the client', () => {
  async function asking(shared?: Partial<SessionSharing>) {
    const all = made(shared)
    await all.request('initialize', HELLO)
    const left = new AbortController()
    const ask = (params: Json = {}, signal = left.signal) => {
      const answer = all.session.ask('elicitation/create', params, signal, 'call')
      answer.catch(() => undefined)
      return { answer, question: all.sent.at(-1) }
    }
    return { ...all, ask, left }
  }

  it('gets the answer with its id, or the error', async () => {
    const { ask, session } = await asking()
    const [one, two] = [ask({ message: 'a' }), ask()]
    expect(one.question).toEqual({
      about: 'call',
      message: { jsonrpc: '2.0', id: 'plugboard-1', method: 'elicitation/create', params: { message: 'a' } },
    })
    session.replied({ jsonrpc: '2.0', id: null, error: { code: 1, message: 'x' } } as never)
    session.replied({ jsonrpc: '2.0', id: 'plugboard-2', result: { b: 2 } })
    session.replied({ jsonrpc: '2.0', id: 'plugboard-1', error: { code: 7, message: 'no', data: 5 } })
    expect(await two.answer).toEqual({ b: 2 })
    await expect(one.answer).rejects.toMatchObject({ code: 7, message: 'no', data: 5 })
    const three = ask()
    session.replied({ jsonrpc: '2.0', id: 'plugboard-3' } as never)
    await expect(three.answer).rejects.toMatchObject({ code: -32603, message: 'No answer' })
    expect((await asking({})).ask().question?.message.id).toBe('plugboard-r1-1')
  })

  it('for an address has an id, its own or a new one', async () => {
    const { ask } = await asking()
    const idOf = (params: Json) => (ask(params).question?.message.params as Json | undefined)?.elicitationId
    expect([idOf({ mode: 'url', elicitationId: 'own' }), idOf({ mode: 'form' })]).toEqual(['own', undefined])
    expect(idOf({ mode: 'url' })).toMatch(/^[\w-]{36}$/)
  })

  it('is withdrawn, is not answered in time, or ends with the session', async () => {
    vi.useFakeTimers()
    const { ask, left, sent, session } = await asking()
    const own = new AbortController()
    const withdrawn = ask({}, own.signal)
    own.abort()
    await expect(withdrawn.answer).rejects.toThrow('withdrawn')
    expect(sent.at(-1)).toEqual({
      about: 'call',
      message: { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 'plugboard-1' } },
    })
    const count = sent.length
    await expect(ask({}, own.signal).answer).rejects.toThrow('withdrawn')
    expect([sent.length, vi.getTimerCount()]).toEqual([count, 0])
    const late = ask()
    vi.advanceTimersByTime(GATEWAY_LIMITS.clientQuestionMs)
    await expect(late.answer).rejects.toThrow('did not answer in time')
    const last = ask()
    await session.close()
    await expect(last.answer).rejects.toBeInstanceOf(JsonRpcError)
    const after = sent.length
    left.abort()
    expect([sent.length, vi.getTimerCount()]).toEqual([after, 0])
  })
})

describe('what a session follows', () => {
  it('is found, followed once, and let go; others hear of it', async () => {
    const { request, log, session } = made({})
    await request('initialize', HELLO)
    log.splice(0)
    for (const uri of ['a:1', 'a:1', 'plugboard://status'])
      expect(await request('resources/subscribe', { uri })).toMatchObject({ result: {} })
    expect(await request('resources/subscribe', { uri: 'none' })).toMatchObject({ error: { code: -32002 } })
    expect(log.splice(0)).toEqual([
      'follows a:1',
      'shares a:1',
      'follows a:1',
      'leaves a:1',
      'shares a:1',
      'shares plugboard://status',
    ])
    for (const uri of ['a:1', 'a:2']) await request('resources/unsubscribe', { uri })
    expect(log.splice(0)).toEqual(['leaves a:1', 'unshares a:1', 'unshares a:2'])
    await request('resources/subscribe', { uri: 'a:3' })
    log.splice(0)
    await session.close()
    expect(log).toEqual(['listens no more', 'forgets', 'left', 'leaves a:3'])
    await session.close()
    expect(log.filter((one) => one === 'leaves a:3')).toHaveLength(1)
  })

  it('has a log level, which rests while the client is away', async () => {
    const { request, log, session } = made({})
    await request('initialize', HELLO)
    log.splice(0)
    session.absent()
    session.returned()
    expect(log.splice(0)).toEqual(['forgets'])
    expect(await request('logging/setLevel', { level: 'debug' })).toMatchObject({ result: {} })
    session.returned()
    session.absent()
    session.returned()
    session.returned()
    expect(log.splice(0)).toEqual(['wants debug', 'shares debug', 'forgets', 'wants debug'])
    session.absent()
    await session.close()
    log.splice(0)
    session.returned()
    expect(log).toEqual([])
  })

  it('goes on elsewhere: what other replicas know is taken over', async () => {
    const state = { level: 'error', uris: ['a:1', 'a:2', 'none'] }
    const { session, log, sent, request } = made({ read: async () => state })
    session.restore(readHandshake(HELLO))
    expect([sent, log]).toEqual([[], ['listens']])
    await request('resources/subscribe', { uri: 'a:1' })
    await request('resources/subscribe', { uri: 'b:1' })
    log.splice(0)
    await session.takeOver()
    expect(log.sort()).toEqual(['follows a:2', 'leaves b:1', 'wants error'])
    expect(session.logLevel).toBe('error')
    log.splice(0)
    await session.takeOver()
    expect(log).toEqual([])
    session.mayHaveChanged()
    expect(sent.map(({ message }) => message.method)).toEqual([
      'notifications/tools/list_changed',
      'notifications/resources/list_changed',
      'notifications/prompts/list_changed',
      'notifications/resources/updated',
      'notifications/resources/updated',
    ])
    const odd = made({ read: async () => ({ level: 'loud', uris: [] }) })
    odd.session.restore(readHandshake(HELLO))
    await odd.session.takeOver()
    expect([odd.session.logLevel, odd.log]).toEqual(['info', ['listens']])
    const alone = made()
    alone.session.restore(readHandshake(HELLO))
    await alone.session.takeOver()
    await flush()
    expect(alone.sent).toHaveLength(3)
    const closed = made({ read: async () => state })
    closed.session.restore(readHandshake(HELLO))
    await closed.session.close()
    closed.log.splice(0)
    await closed.session.takeOver()
    expect(closed.log).toEqual([])
  })
})
