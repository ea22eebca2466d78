// sealed-logins.ts: the logins of all users, sealed, in a store that replicas share or in files: a vault for each user, and a list
// for administrators. A value is bound to its user and its name: moved to another user's row it cannot be opened.
import type { Vault } from '@plugboard/core/auth'
import { isObject, type Json } from '../json-rpc.ts'
import type { KeyRing } from '../sealing/key-ring.ts'
import type { FieldStore } from './login-files.ts'

/** A login that renews itself stays as long as it is used within this time. */
const LIFE_MS = 400 * 24 * 60 * 60 * 1000
const USERS = 'login-users'

/** A login as an administrator sees it: no secret of it. */
export interface LoginInfo {
  readonly user: string
  /** Of the user. */
  readonly key: string
  /** `*` for a session at the identity provider, which serves every server with single sign-on. */
  readonly server: string
  readonly issuer: string
  readonly obtained?: number
  /** Of the access token. */
  readonly expires?: number
  readonly renewable: boolean
}

/** The same with what tells several logins of one user at one server apart. */
export interface StoredLogin extends LoginInfo {
  readonly variant: string
  /** It came from the session at the identity provider. */
  readonly bySignOn: boolean
}

/** Names the session at the identity provider where servers are named. */
export const SIGN_ON = '*'

export class SealedLogins {
  readonly #store: FieldStore
  readonly #keys: KeyRing

  constructor(store: FieldStore, keys: KeyRing) {
    this.#store = store
    this.#keys = keys
  }

  /**
   * The vault of one user. Secrets of the program itself, such as those of its OAuth clients, come from `own`. What one variant
   * keeps, another does not see.
   */
  vault(user: { readonly key: string; readonly name: string }, own: Vault, variant = ''): Vault {
    const row = rowOf(user.key)
    const isOwn = (name: string) => /^\["(?:client|shared)-secret"/.test(name)
    const fieldOf = (name: string) => (variant === '' ? name : `${name}#${variant}`)
    return {
      kind: 'file',
      get: async (given) => {
        if (isOwn(given)) return await own.get(given)
        const name = fieldOf(given)
        return this.#open(user.key, name, (await this.#store.fields(row)).get(name))
      },
      set: async (given, value) => {
        if (isOwn(given)) return await own.set(given, value)
        const name = fieldOf(given)
        const sealed = this.#keys.seal(purposeOf(user.key, name), { value })
        await this.#store.setField(row, name, sealed, LIFE_MS)
        const who = this.#keys.seal(purposeOf(user.key, USERS), { name: user.name })
        await this.#store.setField(USERS, user.key, who, LIFE_MS)
      },
      delete: async (given) => {
        if (isOwn(given)) return await own.delete(given)
        const name = fieldOf(given)
        const had = (await this.#store.fields(row)).has(name)
        if (had) await this.#store.deleteField(row, name)
        return had
      },
    }
  }

  /** A value that was tampered with, or whose key is gone, is none: the user is asked to log in again. */
  #open(user: string, name: string, text: string | undefined): string | undefined {
    const value = text === undefined ? undefined : this.#keys.open(purposeOf(user, name), text)?.value
    return typeof value === 'string' ? value : undefined
  }

  /** Users that have, or had, a login. */
  async users(): Promise<readonly { readonly key: string; readonly name: string }[]> {
    const entries = await this.#store.fields(USERS)
    return [...entries].flatMap(([key, text]) => {
      const name = this.#keys.open(purposeOf(key, USERS), text)?.name
      return typeof name === 'string' ? [{ key, name }] : []
    })
  }

  async list(): Promise<readonly LoginInfo[]> {
    const all = await Promise.all((await this.users()).map((user) => this.of(user)))
    return all.flat().map(({ variant: _, bySignOn: __, ...info }) => info)
  }

  /** The logins of one user. */
  async of({ key, name: user }: { readonly key: string; readonly name: string }): Promise<StoredLogin[]> {
    const fields = await this.#store.fields(rowOf(key))
    return [...fields].flatMap(([name, text]) => {
      const { parts, variant } = partsOf(name)
      const opened = this.#open(key, name, text)
      const info = opened === undefined ? undefined : infoOf(parts, opened)
      return info ? [{ user, key, variant, ...info }] : []
    })
  }

  /** Is there anything of the user? */
  async hasAny(key: string): Promise<boolean> {
    return (await this.#store.fields(rowOf(key))).size > 0
  }

  /** Forgets what there is of a user, or what belongs to one server, or the session for single sign-on. */
  async forget(key: string, server?: string): Promise<boolean> {
    const names = [...(await this.#store.fields(rowOf(key))).keys()]
    const gone = names.filter((name) => server === undefined || isOf(name, server))
    for (const name of gone) await this.#store.deleteField(rowOf(key), name)
    if (gone.length === names.length) await this.#store.deleteField(USERS, key)
    return gone.length > 0
  }
}

/** Names are those of core/auth: stored-logins.ts puts the name of the server and its address last, cross-app-access.ts has `idp`. */
function isOf(name: string, server: string): boolean {
  const { parts } = partsOf(name)
  return server === SIGN_ON ? parts[0] === 'idp' : parts[0] !== 'idp' && parts.at(-2) === server
}

function partsOf(name: string): { readonly parts: readonly unknown[]; readonly variant: string } {
  const [, list = '', variant = ''] = /^(\[.*\])(?:#([\w-]+))?$/s.exec(name) ?? []
  try {
    const parts: unknown = JSON.parse(list)
    return { parts: Array.isArray(parts) ? parts : [], variant }
  } catch {
    // Not a name of ours.
    return { parts: [], variant: '' }
  }
}

function infoOf(
  [kind]: readonly unknown[],
  text: string,
): Omit<StoredLogin, 'user' | 'key' | 'variant'> | undefined {
  const login: unknown = kind === 'login' || kind === 'idp' ? JSON.parse(text) : undefined
  if (!isObject(login) || !isObject(login.as)) return undefined
  const issuer = String(login.as.issuer)
  if (kind === 'idp')
    return {
      server: SIGN_ON,
      issuer,
      ...(typeof login.idTokenEndsAt === 'number' && { expires: login.idTokenEndsAt }),
      renewable: login.refreshToken !== undefined,
      bySignOn: true,
    }
  if (!isObject(login.tokens)) return undefined
  const tokens: Json = login.tokens
  return {
    server: String(login.server),
    issuer,
    obtained: Number(tokens.obtainedAt),
    ...(typeof tokens.expiresAt === 'number' && { expires: tokens.expiresAt }),
    renewable: tokens.refreshToken !== undefined || login.grant !== 'authorization_code',
    bySignOn: login.grant === 'xaa',
  }
}

function rowOf(user: string): string {
  return `logins:${user}`
}

function purposeOf(user: string, name: string): string {
  return `user-login\n${user}\n${name}`
}
