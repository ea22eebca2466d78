// vault.ts: the interface of a secret store. vault-keychain.ts and vault-file.ts implement it; open-vault.ts chooses.
import { ParseError } from '../errors.ts'

export interface Vault {
  /** `unopened` until the first secret is requested, where the choice is deferred until then. */
  readonly kind: 'keychain' | 'file' | 'memory' | 'unopened'
  get(name: string): Promise<string | undefined>
  set(name: string, value: string): Promise<void>
  /** Returns whether there was something to delete. */
  delete(name: string): Promise<boolean>
}

/** A secret exists and cannot be read. It stays where it is, and is moved aside when a login replaces it. */
export class VaultDamaged extends ParseError {
  readonly file: string
  constructor(file: string, hint = 'Log in again; the damaged file is kept beside the new one.') {
    super(`${file} is damaged and cannot be opened.`, { stage: 'auth', hint })
    this.file = file
  }
}

/** Stores secrets for the life of the process: for embedders with their own store, and for tests. */
export function memoryVault(): Vault {
  const entries = new Map<string, string>()
  return {
    kind: 'memory',
    get: async (name) => entries.get(name),
    set: async (name, value) => void entries.set(name, value),
    delete: async (name) => entries.delete(name),
  }
}
