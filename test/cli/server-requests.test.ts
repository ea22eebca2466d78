// What a user at a terminal sees when a server asks back, and what happens without a user.
import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { startAuthorizationServer } from '../../packages/core/src/auth/fixtures/authorization-server.ts'
import { startResourceServer } from '../../packages/core/src/auth/fixtures/resource-server.ts'
import { COMMAND, makePlace, type Place } from '../support/cli.ts'
import { everything, odd, overheard } from '../support/servers.ts'
import { noTerminal, openTerminal, type Terminal } from '../support/terminal.ts'

let place: Place
let terminal: Terminal | undefined
beforeEach(() => {
  place = makePlace()
  place.write('~/.plugboard/settings.json', { mcpServers: { ev: everything } })
})
afterEach(async () => {
  await terminal?.close()
  terminal = undefined
  place.remove()
})

const missing = noTerminal()
if (missing) console.warn(`The terminal tests are skipped: ${missing}`)

const open = async (...args: string[]) => {
  terminal = await openTerminal(place, ...args)
  return terminal
}

describe.skipIf(missing)('in a terminal', () => {
  it('approval is asked for one by one, and leaving says no to the rest', {
    timeout: 60_000,
  }, async () => {
    const entry = { command: 'node', args: ['-e', '0'] }
    place.write('.mcp.json', { mcpServers: { a: entry, b: entry, c: entry } })
    const { see, press, type } = await open('approve')
    const asked = await see(/Let a start\?[\s\S]*\(n\)ot now/)
    expect(asked).toMatch(/A yes is for exactly this, and is recorded in .*approvals\.json\./)
    await type('y')
    await see(/Let b start\?[\s\S]*\(n\)ot now/)
    await press('C-d')
    const shown = await see('exit 0')
    expect(shown.match(/^Approved .*/gm)).toEqual([expect.stringContaining('Approved a from')])
  })

  it('nothing is approved without a question where it would not be seen', { timeout: 60_000 }, async () => {
    place.write('.mcp.json', { mcpServers: { a: { command: 'node', args: ['-e', '0'] } } })
    const line = `HOME="${place.home}" "${process.execPath}" "${COMMAND}" approve 2>said; echo $? >code; mv code ended`
    const socket = `plugboard-asks-${process.pid}`
    // Its server ends with its only session, and the session with the command.
    execFileSync('tmux', ['-L', socket, 'new-session', '-d', '-c', place.project, 'sh', '-c', line])
    await expect.poll(() => existsSync(join(place.project, 'ended')), { timeout: 20_000 }).toBe(true)
    expect([place.read('ended'), place.read('said')]).toEqual(['2\n', expect.stringContaining('--yes')])
    expect((await place.run('approve', '--json')).json.approved).toMatchObject([{ name: 'a' }])
  })

  it('a login without a pasted code ends as interrupted', { timeout: 60_000 }, async () => {
    const as = await startAuthorizationServer()
    const rs = await startResourceServer({ as })
    try {
      place.write('~/.plugboard/settings.json', { mcpServers: { tickets: { type: 'http', url: rs.url } } })
      const { see, press } = await open('login', 'tickets', '--no-browser')
      await see('paste the last address')
      await press('C-d')
      expect(await see('exit 130')).toContain('Nothing was pasted.')
    } finally {
      await rs.close()
      await as.close()
    }
  })

  it('a form is filled in field by field, validated, and sent', { timeout: 60_000 }, async () => {
    const { see, press, type } = await open('call', 'ev.trigger-elicitation-request')
    await see('Please provide inputs')
    await see('Your full, legal name')
    await type('Ann Example')
    await press('Enter')
    await see('Agree to the terms')
    await press('Up', 'Up', 'Enter')
    await see('Favorite first line')
    await press('Enter')
    await see('Your email address')
    await type('nonsense')
    await press('Enter')
    await see('must be a valid email')
    await type('ann@example.com')
    await press('Enter')
    await see('Portfolio')
    await press('Enter')
    await see('date of birth')
    await type('2001-02-03')
    await press('Enter')
    await see('favorite integer')
    await type('101')
    await press('Enter')
    await see('must be at most 100')
    await type('7')
    await press('Enter')
    await see('Favorite number')
    await press('Enter')
    await see('favorite friend')
    await press('Down', 'Down', 'Enter')
    await see('favorite instruments')
    await press('Down', 'Space', 'Enter')
    await see('favorite hero')
    await press('3', 'Enter')
    await see('types of fish')
    await press('Enter')
    await see('type of pet')
    await press('Enter')
    await see(/Enter\] send to ev/)
    await press('Enter')
    const shown = await see('exit 0')
    for (const line of ['Ann Example', 'ann@example.com', '2001-02-03', 'Joey', 'hero-3', 'Piano'])
      expect(shown).toContain(line)
  })

  it('a question is left with Esc, and the server is told that it was cancelled', async () => {
    const { see, press } = await open('call', 'ev.trigger-elicitation-request')
    await see('Your full, legal name')
    await press('Escape')
    expect(await see('exit 0')).toMatch(/cancelled[\s\S]*User cancelled/)
  })

  it('a form that asks for a password says so, and is declined unless the user insists', async () => {
    place.write('~/.plugboard/settings.json', { mcpServers: { odd: odd() } })
    const params = {
      message: 'Who are \u001b[31myou?',
      requestedSchema: {
        type: 'object',
        properties: { password: { type: 'string', title: 'Your password' } },
      },
    }
    const { see, press, type } = await open('call', 'odd.ask', `params:=${JSON.stringify(params)}`)
    await see('looks like a secret')
    await type('hunter2')
    await press('Enter')
    await see('[Enter] decline')
    await press('Enter')
    expect(await see('exit 0')).toContain('{"action":"decline"}')
  })

  it('a page is opened only when the user agrees, and the call goes on when the page is done', async () => {
    const url = 'https://example.com/authorise'
    const { see, press } = await open('call', 'ev.trigger-url-elicitation', `url=${url}`, 'errorPath=true')
    await see('open a page at modelcontextprotocol.io')
    await press('m')
    await see('done, try again')
    await press('Enter')
    await see(url)
    await press('m')
    expect(await see('exit 0')).toContain('accept')
  })

  it('Enter opens no page that has a warning', async () => {
    place.write('~/.plugboard/settings.json', { mcpServers: { odd: odd() } })
    const url = 'http://user:pw@xn--pple-43d.example.com/x'
    const params = { mode: 'url', message: 'Go there', url, elicitationId: '1' }
    const { see, press } = await open('call', 'odd.ask', `params:=${JSON.stringify(params)}`)
    await see('not encrypted')
    await see('[Enter] decline')
    await press('Enter')
    expect(await see('exit 0')).toContain('{"action":"decline"}')
  })

  it('the user may answer in a model’s place, and the result says who answered', async () => {
    const { see, press, type } = await open(
      'call',
      'ev.trigger-sampling-request',
      'prompt=What is the answer?',
      'maxTokens=50',
      '--sample',
    )
    await see('ev asks for an answer of the model')
    expect(await see('What is the answer?')).toContain('answer for the model')
    await press('Enter')
    await see('an empty line ends it')
    await type('Forty-two')
    await press('Enter')
    await press('Enter')
    const shown = await see('exit 0')
    expect(shown).toContain('Forty-two')
    expect(shown).toContain('the user at the terminal')
  })

  it('a long call shows its progress, and Ctrl-C reaches the server before the command ends', async () => {
    const log = join(place.project, 'sent.jsonl')
    place.write('~/.plugboard/settings.json', {
      mcpServers: { ev: overheard('@modelcontextprotocol/server-everything', log) },
    })
    const { see, press } = await open('call', 'ev.trigger-long-running-operation', 'duration=20', 'steps=40')
    await see(/█+░+ +\d+ % \(\d+\/40\)/)
    await press('C-c')
    const shown = await see('exit 130')
    expect(shown).toContain('cancelled')
    const sent = readFileSync(log, 'utf8')
      .split('\n')
      .filter(Boolean)
      .map((line) => JSON.parse(line))
    const call = sent.find(({ method }) => method === 'tools/call')
    expect(sent).toContainEqual(
      expect.objectContaining({
        method: 'notifications/cancelled',
        params: expect.objectContaining({ requestId: call.id }),
      }),
    )
  })
})

