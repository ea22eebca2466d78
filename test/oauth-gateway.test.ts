// A client that knows only the address of the gateway logs in by OAuth: the SDK's client with a real authorization server
// (oidc-provider), from the first 401 to a call.
import { Client, StreamableHTTPClientTransport, UnauthorizedError } from '@modelcontextprotocol/client'
import { afterEach, expect, it } from 'vitest'
import { startAuthorizationServer } from '../packages/core/src/auth/fixtures/authorization-server.ts'
import { SERVER, serveGateway } from './support/gateway.ts'
import { Login } from './support/oauth-login.ts'

const ends: (() => unknown)[] = []
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end()
})

it.each(['legacy', 'auto'] as const)(
  'the SDK client finds the authorization server, logs in and calls (%s)',
  async (mode) => {
    const authorization = await startAuthorizationServer({ jwtClaims: { groups: ['eng'] } })
    ends.push(() => authorization.close())
    const gateway = await serveGateway({
      servers: { one: { command: process.execPath, args: [SERVER] } },
      gateway: (port) => ({
        publicUrl: `http://127.0.0.1:${port}`,
        auth: { issuers: [{ issuer: authorization.issuer, scopes: ['mcp'] }] },
        roles: { dev: { groups: ['eng'], expose: ['one'] } },
      }),
    })
    ends.push(() => gateway.remove())
    const login = new Login()
    const client = () => new Client({ name: 'test', version: '1' }, { versionNegotiation: { mode } })
    const transport = () => new StreamableHTTPClientTransport(new URL(gateway.url), { authProvider: login })
    const first = transport()
    await expect(client().connect(first)).rejects.toBeInstanceOf(UnauthorizedError)
    expect(login.address?.searchParams.get('resource')).toBe(gateway.url)
    const back = new URL(await authorization.walk(String(login.address)))
    await first.finishAuth(back.searchParams)
    const connected = client()
    await connected.connect(transport())
    ends.push(() => connected.close())
    const { tools } = await connected.listTools()
    expect(tools.map(({ name }) => name)).toContain('mcp__one__read')
    const { content } = await connected.callTool({ name: 'mcp__one__read', arguments: {} })
    expect(JSON.stringify(content)).toContain('read ')
  },
  120_000,
)
