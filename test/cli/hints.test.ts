// What the command says about small mistakes: enough to go on, and nothing about what was not asked.
import { createServer } from 'node:net'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { makePlace, type Place } from '../support/cli.ts'
import { everything } from '../support/servers.ts'

let place: Place
beforeEach(() => {
  place = makePlace()
  place.write('~/.plugboard/settings.json', {
    mcpServers: {
      everything,
      docs: {
        type: 'http',
        url: 'http://127.0.0.1:1/mcp',
        headers: { Authorization: 'Bearer ${NO_SUCH_TOKEN}' },
      },
      broken: { command: process.execPath, args: ['-e', 'console.error("no licence"); process.exit(9)'] },
    },
    permissions: { deny: ['mcp__everything__get-env'] },
  })
})
afterEach(() => place.remove())

describe('a warning about a server', () => {
  it('is printed by commands about all servers, and by commands about that one', async () => {
    for (const words of [
      ['list', '--no-connect'],
      ['explain', 'docs'],
    ])
      expect((await place.run(...words)).stderr).toContain('NO_SUCH_TOKEN')
  })

  it('is not printed by a command about another one, unless it is verbose', async () => {
    for (const words of [
      ['explain', 'everything'],
      ['call', 'everything.echo', 'message=hi'],
    ])
      expect(await place.run(...words)).toMatchObject({ code: 0, stderr: '' })
    expect((await place.run('explain', 'everything', '-v')).stderr).toContain('NO_SUCH_TOKEN')
  })
})

describe('a call', () => {
  it('with an argument that the tool does not know is made, and says so', async () => {
    const ran = await place.run('call', 'everything.echo', 'message=hi', 'mesage=ho')
    expect(ran).toMatchObject({ code: 0, stdout: 'Echo: hi\n' })
    expect(ran.stderr).toBe('everything.echo has no argument mesage; it takes message.\n')
  })

  it('of a tool with a typo in its name suggests that tool first', async () => {
    for (const slip of ['get-sun', 'get-su', 'gte-sum', 'get-summ'])
      expect((await place.run('call', `everything.${slip}`)).stderr).toMatch(
        /^error.*\n {2}Did you mean everything\.get-sum/,
      )
  }, 30_000)

  it('of a tool that a server offers only to a user who can be asked says that such tools exist', async () => {
    const { code, stderr } = await place.run('call', 'everything.trigger-elicitation-request')
    expect([code, stderr]).toEqual([3, expect.stringContaining('Some servers hide tools')])
  })

  it.for([
    ['evrything.echo', 'There is no server "evrything". Did you mean everything.echo?'],
    ['mcp__everythin__echo', 'Did you mean mcp__everything__echo?'],
    ['everything', 'That is a server. Run `plugboard tools everything`'],
    ['mcp__everything', 'That is a server. Run `plugboard tools everything`'],
    ['nothing-like-it.echo', 'A tool is called `server.tool`'],
  ] as const)('of %s says what is wrong with the server', async ([name, told]) => {
    const { code, stderr } = await place.run('call', name)
    expect([code, stderr]).toEqual([3, expect.stringContaining(told)])
  })

  it('that a rule denies says what has to change', async () => {
    const { code, stderr } = await place.run('call', 'everything.get-env')
    expect(code).toBe(6)
    expect(stderr).toContain('settings.json')
    expect(stderr).toContain('To allow it, change that rule or entry')
  })

  it('to a server that does not start prints its last stderr lines once', async () => {
    const { code, stderr } = await place
      .run('doctor', 'broken')
      .then(({ code, stdout }) => ({ code, stderr: stdout }))
    expect(code).toBe(4)
    expect(stderr.match(/no licence/g)).toHaveLength(1)
    const away = await place.run('call', 'docs.search')
    expect(away.stderr.match(/could not be reached/g)).toHaveLength(1)
  }, 30_000)
})

