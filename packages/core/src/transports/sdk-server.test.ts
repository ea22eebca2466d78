// A server inside the embedding program: found by the name of its entry, and missed with a reason.
import { expect, it } from 'vitest'
import { InitError } from '../errors.ts'
import { testContext } from './fixtures/support.ts'
import { linkedPair } from './linked-pair.ts'
import { openTransport } from './open.ts'

it('is found under the name that its entry gives, or its own', async () => {
  const [transport] = linkedPair()
  const handOver = (name: string) => (name === 'here' || name === 'fixture' ? transport : undefined)
  expect(await openTransport({ type: 'sdk', name: 'here' }, testContext({ handOver }))).toBe(transport)
  expect(await openTransport({ type: 'sdk' }, testContext({ handOver }))).toBe(transport)
  const missed = openTransport({ type: 'sdk', name: 'gone' }, testContext({ handOver }))
  await expect(missed).rejects.toThrow(InitError)
  await expect(missed).rejects.toThrow('No in-process server is registered as "gone".')
  await expect(openTransport({ type: 'sdk', name: 'here' }, testContext())).rejects.toThrow(/registered/)
})
