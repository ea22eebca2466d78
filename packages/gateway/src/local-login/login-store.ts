// login-store.ts: what the local login has to remember: its keys, registered clients, grants and refresh tokens in a file of the user,
// and the steps of a login in memory. Anybody who reaches the address can register a client: one that its user has not let in is kept in
// memory, for a while, and never takes the place of one that was.
import { randomBytes } from 'node:crypto'
import { readTextFile, writeFileAtomic } from '@plugboard/core/files'
import { isObject, type Json } from '@plugboard/core/json'
import { exportJWK, generateKeyPair } from 'jose'

const FILE_BYTES = 16 * 1024 * 1024
/** Of each kind; what matters least leaves first, and of that the oldest. */
const MOST = 1000
/** How long a client that registered has until its user lets it in. */
const UNAPPROVED_MS = 60 * 60_000
/** And how long it stays after its user did that last. */
const APPROVED_MS = 180 * 24 * 60 * 60_000
const KEPT: ReadonlySet<string> = new Set(['Client', 'Grant', 'RefreshToken'])

interface Entry {
  readonly payload: Json
  /** Milliseconds since the epoch; none for ever. */
  readonly until?: number
  /** A client that its user has not let in. */
  readonly isUnapproved?: true
}

/** What is in the file. */
interface Saved {
  readonly jwk: Json
  readonly cookieKey: string
  readonly entries: Readonly<Record<string, Readonly<Record<string, Entry>>>>
}

export class LoginStore {
  readonly jwk: Json
  readonly cookieKey: string
  readonly #path: string
  readonly #now: () => number
  readonly #entries = new Map<string, Map<string, Entry>>()
  readonly #lost: (error: unknown) => void
  #saving: Promise<void> | undefined
  #isDirty = false

  /** `lost` is told when the file cannot be written: then logins end with the process. */
  static async open(path: string, now: () => number, lost: (error: unknown) => void): Promise<LoginStore> {
    const read = await readTextFile(path, FILE_BYTES)
    const saved = read.kind === 'text' ? parsed(read.text) : undefined
    const store = new LoginStore(path, now, lost, saved ?? (await fresh()))
    if (!saved) store.#changed()
    return store
  }

  private constructor(path: string, now: () => number, lost: (error: unknown) => void, saved: Saved) {
    this.#path = path
    this.#now = now
    this.#lost = lost
    this.jwk = saved.jwk
    this.cookieKey = saved.cookieKey
    for (const [kind, entries] of Object.entries(saved.entries))
      if (KEPT.has(kind)) this.#entries.set(kind, new Map(Object.entries(entries)))
  }

  /** The adapter of oidc-provider for one kind of thing. */
  adapter(kind: string) {
    const all = this.#entries.get(kind) ?? new Map<string, Entry>()
    this.#entries.set(kind, all)
    const changed = () => {
      if (KEPT.has(kind)) this.#changed()
    }
    const live = (id: string) => {
      const entry = all.get(id)
      return entry && (entry.until === undefined || entry.until > this.#now()) ? entry : undefined
    }
    const findBy = (key: string, value: string) =>
      [...all.keys()].map((id) => live(id)?.payload).find((payload) => payload?.[key] === value)
    return {
      upsert: async (id: string, payload: Json, seconds?: number) => {
        all.delete(id)
        const isUnapproved = kind === 'Client'
        const lifeMs = isUnapproved ? UNAPPROVED_MS : seconds && seconds * 1000
        all.set(id, {
          payload,
          ...(lifeMs !== undefined && { until: this.#now() + lifeMs }),
          ...(isUnapproved && { isUnapproved }),
        })
        if (kind === 'Grant') this.#approve(payload['clientId'])
        this.#makeRoom(kind, all)
        // A registration alone is not worth a file.
        if (!isUnapproved) changed()
      },
      find: async (id: string) => live(id)?.payload,
      findByUid: async (uid: string) => findBy('uid', uid),
      findByUserCode: async (code: string) => findBy('userCode', code),
      consume: async (id: string) => {
        const entry = live(id)
        if (!entry) return
        all.set(id, { ...entry, payload: { ...entry.payload, consumed: Math.floor(this.#now() / 1000) } })
        changed()
      },
      destroy: async (id: string) => {
        all.delete(id)
        changed()
      },
      revokeByGrantId: async (grantId: string) => {
        for (const [id, { payload }] of all) if (payload['grantId'] === grantId) all.delete(id)
        changed()
      },
    }
  }

  /** Resolves when everything is in the file. */
  async flush(): Promise<void> {
    await this.#saving
  }

  #makeRoom(kind: string, all: Map<string, Entry>): void {
    if (all.size <= MOST) return
    for (const [id, { until }] of all) if (until !== undefined && until <= this.#now()) all.delete(id)
    if (all.size <= MOST) return
    // A client that was not let in, a refresh token that was used: they are worth less than any other.
    const [least] = [...all].find(([, entry]) => isSpent(kind, entry)) ?? []
    const [oldest] = all.keys()
    const leaves = least ?? oldest
    if (leaves !== undefined) all.delete(leaves)
  }

  /** Its user has let the client in: it stays as long as it is used now and then. */
  #approve(id: unknown): void {
    const clients = this.#entries.get('Client')
    const entry = typeof id === 'string' ? clients?.get(id) : undefined
    if (entry) clients?.set(String(id), { payload: entry.payload, until: this.#now() + APPROVED_MS })
  }

  #changed(): void {
    this.#isDirty = true
    this.#saving ??= this.#save().finally(() => {
      this.#saving = undefined
    })
  }

  async #save(): Promise<void> {
    while (this.#isDirty) {
      this.#isDirty = false
      const isKept = ({ until, isUnapproved }: Entry) =>
        !isUnapproved && (until === undefined || until > this.#now())
      const entries = Object.fromEntries(
        [...this.#entries]
          .filter(([kind]) => KEPT.has(kind))
          .map(([kind, all]) => [kind, Object.fromEntries([...all].filter(([, one]) => isKept(one)))]),
      )
      const saved: Saved = { jwk: this.jwk, cookieKey: this.cookieKey, entries }
      const options = { mode: 0o600, forceMode: true, dirMode: 0o700 } as const
      await writeFileAtomic(this.#path, JSON.stringify(saved), options).catch(this.#lost)
    }
  }
}

/** A client that waits for its user, or a refresh token that was used. */
function isSpent(kind: string, { payload, isUnapproved }: Entry): boolean {
  return isUnapproved === true || (kind === 'RefreshToken' && payload['consumed'] !== undefined)
}

async function fresh(): Promise<Saved> {
  const { privateKey } = await generateKeyPair('ES256', { extractable: true })
  const kid = randomBytes(8).toString('hex')
  const jwk = { ...(await exportJWK(privateKey)), kid, alg: 'ES256', use: 'sig' }
  return { jwk, cookieKey: randomBytes(32).toString('base64url'), entries: {} }
}

/** Undefined for a file that is not whole: then clients log in again. */
function parsed(text: string): Saved | undefined {
  try {
    const value: unknown = JSON.parse(text)
    if (!isObject(value) || !isObject(value['jwk']) || !isObject(value['entries'])) return undefined
    // The file is the user's own, and was written by `save` above.
    return typeof value['cookieKey'] === 'string' ? (value as unknown as Saved) : undefined
  } catch {
    return undefined
  }
}
