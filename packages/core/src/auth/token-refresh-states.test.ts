// One login between this process, its siblings and a vault that fails: whose token counts, and what is kept.
import { afterEach, describe, expect, it } from 'vitest'
import { AuthRequired, IoError } from '../errors.ts'
import { AUTH_LIMITS } from '../limits.ts'
import { type AuthSetup, authSetup, cleanUp, remote } from './fixtures/setup.ts'
import { type Login, loadLogin, saveLogin } from './stored-logins.ts'
import { type RefreshOutcome, refreshLogin } from './token-refresh.ts'

const NOW = 1_000_000_000
const HOUR = 3_600_000
const server = remote('one', 'https://one.example/mcp')
const setups: AuthSetup[] = []
afterEach(() => cleanUp(...setups.splice(0)))

const loginOf = (accessToken: string, left: number, more: Partial<Login> = {}): Login => ({
  version: 1,
  grant: 'authorization_code',
  server: 'one',
  url: server.entry.url,
  as: { issuer: 'https://as.example' },
  resource: server.entry.url,
  sendResource: false,
  client: { clientId: 'c', source: 'registered', redirectUri: 'http://localhost:1/callback' },
  tokens: {
    accessToken,
    refreshToken: `${accessToken}-refresh`,
    type: 'bearer',
    obtainedAt: NOW - HOUR,
    expiresAt: NOW + left,
  },
  generation: 1,
  ...more,
})
const renewed = (login: Login): RefreshOutcome => ({ kind: 'renewed', login })

/** A vault in memory, a clock that stands still and a lock that may be lost. */
async function scene(stored: Login | undefined) {
  const made = authSetup()
  setups.push(made)
  const texts = new Map<string, string>()
  const state = { isHeld: true, isFull: false, now: NOW, renewals: 0 }
  const context = {
    ...made.context,
    host: { ...made.context.host, now: () => state.now, random: () => 0 },
    lock: <T>(_name: string, work: (lock: { stillHeld(): Promise<boolean> }) => Promise<T>) =>
      work({ stillHeld: async () => state.isHeld }),
    vault: {
      ...made.context.vault,
      get: async (name: string) => texts.get(name),
      set: async (name: string, text: string) => {
        if (state.isFull) throw new IoError('could not be written (ENOSPC).', { stage: 'auth' })
        texts.set(name, text)
      },
    },
  }
  if (stored) await saveLogin(server, context, stored)
  const refresher = (renew: (login: Login | undefined) => RefreshOutcome | Promise<RefreshOutcome>) =>
    refreshLogin({
      server,
      context,
      unattended: false,
      renew: async (login) => {
        state.renewals++
        return renew(login)
      },
    })
  return { state, context, refresher, notices: made.notices, kept: () => loadLogin(server, context) }
}

describe('a renewal', () => {
  it('begins when no more than the margin is left', async () => {
    const margin = AUTH_LIMITS.refreshAheadMs
    const { state, refresher } = await scene(loginOf('a', margin + 1))
    const one = refresher(() => renewed(loginOf('b', HOUR, { generation: 2 })))
    expect((await one.get()).tokens.accessToken).toBe('a')
    expect(state.renewals).toBe(0)
    state.now += 1
    expect((await one.get()).tokens.accessToken).toBe('b')
    expect(state.renewals).toBe(1)
  })

  it('that brings the refused token back is tried once more, and no third time', async () => {
    const { state, refresher } = await scene(loginOf('a', HOUR))
    const one = refresher(() => renewed(loginOf('a', HOUR)))
    await expect(one.get({ rejected: 'a' })).rejects.toThrow(AuthRequired)
    expect(state.renewals).toBe(2)
  })

  it.each([
    ['a newer one of another process', 3, 'theirs'],
    ['one as new of another process', 2, 'theirs'],
    ['an older one', 1, 'ours'],
  ])('after its lock was lost yields to %s', async (_, generation, counts) => {
    const { state, context, refresher, kept } = await scene(loginOf('a', 0))
    state.isHeld = false
    const one = refresher(async () => {
      await saveLogin(server, context, loginOf('theirs', HOUR, { generation }))
      return renewed(loginOf('ours', HOUR, { generation: 2 }))
    })
    expect((await one.get()).tokens.accessToken).toBe(counts)
    expect((await kept())?.tokens.accessToken).toBe(counts)
  })

  it.each([
    ['as new', 2, 'theirs'],
    ['newer', 3, 'theirs'],
    ['older', 1, 'ours'],
  ])('that could not be saved yields to one of another process that is %s', async (_, generation, counts) => {
    const { state, context, refresher, kept } = await scene(loginOf('a', 0))
    const one = refresher(() => {
      state.isFull = true
      return renewed(loginOf('ours', HOUR, { generation: 2 }))
    })
    expect((await one.get()).tokens.accessToken).toBe('ours')
    state.isFull = false
    await saveLogin(server, context, loginOf('theirs', HOUR, { generation }))
    expect((await one.get()).tokens.accessToken).toBe(counts)
    expect((await kept())?.tokens.accessToken).toBe(counts)
    expect(state.renewals).toBe(1)
    expect((await one.get()).tokens.accessToken).toBe(counts)
  })

  it.each([
    ['grant-dead', true],
    ['client-dead', false],
  ] as const)(
    'that fails for good (%s) retires the refresh token, and uses what still holds',
    async (failure, isClient) => {
      const { refresher, kept } = await scene(loginOf('a', 1000))
      const error = new IoError('gone.', { stage: 'auth' })
      const one = refresher(() => ({ kind: 'failed', failure, error }))
      expect((await one.get()).tokens).toMatchObject({ accessToken: 'a' })
      const { tokens, client } = (await kept()) ?? loginOf('lost', 0)
      expect([tokens.accessToken, tokens.refreshToken]).toEqual(['a', undefined])
      expect(client.redirectUri !== undefined).toBe(isClient)
    },
  )

  it('that fails for good without anything that holds asks for a login, with the reason', async () => {
    const { refresher } = await scene(loginOf('a', 0))
    const error = new IoError('gone.', { stage: 'auth' })
    const one = refresher(() => ({ kind: 'failed', failure: 'grant-dead', error }))
    await expect(one.get()).rejects.toMatchObject({
      code: 'AUTH_REQUIRED',
      hint: expect.stringMatching(/^The login has ended \(gone\.\) Run/),
    })
  })

  it('is not begun where the vault cannot be read, and that is no lack of a login', async () => {
    const { context } = await scene(undefined)
    const get = async () => {
      throw new IoError('could not be read.', { stage: 'auth' })
    }
    const one = refreshLogin({
      server,
      context: { ...context, vault: { ...context.vault, get } },
      unattended: false,
      renew: async () => renewed(loginOf('b', HOUR)),
    })
    await expect(one.get()).rejects.toThrow(IoError)
  })
})
