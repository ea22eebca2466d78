// One stream of events to a client that reads at its own pace: what is written when, and when it is given up.
import { EventEmitter } from 'node:events'
import type { ServerResponse } from 'node:http'
import { GATEWAY_LIMITS } from '@plugboard/core/limits'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { EventStream } from './sse-sessions.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => vi.useRealTimers())

/** A response that takes as much as it is told to. */
function made() {
  const done: string[] = []
  let written = ''
  let isOver = false
  const res = Object.assign(new EventEmitter(), {
    writableNeedDrain: false,
    writeHead: (status: number) => void done.push(`head ${status}`),
    flushHeaders: () => undefined,
    write: (chunk: string | Buffer) => {
      written += String(chunk)
    },
    end: () => void done.push('end'),
    destroy: () => {
      if (!isOver) done.push('destroy')
      isOver = true
    },
    setTimeout: (ms: number, late: () => void) => void setTimeout(late, ms),
  })
  // What the stream uses of a response.
  const stream = new EventStream(res as unknown as ServerResponse, () => void done.push('closed'))
  return { res, stream, done, written: () => written }
}
const read = (res: ReturnType<typeof made>['res']) => {
  res.writableNeedDrain = false
  res.emit('drain')
}

describe('a stream of events', () => {
  it('is written at once to a client that reads, whole, and kept alive', () => {
    const { stream, written, done } = made()
    const long = 'x'.repeat(200_000)
    stream.send(long)
    expect([written() === long, stream.unread]).toEqual([true, 0])
    vi.advanceTimersByTime(GATEWAY_LIMITS.keepAliveMs)
    expect(written().slice(long.length)).toBe(': still here\n\n')
    expect(done).toEqual(['head 200'])
  })

  it('waits for a client that is slow, and goes on when it has read', () => {
    const { res, stream, written } = made()
    res.writableNeedDrain = true
    stream.send('one ')
    stream.send('two')
    expect([written(), stream.unread]).toEqual(['', 7])
    read(res)
    expect([written(), stream.unread]).toEqual(['one two', 0])
  })

  it('is given up when nothing moves for too long, and not while the client reads', () => {
    const { res, stream, done, written } = made()
    res.writableNeedDrain = true
    stream.send('waits')
    const { unreadMs, keepAliveMs } = GATEWAY_LIMITS
    vi.advanceTimersByTime(unreadMs)
    expect(done).toEqual(['head 200'])
    res.emit('drain')
    vi.advanceTimersByTime(unreadMs)
    expect(done).toEqual(['head 200'])
    vi.advanceTimersByTime(2 * keepAliveMs)
    expect(done).toEqual(['head 200', 'destroy'])
    expect(written()).toBe('')
  })

  it('holds so much for a slow client and no more, except for replies', () => {
    const { res, stream, done } = made()
    res.writableNeedDrain = true
    stream.send('x'.repeat(GATEWAY_LIMITS.unreadBytes))
    stream.send('at the limit')
    expect([done, stream.unread > GATEWAY_LIMITS.unreadBytes]).toEqual([['head 200'], true])
    stream.send('a reply', true)
    expect(done).toEqual(['head 200'])
    stream.send('no reply')
    expect(done).toEqual(['head 200', 'destroy'])
  })

  it('ends after what was sent, once, and is given up when that is not read', () => {
    const { res, stream, done, written } = made()
    res.writableNeedDrain = true
    stream.send('last words')
    stream.end()
    stream.end()
    stream.send('too late')
    expect([written(), done]).toEqual(['last words', ['head 200', 'end']])
    vi.advanceTimersByTime(GATEWAY_LIMITS.unreadMs)
    expect(done).toEqual(['head 200', 'end', 'destroy'])
    expect(written()).toBe('last words')
  })

  it('that the client left has no timer, and is told', () => {
    const { res, stream, done, written } = made()
    res.writableNeedDrain = true
    stream.send('lost')
    res.emit('close')
    expect([done, vi.getTimerCount()]).toEqual([['head 200', 'closed'], 0])
    stream.send('more')
    read(res)
    stream.end()
    expect([written(), done]).toEqual(['', ['head 200', 'closed']])
  })
})
