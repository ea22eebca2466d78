// Audit lines in the store of the replicas: in order, sealed, and told apart from what another program wrote there.
import { expect, it } from 'vitest'
import { KeyRing } from '../sealing/key-ring.ts'
import { MemoryStore } from '../store/memory-store.ts'
import { AuditStream, readAuditStream } from './audit-stream.ts'

function replica(store: MemoryStore, id: string) {
  const closing: (() => Promise<void>)[] = []
  return { id, store, onClose: (work: () => Promise<void>) => void closing.push(work), closing }
}

it('has the lines of all replicas with their seals; arguments only where they are wanted', async () => {
  const store = new MemoryStore()
  const keys = KeyRing.ephemeral()
  const [one, two] = [replica(store, 'r1'), replica(store, 'r2')]
  const first = new AuditStream(one, keys, { stream: true })
  const second = new AuditStream(two, keys, { stream: true, arguments: true })
  first.add('{"user":"ada"}', '{"key":1}')
  first.add('{"user":"eve"}', undefined)
  await first.flush()
  second.add('{"user":"bob"}', '{"key":2}')
  for (const work of [...one.closing, ...two.closing]) await work()
  expect(await readAuditStream(store, keys, 10)).toEqual([
    { replica: 'r1', sealed: true, line: { user: 'ada' } },
    { replica: 'r1', sealed: true, line: { user: 'eve' } },
    { replica: 'r2', sealed: true, line: { user: 'bob', arguments: { key: 2 } } },
  ])
  await store.close()
})

it('shows which lines no replica wrote', async () => {
  const store = new MemoryStore()
  const keys = KeyRing.ephemeral()
  const stream = new AuditStream(replica(store, 'r1'), keys, { stream: true })
  stream.add('{"user":"ada"}', undefined)
  await stream.flush()
  const [own = ''] = await store.last('audit', 1)
  const forged = [
    own.replace('ada', 'eve'),
    own.replace('"batch":1', '"batch":2'),
    own.replace('r1', 'r9'),
    JSON.stringify({ replica: 'r1', batch: 1, lines: '{}', seal: KeyRing.ephemeral().seal('audit', {}) }),
    'not even JSON',
    '[]',
  ]
  for (const value of forged) await store.append('audit', value, 100)
  const read = await readAuditStream(store, keys, 100)
  expect(read.map(({ sealed }) => sealed)).toEqual([true, ...forged.map(() => false)])
  await store.close()
})

it('keeps lines while the store is away, and counts what is too much', async () => {
  const store = new MemoryStore()
  const keys = KeyRing.ephemeral()
  const stream = new AuditStream(replica(store, 'r1'), keys, { stream: true })
  store.setUp(false)
  for (let n = 0; n < 20_010; n++) stream.add(`{"n":${n}}`, undefined)
  await stream.flush()
  store.setUp(true)
  await stream.flush()
  const lines = await readAuditStream(store, keys, 1000)
  expect(lines).toHaveLength(20_001)
  expect(lines.filter(({ line }) => JSON.stringify(line).includes('dropped'))).toMatchObject([
    { line: { kind: 'dropped', count: 10 } },
  ])
  await store.close()
})
