// audit-seal.ts: the key of the audit log, and the seals made with it. Any program that can write the file can
// recompute the hash chain; only one that has the key can make a seal (HMAC-SHA256 over a line's number and hash).
import { createHash, createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import type { Vault } from '../auth/vault.ts'
import { readTextFile, writeFileAtomic } from '../files/index.ts'

export interface AuditKey {
  readonly bytes: Buffer
  /** The first line written with the current key; the first seal after it also covers the lines before. */
  readonly since: number
  /** Who can read the key. */
  readonly kept: 'keychain' | 'vault' | 'file'
}

export interface AuditKeys {
  /** Undefined when there is no key yet. Throws when there is one and it cannot be read now. */
  load(): Promise<AuditKey | undefined>
  /** A new key that is not saved yet. */
  make(since: number): Promise<{ readonly key: AuditKey; save(): Promise<void> }>
}

export interface AuditKeysOptions {
  /** The audit log; a key file is in the same folder. */
  readonly path: string
  /** The vault, where one is in use. Logging a call does not probe for a keychain. */
  readonly vault?: (() => Promise<Vault | undefined>) | undefined
}

const KEY_BYTES = 32
const FILE_BYTES = 4096

/** Stored in the vault of the logins; without one, in a file that only its owner can read. */
export function auditKeys({ path, vault }: AuditKeysOptions): AuditKeys {
  const file = `${path}.key`
  // One keychain serves every state folder of the user.
  const name = `audit-key:${createHash('sha256').update(path).digest('hex').slice(0, 32)}`
  const fromFile = async () => {
    const read = await readTextFile(file, FILE_BYTES)
    if (read.kind === 'text') return keyOf(read.text, 'file')
    if (read.kind === 'missing') return undefined
    throw new Error(`${file} cannot be read.`)
  }
  return {
    load: async () => {
      const store = await vault?.()
      const text = await store?.get(name)
      return store && text !== undefined ? keyOf(text, keptIn(store)) : await fromFile()
    },
    make: async (since) => {
      const bytes = randomBytes(KEY_BYTES)
      const text = JSON.stringify({ key: bytes.toString('base64'), since })
      const store = await vault?.()
      return store
        ? { key: { bytes, since, kept: keptIn(store) }, save: () => store.set(name, text) }
        : {
            key: { bytes, since, kept: 'file' },
            save: () => writeFileAtomic(file, text, { mode: 0o600, dirMode: 0o700 }),
          }
    },
  }
}

function keptIn({ kind }: Vault): AuditKey['kept'] {
  return kind === 'keychain' ? 'keychain' : 'vault'
}

function keyOf(text: string, kept: AuditKey['kept']): AuditKey {
  const { key, since } = JSON.parse(text) as { key?: unknown; since?: unknown }
  const bytes = typeof key === 'string' ? Buffer.from(key, 'base64') : Buffer.alloc(0)
  if (bytes.length !== KEY_BYTES || typeof since !== 'number')
    throw new Error('The key of the audit log is damaged.')
  return { bytes, since, kept }
}

/** `first`: the first line of a file, so that lines cannot be removed from its beginning. `head`: the note of the end. */
export type SealKind = 'line' | 'first' | 'head'

export function sealOf(key: AuditKey, kind: SealKind, seq: number, hash: string): string {
  return createHmac('sha256', key.bytes).update(`plugboard-audit-1:${kind}:${seq}:${hash}`).digest('hex')
}

export function isSealed(key: AuditKey, kind: SealKind, seq: number, hash: string, seal: unknown): boolean {
  if (typeof seal !== 'string') return false
  const [given, expected] = [Buffer.from(seal, 'hex'), Buffer.from(sealOf(key, kind, seq, hash), 'hex')]
  return given.length === expected.length && timingSafeEqual(given, expected)
}
