import { randomBytes } from 'node:crypto'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { systemHost } from '@plugboard/core'
import { memoryVault } from '@plugboard/core/auth'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { readGatewayConfig } from '../config/read-config.ts'
import { KeyRing } from '../sealing/key-ring.ts'
import { MemoryStore } from '../store/memory-store.ts'
import { LoginAttempts, type LoginVisit } from './login-attempts.ts'
import { fieldFiles } from './login-files.ts'
import { loginKeys, parseLoginKeys } from './login-key.ts'
import { SealedLogins } from './sealed-logins.ts'
import { storeLock } from './store-lock.ts'

let dir: string
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'plugboard-logins-'))
})
afterEach(() => rmSync(dir, { recursive: true, force: true }))

const ada = { key: 'a'.repeat(64), name: 'ada', roles: [] }
const bob = { key: 'b'.repeat(64), name: 'bob', roles: [] }
const ring = (...kids: string[]) => new KeyRing(kids.map((kid) => ({ kid, key: Buffer.alloc(32, kid) })))
const NAME = JSON.stringify(['login', 'https://as', 'https://rs', 'notes', 'https://rs/'])
const LOGIN = JSON.stringify({
  server: 'notes',
  grant: 'authorization_code',
  as: { issuer: 'https://as' },
  tokens: { accessToken: 'very-secret', refreshToken: 'r', obtainedAt: 5, expiresAt: 9 },
})

describe.each(['memory', 'files'] as const)('sealed logins in %s', (kind) => {
  const open = () => (kind === 'memory' ? new MemoryStore() : fieldFiles(join(dir, 'logins')))

  it('belong to one user, and are listed without their secrets', async () => {
    const store = open()
    const logins = new SealedLogins(store, ring('k'))
    const vault = logins.vault(ada, memoryVault())
    await vault.set(NAME, LOGIN)
    expect(await vault.get(NAME)).toBe(LOGIN)
    expect(await logins.vault(bob, memoryVault()).get(NAME)).toBeUndefined()
    const listed = await logins.list()
    expect(listed).toEqual([
      {
        user: 'ada',
        key: ada.key,
        server: 'notes',
        issuer: 'https://as',
        obtained: 5,
        expires: 9,
        renewable: true,
      },
    ])
    if (kind === 'files')
      for (const file of readdirSync(join(dir, 'logins')))
        expect(readFileSync(join(dir, 'logins', file), 'utf8')).not.toContain('very-secret')
    expect(await logins.forget(ada.key, 'other')).toBe(false)
    expect(await logins.forget(ada.key, 'notes')).toBe(true)
    expect([await vault.get(NAME), await logins.list(), await vault.delete(NAME)]).toEqual([
      undefined,
      [],
      false,
    ])
  })

  it('show the session for single sign-on, which can be taken back alone', async () => {
    const logins = new SealedLogins(open(), ring('k'))
    const vault = logins.vault(ada, memoryVault())
    const session = { version: 1, as: { issuer: 'https://idp' }, idToken: 'very-secret', idTokenEndsAt: 7 }
    const name = JSON.stringify(['idp', 'https://idp', 'client'])
    await vault.set(name, JSON.stringify({ ...session, refreshToken: 'r' }))
    await vault.set(NAME, LOGIN)
    const listed = (await logins.list()).find(({ server }) => server === '*')
    const { key } = ada
    expect(listed).toEqual({
      user: 'ada',
      key,
      server: '*',
      issuer: 'https://idp',
      expires: 7,
      renewable: true,
    })
    expect(await logins.forget(ada.key, '*')).toBe(true)
    expect([await vault.get(name), await vault.get(NAME)]).toEqual([undefined, LOGIN])
  })

  it('of one variant are not those of another, and all of them go together', async () => {
    const logins = new SealedLogins(open(), ring('k'))
    const wide = logins.vault(ada, memoryVault(), 'wide')
    const narrow = logins.vault(ada, memoryVault(), 'narrow')
    await wide.set(NAME, LOGIN)
    expect([await narrow.get(NAME), await logins.vault(ada, memoryVault()).get(NAME)]).toEqual([
      undefined,
      undefined,
    ])
    await narrow.set(NAME, LOGIN)
    expect((await logins.of(ada)).map(({ variant }) => variant).sort()).toEqual(['narrow', 'wide'])
    expect(await logins.forget(ada.key, 'notes')).toBe(true)
    expect([await wide.get(NAME), await narrow.get(NAME), await logins.users()]).toEqual([
      undefined,
      undefined,
      [],
    ])
  })

  it('open neither in the row of another user, nor under another name, nor changed, nor without their key', async () => {
    const store = open()
    await new SealedLogins(store, ring('old')).vault(ada, memoryVault()).set(NAME, LOGIN)
    const text = (await store.fields(`logins:${ada.key}`)).get(NAME) ?? ''
    await store.setField(`logins:${bob.key}`, NAME, text, 1e6)
    await store.setField(`logins:${ada.key}`, 'other', text, 1e6)
    await store.setField(`logins:${ada.key}`, 'changed', `${text.slice(0, -4)}AAAA`, 1e6)
    const both = new SealedLogins(store, ring('new', 'old'))
    expect(await both.vault(bob, memoryVault()).get(NAME)).toBeUndefined()
    expect(await both.vault(ada, memoryVault()).get('other')).toBeUndefined()
    expect(await both.vault(ada, memoryVault()).get('changed')).toBeUndefined()
    expect(await both.vault(ada, memoryVault()).get(NAME)).toBe(LOGIN)
    expect(await new SealedLogins(store, ring('new')).vault(ada, memoryVault()).get(NAME)).toBeUndefined()
  })

  it('leave the secrets of OAuth clients to the operator', async () => {
    const own = memoryVault()
    await own.set('["client-secret","notes","https://rs/"]', 'sesame')
    const vault = new SealedLogins(open(), ring('k')).vault(ada, own)
    expect(await vault.get('["client-secret","notes","https://rs/"]')).toBe('sesame')
  })
})

