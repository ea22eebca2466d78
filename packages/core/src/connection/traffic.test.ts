import { expect, it } from 'vitest'
import type { WireExchange } from '../transports/wire-exchange.ts'
import { TrafficRecorder } from './traffic.ts'

function recorder({ isRead = true } = {}) {
  let now = 0
  const traffic = new TrafficRecorder(() => ++now)
  if (isRead) traffic.onRecorded(() => undefined)
  return { traffic, link: traffic.link('memory'), wait: (ms: number) => (now += ms) }
}

it('says what a message was before there was a reader, and keeps it whole from then on', () => {
  const { traffic, link, wait } = recorder({ isRead: false })
  const call = (id: number) => {
    const params = { name: 'add', arguments: { secret: 'x'.repeat(1000) } }
    traffic.record(link, 'sent', { id, method: 'tools/call', params })
    traffic.record(link, 'received', { id, result: { isError: true, content: [] } })
  }
  call(1)
  expect(traffic.entries()).toMatchObject([
    { kind: 'request', method: 'tools/call', name: 'add', isOutline: true },
    { kind: 'response', answers: 1, durationMs: 1, toolError: true, isOutline: true },
  ])
  expect(JSON.stringify(traffic.message(1))).not.toContain('xxx')
  call(2)
  expect(JSON.stringify(traffic.message(3))).toContain('xxx')
  expect(traffic.entries(2)[0]).not.toHaveProperty('isOutline')
  wait(11 * 60_000)
  call(3)
  expect(traffic.entries(4)[0]).toHaveProperty('isOutline')
})

it('pairs an answer with its request, on its own connection and in its direction', () => {
  const { traffic, link } = recorder()
  const other = traffic.link('memory')
  traffic.record(link, 'sent', { id: 1, method: 'tools/call', params: { name: 'add' } })
  traffic.record(other, 'sent', { id: 1, method: 'tools/list' })
  traffic.record(link, 'received', { id: 1, method: 'roots/list' })
  traffic.record(link, 'received', { id: 1, result: { isError: true } })
  traffic.record(other, 'received', { id: 1, error: { code: -1 } })
  traffic.record(link, 'sent', { id: 1, result: {} })
  expect(traffic.entries().slice(3)).toMatchObject([
    { kind: 'response', method: 'tools/call', name: 'add', answers: 1, durationMs: 3, toolError: true },
    { kind: 'error', method: 'tools/list', answers: 2, durationMs: 3 },
    { kind: 'response', method: 'roots/list', answers: 3, durationMs: 3 },
  ])
})

it.each([true, false])('says which requests ended without an answer, with a reader: %s', (isRead) => {
  const { traffic, link } = recorder({ isRead })
  traffic.record(link, 'sent', { id: 1, method: 'tools/call', params: { name: 'add' } })
  traffic.record(link, 'received', { id: 1, method: 'roots/list' })
  traffic.unanswered(link, 'sent', 1, 'cancelled')
  traffic.record(link, 'sent', { method: 'notifications/cancelled', params: { requestId: 1 } })
  traffic.exchanged(link, wire({ outcome: { failure: 'cancelled' } }), plain)
  traffic.unanswered(link, 'received', 1, 'connection closed')
  traffic.record(link, 'received', { id: 1, result: {} })
  traffic.unanswered(link, 'sent', 99, 'timed out')
  const call = { method: 'tools/call', name: 'add', answers: 1 }
  const closed = { kind: 'end', direction: 'received', unanswered: 'connection closed', method: 'roots/list' }
  expect(traffic.entries(2)).toMatchObject([
    { kind: 'end', direction: 'sent', id: 1, unanswered: 'cancelled', durationMs: 2, ...call },
    { kind: 'notification' },
    { kind: 'http', carries: 1 },
    { ...closed, answers: 2, durationMs: 4 },
    { kind: 'response', isLate: true, ...call },
    { kind: 'end', id: 99, unanswered: 'timed out' },
  ])
  expect(traffic.entries().at(-1)).not.toHaveProperty('answers')
  expect(traffic.message(3)).toEqual({ id: 1, unanswered: 'cancelled' })
})

it('takes whatever arrives', () => {
  const { traffic, link } = recorder()
  for (const message of [{}, { id: {} }, { result: 1 }, { method: 7 }, { id: 'x', method: 'm', params: [] }])
    traffic.record(link, 'received', message)
  expect(traffic.entries().map(({ kind }) => kind)).toEqual([
    'response',
    'response',
    'response',
    'response',
    'request',
  ])
})

