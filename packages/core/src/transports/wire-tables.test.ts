// The small pure parts of the wire, case by case: what is a message, which headers it gets, how events are cut.
import type { JSONRPCMessage } from '@modelcontextprotocol/client'
import { describe, expect, it } from 'vitest'
import { mirrored, paramHeaders, scanHeaders } from '../connection/param-headers.ts'
import { META } from '../protocol.ts'
import { EventStream, type StreamEvent } from './event-stream.ts'
import { answeredId, isMessage, messagesIn, requestId } from './json-rpc-messages.ts'
import { encodeHeader, isSendableId, modernVersion, postHeaders, streamHeaders } from './mcp-headers.ts'

const rpc = (more: object) => ({ jsonrpc: '2.0', ...more })
const error = { code: -1, message: 'm' }

describe('a value on the wire', () => {
  it.each<[unknown, boolean]>([
    [rpc({ method: 'm' }), true],
    [rpc({ method: 'm', id: 1 }), true],
    [rpc({ method: 'm', id: 'a' }), true],
    [rpc({ method: 'm', id: null }), false],
    [rpc({ method: 7, id: 1 }), false],
    [rpc({ id: 1, result: {} }), true],
    [rpc({ id: null, result: {} }), false],
    [rpc({ result: {} }), false],
    [rpc({ id: 1, result: null }), false],
    [rpc({ id: 1, error }), true],
    [rpc({ id: null, error }), true],
    [rpc({ error }), true],
    [rpc({ id: {}, error }), false],
    [rpc({ id: 1, error: { code: '1', message: 'm' } }), false],
    [rpc({ id: 1, error: { code: 1, message: 7 } }), false],
    [rpc({ id: 1, error: { code: 1 } }), false],
    [rpc({ id: 1, error: { message: 'm' } }), false],
    [rpc({ id: 1, error: null }), false],
    [{ jsonrpc: '1.0', method: 'm' }, false],
    [null, false],
    ['x', false],
  ])('%j is a message: %s', (value, is) => expect(isMessage(value)).toBe(is))

  it.each<[unknown, unknown]>([
    [[], undefined],
    [
      [rpc({ method: 'm' }), rpc({ id: 1, result: {} })],
      [rpc({ method: 'm' }), rpc({ id: 1, result: {} })],
    ],
    [[rpc({ method: 'm' }), 7], undefined],
    [rpc({ id: 1, result: null }), [rpc({ id: 1, result: {} })]],
    [rpc({ id: null, result: null }), undefined],
    [rpc({ id: null, result: 'x' }), undefined],
    [rpc({ result: 'x' }), undefined],
    [rpc({ method: 7, id: 1, result: 'x' }), undefined],
    [null, undefined],
    ['x', undefined],
  ])('%j holds %j', (value, messages) => expect(messagesIn(value)).toEqual(messages))

  it.each<[object, string]>([
    [{ error: 'why' }, 'why'],
    [{ error: '' }, 'The server answered with an error that has no message.'],
    [{ error: { message: 'why' } }, 'why'],
    [{ error: { message: 7 } }, 'The server answered with an error that has no message.'],
    [{ error: null }, 'The server answered with an error that has no message.'],
    [{ result: 'x' }, 'The server answered with a result that is not an object.'],
    [{}, 'The server answered with neither a result nor an error.'],
  ])('the wrong answer %j fails its request with a reason', (more, message) => {
    expect(messagesIn(rpc({ id: 1, ...more }))).toMatchObject([{ id: 1, error: { code: -32603, message } }])
  })

  it.each<[unknown, unknown, unknown]>([
    [{ method: 'm', id: 1 }, 1, undefined],
    [{ method: 'm', id: 'a' }, 'a', undefined],
    [{ method: 'm', id: null }, undefined, undefined],
    [{ method: 'm' }, undefined, undefined],
    [{ id: 1, result: {} }, undefined, 1],
    [{ id: null, error }, undefined, undefined],
    [{ error }, undefined, undefined],
  ])('%j asks under %j and answers %j', (message, asks, answers) => {
    expect(requestId(message)).toBe(asks)
    expect(answeredId(message as JSONRPCMessage)).toBe(answers)
  })

  it.each([null, 'x', undefined])('%j asks nothing', (value) => expect(requestId(value)).toBeUndefined())
})

