// One HTTP exchange that is given up before the server answers.
import { Agent } from 'undici'
import { afterEach, describe, expect, it } from 'vitest'
import { type Asked, json, scripted } from './fixtures/http-script.ts'
import { until } from './fixtures/support.ts'
import { httpExchange } from './http-dispatch.ts'

const ends: (() => unknown)[] = []
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end()
})

describe('a request that is given up', () => {
  it('while it waits for a connection fails at once, not on its turn, and is never sent', async () => {
    const held: Asked[] = []
    const server = await scripted((asked) => held.push(asked))
    ends.push(() => server.close())
    const dispatcher = new Agent({ connections: 1 })
    ends.push(() => dispatcher.destroy())
    const { origin } = new URL(server.url)
    const order: string[] = []
    const ask = (path: string, onAbortable?: (abort: (reason: Error) => void) => void) =>
      httpExchange(dispatcher, { origin, path, method: 'GET', headers: [] }, onAbortable).then(
        async (response) => {
          await response.text(1000)
          order.push(`${path} answered`)
        },
        (error: Error) => order.push(`${path} failed: ${error.message}`),
      )
    const first = ask('/first')
    await until(() => held.length === 1, 'the first request has the only connection')
    let giveUp = (_reason: Error): void => undefined
    const second = ask('/second', (abort) => {
      giveUp = abort
    })
    giveUp(new Error('enough'))
    for (const asked of held) json(asked, {})
    await Promise.all([first, second])
    expect(order).toEqual(['/second failed: enough', '/first answered'])
    expect(held.map(({ url }) => url)).toEqual(['/first'])
  })
})
