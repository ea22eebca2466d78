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
})
