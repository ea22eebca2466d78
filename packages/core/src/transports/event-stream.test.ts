import { describe, expect, it } from 'vitest'
import { EventStream, type StreamEvent } from './event-stream.ts'

function parse(text: string, size = text.length, maxBytes = 1000) {
  const events: StreamEvent[] = []
  const retries: number[] = []
  let overflows = 0
  const stream = new EventStream({
    maxBytes,
    onEvent: (event) => events.push(event),
    onRetry: (ms) => retries.push(ms),
    onOverflow: () => overflows++,
  })
  const bytes = Buffer.from(text)
  for (let at = 0; at < bytes.length; at += size) stream.push(bytes.subarray(at, at + size))
  return { events, retries, overflows }
}

describe('an event stream', () => {
  it('is read field by field, however it is cut', () => {
    const text =
      '\uFEFF: hello\nid: 1\nevent: message\ndata: a\ndata:  b\nother: x\n\nretry: 50\r\ndata:ž\r\n\r\nid\ndata\n\n'
    for (const size of [1, 3, 1000]) {
      const { events, retries } = parse(text, size)
      expect(events).toEqual([
        { id: '1', event: 'message', data: 'a\n b' },
        { data: 'ž' },
        { id: '', data: '' },
      ])
      expect(retries).toEqual([50])
    }
  })

  it('does not deliver what was not finished', () => {
    expect(parse('data: whole\n\ndata: half\n').events).toEqual([{ data: 'whole' }])
  })

  it('bounds an event by the line and by the sum of its lines', () => {
    expect(parse(`data: ${'x'.repeat(200)}\n\ndata: next\n\n`, 10, 100)).toMatchObject({ overflows: 1 })
    const sum = parse(`${`data: ${'x'.repeat(50)}\n`.repeat(3)}\ndata: next\n\n`, 10, 100)
    expect(sum.overflows).toBe(1)
    expect(sum.events.at(-1)).toEqual({ data: 'next' })
  })
})
