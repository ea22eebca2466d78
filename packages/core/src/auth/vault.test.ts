import { spawn } from 'node:child_process'
import {
  chmodSync,
  chownSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { IoError } from '../errors.ts'
import { retimed } from '../fixtures/timers.ts'
import { type Host, systemHost } from '../host.ts'
import { openVault } from './open-vault.ts'
import { VaultDamaged } from './vault.ts'
import { fileVault } from './vault-file.ts'
import { type Keychain, keychainVault, probeKeychain } from './vault-keychain.ts'

let dir: string
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'plugboard-vault-'))
})
afterEach(() => rmSync(dir, { recursive: true, force: true }))

const vaultDir = () => join(dir, 'vault')
const byKeyFile = () => fileVault({ dir: vaultDir(), key: { kind: 'key-file' } })
const byPassphrase = (passphrase: string) =>
  fileVault({ dir: vaultDir(), key: { kind: 'passphrase', passphrase } })
const entries = () => readdirSync(vaultDir()).filter((name) => /^[0-9a-f]{64}\.json$/.test(name))

describe('the encrypted file', () => {
  it('keeps, replaces and deletes secrets, also for the next process', async () => {
    await byKeyFile().set('a', 'one')
    await byKeyFile().set('a', 'two')
    await byKeyFile().set('b', 'é'.repeat(10_000))
    expect(await byKeyFile().get('a')).toBe('two')
    expect(await byKeyFile().get('b')).toHaveLength(10_000)
    expect(await byKeyFile().get('c')).toBeUndefined()
    expect(await byKeyFile().delete('a')).toBe(true)
    expect(await byKeyFile().delete('a')).toBe(false)
    expect(await byKeyFile().get('a')).toBeUndefined()
  })

  it('makes no folder as long as nothing is kept', async () => {
    expect(await byKeyFile().get('a')).toBeUndefined()
    expect(await byKeyFile().delete('a')).toBe(false)
    expect(readdirSync(dir)).toEqual([])
  })

  it('is closed to everybody else, and closes a folder that is not', async () => {
    mkdirSync(vaultDir(), { mode: 0o755 })
    chmodSync(vaultDir(), 0o755)
    await byKeyFile().set('a', 'secret')
    expect(statSync(vaultDir()).mode & 0o777).toBe(0o700)
    for (const name of readdirSync(vaultDir()))
      expect(statSync(join(vaultDir(), name)).mode & 0o777).toBe(0o600)
    expect(readFileSync(join(vaultDir(), entries()[0] ?? ''), 'utf8')).not.toContain('secret')
  })

  it('opens for its passphrase only, and changes nothing for a wrong one', async () => {
    await byPassphrase('right').set('a', 'secret')
    expect(await byPassphrase('right').get('a')).toBe('secret')
    await expect(byPassphrase('wrong').get('a')).rejects.toMatchObject({ code: 'PERMISSION_DENIED' })
    await expect(byPassphrase('wrong').set('a', 'x')).rejects.toMatchObject({ code: 'PERMISSION_DENIED' })
    await expect(byKeyFile().get('a')).rejects.toMatchObject({
      code: 'INVALID_INPUT',
      hint: expect.stringContaining('PLUGBOARD_VAULT_PASSPHRASE'),
    })
    expect(await byPassphrase('right').get('a')).toBe('secret')
  })

  it.each([
    ['truncated', (text: string) => text.slice(0, 20)],
    ['emptied', () => ''],
    ['tampered with', (text: string) => text.replace(/"data":"./, '"data":"#')],
    ['replaced by a page', () => '<html>'],
  ])('tells that an entry was %s, keeps it aside, and takes a new one', async (_how, damage) => {
    await byKeyFile().set('a', 'secret')
    const [file = ''] = entries()
    const path = join(vaultDir(), file)
    const damaged = damage(readFileSync(path, 'utf8'))
    writeFileSync(path, damaged)
    await expect(byKeyFile().get('a')).rejects.toBeInstanceOf(VaultDamaged)
    await expect(byKeyFile().get('a')).rejects.toBeInstanceOf(VaultDamaged)
    await byKeyFile().set('a', 'new')
    expect(await byKeyFile().get('a')).toBe('new')
    const aside = readdirSync(vaultDir()).find((name) => name.includes('.damaged-')) ?? ''
    expect(readFileSync(join(vaultDir(), aside), 'utf8')).toBe(damaged)
  })

  it('notices one entry in the place of another', async () => {
    await byKeyFile().set('a', 'of a')
    const [first = ''] = entries()
    await byKeyFile().set('b', 'of b')
    const second = entries().find((name) => name !== first) ?? ''
    writeFileSync(join(vaultDir(), second), readFileSync(join(vaultDir(), first)))
    await expect(byKeyFile().get('b')).rejects.toBeInstanceOf(VaultDamaged)
  })

  it('tells that its key is gone instead of making a new one', async () => {
    await byKeyFile().set('a', 'secret')
    rmSync(join(vaultDir(), 'key'))
    await expect(byKeyFile().get('a')).rejects.toBeInstanceOf(VaultDamaged)
    await expect(byKeyFile().set('a', 'x')).rejects.toBeInstanceOf(VaultDamaged)
  })

  it('tells that an entry cannot be read, without a word of what is in it', async () => {
    await byKeyFile().set('a', 'secret')
    const path = join(vaultDir(), entries()[0] ?? '')
    rmSync(path)
    mkdirSync(path)
    await expect(byKeyFile().get('a')).rejects.toBeInstanceOf(IoError)
  })

  it.runIf(process.getuid?.() === 0)('refuses a vault that belongs to another user', async () => {
    await byKeyFile().set('a', 'secret')
    chownSync(vaultDir(), 65534, 65534)
    await expect(byKeyFile().get('a')).rejects.toMatchObject({ code: 'PERMISSION_DENIED' })
    await expect(byKeyFile().set('a', 'x')).rejects.toMatchObject({ code: 'PERMISSION_DENIED' })
  })

  it('is made once when many processes begin at the same time', async () => {
    await Promise.all(Array.from({ length: 10 }, (_, index) => byKeyFile().set(`k${index}`, `v${index}`)))
    for (let index = 0; index < 10; index++) expect(await byKeyFile().get(`k${index}`)).toBe(`v${index}`)
  })
})

/** A keychain in memory with the limits and quirks of a real one. */
function drawer(maxChars = Number.POSITIVE_INFINITY): Keychain & { readonly items: Map<string, string> } {
  const items = new Map<string, string>()
  return {
    items,
    get: async (account) => items.get(account),
    set: async (account, value) => {
      if (value.length > maxChars) throw new Error('too long')
      items.set(account, value)
    },
    delete: async (account) => items.delete(account),
  }
}

describe('the keychain', () => {
  const host = systemHost()

  it('keeps short and long secrets, and leaves no parts behind', async () => {
    const keychain = drawer(1200)
    const vault = keychainVault({ host, keychain, chunkChars: 1200 })
    const long = 'x'.repeat(5000)
    for (const value of ['short', long, `${long}y`, 'short again']) {
      await vault.set('a', value)
      expect(await vault.get('a')).toBe(value)
    }
    expect(keychain.items.size).toBe(1)
    await vault.set('a', long)
    expect(await vault.delete('a')).toBe(true)
    expect(await vault.get('a')).toBeUndefined()
    expect(keychain.items.size).toBe(0)
  })

  it('never shows half of an old secret and half of a new one', async () => {
    const keychain = drawer()
    const vault = keychainVault({ host, keychain, chunkChars: 10 })
    const values = Array.from({ length: 20 }, (_, index) => String.fromCharCode(97 + index).repeat(95))
    await vault.set('a', values[0] ?? '')
    const writing = (async () => {
      for (const value of values) await vault.set('a', value)
    })()
    for (let look = 0; look < 50; look++) {
      const seen = await vault.get('a').catch((error) => error)
      if (typeof seen === 'string') expect(values).toContain(seen)
      else expect(seen).toBeInstanceOf(IoError)
    }
    await writing
  })

  it('does not wait for ever on one that hangs', async () => {
    const quick: Host = retimed(systemHost(), () => 30)
    const stuck: Keychain = { ...drawer(), get: () => new Promise(() => undefined) }
    await expect(keychainVault({ host: quick, keychain: stuck }).get('a')).rejects.toMatchObject({
      code: 'IO_ERROR',
      hint: expect.stringContaining('PLUGBOARD_VAULT=file'),
    })
  })

  it('repeats nothing that a failing one says', async () => {
    const broken: Keychain = {
      ...drawer(),
      get: async () => Promise.reject(new Error('entry SECRET is bad')),
    }
    const error = await keychainVault({ host, keychain: broken })
      .get('a')
      .catch((caught) => caught)
    expect(JSON.stringify([error.message, error.hint, String(error.cause)])).not.toContain('SECRET')
  })

  it('is probed in a child that cannot hang this process', async () => {
    let pid: number | undefined
    const hung = systemHost({
      spawn: () => {
        const child = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], { stdio: 'ignore' })
        pid = child.pid
        return child
      },
      awaitedTimer: (_ms, callback) => systemHost().awaitedTimer(100, callback),
    })
    expect(await probeKeychain(hung)).toBe(false)
    expect(() => process.kill(pid ?? 0, 0)).toThrow()
  })
})

