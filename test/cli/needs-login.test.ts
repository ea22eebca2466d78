// A server of any URL kind that answers 401 needs a login: state `needs-auth`, exit code 5, and the hint says how. Run as a
// user runs it, and through the library without a login provider.
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type ConfiguredServer, openBoard } from '@plugboard/core'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { makePlace, type Place } from '../support/cli.ts'

let place: Place
let server: Server
let url: string
beforeEach(async () => {
  place = makePlace()
  server = createServer((request, response) => {
    const { method, url: path = '' } = request
    if (path.startsWith('/.well-known')) response.writeHead(404).end()
    // An SSE server accepts no POST at the URL of its stream.
    else if (path === '/older' && method === 'POST') response.writeHead(405).end()
    else response.writeHead(401, { 'WWW-Authenticate': 'Bearer' }).end()
  })
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
})
afterEach(async () => {
  server.closeAllConnections()
  await new Promise((done) => server.close(done))
  place.remove()
})

const ENTRIES = {
  'type sse': () => ({ type: 'sse', url: `${url}/older` }),
  'a bare url that became sse': () => ({ url: `${url}/older` }),
  'type http': () => ({ type: 'http', url: `${url}/mcp` }),
  'a bare url': () => ({ url: `${url}/mcp` }),
  'type sse with a token of its own': () => ({
    type: 'sse',
    url: `${url}/older`,
    headers: { Authorization: 'Bearer wrong' },
  }),
}

describe.each(Object.entries(ENTRIES))('401 at the first connect, %s', (_, entryOf) => {
  it('is a missing login to the command', async () => {
    const given = JSON.stringify({ mcpServers: { closed: entryOf() } })
    const words = ['--strict-mcp-config', '--mcp-config', given]
    const ran = await place.run('tools', 'closed', ...words)
    expect(ran.stderr).toContain('"closed" needs a login')
    expect(ran.code).toBe(5)
    const called = await place.run('call', 'closed.anything', '--json', ...words)
    expect(called.json.error.code).toBe('AUTH_REQUIRED')
    expect(called.code).toBe(5)
    const { servers } = (await place.run('list', '--json', ...words)).json
    expect(servers.find(({ name }: { name: string }) => name === 'closed')).toMatchObject({
      state: 'needs-auth',
    })
  }, 60_000)

  it('is a missing login to a program without a login provider', async () => {
    const entry = { headers: {}, fallbackToSse: !('type' in entryOf()), type: 'http', ...entryOf() }
    const given = { name: 'closed', scope: 'dynamic', source: 'test', entry, signature: 'closed' }
    await using board = await openBoard({
      servers: [given as ConfiguredServer],
      stateDir: place.home,
    })
    await board.ready({ timeoutMs: 20_000 })
    expect(board.servers()[0]).toMatchObject({ state: 'needs-auth' })
    await expect(board.call('closed.anything')).rejects.toMatchObject({ code: 'AUTH_REQUIRED' })
  }, 60_000)
})
