// What of an HTTP exchange may be shown: no header, address or failure gives a secret away.
import { describe, expect, it } from 'vitest'
import { KnownSecrets } from '../text/known-secrets.ts'
import { shownExchange, type WireExchange } from './wire-exchange.ts'

const SECRET = 'hunter2-hunter2-hunter2'

function shown(more: Partial<WireExchange>, hide: (text: string) => string = (text) => text) {
  return shownExchange(
    {
      messageId: 1,
      method: 'POST',
      url: 'https://example.org/mcp',
      attempt: 1,
      sent: [],
      outcome: { status: 200, retryAfterMs: undefined, received: {} },
      durationMs: 1,
      ...more,
    },
    hide,
  )
}

describe('an HTTP exchange as it is shown', () => {
  it.each([
    'authorization',
    'Authorization',
    'proxy-authorization',
    'cookie',
    'x-api-key',
    'api_key',
    'x-goog-api-key',
    'ocp-apim-subscription-key',
    'private-token',
    'dpop',
    'mcp-session-id',
    'x-session',
    'x-whatever-a-vendor-calls-it',
    'set-cookie',
    'dpop-nonce',
    'x-amz-security-token',
    'authentication-info',
  ])('does not show the value of %s, sent or received', (name) => {
    const one = shown({
      sent: [name, SECRET],
      outcome: { status: 200, retryAfterMs: undefined, received: { [name]: [`a=${SECRET}`, 'b'] } },
    })
    expect(JSON.stringify(one)).not.toContain('hunter2')
    expect(one.requestHeaders[name.toLowerCase()]).toBe('••• (23 characters)')
    expect(one.responseHeaders?.[name.toLowerCase()]).toMatch(/^••• \(\d+ characters\)$/)
  })

  it('shows the scheme of a login, and the headers of the protocol', () => {
    const { requestHeaders, responseHeaders, status, retryAfterMs } = shown({
      sent: [
        'authorization',
        `Bearer ${SECRET}`,
        'Mcp-Protocol-Version',
        '2026-07-28',
        'mcp-method',
        'tools/call',
      ],
      outcome: { status: 429, retryAfterMs: 1000, received: { 'retry-after': '1', server: 'nginx' } },
    })
    expect(requestHeaders).toEqual({
      authorization: 'Bearer ••• (30 characters)',
      'mcp-protocol-version': '2026-07-28',
      'mcp-method': 'tools/call',
    })
    expect(responseHeaders).toEqual({ 'retry-after': '1', server: 'nginx' })
    expect([status, retryAfterMs]).toEqual([429, 1000])
  })

  it('hides a known secret that a plain header, the address or a failure repeats', () => {
    const secrets = new KnownSecrets()
    secrets.learn(SECRET)
    const one = shown(
      {
        url: `https://user:${SECRET}@example.org/mcp/${SECRET}?key=${SECRET}&other=also-a-key`,
        sent: ['user-agent', `curl ${SECRET}`],
        outcome: { failure: `E${SECRET}` },
      },
      secrets.hide,
    )
    expect(JSON.stringify(one)).not.toMatch(/hunter2|also-a-key/)
    expect(one.url).toContain('example.org/mcp/')
  })

  it('is bounded', () => {
    const many = Array.from({ length: 500 }, (_, at) => [`mcp-param-${at}`, 'x'.repeat(10_000)]).flat()
    const { requestHeaders } = shown({ sent: many })
    expect(Object.keys(requestHeaders).length).toBe(64)
    expect(JSON.stringify(requestHeaders).length).toBeLessThan(64 * 400)
  })

  it('shows a value as long as the limit whole, and no name without a value', () => {
    const [fits, longer] = [300, 301].map((length) => shown({ sent: ['accept', 'x'.repeat(length), 'odd'] }))
    expect(fits?.requestHeaders).toEqual({ accept: 'x'.repeat(300) })
    expect(longer?.requestHeaders).toEqual({ accept: `${'x'.repeat(300)}…` })
  })
})
