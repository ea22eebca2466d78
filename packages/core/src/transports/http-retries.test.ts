// What repeats a request below MCP: redirects, logins, and what the response of a refused request costs.
import { afterEach, describe, expect, it } from 'vitest'
import type { AuthRequest, AuthResponse, Exchange } from '../auth/request-auth.ts'
import { Cancelled } from '../errors.ts'
import { counted, retimed } from '../fixtures/timers.ts'
import { systemHost } from '../host.ts'
import { type Asked, json, result, scripted } from './fixtures/http-script.ts'
import { testContext, until, within } from './fixtures/support.ts'
import { RequestAbort } from './http-dispatch.ts'
import { type HttpRequest, openHttpClient } from './http-retries.ts'
import type { TransportContext } from './open.ts'
import type { WireExchange } from './wire-exchange.ts'

const ends: (() => unknown)[] = []
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end()
})

async function client(
  answer: (asked: Asked) => void,
  overrides: Partial<TransportContext> = {},
  headers: Record<string, string> = {},
) {
  const server = await scripted(answer)
  ends.push(() => server.close())
  const http = await openHttpClient({ url: server.url, headers }, testContext(overrides))
  ends.push(() => http.close())
  const post: HttpRequest = {
    method: 'POST',
    url: http.url,
    headers: ['content-type', 'application/json'],
    body: '{"jsonrpc":"2.0","id":1,"method":"ping"}',
  }
  const ask = (abort = new RequestAbort()) => within(http.request(post, abort), 'a response')
  return { http, server, ask }
}

