// Each user's own login at a server behind the gateway: the built command, a real authorization server (oidc-provider), a real
// MCP server behind it, the SDK's clients of both eras, and browsers that keep cookies.
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  type AuthorizationServer,
  startAuthorizationServer,
} from '../packages/core/src/auth/fixtures/authorization-server.ts'
import {
  type ResourceServer,
  startResourceServer,
} from '../packages/core/src/auth/fixtures/resource-server.ts'
import { Browser } from './support/browser.ts'
import { freePort } from './support/free-port.mjs'
import { modern, type ServedGateway, serveGateway, until } from './support/gateway.ts'

let as: AuthorizationServer
let rs: ResourceServer
let gateway: ServedGateway
const tokens = new Map<string, string>()
const ends: (() => unknown)[] = []

beforeAll(async () => {
  as = await startAuthorizationServer({})
  rs = await startResourceServer({ as, secretTool: 'ada' })
  const adminPort = await freePort()
  gateway = await serveGateway({
    servers: { notes: { type: 'http', url: rs.url } },
    gateway: (port) => ({
      publicUrl: `http://127.0.0.1:${port}`,
      auth: { tokens: 'tokens.json' },
      admin: { port: adminPort },
      userLogins: { servers: { notes: {} } },
      limits: { tools: { 'notes.log_in': { perDay: 2 } } },
    }),
  })
  for (const name of ['ada', 'bob', 'cleo', 'dan', 'eve', 'fay', 'gus', 'hana', 'ivo', 'kai']) {
    const ran = await gateway.place.run('serve', 'token', 'add', name, '--gateway', 'gateway.json', '--json')
    tokens.set(name, ran.json.token)
  }
  await until(async () => (await modern(gateway.url, tokens.get('eve'), 'tools/list')).status === 200)
}, 120_000)

afterAll(async () => {
  for (const end of ends.reverse()) await end()
  await gateway?.remove()
  await rs?.close()
  await as?.close()
})

type Visit = (url: string) => Promise<'accept' | 'decline'>

async function client(user: string, mode: 'legacy' | 'auto', visit?: Visit): Promise<Client> {
  const made = new Client(
    { name: 'test', version: '1' },
    { capabilities: visit ? { elicitation: { url: {} } } : {}, versionNegotiation: { mode } },
  )
  if (visit)
    made.setRequestHandler('elicitation/create', async ({ params }) => ({
      action: await visit(String((params as { url?: string }).url)),
    }))
  const headers = { Authorization: `Bearer ${tokens.get(user)}` }
  await made.connect(new StreamableHTTPClientTransport(new URL(gateway.url), { requestInit: { headers } }))
  ends.push(() => made.close())
  return made
}

const textOf = ({ content }: { readonly content?: unknown }) =>
  (content as { text?: string }[] | undefined)?.[0]?.text ?? ''
const names = async (one: Client) =>
  (await one.listTools()).tools.map(({ name }) => name).filter((name) => name.startsWith('mcp__notes__'))
const whoami = (one: Client) =>
  one.callTool({ name: 'mcp__notes__whoami', arguments: {} }, { timeout: 30_000 })

const WHOAMI = { name: 'mcp__notes__whoami', arguments: {} }
const linkIn = (text: string) => /http:\/\/127\.0\.0\.1:\d+\/logins\?ticket=[\w.-]+/.exec(text)?.[0] ?? ''
/** A link as a client without URL elicitation gets it. */
const linkFor = async (user: string) =>
  linkIn((await modern(gateway.url, tokens.get(user), 'tools/call', WHOAMI, {})).text)
const isCallback = (url: string) => url.includes('/logins/callback')

