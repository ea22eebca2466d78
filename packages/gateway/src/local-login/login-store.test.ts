import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { LoginCodes } from './login-codes.ts'
import { LoginStore } from './login-store.ts'

const HOUR = 60 * 60_000
let dir: string
let now = 1_000_000
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'plugboard-login-store-'))
  now = 1_000_000
})
afterEach(() => rmSync(dir, { recursive: true, force: true }))

const file = () => join(dir, 'login.json')
const open = () =>
  LoginStore.open(
    file(),
    () => now,
    (error) => {
      throw error
    },
  )

describe('registered clients', () => {
  const approved = async (store: LoginStore, id: string) => {
    await store.adapter('Client').upsert(id, { client_id: id })
    await store.adapter('Grant').upsert(`grant-${id}`, { clientId: id }, 60)
    await store.adapter('RefreshToken').upsert(`token-${id}`, { clientId: id }, 3600)
  }

  it('that nobody let in never evict one that its user did, and are not written to the file', async () => {
    const store = await open()
    await approved(store, 'mine')
    await store.flush()
    const before = readFileSync(file(), 'utf8').length
    for (let n = 0; n < 3000; n++)
      await store.adapter('Client').upsert(`evil-${n}`, { client_id: `evil-${n}`, fill: 'x'.repeat(1000) })
    await store.flush()
    expect(await store.adapter('Client').find('mine')).toEqual({ client_id: 'mine' })
    expect(await store.adapter('Client').find('evil-0')).toBeUndefined()
    expect(await store.adapter('Client').find('evil-2999')).toBeDefined()
    // What is written next has none of them either.
    await store.adapter('RefreshToken').upsert('other', {}, 3600)
    await store.flush()
    const text = readFileSync(file(), 'utf8')
    expect(text).not.toContain('evil')
    expect(text.length).toBeLessThan(before + 200)
    expect(await (await open()).adapter('Client').find('mine')).toEqual({ client_id: 'mine' })
  })

  it('end after an hour without a login, and stay with one, also when its grant is gone', async () => {
    const store = await open()
    await store.adapter('Client').upsert('idle', {})
    await approved(store, 'mine')
    await store.adapter('Grant').destroy('grant-mine')
    now += HOUR + 1
    expect(await store.adapter('Client').find('idle')).toBeUndefined()
    expect(await store.adapter('Client').find('mine')).toBeDefined()
  })

  it('keep their refresh token, however often another one renews its own', async () => {
    const store = await open()
    await approved(store, 'quiet')
    const tokens = store.adapter('RefreshToken')
    for (let n = 0; n < 2500; n++) {
      await tokens.upsert(`busy-${n}`, {}, 3600)
      await tokens.consume(`busy-${n}`)
    }
    expect(await tokens.find('token-quiet')).toBeDefined()
  })
})

describe('codes', () => {
  const codeOf = (started: ReturnType<LoginCodes['start']>) =>
    typeof started === 'string' ? started : started.code

  it('of one address end no login of another, however many it begins', () => {
    const codes = new LoginCodes(() => now)
    const mine = codeOf(codes.start('mine', '192.0.2.1'))
    const refused = Array.from({ length: 2000 }, (_, n) => codes.start(`evil-${n}`, '198.51.100.7'))
    expect(refused.filter((one) => one === 'busy')).toHaveLength(1990)
    expect(codes.check('mine', mine)).toBe('right')
  })

  it('of many addresses end those of the address that has the most', () => {
    const codes = new LoginCodes(() => now)
    const mine = codeOf(codes.start('mine', '192.0.2.1'))
    for (let at = 0; at < 100; at++)
      for (let n = 0; n < 10; n++) codes.start(`evil-${at}-${n}`, `198.51.100.${at}`)
    expect(codes.check('mine', mine)).toBe('right')
  })

  it('end after five minutes, and make room', () => {
    const codes = new LoginCodes(() => now)
    const code = codeOf(codes.start('mine', 'a'))
    expect(codes.start('mine', 'a')).toBe('known')
    for (let n = 0; n < 9; n++) codes.start(`more-${n}`, 'a')
    expect(codes.start('late', 'a')).toBe('busy')
    now += 5 * 60_000 + 1
    expect(codes.check('mine', code)).toBe('over')
    expect(codes.start('late', 'a')).toHaveProperty('code')
  })
})

describe('what is remembered', () => {
  it('lasts as long as is said, to the moment, and is not written after that', async () => {
    const store = await open()
    const tokens = store.adapter('RefreshToken')
    await tokens.upsert('short', { uid: 'u' }, 10)
    await tokens.upsert('long', { uid: 'v' })
    now += 10_000 - 1
    expect(await tokens.find('short')).toEqual({ uid: 'u' })
    now += 1
    expect([await tokens.find('short'), await tokens.find('long')]).toEqual([undefined, { uid: 'v' }])
    await tokens.upsert('next', {})
    await store.flush()
    expect(Object.keys(JSON.parse(readFileSync(file(), 'utf8')).entries.RefreshToken)).toEqual([
      'long',
      'next',
    ])
    const again = await open()
    expect(again.cookieKey).toBe(store.cookieKey)
    expect(await again.adapter('RefreshToken').find('long')).toEqual({ uid: 'v' })
  })

  it('is found by what the provider asks for, consumed once, and revoked with its grant alone', async () => {
    const store = await open()
    const sessions = store.adapter('Session')
    await sessions.upsert('a', { uid: 'one', userCode: 'x', grantId: 'g' }, 60)
    await sessions.upsert('b', { uid: 'two', userCode: 'y', grantId: 'h' }, 60)
    expect(await sessions.findByUid('two')).toMatchObject({ userCode: 'y' })
    expect(await sessions.findByUserCode('x')).toMatchObject({ uid: 'one' })
    expect([await sessions.findByUid('none'), await sessions.findByUserCode('one')]).toEqual([
      undefined,
      undefined,
    ])
    await sessions.consume('a')
    await sessions.consume('gone')
    expect(await sessions.find('a')).toMatchObject({ uid: 'one', consumed: 1000 })
    expect(await sessions.find('gone')).toBeUndefined()
    await sessions.revokeByGrantId('g')
    expect([await sessions.find('a'), (await sessions.find('b'))?.['uid']]).toEqual([undefined, 'two'])
    await sessions.destroy('b')
    expect(await sessions.find('b')).toBeUndefined()
  })

  it('is a thousand of a kind: what is over leaves first, then the oldest', async () => {
    const store = await open()
    const codes = store.adapter('AuthorizationCode')
    await codes.upsert('first', {}, 60)
    await codes.upsert('brief', {}, 1)
    for (let at = 2; at < 1000; at++) await codes.upsert(`c${at}`, {}, 60)
    expect(await codes.find('first')).toBeDefined()
    now += 1000
    await codes.upsert('over', {}, 60)
    expect(await codes.find('first')).toBeDefined()
    await codes.upsert('more', {}, 60)
    expect([await codes.find('first'), await codes.find('c2')]).toEqual([undefined, {}])
  })

  it.each([
    '{',
    '[]',
    '{"jwk": 1, "entries": {}, "cookieKey": "k"}',
    '{"jwk": {}, "entries": {}, "cookieKey": 7}',
    '{"jwk": {}, "cookieKey": "k"}',
  ])('is nothing where the file is %s, and a whole one is written', async (text) => {
    writeFileSync(file(), text)
    const store = await open()
    await store.flush()
    expect(store.jwk['kty']).toBe('EC')
    expect(JSON.parse(readFileSync(file(), 'utf8'))).toMatchObject({
      cookieKey: store.cookieKey,
      entries: {},
    })
  })
})
