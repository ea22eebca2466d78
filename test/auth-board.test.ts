// A board and a server that requires a login: refused, logged in elsewhere, connected, refreshed, stepped up.
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import {
  type AuthorizationServer,
  startAuthorizationServer,
} from '../packages/core/src/auth/fixtures/authorization-server.ts'
import {
  type ResourceServer,
  startResourceServer,
} from '../packages/core/src/auth/fixtures/resource-server.ts'
import {
  type AuthSetup,
  authSetup,
  cleanUp,
  pasting,
  remote,
} from '../packages/core/src/auth/fixtures/setup.ts'
import { authFor, login, serverKey, watchLogins } from '../packages/core/src/auth/index.ts'
import { loadLogin, saveLogin } from '../packages/core/src/auth/stored-logins.ts'
import type { LocalBoard } from '../packages/core/src/board/local-board.ts'
import { openBoard } from '../packages/core/src/board/open.ts'

let as: AuthorizationServer
let rs: ResourceServer
let fixture: AuthSetup
let board: LocalBoard | undefined

beforeEach(async () => {
  as = await startAuthorizationServer()
  fixture = authSetup()
})
afterEach(async () => {
  await board?.close()
  await rs.close()
  await as.close()
  cleanUp(fixture)
})

const open = async (type: 'http' | 'claudeai-proxy' = 'http') => {
  const server = { ...remote('guarded', rs.url), entry: { ...remote('guarded', rs.url).entry, type } }
  board = await openBoard({
    servers: [server],
    stateDir: fixture.dir,
    auth: (which) => authFor(which, fixture.context),
  })
  await board.ready()
  return { board, server }
}

describe('a board and a server behind a login', () => {
  it.each(['http', 'claudeai-proxy'] as const)('connect after a login made elsewhere (%s)', async (type) => {
    rs = await startResourceServer({ as })
    const { board, server } = await open(type)
    expect(board.servers()[0]).toMatchObject({ state: 'needs-auth' })

    const stop = await watchLogins(fixture.context, (key) => {
      if (key === serverKey(server)) void board.reconnect('guarded')
    })
    await login(server, fixture.context, pasting(as))
    await expect.poll(() => board.servers()[0]?.state, { timeout: 10_000 }).toBe('connected')
    stop()
    const result = await board.link.request('guarded', 'tools/call', { name: 'whoami', arguments: {} })
    expect(result).toMatchObject({ content: [{ text: 'ada' }] })
  })

  it('go on when the token expires, also with many calls at once', async () => {
    rs = await startResourceServer({ as })
    await login(remote('guarded', rs.url), fixture.context, pasting(as))
    const { board, server } = await open()
    const known = await loadLogin(server, fixture.context)
    rs.intercept = (request, response) => {
      if (request.headers.authorization !== `Bearer ${known?.tokens.accessToken}`) return false
      response.writeHead(401, { 'www-authenticate': 'Bearer error="invalid_token"' }).end()
      return true
    }
    fixture.advance(60_000)
    const calls = Array.from({ length: 8 }, () =>
      board.link.request('guarded', 'tools/call', { name: 'whoami', arguments: {} }),
    )
    expect(await Promise.all(calls)).toHaveLength(8)
    expect(as.counts).toMatchObject({ refresh: 1, refreshFailed: 0 })
  })

  it('disconnect when the refresh fails, and the error says what to do', async () => {
    rs = await startResourceServer({ as })
    await login(remote('guarded', rs.url), fixture.context, pasting(as))
    const { board, server } = await open()
    const known = await loadLogin(server, fixture.context)
    if (known)
      await saveLogin(server, fixture.context, {
        ...known,
        tokens: { ...known.tokens, refreshToken: 'dead' },
      })
    rs.intercept = (_request, response) => {
      response.writeHead(401, { 'www-authenticate': 'Bearer error="invalid_token"' }).end()
      return true
    }
    fixture.advance(60_000)
    await expect(board.link.request('guarded', 'tools/list')).rejects.toMatchObject({
      code: 'AUTH_REQUIRED',
      shellHint: expect.stringContaining('plugboard login guarded'),
    })
  })

  it('need a second login when a tool requires more scopes than were granted', async () => {
    rs = await startResourceServer({ as, toolScope: 'tools:write' })
    await login(remote('guarded', rs.url), fixture.context, pasting(as))
    const { board, server } = await open()
    const call = () => board.link.request('guarded', 'tools/call', { name: 'whoami', arguments: {} })
    await expect(call()).rejects.toMatchObject({
      code: 'AUTH_REQUIRED',
      hint: expect.stringContaining('tools:write'),
    })
    await login(server, fixture.context, pasting(as))
    expect(await call()).toMatchObject({ content: [{ text: 'ada' }] })
  })

  it('use DPoP where the server requires it', async () => {
    rs = await startResourceServer({ as, dpop: true })
    await login(remote('guarded', rs.url), fixture.context, pasting(as))
    const { board } = await open()
    expect(board.servers()[0]).toMatchObject({ state: 'connected' })
  })
})