describe('the first call of a user', () => {
  it.each([
    ['ada', 'legacy'],
    ['bob', 'auto'],
  ] as const)(
    'asks %s (%s) to log in, and then goes on',
    async (user, mode) => {
      const visited: string[] = []
      const one = await client(user, mode, async (url) => {
        visited.push(url)
        const done = await new Browser(user).logIn(url)
        expect(done.text).toContain(`${user} is logged in to`)
        return 'accept'
      })
      expect(await names(one)).toEqual(['mcp__notes__log_in'])
      expect(textOf(await whoami(one))).toBe(user)
      expect(textOf(await whoami(one))).toBe(user)
      expect(visited).toHaveLength(1)
      // The lists are those of the user's own connection.
      const listed = await names(one)
      expect(listed.includes('mcp__notes__secret_of_ada')).toBe(user === 'ada')
      expect(listed).toContain('mcp__notes__whoami')
    },
    60_000,
  )

  it('waits while the user is still logging in, and puts one question for calls at the same time', async () => {
    const visited: string[] = []
    const one = await client('cleo', 'legacy', async (url) => {
      visited.push(url)
      // The client says that the page was opened; the login is finished later.
      setTimeout(() => void new Browser('cleo').logIn(url), 300)
      return 'accept'
    })
    const answers = await Promise.all([whoami(one), whoami(one), whoami(one)])
    expect(answers.map(textOf)).toEqual(['cleo', 'cleo', 'cleo'])
    expect(visited).toHaveLength(1)
  }, 60_000)

  it('gives a client without URL mode the address as text, and works after the login', async () => {
    const one = await client('dan', 'legacy')
    const refused = await whoami(one)
    expect(refused.isError).toBe(true)
    expect(textOf(refused)).toContain('then call again')
    await new Browser('dan').logIn(linkIn(textOf(refused)))
    expect(textOf(await whoami(one))).toBe('dan')
  }, 60_000)

  it('is refused with the address when the user declines', async () => {
    const one = await client('fay', 'auto', async () => 'decline')
    const refused = await whoami(one)
    expect([refused.isError, textOf(refused).includes('declined')]).toEqual([true, true])
  }, 60_000)

  it('can be the call of log_in, after which the tools are listed', async () => {
    const one = await client('fay', 'auto', async (url) => {
      await new Browser('fay').logIn(url)
      return 'accept'
    })
    expect(textOf(await one.callTool({ name: 'mcp__notes__log_in', arguments: {} }))).toContain('logged in')
    expect(await names(one)).toEqual(['mcp__notes__whoami'])
  }, 60_000)
})

describe('after a login', () => {
  it('the clients of the user are told that their lists are others, and those of other users are not', async () => {
    const changed: string[] = []
    const listening = async (user: string) => {
      const one = await client(user, 'legacy')
      one.setNotificationHandler('notifications/tools/list_changed', () => void changed.push(user))
      return one
    }
    const [hana] = [await listening('hana'), await listening('ivo')]
    expect(await names(hana)).toEqual(['mcp__notes__log_in'])
    // The login is finished in a browser while no call waits.
    const page = await new Browser('hana').logIn(await linkFor('hana'))
    expect(page.text).toContain('hana is logged in')
    await until(() => changed.length > 0)
    expect(await names(hana)).toEqual(['mcp__notes__whoami'])
    await gateway.place.run('gateway', 'logins', 'revoke', 'hana', '--gateway', 'gateway.json')
    const before = changed.length
    await until(() => changed.length > before || changed.length > 1)
    expect(await names(hana)).toEqual(['mcp__notes__log_in'])
    expect(new Set(changed)).toEqual(new Set(['hana']))
  }, 60_000)
})

describe('the limits of a user', () => {
  it('hold for log_in too', async () => {
    const call = async (name: string) =>
      (await modern(gateway.url, tokens.get('kai'), 'tools/call', { name, arguments: {} }, {})).text
    for (let n = 0; n < 2; n++) expect(await call('mcp__notes__log_in')).toContain('/logins?ticket=')
    expect(await call('mcp__notes__log_in')).toContain('2 calls of notes.log_in per day')
  }, 60_000)
})

