// name-store.ts: which server each public name belonged to, in a file of the state folder, so that a server that is up first
// after a restart of the gateway does not get the names of one that is slower.
import { readTextFile, writeFileAtomic } from '@plugboard/core/files'
import { isObject } from '../json-rpc.ts'
import type { Claimant, NameStore } from './name-claims.ts'

const FILE_BYTES = 4 * 1024 * 1024
const NAMES = 20_000
const GATHER_MS = 100

/** `failed` is called when names cannot be kept; everything else goes on. */
export async function openNameStore(file: string, failed: (error: unknown) => void): Promise<NameStore> {
  let saving: NodeJS.Timeout | undefined
  let running: Promise<void> = Promise.resolve()
  const write = async (owners: readonly ReadonlyMap<string, Claimant>[]) => {
    const all = owners.flatMap((one) => [...one]).slice(0, NAMES)
    const lines = all.map(([key, { server, name }]) => [key, { server, name }])
    const text = `${JSON.stringify({ version: 1, names: Object.fromEntries(lines) })}\n`
    await writeFileAtomic(file, text, { mode: 0o600, dirMode: 0o700 })
  }
  return {
    known: await readNames(file),
    save: (...owners) => {
      // Servers claim many names at once.
      saving ??= setTimeout(() => {
        saving = undefined
        running = running.then(() => write(owners)).catch(failed)
      }, GATHER_MS)
      saving.unref()
    },
  }
}

async function readNames(file: string): Promise<ReadonlyMap<string, Claimant>> {
  const outcome = await readTextFile(file, FILE_BYTES)
  if (outcome.kind !== 'text') return new Map()
  try {
    const value: unknown = JSON.parse(outcome.text)
    const names = isObject(value) && isObject(value.names) ? Object.entries(value.names) : []
    return new Map(
      names.flatMap(([key, owner]): [string, Claimant][] => {
        if (!isObject(owner) || typeof owner.server !== 'string' || typeof owner.name !== 'string') return []
        return isKey(key) ? [[key, { server: owner.server, name: owner.name }]] : []
      }),
    )
  } catch {
    // A broken file counts as empty; the next write replaces it.
    return new Map()
  }
}

function isKey(text: string): boolean {
  try {
    const key: unknown = JSON.parse(text)
    return Array.isArray(key) && key.length === 2
  } catch {
    // Not written by us.
    return false
  }
}
