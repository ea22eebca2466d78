// What is counted and logged of a call, and how a call is held by its limits.
import { IoError, JsonRpcError, PermissionDenied } from '@plugboard/core'
import { describe, expect, it } from 'vitest'
import { EVERYTHING } from '../access/exposure.ts'
import { CallLimits } from '../call-limits/call-limits.ts'
import type { Client } from '../client-request.ts'
import { RateLimited } from '../errors.ts'
import { type Json, RPC_RATE_LIMITED, readCapabilities } from '../json-rpc.ts'
import { Metrics } from '../metrics.ts'
import { CallMetrics } from './call-metrics.ts'
import { CircuitBreakers } from './circuit-breaker.ts'
import { type AccessEntry, observed } from './observe-call.ts'
import { ServerDrains } from './server-drains.ts'

const client: Client = {
  id: 'c',
  era: 'modern',
  owner: '0123456789abcdef',
  exposure: EVERYTHING,
  capabilities: readCapabilities({}),
  logLevel: undefined,
  notify: () => undefined,
}

interface Wish {
  readonly method?: string
  readonly tool?: string | undefined
  readonly client?: Partial<Client>
  readonly params?: Json
  readonly aborted?: boolean
  readonly callLimits?: CallLimits
  readonly replica?: string
}

async function entryOf(work: () => Promise<Json>, wish: Wish = {}) {
  const entries: AccessEntry[] = []
  const callMetrics = new CallMetrics()
  const stop = new AbortController()
  if (wish.aborted) stop.abort()
  const answer = await observed(
    {
      callMetrics,
      callLimits: wish.callLimits,
      drains: new ServerDrains(),
      circuits: new CircuitBreakers(),
      accessLog: (entry) => entries.push(entry),
      ...(wish.replica && { replicas: { id: wish.replica } }),
    },
    {
      method: wish.method ?? 'tools/call',
      server: 'one',
      tool: 'tool' in wish ? wish.tool : 'read',
      instance: undefined,
      params: wish.params ?? {},
      request: { client: { ...client, ...wish.client }, signal: stop.signal },
    },
    work,
  ).catch((error: unknown) => error)
  const counted = callMetrics.print().filter((line) => line.startsWith('plugboard_calls_total{'))
  return { entry: entries[0], entries, counted, answer }
}

const fails = (error: unknown) => () => Promise.reject(error)
const ok = async () => ({ content: [] })

describe('the line of a call', () => {
  it.each([
    ['an answer', ok, {}, { outcome: 'ok', level: 'info' }],
    ['a failed tool', async () => ({ isError: true }), {}, { outcome: 'tool_error', level: 'warn' }],
    ['a flag that is no flag', async () => ({ isError: 'yes' }), {}, { outcome: 'ok', level: 'info' }],
    [
      'an error of the server',
      fails(new JsonRpcError(-32000, 'x')),
      {},
      { outcome: 'tool_error', level: 'warn', code: -32000 },
    ],
    [
      'a limit',
      fails(new RateLimited('1 call per day', 1000)),
      {},
      { outcome: 'limited', level: 'warn', code: RPC_RATE_LIMITED },
    ],
    [
      'a rule',
      fails(new PermissionDenied('x')),
      {},
      { outcome: 'denied', level: 'warn', code: 'PERMISSION_DENIED' },
    ],
    ['a server that is down', fails(new IoError('x')), {}, { outcome: 'gateway_error', code: 'IO_ERROR' }],
    ['a fault of ours', fails(new Error('x')), {}, { outcome: 'gateway_error', level: 'error' }],
    ['a cancelled call', fails(new Error('x')), { aborted: true }, { outcome: 'cancelled', level: 'warn' }],
  ] as const)('%s', async (_, work, wish, wanted) => {
    const { entry, counted } = await entryOf(work, wish)
    expect(entry).toMatchObject(wanted)
    expect(counted).toEqual([`plugboard_calls_total{server="one",tool="read",outcome="${wanted.outcome}"} 1`])
    expect('code' in (entry ?? {})).toBe('code' in wanted)
  })

  it('names the user, the program, the trace and the replica as far as they are known', async () => {
    const bare = (await entryOf(ok, { tool: undefined })).entry
    expect(bare).toMatchObject({ user: '0123456789ab', protocol: 'modern', server: 'one', msg: 'call' })
    expect(Object.keys(bare ?? {})).not.toEqual(
      expect.arrayContaining([expect.stringMatching(/^(?:client|tool|code|traceId|replica)$/)]),
    )
    const trace = '0af7651916cd43dd8448eb211c80319c'
    const whole = await entryOf(ok, {
      client: { name: 'editor', user: { key: 'k', name: 'ada', roles: [] } },
      params: { _meta: { traceparent: `00-${trace}-b7ad6b7169203331-01` } },
      replica: 'r1',
    })
    expect(whole.entry).toMatchObject({
      user: 'ada',
      client: 'editor',
      tool: 'read',
      traceId: trace,
      replica: 'r1',
    })
    for (const traceparent of [7, 'x', `${trace}-`, `00-${trace}`])
      expect((await entryOf(ok, { params: { _meta: { traceparent } } })).entry).not.toHaveProperty('traceId')
  })

  it('is written for every method, and only calls of tools are counted by tool', async () => {
    const read = await entryOf(ok, { method: 'resources/read', tool: 'test://x' })
    expect(read.entry).toMatchObject({ method: 'resources/read', tool: 'test://x' })
    expect(read.counted).toEqual([])
    expect((await entryOf(ok, { tool: undefined })).counted).toEqual([
      'plugboard_calls_total{server="one",tool="",outcome="ok"} 1',
    ])
  })

  it('gives the answer and the error on', async () => {
    const answer = { content: [] }
    expect((await entryOf(async () => answer)).answer).toBe(answer)
    const error = new IoError('x')
    expect((await entryOf(fails(error))).answer).toBe(error)
  })
})

