// key-store.ts: where the keys of a gateway come from: the environment (PLUGBOARD_KEYS, shared by several processes), or a
// file in the state folder that only the user can read and that gets a new key from time to time.
import { join } from 'node:path'
import { InvalidInput } from '@plugboard/core'
import { readTextFile, withFileLock, writeFileAtomic } from '@plugboard/core/files'
import { GATEWAY_LIMITS } from '@plugboard/core/limits'
import { isObject } from '../json-rpc.ts'
import { freshKey, type SealKey } from './key-ring.ts'

export interface KeyStoreOptions {
  readonly stateDir: string
  readonly env: Readonly<Record<string, string | undefined>>
  now(): number
}

interface StoredKey extends SealKey {
  /** Milliseconds since the epoch. */
  readonly made: number
}

const FILE_BYTES = 64 * 1024
const DAY_MS = 24 * 60 * 60 * 1000
const LOCK = { waitMs: 10_000, staleMs: 10_000, dirMode: 0o700 }

/** The keys for a ring, the sealing one first. Makes and rotates them where they are kept in a file. */
export async function gatewayKeys(options: KeyStoreOptions): Promise<readonly SealKey[]> {
  const given = options.env['PLUGBOARD_KEYS']
  if (given !== undefined && given.trim() !== '') return parseKeys(given)
  const file = join(options.stateDir, 'gateway-keys.json')
  const known = await readKeys(file)
  if (!isDue(known, options.now())) return inOrder(known, options.now())
  try {
    return await rotate(file, options.now())
  } catch (error) {
    // A folder that cannot be written for now: the keys of before still seal and open.
    if (known.length > 0) return inOrder(known, options.now())
    throw error
  }
}

function rotate(file: string, now: number): Promise<readonly SealKey[]> {
  return withFileLock(file, LOCK, async () => {
    const current = await readKeys(file)
    // Another process may have been quicker.
    const keys = isDue(current, now) ? [{ ...freshKey(), made: now }, ...current] : current
    const kept = keys.filter(({ made }) => now - made < 2 * GATEWAY_LIMITS.keyRotationMs + DAY_MS)
    await writeFileAtomic(file, render(kept), { mode: 0o600, forceMode: true, dirMode: 0o700 })
    return inOrder(kept, now)
  })
}

/** `kid:base64key[,kid:base64key…]`: the first seals, all open. */
export function parseKeys(text: string): readonly SealKey[] {
  const fault = (why: string) =>
    new InvalidInput(`PLUGBOARD_KEYS: ${why}.`, {
      hint: 'Write kid:key pairs with commas between them; a key is 32 bytes in base64 (`openssl rand -base64 32`).',
    })
  const keys = text.split(',').map((pair) => {
    const at = pair.indexOf(':')
    const kid = pair.slice(0, Math.max(0, at)).trim()
    if (!/^[A-Za-z0-9_-]{1,32}$/.test(kid))
      throw fault('a key has no id of letters, digits, "-" and "_" before its colon')
    const key = Buffer.from(pair.slice(at + 1).trim(), 'base64')
    if (key.length !== 32) throw fault(`the key "${kid}" does not have 32 bytes`)
    return { kid, key }
  })
  if (new Set(keys.map(({ kid }) => kid)).size < keys.length) throw fault('two keys have the same id')
  return keys
}

/** A new key opens for a day before it seals, so that other processes have read it by then. */
function inOrder(keys: readonly StoredKey[], now: number): readonly SealKey[] {
  const newestFirst = [...keys].sort((a, b) => b.made - a.made)
  const sealing = newestFirst.find(({ made }) => now - made >= DAY_MS) ?? newestFirst.at(-1)
  return sealing ? [sealing, ...newestFirst.filter((one) => one !== sealing)] : []
}

function isDue(keys: readonly StoredKey[], now: number): boolean {
  return !keys.some(({ made }) => now - made < GATEWAY_LIMITS.keyRotationMs)
}

async function readKeys(file: string): Promise<readonly StoredKey[]> {
  const outcome = await readTextFile(file, FILE_BYTES)
  if (outcome.kind !== 'text') return []
  try {
    const value: unknown = JSON.parse(outcome.text)
    const list = isObject(value) && Array.isArray(value.keys) ? value.keys : []
    return list.flatMap((item: unknown) => {
      if (!isObject(item) || typeof item.kid !== 'string' || typeof item.made !== 'number') return []
      const key = Buffer.from(String(item.key), 'base64')
      return key.length === 32 ? [{ kid: item.kid, key, made: item.made }] : []
    })
  } catch {
    // A broken file opens nothing; a new one takes its place.
    return []
  }
}

function render(keys: readonly StoredKey[]): string {
  const list = keys.map(({ kid, key, made }) => ({ kid, key: key.toString('base64'), made }))
  return `${JSON.stringify({ version: 1, keys: list })}\n`
}
