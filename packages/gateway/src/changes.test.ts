// Servers that appear, disappear, change or start slowly, as the clients of a gateway see it.
import { describe, expect, it } from 'vitest'
import {
  bare,
  connect,
  firstText,
  folder,
  makeGateway,
  seenIn,
  serve,
  stdio,
  until,
  upstream,
} from './fixtures/kit.ts'
import { readExposure } from './index.ts'

type Connected = Awaited<ReturnType<typeof connect>>

async function names(client: Connected): Promise<readonly string[]> {
  return (await client.listTools()).tools.map(({ name }) => name)
}

/** Forgets the notifications so far once no more arrive: some from the servers' start may still be on the way. */
async function silence(...heard: string[][]): Promise<void> {
  do {
    for (const list of heard) list.length = 0
    await new Promise((done) => setTimeout(done, 500))
  } while (heard.some((list) => list.length > 0))
}

describe('a configuration that changes', () => {
  it.each(['legacy', 'modern'] as const)(
    'is announced to the clients that see the difference (%s)',
    async (era) => {
      const gateway = await makeGateway([upstream('one', 'legacy'), bare('two')])
      await gateway.wake(15_000)
      const { url } = await serve(gateway, [
        { token: 'all-of-the-servers', exposure: readExposure([]) },
        { token: 'only-the-second-one', exposure: readExposure(['two']) },
      ])
      const heard = { all: [] as string[], second: [] as string[] }
      const join = async (token: string, into: string[]) => {
        const client = await connect(url, {
          era,
          token,
          prepare: (one) => {
            for (const list of ['tools', 'resources', 'prompts'] as const)
              one.setNotificationHandler(`notifications/${list}/list_changed`, () => void into.push(list))
            one.setNotificationHandler(
              'notifications/resources/updated',
              ({ params }) => void into.push(params.uri),
            )
          },
        })
        const resourceSubscriptions = ['plugboard://status']
        if (era === 'legacy') await client.subscribeResource({ uri: 'plugboard://status' })
        else
          await client.listen({
            toolsListChanged: true,
            resourcesListChanged: true,
            promptsListChanged: true,
            resourceSubscriptions,
          })
        return client
      }
      const all = await join('all-of-the-servers', heard.all)
      const second = await join('only-the-second-one', heard.second)
      expect(await names(all)).toContain('mcp__one__echo')
      await silence(heard.all, heard.second)

      await gateway.board.link.apply([bare('two')])
      await until(() =>
        ['tools', 'resources', 'prompts', 'plugboard://status'].every((one) => heard.all.includes(one)),
      )
      expect(await names(all)).toEqual(['mcp__two__given'])
      expect(heard.second).toEqual([])

      await silence(heard.all)
      await gateway.board.link.apply([bare('two'), bare('three')])
      await until(() => heard.all.includes('tools'))
      expect(await names(all)).toEqual(['mcp__two__given', 'mcp__three__given'])
      expect(heard.second).toEqual([])

      const deny = { action: 'deny', rule: 'mcp__two__given', file: 'test', scope: 'user' } as const
      await gateway.board.link.apply([bare('two'), bare('three')], [deny])
      await until(() => heard.second.includes('tools'))
      expect(await names(second)).toEqual([])
    },
    30_000,
  )

  it('keeps the subscriptions of clients, also when their server is gone', async () => {
    const dir = folder()
    const gateway = await makeGateway([upstream('one', 'legacy')])
    await gateway.wake(15_000)
    const { url } = await serve(gateway)
    const heard: string[] = []
    const client = await connect(url, {
      prepare: (one) =>
        one.setNotificationHandler(
          'notifications/resources/updated',
          ({ params }) => void heard.push(params.uri),
        ),
    })
    const uri = 'plugboard://one/test://note'
    await Promise.all([client.subscribeResource({ uri }), client.subscribeResource({ uri })])
    // The same name with another command line: a new server, which has no subscription yet.
    await gateway.board.link.apply([upstream('one', 'legacy', dir)])
    await gateway.board.ready()
    await until(() => seenIn(dir).includes('subscribed test://note'))
    await client.callTool({ name: 'mcp__one__touch', arguments: {} })
    await until(() => heard.includes(uri))
    await gateway.board.link.apply([])
    await client.unsubscribeResource({ uri })
    expect(await names(client)).toEqual([])
  }, 30_000)
})