it('a call has its place until it ended, however it ended', async () => {
  const callLimits = new CallLimits({ user: { concurrent: 1 } })
  for (const work of [ok, fails(new Error('x')), ok]) {
    let busy: unknown
    const during = async () => {
      busy = (await entryOf(ok, { callLimits })).answer
      return await work()
    }
    const { entry } = await entryOf(during, { callLimits })
    expect(entry?.outcome).not.toBe('limited')
    expect(busy).toMatchObject({ code: RPC_RATE_LIMITED })
  }
})

describe('the counts of calls', () => {
  it('count a time in every bucket that holds it, its own bound included', () => {
    const counts = new CallMetrics()
    for (const seconds of [0.005, 0.1, 61]) counts.ended('one', 'read', 'ok', seconds)
    const buckets = counts.print().filter((line) => line.includes('_bucket'))
    expect(buckets.map((line) => Number(line.split(' ').at(-1)))).toEqual([1, 1, 2, 2, 2, 2, 2, 3])
    expect(counts.print()).toContain('plugboard_call_seconds_count{server="one",tool="read"} 3')
    expect(counts.print()).toContain('plugboard_call_seconds_sum{server="one",tool="read"} 61.105')
  })

  it('tell servers, tools and outcomes apart, escaped', () => {
    const counts = new CallMetrics()
    counts.ended('one', 'a', 'ok', 1)
    counts.ended('one', 'b', 'ok', 1)
    counts.ended('two', 'a', 'denied', 1)
    counts.ended('two', 'a', 'denied', 1)
    counts.ended('o"\\\n', 'x'.repeat(200), 'ok', 1)
    expect(counts.print().filter((line) => line.startsWith('plugboard_calls_total{'))).toEqual([
      'plugboard_calls_total{server="one",tool="a",outcome="ok"} 1',
      'plugboard_calls_total{server="one",tool="b",outcome="ok"} 1',
      'plugboard_calls_total{server="two",tool="a",outcome="denied"} 2',
      `plugboard_calls_total{server="o\\"\\\\\\n",tool="${'x'.repeat(128)}",outcome="ok"} 1`,
    ])
  })

  it('have a limit, beyond which names are counted together', () => {
    const counts = new CallMetrics()
    for (let n = 0; n < 1003; n++) counts.ended('one', `t${n}`, 'ok', 1)
    counts.ended('one', 't0', 'ok', 1)
    const lines = counts.print().filter((line) => line.startsWith('plugboard_calls_total{'))
    expect(lines).toHaveLength(1001)
    expect(lines.at(0)).toBe('plugboard_calls_total{server="one",tool="t0",outcome="ok"} 2')
    expect(lines.at(-1)).toBe('plugboard_calls_total{server="other",tool="other",outcome="ok"} 3')
  })

  it('of requests have outcomes, buckets and what is in flight', () => {
    const metrics = new Metrics()
    const first = metrics.started('ping')
    const second = metrics.started('ping')
    expect(metrics.inFlight).toBe(2)
    first.ended('ok')
    expect(metrics.inFlight).toBe(1)
    second.ended('error')
    metrics.started('ping')
    metrics.ended('ping', 'ok', 0.005)
    metrics.started('tools/list')
    metrics.ended('tools/list', 'ok', 100)
    metrics.refused()
    const text = metrics.print({ sessions: 2 }, { connected: 1 }, ['more 1'])
    const lines = text.split('\n')
    expect(lines.filter((line) => line.startsWith('plugboard_requests_total{'))).toEqual([
      'plugboard_requests_total{method="ping",outcome="ok"} 2',
      'plugboard_requests_total{method="ping",outcome="error"} 1',
      'plugboard_requests_total{method="tools/list",outcome="ok"} 1',
    ])
    for (const line of [
      'plugboard_refused_total 1',
      'plugboard_in_flight 0',
      'plugboard_sessions 2',
      'plugboard_servers{state="connected"} 1',
      'plugboard_request_seconds_bucket{method="ping",le="0.005"} 3',
      'plugboard_request_seconds_bucket{method="tools/list",le="60"} 0',
      'plugboard_request_seconds_bucket{method="tools/list",le="+Inf"} 1',
      'plugboard_request_seconds_sum{method="tools/list"} 100',
      'more 1',
    ])
      expect(lines).toContain(line)
    expect(text.endsWith('more 1\n')).toBe(true)
  })
})
