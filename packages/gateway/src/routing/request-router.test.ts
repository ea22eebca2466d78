// Whom a server's request goes to, case by case: the router with plain objects in place of servers and clients. With real ones the same is in server-requests.test.ts and client-turns.test.ts.
import {
  type ConfiguredServer,
  JsonRpcError,
  type PermissionQuestion,
  type RequestHandlers,
  type ServerRequestContext,
} from '@plugboard/core'
import { GATEWAY_LIMITS } from '@plugboard/core/limits'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { CallEnded, type ClientRequest } from '../client-request.ts'
import { type Answer, flush, type Given, requestOf } from '../fixtures/requests.ts'
import { type Era, type Json, META } from '../json-rpc.ts'
import { type AskPolicy, ServerRequestRouter } from './server-requests.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

const entryOf = (type: 'stdio' | 'http') =>
  (type === 'stdio'
    ? { type, command: 'x' }
    : { type, url: 'http://127.0.0.1/mcp' }) as ConfiguredServer['entry']
function handlersFor(router: ServerRequestRouter, server: ConfiguredServer): RequestHandlers {
  const { requestHandlers } = router.wiring()
  return typeof requestHandlers === 'function' ? requestHandlers(server) : {}
}
const idle = () => new Promise<never>(() => undefined)
function setup(era: Era = 'legacy', type: 'stdio' | 'http' = 'stdio', policy: AskPolicy = 'client') {
  const router = new ServerRequestRouter(policy, () => ({ roots: ['own'] }))
  router.bind((server) => (server === 'unknown' ? undefined : era))
  const handlersOf = (name: string) => handlersFor(router, { name, entry: entryOf(type) } as ConfiguredServer)
  const handlers = handlersOf('one')
  const context = (more: Partial<ServerRequestContext> = {}): ServerRequestContext => ({
    server: 'one',
    signal: new AbortController().signal,
    inCall: false,
    ...more,
  })
  const ask = async (
    params: Json = {},
    more: Partial<ServerRequestContext> = {},
    kind: 'elicitForm' | 'sampling' | 'roots' = 'elicitForm',
  ) => (await handlers[kind]?.(params, context(more))) as Json
  const refusal = async (asking: Promise<Json>) => {
    try {
      return expect.unreachable(`it was answered: ${JSON.stringify(await asking)}`)
    } catch (error) {
      if (!(error instanceof JsonRpcError)) throw error
      return error
    }
  }
  /** A call that runs until its `end` is called; `inside` asks from within it. */
  const run = (request: ClientRequest, server = 'one', what?: string) => {
    let end: (value?: unknown) => void = () => undefined
    let inside: ((work: () => Promise<unknown>) => Promise<unknown>) | undefined
    let onTask: ((task: { taskId: string }) => void) | undefined
    let begun = false
    const done = router.during(
      server,
      request,
      (told) => {
        begun = true
        onTask = told as never
        return new Promise((resolve, reject) => {
          end = (value) => (value instanceof Error ? reject(value) : resolve(value))
          const requests: (() => void)[] = []
          inside = (work) =>
            new Promise((ok, fail) => {
              requests.push(() => void work().then(ok, fail))
              wake()
            })
          let wake: () => void = () => undefined
          // What is asked runs in the async context of the call.
          void (async () => {
            for (;;) {
              requests.shift()?.()
              await new Promise<void>((next) => {
                wake = next
              })
            }
          })()
        })
      },
      what,
    )
    done.catch(() => undefined)
    return {
      done,
      end: (value?: unknown) => end(value),
      inside: (work: () => Promise<unknown>) => inside?.(work),
      task: (taskId: string) => onTask?.({ taskId }),
      begun: () => begun,
    }
  }
  return { router, ask, refusal, run, handlers, handlersOf, context }
}

