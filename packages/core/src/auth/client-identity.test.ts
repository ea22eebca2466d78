// The OAuth client of a login: what is configured, the metadata document, a known registration, or a new one.
import { createServer, type Server } from 'node:http'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { clientIdentity } from './client-identity.ts'
import { authSetup, cleanUp, remote } from './fixtures/setup.ts'
import { type ClientIdentity, clientSecret, type Login, saveClientSecret } from './stored-logins.ts'

let server: Server
let url: string
let answer: { status: number; body: string }
let asked: Record<string, unknown>[]
const setups: ReturnType<typeof authSetup>[] = []
beforeEach(async () => {
  asked = []
  answer = { status: 201, body: JSON.stringify({ client_id: 'new' }) }
  server = createServer((request, response) => {
    let text = ''
    request.on('data', (chunk) => {
      text += chunk
    })
    request.on('end', () => {
      asked.push(JSON.parse(text))
      response.writeHead(answer.status, { 'content-type': 'application/json' }).end(answer.body)
    })
  })
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  const address = server.address()
  url = `http://127.0.0.1:${typeof address === 'object' ? address?.port : 0}`
})
afterEach(async () => {
  cleanUp(...setups.splice(0))
  await new Promise((done) => server.close(done))
})

const setup = (...args: Parameters<typeof authSetup>) => {
  const made = authSetup(...args)
  setups.push(made)
  return made.context
}
const authorizationServer = (over = {}) => ({
  issuer: url,
  registration_endpoint: `${url}/register`,
  ...over,
})
const request = { redirectUri: 'http://localhost:1/callback' }
const loginWith = (client: ClientIdentity, issuer = url) => ({ as: { issuer }, client }) as unknown as Login

describe('a registration', () => {
  it.each<[readonly string[] | undefined, string]>([
    [undefined, 'none'],
    [['none', 'client_secret_basic'], 'none'],
    [['client_secret_post', 'client_secret_basic'], 'client_secret_basic'],
    [['client_secret_post'], 'client_secret_post'],
    [[], 'client_secret_post'],
  ])('at a server that supports %j asks for %s', async (methods, method) => {
    const as = authorizationServer(methods && { token_endpoint_auth_methods_supported: methods })
    const client = await clientIdentity(remote('s', url), setup(), as, { ...request, scope: 'a b' })
    expect(asked).toMatchObject([
      {
        token_endpoint_auth_method: method,
        redirect_uris: [request.redirectUri],
        scope: 'a b',
        client_name: 'Plugboard',
      },
    ])
    expect(client).toEqual({
      clientId: 'new',
      authMethod: method,
      source: 'registered',
      redirectUri: request.redirectUri,
      scope: 'a b',
    })
  })

  it.each([
    ['none', 'none'],
    ['client_secret_basic', 'client_secret_basic'],
    ['client_secret_post', 'client_secret_post'],
    ['magic', 'none'],
    [7, 'none'],
  ])('that is answered with the method %j uses %s, and keeps the secret', async (said, used) => {
    answer.body = JSON.stringify({ client_id: 'new', client_secret: 'x', token_endpoint_auth_method: said })
    const client = await clientIdentity(remote('s', url), setup(), authorizationServer(), request)
    expect(client).toMatchObject({ authMethod: used, clientSecret: 'x' })
    expect(client).not.toHaveProperty('scope')
    expect(asked[0]).not.toHaveProperty('scope')
  })

  it.each<[number, string, RegExp]>([
    [
      400,
      '{"error":"invalid_redirect_uri","error_description":"no loopback"}',
      /400.*invalid_redirect_uri.*no loopback/,
    ],
    [500, '<html>', /refused to register this client \(500\)/],
    [200, '{}', /without a client id/],
    [201, '{"client_id":7}', /without a client id/],
    [201, 'null', /without a client id/],
  ])('that is answered with %i %s is refused', async (status, body, message) => {
    answer = { status, body }
    const made = clientIdentity(remote('s', url), setup(), authorizationServer(), request)
    await expect(made).rejects.toMatchObject({ refusal: 'registration-refused' })
    await expect(made).rejects.toThrow(message)
  })

  it('needs an endpoint, and 200 is as good as 201', async () => {
    const as = authorizationServer({ registration_endpoint: undefined })
    await expect(clientIdentity(remote('s', url), setup(), as, request)).rejects.toThrow(
      /register themselves/,
    )
    answer.status = 200
    expect((await clientIdentity(remote('s', url), setup(), authorizationServer(), request)).clientId).toBe(
      'new',
    )
  })
})

