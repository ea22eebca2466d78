// What the command prints at a terminal of 80 and of 120 columns: no line is broken inside a word, and none is too long.
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { indexLine } from '../../packages/cli/src/terminal/index-bar.ts'
import { makePlace, type Place } from '../support/cli.ts'
import { everything } from '../support/servers.ts'
import { noTerminal, openTerminalWith, type Terminal } from '../support/terminal.ts'

const missing = noTerminal()

let place: Place
let terminal: Terminal | undefined
beforeEach(() => {
  place = makePlace()
  place.write('~/.plugboard/settings.json', { mcpServers: { everything } })
})
afterEach(async () => {
  await terminal?.close()
  terminal = undefined
  place.remove()
})

it('calls a server that was not to be connected "not started", and its state stays pending in JSON', async () => {
  const shown = await place.run('list', '--no-connect')
  expect(shown.stdout).toMatch(/everything +not started/)
  expect(shown.stdout).not.toContain('pending')
  const { servers } = (await place.run('list', '--no-connect', '--json')).json
  expect(servers.map(({ state }: { state: string }) => state)).toEqual(['pending', 'pending'])
}, 30_000)

describe.skipIf(missing)('at a terminal', () => {
  it.each([80, 120])(
    'list fits %i columns, with paths from the project folder',
    async (columns) => {
      place.write('.mcp.json', {
        mcpServers: {
          'a-server-with-a-rather-long-name': { command: 'node', args: ['x.js'] },
          short: { url: 'https://example.com/mcp' },
        },
      })
      terminal = await openTerminalWith(place, { columns }, ['list', '--no-connect'])
      const shown = await terminal.see('exit 0')
      expect(shown).toMatch(/⏸ short +pending approval.* \.\/\.mcp\.json$/m)
      expect(shown).toContain('a-server-with-a-rather-long-name')
      // Each row is one line: the header and the servers, in order.
      const [head = '', ...rows] = shown.split('\n')
      expect(head).toContain('STATE')
      expect(head.includes('SCOPE')).toBe(columns === 120)
      expect(rows.slice(0, 4).map((row) => row.split(/\s+/)[1])).toEqual([
        'a-server-with-a-rather-long-name',
        'codebase',
        'everything',
        'short',
      ])
      expect(shown.replaceAll(/\s+/g, ' ')).toContain(
        'run `plugboard approve a-server-with-a-rather-long-name` to let it start',
      )
    },
    60_000,
  )

  it('an error and its hint are broken between words, and a command is not broken', async () => {
    terminal = await openTerminalWith(place, { columns: 60 }, ['serve'])
    const shown = await terminal.see('exit 2')
    expect(shown.split('\n').slice(0, 5)).toEqual([
      'error: `plugboard serve` speaks MCP with the client that',
      '  starts it, not with a user.',
      '  Put it into a client, as in',
      '  `claude mcp add board -- plugboard serve`, or serve many',
      '  clients with `plugboard serve --http`.',
    ])
  }, 60_000)

  it('audit has one line a call, at 80 columns', async () => {
    expect((await place.run('call', 'everything.get-sum', 'a=1', 'b=2')).code).toBe(0)
    terminal = await openTerminalWith(place, { columns: 80 }, ['audit'])
    const shown = await terminal.see('exit 0')
    expect(shown.split('\n')[1]).toBe('exit 0')
    expect(shown).toMatch(/^\d\d-\d\d \d\d:\d\d:\d\d {2}everything\.get-sum/)
    const piped = await place.run('audit')
    expect(piped.stdout).toContain('the user called it directly')
  }, 60_000)

  it('codebase says that it expects a client, and its status is text', async () => {
    place.write('src/a.js', 'export const one = 1\n')
    terminal = await openTerminalWith(
      place,
      { columns: 80 },
      ['codebase', '--reindex', '--model', 'none'],
      ['codebase', '--model', 'none'],
    )
    const shown = await terminal.see(/an MCP client is expected/)
    expect(shown).toMatch(/^ {2}text +ready, 1 files/m)
    expect(shown).not.toContain('{')
    expect(terminal.raw()).toContain('Indexing')
    await terminal.press('C-c')
    await terminal.see('exit')
  }, 60_000)
})

describe('the line of indexing', () => {
  it('has a bar, percent and the time that is left', () => {
    const line = indexLine({ part: 'text', done: 3000, of: 12_000 }, 5000)
    expect(line).toBe('Indexing ██████░░░░░░░░░░░░░░░░░░ 25 % (3000 of 12000 files) 15 s left')
    expect(line.length).toBeLessThan(80)
  })

  it('shows no share of a total that still grows', () => {
    expect(indexLine({ part: 'meaning', done: 0, of: 147 }, 100)).toBe(
      'Indexing by meaning … 147 chunks so far',
    )
    expect(indexLine({ part: 'text', done: 0, of: 0 }, 100)).toBe('Indexing … looking at the files')
  })
})
