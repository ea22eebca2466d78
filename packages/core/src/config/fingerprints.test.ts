import { describe, expect, it } from 'vitest'
import type { ServerEntry } from './entry.ts'
import { hashOf, startSignature } from './fingerprints.ts'

const stdio = (more: object = {}): ServerEntry => ({
  type: 'stdio',
  command: 'x',
  args: ['a', 'b'],
  env: { A: '1', B: '2' },
  ...more,
})
const http = (url: string): ServerEntry => ({ type: 'http', url, headers: {} })

describe('the signature', () => {
  it('is the same for the same server, whatever the rest says', () => {
    const same = startSignature(stdio())
    expect(startSignature(stdio({ env: { B: '2', A: '1' } }))).toBe(same)
    expect(startSignature(stdio({ timeout: 5, disabled: true, cwd: '/x' }))).toBe(same)
    expect(startSignature({ type: 'sse', url: 'https://EXAMPLE.com:443/mcp/', headers: { a: 'b' } })).toBe(
      startSignature(http('https://example.com/mcp')),
    )
  })

  it.each<[string, ServerEntry, ServerEntry]>([
    ['command', stdio(), stdio({ command: 'y' })],
    ['args', stdio(), stdio({ args: ['a b'] })],
    ['how args are cut', stdio({ args: ['a,b'] }), stdio({ args: ['a', 'b'] })],
    ['env', stdio(), stdio({ env: { A: '1' } })],
    ['url', http('https://a.com/x'), http('https://a.com/y')],
    ['query', http('https://a.com/x?p=/'), http('https://a.com/x?p=')],
  ])('differs by %s', (_, a, b) => expect(startSignature(a)).not.toBe(startSignature(b)))
})

describe('the hash that an approval is bound to', () => {
  it('does not depend on the order of keys', () => {
    expect(hashOf({ a: 1, b: { c: 2, d: 3 } })).toBe(hashOf({ b: { d: 3, c: 2 }, a: 1 }))
    expect(hashOf({ a: 1, b: undefined })).toBe(hashOf({ a: 1 }))
  })

  it.each<[string, unknown, unknown]>([
    ['one character', { command: 'x' }, { command: 'y' }],
    ['the order of a list', { args: ['a', 'b'] }, { args: ['b', 'a'] }],
    ['a type', { a: '1' }, { a: 1 }],
    ['a key that is not known', { command: 'x' }, { command: 'x', extra: 1 }],
    ['a flag', { disabled: true }, { disabled: false }],
    ['numbers that JSON cannot write', { a: Number.POSITIVE_INFINITY }, { a: Number.NEGATIVE_INFINITY }],
    ['a text that looks like structure', { a: 'b","c":"d' }, { a: 'b', c: 'd' }],
    ['halves of characters', { a: '\ud800' }, { a: '\ud801' }],
    ['null and absence', { a: null }, {}],
  ])('differs by %s', (_, a, b) => expect(hashOf(a)).not.toBe(hashOf(b)))

  it('is long enough that its author cannot find two entries for one hash', () => {
    expect(hashOf({})).toMatch(/^[0-9a-f]{64}$/)
  })
})
