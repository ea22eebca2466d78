import { describe, expect, it } from 'vitest'
import { raritiesOf, rerankScore } from './rerank.ts'
import { termsOf } from './terms.ts'

/** Each term of the question is as rare as the next. */
const asked = (question: string, rarity = 0.8) => new Map(termsOf(question).map((term) => [term, rarity]))
const look = (question: string, text: string, name?: string) => rerankScore(asked(question), { text, name })

describe('reranking', () => {
  it('prefers a name that has the words of the question, all before half of them', () => {
    const question = 'Set the maximum zoom of the layer'
    const whole = look(question, 'x', 'setMaximumZoom')
    const half = look(question, 'x', 'setMaximumResolution')
    expect(whole).toBeGreaterThan(half)
    expect(half).toBeGreaterThan(look(question, 'x', 'dispose'))
  })

  it('takes the best of many names, whatever the others are', () => {
    const question = 'retry a failed request'
    expect(look(question, 'x', 'open, close, retryRequest, dispose')).toBe(
      look(question, 'x', 'retryRequest'),
    )
  })

  it.each([
    ['export const retryRequest: Retry = dual(2, internal.retry)', 'a value'],
    ['def retry_request(again):', 'Python'],
    ['func (c *Client) retryRequest(n int) error {', 'Go'],
    ['    pub async fn retry_request(&self) -> Result {', 'Rust'],
    ['  protected final Reply retryRequest(Request it) {', 'Java'],
    ['  retryRequest(it) {', 'a method'],
  ])('finds the names that a text defines: %s', (line) => {
    const question = 'retry request'
    const mentioned = look(question, 'again with retry of the request\n')
    expect(look(question, `${line}\n`)).toBeGreaterThan(mentioned)
  })

  it('does not take a value inside a function, a call or a condition for a definition', () => {
    const question = 'retry request'
    const mentioned = look(question, 'start\n  other(retryRequest)\n')
    for (const line of [
      'let retryRequest = 1',
      'if (retryRequest(1)) {',
      'client.then = retryRequest(() => {',
    ])
      expect(look(question, `start\n  ${line}\n`)).toBeCloseTo(mentioned)
  })

  it('prefers one line with much of the question to many with a little each', () => {
    const question = 'escape quotes in shell arguments'
    const together = look(question, 'log("escape the quotes of shell arguments")\nfirst\nsecond\n')
    expect(together).toBeGreaterThan(look(question, 'log("escape")\nlog("quotes")\nlog("shell arguments")\n'))
  })

  it('gives nothing for nothing in common, and for no question', () => {
    expect(look('parse a date', 'function open() {\n}\n', 'open')).toBe(0)
    expect(rerankScore(new Map(), { text: 'function open() {\n}\n' })).toBe(0)
  })

  it('is bounded on a text that is one very long line', () => {
    const hostile = `${'a('.repeat(200_000)}{`
    expect(look('parse date', hostile)).toBe(0)
    expect(look('parse date', '(<'.repeat(300_000))).toBe(0)
  })
})

describe('rarities', () => {
  it('run from 0 to 1, whatever the size of the collection', () => {
    const rarities = raritiesOf(
      new Map([
        ['everywhere', 0],
        ['nowhere', 99],
      ]),
      1000,
    )
    expect(rarities.get('everywhere')).toBe(0)
    expect(rarities.get('nowhere')).toBe(1)
    expect([...raritiesOf(new Map([['alone', 0.3]]), 0).values()].every(Number.isFinite)).toBe(true)
  })
})
