// The operations that reach a keychain: which entries are written, read and removed, and what a probe of it leaves behind.
import type { ChildProcess } from 'node:child_process'
import { EventEmitter } from 'node:events'
import { describe, expect, it } from 'vitest'
import { IoError } from '../errors.ts'
import { type Host, systemHost } from '../host.ts'
import { type Keychain, keychainVault, probeKeychain } from './vault-keychain.ts'

/** A keychain in memory that notes what it is told; account names as `head` and `part 0`. */
function noted(items = new Map<string, string>()) {
  const calls: string[] = []
  const plain = (account: string) => (account.includes('.') ? `part ${account.split('.').at(-1)}` : 'head')
  const keychain: Keychain = {
    get: async (account) => {
      calls.push(`get ${plain(account)}`)
      return items.get(account)
    },
    set: async (account, value) => {
      calls.push(`set ${plain(account)}`)
      items.set(account, value)
    },
    delete: async (account) => {
      calls.push(`delete ${plain(account)}`)
      return items.delete(account)
    },
  }
  return { items, keychain, calls, take: () => calls.splice(0) }
}

/** Timers that never fire and are counted. */
function timed(over: Partial<Host> = {}) {
  const open = new Set<() => void>()
  const host = systemHost({
    awaitedTimer: (_ms, callback) => {
      open.add(callback)
      return () => open.delete(callback)
    },
    ...over,
  })
  return { host, open }
}

describe('a secret in the keychain', () => {
  it('is written in the fewest steps, and the parts of the one before are removed after it', async () => {
    const { keychain, take, items } = noted()
    const vault = keychainVault({ host: systemHost(), keychain, chunkChars: 4 })
    await vault.set('a', '1234')
    expect(take()).toEqual(['get head', 'set head'])
    await vault.set('a', '123456789')
    expect(take()).toEqual(['get head', 'set part 0', 'set part 1', 'set part 2', 'set head'])
    await vault.get('a')
    expect(take()).toEqual(['get head', 'get part 0', 'get part 1', 'get part 2'])
    await vault.set('a', '12345')
    expect(take()).toEqual([
      ...['get head', 'set part 0', 'set part 1', 'set head'],
      ...['delete part 0', 'delete part 1', 'delete part 2'],
    ])
    expect(await vault.delete('a')).toBe(true)
    expect(take()).toEqual(['get head', 'delete head', 'delete part 0', 'delete part 1'])
    expect(items.size).toBe(0)
    expect(await vault.delete('a')).toBe(false)
    expect(take()).toEqual(['get head', 'delete head'])
  })

  it.each(['', '=', 'x', '0123456789abcdef:1', '=0123456789abcdef:1'])('may be %j', async (value) => {
    const { keychain } = noted()
    const vault = keychainVault({ host: systemHost(), keychain })
    await vault.set('a', value)
    expect(await vault.get('a')).toBe(value)
    expect(await vault.get('b')).toBeUndefined()
  })

  it.each<[NodeJS.Platform, number]>([
    ['win32', 1200],
    ['linux', 16_000],
    ['darwin', 16_000],
  ])('has as many parts as an entry on %s needs: %i characters fit', async (platform, fits) => {
    const { keychain, items } = noted()
    const vault = keychainVault({ host: systemHost({ platform }), keychain })
    await vault.set('a', 'x'.repeat(fits))
    expect(items.size).toBe(1)
    await vault.set('a', 'x'.repeat(fits + 1))
    expect(items.size).toBe(3)
  })

  it('that is replaced while it is read is read again, three times at most', async () => {
    const { keychain, items, take } = noted()
    const vault = keychainVault({ host: systemHost(), keychain, chunkChars: 4 })
    await vault.set('a', 'old-long')
    take()
    // The parts vanish under the first look, as when another process replaces the secret.
    let looks = 0
    const moving: Keychain = {
      ...keychain,
      get: async (account) => {
        if (!account.includes('.') && ++looks === 2) await vault.set('a', 'new-long')
        return looks === 1 && account.includes('.') ? undefined : keychain.get(account)
      },
    }
    const reader = keychainVault({ host: systemHost(), keychain: moving, chunkChars: 4 })
    expect(await reader.get('a')).toBe('new-long')
    for (const account of [...items.keys()]) if (account.endsWith('.1')) items.delete(account)
    take()
    await expect(vault.get('a')).rejects.toThrow('incomplete')
    expect(take().filter((call) => call === 'get head')).toHaveLength(3)
  })

  it('is replaced also where the old parts cannot be removed', async () => {
    const { keychain } = noted()
    const failing: Keychain = { ...keychain, delete: () => Promise.reject(new Error('no')) }
    const vault = keychainVault({ host: systemHost(), keychain: failing, chunkChars: 4 })
    await vault.set('a', 'long-old')
    await vault.set('a', 'long-new')
    expect(await vault.get('a')).toBe('long-new')
    await expect(vault.delete('a')).rejects.toMatchObject({
      message: expect.stringContaining('cannot be used'),
    })
  })

  it('leaves no timer behind, and keeps an error that is ours', async () => {
    const { host, open } = timed()
    const { keychain } = noted()
    const own = new IoError('ours')
    const failing: Keychain = { ...keychain, set: () => Promise.reject(own) }
    await keychainVault({ host, keychain }).get('a')
    expect(open.size).toBe(0)
    await expect(keychainVault({ host, keychain: failing }).set('a', 'x')).rejects.toBe(own)
    expect(open.size).toBe(0)
  })
})

describe('a probe', () => {
  it.each<[string, string, unknown, boolean]>([
    ['ends well', 'exit', 0, true],
    ['ends badly', 'exit', 1, false],
    ['is ended by a signal', 'exit', null, false],
    ['cannot start', 'error', new Error('ENOENT'), false],
  ])('that %s leaves no timer', async (_, event, value, works) => {
    const child = new EventEmitter()
    let given: Parameters<Host['spawn']> | undefined
    const { host, open } = timed({
      env: { HOME: '/h' },
      platform: 'linux',
      spawn: (...args) => {
        given = args
        setImmediate(() => child.emit(event, value))
        // The probe uses nothing else of a child.
        return child as unknown as ChildProcess
      },
    })
    const probing = probeKeychain(host)
    expect(open.size).toBe(1)
    expect(await probing).toBe(works)
    expect(open.size).toBe(0)
    expect(given?.[1].at(-1)).toBe('linux')
    expect(given?.[2]).toMatchObject({ stdio: 'ignore', cwd: '/', env: { HOME: '/h', NODE_OPTIONS: '' } })
  })
})
