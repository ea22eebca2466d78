// The tasks of all clients: whose they are, how many there may be, and what makes room.
import { GATEWAY_LIMITS } from '@plugboard/core/limits'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { UNRESTRICTED } from '../access/access.ts'
import type { Client } from '../client-request.ts'
import type { Json } from '../json-rpc.ts'
import { replicaOfTask, TaskStore } from './task-store.ts'

const stores: TaskStore[] = []
afterEach(() => {
  vi.useRealTimers()
  for (const store of stores.splice(0)) store.close()
})

function made(replica?: string) {
  const store = new TaskStore(replica)
  stores.push(store)
  const stopped: string[] = []
  const add = (
    owner: string,
    { id = 'c', era = 'modern' as Client['era'], ttlMs = undefined as number | undefined } = {},
  ) =>
    store.add(
      {
        client: { id, era, owner },
        isNarrow: false,
        inputRequests: () => ({}),
        answer: () => undefined,
        stop: () => void stopped.push(owner),
      },
      ttlMs,
    )
  const client = (owner: string, era: Client['era'] = 'modern', id = 'c') => ({ id, owner, era }) as Client
  return { store, add, client, stopped }
}
const ended = (task: { ended(outcome: { result: Json }): void } | undefined, result: Json = {}) =>
  task?.ended({ result })

describe('a task', () => {
  it('is found by its owner in its era, and by no other', () => {
    const { store, add, client } = made('0123456789ab')
    const task = add('ada')
    const id = task?.id ?? ''
    expect(replicaOfTask(id)).toBe('0123456789ab')
    expect([replicaOfTask('x'), replicaOfTask(7), replicaOfTask(made().add('x')?.id)]).toEqual([
      undefined,
      undefined,
      undefined,
    ])
    expect(store.find(id, client('ada'))).toBe(task)
    expect(store.find(id, client('eve'))).toBeUndefined()
    expect(store.find(id, client('ada', 'legacy'))).toBeUndefined()
    expect(store.find('other', client('ada'))).toBeUndefined()
    expect(store.find([id], client('ada'))).toBeUndefined()
  })

  it('is listed to its owner, or to its client where clients share one', () => {
    const { store, add, client } = made()
    const [one, two] = [add('ada'), add('ada', { id: 'd' })]
    add('ada', { era: 'legacy' })
    add('eve')
    expect(store.listFor(client('ada'), false)).toEqual([one, two])
    expect(store.listFor(client('ada'), true)).toEqual([one])
    expect(store.listFor(client('bob'), false)).toEqual([])
  })

  it('is kept for as long as is asked, within the limits, and ended then', () => {
    vi.useFakeTimers()
    const { store, add, client, stopped } = made()
    expect([add('ada', { ttlMs: 0 })?.ttlMs, add('ada', { ttlMs: 1e12 })?.ttlMs, add('ada')?.ttlMs]).toEqual([
      1,
      GATEWAY_LIMITS.taskMs,
      GATEWAY_LIMITS.taskMs,
    ])
    vi.advanceTimersByTime(1)
    expect([store.listFor(client('ada'), false).length, stopped]).toEqual([2, ['ada']])
    vi.advanceTimersByTime(GATEWAY_LIMITS.taskMs)
    expect([store.listFor(client('ada'), false).length, stopped.length, vi.getTimerCount()]).toEqual([
      0, 3, 0,
    ])
  })

  it('has the end that came first', async () => {
    const { add, stopped } = made()
    const [cancelled, failed] = [add('ada'), add('eve')]
    cancelled?.cancel()
    cancelled?.cancel()
    cancelled?.ended({ result: { late: true } })
    expect([cancelled?.status, cancelled?.result(), stopped]).toEqual(['cancelled', {}, ['ada']])
    failed?.ended({ error: new Error('first') })
    failed?.ended({ result: {} })
    failed?.cancel()
    expect([failed?.status, stopped]).toEqual(['failed', ['ada']])
    expect(() => failed?.result()).toThrow('first')
    await failed?.over(new AbortController().signal)
  })

  it('of an owner who lost access is stopped, with its timer, and no other', () => {
    vi.useFakeTimers()
    const { store, add, client, stopped } = made()
    add('ada')
    add('eve')
    store.dropOwner('ada')
    expect([stopped, vi.getTimerCount()]).toEqual([['ada'], 1])
    expect(store.listFor(client('eve'), false)).toHaveLength(1)
    store.close()
    expect([stopped, vi.getTimerCount()]).toEqual([['ada', 'eve'], 0])
  })
})

describe('the room for tasks', () => {
  it('of one owner is bounded: what is over makes room, what runs does not', () => {
    const { store, add, client } = made()
    const first = add('ada')
    for (let at = 1; at < GATEWAY_LIMITS.tasksPerOwner; at++) expect(add('ada')).toBeDefined()
    expect(add('ada')).toBeUndefined()
    expect(add('eve')).toBeDefined()
    ended(first)
    const next = add('ada')
    expect(next).toBeDefined()
    expect(store.find(first?.id, client('ada'))).toBeUndefined()
    expect(store.listFor(client('ada'), false)).toHaveLength(GATEWAY_LIMITS.tasksPerOwner)
    expect(add('ada')).toBeUndefined()
  })

  it('of clients without a token, and of all, is bounded together', () => {
    const { store, add, client } = made()
    const first = add(UNRESTRICTED)
    for (let at = 1; at < GATEWAY_LIMITS.tasks; at++) expect(add(UNRESTRICTED)).toBeDefined()
    expect([add(UNRESTRICTED), add('ada')]).toEqual([undefined, undefined])
    ended(first)
    expect(add('ada')).toBeDefined()
    expect(store.find(first?.id, client(UNRESTRICTED))).toBeUndefined()
    expect(add('ada')).toBeUndefined()
  })

  it('for results is bounded too: the oldest that are over go, and nothing at the limit', () => {
    const { store, add, client } = made()
    const half = 'x'.repeat(GATEWAY_LIMITS.taskChars / 2 - JSON.stringify({ text: '' }).length)
    const [old, other] = [add('ada'), add('ada')]
    ended(old, { text: half })
    ended(other, { text: half })
    add('ada')
    expect(store.listFor(client('ada'), false)).toHaveLength(3)
    const third = add('ada')
    ended(third, { text: '' })
    add('ada')
    expect(store.find(old?.id, client('ada'))).toBeUndefined()
    expect(store.find(other?.id, client('ada'))).toBe(other)
  })
})
