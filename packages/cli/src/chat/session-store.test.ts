import { appendFileSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Message } from '@plugboard/agent'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type SessionFile, SessionStore } from './session-store.ts'

let folder: string
let store: SessionStore
let open: SessionFile[] = []
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'plugboard-chats-'))
  store = new SessionStore(folder)
})
afterEach(async () => {
  // A lock that is still being taken would put its file back into the folder.
  for (const file of open) await file.close()
  open = []
  rmSync(folder, { recursive: true, force: true })
})

const user = (text: string): Message => ({ role: 'user', content: [{ type: 'text', text }] })
const calls: Message = {
  role: 'assistant',
  text: 'Let me look.',
  calls: [
    { id: '1', name: 'one', arguments: {} },
    { id: '2', name: 'two', arguments: {} },
  ],
}
const result = (id: string, name: string) =>
  ({ id, name, isError: false, content: [{ type: 'text', text: `${name} done` }] }) as const

function chat(root = '/p') {
  const file = store.create({ root, model: 'm' })
  open.push(file)
  return {
    file,
    path: () =>
      join(folder, 'chats', readdirSync(join(folder, 'chats')).find((name) => name.endsWith('.jsonl')) ?? ''),
  }
}

describe('a saved conversation', () => {
  it('leaves no file before something was said, and is readable by its owner only', () => {
    const { file, path } = chat()
    expect(store.list()).toEqual([])
    file.add({ type: 'message', message: user('hello  there\nyou') })
    expect(store.list('/p').map(({ id, title }) => [id, title])).toEqual([[file.id, 'hello there you']])
    expect(store.list('/other')).toEqual([])
    expect(statSync(path()).mode & 0o777).toBe(0o600)
  })

  it('keeps the pieces of an answer that never ended, and not those that were taken back', () => {
    const { file } = chat()
    file.add({ type: 'message', message: user('a') })
    file.add({ type: 'delta', text: 'wrong' })
    file.add({ type: 'discard' })
    for (const text of ['half ', 'an ans']) file.add({ type: 'delta', text })
    expect(store.read(file.id).messages).toEqual([
      user('a'),
      { role: 'assistant', text: 'half an ans', calls: [] },
    ])
    file.add({ type: 'message', message: user('b') })
    expect(store.read(file.id).messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'user'])
  })

  it('gives every call a result: the one that arrived, or that nothing is known', () => {
    const { file } = chat()
    file.add({ type: 'message', message: user('a') })
    file.add({ type: 'delta', text: 'Let me look.' })
    file.add({ type: 'message', message: calls })
    file.add({ type: 'result', result: result('2', 'two') })
    const last = store.read(file.id).messages.at(-1)
    expect(last).toMatchObject({
      role: 'results',
      results: [
        {
          id: '1',
          isError: true,
          content: [{ text: expect.stringContaining('whether it was done is unknown') }],
        },
        { id: '2', isError: false, content: [{ text: 'two done' }] },
      ],
    })
    file.add({
      type: 'message',
      message: { role: 'results', results: [result('1', 'one'), result('2', 'two')] },
    })
    expect(store.read(file.id).messages).toHaveLength(3)
  })

  it('survives a line that a crash has cut, and goes on after it', async () => {
    const { file, path } = chat()
    file.add({ type: 'message', message: user('a') })
    await file.close()
    appendFileSync(path(), '{"type":"message","mess')
    expect(store.read(file.id).messages).toEqual([user('a')])
    const { file: again } = await store.takeUp(file.id)
    if (again) open.push(again)
    again?.add({ type: 'message', message: user('b') })
    expect(store.read(file.id).messages).toEqual([user('a'), user('b')])
    expect(readFileSync(path(), 'utf8').split('\n')).toHaveLength(5)
  })

  it('is written by one chat at a time', async () => {
    const { file } = chat()
    file.add({ type: 'message', message: user('a') })
    await expect.poll(() => readdirSync(join(folder, 'chats'))).toContain(`${file.id}.jsonl.lock`)
    const busy = await store.takeUp(file.id)
    expect([busy.file, busy.chat.messages]).toEqual([undefined, [user('a')]])
    await file.close()
    const free = await store.takeUp(file.id)
    expect(free.file?.id).toBe(file.id)
    await free.file?.close()
    expect(readdirSync(join(folder, 'chats'))).toEqual([`${file.id}.jsonl`])
  })

  it('is found by a part of its id that means one', () => {
    const [first, second] = [chat(), chat()]
    for (const { file } of [first, second]) file.add({ type: 'message', message: user('x') })
    expect(store.read(first.file.id.slice(-6)).id).toBe(first.file.id)
    expect(() => store.read('2')).toThrow(/means 2 conversations/)
    expect(() => store.read('../../etc/passwd')).toThrow(/There is no conversation/)
  })

  it('counts usage, and a compacted conversation stands for all before it', () => {
    const { file } = chat()
    file.add({ type: 'message', message: user('a') })
    file.add({ type: 'usage', usage: { inputTokens: 10, outputTokens: 1 } })
    file.add({ type: 'replace', messages: [user('summary')] })
    file.add({ type: 'usage', usage: { inputTokens: 5, outputTokens: 2 } })
    expect(store.read(file.id)).toMatchObject({
      messages: [user('summary')],
      usage: { inputTokens: 15, outputTokens: 3 },
    })
  })
})