describe('the choice of a vault', () => {
  const noKeychain = { DBUS_SESSION_BUS_ADDRESS: 'unix:path=/nonexistent', PATH: process.env.PATH }

  it.runIf(process.platform === 'linux')(
    'is the file where no keychain answers, and is remembered',
    async () => {
      let probes = 0
      const host = systemHost({
        env: noKeychain,
        spawn: (command, args, options) => {
          probes++
          return spawn(command, args, options)
        },
      })
      expect((await openVault({ host, stateDir: dir })).kind).toBe('file')
      const again = await openVault({ host, stateDir: dir })
      expect(again.kind).toBe('file')
      expect(probes).toBe(1)
      await again.set('a', 'secret')
      expect(await (await openVault({ host, stateDir: dir })).get('a')).toBe('secret')
    },
  )

  it('stays with the keychain when that is locked for once: an empty file must not look like a logout', async () => {
    writeFileSync(join(dir, 'vault-choice.json'), '{"kind":"keychain"}')
    expect((await openVault({ host: systemHost({ env: noKeychain }), stateDir: dir })).kind).toBe('keychain')
  })

  it('is a passphrase when one is given', async () => {
    const host = systemHost({ env: { ...noKeychain, PLUGBOARD_VAULT_PASSPHRASE: 'p' } })
    const vault = await openVault({ host, stateDir: dir })
    await vault.set('a', 'secret')
    expect(await byPassphrase('p').get('a')).toBe('secret')
  })
})