describe('attempts', () => {
  let now = 1_000_000
  const visit = { step: 'login', pending: { kind: 'idp' } } as unknown as Omit<LoginVisit, 'attempt'>
  const begin = () => {
    now = 1_000_000
    const store = new MemoryStore()
    const attempts = new LoginAttempts(store, ring('k'), () => now)
    return { store, attempts, attempt: attempts.begin(ada, 'notes', 60_000) }
  }
  const departed = async (attempts: LoginAttempts, attempt: ReturnType<typeof begin>['attempt']) => {
    let sent = ''
    await attempts.depart(attempt, 'cookie', async (state) => {
      sent = state
      return visit
    })
    return sent
  }

  it('end with their time: the link, the state and the wait', async () => {
    const { attempts, attempt } = begin()
    const ticket = attempts.ticket(attempt)
    expect(attempts.openTicket(ticket)).toMatchObject({ id: attempt.id, user: ada, server: 'notes' })
    const state = await departed(attempts, attempt)
    now += 60_001
    expect(attempts.openTicket(ticket)).toBeUndefined()
    expect(await attempts.arrive(state, 'cookie')).toBeUndefined()
    expect(await attempts.wait(attempt, new AbortController().signal)).toBeUndefined()
  })

  it('take one answer, of one browser, with a state of their own', async () => {
    const { attempts, attempt } = begin()
    const state = await departed(attempts, attempt)
    const ticket = attempts.ticket(attempt)
    for (const [wrong, cookie] of [
      [state, undefined],
      [state, 'other'],
      [ticket, 'cookie'],
      [`${state}A`, 'cookie'],
      [null, 'cookie'],
      ['', 'cookie'],
    ] as const)
      expect(await attempts.arrive(wrong, cookie)).toBeUndefined()
    const arrivals = await Promise.all([1, 2, 3].map(() => attempts.arrive(state, 'cookie')))
    expect(arrivals.filter((one) => one !== undefined)).toHaveLength(1)
    expect(await attempts.arrive(state, 'cookie')).toBeUndefined()
  })

  it('have a limited number of visits', async () => {
    const { attempts, attempt } = begin()
    for (let n = 0; n < 20; n++) await departed(attempts, attempt)
    await expect(departed(attempts, attempt)).rejects.toThrow('too often')
    await departed(attempts, attempts.begin(ada, 'notes', 60_000))
  })

  it('count visits from which no login came, by their place', async () => {
    const { attempts } = begin()
    await attempts.departed('one')
    await attempts.departed('one')
    expect([await attempts.unanswered('one'), await attempts.unanswered('two')]).toEqual([2, 0])
    await attempts.answered('one')
    expect(await attempts.unanswered('one')).toBe(0)
  })

  it('are unknown under other keys, and wake those that wait', async () => {
    const { store, attempts, attempt } = begin()
    const other = new LoginAttempts(store, ring('z'), () => now)
    expect(other.openTicket(attempts.ticket(attempt))).toBeUndefined()
    expect(await other.arrive(await departed(attempts, attempt), 'cookie')).toBeUndefined()
    const waiting = attempts.wait(attempt, new AbortController().signal)
    await attempts.finish(attempt, { ok: true })
    expect(await waiting).toEqual({ ok: true })
    expect(await other.outcome(attempt)).toBeUndefined()
    const stop = new AbortController()
    const next = attempts.begin(ada, 'notes', 60_000)
    const stopped = attempts.wait(next, stop.signal)
    stop.abort()
    await expect(stopped).rejects.toThrow()
  })
})