describe('an HTTP request', () => {
  it('follows redirects within the origin, up to a limit, with the same headers and body', async () => {
    const { ask, server } = await client(
      (asked) => {
        const hop = Number(asked.url.slice('/hop'.length)) || 0
        if (hop === 3) return json(asked, { done: true })
        asked.response.writeHead(307, { location: `/hop${hop + 1}` }).end('moved')
      },
      {},
      { 'x-key': 'k' },
    )
    expect((await ask()).status).toBe(200)
    expect(server.asked.map(({ url, headers }) => [url, headers['x-key']])).toEqual([
      ['/mcp', 'k'],
      ['/hop1', 'k'],
      ['/hop2', 'k'],
      ['/hop3', 'k'],
    ])
    expect(server.asked.every(({ message }) => message.method === 'ping')).toBe(true)

    const circle = await client((asked) => asked.response.writeHead(307, { location: '/again' }).end())
    expect((await circle.ask()).status).toBe(307)
    expect(circle.server.asked).toHaveLength(6)
  })

  it('asks the auth once, and lets it see every response', async () => {
    const sent: AuthRequest[] = []
    const seen: number[] = []
    const auth = {
      send: async <R extends AuthResponse>(request: AuthRequest, exchange: Exchange<R>): Promise<R> => {
        sent.push(request)
        const first = await exchange({ authorization: 'Bearer old' })
        seen.push(first.status)
        if (first.status !== 401) return first
        first.discard()
        return exchange({ authorization: 'Bearer new' })
      },
    }
    const { ask, server } = await client(
      (asked) => json(asked, {}, asked.headers.authorization === 'Bearer new' ? 200 : 401),
      { auth },
      { Authorization: 'Bearer of the entry', 'X-Key': 'k' },
    )
    expect((await ask()).status).toBe(200)
    expect(sent.map(({ method, url }) => [method, url.pathname])).toEqual([['POST', '/mcp']])
    expect(seen).toEqual([401])
    expect(server.asked.map(({ headers }) => [headers.authorization, headers['x-key']])).toEqual([
      ['Bearer old', 'k'],
      ['Bearer new', 'k'],
    ])
  })

  it('that a provider of the program authorises is repeated once, with the challenge in its hands', async () => {
    const challenges: (string | null)[] = []
    let token = 'old'
    const auth = {
      token: async () => token,
      onUnauthorized: async ({ response }: { response: Response }) => {
        challenges.push(response.headers.get('www-authenticate'))
        token = 'still wrong'
      },
    }
    const { ask, server } = await client(
      (asked) => json(asked, {}, 401, { 'www-authenticate': 'Bearer realm="x"' }),
      { auth },
    )
    expect((await ask()).status).toBe(401)
    expect(challenges).toEqual(['Bearer realm="x"'])
    expect(server.asked).toHaveLength(2)
  })

  it('does not receive more of a body that is not read than a moment holds', async () => {
    let written = 0
    const { ask } = await client(({ response }) => {
      response.writeHead(200, { 'content-type': 'application/json' })
      const more = () => {
        while (written < 64 * 1024 * 1024) {
          written += 64 * 1024
          if (!response.write(Buffer.alloc(64 * 1024, ' '))) {
            response.once('drain', more)
            return
          }
        }
        response.end('{}')
      }
      more()
    })
    const response = await ask()
    // Nothing more is written once the buffers between the two are full.
    let before = -1
    let polls = 0
    await until(() => {
      polls = written === before ? polls + 1 : 0
      before = written
      return polls >= 20
    })
    expect(written).toBeLessThan(32 * 1024 * 1024)
    expect((await within(response.text(65 * 1024 * 1024), 'the body', 60_000)).trim()).toBe('{}')
  })

  it('that is aborted while the server asks for patience ends at once', async () => {
    const waits = new Set<object>()
    const host = counted(systemHost(), waits)
    const { ask, server } = await client((asked) => json(asked, result(1), 503, { 'retry-after': '9' }), {
      host,
    })
    const abort = new RequestAbort()
    const outcome = ask(abort).catch((error: unknown) => error)
    await until(() => server.asked.length === 1)
    await until(() => waits.size === 1, 'it waits')
    abort.abort(new Cancelled())
    expect(await outcome).toBeInstanceOf(Cancelled)
    expect(server.asked).toHaveLength(1)
    expect(waits.size).toBe(0)
  })

  it('waits as long as the limit for a server that asks for patience, and not longer', async () => {
    for (const [seconds, sent] of [
      [10, 2],
      [11, 1],
    ] as const) {
      const waits: number[] = []
      const host = retimed(systemHost(), (ms) => {
        waits.push(ms)
        return ms === seconds * 1000 ? 1 : ms
      })
      const { server, ask } = await client(
        (asked) => json(asked, {}, server.asked.length === 1 ? 429 : 200, { 'retry-after': String(seconds) }),
        { host },
      )
      expect((await ask()).status).toBe(sent === 2 ? 200 : 429)
      expect([server.asked.length, waits.includes(seconds * 1000)]).toEqual([sent, sent === 2])
    }
  })

  it('is not begun for a caller that has given up before', async () => {
    const { http } = await client(() => undefined, { signal: AbortSignal.abort() })
    await expect(http.start()).rejects.toBeInstanceOf(Cancelled)
  })

  it('that fails tells the recording why', async () => {
    const told: WireExchange[] = []
    const onExchange = (exchange: WireExchange) => void told.push(exchange)
    const { server, ask } = await client(() => undefined, { onExchange })
    const abort = new RequestAbort()
    const given = ask(abort)
    given.catch(() => undefined)
    await until(() => server.asked.length === 1, 'sent')
    abort.abort(new Cancelled())
    await expect(given).rejects.toBeInstanceOf(Cancelled)
    const gone = await client(() => undefined, { onExchange })
    await gone.server.close()
    await expect(gone.ask()).rejects.toThrow(/could not be reached \(ECONNREFUSED\)/)
    expect(told.map(({ outcome, attempt }) => [outcome, attempt])).toEqual([
      [{ failure: 'cancelled' }, 1],
      [{ failure: 'ECONNREFUSED' }, 1],
    ])
  })
})