describe('an unknown name', () => {
  it('is refused at once, although other servers are still connecting', async () => {
    const gateway = await makeGateway([
      bare('one'),
      bare('late', 600_000),
      stdio('dead', ['-e', 'process.exit(1)']),
    ])
    await gateway.board.link.connection('one').settled()
    await gateway.board.link.connection('dead').settled()
    const { url } = await serve(gateway)
    const client = await connect(url)
    expect(gateway.board.link.connection('late').state.kind).toBe('pending')
    const patience = { timeout: 20_000 }
    const call = (name: string) => client.callTool({ name, arguments: {} }, patience)
    await expect(call('mcp__one__nothing')).rejects.toMatchObject({ code: -32602 })
    await expect(call('mcp__nobody__nothing')).rejects.toMatchObject({ code: -32602 })
    await expect(client.getPrompt({ name: 'mcp__one__nothing' }, patience)).rejects.toMatchObject({
      code: -32602,
    })
    await expect(client.readResource({ uri: 'plugboard://one/x://y' }, patience)).rejects.toThrow()
    // A server that is down is not an unknown name: the model is told what is wrong with it.
    const away = await call('mcp__dead__anything')
    expect(away.isError).toBe(true)
    expect(firstText(away)).toContain('INIT_ERROR')
  }, 30_000)

  it('is waited for while its own server is connecting', async () => {
    const gateway = await makeGateway([bare('late', 1500)])
    const { url } = await serve(gateway)
    const waking = gateway.wake(1)
    const client = await connect(url)
    await waking
    const result = await client.callTool({ name: 'mcp__late__given', arguments: { a: 1 } })
    expect(firstText(result)).toContain('"arguments":{"a":1}')
  }, 30_000)
})

describe('what a client does not see', () => {
  it.each(['legacy', 'modern'] as const)('is not in its instructions either (%s)', async (era) => {
    const gateway = await makeGateway([bare('one'), bare('two'), stdio('dead', ['-e', 'process.exit(1)'])])
    await gateway.wake(15_000)
    const { url } = await serve(gateway, [{ token: 'only-the-first-one', exposure: readExposure(['one']) }])
    const client = await connect(url, { era, token: 'only-the-first-one' })
    expect(client.getInstructions()).toContain('# one')
    expect(client.getInstructions()).not.toMatch(/two|dead/)
    const status = await client.readResource({ uri: 'plugboard://status' })
    expect(JSON.stringify(status)).not.toMatch(/two|dead/)
  })

  it('gives out its lists in one piece', async () => {
    const gateway = await makeGateway([bare('one')])
    await gateway.wake(15_000)
    const { url } = await serve(gateway)
    const client = await connect(url)
    await expect(client.listTools({ cursor: 'forged' })).rejects.toMatchObject({ code: -32602 })
  })
})

describe('a modern client that subscribes to resources', () => {
  it('is notified of those whose servers are up, and is told which these are', async () => {
    const gateway = await makeGateway([upstream('one', 'legacy'), stdio('dead', ['-e', 'process.exit(1)'])])
    await gateway.wake(15_000)
    const { url } = await serve(gateway)
    const client = await connect(url, { era: 'modern' })
    const heard: string[] = []
    client.setNotificationHandler(
      'notifications/resources/updated',
      ({ params }) => void heard.push(params.uri),
    )
    const uri = 'plugboard://one/test://note'
    const subscription = await client.listen({ resourceSubscriptions: [uri, 'plugboard://dead/test://note'] })
    expect(subscription.honoredFilter.resourceSubscriptions).toEqual([uri])
    await client.callTool({ name: 'mcp__one__touch', arguments: {} })
    await until(() => heard.includes(uri))
    await expect(client.listen({ resourceSubscriptions: ['plugboard://nobody/x'] })).rejects.toThrow()
  })
})
