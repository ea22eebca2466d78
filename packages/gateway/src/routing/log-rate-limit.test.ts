// A server that logs without end: its client gets some of it and the number of the rest, and other clients are served.
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import { bare, connect, firstText, makeGateway, serve, stdio } from '../fixtures/kit.ts'
import { LogRates } from './log-rate-limit.ts'

it('passes on so many messages of a server in a second, and says how many it left out', () => {
  let now = 0
  const rates = new LogRates(2, () => now)
  expect([1, 2, 3, 4].map(() => rates.take('loud'))).toEqual([0, 0, 'drop', 'drop'])
  expect(rates.take('calm')).toBe(0)
  now = 1000
  expect(rates.take('loud')).toBe(2)
  expect(rates.take('loud')).toBe(0)
  expect(rates.take('loud')).toBe('drop')
})

it('keeps a flood of log messages from the client of its call, and other clients are served meanwhile', async () => {
  const script = fileURLToPath(new URL('../fixtures/flood.mjs', import.meta.url))
  const gateway = await makeGateway([stdio('loud', [script], { COUNT: '20000' }), bare('calm')])
  await gateway.wake(20_000)
  const { url } = await serve(gateway)
  const heard: string[] = []
  const client = await connect(url, {
    prepare: (one) =>
      one.setNotificationHandler(
        'notifications/message',
        ({ params }) => void heard.push(String(params.data)),
      ),
  })
  const other = await connect(url)
  const flooded = client.callTool({ name: 'mcp__loud__flood', arguments: {} })
  for (let n = 0; n < 20; n++) await other.callTool({ name: 'mcp__calm__given', arguments: {} })
  expect(firstText(await flooded)).toBe('done')
  // A busy machine may read the flood in several seconds.
  expect(heard.length).toBeLessThan(10_000)
  expect(heard.some((text) => /^\d+ log messages of "loud" were left out/.test(text))).toBe(true)
}, 60_000)
