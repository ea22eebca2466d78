// When the questions of a call can be answered by any process: all of them came in one answer of one server.
import { GATEWAY_LIMITS } from '@plugboard/core/limits'
import { describe, expect, it } from 'vitest'
import { resumptionOf } from './request-state.ts'

const origin = (key: string, more: object = {}) =>
  ({ origin: { server: 's', key, requestState: 'r', ...more } }) as never

describe('a call with open questions', () => {
  it.each<[string, [string, never][], object | undefined]>([
    ['one', [['a', origin('a')]], { server: 's', requestState: 'r', keys: ['a'] }],
    [
      'two of one answer',
      [
        ['a', origin('a')],
        ['b', origin('b')],
      ],
      { server: 's', requestState: 'r', keys: ['a', 'b'] },
    ],
    ['none', [], undefined],
    ['one without an origin', [['a', {} as never]], undefined],
    [
      'a second one without',
      [
        ['a', origin('a')],
        ['b', {} as never],
      ],
      undefined,
    ],
    [
      'another server',
      [
        ['a', origin('a')],
        ['b', origin('b', { server: 't' })],
      ],
      undefined,
    ],
    ['another key', [['a', origin('x')]], undefined],
    [
      'another answer',
      [
        ['a', origin('a')],
        ['b', origin('b', { requestState: 'q' })],
      ],
      undefined,
    ],
    [
      'no state at all',
      [['a', origin('a', { requestState: undefined })]],
      { server: 's', requestState: undefined, keys: ['a'] },
    ],
  ])('(%s) can be resumed elsewhere or not', (_, questions, found) => {
    expect(resumptionOf(questions)).toEqual(found)
  })

  it('carries a state up to the limit', () => {
    const fits = 'x'.repeat(GATEWAY_LIMITS.stateChars - 2)
    expect(resumptionOf([['a', origin('a', { requestState: fits })]])).toBeDefined()
    expect(resumptionOf([['a', origin('a', { requestState: `${fits}x` })]])).toBeUndefined()
  })
})
