// A command that waits says for what, and a server that waits for approval is offered where the user can answer.
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { makePlace, type Place } from '../support/cli.ts'
import { everything } from '../support/servers.ts'
import { noTerminal, openTerminal, openTerminalWith } from '../support/terminal.ts'

let place: Place
beforeAll(() => {
  place = makePlace()
})
afterAll(() => place.remove())

const slow = {
  command: 'sh',
  args: ['-c', 'sleep 3; exec "$0" "$@"', everything.command, ...everything.args],
}

describe.skipIf(noTerminal())('at a terminal', () => {
  it.each([
    [['call', 'slow.get-sum', 'a=1', 'b=2'], 'The sum of 1 and 2 is 3.'],
    [['tools', 'slow'], 'slow.get-sum'],
    [['prompts', 'slow'], 'simple-prompt'],
    [['doctor', 'slow'], 'ok'],
  ])(
    '%j says that the server is starting, and nothing of it stays',
    async (words, end) => {
      // An entry of its own: what a server listed once is known from then on.
      const entry = { ...slow, env: { VERB: words[0] } }
      place.write('~/.plugboard/settings.json', { mcpServers: { slow: entry } })
      const terminal = await openTerminalWith(place, { columns: 80, rows: 60 }, words)
      try {
        await terminal.see(/slow … starting \d+\.\d s/)
        await terminal.see(end, 30_000)
        const shown = await terminal.see('exit 0')
        expect(shown).not.toContain('starting')
      } finally {
        await terminal.close()
      }
    },
    60_000,
  )

  it('Ctrl-C while a server starts is 130, without a word about an internal error', async () => {
    place.write('~/.plugboard/settings.json', { mcpServers: { slow: { ...slow, args: ['-c', 'sleep 60'] } } })
    for (const verb of ['doctor', 'get']) {
      const terminal = await openTerminal(place, verb, 'slow')
      try {
        await terminal.see('slow … starting')
        await terminal.press('C-c')
        expect(await terminal.see('exit 130')).not.toContain('internal error')
      } finally {
        await terminal.close()
      }
    }
  }, 90_000)

  it('a call offers to approve a server of the project', async () => {
    place.write('~/.plugboard/settings.json', {})
    place.write('.mcp.json', { mcpServers: { everything } })
    for (const [answer, end] of [
      ['n', 'exit 6'],
      ['y', 'The sum of 1 and 2 is 3.'],
    ] as const) {
      const terminal = await openTerminal(place, 'call', 'everything.get-sum', 'a=1', 'b=2')
      try {
        await terminal.see(/Let everything start\?[\s\S]*\(n\)ot now/)
        await terminal.type(answer)
        await terminal.see(end)
      } finally {
        await terminal.close()
      }
    }
    const again = await place.run('call', 'everything.get-sum', 'a=1', 'b=2')
    expect(again.code).toBe(0)
  }, 90_000)
})

it('a script gets no line about a short wait', async () => {
  place.write('.mcp.json', {})
  place.write('~/.plugboard/settings.json', { mcpServers: { slow } })
  const ran = await place.run('call', 'slow.get-sum', 'a=1', 'b=2')
  expect([ran.code, ran.stdout]).toEqual([0, 'The sum of 1 and 2 is 3.\n'])
  expect(ran.stderr).not.toContain('… starting')
}, 60_000)

it('a server has a time of its own to connect, which --timeout overrules', async () => {
  const hangs = { command: 'sh', args: ['-c', 'sleep 60'] }
  place.write('~/.plugboard/settings.json', {
    mcpServers: { slow: { ...slow, connectTimeout: 30_000 }, hangs: { ...hangs, connectTimeout: 400 } },
  })
  const call = (server: string, ...more: string[]) =>
    place.runWith({ MCP_TIMEOUT: '1000' }, 'call', `${server}.get-sum`, 'a=1', 'b=2', ...more)
  expect((await call('slow')).stdout).toBe('The sum of 1 and 2 is 3.\n')
  const late = await call('hangs')
  expect([late.code, late.stderr]).toEqual([7, expect.stringContaining('within 400 ms')])
  expect(late.stderr).toContain('Raise `connectTimeout` in the entry')
  const { json } = await place.runWith({ MCP_TIMEOUT: '1000' }, 'list', '--json')
  const states = json.servers.map(({ name, state }: { name: string; state: string }) => [name, state])
  expect(Object.fromEntries(states)).toMatchObject({ slow: 'connected', hangs: 'failed' })
  // An entry that no board has started yet.
  const fresh = { ...slow, connectTimeout: 30_000, env: { FRESH: '1' } }
  place.write('~/.plugboard/settings.json', {
    mcpServers: { slow: fresh, hangs: { ...hangs, connectTimeout: 400 } },
  })
  expect((await call('slow', '--timeout', '200ms')).stderr).toContain('within 200 ms')
}, 60_000)
