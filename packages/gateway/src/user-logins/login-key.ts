// login-key.ts: the keys that seal users' logins: from a file, from a command (a key management service), or from the keychain of
// the operating system. It knows nothing of what they seal.
import { execFile } from 'node:child_process'
import { createHash, randomBytes } from 'node:crypto'
import { join, resolve } from 'node:path'
import { type Host, InvalidInput } from '@plugboard/core'
import { openVault } from '@plugboard/core/auth'
import { readTextFile, withFileLock, writeFileAtomic } from '@plugboard/core/files'
import type { LoginKeyConfig } from '../config/schema.ts'
import type { SealKey } from '../sealing/key-ring.ts'

const COMMAND_MS = 15_000
const KEY_BYTES = 32
const TEXT_BYTES = 64 * 1024
const LOCK = { waitMs: 10_000, staleMs: 10_000, dirMode: 0o700 }

export interface LoginKeyPlace {
  readonly host: Host
  readonly stateDir: string
  /** Paths in the configuration are relative to this folder. */
  readonly folder: string
}

/** The first key seals, all open. Without a source a key is made and kept in the state folder. */
export async function loginKeys(
  source: LoginKeyConfig | undefined,
  place: LoginKeyPlace,
): Promise<readonly SealKey[]> {
  if (source?.command)
    return parseLoginKeys(await fromCommand(source.command, place), 'userLogins.key.command')
  if (source?.keychain !== undefined)
    return parseLoginKeys(await fromKeychain(source.keychain, place), 'userLogins.key.keychain')
  if (source?.file === undefined) return parseLoginKeys(await ownFile(place), 'the key in the state folder')
  const path = resolve(place.folder, source.file)
  const read = await readTextFile(path, TEXT_BYTES)
  if (read.kind !== 'text')
    throw new InvalidInput(`"userLogins.key.file": ${path} cannot be read.`, {
      hint: 'Make it with `openssl rand -base64 32 > FILE`, for the account of the gateway alone (mode 0600).',
    })
  return parseLoginKeys(read.text, `"userLogins.key.file" (${path})`)
}

/** `[kid:]base64` by lines or commas. Nothing of the text is repeated in an error. */
export function parseLoginKeys(text: string, title: string): readonly SealKey[] {
  const keys = text
    .split(/[\s,]+/)
    .filter((part) => part !== '')
    .map((part) => {
      const at = part.indexOf(':')
      const key = Buffer.from(part.slice(at + 1), 'base64')
      const kid = at < 0 ? createHash('sha256').update(key).digest('hex').slice(0, 8) : part.slice(0, at)
      if (key.length !== KEY_BYTES || !/^[A-Za-z0-9_-]{1,32}$/.test(kid))
        throw new InvalidInput(`${title} has something that is not a key of ${KEY_BYTES} bytes in base64.`, {
          hint: 'Write one key (`openssl rand -base64 32`), or several as kid:key with commas or lines between them: the first seals, all open.',
        })
      return { kid, key }
    })
  if (keys.length === 0) throw new InvalidInput(`${title} has no key.`)
  if (new Set(keys.map(({ kid }) => kid)).size < keys.length)
    throw new InvalidInput(`${title} has two keys with the same id.`)
  return keys
}

/** Started without a shell; ended when it takes too long. What it prints is the key, so no error repeats it. */
function fromCommand(command: readonly string[], { host, folder }: LoginKeyPlace): Promise<string> {
  const [program = '', ...args] = command
  const options = {
    cwd: folder,
    env: host.env as NodeJS.ProcessEnv,
    timeout: COMMAND_MS,
    killSignal: 'SIGKILL',
    maxBuffer: TEXT_BYTES,
    windowsHide: true,
  } as const
  return new Promise((done, fail) => {
    execFile(program, args, options, (error, stdout) => {
      if (!error) return done(stdout)
      const why = error.killed
        ? `did not print a key within ${COMMAND_MS / 1000} seconds`
        : `failed (${typeof error.code === 'number' ? `exit code ${error.code}` : (error.code ?? error.signal)})`
      fail(
        new InvalidInput(`"userLogins.key.command" ${why}: ${program}.`, {
          hint: 'It has to print a key of 32 bytes in base64 and exit with 0.',
        }),
      )
    })
  })
}

async function fromKeychain(name: string, { host, stateDir }: LoginKeyPlace): Promise<string> {
  const vault = await openVault({ host, stateDir, kind: 'keychain' })
  const account = JSON.stringify(['user-logins-key', name])
  const known = await vault.get(account).catch((error: unknown) => {
    throw new InvalidInput('"userLogins.key.keychain": the keychain of this machine cannot be used.', {
      hint: 'Unlock it and start again, or give the key as "file" or "command". A service without a desktop session has no keychain.',
      cause: error,
    })
  })
  if (known !== undefined) return known
  // A keychain cannot say that an entry is new: two gateways of one user that start at once take turns.
  return await withFileLock(join(stateDir, 'user-logins-keychain'), LOCK, async () => {
    const meanwhile = await vault.get(account)
    if (meanwhile !== undefined) return meanwhile
    const made = randomBytes(KEY_BYTES).toString('base64')
    await vault.set(account, made)
    return made
  })
}

async function ownFile({ stateDir }: LoginKeyPlace): Promise<string> {
  const path = join(stateDir, 'user-logins.key')
  const read = async () => {
    const outcome = await readTextFile(path, TEXT_BYTES)
    return outcome.kind === 'text' ? outcome.text : undefined
  }
  return await withFileLock(path, LOCK, async () => {
    const known = await read()
    if (known !== undefined) return known
    const made = `${randomBytes(KEY_BYTES).toString('base64')}\n`
    await writeFileAtomic(path, made, { mode: 0o600, forceMode: true, dirMode: 0o700 })
    return made
  })
}
