import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { entrySecrets } from '../connection/entry-secrets.ts'
import { hideInError, KnownSecrets } from './known-secrets.ts'

const TOKEN = 'tok-3f9a/Bc+9==x%7'
const known = (...values: string[]) => {
  const secrets = new KnownSecrets()
  for (const value of values) secrets.learn(value)
  return secrets
}

describe('secrets in texts', () => {
  it.each([
    ['as it is', TOKEN],
    ['in a URL', encodeURIComponent(TOKEN)],
    ['in a URL with small letters', encodeURIComponent(TOKEN).toLowerCase().replace('bc', 'Bc')],
    ['in JSON', JSON.stringify({ a: TOKEN })],
    ['in base64', Buffer.from(TOKEN).toString('base64')],
    ['in base64url', Buffer.from(TOKEN).toString('base64url')],
    ['in base64 after a name', Buffer.from(`user:${TOKEN}`).toString('base64')],
    ['in base64 between other things', Buffer.from(`ab${TOKEN}yz`).toString('base64')],
    ['in hex', Buffer.from(TOKEN).toString('hex')],
  ])('are replaced %s', (_, text) => {
    const hidden = known(TOKEN).hide(`before ${text} after`)
    expect(hidden).toContain('[redacted]')
    expect(hidden).toMatch(/^before .* after$/)
    expect(hidden).not.toContain(text)
  })

  it('are replaced at every offset of base64, for any secret and any neighbours', () => {
    fc.assert(
      fc.property(
        fc.string({ minLength: 12, maxLength: 60 }),
        fc.string({ maxLength: 5 }),
        fc.string({ maxLength: 5 }),
        (secret, before, after) => {
          const text = Buffer.from(before + secret + after).toString('base64')
          expect(known(secret).hide(text)).toContain('[redacted]')
          expect(known(secret).hide(`${before}${secret}${after}`)).not.toContain(secret)
        },
      ),
    )
  })

  it('are the token of a header too, and the password in Basic', () => {
    const basic = `Basic ${Buffer.from('me:hunter2hunter2').toString('base64')}`
    expect(known(`Bearer ${TOKEN}`).hide(`got ${TOKEN}`)).toBe('got [redacted]')
    expect(known(basic).hide('the password hunter2hunter2 is wrong')).toBe('the password [redacted] is wrong')
  })

  it('are replaced where a cut has left their beginning', () => {
    expect(known(TOKEN).hide(`refused ${TOKEN.slice(0, 12)}…`)).toBe('refused [redacted]…')
    expect(known(TOKEN).hide('refused tok-3…')).toBe('refused tok-3…')
  })

  it('are not short words, and at most two hundred are kept', () => {
    expect(known('abc', '1234567').isEmpty).toBe(true)
    const many = known(...Array.from({ length: 300 }, (_, at) => `secret-number-${at}-x`))
    expect(many.hide('secret-number-299-x')).toBe('[redacted]')
    expect(many.hide('secret-number-0-x')).toBe('secret-number-0-x')
  })

  it('are taken out of errors, their hints, stacks and causes', () => {
    const cause = new Error(`401 for ${TOKEN}`)
    const error = Object.assign(new Error(`It said: ${TOKEN}`, { cause }), { hint: `Not ${TOKEN}` })
    hideInError(error, known(TOKEN).hide)
    expect(`${error.message} ${error.hint} ${error.stack} ${cause.message} ${cause.stack}`).not.toContain(
      TOKEN,
    )
  })
})

describe('the secrets of an entry', () => {
  it('are known by name or by look, in env, headers, arguments and the URL', () => {
    const stdio = entrySecrets({
      type: 'stdio',
      command: 'x',
      args: ['--api-key', 'argument-secret', '--token=other-secret', '--mode', 'production'],
      env: {
        API_TOKEN: 'env-secret-1',
        PLAIN: 'a8f3k2l9d0s1m4n7',
        NODE_ENV: 'production',
        HOME: '/home/someone',
      },
    })
    const text = 'argument-secret other-secret env-secret-1 a8f3k2l9d0s1m4n7'
    expect(stdio.hide(text)).toBe('[redacted] [redacted] [redacted] [redacted]')
    expect(stdio.hide('production in /home/someone')).toBe('production in /home/someone')
    const http = entrySecrets({
      type: 'http',
      url: 'https://me:url-password@x.test/mcp?api_key=query-secret&page=overview',
      headers: { Authorization: 'Bearer header-secret', 'X-Team': 'engineering' },
    })
    expect(http.hide('url-password query-secret header-secret')).toBe('[redacted] [redacted] [redacted]')
    expect(http.hide('engineering overview')).toBe('engineering overview')
  })
})