it('keeps the newest messages, and an outline of a large one', () => {
  const { traffic, link } = recorder()
  const text = 'x'.repeat(300 * 1024)
  traffic.record(link, 'sent', { id: 1, method: 'tools/call', params: { name: 'big', arguments: { text } } })
  expect(JSON.stringify(traffic.message(1)).length).toBeLessThan(1000)
  expect(traffic.entries()).toMatchObject([{ name: 'big', isCut: true }])
  for (let at = 0; at < 25_000; at++) traffic.record(link, 'received', { method: 'notifications/message' })
  const entries = traffic.entries()
  expect(entries).toHaveLength(10_000)
  expect(entries.at(-1)?.number).toBe(traffic.last)
  expect(traffic.message(1)).toBeUndefined()
  expect(traffic.message(traffic.last + 1)).toBeUndefined()
})

it('is bounded in memory, whatever the sizes', () => {
  const { traffic, link } = recorder()
  const text = 'x'.repeat(200 * 1024)
  for (let at = 0; at < 1000; at++)
    traffic.record(link, 'received', { method: 'm', params: { text: `${text}${at}` } })
  const kept = traffic.entries()
  expect(kept.reduce((sum, { size }) => sum + size, 0)).toBeLessThanOrEqual(32 * 1024 * 1024)
  expect(kept.at(-1)?.number).toBe(1000)
})

const wire = (more: Partial<WireExchange> = {}): WireExchange => ({
  messageId: 1,
  method: 'POST',
  url: 'https://example.org/mcp',
  attempt: 1,
  sent: ['content-type', 'application/json'],
  outcome: { status: 200, retryAfterMs: undefined, received: {} },
  durationMs: 3,
  ...more,
})
const plain = (text: string) => text

it('tells the HTTP exchanges of a request, each with its attempt', () => {
  const { traffic, link } = recorder()
  const other = traffic.link('memory')
  traffic.record(link, 'sent', { id: 1, method: 'tools/call', params: { name: 'add' } })
  traffic.exchanged(link, wire({ outcome: { status: 429, retryAfterMs: 1000, received: {} } }), plain)
  traffic.exchanged(link, wire({ attempt: 2 }), plain)
  traffic.exchanged(other, wire({ attempt: 1, outcome: { failure: 'ECONNRESET' } }), plain)
  traffic.record(link, 'received', { id: 1, result: {} })
  const http = { method: 'POST', url: 'https://example.org/mcp' }
  expect(traffic.entries().slice(1)).toMatchObject([
    { kind: 'http', carries: 1, http: { ...http, attempt: 1, status: 429, retryAfterMs: 1000 } },
    { kind: 'http', carries: 1, durationMs: 3, http: { ...http, attempt: 2, status: 200 } },
    { kind: 'http', http: { ...http, failure: 'ECONNRESET' } },
    { kind: 'response', answers: 1 },
  ])
  expect(traffic.entries()[3]).not.toHaveProperty('carries')
  expect(traffic.message(2)).toMatchObject({ requestHeaders: { 'content-type': 'application/json' } })
})

it('keeps, without a reader, only the HTTP exchanges that did not go well at once', () => {
  const { traffic, link } = recorder({ isRead: false })
  traffic.record(link, 'sent', { id: 1, method: 'tools/list' })
  traffic.exchanged(link, wire(), plain)
  traffic.exchanged(link, wire({ outcome: { status: 503, retryAfterMs: 5, received: {} } }), plain)
  traffic.exchanged(link, wire({ attempt: 2 }), plain)
  expect(traffic.entries().map(({ kind, http }) => [kind, http?.status])).toEqual([
    ['request', undefined],
    ['http', 503],
    ['http', 200],
  ])
})

