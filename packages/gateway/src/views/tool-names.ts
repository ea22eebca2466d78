// tool-names.ts: the names under which clients see tools and prompts, for all servers together, so that every client sees the same
// names. name-claims.ts remembers which server had a name first.
import type { NameClaims } from './name-claims.ts'

/** How tools are named towards clients; `auto` adds the server only where two names are equal. */
export type Naming = 'mcp' | 'server.tool' | 'plain' | 'auto'

/** A name that a model can be given. */
const USABLE = /^[A-Za-z0-9_-]{1,64}$/

export interface NamedItem {
  readonly server: string
  /** The server's own name. */
  readonly name: string
  /** The name that no other server's item can have: `mcp__server__tool`. */
  readonly unique: string
  /** The name that the settings give it. */
  readonly wanted?: string | undefined
}

export interface GivenNames {
  /** In the order of the items; undefined where an item is left out because its name belongs to another. */
  readonly names: readonly (string | undefined)[]
  /** Names that clients may hold from before: they lead to the item that had them first. */
  readonly earlier: ReadonlyMap<string, number>
}

export interface NamingOptions {
  readonly naming: Naming
  readonly kind: 'tool' | 'prompt'
  readonly claims: NameClaims
  /** Names that nothing may have. */
  readonly reserved: ReadonlySet<string>
  /** A name of the settings that is not given, and why. */
  refused(item: NamedItem, why: string): void
}

export function giveNames(items: readonly NamedItem[], options: NamingOptions): GivenNames {
  const { naming, kind, claims } = options
  const earlier = new Map<string, number>()
  const base =
    naming === 'auto'
      ? autoNames(items, options, earlier)
      : items.map((item) => {
          if (naming === 'mcp') return item.unique
          const shown = naming === 'plain' ? item.name : `${item.server}.${item.name}`
          return claims.claim(kind, shown, { server: item.server, name: item.name }) ? shown : undefined
        })
  return { names: withWanted(items, base, options), earlier }
}

/** Only what several servers want is prefixed. A name stays with the server that had it first, also for calls by it. */
function autoNames(
  items: readonly NamedItem[],
  { kind, claims, reserved }: NamingOptions,
  earlier: Map<string, number>,
): string[] {
  const wanted = new Map<string, number>()
  for (const { name } of items) wanted.set(name, (wanted.get(name) ?? 0) + 1)
  const uniques = new Set(items.map(({ unique }) => unique))
  return items.map(({ server, name, unique }, at) => {
    const isUsable = USABLE.test(name) && !reserved.has(name) && !uniques.has(name)
    const isFirst = isUsable && claims.claimFree(kind, name, { server, name })
    if (isFirst && wanted.get(name) === 1) return name
    if (isFirst) earlier.set(name, at)
    return unique
  })
}

/** A name of the settings is given where no other item has it. */
function withWanted(
  items: readonly NamedItem[],
  base: readonly (string | undefined)[],
  { reserved, refused }: NamingOptions,
): readonly (string | undefined)[] {
  if (items.every(({ wanted }) => wanted === undefined)) return base
  const taken = new Map<string, number>()
  for (const [at, name] of base.entries()) if (name !== undefined) taken.set(name, at)
  return items.map((item, at) => {
    const { wanted } = item
    const own = base[at]
    if (wanted === undefined || own === wanted) return own
    const holder = taken.get(wanted)
    if (reserved.has(wanted) || holder !== undefined) {
      const other = holder === undefined ? undefined : items[holder]
      refused(
        item,
        other
          ? `"${other.server}" has a ${other.name} of that name`
          : 'it is the name of a tool of Plugboard',
      )
      return own
    }
    taken.set(wanted, at)
    return wanted
  })
}
