import { describe, expect, it } from 'vitest'
import { AnswerTooLarge } from '../errors.ts'
import { tooLargeAnswer } from './oversized-response.ts'

const MAX = 64 * 1024 * 1024
const idOf = (start: string, end = '') => tooLargeAnswer({ start, end }, 's', MAX)

describe('an answer that was skipped', () => {
  it.each([
    ['first', '{"jsonrpc":"2.0","id":7,"result":{"content":[{"type":"te', 'xx"}]}}', 7],
    ['first, as text', '{ "id" : "a\\"b" , "jsonrpc":"2.0", "result":{', '}}', 'a"b'],
    ['after other members', '{"jsonrpc":"2.0","extra":true,"none":null,"n":-1.5e3,"id":3,"result":', '}', 3],
    ['last, as the SDK writes it', '{"result":{"content":[', 'x"}]},"jsonrpc":"2.0","id":12}', 12],
    ['last, after what is no member', '{ no member', ',"id":4}', 4],
    ['last, after a comma without a member', '{"a":1,{', ',"id":5}', 5],
    ['last but for the version', '{"result":{"content":[', 'x"}]},"id":"q-1","jsonrpc":"2.0"} \r', 'q-1'],
  ])('is known by its id: %s', (_where, start, end, id) => {
    const answer = tooLargeAnswer({ start, end }, 's', MAX)
    expect(answer).toMatchObject({
      jsonrpc: '2.0',
      id,
      error: { message: expect.stringContaining('64 MiB') },
    })
    expect((answer as { error: { data: unknown } }).error.data).toBeInstanceOf(AnswerTooLarge)
  })

  it('does not take the id of something inside it for its own', () => {
    expect(idOf('{"result":{"id":5,"content":[', '{"id":6}]}}')).not.toHaveProperty('id')
    expect(idOf('{"result":"\\"id\\":5', '"}')).not.toHaveProperty('id')
  })

  it('may be one of a batch, and then it is not known whose', () => {
    const answer = idOf('[{"jsonrpc":"2.0","id":1,"result":{', '}}]')
    expect(answer).toBeDefined()
    expect(answer).not.toHaveProperty('id')
  })

  it.each([
    ['noise', 'xxxxxxxxxxxxxxxxxxxxxxxxxxxxx'],
    ['a notification', '{"jsonrpc":"2.0","method":"notifications/message","params":{"data":"'],
    ['a request', '{"jsonrpc":"2.0","id":1,"method":"sampling/createMessage","params":{'],
  ])('is not %s', (_what, start) => {
    expect(idOf(start, '"}}')).toBeUndefined()
  })
})
