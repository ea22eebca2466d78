// A client that leaves every question unanswered does not use up the slots of other clients.
import { GATEWAY_LIMITS } from '@plugboard/core/limits'
import { expect, it } from 'vitest'
import { makeGateway, serve, upstream } from '../fixtures/kit.ts'
import { UNRESTRICTED } from './access.ts'
import { ConcurrencyLimit } from './fair-slots.ts'

const META = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientCapabilities': { elicitation: { form: {} } },
}

type Answer = {
  readonly result?: { readonly resultType: string; readonly requestState?: string }
  readonly error?: { readonly message: string }
}

async function ask(url: string, token: string, more: object = {}): Promise<Answer> {
  const response = await fetch(url, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      authorization: `Bearer ${token}`,
      'mcp-protocol-version': '2026-07-28',
      'mcp-method': 'tools/call',
      'mcp-name': 'mcp__one__ask',
    },
    body: JSON.stringify({
      jsonrpc: '2.0',
      id: 1,
      method: 'tools/call',
      params: { name: 'mcp__one__ask', arguments: {}, _meta: META, ...more },
    }),
  })
  return (await response.json()) as Answer
}

it('parks a limited number of calls per owner, and those of other owners beside them', async () => {
  const gateway = await makeGateway([upstream('one', 'modern')])
  await gateway.wake(15_000)
  const tokens = ['token-of-the-first', 'token-of-the-second'] as const
  const { url } = await serve(
    gateway,
    tokens.map((token) => ({ token, exposure: gateway.expose })),
  )
  const [greedy, modest] = tokens
  const parked: Answer[] = []
  while (parked.length < GATEWAY_LIMITS.clientQuestionsPerOwner)
    parked.push(...(await Promise.all(Array.from({ length: 50 }, () => ask(url, greedy)))))
  expect(parked.every(({ result }) => result?.resultType === 'input_required')).toBe(true)
  expect((await ask(url, greedy)).error?.message).toContain('Too many calls are waiting for input')
  expect((await ask(url, modest)).result?.resultType).toBe('input_required')
  const requestState = parked[0]?.result?.requestState
  const inputResponses = { name: { action: 'accept', content: { name: 'Ada' } } }
  expect((await ask(url, greedy, { requestState, inputResponses })).result?.resultType).toBe('complete')
  expect((await ask(url, greedy)).result?.resultType).toBe('input_required')
})

it('gives clients without a token the whole limit, because they share one owner', () => {
  const quota = new ConcurrencyLimit(3, 1)
  const first = quota.tryAcquire('a')
  expect(first).toBeDefined()
  expect(quota.tryAcquire('a')).toBeUndefined()
  expect(quota.tryAcquire(UNRESTRICTED)).toBeDefined()
  expect(quota.tryAcquire(UNRESTRICTED)).toBeDefined()
  expect(quota.tryAcquire('b')).toBeUndefined()
  first?.release()
  first?.release()
  expect(quota.tryAcquire('b')).toBeDefined()
  expect(quota.tryAcquire('a')).toBeUndefined()
  expect(quota.count).toBe(3)
})

it('evicts the owner that holds most for one that holds less, and for no other', () => {
  const quota = new ConcurrencyLimit(4, 4)
  const evicted: string[] = []
  for (const name of ['first', 'second', 'third']) quota.tryAcquire('greedy', () => evicted.push(name))
  quota.tryAcquire('modest', () => evicted.push('modest'))
  expect(quota.tryAcquire('greedy')).toBeUndefined()
  expect(quota.tryAcquire('new')).toBeDefined()
  expect(evicted).toEqual(['first'])
  expect(quota.tryAcquire('new')).toBeUndefined()
  expect(quota.count).toBe(4)
})