describe('without a terminal', () => {
  it('servers are told so, and the tools that need a user are missing', async () => {
    const ran = await place.run('call', 'ev.trigger-elicitation-request', '--json')
    expect(ran.code).toBe(3)
    expect(ran.json.error).toMatchObject({ code: 'TOOL_NOT_FOUND', server: 'ev' })
    expect(ran.stderr).toContain('there is no terminal')
    expect((await place.run('call', 'ev.echo', 'message=x', '--sample')).code).toBe(2)
  })

  it('a server that asks all the same gets an error, and the call goes on', async () => {
    place.write('~/.plugboard/settings.json', { mcpServers: { odd: odd() } })
    const ran = await place.run(
      'call',
      'odd.ask',
      'params:={"message":"hm?","requestedSchema":{"type":"object"}}',
    )
    expect(ran).toMatchObject({ code: 0 })
    expect(ran.stdout).toContain('-32601')
  })

  it('a hook of the user answers instead', async () => {
    const answer = {
      hookSpecificOutput: {
        hookEventName: 'Elicitation',
        action: 'accept',
        content: { name: 'Hook', check: true, email: 'hook@example.com' },
      },
    }
    const answering = place.write('answer.json', answer)
    place.write('~/.plugboard/settings.json', {
      mcpServers: { ev: everything },
      hooks: {
        Elicitation: [{ matcher: 'ev', hooks: [{ type: 'command', command: `cat '${answering}'` }] }],
      },
    })
    const ran = await place.run('call', 'ev.trigger-elicitation-request')
    expect(ran).toMatchObject({ code: 0 })
    expect(ran.stdout).toContain('hook@example.com')
  })

  it('a hook that a repository brings is not run', async () => {
    const marker = join(place.project, 'ran')
    const hooks = { PreToolUse: [{ hooks: [{ type: 'command', command: `touch '${marker}'; exit 2` }] }] }
    place.write('.plugboard/settings.json', { hooks })
    place.write('.claude/settings.json', { hooks })
    const ran = await place.run('call', 'ev.echo', 'message=hi')
    expect(ran).toMatchObject({ code: 0, stdout: 'Echo: hi\n' })
    expect(ran.stderr).toContain('"hooks" has no effect in a project file')
    expect(existsSync(marker)).toBe(false)
  })

  it('a hook may refuse a call, and its reason is shown', async () => {
    const hooks = {
      PreToolUse: [
        { matcher: 'mcp__ev__.*', hooks: [{ type: 'command', command: 'echo not today >&2; exit 2' }] },
      ],
    }
    place.write('~/.plugboard/settings.json', { mcpServers: { ev: everything }, hooks })
    const ran = await place.run('call', 'ev.echo', 'message=hi', '--json')
    expect(ran.code).toBe(6)
    expect(ran.json.error).toMatchObject({
      code: 'PERMISSION_DENIED',
      message: expect.stringContaining('not today'),
    })
  })
})