describe('the folder of a vault', () => {
  it('is refused with a header that is not whole, and the header stays', async () => {
    await byKeyFile().set('a', 'secret')
    const header = join(vaultDir(), 'vault.json')
    const whole = JSON.parse(readFileSync(header, 'utf8'))
    for (const wrong of [
      { ...whole, version: 2 },
      { ...whole, salt: 5 },
      { ...whole, check: undefined },
      5,
    ]) {
      const text = JSON.stringify(wrong)
      writeFileSync(header, text)
      await expect(byKeyFile().get('a')).rejects.toMatchObject({ hint: expect.stringContaining('Move') })
      expect(readFileSync(header, 'utf8')).toBe(text)
    }
    writeFileSync(header, JSON.stringify(whole))
    expect(await byKeyFile().get('a')).toBe('secret')
  })

  it('says what opens it: the passphrase, or the key file', async () => {
    await byKeyFile().set('a', 'secret')
    await expect(byPassphrase('p').get('a')).rejects.toMatchObject({
      hint: expect.stringContaining('Unset PLUGBOARD_VAULT_PASSPHRASE'),
    })
    writeFileSync(join(vaultDir(), 'key'), 'ab'.repeat(32))
    await expect(byKeyFile().get('a')).rejects.toMatchObject({
      hint: expect.stringContaining('Restore the key'),
    })
    rmSync(join(vaultDir(), 'key'))
    await expect(byKeyFile().get('a')).rejects.toMatchObject({
      message: expect.stringContaining(join(vaultDir(), 'key')),
    })
    rmSync(vaultDir(), { recursive: true })
    await byPassphrase('p').set('a', 'secret')
    await expect(byKeyFile().get('a')).rejects.toMatchObject({
      hint: expect.stringContaining('Set PLUGBOARD_VAULT_PASSPHRASE'),
    })
    await expect(byPassphrase('q').get('a')).rejects.toMatchObject({
      hint: expect.stringContaining('Check PLUGBOARD_VAULT_PASSPHRASE'),
    })
  })

  it('closes an entry that others could read, and deletes nothing twice', async () => {
    await byKeyFile().set('a', 'secret')
    const entry = () => join(vaultDir(), entries()[0] ?? '')
    chmodSync(entry(), 0o644)
    await byKeyFile().set('a', 'new')
    expect(statSync(entry()).mode & 0o777).toBe(0o600)
    expect([await byKeyFile().delete('a'), await byKeyFile().delete('a')]).toEqual([true, false])
    rmSync(vaultDir(), { recursive: true })
    expect([await byKeyFile().get('a'), await byKeyFile().delete('a')]).toEqual([undefined, false])
  })

  it('says why an entry cannot be removed', async () => {
    await byKeyFile().set('a', 'secret')
    const entry = join(vaultDir(), entries()[0] ?? '')
    rmSync(entry)
    mkdirSync(entry)
    await expect(byKeyFile().delete('a')).rejects.toMatchObject({
      message: expect.stringMatching(/could not be removed \(E\w+\)/),
      hint: 'Check the folder and its permissions.',
    })
  })
})