describe('the client of a login', () => {
  const known: ClientIdentity = {
    clientId: 'known',
    source: 'registered',
    redirectUri: request.redirectUri,
    scope: 'a b',
  }

  it.each<[string, Partial<ClientIdentity>, string | undefined, string | undefined, string]>([
    ['the same', {}, undefined, undefined, 'known'],
    ['fewer scopes', {}, 'b', undefined, 'known'],
    ['all scopes', {}, 'b a', undefined, 'known'],
    ['more scopes', {}, 'a c', undefined, 'new'],
    ['another redirect', { redirectUri: 'http://localhost:2/callback' }, undefined, undefined, 'new'],
    ['another issuer', {}, undefined, 'https://other.example', 'new'],
    ['a configured one', { source: 'configured' }, undefined, undefined, 'new'],
    ['no known scope', { scope: '' }, 'a', undefined, 'new'],
  ])('with %s', async (_, over, scope, issuer, clientId) => {
    const previous = loginWith({ ...known, ...over }, issuer)
    const client = await clientIdentity(remote('s', url), setup(), authorizationServer(), {
      ...request,
      previous,
      ...(scope !== undefined && { scope }),
    })
    expect(client.clientId).toBe(clientId)
  })

  it.each<[boolean | undefined, string | undefined, string]>([
    [true, 'https://me.example/client.json', 'https://me.example/client.json'],
    [false, 'https://me.example/client.json', 'new'],
    [undefined, 'https://me.example/client.json', 'new'],
    [true, undefined, 'new'],
  ])('where documents are supported: %s, and ours is %s', async (supported, document, clientId) => {
    const context = setup(document === undefined ? {} : { settings: { clientMetadataUrl: document } })
    const as = authorizationServer({ client_id_metadata_document_supported: supported })
    expect((await clientIdentity(remote('s', url), context, as, request)).clientId).toBe(clientId)
  })

  it('is the configured one, whose secret stays with its issuer', async () => {
    const context = setup()
    const configured = remote('s', url, { oauth: { clientId: 'mine' } })
    const plain = await clientIdentity(configured, context, authorizationServer(), request)
    expect(plain).toEqual({ clientId: 'mine', source: 'configured' })
    const moved = { ...request, previous: loginWith(known, 'https://other.example') }
    expect((await clientIdentity(configured, context, authorizationServer(), moved)).clientId).toBe('mine')
    await saveClientSecret(configured, context, 'hush')
    expect(await clientIdentity(configured, context, authorizationServer(), request)).toMatchObject({
      clientSecret: 'hush',
    })
    const same = { ...request, previous: loginWith(known) }
    expect((await clientIdentity(configured, context, authorizationServer(), same)).clientSecret).toBe('hush')
    await expect(clientIdentity(configured, context, authorizationServer(), moved)).rejects.toMatchObject({
      refusal: 'issuer-mismatch',
    })
    expect(asked).toEqual([])
  })
})

describe('a client secret of the environment', () => {
  const named = { PLUGBOARD_CLIENT_SECRET_MY_SERVER: 'own' }
  const shared = { MCP_CLIENT_SECRET: 'shared' }

  it.each<[string, Record<string, string>, 'user' | 'repository', string | undefined]>([
    ['its own', named, 'user', 'own'],
    ['its own before the shared one', { ...named, ...shared }, 'user', 'own'],
    ['the shared one', shared, 'user', 'shared'],
    ['an empty one', { MCP_CLIENT_SECRET: '' }, 'user', undefined],
    ['none', {}, 'user', undefined],
    ['its own, for an entry of a repository', named, 'repository', undefined],
    ['the shared one, for an entry of a repository', shared, 'repository', undefined],
  ])('is %s', async (_, env, author, secret) => {
    const entry = { ...remote('my-server', url), author }
    expect(await clientSecret(entry, setup({ env }), url)).toBe(secret)
  })

  it('that names no server stays with the first authorization server', async () => {
    const context = setup({ env: shared })
    for (const issuer of [url, url])
      expect(await clientSecret(remote('s', url), context, issuer)).toBe('shared')
    await expect(clientSecret(remote('t', url), context, 'https://other.example')).rejects.toMatchObject({
      refusal: 'issuer-mismatch',
      hint: expect.stringContaining('PLUGBOARD_CLIENT_SECRET_T'),
    })
  })
})
