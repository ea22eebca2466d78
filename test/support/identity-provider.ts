// identity-provider.ts: an issuer of access tokens on loopback: its metadata, its keys, and tokens of any content, also wrong ones.
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import * as jose from 'jose'

export interface TokenWish {
  readonly claims?: Readonly<Record<string, unknown>>
  readonly header?: Readonly<Record<string, unknown>>
  /** Signs with this key instead of the issuer's. */
  readonly key?: jose.CryptoKey | Uint8Array
}

export interface IdentityProvider {
  readonly issuer: string
  /** How often the keys were fetched. */
  readonly fetches: () => number
  readonly publicPem: () => Promise<string>
  /** From now on another key signs; the old one is gone. */
  rotate(kid: string): Promise<void>
  /** Answers nothing but errors while true. */
  down: boolean
  token(wish?: TokenWish): Promise<string>
  close(): Promise<void>
}

/** Tokens are for `audience`, from user `ada` in the group `eng`, valid for five minutes, unless a test says otherwise. */
export async function startIdentityProvider(audience: string): Promise<IdentityProvider> {
  let pair = await jose.generateKeyPair('ES256', { extractable: true })
  let kid = 'first'
  let fetches = 0
  const http = createServer(async (req, res) => {
    const path = (req.url ?? '').replace(/\?.*/, '')
    if (provider.down) return void res.writeHead(500).end()
    res.setHeader('content-type', 'application/json')
    if (path === '/.well-known/oauth-authorization-server')
      return void res.end(JSON.stringify({ issuer: provider.issuer, jwks_uri: `${provider.issuer}/jwks` }))
    if (path !== '/jwks') return void res.writeHead(404).end('{}')
    fetches++
    const jwk = { ...(await jose.exportJWK(pair.publicKey)), kid, alg: 'ES256', use: 'sig' }
    res.end(JSON.stringify({ keys: [jwk] }))
  })
  await new Promise<void>((done) => http.listen(0, '127.0.0.1', done))
  const provider: IdentityProvider = {
    issuer: `http://127.0.0.1:${(http.address() as AddressInfo).port}`,
    down: false,
    fetches: () => fetches,
    publicPem: () => jose.exportSPKI(pair.publicKey),
    rotate: async (next) => {
      pair = await jose.generateKeyPair('ES256', { extractable: true })
      kid = next
    },
    token: async ({ claims = {}, header = {}, key } = {}) => {
      const now = Math.floor(Date.now() / 1000)
      const usual = {
        iss: provider.issuer,
        aud: audience,
        sub: 'ada',
        groups: ['eng'],
        iat: now,
        exp: now + 300,
      }
      const payload = Object.fromEntries(
        Object.entries({ ...usual, ...claims }).filter(([, value]) => value !== undefined),
      )
      return await new jose.SignJWT(payload)
        .setProtectedHeader({ alg: 'ES256', kid, typ: 'at+jwt', ...header })
        .sign(key ?? pair.privateKey)
    },
    close: () =>
      new Promise((done) => {
        http.closeAllConnections()
        http.close(() => done())
      }),
  }
  return provider
}