describe('headers', () => {
  const facts = { sessionId: 's', protocolVersion: 'v' }
  const modern = (method: string, params: object = {}) =>
    rpc({ id: 1, method, params: { _meta: { [META.protocolVersion]: 'new' }, ...params } }) as JSONRPCMessage
  const named = (message: JSONRPCMessage, extra?: Record<string, string>) => {
    const flat = postHeaders(message, facts, extra)
    return Object.fromEntries(flat.flatMap((name, at) => (at % 2 === 0 ? [[name, flat[at + 1]]] : [])))
  }

  it.each<[string, object, string | undefined]>([
    ['tools/call', { name: 'n' }, 'n'],
    ['prompts/get', { name: 'n' }, 'n'],
    ['resources/read', { uri: 'u' }, 'u'],
    ['tasks/get', { taskId: 't' }, 't'],
    ['tools/call', { name: 7 }, undefined],
    ['tools/call', {}, undefined],
    ['tools/list', { name: 'n' }, undefined],
  ])('of %s with %j name %s', (method, params, name) => {
    expect(named(modern(method, params))).toMatchObject({
      'mcp-method': method,
      'mcp-protocol-version': 'new',
    })
    expect(named(modern(method, params))['mcp-name']).toBe(name)
    expect(named(rpc({ id: 1, method, params }) as JSONRPCMessage)).not.toHaveProperty('mcp-method')
  })

  it('leave out what the protocol sets itself', () => {
    expect(named(modern('m'), { Accept: 'x', 'X-Own': 'y' })).toMatchObject({
      accept: 'application/json, text/event-stream',
      'x-own': 'y',
    })
  })

  it.each<[object, string | undefined]>([
    [{ id: 1, method: 'm', params: { _meta: { [META.protocolVersion]: 'new' } } }, 'new'],
    [{ method: 'm', params: { _meta: { [META.protocolVersion]: 'new' } } }, undefined],
    [{ id: 1, method: 'm', params: { _meta: { [META.protocolVersion]: 7 } } }, undefined],
    [{ id: 1, method: 'm', params: { _meta: 'x' } }, undefined],
    [{ id: 1, method: 'm' }, undefined],
    [{ id: 1, result: {} }, undefined],
  ])('%j claims the version %s', (message, version) => {
    expect(modernVersion(rpc(message) as JSONRPCMessage)).toBe(version)
  })

  it.each<[string, boolean]>([
    ['plain', true],
    ['a b\tc', true],
    [' a', false],
    ['a ', false],
    ['', false],
    ['ä', false],
    ['a\nb', false],
    ['=?base64?eA==?=', false],
    ['=?base64?', true],
    ['x?=', true],
  ])('%j is carried as it is: %s', (text, plain) => {
    const encoded = `=?base64?${Buffer.from(text).toString('base64')}?=`
    expect(encodeHeader(text)).toBe(plain ? text : encoded)
  })

  it('resume a stream where it was cut', () => {
    expect(streamHeaders({ sessionId: undefined, protocolVersion: undefined }, undefined)).toEqual([
      'accept',
      'text/event-stream',
    ])
    expect(streamHeaders(facts, '').includes('last-event-id')).toBe(false)
    expect(streamHeaders(facts, 'e')).toContain('last-event-id')
    expect([isSendableId('x'.repeat(4096)), isSendableId('x'.repeat(4097)), isSendableId('\x7f')]).toEqual([
      true,
      false,
      false,
    ])
  })
})

