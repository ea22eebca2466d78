import { describe, expect, it } from 'vitest'
import { authChallenge, parseChallenges } from './challenge.ts'

const parsed = (header: string) =>
  parseChallenges(header).map(({ scheme, params }) => [scheme, Object.fromEntries(params)])

describe('WWW-Authenticate', () => {
  it.each([
    ['Bearer', [['bearer', {}]]],
    ['Bearer realm="a, b", scope="x y"', [['bearer', { realm: 'a, b', scope: 'x y' }]]],
    [
      'Basic realm="x", Bearer scope=read',
      [
        ['basic', { realm: 'x' }],
        ['bearer', { scope: 'read' }],
      ],
    ],
    [
      'Negotiate YWJj==, DPoP algs="ES256"',
      [
        ['negotiate', {}],
        ['dpop', { algs: 'ES256' }],
      ],
    ],
    ['Bearer error="say \\"hi\\""', [['bearer', { error: 'say "hi"' }]]],
    ['Bearer x_scope="no", scope="yes"', [['bearer', { x_scope: 'no', scope: 'yes' }]]],
    ['"', []],
    ['Bearer __proto__="x"', [['bearer', { ['__proto__']: 'x' }]]],
  ])('%s', (header, expected) => expect(parsed(header)).toEqual(expected))

  it('reads no header that is absurdly long', () => {
    expect(parseChallenges(`Bearer realm="${'x'.repeat(20_000)}"`)).toEqual([])
  })

  it('asks for proofs only where nothing else is offered', () => {
    const dpop = (header: string) => authChallenge(header).dpop
    expect(dpop('DPoP algs="ES256"')).toBe(true)
    expect(dpop('Bearer, DPoP algs="ES256"')).toBe(false)
    expect(dpop('Basic')).toBe(false)
  })

  it('reads a header as long as it may be, and as many words as it may have', () => {
    const long = `Bearer realm="${'x'.repeat(16 * 1024 - 'Bearer realm=""'.length)}"`
    expect(parseChallenges(long)).toHaveLength(1)
    expect(parseChallenges(`${long} `)).toEqual([])
    expect(parseChallenges(null)).toEqual([])
    expect(parseChallenges('')).toEqual([])
    const words = Array.from({ length: 300 }, (_, at) => `s${at}`).join(', ')
    expect(parseChallenges(words)).toHaveLength(256)
    expect(parseChallenges('Bearer   ')).toHaveLength(1)
  })

  it.each([
    ['Bearer', { dpop: false }],
    ['Bearer scope="a b"', { dpop: false, scope: 'a b' }],
    ['Bearer error="e"', { dpop: false, error: 'e' }],
    ['Bearer resource_metadata="m", scope=""', { dpop: false, resourceMetadata: 'm' }],
    ['Basic scope="no", DPoP scope="yes"', { dpop: true, scope: 'yes' }],
    ['Bearer error="first", DPoP error="second"', { dpop: false, error: 'first' }],
  ])('%s asks for %j', (header, expected) => {
    expect(authChallenge(header)).toStrictEqual(expected)
  })
})