describe('what a board is opened with', () => {
  it.each([
    ['client', false, false],
    ['deny', true, false],
    ['elicit', true, true],
  ] as const)('for the policy %s', (policy, askForClients, asks) => {
    const router = new ServerRequestRouter(policy, () => ({}))
    const wiring = router.wiring()
    expect([wiring.caller, wiring.askForClients, wiring.ask !== undefined]).toEqual([
      'client',
      askForClients,
      asks,
    ])
    const handlers = handlersFor(router, { name: 'one', entry: entryOf('stdio') } as ConfiguredServer)
    expect(handlers).toMatchObject({ samplingTools: true, together: true })
    expect(Object.keys(handlers?.extensions ?? {})).toEqual(['io.modelcontextprotocol/ui'])
  })
})

describe('a question of a legacy server', () => {
  it('is refused without a caller, goes to the only caller, and to none of several', async () => {
    const { ask, refusal, run } = setup()
    expect((await refusal(ask())).message).toContain('No client is calling')
    const ada = run(requestOf('ada'))
    expect(await ask()).toMatchObject({ by: 'ada' })
    const again = run(requestOf('ada too', { id: 'ada' }))
    expect(await ask()).toMatchObject({ by: 'ada too' })
    const alan = run(requestOf('alan'), 'one')
    const waits = refusal(ask())
    await vi.advanceTimersByTimeAsync(30_000)
    expect((await waits).message).toContain('which of 2 clients')
    const cleared = ask()
    await flush()
    alan.end()
    await alan.done
    expect(await cleared).toMatchObject({ by: 'ada too' })
    const other = run(requestOf('eve'), 'two')
    expect(await ask()).toMatchObject({ by: 'ada too' })
    for (const call of [ada, again, other]) call.end()
  })

  it('is not for a client that is away, or that has been asked already, while another works', async () => {
    const { ask, run } = setup()
    let isAway = true
    run(requestOf('ada', { away: () => isAway }))
    run(requestOf('alan'))
    expect(await ask()).toMatchObject({ by: 'alan' })
    isAway = false
    const { ask: askTwo, run: runTwo } = setup()
    runTwo(requestOf('ada', { answer: idle }))
    void askTwo()
    await flush()
    runTwo(requestOf('alan'))
    expect(await askTwo()).toMatchObject({ by: 'alan' })
  })

  it('goes to a client that was asked already when it alone calls, and to it again after its answer', async () => {
    const { ask, run } = setup()
    run(requestOf('ada'))
    expect(await Promise.all([ask(), ask()])).toMatchObject([{ by: 'ada' }, { by: 'ada' }])
    const alan = run(requestOf('alan'))
    const held = ask()
    let over = false
    void held.then(() => {
      over = true
    })
    await flush()
    expect(over).toBe(false)
    alan.end()
    expect(await held).toMatchObject({ by: 'ada' })
  })

  it('goes to the only client of a pipe, also outside of calls', async () => {
    const { router, ask, refusal } = setup()
    const only = requestOf('pipe')
    expect(router.isOnly(only.client)).toBe(false)
    expect([router.clientOf('one'), router.aboutCall('one')]).toEqual([undefined, {}])
    router.setOnly(only.client, only.ask)
    expect([router.isOnly(only.client), router.isOnly(requestOf('x').client)]).toEqual([true, false])
    expect(router.clientOf('one')).toBe(only.client)
    expect(router.aboutCall('one')).toEqual({ client: only.client })
    expect(await ask()).toMatchObject({ by: 'pipe' })
    expect(await ask({ _meta: { [META.relatedTask]: { taskId: 't' } } })).toMatchObject({ by: 'pipe' })
    const limited = requestOf('limited', { capabilities: {} })
    router.setOnly(limited.client, limited.ask)
    expect((await refusal(ask())).code).toBe(-32021)
  })

  it.each([
    ['elicitForm', {}, { elicitForm: true }, undefined],
    ['elicitForm', {}, { elicitUrl: true }, 'elicitation.form'],
    ['elicitForm', { mode: 'url' }, { elicitUrl: true }, undefined],
    ['elicitForm', { mode: 'url' }, { elicitForm: true }, 'elicitation.url'],
    ['sampling', {}, { sampling: true }, undefined],
    ['sampling', {}, { elicitForm: true }, 'sampling'],
    ['sampling', { tools: [] }, { sampling: true }, 'sampling.tools'],
    ['sampling', { tools: [] }, { sampling: true, samplingTools: true }, undefined],
  ] as const)('%s %j for a client that can %j: lacks %s', async (kind, params, capabilities, lacks) => {
    const { ask, refusal, run } = setup()
    run(requestOf('ada', { capabilities }))
    if (lacks === undefined) return expect(await ask(params, {}, kind)).toMatchObject({ by: 'ada' })
    const error = await refusal(ask(params, {}, kind))
    expect(error.message).toBe(`The client cannot be asked: it does not declare ${lacks}.`)
    const [name = '', part] = lacks.split('.')
    expect(error.data).toEqual({ requiredCapabilities: { [name]: part ? { [part]: {} } : {} } })
  })

  it('for roots gets those of the client that has some, else those of the board', async () => {
    const { ask, run } = setup()
    expect(await ask({}, {}, 'roots')).toEqual({ roots: ['own'] })
    const bare = run(requestOf('bare', { capabilities: {} }))
    expect(await ask({}, {}, 'roots')).toEqual({ roots: ['own'] })
    bare.end()
    await bare.done
    run(requestOf('ada'))
    expect(await ask({}, {}, 'roots')).toEqual({ by: 'ada', method: 'roots/list' })
    const modern = setup('modern')
    expect(await modern.ask({}, {}, 'roots')).toEqual({ roots: ['own'] })
    modern.run(requestOf('bare', { capabilities: {} }))
    expect((await modern.refusal(modern.ask({}, {}, 'roots'))).data).toEqual({
      requiredCapabilities: { roots: {} },
    })
  })

  it('is put again with the next call when the one that carried it ends, and not without end', async () => {
    const { ask, run, refusal } = setup()
    let tries = 0
    run(
      requestOf('ada', {
        answer: async () => {
          if (++tries < 3) throw new CallEnded()
          return { tries }
        },
      }),
    )
    expect(await ask()).toEqual({ tries: 3 })
    const other = setup()
    let ended = 0
    other.run(
      requestOf('ada', {
        answer: async () => {
          ended++
          throw new CallEnded()
        },
      }),
    )
    expect((await refusal(other.ask())).message).toContain('is over')
    expect(ended).toBe(GATEWAY_LIMITS.openPerClient)
    const broken = setup()
    let asked = 0
    broken.run(
      requestOf('ada', {
        answer: async () => {
          asked++
          throw new JsonRpcError(5, 'no')
        },
      }),
    )
    expect((await refusal(broken.ask())).code).toBe(5)
    expect(asked).toBe(1)
  })
})

