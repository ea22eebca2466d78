// vault-file.ts: secrets as AES-256-GCM files, one per key, 0600 in a 0700 folder, each replaced in one step. The
// folder's header says where the encryption key comes from; docs/secrets.md says what that protects.
import { createCipheriv, createDecipheriv, createHash, randomBytes, scrypt } from 'node:crypto'
import { chmod, mkdir, rename, stat, unlink } from 'node:fs/promises'
import { join } from 'node:path'
import { InvalidInput, IoError, PermissionDenied, PlugboardError } from '../errors.ts'
import { readTextFile, withFileLock, writeFileAtomic } from '../files/index.ts'
import { AUTH_LIMITS } from '../limits.ts'
import { type Vault, VaultDamaged } from './vault.ts'

/** Where the file's key is. `keychain` keeps it off the disk, `passphrase` stores it nowhere. */
export type KeySource =
  | { readonly kind: 'key-file' }
  | { readonly kind: 'passphrase'; readonly passphrase: string }
  | { readonly kind: 'keychain'; readonly keychain: Vault }

interface Header {
  readonly version: 1
  readonly key: KeySource['kind']
  readonly salt: string
  /** A sealed constant: tells a wrong key from a damaged file. */
  readonly check: Sealed
}

interface Sealed {
  readonly iv: string
  readonly tag: string
  readonly data: string
}

const CHECK = 'plugboard vault'
const KEYCHAIN_KEY = 'vault-file-key'
const SCRYPT = { N: 2 ** 15, r: 8, p: 1, maxmem: 64 * 1024 * 1024 } as const

export interface FileVaultOptions {
  /** The folder; created when missing. */
  readonly dir: string
  readonly key: KeySource
}

export function fileVault(options: FileVaultOptions): Vault {
  const { dir } = options
  let opened: Promise<Buffer> | undefined
  const key = () => {
    opened ??= openKey(options).catch((error) => {
      opened = undefined
      throw error
    })
    return opened
  }
  const fileOf = (name: string) => join(dir, `${createHash('sha256').update(name).digest('hex')}.json`)

  return {
    kind: 'file',
    async get(name) {
      await checkOwner(dir)
      const text = await readOwn(fileOf(name))
      if (text === undefined) return undefined
      return unseal(await key(), text, name, fileOf(name))
    },
    async set(name, value) {
      const secret = await key()
      await keepDamagedAside(secret, fileOf(name), name)
      await write(fileOf(name), JSON.stringify(seal(secret, value, name)))
    },
    async delete(name) {
      await checkOwner(dir)
      try {
        await unlink(fileOf(name))
        return true
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code === 'ENOENT') return false
        throw asIo(error, fileOf(name), 'removed')
      }
    },
  }
}

function seal(key: Buffer, value: string, name: string): Sealed {
  const iv = randomBytes(12)
  const cipher = createCipheriv('aes-256-gcm', key, iv)
  // The name is authenticated too, so that one server's file cannot replace another's.
  cipher.setAAD(Buffer.from(name))
  const data = Buffer.concat([cipher.update(value, 'utf8'), cipher.final()])
  return {
    iv: iv.toString('base64'),
    tag: cipher.getAuthTag().toString('base64'),
    data: data.toString('base64'),
  }
}

function unseal(key: Buffer, text: string, name: string, file: string): string {
  try {
    const sealed = JSON.parse(text) as Sealed
    const decipher = createDecipheriv('aes-256-gcm', key, Buffer.from(sealed.iv, 'base64'), {
      authTagLength: 16,
    })
    decipher.setAAD(Buffer.from(name))
    decipher.setAuthTag(Buffer.from(sealed.tag, 'base64'))
    return Buffer.concat([decipher.update(Buffer.from(sealed.data, 'base64')), decipher.final()]).toString(
      'utf8',
    )
  } catch {
    // Truncated or tampered with: the user sees the same error; the file stays.
    throw new VaultDamaged(file)
  }
}

/** A file that cannot be opened is renamed before it is replaced: it may be the only copy of something. */
async function keepDamagedAside(key: Buffer, file: string, name: string): Promise<void> {
  const text = await readOwn(file)
  if (text === undefined) return
  try {
    unseal(key, text, name, file)
  } catch {
    await rename(file, `${file}.damaged-${Date.now()}`).catch(() => undefined)
  }
}

