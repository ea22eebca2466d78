// The loop against a scripted model that speaks every wire format, and a real server in this process.
import { systemHost } from '@plugboard/core/host'
import { afterEach, describe, expect, it } from 'vitest'
import { retimed } from '../../core/src/fixtures/timers.ts'
import type { AgentEvent } from './events.ts'
import {
  type ModelServer,
  modelServer,
  type Reply,
  type ScriptedRequest,
  type WireApi,
} from './fixtures/model-server.mjs'
import { type RunOptions, runAgent } from './loop.ts'
import { type Message, userMessage } from './messages.ts'
import { chooseModel, MODEL_APIS } from './models/choose.ts'
import type { AgentTool } from './toolbox.ts'

const servers: ModelServer[] = []
afterEach(async () => {
  await Promise.all(servers.splice(0).map((server) => server.close()))
})

/** Time passes quickly where only a retry waits. */
const host = retimed(systemHost({ env: {}, random: () => 0.5 }), (ms) => Math.min(ms, 300))

async function scripted(
  api: WireApi,
  script: (request: ScriptedRequest, count: number) => Reply | undefined | Promise<Reply | undefined>,
) {
  const server = await modelServer(script)
  servers.push(server)
  const model = chooseModel({
    host,
    api,
    model: 'scripted',
    baseUrl: server.baseUrl(api),
    contextTokens: 10_000,
  })
  return { server, model }
}

async function collect(options: RunOptions): Promise<AgentEvent[]> {
  const events: AgentEvent[] = []
  for await (const event of runAgent({ host, ...options })) events.push(event)
  return events
}

function done(events: readonly AgentEvent[]) {
  const last = events.at(-1)
  if (last?.type !== 'done') throw new Error(`the run ended with ${last?.type}`)
  return last
}

function errorOf(events: readonly AgentEvent[]) {
  const found = events.find((event) => event.type === 'error')
  if (found?.type !== 'error') throw new Error('there was no error')
  return found.error
}

function tool(name: string, options: Partial<AgentTool> = {}): AgentTool {
  return {
    name,
    description: `The tool ${name}`,
    inputJsonSchema: { type: 'object', properties: { value: { type: 'string' } } },
    concurrencySafe: true,
    call: async (args) => ({
      isError: false,
      content: [{ type: 'text', text: `${name}:${String(args.value)}` }],
    }),
    ...options,
  }
}

const ask: readonly Message[] = [userMessage('go')]
const noPause = async () => undefined

