// vault-keychain.ts: secrets in the keychain of the operating system, by @napi-rs/keyring, loaded on first use.
// A keychain may hang (a locked one that waits for the user): every operation has a timeout.
import { createHash, randomBytes } from 'node:crypto'
import { createRequire } from 'node:module'
import { parse } from 'node:path'
import { IoError } from '../errors.ts'
import type { Host } from '../host.ts'
import { AUTH_LIMITS } from '../limits.ts'
import type { Vault } from './vault.ts'

const SERVICE = 'plugboard'

/** The three operations a keychain has; an entry is a string under an account name. */
export interface Keychain {
  get(account: string): Promise<string | undefined>
  set(account: string, value: string): Promise<void>
  delete(account: string): Promise<boolean>
}

export interface KeychainVaultOptions {
  readonly host: Host
  readonly keychain?: Keychain
  /** Windows stores at most 2560 bytes in an entry, as UTF-16. */
  readonly chunkChars?: number
}

/**
 * A long secret is split into parts under a fresh generation, and the head entry, written last, names the generation:
 * a reader sees the old secret or the new one, never a mixture.
 */
export function keychainVault(options: KeychainVaultOptions): Vault {
  const { host } = options
  const chunkChars = options.chunkChars ?? (host.platform === 'win32' ? 1200 : 16_000)
  let loaded: Promise<Keychain> | undefined
  const keychain = () => {
    loaded ??= options.keychain ? Promise.resolve(options.keychain) : systemKeychain(host)
    return loaded
  }
  const within = <T>(work: (chain: Keychain) => Promise<T>) => limited(host, keychain().then(work))

  const readHead = async (account: string) => {
    const head = await within((chain) => chain.get(account))
    const [, generation, count] = /^([0-9a-f]{16}):(\d{1,4})$/.exec(head?.slice(0, 24) ?? '') ?? []
    return { head, generation, count: Number(count ?? 0) }
  }
  const setParts = async (account: string, value: string) => {
    const generation = randomBytes(8).toString('hex')
    const parts = value.match(new RegExp(`[\\s\\S]{1,${chunkChars}}`, 'g')) ?? []
    for (const [index, part] of parts.entries())
      await within((chain) => chain.set(`${account}.${generation}.${index}`, part))
    await within((chain) => chain.set(account, `${generation}:${parts.length}`))
  }
  const dropParts = async (account: string, generation: string | undefined, count: number) => {
    for (let part = 0; generation && part < count; part++)
      await within((chain) => chain.delete(`${account}.${generation}.${part}`)).catch(() => undefined)
  }

  return {
    kind: 'keychain',
    async get(name) {
      const account = accountOf(name)
      for (let attempt = 0; attempt < 3; attempt++) {
        const { head, generation, count } = await readHead(account)
        if (head === undefined) return undefined
        if (!generation) return head.slice(1)
        const parts: (string | undefined)[] = []
        for (let part = 0; part < count; part++)
          parts.push(await within((chain) => chain.get(`${account}.${generation}.${part}`)))
        if (parts.every((part) => part !== undefined)) return parts.join('')
      }
      throw incomplete()
    },
    async set(name, value) {
      const account = accountOf(name)
      const before = await readHead(account)
      if (value.length <= chunkChars) await within((chain) => chain.set(account, `=${value}`))
      else await setParts(account, value)
      await dropParts(account, before.generation, before.count)
    },
    async delete(name) {
      const account = accountOf(name)
      const before = await readHead(account)
      const removed = await within((chain) => chain.delete(account))
      await dropParts(account, before.generation, before.count)
      return removed
    },
  }
}

function incomplete(): IoError {
  return new IoError('A login in the keychain is incomplete.', {
    stage: 'auth',
    hint: 'Log in again to replace it.',
  })
}

const accountOf = (name: string) => createHash('sha256').update(name).digest('hex').slice(0, 40)

async function systemKeychain(host: Host): Promise<Keychain> {
  const { AsyncEntry } = await import('@napi-rs/keyring').catch((error) => {
    throw new IoError('The keychain module is not installed on this machine.', {
      stage: 'auth',
      hint: 'Set PLUGBOARD_VAULT=file to keep logins in an encrypted file.',
      cause: error,
    })
  })
  // Without this, Linux silently falls back to the kernel's keyring, which forgets everything at log-out.
  const store = host.platform === 'linux' ? { linux: { store: 'secret-service' as const } } : undefined
  const entry = (account: string) => new AsyncEntry(SERVICE, account, store)
  return {
    get: async (account) => (await entry(account).getPassword()) ?? undefined,
    set: (account, value) => entry(account).setPassword(value),
    delete: (account) => entry(account).deleteCredential(),
  }
}

async function limited<T>(host: Host, work: Promise<T>): Promise<T> {
  let cancel: () => void = () => undefined
  const limit = new Promise<never>((_, fail) => {
    cancel = host.awaitedTimer(AUTH_LIMITS.keychainProbeMs, () =>
      fail(unavailable(`did not answer within ${AUTH_LIMITS.keychainProbeMs / 1000} s`)),
    )
  })
  try {
    return await Promise.race([work, limit])
  } catch (error) {
    // The keychain's own message may name entries, so it is dropped.
    throw error instanceof IoError ? error : unavailable('cannot be used')
  } finally {
    cancel()
  }
}

function unavailable(what: string): IoError {
  return new IoError(`The keychain that keeps your logins ${what}.`, {
    stage: 'auth',
    hint: 'Unlock it and try again, or set PLUGBOARD_VAULT=file and log in again to use an encrypted file.',
  })
}

const PROBE = `
const [path, platform] = process.argv.slice(1)
const { Entry } = require(path)
const value = require('node:crypto').randomBytes(16).toString('hex')
const store = platform === 'linux' ? { linux: { store: 'secret-service' } } : undefined
const entry = new Entry(${JSON.stringify(SERVICE)}, 'probe-' + value, store)
entry.setPassword(value)
const same = entry.getPassword() === value
entry.deletePassword()
process.exit(same ? 0 : 1)
`

/**
 * Does a keychain work here? Writes, reads and removes an entry in a child process: a native call that hangs would
 * otherwise keep this process alive for ever.
 */
export function probeKeychain(host: Host): Promise<boolean> {
  let path: string
  try {
    path = createRequire(import.meta.url).resolve('@napi-rs/keyring')
  } catch {
    // The optional dependency is not installed: no keychain, no fault.
    return Promise.resolve(false)
  }
  return new Promise((done) => {
    const child = host.spawn(process.execPath, ['-e', PROBE, path, host.platform], {
      stdio: 'ignore',
      cwd: parse(process.execPath).root,
      env: { ...host.env, ELECTRON_RUN_AS_NODE: '1', NODE_OPTIONS: '' },
    })
    const cancel = host.awaitedTimer(AUTH_LIMITS.keychainProbeMs, () => child.kill('SIGKILL'))
    const finish = (works: boolean) => {
      cancel()
      done(works)
    }
    child.once('error', () => finish(false))
    child.once('exit', (code) => finish(code === 0))
  })
}
