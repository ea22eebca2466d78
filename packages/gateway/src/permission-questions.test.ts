// A permission prompt belongs to one client: what another client leaves open, or does not see, changes nothing for it.
import { expect, it } from 'vitest'
import { connect, firstText, makeGateway, onEnd, serve, until, upstream } from './fixtures/kit.ts'

it('does not make a client wait for a prompt that another client leaves open', async () => {
  const rules = [{ action: 'ask', rule: 'one', file: 'settings.json', scope: 'user' }] as const
  const gateway = await makeGateway([upstream('one', 'legacy')], { ask: 'elicit' }, { rules })
  const { url } = await serve(gateway)
  let asked = 0
  const client = (answer: () => Promise<'once' | 'no'>) =>
    connect(url, {
      capabilities: { elicitation: { form: {} } },
      prepare: (one) =>
        one.setRequestHandler('elicitation/create', async () => {
          asked++
          return { action: 'accept', content: { answer: await answer() } }
        }),
    })
  let leave: (answer: 'no') => void = () => undefined
  const idle = await client(() => new Promise((done) => (leave = done)))
  const busy = await client(async () => 'once')
  const call = { name: 'mcp__one__echo', arguments: { text: 'hi' } }
  const open = idle.callTool(call)
  onEnd(() => leave('no'))
  await until(() => asked === 1, 30_000)
  expect(firstText(await busy.callTool(call))).toBe('hi')
  leave('no')
  expect(firstText(await open)).toContain('denied')
}, 60_000)
