// Lines that wait for the audit log: which numbers they have, and how they become a block that follows the end of the log.
import { describe, expect, it } from 'vitest'
import { AUDIT_LIMITS } from '../limits.ts'
import { blockOf, type TakenLines, WaitingLines } from './audit-blocks.ts'
import { type End, START } from './audit-file.ts'

const textOf = ({ buffer, used }: TakenLines) => buffer.toString('utf8', 0, used)
const numbers = (text: string) =>
  text
    .trimEnd()
    .split('\n')
    .map((line) => (JSON.parse(line) as { seq: number }).seq)

describe('waiting lines', () => {
  it('are counted from the first one, and from where the last ones ended', () => {
    const lines = new WaitingLines()
    lines.add('"a":1')
    lines.add('"a":2')
    expect(lines.count).toBe(2)
    const taken = lines.take()
    expect([taken.first, taken.count, textOf(taken)]).toEqual([1, 2, '{"seq":1,"a":1}\n{"seq":2,"a":2}\n'])
    expect([lines.count, lines.bytes]).toEqual([0, 0])
    lines.follow(2)
    lines.add('"a":3')
    expect(lines.take()).toMatchObject({ first: 3, count: 1 })
  })

  it('follow a log that another process wrote to', () => {
    const lines = new WaitingLines()
    lines.follow(10)
    lines.add('"a":1')
    const taken = lines.take()
    expect([taken.first, textOf(taken)]).toEqual([11, '{"seq":11,"a":1}\n'])
  })

  it('that were numbered before another process wrote do not count up from anything', () => {
    const lines = new WaitingLines()
    lines.add('"a":1')
    lines.follow(10)
    lines.add('"a":2')
    expect(lines.take().first).toBeUndefined()
    lines.add('"a":3')
    expect(lines.take().first).toBe(13)
  })

  it('that came while others were written keep their numbers', () => {
    const lines = new WaitingLines()
    lines.add('"a":1')
    lines.take()
    lines.add('"a":2')
    lines.follow(1)
    const taken = lines.take()
    expect([taken.first, numbers(textOf(taken))]).toEqual([2, [2]])
  })

  it('are the same however many characters they have', () => {
    for (const length of [AUDIT_LIMITS.textChars, AUDIT_LIMITS.bufferBytes, 3 * AUDIT_LIMITS.bufferBytes]) {
      const lines = new WaitingLines()
      const long = '€'.repeat(length)
      lines.add(`"a":"${long}"`)
      lines.add('"a":2')
      expect(textOf(lines.take(Buffer.alloc(8)))).toBe(`{"seq":1,"a":"${long}"}\n{"seq":2,"a":2}\n`)
      lines.add('"a":3')
      expect(textOf(lines.take())).toBe('{"seq":3,"a":3}\n')
    }
  })
})

describe('a block', () => {
  const end = (seq: number, startsFile = false): End => ({ seq, hash: START, open: '', startsFile })
  const takenFrom = (text: string, first: number | undefined, room = 0): TakenLines => ({
    buffer: Buffer.concat([Buffer.from(text), Buffer.alloc(room, '\n')]),
    used: Buffer.byteLength(text),
    count: text.split('\n').length - 1,
    first,
  })
  const written = async (taken: TakenLines, from: End, gap?: string) =>
    Buffer.concat([...(await blockOf(taken, from, undefined, gap)).parts]).toString('utf8')

  it.each([0, 10, 1000])('has its end, with %i bytes left in the buffer', async (room) => {
    const text = await written(takenFrom('{"seq":1,"a":1}\n{"seq":2,"a":2}\n', 1, room), end(0))
    expect(text).toMatch(/^\{"seq":1,"a":1\}\n\{"seq":2,"a":2,"prev":"0{64}","hash":"[0-9a-f]{64}"\}\n$/)
  })

  it('has two hashes where it starts a file: one for its first line alone', async () => {
    const three = '{"seq":1,"a":1}\n{"seq":2,"a":2}\n{"seq":3,"a":3}\n'
    const rows = (await written(takenFrom(three, 1), end(0, true))).trimEnd().split('\n')
    expect(rows.map((row) => row.includes('"hash"'))).toEqual([true, false, true])
    const one = (await written(takenFrom('{"seq":1,"a":1}\n', 1), end(0, true))).trimEnd().split('\n')
    expect(one).toHaveLength(1)
  })

  it.each<[string, number | undefined, number, string | undefined, number[]]>([
    ['as they are', 1, 0, undefined, [1, 2]],
    ['after another process', 1, 5, undefined, [6, 7]],
    ['from no number', undefined, 0, undefined, [1, 2]],
    ['after a gap', 1, 0, '"kind":"gap"', [1, 2, 3]],
  ])('numbers its lines %s', async (_, first, seq, gap, expected) => {
    const taken = takenFrom('{"seq":1,"a":1}\n{"seq":2,"a":2}\n', first, 300)
    const block = await blockOf(taken, end(seq), undefined, gap)
    expect(numbers(Buffer.concat([...block.parts]).toString())).toEqual(expected)
    expect(block.seq).toBe(expected.at(-1))
  })

  it.each([-1, 0, 1])('is numbered anew whole, %i bytes from the size of a piece', async (more) => {
    const fixed = '{"seq":9,"a":""}\n'.length
    const rest = '{"seq":9,"a":""}\n'
    const fill = AUDIT_LIMITS.renumberedBytes + more - fixed - rest.length
    const text = `{"seq":9,"a":"${'x'.repeat(fill)}"}\n${rest}`
    expect(numbers(await written(takenFrom(text, undefined, 300), end(0)))).toEqual([1, 2])
    expect(numbers(await written(takenFrom(`${text}${text}`, undefined), end(3)))).toEqual([4, 5, 6, 7])
  })
})
