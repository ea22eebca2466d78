// Which tool `plugboard call` means, and how its arguments may be written, through the built command.
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { makePlace, type Place } from '../support/cli.ts'
import { everything, odd, scriptOf } from '../support/servers.ts'
import { noTerminal, openTerminal } from '../support/terminal.ts'

let place: Place
beforeAll(() => {
  place = makePlace()
})
afterAll(() => place.remove())

const use = (mcpServers: object, more: object = {}) =>
  place.write('~/.plugboard/settings.json', { mcpServers, ...more })

const shape = (name: string, properties: object, more: object = {}) => ({
  name,
  inputSchema: { type: 'object', properties, ...more },
})

/** What the server was sent. */
async function sent(...args: string[]): Promise<unknown> {
  const seen = `${place.project}/seen-${Math.random().toString(36).slice(2)}`
  use({
    odd: odd(seen, [
      shape('take', {
        count: { type: 'integer' },
        max_results: { type: 'integer' },
        path: { type: 'string' },
        tags: { type: 'array', items: { type: 'string' } },
        deep: { type: 'object' },
        dry: { type: 'boolean' },
        data: { type: 'string', contentEncoding: 'base64' },
      }),
    ]),
  })
  const ran = await place.run('call', ...args)
  expect([ran.code, ran.stderr]).toEqual([0, expect.not.stringContaining('error')])
  const lines = place
    .read(seen.slice(place.project.length + 1))
    .trim()
    .split('\n')
  const calls = lines.map((line) => JSON.parse(line)).filter(({ method }) => method === 'tools/call')
  expect(calls).toHaveLength(1)
  return calls[0].params.arguments
}

describe('a tool', () => {
  it('is named server.tool, server tool, mcp__server__tool or by a name that one server has', async () => {
    use({ everything })
    const ways = [
      ['everything.get-sum'],
      ['everything', 'get-sum'],
      ['mcp__everything__get-sum'],
      ['get-sum'],
    ]
    const ran = await Promise.all(ways.map((words) => place.run('call', ...words, 'a=1', 'b=2')))
    expect(ran.map(({ stdout }) => stdout)).toEqual(ways.map(() => 'The sum of 1 and 2 is 3.\n'))
  }, 60_000)

  it('is refused by a name that two servers have, and both are named', async () => {
    // The same server twice is one server: the second needs a difference.
    use({ one: everything, two: { ...everything, env: { X: '1' } } })
    const ran = await place.run('call', 'get-sum', 'a=1', 'b=2')
    expect(ran.code).toBe(2)
    expect(ran.stderr).toContain('one.get-sum or two.get-sum')
  }, 60_000)

  it('is suggested when its name has a slip, and so is its server', async () => {
    use({ everything })
    const bare = await place.run('call', 'get-sun', 'a=1')
    expect([bare.code, bare.stderr]).toEqual([3, expect.stringContaining('everything.get-sum')])
    const server = await place.run('call', 'everythin', 'get-sum', 'a=1')
    expect([server.code, server.stderr]).toEqual([
      3,
      expect.stringContaining('plugboard call everything get-sum'),
    ])
  }, 60_000)
})

describe('arguments', () => {
  it('are key=value, --key value, --key=value and --flag, typed by the schema', async () => {
    expect(
      await sent(
        'odd.take',
        'count=3',
        '--max-results',
        '5',
        '--path=x',
        '--tags',
        'a',
        '--tags',
        'b',
        '--dry',
      ),
    ).toEqual({ count: 3, max_results: 5, path: 'x', tags: ['a', 'b'], dry: true })
    expect(await sent('odd', 'take', '--count', '-3', '--dry', 'no')).toEqual({ count: -3, dry: false })
  }, 60_000)

  it('are a JSON object, and later words win', async () => {
    expect(await sent('odd.take', '{"count": 1, "deep": {"a": [1]}}', 'count=2')).toEqual({
      count: 2,
      deep: { a: [1] },
    })
  }, 60_000)

  it('come from a file with @, as text, as JSON, or as base64 where the schema wants bytes', async () => {
    place.write('note.txt', 'two\nlines\n')
    place.write('deep.json', '{"a": 1}')
    expect(await sent('odd.take', 'path=@note.txt', 'deep:=@deep.json', 'data=@note.txt', 'count=1')).toEqual(
      {
        path: 'two\nlines\n',
        deep: { a: 1 },
        data: Buffer.from('two\nlines\n').toString('base64'),
        count: 1,
      },
    )
    use({ everything })
    const stdin = await place.runPiped('from a pipe', 'call', 'everything.echo', 'message=@-')
    expect(stdin.stdout).toBe('Echo: from a pipe\n')
  }, 60_000)

  it('say what to write when a file is missing, an option is unknown or a value is absent', async () => {
    use({ everything })
    const call = (...words: string[]) => place.run('call', 'everything.echo', ...words)
    const [file, literal, slip, own, none] = await Promise.all([
      call('message=@nowhere'),
      call('message:="@nowhere"'),
      call('--messag', 'hi'),
      call('message=hi', '--jsn'),
      call('--message'),
    ])
    expect([file.code, file.stderr]).toEqual([2, expect.stringContaining(`'message:="@nowhere"'`)])
    expect(literal.stdout).toBe('Echo: @nowhere\n')
    expect([slip.code, slip.stderr]).toEqual([2, expect.stringContaining('Did you mean --message?')])
    expect([own.code, own.stderr]).toEqual([2, expect.stringContaining('Did you mean --json?')])
    expect([none.code, none.stderr]).toEqual([2, expect.stringContaining('--message needs a value')])
  }, 60_000)

  it('of a prompt are written the same ways', async () => {
    use({ everything })
    place.write('city.txt', 'Ulm')
    const ways = [['city=Ulm'], ['--city', 'Ulm'], ['--city=Ulm'], ['city=@city.txt']]
    const ran = await Promise.all(
      ways.map((words) => place.run('prompt', 'everything', 'args-prompt', ...words)),
    )
    expect(ran.map(({ stdout }) => stdout)).toEqual(ways.map(() => expect.stringContaining('Ulm')))
  }, 60_000)
})