describe('a question of a task', () => {
  const of = (taskId: unknown, more: Json = {}) => ({ _meta: { [META.relatedTask]: { taskId }, ...more } })

  it('goes to the call that became the task, else to one whose task is not known yet', async () => {
    const { ask, run } = setup('modern')
    let told = 0
    const ada = run(requestOf('ada', { onTask: () => told++ }))
    const alan = run(requestOf('alan'))
    ada.task('t1')
    expect(told).toBe(1)
    expect(await ask(of('t1'))).toMatchObject({ by: 'ada' })
    expect(await ask(of('t2'))).toMatchObject({ by: 'alan' })
    alan.task('t2')
    expect(await ask(of('t2'))).toMatchObject({ by: 'alan' })
    await expect(ask(of('t3'))).rejects.toThrow('which of 2 clients')
    run(requestOf('alan', { id: 'alan' }))
    run(requestOf('grace'))
    await expect(ask(of('t3'))).rejects.toThrow('which of 3 clients')
  })

  it('is passed on without the task, and is one only with an id', async () => {
    const seen: Json[] = []
    const { ask, run } = setup()
    run(
      requestOf('ada', {
        answer: async (_, params) => {
          seen.push(params)
          return {}
        },
      }),
    )
    await ask({ message: 'x', ...of('t', { more: 1 }) })
    await ask({ message: 'x' })
    await ask({ message: 'x', ...of(5) })
    expect(seen).toEqual([
      { message: 'x', _meta: { more: 1 } },
      { message: 'x' },
      { message: 'x', _meta: {} },
    ])
  })
})

