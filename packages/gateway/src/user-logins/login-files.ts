// login-files.ts: fields by key in files, for a gateway without a store: one file a key, changed under a lock. What is in the fields
// is sealed by others.
import { createHash } from 'node:crypto'
import { mkdir, unlink } from 'node:fs/promises'
import { join } from 'node:path'
import { readTextFile, withFileLock, writeFileAtomic } from '@plugboard/core/files'
import { isObject } from '../json-rpc.ts'
import type { Store } from '../store/store.ts'

/** The part of a store that keeps logins. */
export type FieldStore = Pick<Store, 'fields' | 'setField' | 'deleteField'>

const FILE_BYTES = 16 * 1024 * 1024
const LOCK = { waitMs: 10_000, staleMs: 10_000, dirMode: 0o700 }

export function fieldFiles(folder: string): FieldStore {
  const path = (key: string) => join(folder, `${createHash('sha256').update(key).digest('hex')}.json`)
  const read = async (file: string): Promise<Map<string, string>> => {
    const outcome = await readTextFile(file, FILE_BYTES)
    if (outcome.kind === 'missing') return new Map()
    if (outcome.kind !== 'text') throw new Error(`${file} cannot be read.`)
    const value: unknown = JSON.parse(outcome.text)
    const entries = isObject(value) ? Object.entries(value) : []
    return new Map(entries.flatMap(([field, text]) => (typeof text === 'string' ? [[field, text]] : [])))
  }
  const change = async (key: string, edit: (fields: Map<string, string>) => void): Promise<void> => {
    const file = path(key)
    await mkdir(folder, { recursive: true, mode: 0o700 })
    await withFileLock(file, LOCK, async () => {
      const fields = await read(file)
      edit(fields)
      if (fields.size === 0) return await unlink(file).catch(() => undefined)
      const text = `${JSON.stringify(Object.fromEntries(fields))}\n`
      await writeFileAtomic(file, text, { mode: 0o600, forceMode: true, dirMode: 0o700 })
    })
  }
  return {
    fields: async (key) => await read(path(key)),
    setField: (key, field, value) => change(key, (fields) => void fields.set(field, value)),
    deleteField: (key, field) => change(key, (fields) => void fields.delete(field)),
  }
}
