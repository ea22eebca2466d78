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

describe('the text that is hashed', () => {
  // Approvals on users' machines are bound to these.
  it.each<[unknown, string]>([
    [
      { command: 'x', args: ['b', 'a'], env: { B: '2', A: '1' } },
      'cf3603c8d9aeaca843837ef4bf2c2a2c33f3f0e26e6eca4f6a0c7981e86efdd4',
    ],
    [
      { env: { A: '1', B: '2' }, args: ['b', 'a'], command: 'x', cwd: undefined },
      'cf3603c8d9aeaca843837ef4bf2c2a2c33f3f0e26e6eca4f6a0c7981e86efdd4',
    ],
    [null, '74234e98afe7498fb5daf1f36ac2d78acc339464f950703b8c019892f982b90b'],
    [undefined, '74234e98afe7498fb5daf1f36ac2d78acc339464f950703b8c019892f982b90b'],
  ])('of %j stays as it is', (written, hash) => {
    expect(hashOf(written)).toBe(hash)
  })

  it('keeps a list apart from an object, and a number from another', () => {
    expect(hashOf(['a'])).not.toBe(hashOf({ 0: 'a' }))
    expect(hashOf(Number.POSITIVE_INFINITY)).not.toBe(hashOf(Number.NEGATIVE_INFINITY))
  })

  it('is there for a server whose address is not known yet', () => {
    const editor = startSignature({ type: 'sse-ide', headers: {} } as ServerEntry)
    expect(editor).not.toBe(startSignature({ type: 'ws-ide', headers: {} } as ServerEntry))
    expect(startSignature(http('${HOST}/mcp'))).not.toBe(startSignature(http('${OTHER}/mcp')))
  })
})
