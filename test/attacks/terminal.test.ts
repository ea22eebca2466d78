// Text of servers, files and models reaches a real terminal, a log and a question here. None of it may control the
// terminal, hide from the user who answers, or leave a secret behind.
import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type ModelServer, modelServer } from '../../packages/agent/src/fixtures/model-server.mjs'
import { makePlace, type Place } from '../support/cli.ts'
import { noTerminal, openTerminalWith, type Terminal } from '../support/terminal.ts'

const missing = noTerminal()
const server = fileURLToPath(new URL('./hostile-server.mjs', import.meta.url))
/** Title, link, cursor, screen, C1, bidi, separators, zero width, tags. */
const WORDS =
  'A\x1b]0;PWNED\x07B\x1b]8;;http://evil\x1b\\C\x1b[3;3HD\x1b[?1049hE\x9b5mF\x9d0;x\x9cG\u202eH\u2066I\u2028J\u0085K\u200bL\u{e0041}M\rN\x08'
// biome-ignore lint/suspicious/noControlCharactersInRegex: the escape character is what our codes start with
const OWN_CODES = /\x1b\[(?:\d{1,5}[mABGKJ]|\?(?:2004|2026|25)[hl])/g
const OBEYED = /(?![\n\t])[\p{Cc}\p{Bidi_Control}\p{Zl}\p{Zp}\u200b\u{e0041}]/u

let place: Place
let terminal: Terminal | undefined
let model: ModelServer | undefined
beforeEach(() => {
  place = makePlace()
})
afterEach(async () => {
  await terminal?.close()
  await model?.close()
  terminal = undefined
  model = undefined
  place.remove()
})

const entry = (env: Readonly<Record<string, string>> = {}) => ({
  command: process.execPath,
  args: [server],
  env: { WORDS, ...env },
})

/** What is left of the screen's bytes without our own codes. */
function foreign(raw: string): string {
  return raw.replaceAll('\r\n', '\n').replace(OWN_CODES, '')
}

describe.skipIf(missing !== undefined)('hostile text at a terminal', () => {
  it('is made visible and has no effect, by every verb that prints it', async () => {
    place.write('~/.plugboard/settings.json', {
      disabledServers: ['codebase'],
      mcpServers: { evil: entry() },
    })
    place.write('.mcp.json', {
      mcpServers: { clone: { command: `run${WORDS}`, args: [WORDS], env: { X: WORDS }, odd: WORDS } },
    })
    const cursor = place.write('cursor.json', {
      mcpServers: { other: { url: `http://x/${WORDS}`, extra: WORDS } },
    })
    const verbs = [
      ['list'],
      ['list', '--no-connect'],
      ['get', 'evil'],
      ['get', 'clone'],
      ['explain', 'clone'],
      ['tools', 'evil'],
      ['tools', 'evil', '--json'],
      ['call', 'evil.say', `note=${WORDS}`],
      ['call', 'evil.say', 'note=x', '--json'],
      ['call', 'evil.fail'],
      ['call', `evil.${WORDS}`],
      ['resources', 'evil'],
      ['read', 'evil', 'odd:x'],
      ['read', 'evil', 'odd:x', '-o', '-'],
      ['prompts', 'evil'],
      ['prompt', 'evil', 'p'],
      ['doctor'],
      ['logs', 'evil'],
      ['logs', 'evil', '--json'],
      ['audit'],
      ['export', 'cursor', '--only', 'clone'],
      ['export', 'cursor', '--only', 'evil'],
      ['import', 'cursor', cursor, '--dry-run'],
      ['enable', WORDS],
    ].map((words) => words.map((word) => word.replaceAll('\r', '')))
    terminal = await openTerminalWith(place, { columns: 80 }, ...verbs)
    await terminal.see(/^exit \d+/m, 110_000)
    const shown = foreign(terminal.raw())
    expect(shown).toContain('PWNED')
    const at = OBEYED.exec(shown)
    expect(at && JSON.stringify(shown.slice(Math.max(0, at.index - 60), at.index + 20))).toBeNull()
  }, 120_000)

  it('stays unchanged in a pipe, byte by byte', async () => {
    place.write('~/.plugboard/settings.json', {
      disabledServers: ['codebase'],
      mcpServers: { evil: entry() },
    })
    const { stdout, stderr } = await place.run('call', 'evil.say', 'note=x')
    expect(stdout).toBe(`said x ${WORDS}\n`)
    expect(OBEYED.test(stderr)).toBe(false)
  })
})

const LONG = `${Array.from({ length: 60 }, (_, at) => `# harmless comment ${at}`).join('\n')}\nrm -rf ~ # THE END`

/** A chat whose model calls `evil.wipe` with the given arguments after the first message. */
async function openChat(args: unknown, reply = 'MODEL-DONE'): Promise<Terminal> {
  model = await modelServer(({ results, user, tools }) => {
    if (user.startsWith('say A')) return { text: `HEARD **${WORDS}** \`${WORDS}\`\n# ${WORDS}\n` }
    if (user.startsWith('say ')) return { text: `HEARD ${JSON.stringify(user)}` }
    if (user === 'slow') return { text: ['SLOW-', 'DONE\n'], gapMs: 600 }
    if (results.some(({ name }) => name === 'mcp__evil__wipe'))
      return { text: `${reply} ${results.some(({ isError }) => isError) ? 'REFUSED' : 'WIPED'}` }
    if (!tools.includes('mcp__evil__wipe'))
      return { calls: [{ name: 'tool_search', arguments: { query: 'wipe' } }] }
    return { calls: [{ name: 'mcp__evil__wipe', arguments: args as Record<string, unknown> }] }
  })
  place.write('~/.plugboard/settings.json', { disabledServers: ['codebase'], mcpServers: { evil: entry() } })
  const env = { ANTHROPIC_API_KEY: 'k', ANTHROPIC_BASE_URL: model.url }
  const opened = await openTerminalWith(place, { columns: 80, rows: 24, env }, ['chat'])
  await opened.see(/› *$/m)
  return opened
}

describe.skipIf(missing !== undefined)('a question in the chat, at 80 columns', () => {
  it('cannot be answered with yes before all of it was shown', async () => {
    terminal = await openChat({ note: LONG, path: '/tmp/x\u202egnp' })
    await terminal.type('go')
    await terminal.press('Enter')
    const asked = await terminal.see('(v)iew all')
    expect(asked).toContain('DESTRUCTIVE')
    expect(asked).toContain('\\u202egnp')
    expect(asked).toMatch(/"always" adds mcp__evil__wipe to permissions\.allow in/)
    expect(asked).toContain('61 lines')
    expect(asked).not.toContain('harmless comment 30')
    await terminal.type('y')
    await terminal.see('Not all of it was shown yet')
    await terminal.see(/more lines\. Enter: next page/)
    for (let page = 0; page < 6 && /q: stop --\s*$/.test(await terminal.screen()); page++) {
      await terminal.press('Enter')
      await new Promise((done) => setTimeout(done, 400))
    }
    expect(await terminal.screen()).toContain('harmless comment 30')
    await terminal.see(/rm -rf ~ # THE END[\s\S]*\(v\)iew all:\s*$/)
    await terminal.type('y')
    await terminal.see('MODEL-DONE WIPED')
  })

  it('shows the rest with v, and accepts a no at any time', async () => {
    terminal = await openChat({ note: LONG })
    await terminal.type('go')
    await terminal.press('Enter')
    await terminal.see('(v)iew all')
    await terminal.type('v')
    await terminal.see(/Enter: next page/)
    await terminal.type('a')
    await terminal.see(/THE END[\s\S]*\(v\)iew all:\s*$/)
    await terminal.type('n')
    await terminal.see('MODEL-DONE REFUSED')
  })

  it('is not answered by what was typed before it was shown', async () => {
    terminal = await openChat({ note: 'short' })
    await terminal.type('slow')
    await terminal.press('Enter')
    await terminal.type('go')
    await terminal.press('Enter')
    await terminal.type('y')
    await terminal.press('Enter')
    await terminal.see('(n)o:')
    // The y waits for its turn; the question needs an answer of its own.
    await new Promise((done) => setTimeout(done, 800))
    expect(await terminal.screen()).not.toContain('WIPED')
    await terminal.type('n')
    await terminal.see('REFUSED')
  })

  it('leaves nothing moving behind when Ctrl-C ends it', async () => {
    terminal = await openChat({ note: 'short' })
    await terminal.type('go')
    await terminal.press('Enter')
    await terminal.see('(n)o:')
    await terminal.press('C-c')
    await terminal.see(/Stopped[\s\S]*›/)
    expect(await terminal.screen()).not.toMatch(/[⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏]/)
    expect(await terminal.screen()).toMatch(/\(n\)o: *\n/)
  })

  it('sends a pasted text of several lines as one message', async () => {
    terminal = await openChat({})
    await terminal.paste('say line one\n\tline two\nline three\n')
    await terminal.see('line three')
    await terminal.press('Enter')
    await terminal.see('HEARD "say line one')
    const said = model?.requests.at(-1)?.user
    expect(said).toBe('say line one\n\tline two\nline three')
  })

  it('shows what a model and a user write without obeying it', async () => {
    terminal = await openChat({})
    await terminal.paste(`say ${WORDS}`)
    await terminal.press('Enter')
    await terminal.see('HEARD')
    const heard = `say ${WORDS.replace(/\p{Cc}/gu, '')}`
    await expect
      .poll(() => model?.requests.at(-1)?.user.replace(/\p{Cc}/gu, ''))
      .toContain(heard.slice(0, 12))
    await terminal.type('/export out.md')
    await terminal.press('Enter')
    await terminal.see('Wrote')
    const shown = foreign(terminal.raw())
    expect(shown).toContain('\\u202e')
    const at = OBEYED.exec(shown)
    expect(at && JSON.stringify(shown.slice(Math.max(0, at.index - 60), at.index + 20))).toBeNull()
  })

  it('keeps lines that are typed while something runs, and handles them in order', async () => {
    terminal = await openChat({})
    for (const line of ['/mcp', 'say one', '/tools', 'say two']) {
      await terminal.type(line)
      await terminal.press('Enter')
    }
    await terminal.see('HEARD "say two"')
    const users = model?.requests.map(({ user }) => user)
    expect(users).toEqual(['say one', 'say two'])
  })
})

describe.skipIf(missing !== undefined)('servers that are missing', () => {
  it('are named in one line when a chat starts, and by chat -p on stderr', async () => {
    model = await modelServer(async () => {
      // Long enough for a second attempt, after which a server counts as missing.
      await new Promise((done) => setTimeout(done, 4000))
      return { text: 'FINE' }
    })
    place.write('~/.plugboard/settings.json', {
      disabledServers: ['codebase'],
      mcpServers: { gone: { command: '/does/not/exist' } },
    })
    place.write('.mcp.json', { mcpServers: { cloned: { command: 'x' } } })
    const env = { ANTHROPIC_API_KEY: 'k', ANTHROPIC_BASE_URL: model.url }
    const printed = await place.runWith(env, 'chat', '-p', 'hello')
    expect(printed.stdout).toBe('FINE\n')
    expect(printed.stderr).toMatch(/1 waits for approval: cloned \(plugboard approve\)/)
    expect(printed.stderr).toMatch(/1 (?:failed|not up yet): gone \(/)
    terminal = await openTerminalWith(place, { columns: 80, env }, ['chat'])
    await terminal.see(/1 waits for approval: cloned/)
    await terminal.see(/›/)
  })
})

describe('the audit log', () => {
  it('detects that a line was removed and the chain was recomputed', async () => {
    place.write('~/.plugboard/settings.json', {
      disabledServers: ['codebase'],
      mcpServers: { evil: entry() },
    })
    for (const note of ['a', 'b', 'c']) await place.run('call', 'evil.say', `note=${note}`)
    const honest = await place.run('audit', '--verify')
    expect(honest.stdout).toMatch(/^3 lines, none changed, moved or removed\.\n/)
    expect(honest.stdout).toMatch(/sealed with a key/)
    expect(honest.stdout).toMatch(/The check cannot detect/)
    const [path = ''] = filesBelow(place.home).filter((file) => file.endsWith('audit.jsonl'))
    const lines = readFileSync(path, 'utf8').trimEnd().split('\n')
    let prev = '0'.repeat(64)
    const forged = [lines[0], lines[2]].map((line, index) => {
      const { hash: _, mac, ...fields } = JSON.parse(line ?? '')
      const body = JSON.stringify({ ...fields, seq: index + 1, prev })
      prev = createHash('sha256').update(body).digest('hex')
      return `${body.slice(0, -1)},"hash":"${prev}","mac":"${mac}"}`
    })
    writeFileSync(path, `${forged.join('\n')}\n`)
    writeFileSync(`${path}.head`, JSON.stringify({ seq: 2, hash: prev }))
    const verified = await place.run('audit', '--verify')
    expect(verified.code).toBe(1)
    expect(verified.stdout).toMatch(/seal that does not fit/)
  })
})

function filesBelow(folder: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .map((name) => join(folder, name))
    .filter((file) => existsSync(file) && statSync(file).isFile())
}

describe('a secret that a server echoes', () => {
  const TOKEN = 'sEcReT-7f3a+/9b=x'

  function kept(ran: { stdout: string; stderr: string }): string {
    const files = filesBelow(place.home).filter((file) => !file.endsWith('settings.json'))
    return [ran.stdout, ran.stderr, ...files.map((file) => readFileSync(file, 'utf8'))].join('\n')
  }
  const spellings = [
    TOKEN,
    encodeURIComponent(TOKEN),
    Buffer.from(TOKEN).toString('base64').slice(0, -4),
    Buffer.from(`user:${TOKEN}`).toString('base64').slice(8, -4),
  ]

  it('is in no log, audit line or error of a stdio server', async () => {
    place.write('~/.plugboard/settings.json', {
      disabledServers: ['codebase'],
      mcpServers: { evil: entry({ API_TOKEN: '${MY_SECRET}' }) },
    })
    for (const words of [
      ['call', 'evil.leak', `note=${TOKEN}`],
      ['call', 'evil.fail'],
      ['logs', 'evil'],
      ['audit', '--json'],
    ]) {
      const ran = await place.runWith({ MY_SECRET: TOKEN }, ...words)
      for (const spelling of spellings) expect(kept(ran)).not.toContain(spelling)
    }
    const logs = await place.run('logs', 'evil')
    expect(logs.stdout).toContain('[redacted]')
  })

  it('is in no log or error of a server over HTTP, in the body or a header', async () => {
    const web = await echoServer()
    try {
      const { port } = web.address() as AddressInfo
      place.write('~/.plugboard/settings.json', {
        disabledServers: ['codebase'],
        mcpServers: {
          web: { type: 'http', url: `http://127.0.0.1:${port}/mcp`, headers: { 'X-Api-Key': TOKEN } },
        },
      })
      for (const words of [['call', 'web.x'], ['doctor', 'web'], ['list'], ['logs', 'web']]) {
        const ran = await place.run(...words)
        for (const spelling of spellings) expect(kept(ran)).not.toContain(spelling)
      }
    } finally {
      web.close()
    }
  })
})

/** Refuses everything, and echoes what it was sent. */
function echoServer(): Promise<Server> {
  const web = createServer((request, response) => {
    const sent = String(request.headers['x-api-key'])
    response.writeHead(400, {
      'content-type': 'application/json',
      'www-authenticate': `Bearer error="${sent}"`,
    })
    response.end(
      JSON.stringify({ jsonrpc: '2.0', id: null, error: { code: -32000, message: `not ${sent}` } }),
    )
  })
  return new Promise((done) => web.listen(0, '127.0.0.1', () => done(web)))
}
