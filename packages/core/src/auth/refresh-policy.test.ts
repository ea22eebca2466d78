import { describe, expect, it } from 'vitest'
import { afterRefreshFailure, decideRefresh, millisLeft, type RefreshFacts } from './refresh-policy.ts'
import type { Login, Tokens } from './stored-logins.ts'

const NOW = 1_000_000_000
const HOUR = 3_600_000

function login(tokens: Partial<Tokens> = {}, generation = 1): Login {
  return {
    version: 1,
    grant: 'authorization_code',
    server: 's',
    url: 'https://s.test/mcp',
    as: { issuer: 'https://as.test' },
    resource: 'https://s.test/mcp',
    sendResource: true,
    client: { clientId: 'c', source: 'registered' },
    tokens: {
      accessToken: 'A',
      refreshToken: 'R',
      type: 'bearer',
      obtainedAt: NOW - HOUR,
      expiresAt: NOW + HOUR,
      ...tokens,
    },
    generation,
  }
}
const moment = (changes: Partial<RefreshFacts> = {}): RefreshFacts => ({
  now: NOW,
  aheadMs: 60_000,
  unattended: false,
  freshMs: 10_000,
  ...changes,
})
const without = ({ refreshToken: _r, ...tokens }: Tokens) => tokens
const noRefresh = (tokens: Partial<Tokens> = {}) => {
  const full = login(tokens)
  return { ...full, tokens: without(full.tokens) }
}
const noExpiry = () => {
  const full = login()
  const { expiresAt: _e, ...tokens } = full.tokens
  return { ...full, tokens }
}

describe('what to do about a stored login', () => {
  it.each([
    ['nothing stored', undefined, moment(), 'ask no-login'],
    ['nothing stored, and no user is needed', undefined, moment({ unattended: true }), 'renew'],
    ['plenty of time left', login(), moment(), 'use'],
    ['inside the last minute', login({ expiresAt: NOW + 59_000 }), moment(), 'renew'],
    [
      'inside the last minute, but it lives two',
      login({ obtainedAt: NOW - 61_000, expiresAt: NOW + 59_000 }),
      moment(),
      'use',
    ],
    [
      'inside the last minute, without a refresh token',
      noRefresh({ expiresAt: NOW + 59_000 }),
      moment(),
      'use',
    ],
    ['expired', login({ expiresAt: NOW - 1 }), moment(), 'renew'],
    ['expired without a refresh token', noRefresh({ expiresAt: NOW - 1 }), moment(), 'ask expired'],
    ['no word on expiry', noExpiry(), moment(), 'use'],
    ['no word on expiry, and refused', noExpiry(), moment({ rejected: 'A' }), 'renew'],
    ['refused before its time', login(), moment({ rejected: 'A' }), 'renew'],
    ['refused, without a refresh token', noRefresh(), moment({ rejected: 'A' }), 'ask refused'],
    ['another token was refused: a sibling has renewed', login(), moment({ rejected: 'OLD' }), 'use'],
    [
      'another was refused, and this one is over too',
      login({ expiresAt: NOW - 1 }),
      moment({ rejected: 'OLD' }),
      'renew',
    ],
    [
      'refused the moment it was issued',
      login({ obtainedAt: NOW - 500 }),
      moment({ rejected: 'A' }),
      'ask refused',
    ],
    [
      'a clock set back an hour',
      login({ obtainedAt: NOW + HOUR, expiresAt: NOW + HOUR + 60_000 }),
      moment(),
      'use',
    ],
    [
      'no refresh token, and no user is needed',
      noRefresh({ expiresAt: NOW - 1 }),
      moment({ unattended: true }),
      'renew',
    ],
  ])('%s', (_name, stored, when, expected) => {
    const decision = decideRefresh(stored, when)
    expect(decision.do === 'ask' ? `ask ${decision.why}` : decision.do).toBe(expected)
  })
})

describe('what to do after a renewal failed', () => {
  const expired = login({ expiresAt: NOW - 1 })
  const valid = login({ expiresAt: NOW + 30_000 })
  const sibling = login({ accessToken: 'B', refreshToken: 'R2' }, 2)
  const siblingExpired = login({ accessToken: 'B', expiresAt: NOW - 1 }, 2)
  it.each([
    ['dead grant, but a sibling has renewed', expired, sibling, 'grant-dead', moment(), 'use'],
    ['trouble, but a sibling has renewed', expired, sibling, 'temporary', moment(), 'use'],
    ['dead client, but a sibling has renewed', expired, sibling, 'client-dead', moment(), 'use'],
    ['a sibling renewed, and that is over already', expired, siblingExpired, 'grant-dead', moment(), 'ask'],
    [
      'a sibling renewed, and that was refused',
      expired,
      sibling,
      'grant-dead',
      moment({ rejected: 'B' }),
      'ask',
    ],
    ['trouble while the token still holds', valid, valid, 'temporary', moment(), 'use'],
    ['trouble and nothing holds', expired, expired, 'temporary', moment(), 'fail'],
    ['trouble, and the token was refused', valid, valid, 'temporary', moment({ rejected: 'A' }), 'fail'],
    ['dead grant', expired, expired, 'grant-dead', moment(), 'retire unusable'],
    ['dead grant while the token still holds', valid, valid, 'grant-dead', moment(), 'retire usable'],
    ['dead client', expired, expired, 'client-dead', moment(), 'retire unusable'],
    ['another process logged out meanwhile', expired, undefined, 'grant-dead', moment(), 'ask'],
    [
      'a machine that never had a token',
      undefined,
      undefined,
      'client-dead',
      moment({ unattended: true }),
      'ask',
    ],
  ] as const)('%s', (_name, tried, stored, failure, when, expected) => {
    const next = afterRefreshFailure(tried, stored, failure, when)
    expect(next.do === 'retire' ? `retire ${next.usable ? 'usable' : 'unusable'}` : next.do).toBe(expected)
  })

  it('never answers with a way to delete', () => {
    const next = afterRefreshFailure(expired, expired, 'grant-dead', moment())
    expect(next).toMatchObject({ do: 'retire', login: { tokens: { accessToken: 'A' } } })
  })
})

it('counts no more time than a token ever had', () => {
  expect(millisLeft(login({ obtainedAt: NOW, expiresAt: NOW + 60_000 }), NOW - HOUR)).toBe(60_000)
  expect(millisLeft(noExpiry(), NOW)).toBe(Number.POSITIVE_INFINITY)
})

describe('at the very moment', () => {
  it('that the margin begins a token is renewed, and when it ends it is no longer used', () => {
    const renewing = (left: number) => decideRefresh(login({ expiresAt: NOW + left }), moment()).do
    expect([renewing(60_001), renewing(60_000)]).toEqual(['use', 'renew'])
    const using = (left: number) => decideRefresh(noRefresh({ expiresAt: NOW + left }), moment()).do
    expect([using(1), using(0)]).toEqual(['use', 'ask'])
    const refused = (age: number) =>
      decideRefresh(login({ obtainedAt: NOW - age }), moment({ rejected: 'A' })).do
    expect([refused(9999), refused(10_000)]).toEqual(['ask', 'renew'])
    const failing = (left: number) => {
      const tried = login({ expiresAt: NOW + left })
      return afterRefreshFailure(tried, tried, 'temporary', moment()).do
    }
    expect([failing(1), failing(0)]).toEqual(['use', 'fail'])
  })
})
