// names.ts: the names the model sees, `mcp__<server>__<tool>`, and the way back from them. The way back is always the
// registry; no code splits a name at `__`.
import { createHash } from 'node:crypto'
import { TOOL_LIMITS } from '../limits.ts'
import { ruleSpelling } from '../permissions/glob.ts'

/** A tool by its server and its own name. */
export interface ToolRef {
  readonly server: string
  readonly tool: string
}

/** A tool name and what it stands for. */
export type Resolved =
  | { readonly kind: 'found'; readonly ref: ToolRef; readonly name: string }
  | { readonly kind: 'none' }
  /** A spelling that matches more than one tool; `names` are the unambiguous ones. */
  | { readonly kind: 'ambiguous'; readonly names: readonly string[] }

/**
 * The name before shortening and before collisions are resolved.
 *
 * @example
 * console.log(plainName({ server: 'notes', tool: 'say it' })) // mcp__notes__say_it
 */
export function plainName(ref: ToolRef): string {
  return `mcp__${ruleSpelling(ref.server)}__${ruleSpelling(ref.tool)}`
}

/**
 * Gives every (server, tool) pair its own name and finds the pair again.
 *
 * When several pairs want one name, the best claim gets it: a pair that no sanitising changed before one that was
 * changed, then a server name without `__`, then alphabetical order. The others get the name with a hash of the pair.
 * So one set of pairs gives the same names in whatever order it comes. A name once given is never given to another
 * pair while the registry lives, so that a server that appears later cannot take over a name a model already holds.
 *
 * @example
 * const names = new NameRegistry()
 * console.log(names.update([{ server: 'notes', tool: 'say' }])[0]) // mcp__notes__say
 * console.log(names.resolve('notes.say').kind) // found
 */
export class NameRegistry {
  readonly #byName = new Map<string, ToolRef>()
  readonly #byPair = new Map<string, string>()
  readonly #live = new Set<string>()

  /** Replaces the set of tools that exist now, and returns the name of each, in the order given. */
  update(refs: readonly ToolRef[]): readonly string[] {
    this.#live.clear()
    const fresh = refs.filter((ref) => !this.#byPair.has(pairKey(ref)))
    for (const ref of [...fresh].sort(byClaim)) this.#give(ref)
    return refs.map((ref) => {
      const key = pairKey(ref)
      this.#live.add(key)
      return this.#byPair.get(key) ?? plainName(ref)
    })
  }

  nameOf(ref: ToolRef): string | undefined {
    const key = pairKey(ref)
    return this.#live.has(key) ? this.#byPair.get(key) : undefined
  }

  refOf(name: string): ToolRef | undefined {
    const ref = this.#byName.get(name)
    return ref && this.#live.has(pairKey(ref)) ? ref : undefined
  }

  /** Understands `mcp__server__tool` (also unshortened) and `server.tool`, where either part may hold dots. */
  resolve(spelling: string): Resolved {
    const exact = this.refOf(spelling)
    if (exact) return { kind: 'found', ref: exact, name: spelling }
    const fits = new Map<string, ToolRef>()
    for (let dot = spelling.indexOf('.'); dot > 0; dot = spelling.indexOf('.', dot + 1)) {
      const ref = { server: spelling.slice(0, dot), tool: spelling.slice(dot + 1) }
      const name = this.nameOf(ref)
      if (name !== undefined) fits.set(name, ref)
    }
    if (fits.size === 0 && spelling.startsWith('mcp__'))
      for (const [name, ref] of this.#byName)
        if (this.#live.has(pairKey(ref)) && spelledAs(spelling, ref)) fits.set(name, ref)
    const [first, ...more] = [...fits]
    if (!first) return { kind: 'none' }
    if (more.length > 0) return { kind: 'ambiguous', names: [...fits.keys()] }
    return { kind: 'found', name: first[0], ref: first[1] }
  }

  #give(ref: ToolRef): void {
    const key = pairKey(ref)
    if (this.#byPair.has(key)) return
    const plain = plainName(ref)
    let name = plain.length <= TOOL_LIMITS.nameLength ? plain : hashed(plain, key, 0)
    for (let round = 0; this.#byName.has(name); round++) name = hashed(plain, key, round)
    this.#byName.set(name, { server: ref.server, tool: ref.tool })
    this.#byPair.set(key, name)
  }
}

function spelledAs(spelling: string, ref: ToolRef): boolean {
  return spelling === `mcp__${ref.server}__${ref.tool}` || spelling === plainName(ref)
}

/** Unlike a joined string, two different pairs never share it. */
function pairKey(ref: ToolRef): string {
  return JSON.stringify([ref.server, ref.tool])
}

function hashed(plain: string, key: string, round: number): string {
  const digest = createHash('sha256').update(`${round}${key}`).digest('hex').slice(0, 8)
  return `${plain.slice(0, TOOL_LIMITS.nameLength - digest.length - 1)}_${digest}`
}

function byClaim(a: ToolRef, b: ToolRef): number {
  return (
    changed(a) - changed(b) || doubled(a) - doubled(b) || order(a.server, b.server) || order(a.tool, b.tool)
  )
}

function changed(ref: ToolRef): number {
  return plainName(ref) === `mcp__${ref.server}__${ref.tool}` ? 0 : 1
}

function doubled(ref: ToolRef): number {
  return ref.server.includes('__') ? 1 : 0
}

/** By code unit: the same on every machine, whatever its locale. */
function order(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}
