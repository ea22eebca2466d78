// A recording as a stand-in server: what it answers, in which order, and what it says about what it does not have.
import { describe, expect, it } from 'vitest'
import { type RecordedMessage, readRecording, recordingHead, StandIn } from './protocol-recording.ts'

let clock = 0
const line = (from: 'client' | 'server', message: object): RecordedMessage => ({
  at: ++clock,
  server: 's',
  connection: 1,
  from,
  message: { jsonrpc: '2.0', ...message },
})
const asked = (id: number, method: string, params?: object) =>
  line('client', { id, method, ...(params && { params }) })
const answered = (id: number, result: object) => line('server', { id, result })
const call = (id: number | string, args: object, meta?: object) => ({
  jsonrpc: '2.0',
  id,
  method: 'tools/call',
  params: { name: 'add', arguments: args, ...(meta && { _meta: meta }) },
})

describe('a stand-in', () => {
  it('answers with the id of the question, whatever the order of members and who asks', () => {
    const standIn = new StandIn([
      asked(0, 'initialize', { protocolVersion: '2025-11-25', clientInfo: { name: 'x' } }),
      answered(0, { protocolVersion: '2025-11-25' }),
      line('client', call(1, { a: 1, b: 2 }, { progressToken: 9 })),
      answered(1, { content: [] }),
    ])
    const started = {
      jsonrpc: '2.0',
      id: 'i',
      method: 'initialize',
      params: { clientInfo: { name: 'other' } },
    }
    expect(standIn.answer(started).messages).toEqual([
      { jsonrpc: '2.0', id: 'i', result: { protocolVersion: '2025-11-25' } },
    ])
    expect(standIn.answer(call(7, { b: 2, a: 1 })).messages).toMatchObject([
      { id: 7, result: { content: [] } },
    ])
  })

  it('gives several answers to one question in their order, and then the last again', () => {
    const standIn = new StandIn([
      ...[1, 2].flatMap((id) => [line('client', call(id, {})), answered(id, { n: id })]),
    ])
    const results = [5, 6, 7].map((id) => standIn.answer(call(id, {})).messages[0])
    expect(results).toMatchObject([{ result: { n: 1 } }, { result: { n: 2 } }, { id: 7, result: { n: 2 } }])
  })

  it('repeats progress with the token of this client, and requests with ids of its own', () => {
    const standIn = new StandIn([
      line('client', call(1, {}, { progressToken: 'old' })),
      line('server', { method: 'notifications/progress', params: { progressToken: 'old', progress: 1 } }),
      line('server', { id: 1, method: 'roots/list' }),
      line('client', { id: 1, result: { roots: [] } }),
      answered(1, {}),
      line('server', { method: 'notifications/tools/list_changed' }),
    ])
    const { messages } = standIn.answer(call(3, {}, { progressToken: 'new' }))
    expect(messages).toMatchObject([
      { method: 'notifications/progress', params: { progressToken: 'new' } },
      { id: 'replay-1', method: 'roots/list' },
      { id: 3, result: {} },
      { method: 'notifications/tools/list_changed' },
    ])
    expect(standIn.answer(call(4, {})).messages.map(({ method }) => method)).not.toContain(
      'notifications/progress',
    )
  })

  it.each([
    [call(1, { a: 9 }), -32602, 'The recording has no tools/call {"arguments":{"a":9},"name":"add"}'],
    [{ id: 1, method: 'prompts/list' }, -32601, 'The recording has no prompts/list.'],
    [call(1, { a: 2 }), -32602, 'The recording ends before the answer to tools/call.'],
  ])('says that it has no answer to %j', (message, code, text) => {
    const standIn = new StandIn([
      line('client', call(1, { a: 1 })),
      answered(1, {}),
      line('client', call(2, { a: 2 })),
    ])
    const { messages, unknown } = standIn.answer(message)
    expect(messages).toMatchObject([{ id: 1, error: { code, message: expect.stringContaining(text) } }])
    expect(unknown).toContain(text)
  })

  it.each([undefined, null, [], 'x', { id: 1 }, { method: 'notifications/initialized' }])(
    'does not answer %j',
    (message) => {
      expect(new StandIn([]).answer(message).messages).toEqual([])
    },
  )
})

describe('the file', () => {
  const text = (...lines: string[]) => `${recordingHead(0)}${lines.join('\n')}`
  const good = JSON.stringify(asked(1, 'tools/list'))
  it('is read, without a last line that was cut', () => {
    expect(readRecording(text(good, good.slice(0, 20)), 'f')).toHaveLength(1)
    expect(readRecording(text(good, ''), 'f')).toHaveLength(1)
  })
  it.each([
    ['', 'line 1: this is not a recording of the protocol'],
    ['{"type":"recording","version":1}', 'line 1: this is not a recording'],
    ['{"type":"protocol-recording","version":2}', 'version 2 of the format'],
    [text('nonsense', good), 'line 2: this is not JSON'],
    [text(good, '{"from":"client"}', good), 'line 3: this is no message'],
  ])('%j is refused with its line', (content, why) => {
    expect(() => readRecording(content, 'f')).toThrow(why)
  })
})