describe('a login', () => {
  it('is finished only by the browser that began it, once', async () => {
    const link = await linkFor('eve')
    const [own, other] = [new Browser('eve'), new Browser('mallory')]
    const page = await own.open(link)
    expect(page.text).toContain('for eve')
    // Two users can have one name: the page says which token it is.
    expect(page.text).toContain('for the user eve: the token with the key')
    const back = await own.submit(page, isCallback)
    expect(back.url).toContain('code=')
    // The address of the end, opened by another person: with no cookie, and with one of its own.
    expect((await other.open(back.url)).status).toBe(400)
    await other.open(link)
    expect((await other.open(back.url)).status).toBe(400)
    const tampered = new URL(back.url)
    tampered.searchParams.set('state', `${tampered.searchParams.get('state')?.slice(0, -2)}AA`)
    expect((await own.open(tampered.href)).status).toBe(400)
    expect((await linkFor('eve')) !== '').toBe(true)
    expect((await own.open(back.url)).text).toContain('eve is logged in')
    expect((await own.open(back.url)).status).toBe(400)
    const answer = await modern(gateway.url, tokens.get('eve'), 'tools/call', WHOAMI, {})
    expect(answer.message.result.content[0].text).toBe('eve')
  }, 60_000)

  it('cannot be begun by a page of another site, by a form without the cookie, or with a changed link', async () => {
    const link = await linkFor('gus')
    const browser = new Browser('gus')
    const page = await browser.open(link)
    const ticket = new URL(link).searchParams.get('ticket') ?? ''
    const cookie = /name="browser" value="([^"]+)"/.exec(page.text)?.[1] ?? ''
    const post = (headers: Record<string, string>, fields: Record<string, string>) =>
      fetch(link, {
        method: 'POST',
        redirect: 'manual',
        headers: { 'content-type': 'application/x-www-form-urlencoded', ...headers },
        body: new URLSearchParams(fields).toString(),
      })
    const good = { ticket, browser: cookie }
    const sent = { cookie: `plugboard-login=${cookie}` }
    expect((await post({}, good)).status).toBe(403)
    expect((await post(sent, { ticket, browser: 'x'.repeat(43) })).status).toBe(403)
    expect((await post({ ...sent, origin: 'https://evil.example' }, good)).status).toBe(403)
    expect((await post({ ...sent, 'sec-fetch-site': 'cross-site' }, good)).status).toBe(403)
    expect((await post(sent, { ...good, ticket: `${ticket.slice(0, -3)}AAA` })).status).toBe(410)
    // As a browser sends the form of a page with this policy.
    expect((await fetch(link)).headers.get('referrer-policy')).toBe('same-origin')
    const own = { origin: new URL(link).origin, 'sec-fetch-site': 'same-origin' }
    expect((await post({ ...sent, ...own }, good)).status).toBe(303)
    expect((await browser.open(`${link.slice(0, -3)}AAA`)).status).toBe(410)
    const framed = await fetch(link)
    expect(framed.headers.get('content-security-policy')).toContain("frame-ancestors 'none'")
  }, 60_000)

  it('that the authorization server refuses is told to the call that waits', async () => {
    const one = await client('gus', 'legacy', async (url) => {
      const browser = new Browser('gus')
      const back = new URL((await browser.submit(await browser.open(url), isCallback)).url)
      back.searchParams.delete('code')
      back.searchParams.set('error', 'access_denied')
      expect((await browser.open(back.href)).text).toContain('Nothing was saved')
      return 'accept'
    })
    const refused = await whoami(one)
    expect(textOf(refused)).toContain('access_denied')
  }, 60_000)

  it('can be listed and taken back by an administrator', async () => {
    const run = (...words: string[]) =>
      gateway.place.run('gateway', 'logins', ...words, '--gateway', 'gateway.json')
    const listed = await run('--json')
    const users = listed.json.logins.map(({ user, server }: Record<string, string>) => `${user} ${server}`)
    expect(users).toEqual(expect.arrayContaining(['ada notes', 'bob notes', 'eve notes']))
    expect(users).not.toContain('gus notes')
    expect(listed.stdout).not.toMatch(/accessToken|refreshToken/)
    const revoked = as.counts.revoked
    expect((await run('revoke', 'bob', 'notes')).code).toBe(0)
    expect(as.counts.revoked).toBeGreaterThan(revoked)
    expect((await run('revoke', 'bob')).code).not.toBe(0)
    expect(await linkFor('bob')).not.toBe('')
    expect(textOf(await whoami(await client('ada', 'legacy')))).toBe('ada')
  }, 60_000)

  it('leaves no token in files or at the server, and survives a restart', async () => {
    const bearers = rs.requests.map(({ headers }) => headers.authorization ?? '')
    for (const token of tokens.values()) expect(bearers.some((one) => one.includes(token))).toBe(false)
    const upstream = bearers.map((one) => one.split(' ')[1]).filter((one): one is string => one !== undefined)
    expect(upstream.length).toBeGreaterThan(0)
    const state = join(gateway.place.home, '.plugboard')
    const files = readdirSync(state, { recursive: true, withFileTypes: true }).filter((one) => one.isFile())
    const text = files.map((one) => readFileSync(join(one.parentPath, one.name), 'latin1')).join('\n')
    for (const token of upstream) expect(text.includes(token)).toBe(false)
    await gateway.stop()
    await gateway.start()
    expect(textOf(await whoami(await client('ada', 'auto')))).toBe('ada')
  }, 90_000)
})