describe('arguments in headers', () => {
  const at = (header: unknown, type: unknown = 'string') => ({ type, 'x-mcp-header': header })
  const object = (properties: object, more: object = {}) => ({ type: 'object', properties, ...more })

  it.each<[object, string | undefined]>([
    [object({ a: at('A') }), undefined],
    [object({ a: object({ b: at('A', 'integer') }) }), undefined],
    [object({ a: at('A'), b: at('a', 'boolean') }), 'x-mcp-header "a" is used twice'],
    [object({ a: at('A', 'number') }), 'x-mcp-header at a is not on a string, integer or boolean'],
    [object({ a: at('A B') }), 'x-mcp-header at a is not a header name'],
    [object({ a: at(7) }), 'x-mcp-header at a is not a header name'],
    [at('A'), 'x-mcp-header at the root cannot be read from the arguments'],
    [object({ a: { anyOf: [at('A')] } }), 'x-mcp-header at a cannot be read from the arguments'],
    [object({}, { anyOf: [object({ a: at('A') })] }), 'x-mcp-header at a cannot be read from the arguments'],
    [object({}, { items: at('A') }), 'x-mcp-header at the root cannot be read from the arguments'],
    [
      object({
        a: { type: 'string', default: at('A'), enum: [at('A')], const: at('A'), examples: [at('A')] },
      }),
      undefined,
    ],
    [object({ properties: at('A') }), undefined],
  ])('%j: %s', (schema, fault) => {
    const scan = scanHeaders(schema as never)
    expect('fault' in scan ? scan.fault : undefined).toBe(fault)
  })

  it('repeats plain values only', () => {
    const scan = scanHeaders(object({ a: at('A'), o: object({ b: at('B', 'integer') }) }) as never)
    const values = (args: unknown) => mirrored(scan, args).map(({ header, value }) => [header, value])
    expect(values({ a: 'x', o: { b: 1 } })).toEqual([
      ['Mcp-Param-A', 'x'],
      ['Mcp-Param-B', 1],
    ])
    for (const odd of [null, undefined, {}, Number.NaN, 2 ** 53, [1]]) expect(values({ a: odd })).toEqual([])
    for (const plain of ['', false, 0, 1.5, 2 ** 53 - 1])
      expect(values({ a: plain })).toEqual([['Mcp-Param-A', plain]])
    expect(values('x')).toEqual([])
    expect(values({ o: Object.create({ b: 1 }) })).toEqual([])
    expect(paramHeaders(scan, { a: 'ä' })).toEqual({ 'Mcp-Param-A': encodeHeader('ä') })
    expect(paramHeaders(scanHeaders({}), {})).toBeUndefined()
    expect(paramHeaders({ fault: 'x' }, {})).toBeUndefined()
    expect(mirrored({ fault: 'x' }, { a: 1 })).toEqual([])
  })
})

describe('an event stream', () => {
  function read(text: string, maxBytes = 1000) {
    const events: StreamEvent[] = []
    const retries: number[] = []
    const skipped: { start: string; end: string }[] = []
    let overflows = 0
    const stream = new EventStream({
      maxBytes,
      onEvent: (event) => void events.push(event),
      onRetry: (ms) => void retries.push(ms),
      onOverflow: () => void overflows++,
      onSkipped: (excerpt) => void skipped.push(excerpt),
    })
    stream.push(Buffer.from(text))
    return { events, retries, skipped, overflows }
  }

  it.each<[string, StreamEvent[]]>([
    ['\uFEFFdata: x\n\n', [{ data: 'x' }]],
    ['data: a\n\n\uFEFFdata: x\n\n', [{ data: 'a' }]],
    ['data: x\uFEFF\n\n', [{ data: 'x\uFEFF' }]],
    ['data:x\n\n', [{ data: 'x' }]],
    ['data:  x\n\n', [{ data: ' x' }]],
    ['data\n\n', []],
    ['data: a\ndata: b\n\n', [{ data: 'a\nb' }]],
    ['data\ndata\n\n', [{ data: '\n' }]],
    [': comment\ndata: x\n\n', [{ data: 'x' }]],
    ['id: 1\n\n', [{ data: '', id: '1' }]],
    ['id\n\n', [{ data: '', id: '' }]],
    ['event: e\n\n', []],
    ['event: e\nid: 1\ndata: x\n\ndata: y\n\n', [{ data: 'x', id: '1', event: 'e' }, { data: 'y' }]],
    ['other: x\n\n', []],
  ])('%j is %j', (text, events) => expect(read(text).events).toEqual(events))

  it.each<[string, number[]]>([
    ['retry: 5\n', [5]],
    ['retry: 123456789\n', [123456789]],
    ['retry: 1234567890\n', []],
    ['retry: x\n', []],
    ['retry: -1\n', []],
  ])('%j waits %j', (text, retries) => expect(read(text).retries).toEqual(retries))

  it('takes an event as long as the limit, and skips a longer one with its beginning and end', () => {
    expect(read('data: 1234\ndata: 5678\n\n', 10).events).toEqual([{ data: '1234\n5678' }])
    const over = read('data: 1234\ndata: 5678\ndata: 9\n\ndata: x\n\n', 10)
    expect(over).toMatchObject({
      events: [{ data: 'x' }],
      overflows: 1,
      skipped: [{ start: '1234', end: '9' }],
    })
    const further = read('data: 1234\ndata: 567890\ndata: last\n\n', 10)
    expect(further).toMatchObject({ overflows: 1, skipped: [{ start: '1234', end: 'last' }] })
  })
})