describe('a server that is in no file', () => {
  const command = `${process.execPath} ${scriptOf('@modelcontextprotocol/server-everything')}`

  it('is refused where no question can be shown, and used with --yes', async () => {
    use({})
    const [no, yes, listed, missing] = await Promise.all([
      place.run('call', command, 'get-sum', 'a=1', 'b=2'),
      place.run('call', command, 'get-sum', 'a=1', 'b=2', '--yes'),
      place.run('tools', command, '-y', '--json'),
      place.run('call', command, 'a=1', '--yes'),
    ])
    expect([no.code, no.stderr]).toEqual([6, expect.stringContaining('--yes')])
    expect([yes.code, yes.stdout]).toEqual([0, 'The sum of 1 and 2 is 3.\n'])
    expect(listed.json.tools.map(({ server }: { server: string }) => server)).toContain('index')
    expect([missing.code, missing.stderr]).toEqual([2, expect.stringContaining('TOOL is missing')])
  }, 60_000)

  it('is the configured one when it is the same, with its rules', async () => {
    use(
      { everything: { command: process.execPath, args: everything.args } },
      { permissions: { deny: ['mcp__everything__echo'] } },
    )
    const allowed = await place.run('call', command, 'get-sum', 'a=1', 'b=2', '--json')
    expect(allowed.json).toMatchObject({ server: 'everything', tool: 'get-sum' })
    const denied = await place.run('call', command, 'echo', 'message=hi', '--yes')
    expect([denied.code, denied.stderr]).toEqual([6, expect.stringContaining('mcp__everything__echo')])
  }, 60_000)

  it('may be a URL; policy decides about it as about any other', async () => {
    use({})
    const http = createServer((_, response) => void response.writeHead(404).end())
    await new Promise<void>((done) => http.listen(0, '127.0.0.1', done))
    try {
      const url = `http://127.0.0.1:${(http.address() as AddressInfo).port}/mcp`
      const no = await place.run('call', url, 'search', 'q=x')
      expect([no.code, no.stderr]).toEqual([6, expect.stringContaining(url)])
      const tried = await place.run('call', url, 'search', 'q=x', '--yes')
      expect(tried.code).toBe(4)
      use({}, {})
      place.write('~/.plugboard/settings.json', { deniedMcpServers: [{ serverUrl: 'http://127.0.0.1:*' }] })
      const denied = await place.run('call', url, 'search', 'q=x', '--yes')
      expect(denied.code).toBe(6)
    } finally {
      http.close()
    }
    const odd = await place.run('call', 'ftp://example.com/x', 'search', '--yes')
    expect([odd.code, odd.stderr]).toEqual([2, expect.stringContaining('https://')])
  }, 60_000)

  it.skipIf(noTerminal())(
    'asks at a terminal, and a no is a no',
    async () => {
      use({})
      const terminal = await openTerminal(place, 'call', command, 'get-sum', 'a=1', 'b=2')
      try {
        await terminal.see('(y)es, (n)o:')
        await terminal.type('n')
        await terminal.see('exit 6')
      } finally {
        await terminal.close()
      }
      const again = await openTerminal(place, 'call', command, 'get-sum', 'a=1', 'b=2')
      try {
        await again.see(/with all your rights[\s\S]*\(n\)o:/)
        await again.type('y')
        await again.see('The sum of 1 and 2 is 3.')
        await again.see('exit 0')
      } finally {
        await again.close()
      }
    },
    90_000,
  )
})

it('a server in this folder may be given by a path', async () => {
  use({})
  const server = fileURLToPath(new URL('../support/odd.mjs', import.meta.url))
  place.write('server.mjs', `await import(${JSON.stringify(server)})`)
  const ran = await place.run('tools', 'node ./server.mjs', '--yes', '--json')
  expect([ran.code, ran.json.tools.length > 0]).toEqual([0, true])
}, 60_000)