async function openKey({ dir, key }: FileVaultOptions): Promise<Buffer> {
  await mkdir(dir, { recursive: true, mode: 0o700 })
  await checkOwner(dir)
  const headerFile = join(dir, 'vault.json')
  const existing = await readHeader(headerFile)
  if (existing) return unlock(existing, key, dir)
  return withFileLock(
    headerFile,
    { waitMs: AUTH_LIMITS.lockWaitMs, staleMs: AUTH_LIMITS.lockStaleMs, dirMode: 0o700 },
    async () => {
      const meanwhile = await readHeader(headerFile)
      if (meanwhile) return unlock(meanwhile, key, dir)
      const salt = randomBytes(16)
      const secret = await deriveKey(key, salt, dir, true)
      const header: Header = {
        version: 1,
        key: key.kind,
        salt: salt.toString('base64'),
        check: seal(secret, CHECK, CHECK),
      }
      await write(headerFile, JSON.stringify(header))
      return secret
    },
  ).catch((error) => {
    throw error instanceof PlugboardError ? error : asIo(error, headerFile, 'made')
  })
}

async function readHeader(file: string): Promise<Header | undefined> {
  const text = await readOwn(file)
  if (text === undefined) return undefined
  try {
    const header = JSON.parse(text) as Header
    if (header.version === 1 && typeof header.salt === 'string' && header.check) return header
  } catch {
    // Falls through to the same result: an unreadable header.
  }
  throw new VaultDamaged(file, `Move ${file} and its folder away, then log in again.`)
}

async function unlock(header: Header, key: KeySource, dir: string): Promise<Buffer> {
  if (header.key !== key.kind)
    throw new InvalidInput(
      `The vault in ${dir} was made with a key from the ${header.key}, and now a ${key.kind} is offered.`,
      {
        stage: 'auth',
        hint:
          header.key === 'passphrase'
            ? 'Set PLUGBOARD_VAULT_PASSPHRASE to the passphrase it was made with.'
            : `Unset PLUGBOARD_VAULT_PASSPHRASE, or move ${dir} away and log in again.`,
      },
    )
  const secret = await deriveKey(key, Buffer.from(header.salt, 'base64'), dir, false)
  try {
    unseal(secret, JSON.stringify(header.check), CHECK, dir)
  } catch {
    throw new PermissionDenied(`The ${header.key} does not open the vault in ${dir}.`, {
      stage: 'auth',
      hint:
        header.key === 'passphrase'
          ? 'Check PLUGBOARD_VAULT_PASSPHRASE; nothing in the vault was changed.'
          : `Restore the key it was made with, or move ${dir} away and log in again.`,
    })
  }
  return secret
}

async function deriveKey(key: KeySource, salt: Buffer, dir: string, create: boolean): Promise<Buffer> {
  if (key.kind === 'passphrase')
    return new Promise((done, fail) =>
      scrypt(key.passphrase.normalize('NFKC'), salt, 32, SCRYPT, (error, derived) =>
        error ? fail(error) : done(derived),
      ),
    )
  const file = join(dir, 'key')
  const stored = key.kind === 'keychain' ? await key.keychain.get(KEYCHAIN_KEY) : await readOwn(file)
  const secret = Buffer.from(stored?.trim() ?? '', 'hex')
  if (secret.length === 32) return secret
  if (!create)
    throw new VaultDamaged(
      key.kind === 'keychain' ? 'the key in the keychain' : file,
      `Restore it, or move ${dir} away and log in again.`,
    )
  const fresh = randomBytes(32)
  if (key.kind === 'keychain') await key.keychain.set(KEYCHAIN_KEY, fresh.toString('hex'))
  else await write(file, fresh.toString('hex'))
  return fresh
}

async function write(file: string, text: string): Promise<void> {
  try {
    await writeFileAtomic(file, text, { mode: 0o600, forceMode: true, dirMode: 0o700 })
  } catch (error) {
    throw asIo(error, file, 'written')
  }
}

function asIo(error: unknown, file: string, what: string): IoError {
  const code = (error as NodeJS.ErrnoException).code ?? 'unknown error'
  return new IoError(`${file} could not be ${what} (${code}).`, {
    stage: 'auth',
    hint:
      code === 'ENOSPC'
        ? 'The disk is full; make room and try again.'
        : 'Check the folder and its permissions.',
  })
}

async function readOwn(file: string): Promise<string | undefined> {
  const outcome = await readTextFile(file, AUTH_LIMITS.vaultEntryBytes)
  if (outcome.kind === 'text') return outcome.text
  if (outcome.kind === 'missing') return undefined
  throw new IoError(`${file} ${outcome.message}.`, { stage: 'auth', hint: outcome.hint })
}

/** Another user's vault is neither read nor written; ours is closed to others. A folder that is not there yet is fine. */
async function checkOwner(dir: string): Promise<void> {
  const info = await stat(dir).catch(() => undefined)
  const me = process.getuid?.()
  if (!info || me === undefined) return
  if (info.uid !== me)
    throw new PermissionDenied(`The vault ${dir} belongs to another user (uid ${info.uid}).`, {
      stage: 'auth',
      hint: 'Run as its owner, or point PLUGBOARD_HOME at a folder of your own.',
    })
  if ((info.mode & 0o077) !== 0) await chmod(dir, 0o700)
}
