// named-tokens.ts: the file of named tokens: each has a name, a SHA-256 digest, and may have a role and an end. The token itself
// is shown once, when it is made, and is not in the file. A token has 256 random bits, so a plain digest cannot be guessed.
// When a token was last used is kept in a second file, so that a running gateway never writes the first one.
import { createHash, randomBytes } from 'node:crypto'
import { InvalidInput } from '@plugboard/core/errors'
import { readTextFile, withFileLock, writeFileAtomic } from '@plugboard/core/files'
import { isObject } from '../json-rpc.ts'
import { randomId } from '../sealing/random-id.ts'

/** A token as its file keeps it: a digest, never the token. */
export interface NamedToken {
  /** Random; a token that is made again under the same name is another one. */
  readonly id: string
  readonly name: string
  readonly sha256: string
  readonly role?: string
  /** Milliseconds since the epoch. */
  readonly created: number
  readonly expires?: number
}

const FILE_BYTES = 16 * 1024 * 1024
const LOCK = { waitMs: 10_000, staleMs: 10_000, dirMode: 0o700 }
const PRIVATE = { mode: 0o600, forceMode: true, dirMode: 0o700 }
const NAME = /^[A-Za-z0-9][A-Za-z0-9._@+-]{0,127}$/

/** The tokens of the file; none when it does not exist. Throws when it cannot be used. */
export async function readNamedTokens(file: string): Promise<readonly NamedToken[]> {
  const read = await readTextFile(file, FILE_BYTES)
  if (read.kind === 'missing') return []
  if (read.kind === 'problem') throw new InvalidInput(`${file} ${read.message}.`, { hint: read.hint })
  return parseNamedTokens(read.text, file)
}

export function parseNamedTokens(text: string, file: string): readonly NamedToken[] {
  const fault = (why: string) =>
    new InvalidInput(`${file} ${why}.`, {
      hint: 'The file is written by `plugboard serve token`. Restore it, or remove it and make the tokens again.',
    })
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (error) {
    throw fault(`is not JSON (${error instanceof Error ? error.message : error})`)
  }
  if (!isObject(value) || !Array.isArray(value['tokens'])) throw fault('has no list of tokens')
  return value['tokens'].map((one: unknown, at) => {
    if (!isNamedToken(one)) throw fault(`has a token that cannot be read (number ${at + 1})`)
    return one
  })
}

function isNamedToken(one: unknown): one is NamedToken {
  if (!isObject(one)) return false
  const { id, name, sha256, role, created, expires } = one
  return (
    typeof id === 'string' &&
    typeof name === 'string' &&
    NAME.test(name) &&
    typeof sha256 === 'string' &&
    /^[0-9a-f]{64}$/.test(sha256) &&
    (role === undefined || typeof role === 'string') &&
    typeof created === 'number' &&
    (expires === undefined || typeof expires === 'number')
  )
}

export interface NewToken {
  readonly name: string
  readonly role?: string | undefined
  /** How long it is valid, in milliseconds; without it, until it is revoked. */
  readonly lifeMs?: number | undefined
}

/**
 * Makes a token; the returned text is the only copy of it.
 *
 * @example
 * const { token } = await addNamedToken('tokens.json', { name: 'ci' }, Date.now())
 * console.log(token.length > 20) // true
 */
export async function addNamedToken(
  file: string,
  { name, role, lifeMs }: NewToken,
  now: number,
): Promise<{ readonly token: string; readonly entry: NamedToken }> {
  if (!NAME.test(name))
    throw new InvalidInput(`"${name}" is not a name for a token.`, {
      hint: 'Use letters, digits and . _ @ + -, at most 128, as in `ada@example.com` or `ci-laptop`.',
    })
  const token = `pb_${randomBytes(32).toString('base64url')}`
  const entry: NamedToken = {
    id: randomId(9),
    name,
    sha256: createHash('sha256').update(token).digest('hex'),
    ...(role !== undefined && { role }),
    created: now,
    ...(lifeMs !== undefined && { expires: now + lifeMs }),
  }
  await change(file, (tokens) => {
    if (tokens.some((one) => one.name === name))
      throw new InvalidInput(`There is a token named "${name}" already.`, {
        hint: `Revoke it first (\`plugboard serve token revoke ${name}\`), or choose another name.`,
      })
    return [...tokens, entry]
  })
  return { token, entry }
}

/** Takes a token out; false when there is none of that name. */
export async function revokeNamedToken(file: string, name: string): Promise<boolean> {
  let found = false
  await change(file, (tokens) => {
    const left = tokens.filter((one) => one.name !== name)
    found = left.length < tokens.length
    return found ? left : undefined
  })
  return found
}

function change(
  file: string,
  edit: (tokens: readonly NamedToken[]) => readonly NamedToken[] | undefined,
): Promise<void> {
  return withFileLock(file, LOCK, async () => {
    const tokens = edit(await readNamedTokens(file))
    if (tokens) await writeFileAtomic(file, `${JSON.stringify({ version: 1, tokens }, null, 2)}\n`, PRIVATE)
  })
}

/** When each token was last used, by its id. */
export async function readLastUses(file: string): Promise<ReadonlyMap<string, number>> {
  const read = await readTextFile(lastUsesFile(file), FILE_BYTES)
  if (read.kind !== 'text') return new Map()
  try {
    const value: unknown = JSON.parse(read.text)
    const entries = isObject(value) ? Object.entries(value) : []
    return new Map(entries.flatMap(([id, at]) => (typeof at === 'number' ? [[id, at] as const] : [])))
  } catch {
    // It holds nothing that a client depends on; it is written anew.
    return new Map()
  }
}

/** Adds later uses; those of tokens that are gone are dropped. Several gateways may write the same file. */
export async function saveLastUses(file: string, uses: ReadonlyMap<string, number>): Promise<void> {
  await withFileLock(lastUsesFile(file), LOCK, async () => {
    const known = new Set((await readNamedTokens(file)).map(({ id }) => id))
    const all = new Map(await readLastUses(file))
    for (const [id, at] of uses) all.set(id, Math.max(at, all.get(id) ?? 0))
    const kept = Object.fromEntries([...all].filter(([id]) => known.has(id)))
    await writeFileAtomic(lastUsesFile(file), `${JSON.stringify(kept)}\n`, PRIVATE)
  })
}

function lastUsesFile(file: string): string {
  return `${file}.last-used`
}
