import { mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { systemHost } from '../host.ts'
import { REMOTE_LIST_LIMITS } from '../limits.ts'
import { fetchServerList, type ServerListOptions } from './remote-list.ts'

type Handler = (request: IncomingMessage, response: ServerResponse) => void

let top: string
let cacheDir: string
let server: Server
let base: string
let handler: Handler
let requests: IncomingMessage[]
let count = 0
let now = 1_700_000_000_000

beforeAll(async () => {
  top = await mkdtemp(join(tmpdir(), 'plugboard-list-'))
  server = createServer((request, response) => {
    requests.push(request)
    handler(request, response)
  })
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
})
afterAll(async () => {
  server.closeAllConnections()
  await new Promise((done) => server.close(done))
  await rm(top, { recursive: true, force: true })
})
beforeEach(() => {
  cacheDir = join(top, String(count++))
  requests = []
})
afterEach(() => server.closeAllConnections())

const TOKEN = 's3cret-token'
const host = (over = {}) => systemHost({ now: () => now, env: { LIST_TOKEN: TOKEN }, ...over })
const get = (over: Partial<ServerListOptions> = {}) =>
  fetchServerList({
    url: `${base}/servers.json?key=hidden`,
    bearerEnv: 'LIST_TOKEN',
    cacheDir,
    host: host(),
    ...over,
  })

const body = (command: string) => JSON.stringify({ mcpServers: { team: { command } } })
const answer =
  (status: number, text: string, headers: Record<string, string> = {}): Handler =>
  (_request, response) => {
    response.writeHead(status, headers)
    response.end(text)
  }
const commands = ({ servers }: Awaited<ReturnType<typeof get>>) =>
  [...servers].map(([name, { value }]) => `${name}=${(value as { command: string }).command}`)

describe('a list of servers at a URL', () => {
  it('is fetched with the token of the named variable, and kept for its owner only', async () => {
    handler = answer(200, body('one'), { etag: '"v1"' })
    const list = await get()
    expect(list).toMatchObject({
      from: 'network',
      fetchedAt: now,
      diagnostics: [],
      source: `${base}/servers.json`,
    })
    expect(list.servers.get('team')).toMatchObject({ value: { command: 'one' }, line: 1 })
    expect(requests[0]?.headers).toMatchObject({
      authorization: `Bearer ${TOKEN}`,
      accept: 'application/json',
    })
    const files = await readdir(join(cacheDir, 'lists'))
    const file = join(cacheDir, 'lists', files[0] ?? '')
    expect((await stat(file)).mode & 0o777).toBe(0o600)
    expect(await readFile(file, 'utf8')).not.toMatch(/s3cret|hidden/)
    expect(files).toHaveLength(1)
  })

  it('accepts the key `servers`, comments and a missing token variable name', async () => {
    handler = answer(200, '{ "servers": { /* ours */ "a": { "command": "x" } } }')
    expect(commands(await get({ bearerEnv: undefined }))).toEqual(['a=x'])
    expect(requests[0]?.headers.authorization).toBeUndefined()
  })

  it('is not sent again when it did not change', async () => {
    handler = (request, response) =>
      answer(request.headers['if-none-match'] === '"v1"' ? 304 : 200, body('one'), { etag: '"v1"' })(
        request,
        response,
      )
    await get()
    now += 1000
    const again = await get()
    expect(again).toMatchObject({ from: 'not-modified', fetchedAt: now, diagnostics: [] })
    expect(commands(again)).toEqual(['team=one'])
    handler = answer(200, body('two'), { etag: '"v2"' })
    expect(commands(await get())).toEqual(['team=two'])
  })

  it('is asked for again when a 304 speaks of a copy that is not there', async () => {
    let first = true
    handler = (request, response) => {
      answer(first ? 304 : 200, first ? '' : body('one'))(request, response)
      first = false
    }
    expect(await get()).toMatchObject({ from: 'network' })
    expect(requests).toHaveLength(2)
    handler = answer(304, '')
    cacheDir = join(top, 'another')
    expect(await get()).toMatchObject({ from: 'none', diagnostics: [{ severity: 'error' }] })
  })

  const outages: readonly (readonly [string, Handler])[] = [
    ['answers 503', answer(503, 'later')],
    ['answers 429', answer(429, 'slow down')],
    ['hangs up', (request) => request.socket.destroy()],
    [
      'sends half',
      (_request, response) => {
        response.writeHead(200, { 'content-length': '1000' })
        response.write('{"mcpServers":', () => response.destroy())
      },
    ],
    ['sends a login page', answer(200, '<html>Please log in</html>')],
    ['sends an empty body', answer(200, '')],
    ['sends no servers', answer(200, '{"hello":1}')],
    ['sends a list of servers', answer(200, '{"mcpServers":[]}')],
    [
      'sends too much',
      (_request, response) => {
        response.writeHead(200)
        const chunk = Buffer.alloc(256 * 1024, ' ')
        const more = () => {
          if (!response.destroyed && response.writable) response.write(chunk, more)
        }
        more()
      },
    ],
    ['sends a compressed bomb', answer(200, '')],
    [
      'redirects to another origin',
      (request, response) =>
        answer(302, '', { location: `http://localhost:${new URL(base).port}${request.url}` })(
          request,
          response,
        ),
    ],
    ['redirects for ever', answer(302, '', { location: '/servers.json?again' })],
    ['redirects nowhere', answer(302, '')],
  ]
  const REASONS: Readonly<Record<string, RegExp>> = {
    'answers 503': /HTTP 503/,
    'sends a login page': /not valid JSON/,
    'sends too much': /larger than 4 MiB/,
    'sends a compressed bomb': /larger than 4 MiB/,
    'redirects to another origin': /another origin, which is not followed/,
    'redirects for ever': /without end/,
  }
  it.each(outages)(
    'is taken from the last good copy when the server %s, with its age',
    async (what, broken) => {
      handler = answer(200, body('good'), { etag: '"v1"' })
      await get()
      handler = what.includes('bomb')
        ? (_request, response) => {
            response.writeHead(200, { 'content-encoding': 'gzip' })
            response.end(gzipSync(Buffer.alloc(REMOTE_LIST_LIMITS.bytes * 4, ' ')))
          }
        : broken
      now += 3 * 3600_000
      const list = await get()
      expect(list).toMatchObject({
        from: 'cache',
        fetchedAt: now - 3 * 3600_000,
        diagnostics: [{ severity: 'warning' }],
      })
      expect(list.diagnostics[0]?.message).toContain('3 h ago')
      expect(commands(list)).toEqual(['team=good'])
      expect(list.diagnostics[0]?.message).toMatch(REASONS[what] ?? /./)

      cacheDir = join(top, `${count}-empty`)
      const without = await get()
      expect(without).toMatchObject({ from: 'none', diagnostics: [{ severity: 'error' }] })
      expect(without.servers.size).toBe(0)
      expect(JSON.stringify([list.diagnostics, without.diagnostics])).not.toMatch(/s3cret|hidden/)
    },
  )

  it('is taken from the last good copy when it takes too long, the body included', async () => {
    handler = answer(200, body('good'))
    await get()
    handler = (_request, response) => {
      response.writeHead(200)
      response.write('{')
    }
    // The time limit fires at once, but only after the response has begun.
    const timer = (_ms: number, fire: () => void) => {
      const handle = setTimeout(fire, 100)
      return () => clearTimeout(handle)
    }
    const list = await get({ host: host({ timer }) })
    expect(list.from).toBe('cache')
    expect(list.diagnostics[0]?.message).toContain('within 5 s')
  })

  it('follows a redirect within its origin, with the token', async () => {
    handler = (request, response) =>
      request.url === '/moved'
        ? answer(200, body('moved'))(request, response)
        : answer(307, '', { location: '/moved' })(request, response)
    expect(commands(await get())).toEqual(['team=moved'])
    expect(requests[1]?.headers.authorization).toBe(`Bearer ${TOKEN}`)
  })

  it.each([401, 403])('does not stand in for a refusal (%i), which names the variable', async (status) => {
    handler = answer(200, body('good'))
    await get()
    handler = answer(status, `your token ${TOKEN} is bad`)
    const list = await get()
    expect(list).toMatchObject({ from: 'none', diagnostics: [{ severity: 'error' }] })
    expect(list.diagnostics[0]?.hint).toContain('LIST_TOKEN')
    expect(JSON.stringify(list.diagnostics)).not.toContain(TOKEN)
  })

  it('says so when there is no list at the address', async () => {
    handler = answer(404, '')
    expect(await get()).toMatchObject({ from: 'none', diagnostics: [{ severity: 'error' }] })
  })

  it('sends no token anywhere when the variable is empty or unusable', async () => {
    handler = answer(200, body('one'))
    for (const env of [{}, { LIST_TOKEN: ' ' }, { LIST_TOKEN: 's3cret\r\nX: y' }, { LIST_TOKEN: 's3crét' }]) {
      const list = await get({ host: host({ env }) })
      expect(list.diagnostics[0]?.message).toContain('LIST_TOKEN')
      expect(JSON.stringify(list.diagnostics)).not.toContain('s3cr')
    }
    expect(requests).toEqual([])
  })

  it('wants https, except on this very machine', async () => {
    const called: string[] = []
    const fetch = async (input: unknown) => {
      called.push(String(input))
      return new Response(body('x'))
    }
    const from = async (url: string) => (await get({ url, host: host({ fetch }) })).from
    expect(await from('https://example.com/l')).toBe('network')
    expect(await from('http://localhost:1/l')).toBe('network')
    expect(await from('http://[::1]:1/l')).toBe('network')
    expect(called).toHaveLength(3)
    for (const url of [
      'http://example.com/l',
      'http://127.0.0.1.example.com/l',
      'http://10.0.0.1/l',
      'ftp://localhost/l',
      'file:///etc/passwd',
      'nonsense',
      'https://user:pa55@example.com/l',
    ]) {
      const list = await get({ url, host: host({ fetch }) })
      expect(list.from, url).toBe('none')
      expect(JSON.stringify(list)).not.toContain('pa55')
    }
    expect(called).toHaveLength(3)
  })

  it('replaces a copy that was damaged, and works where none can be kept', async () => {
    handler = answer(200, body('one'), { etag: '"v1"' })
    await get()
    const [name = ''] = await readdir(join(cacheDir, 'lists'))
    for (const damage of ['', '{', '{"fetchedAt":1,"body":"[]"}', '{"fetchedAt":"x"}']) {
      await writeFile(join(cacheDir, 'lists', name), damage)
      expect(await get()).toMatchObject({ from: 'network', diagnostics: [] })
      expect(requests.at(-1)?.headers['if-none-match']).toBeUndefined()
    }
    cacheDir = join(top, `${count}-blocked`)
    await mkdir(cacheDir)
    await writeFile(join(cacheDir, 'lists'), 'a file in the way')
    const list = await get()
    expect(list).toMatchObject({ from: 'network', diagnostics: [{ severity: 'warning' }] })
    expect(commands(list)).toEqual(['team=one'])
  })

  it('stops when asked to', async () => {
    const stop = new AbortController()
    handler = () => stop.abort()
    await expect(get({ signal: stop.signal })).rejects.toMatchObject({ code: 'CANCELLED' })
    await expect(get({ signal: AbortSignal.abort() })).rejects.toMatchObject({ code: 'CANCELLED' })
  })

  it('lets no server take the name of the prototype', async () => {
    handler = answer(200, '{"mcpServers":{"__proto__":{"command":"evil"},"a":{"command":"x"}}}')
    const list = await get()
    expect(commands(list)).toEqual(['a=x'])
    expect(list.diagnostics).toMatchObject([{ severity: 'error', server: '__proto__' }])
  })
})

describe('the address of a list', () => {
  it.each([
    ['nonsense', /not a URL/],
    ['https://user@example.com/', /holds a password/],
    ['https://:word@example.com/', /holds a password/],
    ['http://example.com/', /without encryption/],
    ['ftp://localhost/', /without encryption/],
  ])('%s is refused', async (url, message) => {
    const list = await get({ url })
    expect(list.diagnostics[0]?.message).toMatch(message)
    expect(requests).toEqual([])
  })
})

describe('a copy of a list', () => {
  it.each([
    [0, '0 min'],
    [119, '119 min'],
    [120, '2 h'],
    [48 * 60 - 1, '48 h'],
    [48 * 60, '2 days'],
  ])('that is %i minutes old says so: %s', async (minutes, shown) => {
    handler = answer(200, body('x'))
    await get()
    handler = answer(500, '')
    const list = await get({ host: host({ now: () => now + minutes * 60_000 }) })
    expect(list.diagnostics[0]?.message).toContain(`${shown} ago`)
  })

  it.each([
    '/elsewhere',
    'http://user@127.0.0.1/',
    'http://:x@127.0.0.1/',
    'http://other.example/',
    '://',
    undefined,
  ])(
    'is used when the list is redirected to %s, unless that is a place of the same origin',
    async (location) => {
      handler = answer(200, body('old'))
      await get()
      handler = (request, response) =>
        request.url === '/elsewhere'
          ? answer(200, body('new'))(request, response)
          : answer(302, '', location === undefined ? {} : { location })(request, response)
      const list = await get()
      const followed = location === '/elsewhere'
      expect(list.servers.get('team')?.value).toEqual({ command: followed ? 'new' : 'old' })
      expect(list.diagnostics.length > 0).toBe(!followed)
    },
  )
})
