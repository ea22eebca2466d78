// verified-tokens.ts: the users of identity providers: which provider a token belongs to, and tokens that were verified before.
// A verified token is believed for a few minutes, so that a request costs no signature check.
import { createHash } from 'node:crypto'
import type { GatewayConfig } from '../config/schema.ts'
import { claimedIssuer, JwtVerifier, type TokenFault, type VerifiedUser } from './jwt.ts'
import { resourceOf } from './protected-resource.ts'

const KEPT = 20_000
const BELIEVED_MS = 5 * 60_000

interface Verified {
  readonly user: VerifiedUser
  readonly until: number
}

export class VerifiedTokens {
  #verifiers = new Map<string, JwtVerifier>()
  /** By the digest of the token, the oldest first. */
  readonly #known = new Map<string, Verified>()

  /** Verifiers of issuers that did not change keep their keys. */
  configure({ auth, publicUrl }: GatewayConfig): void {
    const resource = publicUrl === undefined ? '' : resourceOf(publicUrl)
    const before = this.#verifiers
    this.#known.clear()
    this.#verifiers = new Map(
      (auth?.issuers ?? []).map((config) => {
        const old = before.get(config.issuer)
        const same =
          old?.audience === (config.audience ?? resource) &&
          JSON.stringify(old.config) === JSON.stringify(config)
        return [config.issuer, same ? old : new JwtVerifier(config, resource)]
      }),
    )
  }

  get issuers(): readonly string[] {
    return [...this.#verifiers.keys()]
  }

  accepts(issuer: string): boolean {
    return this.#verifiers.has(issuer)
  }

  /** The user of a token; undefined when it is no token of a known issuer. */
  verify(token: string, now: number): VerifiedUser | Promise<VerifiedUser | TokenFault> | undefined {
    if (this.#verifiers.size === 0) return undefined
    const issuer = claimedIssuer(token)
    const verifier = issuer === undefined ? undefined : this.#verifiers.get(issuer)
    if (!verifier) return undefined
    const digest = createHash('sha256').update(token).digest('base64')
    const known = this.#known.get(digest)
    if (known && known.until > now && known.user.expires > now) return known.user
    return verifier.verify(token, now).then((found) => {
      if (!('kind' in found) && this.#verifiers.get(verifier.config.issuer) === verifier)
        this.#keep(digest, { user: found, until: now + BELIEVED_MS })
      return found
    })
  }

  #keep(digest: string, verified: Verified): void {
    this.#known.delete(digest)
    this.#known.set(digest, verified)
    const [oldest] = this.#known.keys()
    if (this.#known.size > KEPT && oldest !== undefined) this.#known.delete(oldest)
  }
}
