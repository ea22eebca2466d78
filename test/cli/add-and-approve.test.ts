// Adding, approving and handing on servers, as a user does it: what the command says about a slip, and what it shows on a screen.
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { makePlace, type Place } from '../support/cli.ts'
import { noTerminal, openTerminal, type Terminal } from '../support/terminal.ts'

const missing = noTerminal()

let place: Place
let terminal: Terminal | undefined
beforeEach(() => {
  place = makePlace()
})
afterEach(async () => {
  await terminal?.close()
  terminal = undefined
  place.remove()
})

describe('plugboard add', () => {
  it('notes a command that is not on PATH, and adds it all the same', async () => {
    const ran = await place.run('add', '-s', 'user', 'nope', '--', 'does-not-exist-cmd', '--flag')
    expect(ran.code).toBe(0)
    expect(ran.stdout).toContain('Added nope')
    expect(ran.stderr).toContain('"does-not-exist-cmd" was not found on PATH')
    const present = await place.run('add', '-s', 'user', 'sh', '--', 'node', 'server.js')
    expect(present.code).toBe(0)
    expect(present.stderr).not.toContain('PATH')
  }, 30_000)

  it.each([
    [['npx', '-y', '@scope/server'], 'plugboard add NAME -- npx -y @scope/server'],
    [['npx', '--', '-y', '@scope/server'], 'plugboard add NAME -- npx -y @scope/server'],
    [['uvx', 'some-mcp-server'], 'plugboard add NAME -- uvx some-mcp-server'],
  ])(
    'asks for the forgotten name: add %j',
    async (words, hint) => {
      const ran = await place.run('add', ...words)
      expect(ran.code).toBe(2)
      expect(ran.stderr).toContain(hint)
      expect((await place.run('list', '--no-connect', '--json')).json.servers).toHaveLength(1)
    },
    30_000,
  )

  it('keeps the name where there is one', async () => {
    const ran = await place.run('add', 'files', 'npx', '-y', 'pkg')
    expect(ran.code).toBe(2)
    expect(ran.stderr).toContain('plugboard add files -- npx -y pkg')
  }, 30_000)
})

describe('--timeout', () => {
  it('takes a unit, and says what a small number without one means', async () => {
    const small = await place.run('tools', 'codebase', '--timeout', '30', '--json')
    expect(small.stderr).toContain('--timeout 30 means 30 milliseconds; write 30s for seconds')
    const seconds = await place.run('tools', 'codebase', '--timeout', '30s', '--json')
    expect(seconds.code).toBe(0)
    expect(seconds.stderr).toBe('')
    const wrong = await place.run('tools', 'codebase', '--timeout', '30x')
    expect(wrong.code).toBe(2)
    expect(wrong.stderr).toContain('500ms, 30s, 2m')
  }, 60_000)
})

describe('plugboard export', () => {
  const SECRET = 'sk-abcdef0123456789abcdef0123456789'
  const server = { url: 'https://example.com/mcp', headers: { Authorization: `Bearer ${SECRET}` } }

  it('has the values in a pipe', async () => {
    place.write('~/.plugboard/settings.json', { mcpServers: { sec: server } })
    expect((await place.run('export', 'cursor')).stdout).toContain(SECRET)
  }, 30_000)

  it.skipIf(missing)(
    'masks them on a terminal, unless they are asked for',
    async () => {
      place.write('~/.plugboard/settings.json', { mcpServers: { sec: server } })
      terminal = await openTerminal(place, 'export', 'cursor')
      const shown = await terminal.see('exit 0')
      expect(shown).toContain('https://example.com/mcp')
      expect(shown).toContain('Secrets are masked on a terminal')
      expect(shown).not.toContain('abcdef0123456789')
      await terminal.close()
      terminal = await openTerminal(place, 'export', 'cursor', '--show-secrets')
      expect(await terminal.see('exit 0')).toContain(SECRET)
    },
    60_000,
  )
})

describe.skipIf(missing)('plugboard approve at a terminal', () => {
  const names = async () =>
    Object.fromEntries(
      (await place.run('list', '--no-connect', '--json')).json.servers.map(
        ({ name, state, reason }: Record<string, string>) => [name, reason ?? state],
      ),
    )
  beforeEach(() => {
    const entry = (file: string) => ({ command: 'node', args: [file] })
    place.write('.mcp.json', {
      mcpServers: { one: entry('1.js'), two: entry('2.js'), three: entry('3.js') },
    })
  })

  it('approves everything by one key after it was shown', async () => {
    terminal = await openTerminal(place, 'approve')
    await terminal.see(
      /Let one start\?[\s\S]*\(y\)es, \(n\)ot now, \(a\)ll 3 in one question, \(s\)witch it off:/,
    )
    // A key that means nothing is no answer.
    await terminal.type('?')
    expect(await names()).toMatchObject({ one: 'pending approval' })
    await terminal.type('a')
    const shown = await terminal.see(/Approve these 3\?[\s\S]*\(n\)o:/)
    for (const file of ['1.js', '2.js', '3.js']) expect(shown).toContain(file)
    await terminal.type('y')
    await terminal.see('exit 0')
    expect(await names()).toMatchObject({ one: 'pending', two: 'pending', three: 'pending' })
  }, 60_000)

  it('approves none of them after a no, and switches one off for good', async () => {
    terminal = await openTerminal(place, 'approve')
    await terminal.see('(s)witch it off:')
    await terminal.type('s')
    await terminal.see('Switched one off')
    await terminal.see(/Let three start\?[\s\S]*\(a\)ll 2[\s\S]*off:/)
    await terminal.type('a')
    await terminal.see(/Approve these 2\?[\s\S]*\(n\)o:/)
    await terminal.press('Enter')
    await terminal.see('exit 0')
    const after = await names()
    expect(after).toMatchObject({ two: 'pending approval', three: 'pending approval' })
    expect(after['one']).not.toBe('pending approval')
    expect(after['one']).not.toBe('pending')
  }, 60_000)

  it('takes no yes before all of a long entry was shown, and none that was typed before the question', async () => {
    const args = ['-e', ...Array.from({ length: 60 }, (_, at) => `line ${at} ${'x'.repeat(40)}`), 'the-end']
    place.write('.mcp.json', { mcpServers: { long: { command: 'node', args } } })
    terminal = await openTerminal(place, 'approve')
    // Typed while the command starts: meant for the shell.
    await terminal.type('yyy')
    const asked = await terminal.see(/Let long start\?[\s\S]*more lines[\s\S]*\(v\)iew all:/)
    expect(asked).not.toContain('→ yes')
    await terminal.type('y')
    await terminal.see('Not all of it was shown yet.')
    await terminal.see('Enter: next page')
    await terminal.type('a')
    const all = await terminal.see(/the-end[\s\S]*\(v\)iew all:/)
    expect(all).toContain('line 37 ')
    expect(await names()).toMatchObject({ long: 'pending approval' })
    await terminal.type('y')
    await terminal.see('Approved long from')
  }, 60_000)
})