it('says which hooks ran around which call, whatever else runs', () => {
  const { traffic, link } = recorder()
  const ran = (event: string, decision: string, args: object, changedArguments?: object) =>
    traffic.hookRan({
      server: 'memory',
      tool: 'add',
      event,
      decision,
      durationMs: 2,
      arguments: args,
      ...(changedArguments && { changedArguments }),
    })
  const send = (id: number, args: object) =>
    traffic.record(link, 'sent', { id, method: 'tools/call', params: { name: 'add', arguments: args } })
  const first = {}
  const second = {}
  const changed = {}
  const third = {}
  ran('PreToolUse', 'passed', first)
  ran('PreToolUse', 'changed', second, changed)
  send(1, changed)
  send(2, first)
  send(3, third)
  ran('PostToolUse', 'passed', changed)
  ran('PostToolUse', 'added', third)
  // The program calls with the same object once more: that is another call.
  ran('PreToolUse', 'refused', first)
  ran('Elicitation', 'answered', undefined as never)
  const entries = traffic.entries()
  const callOf = (id: number) => entries.find((entry) => entry.id === id)?.call
  const hooksOf = (call: number | undefined) =>
    entries.filter(({ kind, call: of }) => kind === 'hook' && of === call).map(({ hook }) => hook?.decision)
  expect(hooksOf(callOf(1))).toEqual(['changed', 'passed'])
  expect(hooksOf(callOf(2))).toEqual(['passed'])
  expect(hooksOf(callOf(3))).toEqual(['added'])
  expect(hooksOf(undefined)).toEqual(['answered'])
  const refused = entries.find(({ hook }) => hook?.decision === 'refused')
  expect([callOf(1), callOf(2), callOf(3)]).not.toContain(refused?.call)
})

it('shows a hook without the secrets of its command', () => {
  const { traffic } = recorder()
  const secret = 'sk-proj-0123456789abcdef'
  const command = `check --token ${secret} x`
  traffic.hookRan({
    server: 'memory',
    event: 'PreToolUse',
    decision: 'failed',
    command,
    reason: `said ${secret}`,
    durationMs: 1,
  })
  const shown = JSON.stringify([traffic.entries(), traffic.message(1)])
  expect(shown).toContain('check --token')
  expect(shown).not.toContain(secret)
})

/** The most that is kept of one message; a text counts four more than its length. */
const MOST = 256 * 1024
const text = (size: number) => 'x'.repeat(size - 4)

it('keeps as many of the newest messages as fit, and never drops the newest', () => {
  const { traffic, link } = recorder()
  const numbers = () => traffic.entries().map(({ number }) => number)
  for (let at = 0; at < 10_050; at++) traffic.record(link, 'received', { method: 'm' })
  expect(numbers()).toHaveLength(10_000)
  for (let at = 0; at < 128; at++) traffic.record(link, 'received', text(MOST))
  expect(numbers()).toEqual(Array.from({ length: 128 }, (_, at) => 10_051 + at))
  expect(traffic.message(10_050)).toBeUndefined()
  expect(traffic.message(10_051)).toHaveLength(MOST - 4)
  expect(traffic.message(10_179)).toBeUndefined()
  traffic.record(link, 'received', { method: 'm' })
  expect(numbers().slice(0, 2)).toEqual([10_052, 10_053])
  expect(numbers().at(-1)).toBe(10_179)
})

it('keeps the newest message when the ring is full and there is no room for it', () => {
  const { traffic, link } = recorder()
  for (let at = 0; at < 10_000; at++) traffic.record(link, 'received', text(3350))
  traffic.record(link, 'received', text(MOST))
  expect(traffic.message(10_001)).toHaveLength(MOST - 4)
  expect(traffic.entries().at(-1)?.number).toBe(10_001)
})

it('counts only what it still keeps', () => {
  const { traffic, link } = recorder()
  for (let at = 0; at < 30_000; at++) traffic.record(link, 'received', text(at % 2 === 0 ? 2000 : MOST + 1))
  expect(traffic.entries()).toHaveLength(10_000)
  for (let round = 0; round < 3; round++)
    for (let at = 0; at < 10_000; at++) traffic.record(link, 'received', text(at < 200 ? MOST : 4))
  expect(traffic.entries()).toHaveLength(9800 + 127)
})

it.each([
  ['a text', text(MOST), MOST, false],
  ['a longer text', text(MOST + 1), MOST + 1, true],
  ['small values', { a: [1, null, true], bc: { d: 'efg' } }, 4 + 1 + 4 + 3 * 4 + 2 + 4 + 1 + 4 + 3, false],
  ['an array that goes on after the limit', [text(MOST - 4), 1, 1], MOST + 4, true],
  ['an object that goes on after the limit', { a: text(MOST - 5), b: 1, c: 1 }, MOST + 5, true],
])('measures %s', (_, message, size, isCut) => {
  const { traffic, link } = recorder()
  traffic.record(link, 'received', message)
  const [entry] = traffic.entries()
  expect(entry?.size).toBe(size)
  expect(entry?.isCut).toBe(isCut || undefined)
})

