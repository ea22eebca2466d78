// vault.ts: what a store of secrets is. How each one keeps them is in vault-keychain.ts and vault-file.ts;
// open-vault.ts chooses.
import { ParseError } from '../errors.ts'

export interface Vault {
  /** `unopened` until the first secret is asked for, where the choice is put off until then. */
  readonly kind: 'keychain' | 'file' | 'memory' | 'unopened'
  get(name: string): Promise<string | undefined>
  set(name: string, value: string): Promise<void>
  /** Answers whether there was something to delete. */
  delete(name: string): Promise<boolean>
}

/** A secret is there and cannot be read. It is left where it is, and moved aside when a login replaces it. */
export class VaultDamaged extends ParseError {
  readonly file: string
  constructor(file: string, hint = 'Log in again; the damaged file is kept beside the new one.') {
    super(`${file} is damaged and cannot be opened.`, { stage: 'auth', hint })
    this.file = file
  }
}

/** Keeps secrets for the life of the process: for embedders with a store of their own, and for tests. */
export function memoryVault(): Vault {
  const entries = new Map<string, string>()
  return {
    kind: 'memory',
    get: async (name) => entries.get(name),
    set: async (name, value) => void entries.set(name, value),
    delete: async (name) => entries.delete(name),
  }
}
