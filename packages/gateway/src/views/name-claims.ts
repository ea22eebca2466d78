// name-claims.ts: which server a name belongs to, in naming schemes where two servers can want the same one. The first owner
// keeps a name for as long as the server is configured, also while it is away; a later claimant is left out.
import { LIST_LIMITS } from '@plugboard/core/limits'
import type { Shown } from './views.ts'

export interface Claimant {
  readonly server: string
  readonly name: string
}

/** Keeps names for the next process. */
export interface NameStore {
  readonly known: ReadonlyMap<string, Claimant>
  save(...owners: ReadonlyMap<string, Claimant>[]): void
}

export type ClaimKind = 'tool' | 'prompt' | 'resource' | 'template'

/** A server whose lists change without end keeps the names it listed last, as many as one list may have. */
const NAMES_PER_SERVER = LIST_LIMITS.items
/** How many refusals are remembered, so that each is told once. */
const REFUSALS = 1000

export class NameClaims {
  /** By kind and public name, the first owner; in the order in which names were claimed. */
  readonly #owners = new Map<string, Claimant & { readonly turn: number }>()
  /** By server and kind, its names; the one that was claimed longest ago comes first. */
  readonly #listed = new Map<string, Set<string>>()
  readonly #refused = new Map<string, string>()
  /** Names of an earlier process, by kind and name: kept for their owner until it has listed what it has. */
  readonly #reserved: Map<string, Claimant>
  readonly #store: NameStore | undefined
  readonly #limit: number
  readonly #tell: (text: string, server: string) => void
  #turns = 0
  #keeps = false

  /** `tell` is called once for each claimant that is left out. */
  constructor(
    tell: (text: string, server: string) => void,
    store?: NameStore,
    namesPerServer: number = NAMES_PER_SERVER,
  ) {
    this.#tell = tell
    this.#limit = namesPerServer
    this.#store = store
    this.#reserved = new Map(store?.known)
  }

  /** True when the name is, or now becomes, this claimant's. */
  claim(kind: ClaimKind, shown: string, by: Claimant): boolean {
    const key = JSON.stringify([kind, shown])
    const owner = this.#owners.get(key) ?? this.#reserved.get(key)
    if (!owner || (!this.#owners.has(key) && isSame(owner, by))) {
      this.#reserved.delete(key)
      this.#owners.set(key, { ...by, turn: this.#turns++ })
      this.#touch(kind, by.server, key)
      this.#refused.delete(JSON.stringify([kind, shown, by.server, by.name]))
      if (this.#keeps) this.#store?.save(this.#owners, this.#reserved)
      return true
    }
    if (isSame(owner, by)) {
      this.#touch(kind, by.server, key)
      return true
    }
    const refused = JSON.stringify([kind, shown, by.server, by.name])
    if (!this.#refused.has(refused)) {
      const text = `The ${kind} "${shown}" of "${by.server}" is left out: the name belongs to "${owner.server}", which had it first. Rename one of them, or serve with \`--names=mcp\`.`
      this.#refused.set(refused, text)
      if (this.#refused.size > REFUSALS) dropFirst(this.#refused)
      this.#tell(text, by.server)
    }
    return false
  }

  /** The same for a name that may stay without an owner: another's is not reported. */
  claimFree(kind: ClaimKind, shown: string, by: Claimant): boolean {
    const owner = this.ownerOf(kind, shown)
    return (owner === undefined || owner === by.server) && this.claim(kind, shown, by)
  }

  /** The names that a server claimed longest ago, and lists no longer, are given up when it has claimed too many. */
  #touch(kind: ClaimKind, server: string, key: string): void {
    const list = JSON.stringify([kind, server])
    const keys = this.#listed.get(list) ?? new Set()
    this.#listed.set(list, keys)
    keys.delete(key)
    keys.add(key)
    if (keys.size <= this.#limit) return
    const [oldest] = keys
    if (oldest === undefined) return
    keys.delete(oldest)
    this.#owners.delete(oldest)
  }

  /** When the name was claimed by this claimant, as a number that grows; nothing when it is not its own. */
  turnOf(kind: ClaimKind, shown: string, by: Claimant): number | undefined {
    const owner = this.#owners.get(JSON.stringify([kind, shown]))
    return owner?.server === by.server && owner.name === by.name ? owner.turn : undefined
  }

  /** The server that has the name. */
  ownerOf(kind: ClaimKind, shown: string): string | undefined {
    const key = JSON.stringify([kind, shown])
    return (this.#owners.get(key) ?? this.#reserved.get(key))?.server
  }

  /** From now on names are kept for the next process. */
  keep(): void {
    this.#keeps = true
    this.#store?.save(this.#owners, this.#reserved)
  }

  /** An earlier process settled whose it is. */
  isSettled(kind: ClaimKind, shown: string): boolean {
    return this.#store?.known.has(JSON.stringify([kind, shown])) ?? false
  }

  /** The server has listed what it has of a kind: a name it had in an earlier process and no longer lists is free. */
  settled(kind: ClaimKind, server: string): void {
    for (const [key, owner] of this.#reserved)
      if (owner.server === server && (JSON.parse(key) as string[])[0] === kind) this.#reserved.delete(key)
  }

  /** A server that is no longer configured has no names any more. */
  release(server: string): void {
    for (const [key, owner] of this.#reserved) if (owner.server === server) this.#reserved.delete(key)
    for (const [key, owner] of this.#owners) if (owner.server === server) this.#owners.delete(key)
    for (const kind of Object.values(KINDS)) this.#listed.delete(JSON.stringify([kind, server]))
    for (const [key] of this.#refused)
      if ((JSON.parse(key) as string[])[2] === server) this.#refused.delete(key)
  }

  /** The names that a claimant was refused, as sentences. */
  refusals(): readonly string[] {
    return [...this.#refused.values()]
  }
}

function dropFirst(map: Map<string, unknown>): void {
  const [first] = map.keys()
  if (first !== undefined) map.delete(first)
}

function isSame(a: Claimant, b: Claimant): boolean {
  return a.server === b.server && a.name === b.name
}

export const KINDS: Readonly<Record<Shown | 'templates', ClaimKind>> = {
  tools: 'tool',
  prompts: 'prompt',
  resources: 'resource',
  templates: 'template',
}
