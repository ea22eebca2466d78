import { describe, expect, it } from 'vitest'
import { board, configured, hastyHost, recorded, textOf, until } from './fixtures/kit.ts'
import { modernHttp } from './fixtures/modern-http.ts'

const remote = (url: string) => configured('modern', { type: 'http', url, headers: {} })
const weather = (where: string) => ({ name: 'weather', arguments: { where } })

describe('a tool that wants a header beside its arguments', () => {
  it('gets it over the wire, with every other header of 2026-07-28', async () => {
    const server = await modernHttp()
    const made = await board({ servers: [remote(server.url)] })
    expect(textOf(await made.link.request('modern', 'tools/call', weather('eu-west')))).toBe(
      'it is nice in eu-west',
    )
    const call = server.heard.find(({ method }) => method === 'tools/call')
    expect(call?.headers).toMatchObject({
      'mcp-param-region': 'eu-west',
      'mcp-method': 'tools/call',
      'mcp-name': 'weather',
      'mcp-protocol-version': '2026-07-28',
    })
  })

  it('is listed again and called once more when the server says that the headers do not fit', async () => {
    const server = await modernHttp()
    const made = await board({ servers: [remote(server.url)] })
    await made.ready()
    server.headerName = 'Zone'
    expect(textOf(await made.link.request('modern', 'tools/call', weather('eu')))).toBe('it is nice in eu')
    expect(server.heard.filter(({ method }) => method === 'tools/call')).toHaveLength(2)
    expect(server.heard.filter(({ method }) => method === 'tools/list')).toHaveLength(2)
  })
})

describe('a subscription of 2026-07-28', () => {
  it('is opened for what the server declares, and its words reach the lists', async () => {
    const server = await modernHttp()
    const made = await board({ servers: [remote(server.url)] })
    await made.ready()
    await until('it listens', () => server.listening.length === 1)
    expect(server.listening[0]?.asked.params['notifications']).toEqual({ toolsListChanged: true })
    server.toolName = 'climate'
    server.listening[0]?.tell('notifications/tools/list_changed')
    await until('the list is new', () => made.tools()[0]?.mcpInfo.toolName === 'climate')
  })

  it('is opened again when it is cut, and what was missed meanwhile is read', async () => {
    const server = await modernHttp()
    const made = await board({ servers: [remote(server.url)], host: hastyHost(5) })
    await made.ready()
    await until('it listens', () => server.listening.length === 1)
    // Changed while no subscription is open.
    server.toolName = 'climate'
    server.listening[0]?.cut()
    await until('the list is new', () => made.tools()[0]?.mcpInfo.toolName === 'climate')
    expect(server.heard.filter(({ method }) => method === 'subscriptions/listen')).toHaveLength(2)
    expect(made.servers()[0]?.state).toBe('connected')
  })

  it('covers the resources that a caller follows, until none does', async () => {
    const server = await modernHttp()
    const made = await board({ servers: [remote(server.url)] })
    const events = recorded(made)
    await made.ready()
    await made.link.connection('modern').subscribe('test://one')
    const last = () => server.listening.at(-1)
    await until('only the wider one is open', () => server.listening.length === 1)
    expect(last()?.asked.params['notifications']).toEqual({
      toolsListChanged: true,
      resourceSubscriptions: ['test://one'],
    })
    last()?.tell('notifications/resources/updated', { uri: 'test://one' })
    await until('the update is an event', () =>
      events.some((event) => event.type === 'resource-updated' && event.uri === 'test://one'),
    )
    await made.link.connection('modern').unsubscribe('test://one')
    await until(
      'only the narrower one is open',
      () =>
        server.listening.length === 1 &&
        !Object.hasOwn(last()?.asked.params['notifications'] as object, 'resourceSubscriptions'),
    )
  })

  it('ends with the board', async () => {
    const server = await modernHttp()
    const made = await board({ servers: [remote(server.url)] })
    await made.ready()
    await until('it listens', () => server.listening.length === 1)
    await made.close()
    await until('no stream is open', () => server.listening.length === 0)
  })
})
