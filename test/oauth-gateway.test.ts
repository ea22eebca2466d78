// A client that knows only the address of the gateway logs in by OAuth: the SDK's client with a real authorization server
// (oidc-provider), from the first 401 to a call.
import {
  Client,
  type OAuthClientInformationMixed,
  type OAuthClientProvider,
  type OAuthTokens,
  StreamableHTTPClientTransport,
  UnauthorizedError,
} from '@modelcontextprotocol/client'
import { afterEach, expect, it } from 'vitest'
import { startAuthorizationServer } from '../packages/core/src/auth/fixtures/authorization-server.ts'
import { SERVER, serveGateway } from './support/gateway.ts'

const ends: (() => unknown)[] = []
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end()
})

/** Keeps what a client keeps, and remembers where the user is sent. */
class Login implements OAuthClientProvider {
  readonly redirectUrl = 'http://127.0.0.1:9/callback'
  readonly clientMetadata = {
    client_name: 'test',
    redirect_uris: [this.redirectUrl],
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code'],
    token_endpoint_auth_method: 'none',
  }
  address: URL | undefined
  #information: OAuthClientInformationMixed | undefined
  #tokens: OAuthTokens | undefined
  #verifier = ''

  clientInformation = () => this.#information
  saveClientInformation = (information: OAuthClientInformationMixed) => {
    this.#information = information
  }
  tokens = () => this.#tokens
  saveTokens = (tokens: OAuthTokens) => {
    this.#tokens = tokens
  }
  redirectToAuthorization = (address: URL) => {
    this.address = address
  }
  saveCodeVerifier = (verifier: string) => {
    this.#verifier = verifier
  }
  codeVerifier = () => this.#verifier
}

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
