// When the circuit of a server opens, who tries it again, and what does not count.
import { InitError, IoError, JsonRpcError, OutcomeUnknown } from '@plugboard/core'
import { describe, expect, it } from 'vitest'
import { RateLimited } from '../errors.ts'
import { CircuitBreakers } from './circuit-breaker.ts'

const lost = () => new InitError('down', { server: 's' })

function breakers() {
  const clock = { now: 1000 }
  const all = new CircuitBreakers(() => clock.now)
  const fail = (times: number, error: unknown = lost(), key = 's') => {
    for (let n = 0; n < times; n++) all.failed(key, error)
  }
  return { clock, all, fail }
}

describe('the circuit of a server', () => {
  it('opens after five calls in a row that did not reach it, and says when to come back', () => {
    const { all, fail } = breakers()
    fail(4)
    expect(() => all.enter('s', 's')).not.toThrow()
    expect(all.info('s')).toEqual({ state: 'closed', failures: 4 })
    fail(1)
    expect(() => all.enter('s', 's')).toThrow('none is tried now')
    expect(all.info('s')).toEqual({ state: 'open', failures: 5, retryMs: 2000 })
    expect(() => all.enter('other', 'other')).not.toThrow()
  })

  it('lets one call try when its time is over; that call decides', () => {
    const { all, fail, clock } = breakers()
    fail(5)
    clock.now += 2000
    expect(all.info('s').state).toBe('half-open')
    all.enter('s', 's')
    expect(() => all.enter('s', 's')).toThrow(IoError)
    fail(1)
    // Never for longer: a server that is back must not wait for its circuit.
    for (let n = 0; n < 10; n++) {
      expect(all.info('s')).toMatchObject({ state: 'open', retryMs: 2000 })
      clock.now += 2000
      all.enter('s', 's')
      fail(1)
    }
    clock.now += 2000
    all.enter('s', 's')
    all.succeeded('s')
    expect(all.info('s')).toEqual({ state: 'closed', failures: 0 })
  })

  it('stays for the next call when the one that tries is refused or cancelled', () => {
    const { all, fail, clock } = breakers()
    fail(5)
    clock.now += 2000
    all.enter('s', 's')
    all.failed('s', new RateLimited('1 calls per minute', 1000))
    expect(() => all.enter('s', 's')).not.toThrow()
  })

  it.each([
    ['an error of the server itself', new JsonRpcError(-32603, 'mine')],
    ['a refusal by a limit', new RateLimited('1 calls per minute', 1000)],
    ['a plain error', new Error('x')],
    ['a server that crashes inside a call', new IoError('gone', { server: 's' })],
    ['a write whose outcome is unknown', new OutcomeUnknown('gone', { server: 's' })],
  ])('is not opened by %s', (_, error) => {
    const { all, fail } = breakers()
    fail(20, error)
    expect(all.info('s').state).toBe('closed')
  })

  it('is closed by an answer, also by an error of the server', () => {
    const { all, fail } = breakers()
    fail(4, new InitError('down', { server: 's' }))
    fail(1, new JsonRpcError(-32603, 'mine'))
    fail(4)
    expect(all.info('s').state).toBe('closed')
  })

  it('is one for each instance, and there is an end to how many are kept', () => {
    const { all, fail } = breakers()
    fail(5, lost(), '["s","eve"]')
    expect(() => all.enter('s', '["s","eve"]')).toThrow(IoError)
    expect(() => all.enter('s', '["s","ada"]')).not.toThrow()
    for (let n = 0; n < 2000; n++) fail(1, lost(), `i${n}`)
    expect(all.info('["s","eve"]')).toEqual({ state: 'closed', failures: 0 })
  })
})
