// dpop.ts: proofs of possession (RFC 9449) for requests to the server itself; token-endpoint.ts makes the ones for
// the authorization server. The key is in the vault with its login: every process proves the same key.
import { createHash, randomBytes, webcrypto } from 'node:crypto'
import type { JWK } from 'jose'

const ALGORITHM = { name: 'ECDSA', namedCurve: 'P-256' } as const

export async function newDpopKey(): Promise<JWK> {
  const pair = await webcrypto.subtle.generateKey(ALGORITHM, true, ['sign', 'verify'])
  const { kty, crv, x, y, d } = await webcrypto.subtle.exportKey('jwk', pair.privateKey)
  return { kty, crv, x, y, d } as JWK
}

export interface ProofRequest {
  readonly method: string
  readonly url: URL
  readonly accessToken: string
  readonly nonce?: string | undefined
  /** Milliseconds since the epoch. */
  readonly now: number
}

export async function dpopProof(key: JWK, request: ProofRequest): Promise<string> {
  const { d: _private, ...jwk } = key
  const header = { typ: 'dpop+jwt', alg: 'ES256', jwk }
  const payload = {
    jti: randomBytes(16).toString('base64url'),
    htm: request.method.toUpperCase(),
    htu: `${request.url.origin}${request.url.pathname}`,
    iat: Math.floor(request.now / 1000),
    ath: createHash('sha256').update(request.accessToken).digest('base64url'),
    ...(request.nonce && { nonce: request.nonce }),
  }
  const encode = (part: object) => Buffer.from(JSON.stringify(part)).toString('base64url')
  const input = `${encode(header)}.${encode(payload)}`
  const signer = await webcrypto.subtle.importKey('jwk', key as webcrypto.JsonWebKey, ALGORITHM, false, [
    'sign',
  ])
  const signature = await webcrypto.subtle.sign(
    { name: 'ECDSA', hash: 'SHA-256' },
    signer,
    Buffer.from(input),
  )
  return `${input}.${Buffer.from(signature).toString('base64url')}`
}
