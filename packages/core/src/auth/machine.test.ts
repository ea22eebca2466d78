import * as jose from 'jose'
import { afterEach, describe, expect, it } from 'vitest'
import { AuthRequired } from '../errors.ts'
import { startAuthorizationServer } from './fixtures/authorization-server.ts'
import { startResourceServer } from './fixtures/resource-server.ts'
import { authSetup, cleanUp, ping, remote } from './fixtures/setup.ts'
import { authFor } from './request-auth.ts'
import { clientSecret, loadLogin, saveClientSecret } from './stored-logins.ts'

const open: { close(): Promise<void> }[] = []
const setup = authSetup()
afterEach(async () => {
  for (const server of open.splice(0).reverse()) await server.close()
  cleanUp(setup)
})

async function machinery(client: Record<string, unknown>) {
  const as = await startAuthorizationServer({
    clients: [
      {
        client_id: 'robot',
        redirect_uris: [],
        response_types: [],
        grant_types: ['client_credentials'],
        ...client,
      },
    ],
  })
  open.push(as)
  const rs = await startResourceServer({ as })
  open.push(rs)
  return { as, rs }
}
const context = (machine: object, url?: string) => ({
  ...setup.context,
  settings: { machines: { robot: { clientId: 'robot', ...(url !== undefined && { url }), ...machine } } },
})

describe('a machine', () => {
  it('logs itself in with a secret, once for every process, and again when it ends', async () => {
    const { as, rs } = await machinery({ client_secret: 'sesame' })
    const ours = context({ clientSecret: 'sesame' }, rs.url)
    const server = remote('robot', rs.url)
    for (let call = 0; call < 3; call++) expect((await ping(authFor(server, ours), rs.url)).status).toBe(200)
    expect(as.counts.clientCredentials).toBe(1)
    expect(JSON.stringify(await loadLogin(server, ours))).not.toContain('sesame')
    setup.advance(2 * 3_600_000)
    expect((await ping(authFor(server, ours), rs.url)).status).toBe(200)
    expect(as.counts.clientCredentials).toBe(2)
  })

  it('logs itself in with a signed assertion', async () => {
    const pair = await jose.generateKeyPair('ES256', { extractable: true })
    const jwk = { ...(await jose.exportJWK(pair.publicKey)), kid: 'k1', alg: 'ES256', use: 'sig' }
    const { rs } = await machinery({
      token_endpoint_auth_method: 'private_key_jwt',
      token_endpoint_auth_signing_alg: 'ES256',
      jwks: { keys: [jwk] },
    })
    for (const privateKey of [await jose.exportPKCS8(pair.privateKey), await jose.exportJWK(pair.privateKey)])
      expect(
        (
          await ping(
            authFor(remote('robot', rs.url), context({ privateKey, alg: 'ES256', kid: 'k1' }, rs.url)),
            rs.url,
          )
        ).status,
      ).toBe(200)
  })

  it('with a wrong secret asks for a login, saying why and not what', async () => {
    const { rs } = await machinery({ client_secret: 'sesame' })
    const error = await ping(
      authFor(remote('robot', rs.url), context({ clientSecret: 'PLANTED' }, rs.url)),
      rs.url,
    ).catch((caught) => caught)
    expect(error).toBeInstanceOf(AuthRequired)
    expect(error.hint).toContain('invalid_client')
    expect(`${error.stack}${JSON.stringify(error)}`).not.toContain('PLANTED')
  })

  it('with a key that is none says so without showing it', async () => {
    const { rs } = await machinery({ client_secret: 'sesame' })
    const error = await ping(
      authFor(remote('robot', rs.url), context({ privateKey: 'PLANTED' }, rs.url)),
      rs.url,
    ).catch((caught) => caught)
    expect(error.message).toContain('ES256')
    expect(`${error.stack}${JSON.stringify(error)}`).not.toContain('PLANTED')
  })

  it('gives its secret to no other authorization server than the one it is for', async () => {
    const { as, rs } = await machinery({ client_secret: 'sesame' })
    const ours = context({ clientSecret: 'sesame', issuer: 'https://company.example' })
    await expect(ping(authFor(remote('robot', rs.url), ours), rs.url)).rejects.toMatchObject({
      refusal: 'issuer-mismatch',
    })
    expect(as.requests).not.toContain('POST /token')
  })

  it('gives its secret to no server but the one it is for, and to none when that is not said', async () => {
    const { as, rs } = await machinery({ client_secret: 'sesame' })
    const refused = (url?: string) =>
      ping(authFor(remote('robot', rs.url), context({ clientSecret: 'sesame' }, url)), rs.url)
    await expect(refused()).rejects.toMatchObject({
      refusal: 'unbound-credentials',
      hint: expect.stringContaining('"url"'),
    })
    const { origin, pathname } = new URL(rs.url)
    for (const other of ['https://crm.example/', `${origin}/elsewhere`, `${origin}${pathname}x`])
      await expect(refused(other)).rejects.toMatchObject({ refusal: 'address-mismatch' })
    expect(as.requests).not.toContain('POST /token')
    expect((await refused(`${origin}/`)).status).toBe(200)
  })

  it('is none for an entry of a repository, which has the name and even the address', async () => {
    const { as, rs } = await machinery({ client_secret: 'sesame' })
    const server = { ...remote('robot', rs.url), author: 'repository' as const }
    await ping(authFor(server, context({ clientSecret: 'sesame' }, rs.url)), rs.url).catch(() => undefined)
    expect(as.requests).not.toContain('POST /token')
  })
})

describe('a client secret of the environment', () => {
  const own = (env: Record<string, string>) => authSetup({ env })

  it('is not for an entry of a repository; one that was filed for its address is', async () => {
    const { context } = own({ PLUGBOARD_CLIENT_SECRET_ROBOT: 'named', MCP_CLIENT_SECRET: 'shared' })
    const server = remote('robot', 'https://robot.example/mcp')
    const theirs = { ...server, author: 'repository' as const }
    expect(await clientSecret(server, context, 'https://as.example')).toBe('named')
    expect(await clientSecret(theirs, context, 'https://as.example')).toBeUndefined()
    await saveClientSecret(theirs, context, 'filed')
    expect(await clientSecret(theirs, context, 'https://as.example')).toBe('filed')
  })

  it('that names no server stays with the authorization server it was first used at', async () => {
    const { context } = own({ MCP_CLIENT_SECRET: 'shared' })
    const server = remote('robot', 'https://robot.example/mcp')
    expect(await clientSecret(server, context, 'https://as.example')).toBe('shared')
    expect(await clientSecret(server, context, 'https://as.example')).toBe('shared')
    await expect(
      clientSecret(remote('b', 'https://b.example/'), context, 'https://evil.example'),
    ).rejects.toMatchObject({
      refusal: 'issuer-mismatch',
      hint: expect.stringContaining('PLUGBOARD_CLIENT_SECRET_B'),
    })
  })
})
