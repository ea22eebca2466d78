// What the command says when something is a little wrong: enough to go on, and nothing about what was not asked.
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { makePlace, type Place } from '../support/cli.ts'
import { everything } from '../support/servers.ts'

let place: Place
beforeAll(() => {
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
afterAll(() => place.remove())

describe('a warning about a server', () => {
  it('is told by what looks at all of them, and by what is about that one', async () => {
    for (const words of [
      ['list', '--no-connect'],
      ['explain', 'docs'],
    ])
      expect((await place.run(...words)).stderr).toContain('NO_SUCH_TOKEN')
  })

  it('is not told by a command about another one, unless it is asked to say more', async () => {
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
    expect(ran.stderr).toBe('everything.echo does not know mesage; it takes message.\n')
  })

  it('of a tool with a slip in its name suggests that tool first', async () => {
    for (const slip of ['get-sun', 'get-su', 'gte-sum', 'get-summ'])
      expect((await place.run('call', `everything.${slip}`)).stderr).toContain(
        'Did you mean everything.get-sum',
      )
  }, 30_000)

  it('that a rule denies says what has to change', async () => {
    const { code, stderr } = await place.run('call', 'everything.get-env')
    expect(code).toBe(6)
    expect(stderr).toContain('settings.json')
    expect(stderr).toContain('What is written there has to change first')
  })

  it('to a server that does not start says its last words once', async () => {
    const { code, stderr } = await place
      .run('doctor', 'broken')
      .then(({ code, stdout }) => ({ code, stderr: stdout }))
    expect(code).toBe(4)
    expect(stderr.match(/no licence/g)).toHaveLength(1)
    const away = await place.run('call', 'docs.search')
    expect(away.stderr.match(/could not be reached/g)).toHaveLength(1)
  }, 30_000)
})

it('a resource that is not there comes with the way to those that are', async () => {
  const { code, stderr } = await place.run('read', 'everything', 'demo://nowhere')
  expect(code).toBe(3)
  expect(stderr).toContain('plugboard resources everything')
})