describe('the lock of a login', () => {
  it('has one holder at a time', async () => {
    const store = new MemoryStore()
    let inside = 0
    let most = 0
    const work = async (lock: { stillHeld(): Promise<boolean> }) => {
      most = Math.max(most, ++inside)
      await new Promise((done) => setTimeout(done, 5))
      expect(await lock.stillHeld()).toBe(true)
      inside--
    }
    await Promise.all([1, 2, 3, 4].map(() => storeLock(store, 'ada')('notes', work)))
    expect(most).toBe(1)
  })
})

describe('the key', () => {
  const key = randomBytes(32).toString('base64')
  const place = () => ({
    host: systemHost({ env: { PATH: process.env['PATH'], KEY: key } }),
    stateDir: dir,
    folder: dir,
  })
  const printing = (code: string) => ({ command: [process.execPath, '-e', code] })

  it('comes from a file, a command, or is made', async () => {
    writeFileSync(join(dir, 'key'), `a:${key}\nb:${randomBytes(32).toString('base64')}\n`)
    expect((await loginKeys({ file: 'key' }, place())).map(({ kid }) => kid)).toEqual(['a', 'b'])
    const [printed] = await loginKeys(printing('console.log(process.env.KEY)'), place())
    expect(printed?.key.toString('base64')).toBe(key)
    const made = await loginKeys(undefined, place())
    expect(await loginKeys(undefined, place())).toEqual(made)
  })

  it.each([
    ['a missing file', { file: 'none' }],
    ['a command that fails', printing('process.exit(3)')],
    ['a command that prints something else', printing('console.log("top-secret-text")')],
    ['a command that is not there', { command: ['/nowhere/kms'] }],
  ])('is refused for %s, without a word of it', async (_, source) => {
    const error = await loginKeys(source, place()).catch((fault: Error) => fault)
    expect(error).toBeInstanceOf(Error)
    expect((error as Error).message).not.toContain('top-secret-text')
  })

  it('is refused when two have one id, or there is none', () => {
    expect(() => parseLoginKeys(`a:${key},a:${key}`, 'it')).toThrow('same id')
    expect(() => parseLoginKeys(' \n', 'it')).toThrow('no key')
  })
})

describe('gateway.json', () => {
  const faults = (config: object) => {
    const reading = readGatewayConfig(JSON.stringify(config), 'gateway.json')
    return reading.ok ? [] : reading.faults.map(({ path }) => path)
  }
  const servers = { notes: {} }
  const publicUrl = 'https://mcp.example.com'
  const issuer = 'https://idp.example.com'
  it.each([
    ['nothing wrong', { publicUrl, userLogins: { servers } }, []],
    ['no public address', { userLogins: { servers } }, ['userLogins']],
    [
      'an address that can be read on the way',
      { publicUrl: 'http://mcp.example.com', userLogins: { servers } },
      ['userLogins'],
    ],
    ['a store without a key', { publicUrl, store: 'redis://r', userLogins: { servers } }, ['userLogins']],
    [
      'two keys',
      { publicUrl, userLogins: { servers, key: { file: 'a', keychain: 'b' } } },
      ['userLogins.key'],
    ],
    ['an empty key', { publicUrl, userLogins: { servers, key: {} } }, ['userLogins.key']],
    [
      'an unknown issuer',
      { publicUrl, userLogins: { servers, verify: [{ issuer, clientId: 'c' }] } },
      ['userLogins.verify[0].issuer'],
    ],
    [
      'a header of its own',
      { publicUrl, userLogins: { servers: { notes: { headers: { authorization: 'x' } } } } },
      ['userLogins.servers.notes.headers.authorization'],
    ],
    [
      'a variable of the environment',
      { publicUrl, userLogins: { servers: { notes: { headers: { 'X-A': '${HOME}' } } } } },
      ['userLogins.servers.notes.headers.X-A'],
    ],
    [
      'an exchange at a foreign issuer',
      { publicUrl, userLogins: { servers: { notes: { exchange: { issuer, clientId: 'c' } } } } },
      ['userLogins.servers.notes.exchange.issuer'],
    ],
  ])('says %s', (_, config, expected) => {
    expect(faults(config)).toEqual(expected)
  })
})
