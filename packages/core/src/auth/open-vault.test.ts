// Which vault is opened: every combination of what is asked for, what was remembered and whether a keychain works.
import { spawn } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type Host, systemHost } from '../host.ts'
import { lazyVault, openVault, vaultInUse } from './open-vault.ts'
import { type Keychain, keychainVault } from './vault-keychain.ts'

let dir: string
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'plugboard-open-vault-'))
})
afterEach(() => rmSync(dir, { recursive: true, force: true }))
const choiceFile = () => join(dir, 'vault-choice.json')

/** A host whose probe for a keychain ends as said, and that counts the probes. */
function probing(works: boolean, env: Host['env'] = {}) {
  let probes = 0
  const host = systemHost({
    env,
    spawn: () => {
      probes++
      return spawn(process.execPath, ['-e', `process.exit(${works ? 0 : 1})`], { stdio: 'ignore' })
    },
  })
  return { host, probes: () => probes }
}

describe('the vault that is opened', () => {
  const KEYCHAIN = { kind: 'keychain' }
  const FILE = { kind: 'file', fileKey: 'key-file' }
  const FILE_BY_KEYCHAIN = { kind: 'file', fileKey: 'keychain' }

  it.each<{
    asked?: 'auto' | 'keychain' | 'file'
    before?: unknown
    works: boolean
    kind: string
    after: unknown
    probes: number
  }>([
    { works: true, kind: 'keychain', after: KEYCHAIN, probes: 1 },
    { works: false, kind: 'file', after: FILE, probes: 1 },
    { asked: 'auto', works: true, kind: 'keychain', after: KEYCHAIN, probes: 1 },
    { asked: 'keychain', works: false, kind: 'keychain', after: undefined, probes: 0 },
    { asked: 'keychain', before: FILE, works: false, kind: 'keychain', after: FILE, probes: 0 },
    { asked: 'file', works: true, kind: 'file', after: FILE_BY_KEYCHAIN, probes: 1 },
    { asked: 'file', works: false, kind: 'file', after: FILE, probes: 1 },
    { asked: 'file', before: KEYCHAIN, works: true, kind: 'file', after: KEYCHAIN, probes: 0 },
    { before: KEYCHAIN, works: false, kind: 'keychain', after: KEYCHAIN, probes: 0 },
    { before: FILE, works: true, kind: 'file', after: FILE, probes: 0 },
    { before: FILE_BY_KEYCHAIN, works: true, kind: 'file', after: FILE_BY_KEYCHAIN, probes: 0 },
    { before: { kind: 'cloud' }, works: false, kind: 'file', after: FILE, probes: 1 },
    { before: 'not JSON', works: false, kind: 'file', after: FILE, probes: 1 },
  ])('$asked, remembered $before, a keychain works: $works → $kind', async (one) => {
    if (one.before !== undefined)
      writeFileSync(choiceFile(), one.before === 'not JSON' ? '{' : JSON.stringify(one.before))
    const { host, probes } = probing(one.works)
    const vault = await openVault({ host, stateDir: dir, ...(one.asked && { kind: one.asked }) })
    expect(vault.kind).toBe(one.kind)
    expect(probes()).toBe(one.probes)
    const after = existsSync(choiceFile()) ? JSON.parse(readFileSync(choiceFile(), 'utf8')) : undefined
    expect(after).toEqual(one.after)
  })

  it.each([
    ['file', 'file'],
    ['keychain', 'keychain'],
    ['auto', 'file'],
  ])('is named by PLUGBOARD_VAULT=%s, and the option wins', async (PLUGBOARD_VAULT, kind) => {
    const { host } = probing(false, { PLUGBOARD_VAULT })
    expect((await openVault({ host, stateDir: dir })).kind).toBe(kind)
    expect((await openVault({ host, stateDir: dir, kind: 'keychain' })).kind).toBe('keychain')
  })

  it('with the key in a key file is another than with a passphrase', async () => {
    const plain = await openVault({ ...probing(false), stateDir: dir, kind: 'file' })
    await plain.set('a', 'secret')
    expect(existsSync(join(dir, 'vault', 'key'))).toBe(true)
    const { host } = probing(false, { PLUGBOARD_VAULT_PASSPHRASE: 'p' })
    const locked = await openVault({ host, stateDir: join(dir, 'other'), kind: 'file' })
    await locked.set('a', 'secret')
    expect(existsSync(join(dir, 'other', 'vault', 'key'))).toBe(false)
  })
})

describe('the vault in use', () => {
  it.each<[Host['env'], unknown, string | undefined]>([
    [{}, undefined, undefined],
    [{}, { kind: 'keychain' }, 'keychain'],
    [{}, { kind: 'file', fileKey: 'key-file' }, 'file'],
    [{ PLUGBOARD_VAULT: 'keychain' }, undefined, 'keychain'],
    [{ PLUGBOARD_VAULT: 'file' }, undefined, undefined],
    [{ PLUGBOARD_VAULT_PASSPHRASE: 'p' }, undefined, 'file'],
  ])('with %j and %j is %s, without a probe', async (env, before, kind) => {
    if (before !== undefined) writeFileSync(choiceFile(), JSON.stringify(before))
    const { host, probes } = probing(true, env)
    expect((await vaultInUse({ host, stateDir: dir }))?.kind).toBe(kind)
    expect(probes()).toBe(0)
  })
})

describe('a lazy vault', () => {
  it('probes nothing until the first secret, and once then', async () => {
    const { host, probes } = probing(false)
    const vault = lazyVault({ host, stateDir: dir })
    expect([vault.kind, probes()]).toEqual(['unopened', 0])
    await Promise.all([vault.get('a'), vault.set('b', 'secret')])
    expect([vault.kind, probes()]).toEqual(['file', 1])
    expect(await vault.get('b')).toBe('secret')
    expect([await vault.delete('b'), await vault.delete('b')]).toEqual([true, false])
  })
})

describe('an entry of the keychain', () => {
  const drawer = (items: Map<string, string>): Keychain => ({
    get: async (account) => items.get(account),
    set: async (account, value) => void items.set(account, value),
    delete: async (account) => items.delete(account),
  })

  it.each([
    ['the first part', 0],
    ['a middle part', 1],
    ['the last part', 2],
  ])('that lacks %s is an error that says what to do, and a new login replaces it', async (_, gone) => {
    const items = new Map<string, string>()
    const vault = keychainVault({ host: systemHost(), keychain: drawer(items), chunkChars: 10 })
    await vault.set('a', 'x'.repeat(25))
    expect(items.size).toBe(4)
    const part = [...items.keys()].find((account) => account.endsWith(`.${gone}`)) ?? ''
    expect(items.delete(part)).toBe(true)
    await expect(vault.get('a')).rejects.toMatchObject({
      code: 'IO_ERROR',
      message: expect.stringContaining('incomplete'),
      hint: expect.stringContaining('Log in again'),
    })
    await vault.set('a', 'new')
    expect(await vault.get('a')).toBe('new')
    expect(items.size).toBe(1)
  })

  it.each([9, 10, 11, 20, 21])('of %i characters comes back whole in parts of ten', async (length) => {
    const items = new Map<string, string>()
    const vault = keychainVault({ host: systemHost(), keychain: drawer(items), chunkChars: 10 })
    const value = Array.from({ length }, (_, at) => at % 10).join('')
    await vault.set('a', value)
    expect(await vault.get('a')).toBe(value)
    expect(items.size).toBe(length <= 10 ? 1 : 1 + Math.ceil(length / 10))
  })
})
