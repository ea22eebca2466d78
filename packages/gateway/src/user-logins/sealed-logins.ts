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
  readonly server: string
  readonly issuer: string
  readonly obtained: number
  /** Of the access token. */
  readonly expires?: number
  readonly renewable: boolean
}

export class SealedLogins {
  readonly #store: FieldStore
  readonly #keys: KeyRing

  constructor(store: FieldStore, keys: KeyRing) {
    this.#store = store
    this.#keys = keys
  }

  /** The vault of one user. Secrets of the program itself, such as those of its OAuth clients, come from `own`. */
  vault(user: { readonly key: string; readonly name: string }, own: Vault): Vault {
    const row = rowOf(user.key)
    const isOwn = (name: string) => /^\["(?:client|shared)-secret"/.test(name)
    return {
      kind: 'file',
      get: async (name) =>
        isOwn(name)
          ? await own.get(name)
          : this.#open(user.key, name, (await this.#store.fields(row)).get(name)),
      set: async (name, value) => {
        if (isOwn(name)) return await own.set(name, value)
        const sealed = this.#keys.seal(purposeOf(user.key, name), { value })
        await this.#store.setField(row, name, sealed, LIFE_MS)
        const who = this.#keys.seal(purposeOf(user.key, USERS), { name: user.name })
        await this.#store.setField(USERS, user.key, who, LIFE_MS)
      },
      delete: async (name) => {
        if (isOwn(name)) return await own.delete(name)
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
    const users = await this.users()
    const all = await Promise.all(
      users.map(async ({ key, name: user }) => {
        const fields = await this.#store.fields(rowOf(key))
        return [...fields].flatMap(([name, text]) => {
          const opened = name.startsWith('["login"') ? this.#open(key, name, text) : undefined
          const info = opened === undefined ? undefined : infoOf(opened)
          return info ? [{ user, key, ...info }] : []
        })
      }),
    )
    return all.flat()
  }

  /** Is there anything of the user? */
  async hasAny(key: string): Promise<boolean> {
    return (await this.#store.fields(rowOf(key))).size > 0
  }

  /** Forgets what there is of a user, or what belongs to one server. False when there was nothing. */
  async forget(key: string, server?: string): Promise<boolean> {
    const names = [...(await this.#store.fields(rowOf(key))).keys()]
    const gone = names.filter((name) => server === undefined || isOf(name, server))
    for (const name of gone) await this.#store.deleteField(rowOf(key), name)
    if (gone.length === names.length) await this.#store.deleteField(USERS, key)
    return gone.length > 0
  }
}

/** Names are those of core/auth/stored-logins.ts: the name of the server and its address come last. */
function isOf(name: string, server: string): boolean {
  try {
    const parts: unknown = JSON.parse(name)
    return Array.isArray(parts) && parts.at(-2) === server
  } catch {
    // Not a name of ours.
    return false
  }
}

function infoOf(text: string): Omit<LoginInfo, 'user' | 'key'> | undefined {
  const login: unknown = JSON.parse(text)
  if (!isObject(login) || !isObject(login.tokens) || !isObject(login.as)) return undefined
  const tokens: Json = login.tokens
  return {
    server: String(login.server),
    issuer: String(login.as.issuer),
    obtained: Number(tokens.obtainedAt),
    ...(typeof tokens.expiresAt === 'number' && { expires: tokens.expiresAt }),
    renewable: tokens.refreshToken !== undefined || login.grant !== 'authorization_code',
  }
}

function rowOf(user: string): string {
  return `logins:${user}`
}

function purposeOf(user: string, name: string): string {
  return `user-login\n${user}\n${name}`
}
