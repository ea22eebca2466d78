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

  it('has lines that end with LF, CR or CRLF, also where a chunk ends between the two', () => {
    const lines = ['retry: 7', 'id: 1', 'data: a', 'data', 'data: b', '', ': comment', 'data:c', '', '']
    for (const end of ['\n', '\r', '\r\n'])
      for (const size of [1, 2, 5, 1000]) {
        const { events, retries } = parse(lines.join(end), size)
        expect(events).toEqual([{ id: '1', data: 'a\n\nb' }, { data: 'c' }])
        expect(retries).toEqual([7])
      }
    expect(parse('data: a\rdata: b\ndata: c\r\n\r\n', 1).events).toEqual([{ data: 'a\nb\nc' }])
  })

  it('ignores an id with NUL, a retry that is no number, and fields that it does not know', () => {
    const { events, retries } = parse('id: a\0b\nretry: soon\nretry: -1\nwhatever: x\ndata: y\n\n')
    expect(events).toEqual([{ data: 'y' }])
    expect(retries).toEqual([])
  })

  it('counts the lines of an event, so that empty ones without end are bounded too', () => {
    const { events, overflows } = parse(`${'data\n'.repeat(5000)}\ndata: next\n\n`, 64)
    expect(overflows).toBe(1)
    expect(events).toEqual([{ data: 'next' }])
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
