import { expect, it } from 'vitest'
import { TrafficRecorder } from './traffic.ts'

function recorder({ isRead = true } = {}) {
  let now = 0
  const traffic = new TrafficRecorder(() => ++now)
  if (isRead) traffic.onRecorded(() => undefined)
  return { traffic, link: traffic.link('memory'), wait: (ms: number) => (now += ms) }
}

it('says what a message was before there was a reader, and keeps it whole from then on', () => {
  const { traffic, link, wait } = recorder({ isRead: false })
  const call = (id: number) => {
    const params = { name: 'add', arguments: { secret: 'x'.repeat(1000) } }
    traffic.record(link, 'sent', { id, method: 'tools/call', params })
    traffic.record(link, 'received', { id, result: { isError: true, content: [] } })
  }
  call(1)
  expect(traffic.entries()).toMatchObject([
    { kind: 'request', method: 'tools/call', name: 'add', isOutline: true },
    { kind: 'response', answers: 1, durationMs: 1, toolError: true, isOutline: true },
  ])
  expect(JSON.stringify(traffic.message(1))).not.toContain('xxx')
  call(2)
  expect(JSON.stringify(traffic.message(3))).toContain('xxx')
  expect(traffic.entries(2)[0]).not.toHaveProperty('isOutline')
  wait(11 * 60_000)
  call(3)
  expect(traffic.entries(4)[0]).toHaveProperty('isOutline')
})

it('pairs an answer with its request, on its own connection and in its direction', () => {
  const { traffic, link } = recorder()
  const other = traffic.link('memory')
  traffic.record(link, 'sent', { id: 1, method: 'tools/call', params: { name: 'add' } })
  traffic.record(other, 'sent', { id: 1, method: 'tools/list' })
  traffic.record(link, 'received', { id: 1, method: 'roots/list' })
  traffic.record(link, 'received', { id: 1, result: { isError: true } })
  traffic.record(other, 'received', { id: 1, error: { code: -1 } })
  traffic.record(link, 'sent', { id: 1, result: {} })
  expect(traffic.entries().slice(3)).toMatchObject([
    { kind: 'response', method: 'tools/call', name: 'add', answers: 1, durationMs: 3, toolError: true },
    { kind: 'error', method: 'tools/list', answers: 2, durationMs: 3 },
    { kind: 'response', method: 'roots/list', answers: 3, durationMs: 3 },
  ])
})

it('takes whatever arrives', () => {
  const { traffic, link } = recorder()
  for (const message of [{}, { id: {} }, { result: 1 }, { method: 7 }, { id: 'x', method: 'm', params: [] }])
    traffic.record(link, 'received', message)
  expect(traffic.entries().map(({ kind }) => kind)).toEqual([
    'response',
    'response',
    'response',
    'response',
    'request',
  ])
})

it('keeps the newest messages, and an outline of a large one', () => {
  const { traffic, link } = recorder()
  const text = 'x'.repeat(300 * 1024)
  traffic.record(link, 'sent', { id: 1, method: 'tools/call', params: { name: 'big', arguments: { text } } })
  expect(JSON.stringify(traffic.message(1)).length).toBeLessThan(1000)
  expect(traffic.entries()).toMatchObject([{ name: 'big', isCut: true }])
  for (let at = 0; at < 25_000; at++) traffic.record(link, 'received', { method: 'notifications/message' })
  const entries = traffic.entries()
  expect(entries).toHaveLength(10_000)
  expect(entries.at(-1)?.number).toBe(traffic.last)
  expect(traffic.message(1)).toBeUndefined()
})

it('is bounded in memory, whatever the sizes', () => {
  const { traffic, link } = recorder()
  const text = 'x'.repeat(200 * 1024)
  for (let at = 0; at < 1000; at++)
    traffic.record(link, 'received', { method: 'm', params: { text: `${text}${at}` } })
  const kept = traffic.entries()
  expect(kept.reduce((sum, { size }) => sum + size, 0)).toBeLessThanOrEqual(32 * 1024 * 1024)
  expect(kept.at(-1)?.number).toBe(1000)
})