describe('a question that comes with a call', () => {
  it('goes to that call, over HTTP also from a legacy server, and carries its origin from a modern one', async () => {
    const origins: unknown[] = []
    const answer: (name: string) => Answer = (by) => async (_, __, origin) => {
      origins.push(origin)
      return { by }
    }
    for (const [era, type] of [
      ['modern', 'stdio'],
      ['legacy', 'http'],
    ] as const) {
      const { ask, run } = setup(era, type)
      const ada = run(requestOf('ada', { answer: answer('ada') }))
      run(requestOf('alan', { answer: answer('alan') }))
      const more = { inCall: true, key: 'k', requestState: 's' }
      expect(await ada.inside(() => ask({}, more))).toEqual({ by: 'ada' })
    }
    expect(origins).toEqual([{ server: 'one', key: 'k', requestState: 's' }, undefined])
    const { ask, run } = setup('modern')
    run(requestOf('ada', { answer: answer('ada') }))
    await ask()
    expect(origins[2]).toBeUndefined()
  })

  it('of another server is not taken for one of that call', async () => {
    const { run, handlersOf, context, refusal } = setup('modern')
    const two = handlersOf('two')
    const ada = run(requestOf('ada'))
    const asked = ada.inside(async () => await two.elicitForm?.({}, context({ server: 'two', inCall: true })))
    expect((await refusal(asked as Promise<Json>)).message).toContain('No client is calling')
  })

  it('of a modern server leaves the call aside until it is answered', async () => {
    const { router, ask, run } = setup('modern')
    let answer: (value: Json) => void = () => undefined
    const ada = run(requestOf('ada', { answer: () => new Promise((done) => (answer = done)) }))
    const asked = ada.inside(() => ask({}, { inCall: true }))
    await flush()
    expect(router.aboutCall('one')).toEqual({})
    answer({ ok: true })
    await asked
    expect(router.aboutCall('one').client?.name).toBe('ada')
    const late = ada.inside(() => ask({}, { inCall: true }))
    await flush()
    ada.end()
    await ada.done
    answer({ ok: true })
    await late
    expect(router.aboutCall('one')).toEqual({})
  })

  it('of a legacy server without a stream keeps its call among those that run', async () => {
    const { router, ask, run } = setup('legacy')
    run(requestOf('ada', { answer: idle }))
    void ask()
    await flush()
    expect(router.aboutCall('one').client?.name).toBe('ada')
    run(requestOf('alan'), 'one')
    expect(router.clientOf('one')?.name).toBe('alan')
  })
})

describe('the client that a notification is about', () => {
  it('is the caller when there is one, and its last call', () => {
    const { router, run } = setup()
    const [first, second] = [requestOf('ada'), requestOf('ada')]
    run(first)
    run(second)
    expect(router.aboutCall('one')).toEqual({ client: second.client, request: second })
    expect(router.clientOf('one')?.id).toBe('ada')
    run(requestOf('alan'))
    expect([router.aboutCall('one'), router.clientOf('one')]).toEqual([{}, undefined])
  })

  it('is none after the call has ended, also with an error', async () => {
    const { router, run } = setup()
    const [ok, bad] = [run(requestOf('ada')), run(requestOf('alan'))]
    ok.end('result')
    expect(await ok.done).toBe('result')
    bad.end(new Error('it broke'))
    await expect(bad.done).rejects.toThrow('it broke')
    expect(router.aboutCall('one')).toEqual({})
  })

  it('that runs now can be asked where it has forms', async () => {
    const { router, run } = setup('modern')
    expect(router.currentClient()).toBeUndefined()
    const look = async (given: Given) => {
      const call = run(requestOf('ada', given))
      return await call.inside(async () => router.currentClient())
    }
    expect(await look({})).toEqual({ name: 'ada', canBeAsked: true })
    expect(await look({ capabilities: {} })).toEqual({ name: 'ada', canBeAsked: false })
    const legacy = setup('legacy')
    const call = legacy.run(requestOf('ada'))
    expect(await call.inside(async () => legacy.router.currentClient())).toBeUndefined()
  })
})

