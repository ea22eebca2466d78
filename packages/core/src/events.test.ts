import { describe, expect, it } from 'vitest'
import { type BoardEvent, Events } from './events.ts'

const log = (text: string) => ({ server: 's', line: { at: 0, stream: 'stderr', text } }) as const

describe('events', () => {
  it('reach their listeners until they are taken off', () => {
    const events = new Events()
    const got: string[] = []
    const off = events.on('log', ({ line }) => got.push(line.text))
    events.emit('log', log('one'))
    off()
    events.emit('log', log('two'))
    expect(got).toEqual(['one'])
    expect(events.wanted('log')).toBe(false)
  })

  it('reach the next listener when one throws, and the one who emitted never hears of it', () => {
    const thrown: unknown[] = []
    const events = new Events((error) => thrown.push(error))
    const got: string[] = []
    events.on('log', () => {
      throw new Error('mine')
    })
    events.on('log', ({ line }) => got.push(line.text))
    events.emit('log', log('one'))
    expect(got).toEqual(['one'])
    expect(thrown).toHaveLength(1)
  })

  it('can be read one by one, from the moment the stream was asked for', async () => {
    const events = new Events()
    const stop = new AbortController()
    const stream = events.stream(stop.signal)
    events.emit('log', log('one'))
    const got: BoardEvent[] = []
    setTimeout(() => events.emit('log', log('two')), 5)
    for await (const event of stream) {
      got.push(event)
      if (got.length === 2) stop.abort()
    }
    expect(got).toMatchObject([
      { type: 'log', line: { text: 'one' } },
      { type: 'log', line: { text: 'two' } },
    ])
    expect(events.wanted('log')).toBe(false)
  })

  it('are let go when the reader breaks off', async () => {
    const events = new Events()
    const stream = events.stream()
    events.emit('log', log('one'))
    for await (const _ of stream) break
    expect(events.wanted('state')).toBe(false)
  })
})
