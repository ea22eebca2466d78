// What a run leaves on the screen, event by event, with a clock of its own.
import type { AgentEvent } from '@plugboard/agent'
import { beforeEach, describe, expect, it } from 'vitest'
import { createColors } from '../colors.ts'
import { patchLines } from './file-edits.ts'
import { Transcript } from './transcript.ts'

let rows: string[]
let clock: number
let transcript: Transcript
beforeEach(() => {
  rows = []
  clock = 0
  transcript = new Transcript({
    color: createColors(false),
    now: () => clock,
    root: '/no/such/project',
    columns: () => 40,
    print: (more) => rows.push(...more),
    isReadOnly: () => false,
  })
})

const show = async (...events: AgentEvent[]) => {
  for (const event of events) await transcript.show(event)
}
const start = (id: string, name: string, args: unknown = {}): AgentEvent => ({
  type: 'tool-start',
  id,
  name,
  title: `notes: ${name}`,
  arguments: args,
})
const end = (id: string, name: string, durationMs: number, text = 'ok'): AgentEvent => ({
  type: 'tool-end',
  id,
  name,
  isError: false,
  durationMs,
  content: [{ type: 'text', text }],
})
const usage = { inputTokens: 1, outputTokens: 1 }

describe('a call', () => {
  it('takes the time of the call, without that of the question about it', async () => {
    await show(start('1', 'say'))
    transcript.asked(4000)
    clock = 4090
    expect(transcript.live(40, 10)).toEqual([expect.stringContaining('notes: say 90 ms')])
    await show(end('1', 'say', 4090))
    expect(rows).toEqual(['→ notes: say', '✔ notes: say 90 ms', '  ok'])
  })

  it('keeps its time and its progress on a narrow screen; the title gives way', async () => {
    const title = 'a tool with a title that is much longer than the screen'
    await show({ ...start('1', 'long'), title } as AgentEvent)
    await show({ type: 'tool-progress', id: '1', progress: 1, total: 2 } as AgentEvent)
    const [row = ''] = transcript.live(40, 10)
    expect(row).toMatch(/^. a tool with.*… 0 ms \[.*\] 50 %$/)
    expect(row.length).toBeLessThanOrEqual(40)
  })

  it('that patches files without a question shows what it changed', async () => {
    const patch =
      '*** Begin Patch\n*** Update File: a.txt\n@@\n one\n-two\n+three\n*** Add File: b.txt\n+new\n*** End Patch\n'
    const name = 'mcp__workspace__apply_patch'
    await show(start('1', name, { patch }), end('1', name, 5, 'changed a.txt, created b.txt.'))
    expect(rows.slice(1, 8)).toEqual([
      '  … *** Update File: a.txt',
      '    one',
      '  - two',
      '  + three',
      '  … *** Add File: b.txt',
      '  + new',
      '  2 added, 1 removed',
    ])
  })
})

it('says so when the model answered nothing', async () => {
  await show({ type: 'done', reason: 'end', text: '', turns: 1, usage, messages: [] })
  expect(rows).toEqual(['The model answered nothing.'])
  await show({ type: 'done', reason: 'end', text: 'Hi.', turns: 1, usage, messages: [] })
  expect(rows).toHaveLength(1)
})

describe('the lines of a patch', () => {
  it.each([
    ['a unified one', '--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n same\n-old\n+new\n', 'ggg =-+'],
    ['a removed line that begins with two dashes', '@@ -1 +1 @@\n--- a comment\n+-- another\n', 'g-+'],
    ['an added line that begins with two pluses', '@@\n+++ i\n x\n', '+='],
    ['with the line ends of Windows', '*** Update File: a\r\n-b\r\n+c\r\n', 'g-+'],
    ['an empty one', '', ''],
  ])('of %s', (_what, patch, kinds) => {
    const marks = { gap: 'g', same: '=', added: '+', removed: '-' }
    expect(
      patchLines({ patch })
        ?.map(({ kind }) => marks[kind])
        .join(''),
    ).toBe(kinds.replaceAll(' ', ''))
  })

  it('are none without a patch', () => {
    for (const args of [undefined, null, {}, { patch: 7 }, 'text']) expect(patchLines(args)).toBeUndefined()
  })
})
