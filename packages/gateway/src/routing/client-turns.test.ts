// Several users at once on one legacy server whose questions do not say which call they are for: each gets its own.
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import { connect, firstText, makeGateway, serve, stdio } from '../fixtures/kit.ts'

const server = stdio('one', [fileURLToPath(new URL('../fixtures/asking.mjs', import.meta.url))])

async function users(...names: string[]) {
  const gateway = await makeGateway([server])
  await gateway.wake(15_000)
  const { url } = await serve(gateway)
  return await Promise.all(
    names.map(async (name) => {
      const heard: string[] = []
      const client = await connect(url, {
        capabilities: { elicitation: { form: {} } },
        prepare: (one) =>
          one.setRequestHandler('elicitation/create', async ({ params }) => {
            heard.push(params.message)
            return { action: 'accept', content: { name } }
          }),
      })
      const call = async (tool: string, ms = 0) =>
        firstText(await client.callTool({ name: `mcp__one__${tool}`, arguments: { who: name, ms } }))
      return { name, heard, call }
    }),
  )
}

it('asks each of several users that call at once, and no user the question of another', async () => {
  const all = await users('Ada', 'Alan', 'Grace', 'Edsger')
  for (let round = 1; round <= 2; round++) {
    expect(await Promise.all(all.map(({ call }) => call('ask', 20)))).toEqual(
      all.map(({ name }) => `${name} said ${name}`),
    )
    for (const { name, heard } of all) expect(heard).toEqual(Array(round).fill(`Is it ${name}?`))
  }
})

it('lets a question wait while calls of others run that may have asked it', async () => {
  const [ada, alan] = await users('Ada', 'Alan')
  if (!ada || !alan) throw new Error('Two users are needed.')
  expect(await ada.call('wait')).toBe('Ada waited')
  const waits = ada.call('wait', 1500)
  expect(await alan.call('ask')).toBe('Alan said Alan')
  expect(await waits).toBe('Ada waited')
  expect(ada.heard).toEqual([])
})

it('runs calls of several users at once when they have never asked', async () => {
  const all = await users('Ada', 'Alan', 'Grace')
  await all[0]?.call('wait')
  const order: string[] = []
  await Promise.all(
    all.map(async ({ name, call }, at) => {
      await call('wait', 900 - at * 400)
      order.push(name)
    }),
  )
  expect(order).toEqual(['Grace', 'Alan', 'Ada'])
})