it('a board without servers of the user’s own says how to add one', async () => {
  const fresh = makePlace()
  try {
    for (const words of [['list'], ['list', '--no-connect']])
      expect((await fresh.run(...words)).stdout).toMatch(/codebase.*\nAdd a server of yours: `plugboard add /)
  } finally {
    fresh.remove()
  }
})

it('a program that crashed with a stack trace is reported by its error, and the log has the rest', async () => {
  const dies = ['-e', 'function start() { throw new TypeError("no database") }; start()']
  const config = JSON.stringify({ mcpServers: { dies: { command: process.execPath, args: dies } } })
  const only = ['--mcp-config', config, '--strict-mcp-config']
  const { stdout } = await place.run('list', ...only)
  expect(stdout).toMatch(/✘ dies .*\n {2}TypeError: no database\n {2}Run `plugboard logs dies`/)
  const others = await place.run('tools', ...only)
  expect(others.stderr).toMatch(/^! dies is missing: .* TypeError: no database\n$/m)
  const { stderr } = await place.run('call', 'dies.x', ...only)
  expect(stderr).toContain('TypeError: no database')
  expect(stderr).not.toMatch(/^ +at /m)
  expect((await place.run('logs', 'dies', ...only)).stdout).toMatch(/ at start /)
}, 30_000)

it('an unknown resource comes with the command that lists the known ones', async () => {
  const { code, stderr } = await place.run('read', 'everything', 'demo://nowhere')
  expect(code).toBe(3)
  expect(stderr).toContain('plugboard resources everything')
})

describe('a typo on the command line', () => {
  it.for([
    [['tols'], 'Did you mean `plugboard tools`?'],
    [['doctr'], 'Did you mean `plugboard doctor`?'],
    [['list', '--jsn'], 'Did you mean --json?'],
    [['list', '--timeout'], '--timeout needs a value.'],
    [['read'], 'Usage: plugboard read SERVER URI'],
    [['add', 'x', 'ftp://example.com/mcp'], 'A URL starts with https://'],
    [['add', 'x', 'example.com/mcp'], 'Write https://example.com/mcp'],
    [['add', 'x', 'localhost:3000'], 'Write http://localhost:3000'],
    [['call', 'everything.echo', '--mesage', 'hi'], 'Did you mean --message?'],
    [['call', 'everything.echo', '--arg', '{}'], 'Did you mean --args?'],
    [['call', 'everything.get-sum', '1', '2'], 'It takes a, b.'],
    [['import'], 'Choose one of claude-desktop, cursor,'],
    [['serve', '--port', '7337'], 'Add --http'],
    [['codebase', '--root', 'no-such-folder'], 'is not a folder'],
  ] as const)('%j is told what was meant', async ([args, told]) => {
    const ran = await place.run(...args)
    expect(ran).toMatchObject({ code: 2, stdout: '' })
    expect(ran.stderr).toContain(told)
  })

  it('in the name of a server suggests that server', async () => {
    for (const verb of ['get', 'tools', 'resources', 'logs', 'login', 'remove'])
      expect((await place.run(verb, 'evrything')).stderr).toContain('Did you mean everything?')
  })
})

it('serve says when what it is to show fits nothing', async () => {
  const { code, stderr } = await place.runPiped(
    '',
    'serve',
    '--expose',
    'evrything',
    '--expose',
    'every*.echo',
  )
  expect([code, stderr.match(/^--expose.*/gm)]).toEqual([
    0,
    ['--expose evrything matches no server of the current configuration.'],
  ])
}, 30_000)

describe('a command about another client', () => {
  it('says nothing about servers that it does not touch', async () => {
    place.write('cursor.json', { mcpServers: { search: { command: 'a' } } })
    for (const words of [
      ['import', 'cursor', 'cursor.json', '--dry-run'],
      ['export', 'cursor', '--only', 'everything'],
      ['export', 'cursor'],
    ])
      expect(await place.run(...words)).toMatchObject({ code: 0, stderr: '' })
  })
})

describe('a result as text and as structured content', () => {
  it('is shown once to a user, and both ways in JSON', async () => {
    place.write('loom.txt', 'a shuttle\n')
    const words = ['call', 'codebase.search_code', 'query=shuttle']
    const { stdout } = await place.run(...words)
    expect(stdout).toContain('loom.txt')
    expect(stdout).not.toContain('"matches"')
    const { json } = await place.run(...words, '--json')
    expect(json.structuredContent.matches).toHaveLength(1)
    expect(json.content[0].text).toContain('loom.txt')
  })
})

describe('explain', () => {
  it('shows the rules about a server, strongest first, and what its entry says itself', async () => {
    const permissions = { deniedTools: ['delete_*'] }
    place.write('~/.plugboard/settings.json', {
      mcpServers: { files: { command: 'a', permissions }, other: { command: 'b' } },
      permissions: { allow: ['mcp__files__read_*', 'mcp__files2'], deny: ['mcp__files__move'] },
    })
    // A repository's `allow` does not count, so it is not shown.
    place.write('.plugboard/settings.json', {
      permissions: { allow: ['mcp__files'], ask: ['mcp__files__write'] },
    })
    const { rules } = (await place.run('explain', 'files', '--json')).json
    expect(rules.map(({ action, rule }: { action: string; rule: string }) => `${action} ${rule}`)).toEqual([
      'deny mcp__files__move',
      'ask mcp__files__write',
      'allow mcp__files__read_*',
    ])
    const text = (await place.run('explain', 'files')).stdout
    expect(text).toMatch(/deny +mcp__files__move +~\/\.plugboard\/settings\.json/)
    expect(text).toContain('{"deniedTools":["delete_*"]}')
    expect((await place.run('explain', 'other')).stdout).toContain('no rule matches')
  })
})

describe('names with terminal codes', () => {
  it('are shown by their code points, in text and in JSON', async () => {
    const name = 'a\u001b[31m\u009b2J\u202e'
    place.write('.mcp.json', { mcpServers: { [name]: { command: 'a' } } })
    for (const words of [['doctor'], ['doctor', '--json'], ['list', '--no-connect', '--json']]) {
      const { stdout } = await place.run(...words)
      // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what must not be there
      expect(stdout).not.toMatch(/[\u001b\u009b\u202e]/)
    }
    expect(JSON.stringify((await place.run('doctor', '--json')).json)).toContain('\u202e')
  }, 30_000)
})

it.each([
  ['codebase', '--http'],
  ['serve', '--http', '--no-auth'],
])('%s says that its port is taken', async (...words) => {
  const taken = createServer()
  const port = await new Promise<number>((done) =>
    taken.listen(0, '127.0.0.1', () => done((taken.address() as { port: number }).port)),
  )
  try {
    const ran = await place.run(...words, '--port', String(port))
    expect(ran).toMatchObject({ code: 2, stdout: '' })
    expect(ran.stderr).toContain(`Port ${port} is taken by another program.`)
    expect(ran.stderr).toContain('--port 0')
  } finally {
    taken.close()
  }
})
