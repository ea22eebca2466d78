// open-vault.ts: chooses between the keychain and an encrypted file. The choice is stored: a keychain that is locked
// for a moment must not look like an empty one.
import { join } from 'node:path'
import { readTextFile, writeFileAtomic } from '../files/index.ts'
import type { Host } from '../host.ts'
import { AUTH_LIMITS } from '../limits.ts'
import type { Vault } from './vault.ts'
import { fileVault, type KeySource } from './vault-file.ts'
import { keychainVault, probeKeychain } from './vault-keychain.ts'

export interface OpenVaultOptions {
  readonly host: Host
  readonly stateDir: string
  /** Overrides `PLUGBOARD_VAULT`; `auto` uses the keychain where one works. */
  readonly kind?: 'auto' | 'keychain' | 'file'
}

/** The vault of this machine and user; probes for a keychain the first time, and stores the outcome. */
export async function openVault(options: OpenVaultOptions): Promise<Vault> {
  const { host, stateDir } = options
  const requested = options.kind ?? host.env.PLUGBOARD_VAULT ?? 'auto'
  const dir = join(stateDir, 'vault')
  const choiceFile = join(stateDir, 'vault-choice.json')
  const passphrase = host.env.PLUGBOARD_VAULT_PASSPHRASE
  const remembered = await readChoice(choiceFile)
  const file = (key: KeySource) => fileVault({ dir, key })

  if (requested === 'auto' && passphrase) return file({ kind: 'passphrase', passphrase })
  if (requested === 'file') {
    if (passphrase) return file({ kind: 'passphrase', passphrase })
    const works = remembered?.fileKey === 'keychain' || (!remembered && (await probeKeychain(host)))
    if (!remembered) await remember(choiceFile, { kind: 'file', fileKey: works ? 'keychain' : 'key-file' })
    return file(works ? { kind: 'keychain', keychain: keychainVault({ host }) } : { kind: 'key-file' })
  }
  if (requested === 'keychain' || remembered?.kind === 'keychain') return keychainVault({ host })
  if (remembered)
    return file(
      remembered.fileKey === 'keychain'
        ? { kind: 'keychain', keychain: keychainVault({ host }) }
        : { kind: 'key-file' },
    )
  const kind = (await probeKeychain(host)) ? 'keychain' : 'file'
  await remember(choiceFile, kind === 'file' ? { kind, fileKey: 'key-file' } : { kind })
  return kind === 'keychain' ? keychainVault({ host }) : file({ kind: 'key-file' })
}

/** The same, opened when the first secret is requested: a board without remote servers probes nothing. */
export function lazyVault(options: OpenVaultOptions): Vault {
  let kind: Vault['kind'] = 'unopened'
  let opening: Promise<Vault> | undefined
  const vault = () => {
    opening ??= openVault(options).then((opened) => {
      kind = opened.kind
      return opened
    })
    return opening
  }
  return {
    get kind() {
      return kind
    },
    get: async (name) => (await vault()).get(name),
    set: async (name, value) => (await vault()).set(name, value),
    delete: async (name) => (await vault()).delete(name),
  }
}

/** The vault that already holds this user's logins, or undefined: it does not probe for a keychain. */
export async function vaultInUse(options: OpenVaultOptions): Promise<Vault | undefined> {
  const { env } = options.host
  const isChosen = env.PLUGBOARD_VAULT === 'keychain' || env.PLUGBOARD_VAULT_PASSPHRASE !== undefined
  const remembered = await readChoice(join(options.stateDir, 'vault-choice.json'))
  return isChosen || remembered ? await openVault(options) : undefined
}

interface Choice {
  readonly kind: 'keychain' | 'file'
  readonly fileKey?: 'key-file' | 'keychain'
}

async function readChoice(file: string): Promise<Choice | undefined> {
  const outcome = await readTextFile(file, AUTH_LIMITS.vaultEntryBytes)
  if (outcome.kind !== 'text') return undefined
  try {
    const choice = JSON.parse(outcome.text) as Choice
    return choice.kind === 'keychain' || choice.kind === 'file' ? choice : undefined
  } catch {
    // A broken note costs one more probe, nothing else.
    return undefined
  }
}

async function remember(file: string, choice: Choice): Promise<void> {
  // A note that cannot be written costs the next process another probe; reading secrets must not fail for it.
  await writeFileAtomic(file, JSON.stringify(choice), { mode: 0o600, dirMode: 0o700 }).catch(() => undefined)
}