it.each([
  [
    { id: 7, method: 'tools/call', params: { name: 'add', arguments: {} } },
    { jsonrpc: '2.0', id: 7, method: 'tools/call', params: { name: 'add' } },
  ],
  [
    { method: 'notifications/x', params: { uri: 'file:///a' } },
    { jsonrpc: '2.0', method: 'notifications/x', params: { name: 'file:///a' } },
  ],
  [
    { id: 'a', method: 'm'.repeat(200) },
    { jsonrpc: '2.0', id: 'a', method: 'm'.repeat(200), params: {} },
  ],
  [
    { id: 'a'.repeat(201), method: 'm' },
    { jsonrpc: '2.0', id: '(too long)', method: 'm', params: {} },
  ],
  [
    { id: 7, result: { big: true } },
    { jsonrpc: '2.0', id: 7, result: '(not kept)' },
  ],
  [
    { id: 7, error: { code: -1 } },
    { jsonrpc: '2.0', id: 7, error: '(not kept)' },
  ],
  ['nonsense', { jsonrpc: '2.0', result: '(not kept)' }],
])('keeps an outline of %j', (message, outline) => {
  const { traffic, link } = recorder({ isRead: false })
  traffic.record(link, 'sent', message)
  expect(traffic.message(1)).toEqual(outline)
})

it('tells era, direction, id and name as they are', () => {
  const { traffic, link } = recorder()
  const _meta = { 'io.modelcontextprotocol/protocolVersion': '2026-07-28' }
  const base = { server: 'memory', connection: 1, size: expect.any(Number) }
  traffic.record(link, 'sent', { id: 1, method: 'resources/read', params: { uri: 'file:///a', _meta } })
  traffic.record(link, 'received', { id: 1, result: {} })
  traffic.record(link, 'received', { id: 1, result: {} })
  traffic.record(link, 'sent', { method: 'notifications/cancelled', params: { _meta: {} } })
  traffic.record(link, 'received', { id: 2, method: 'ping' })
  expect(traffic.entries()).toEqual([
    {
      ...base,
      number: 1,
      at: expect.any(Number),
      direction: 'sent',
      kind: 'request',
      id: 1,
      method: 'resources/read',
      name: 'file:///a',
      era: 'modern',
    },
    {
      ...base,
      number: 2,
      at: expect.any(Number),
      direction: 'received',
      kind: 'response',
      id: 1,
      method: 'resources/read',
      name: 'file:///a',
      era: 'modern',
      answers: 1,
      durationMs: 1,
    },
    // A request has one answer.
    { ...base, number: 3, at: expect.any(Number), direction: 'received', kind: 'response', id: 1 },
    {
      ...base,
      number: 4,
      at: expect.any(Number),
      direction: 'sent',
      kind: 'notification',
      method: 'notifications/cancelled',
      era: 'legacy',
    },
    {
      ...base,
      number: 5,
      at: expect.any(Number),
      direction: 'received',
      kind: 'request',
      id: 2,
      method: 'ping',
      era: 'legacy',
    },
  ])
  expect(traffic.entries(3).map(({ number }) => number)).toEqual([4, 5])
  expect(traffic.entries(0, 1).map(({ number }) => number)).toEqual([5])
})

it.each([
  ['within', 10 * 60_000, undefined],
  ['more than', 10 * 60_000 + 1, true],
])('keeps a message whole %s ten minutes after the last reader left', (_, later, isOutline) => {
  let now = 1000
  const traffic = new TrafficRecorder(() => now)
  traffic.onRecorded(() => undefined)()
  now += later
  traffic.record(traffic.link('memory'), 'sent', { id: 1, method: 'ping' })
  expect(traffic.entries()[0]?.isOutline).toBe(isOutline)
})

it('tells its readers of new messages once for many, again for later ones, and not after they left', async () => {
  const { traffic, link } = recorder({ isRead: false })
  let told = 0
  let onTold = () => {}
  const leave = traffic.onRecorded(() => {
    told++
    onTold()
  })
  const isTold = () =>
    new Promise<void>((resolve) => {
      onTold = resolve
    })
  for (const total of [1, 2]) {
    const next = isTold()
    for (let at = 0; at < 3; at++) traffic.record(link, 'sent', { method: 'm' })
    await next
    await new Promise((done) => setImmediate(done))
    expect(told).toBe(total)
  }
  const other = new Promise<void>((resolve) => {
    traffic.onRecorded(resolve)
  })
  leave()
  traffic.record(link, 'sent', { method: 'm' })
  await other
  expect(told).toBe(2)
})
