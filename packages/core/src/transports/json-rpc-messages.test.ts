import { describe, expect, it } from 'vitest'
import { messagesIn } from './json-rpc-messages.ts'

const rpc = (rest: object) => ({ jsonrpc: '2.0', ...rest })

describe('what counts as a message', () => {
  it('is a request, a notification, a result or an error, alone or in a batch', () => {
    const good = [
      rpc({ id: 1, method: 'a' }),
      rpc({ method: 'a', params: {} }),
      rpc({ id: 'x', result: {} }),
      rpc({ id: 1, error: { code: -1, message: 'no' } }),
      rpc({ id: null, error: { code: -32700, message: 'what?' } }),
    ]
    for (const message of good) expect(messagesIn(message)).toEqual([message])
    expect(messagesIn(good)).toEqual(good)
  })

  it('is nothing else', () => {
    const bad = [
      null,
      1,
      'x',
      [],
      [1],
      {},
      { id: 1, result: {} },
      rpc({}),
      rpc({ id: {}, method: 'a' }),
      rpc({ result: {} }),
    ]
    for (const value of [
      ...bad,
      rpc({ id: null }),
      rpc({ error: 'no' }),
      { jsonrpc: '1.0', id: 1, result: {} },
    ])
      expect(messagesIn(value)).toBeUndefined()
  })

  it('is an answer even when its result is not an object: no request waits for another', () => {
    expect(messagesIn(rpc({ id: 1, result: null }))).toEqual([rpc({ id: 1, result: {} })])
    expect(messagesIn(rpc({ id: 1, result: 'ok' }))).toMatchObject([{ id: 1, error: { code: -32603 } }])
    expect(messagesIn(rpc({ id: 1 }))).toMatchObject([{ id: 1, error: { code: -32603 } }])
    expect(messagesIn(rpc({ id: 1, error: 'no' }))).toMatchObject([{ error: { message: 'no' } }])
    expect(messagesIn(rpc({ id: 1, error: { code: 'E', message: 'why' } }))).toMatchObject([
      { error: { code: -32603, message: 'why' } },
    ])
  })
})