describe('a permission question', () => {
  const question = (args: unknown = {}, signal?: AbortSignal) =>
    ({
      request: { server: 'one', tool: 'write', traits: {} },
      reason: { text: 'a rule asks' },
      arguments: args,
      answers: ['once', 'no'],
      ...(signal && { signal }),
    }) as unknown as PermissionQuestion
  const asked = async (given: Given, args?: unknown) => {
    const { router, run } = setup('legacy', 'stdio', 'elicit')
    const call = run(requestOf('ada', given))
    return (await call.inside(async () => await router.wiring().ask?.(question(args)))) as string
  }

  it.each([
    [{ action: 'accept', content: { answer: 'once' } }, 'once'],
    [{ action: 'accept', content: { answer: 'no' } }, 'no'],
    [{ action: 'accept' }, 'no'],
    [{ action: 'decline', content: { answer: 'once' } }, 'no'],
  ])('that is answered with %j is a %s', async (answer, wanted) => {
    expect(await asked({ answer: async () => answer })).toBe(wanted)
  })

  it('is a no for a client without forms, and outside of a call', async () => {
    expect(await asked({ capabilities: {} })).toBe('no')
    const { router } = setup('legacy', 'stdio', 'elicit')
    expect(await router.wiring().ask?.(question())).toBe('no')
  })

  it('that is too long to read is refused', async () => {
    const answer: Answer = async (_, { message }) => ({
      action: 'accept',
      content: { answer: String(message).length > 100 ? 'once' : 'no' },
    })
    expect(await asked({ answer }, { text: 'x'.repeat(15_000) })).toBe('once')
    await expect(asked({ answer }, { text: 'x'.repeat(17_000) })).rejects.toThrow(
      'too long to be shown in full',
    )
  })

  it('keeps its call from being worked on until it is answered', async () => {
    const { router, run } = setup('legacy', 'stdio', 'elicit')
    let answer: (value: Json) => void = () => undefined
    const ada = run(requestOf('ada', { answer: () => new Promise((done) => (answer = done)) }))
    run(requestOf('alan'))
    const open = ada.inside(async () => await router.wiring().ask?.(question()))
    await flush()
    expect(router.clientOf('one')?.name).toBe('alan')
    answer({ action: 'accept', content: { answer: 'once' } })
    await open
    expect(router.clientOf('one')).toBeUndefined()
  })
})

describe('turns between clients', () => {
  it('only legacy servers on one pipe take them, and only for tools', async () => {
    for (const [era, type, what, waits] of [
      ['legacy', 'stdio', 'tool', true],
      ['legacy', 'http', 'tool', false],
      ['modern', 'stdio', 'tool', false],
      ['legacy', 'stdio', undefined, false],
    ] as const) {
      const { run } = setup(era, type)
      run(requestOf('ada'), 'one', 'a')
      await flush()
      const alan = run(requestOf('alan'), 'one', what)
      await flush()
      expect([era, type, what, !alan.begun()]).toEqual([era, type, what, waits])
    }
    const { router, run } = setup()
    const only = requestOf('pipe')
    router.setOnly(only.client, only.ask)
    run(requestOf('ada'), 'one', 'a')
    const alan = run(requestOf('alan'), 'one', 'a')
    await flush()
    expect(alan.begun()).toBe(true)
  })

  it('a refusal of the server is an answer, another error is none', async () => {
    for (const [error, isQuiet] of [
      [new JsonRpcError(-1, 'no'), true],
      [new Error('lost'), false],
    ] as const) {
      const { run } = setup()
      const first = run(requestOf('ada'), 'one', 'x')
      await flush()
      first.end(error)
      await first.done.catch(() => undefined)
      run(requestOf('ada'), 'one', 'other')
      await flush()
      const alan = run(requestOf('alan'), 'one', 'x')
      await flush()
      expect(alan.begun()).toBe(isQuiet)
    }
  })
})