describe.each(MODEL_APIS)('the loop over %s', (api) => {
  it('streams an answer and ends', async () => {
    const { server, model } = await scripted(api, () => ({ text: ['Hel', 'lo'] }))
    const events = await collect({ model, messages: ask, system: 'Be kind.' })
    expect(events.filter(({ type }) => type === 'text')).toEqual([
      { type: 'text', text: 'Hel' },
      { type: 'text', text: 'lo' },
    ])
    expect(done(events)).toMatchObject({
      reason: 'end',
      text: 'Hello',
      turns: 1,
      usage: { inputTokens: 100, outputTokens: 10 },
    })
    expect(server.requests[0]).toMatchObject({ system: 'Be kind.', user: 'go' })
  })

  it('gives results back in the order of the calls, whichever ends first', async () => {
    const { server, model } = await scripted(api, ({ results }) =>
      results.length === 0
        ? {
            text: 'Let me see.',
            calls: [
              { name: 'slow', arguments: { value: 'a' } },
              { name: 'quick', arguments: { value: 'b' } },
            ],
          }
        : { text: results.map(({ name, text }) => `${name}=${text}`).join(' ') },
    )
    let release: () => void = () => undefined
    const quickEnded = new Promise<void>((resolve) => {
      release = resolve
    })
    const slow = tool('slow', {
      call: async () => {
        await quickEnded
        return { isError: false, content: [{ type: 'text', text: 'late' }] }
      },
    })
    const quick = tool('quick', {
      call: async () => {
        release()
        return { isError: false, content: [{ type: 'text', text: 'early' }] }
      },
    })
    const events = await collect({ model, messages: ask, tools: [slow, quick] })
    expect(done(events).text).toBe('slow=late quick=early')
    expect(server.requests).toHaveLength(2)
    expect(events.filter(({ type }) => type === 'tool-start')).toHaveLength(2)
  })

  it('makes calls that may not overlap one after another', async () => {
    const { model } = await scripted(api, ({ results }) =>
      results.length === 0
        ? { calls: [1, 2, 3].map((value) => ({ name: 'write', arguments: { value } })) }
        : { text: 'ok' },
    )
    let running = 0
    let most = 0
    const order: unknown[] = []
    const write = tool('write', {
      concurrencySafe: false,
      call: async ({ value }) => {
        most = Math.max(most, ++running)
        await new Promise((resolve) => setTimeout(resolve, 5))
        order.push(value)
        running--
        return { isError: false, content: [] }
      },
    })
    expect(done(await collect({ model, messages: ask, tools: [write] })).reason).toBe('end')
    expect([most, order]).toEqual([1, [1, 2, 3]])
  })

  it('reports an unknown tool, bad JSON and a call that throws to the model', async () => {
    const { server, model } = await scripted(api, ({ results }) =>
      results.length > 0
        ? { text: 'sorry' }
        : {
            calls: [
              { name: 'nothing_like_it' },
              { name: 'good', raw: '{"value": "unfinished' },
              { name: 'good', raw: '[1]' },
              { name: 'bad' },
              { name: 'good', arguments: { value: 'x' } },
            ],
          },
    )
    const bad = tool('bad', { call: () => Promise.reject(new Error('it broke')) })
    const events = await collect({ model, messages: ask, tools: [tool('good'), bad] })
    expect(done(events).reason).toBe('end')
    const results = server.requests[1]?.results ?? []
    expect(results.map(({ isError }) => isError)).toEqual([true, true, true, true, false])
    expect(results[1]?.text).toMatch(/not JSON|must be a JSON object/)
    expect(results[3]?.text).toBe('it broke')
  })

  it('makes a hundred of two hundred calls and says what happened to the rest', async () => {
    const { server, model } = await scripted(api, ({ results }) =>
      results.length > 0 ? { text: 'ok' } : { calls: Array.from({ length: 200 }, () => ({ name: 'good' })) },
    )
    let made = 0
    const good = tool('good', {
      call: async () => {
        made++
        return { isError: false, content: [] }
      },
    })
    expect(done(await collect({ model, messages: ask, tools: [good] })).reason).toBe('end')
    expect(made).toBe(100)
    expect(server.requests[1]?.results).toHaveLength(200)
    expect(server.requests[1]?.results[199]).toMatchObject({ isError: true })
  })

  it('stops a model that never stops calling', async () => {
    const { server, model } = await scripted(api, () => ({ calls: [{ name: 'good' }] }))
    const events = await collect({ model, messages: ask, tools: [tool('good')], maxTurns: 4 })
    expect(done(events)).toMatchObject({ reason: 'turn-limit', turns: 4 })
    expect(server.requests).toHaveLength(4)
  })

  it.each([
    ['429', { status: 429 }],
    ['529', { status: 529 }],
    ['500', { status: 500 }],
    ['a cut stream', { text: 'half an ans', fault: 'cut' }],
    ['garbage', { fault: 'garbage' }],
  ] as const)('tries again after %s, and tells', async (_, fault) => {
    const { server, model } = await scripted(api, (_request, count) =>
      count < 2 ? fault : { text: 'whole' },
    )
    const events = await collect({ model, messages: ask, pause: noPause })
    expect(done(events)).toMatchObject({ reason: 'end', text: 'whole', turns: 1 })
    expect(server.requests).toHaveLength(3)
    const retries = events.filter((event) => event.type === 'retry')
    expect(retries.map(({ attempt, afterMs }) => [attempt, afterMs])).toEqual([
      [1, 1000],
      [2, 2000],
    ])
    expect(retries[0]?.discard).toBe('text' in fault)
  })

  it('waits as long as the provider asks', async () => {
    const { model } = await scripted(api, (_request, count) =>
      count === 0 ? { status: 429, headers: { 'retry-after': '7' } } : { text: 'ok' },
    )
    const waits: number[] = []
    const pause = async (ms: number) => {
      waits.push(ms)
    }
    await collect({ model, messages: ask, pause })
    expect(waits).toEqual([7000])
  })

  it('gives up after five tries, with the reason', async () => {
    const { server, model } = await scripted(api, () => ({ status: 500, message: 'on fire' }))
    const events = await collect({ model, messages: ask, pause: noPause })
    expect(done(events).reason).toBe('error')
    expect(server.requests).toHaveLength(5)
    expect(events.find(({ type }) => type === 'error')).toMatchObject({
      error: {
        code: 'IO_ERROR',
        message: expect.stringMatching(
          /^The model at http:\/\/127\.0\.0\.1:\d+\/v1\S+ answered 500: on fire\.$/,
        ),
      },
    })
  })

  it('does not retry what cannot succeed', async () => {
    const { server, model } = await scripted(api, () => ({ status: 401, message: 'bad key' }))
    const events = await collect({ model, messages: ask })
    expect(events.find(({ type }) => type === 'error')).toMatchObject({ error: { code: 'AUTH_REQUIRED' } })
    expect(server.requests).toHaveLength(1)
  })

  it('does not ask again for a page instead of a stream, nor where no program listens', async () => {
    const { server, model } = await scripted(api, () => ({ fault: 'html' }))
    const events = await collect({ model, messages: ask, pause: noPause })
    expect(server.requests).toHaveLength(1)
    expect(errorOf(events)).toMatchObject({ message: expect.stringContaining('answered with text/html') })
    await server.close()
    const refused = await collect({ model, messages: ask, pause: noPause })
    expect(refused.filter(({ type }) => type === 'retry')).toEqual([])
    const { message } = errorOf(refused)
    expect(message).toMatch(/^The model at http:\/\/127\.0\.0\.1:\d+\/\S+ cannot be reached/)
    expect(message).toContain('ECONNREFUSED')
  })

  it('never repeats the page of a proxy', async () => {
    const page = '<html><head><title>502 Bad Gateway</title></head><body><h1>Bad</h1></body></html>'
    const { model } = await scripted(api, () => ({ status: 502, page }))
    const events = await collect({ model, messages: ask, pause: noPause })
    const said = JSON.stringify(events)
    expect(said).not.toContain('<')
    expect(said).toContain('answered 502: a web page, \\"502 Bad Gateway\\".')
  })

  it('tells every message to the log when it is complete', async () => {
    const { model } = await scripted(api, (_, count) =>
      count === 0 ? { text: 'first', calls: [{ name: 'good' }] } : { text: 'done' },
    )
    const log: Message[] = []
    const append = (message: Message) => void log.push(message)
    const events = await collect({
      model,
      messages: ask,
      tools: [tool('good')],
      log: { append, replace: () => undefined },
    })
    expect([...ask, ...log]).toEqual(done(events).messages)
    expect(log.map(({ role }) => role)).toEqual(['assistant', 'results', 'assistant'])
  })

  it('stops in the middle of an answer and keeps what was said', async () => {
    const { server, model } = await scripted(api, () => ({ text: 'I was about to', fault: 'hang' }))
    const stop = new AbortController()
    const events: AgentEvent[] = []
    for await (const event of runAgent({ host, model, messages: ask, signal: stop.signal })) {
      events.push(event)
      if (event.type === 'text') stop.abort()
    }
    expect(done(events)).toMatchObject({ reason: 'aborted', text: 'I was about to' })
    expect(done(events).messages.at(-1)).toEqual({ role: 'assistant', text: 'I was about to', calls: [] })
    await expect.poll(() => server.requests[0]?.closed, { timeout: 10_000 }).toBe(true)
  })

  it('stops a running call, and leaves a conversation that can go on', async () => {
    const { server, model } = await scripted(api, ({ results, user }) =>
      user === 'and now?'
        ? { text: 'we go on' }
        : results.length === 0
          ? { calls: [{ name: 'forever' }, { name: 'forever' }] }
          : { text: 'no' },
    )
    let stopped = 0
    const forever = tool('forever', {
      call: (_args, { signal }) =>
        new Promise((_resolve, reject) =>
          signal.addEventListener('abort', () => {
            stopped++
            reject(signal.reason)
          }),
        ),
    })
    const stop = new AbortController()
    const events: AgentEvent[] = []
    for await (const event of runAgent({
      host,
      model,
      messages: ask,
      tools: [forever],
      signal: stop.signal,
    })) {
      events.push(event)
      if (events.filter(({ type }) => type === 'tool-start').length === 2) stop.abort()
    }
    expect(done(events).reason).toBe('aborted')
    expect(stopped).toBe(2)
    const messages = [...done(events).messages, userMessage('and now?')]
    expect(done(await collect({ model, messages, tools: [forever] })).text).toBe('we go on')
    expect(server.requests).toHaveLength(2)
  })

  it('ends what is running when the reader leaves', async () => {
    const { model } = await scripted(api, () => ({ calls: [{ name: 'forever' }] }))
    let stopped = false
    const forever = tool('forever', {
      call: (_args, { signal }) =>
        new Promise((_resolve, reject) =>
          signal.addEventListener('abort', () => {
            stopped = true
            reject(signal.reason)
          }),
        ),
    })
    for await (const event of runAgent({ host, model, messages: ask, tools: [forever] }))
      if (event.type === 'tool-start') break
    expect(stopped).toBe(true)
  })

  it('makes a summary of a conversation that nears the window', async () => {
    const { server, model } = await scripted(api, ({ user }) =>
      user.includes('<conversation>') ? { text: 'They talked about ducks.' } : { text: 'quack' },
    )
    const long = 'duck '.repeat(1500)
    const messages: Message[] = []
    for (let round = 0; round < 8; round++)
      messages.push(userMessage(`${round} ${long}`), { role: 'assistant', text: 'quack', calls: [] })
    messages.push(userMessage('and?'))
    const events = await collect({ model, messages })
    expect(events.find(({ type }) => type === 'compacted')).toBeDefined()
    expect(server.requests).toHaveLength(2)
    expect(JSON.stringify(server.requests[1]?.body)).toContain('They talked about ducks.')
    expect(server.requests[1]?.user).toContain('and?')
    expect(done(events).messages.length).toBeLessThan(10)
  })
})
