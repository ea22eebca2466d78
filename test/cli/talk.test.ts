// The interactive chat in a real terminal: tmux types and shows, a scripted model answers, real servers have the tools.
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { SERVERS, serverCommand } from '../../bench/lib/servers.mjs'
import {
  type ModelServer,
  modelServer,
  type Reply,
  type ScriptedRequest,
} from '../../packages/agent/src/fixtures/model-server.mjs'
import { readPage } from '../docs/page.ts'
import { makePlace, type Place } from '../support/cli.ts'
import { odd } from '../support/servers.ts'
import { noTerminal, openTerminalWith, type Terminal } from '../support/terminal.ts'

const missing = noTerminal()
const filesServer = fileURLToPath(new URL('../../node_modules/.bin/mcp-server-filesystem', import.meta.url))

let place: Place
let model: ModelServer
let terminal: Terminal | undefined

beforeEach(async () => {
  place = makePlace()
  model = await modelServer(script)
  const { args, env } = serverCommand(SERVERS['everything'], place.home)
  place.write('~/.plugboard/settings.json', {
    disabledServers: ['codebase'],
    mcpServers: {
      everything: { command: process.execPath, args, env },
      files: { command: filesServer, args: [place.project] },
    },
  })
})
afterEach(async () => {
  await terminal?.close()
  terminal = undefined
  await model.close()
  place.remove()
})

const MARKDOWN = [
  '# A title',
  '',
  'Here is *italic*, **bold**, `code` and a [link](https://example.com/page) in a paragraph that is wrapped at words and never inside of one.',
  '',
  '| step | owner | time |',
  '|------|:-----:|-----:|',
  '| build | ci | 3 min |',
  '| ship | me | 10 min |',
  '',
  '```ts',
  'const one = 1 // first',
  '```',
  '- an item with a \x1b[31mcode\x1b[0m and \u202e in it',
].join('\n')

const WRITE = { path: 'notes.txt', content: 'one\ntwo changed\nthree\nfour\n' }

const PATCH = `*** Begin Patch
*** Update File: notes.txt
@@
 one
-two
+two patched
 three
*** Add File: added.txt
+new
*** End Patch
`

function script({ user, results, tools }: ScriptedRequest): Reply {
  const [, wanted] = /^call (\S+)/.exec(user) ?? []
  if (user === 'markdown') return { text: MARKDOWN.match(/[\s\S]{1,9}/g) ?? [], gapMs: 5 }
  if (user === 'empty') return { text: [] }
  if (user === 'cut' || user === 'garbage') return { text: 'half an answer', fault: user }
  if (user === 'both' && results.length === 0)
    return {
      calls: [4, 2].map((duration) => ({
        name: 'mcp__everything__trigger-long-running-operation',
        arguments: { duration, steps: duration },
      })),
    }
  if (user === 'both') return { text: `RESULTS ${results.length}` }
  if (user === 'hang') return { text: 'thinking aloud', fault: 'hang' }
  if (user.startsWith('slow')) return { text: `ANSWER ${user}`, delayMs: 1500 }
  if (user.startsWith('recall')) return { text: 'RECALLED' }
  if (user.includes('@everything:')) return { text: `READ ${/Resource (\S+)/.exec(user)?.[1]}` }
  if (user.includes('simple prompt')) return { text: 'PROMPTED' }
  if (wanted === undefined) return { text: `HEARD ${JSON.stringify(user)}` }
  const name = `mcp__${wanted}`
  const result = results.find((one) => one.name === name || one.name === wanted)
  if (result) return { text: `RESULT ${result.isError} ${result.text.slice(0, 60)}` }
  if (wanted.endsWith('plan_mode'))
    return { calls: [{ name: wanted, arguments: { plan: '1. write the file' } }] }
  if (results.length === 0 && !tools.includes(name))
    return { calls: [{ name: 'tool_search', arguments: { query: wanted.replaceAll('_', ' ') } }] }
  const args =
    wanted === 'files__write_file'
      ? WRITE
      : wanted === 'workspace__edit_file'
        ? { file_path: 'notes.txt', old_string: 'two', new_string: 'two changed' }
        : wanted === 'workspace__apply_patch'
          ? { patch: PATCH }
          : { message: 'line 1\nline 2\nline 3\nline 4\nline 5' }
  return { calls: [{ name, arguments: args }] }
}

async function start(columns = 100, args: readonly string[] = [], rows = 50): Promise<Terminal> {
  const env = { ANTHROPIC_API_KEY: 'k', ANTHROPIC_BASE_URL: model.url }
  terminal = await openTerminalWith(place, { columns, rows, env }, ['chat', ...args])
  await terminal.see(/^› *$/m)
  return terminal
}

/** The prompt is back, and the line is empty. */
const IDLE = /^› *\n.*context(?!.*Esc stops).*\s*$/m

async function say(text: string): Promise<void> {
  await terminal?.see(IDLE)
  await terminal?.type(text)
  await terminal?.press('Enter')
}

/** A question takes keys when the user has stopped typing. */
async function answer(question: string | RegExp, key: string): Promise<void> {
  await terminal?.see(question)
  await terminal?.type(key)
}

describe.skipIf(missing !== undefined)('plugboard chat at a terminal', { timeout: 90_000 }, () => {
  it.each([
    [
      80,
      [
        'A title',
        '',
        'Here is italic, bold, code and a link (https://example.com/page) in a paragraph',
        'that is wrapped at words and never inside of one.',
      ],
    ],
    [
      120,
      [
        'A title',
        '',
        'Here is italic, bold, code and a link (https://example.com/page) in a paragraph that is wrapped at words and never',
        'inside of one.',
      ],
    ],
  ] as const)('shows Markdown at %i columns', async (columns, paragraph) => {
    const screen = await start(columns)
    await say('markdown')
    await screen.see('an item')
    const shown = await screen.see(IDLE)
    const lines = shown.split('\n').map((line) => line.trimEnd())
    const from = lines.indexOf('› markdown')
    expect(lines.slice(from + 1, from + 6 + paragraph.length + 7)).toEqual([
      ...paragraph,
      '',
      'step  │ owner │   time',
      '──────┼───────┼───────',
      'build │  ci   │  3 min',
      'ship  │  me   │ 10 min',
      '',
      '┌── ts',
      '│ const one = 1 // first',
      '└──',
      '• an item with a \\u001b[31mcode\\u001b[0m and \\u202e in it',
      '›',
      `claude-sonnet-4-5 · 0 % of 200k context · 100 in, 10 out`,
    ])
  })

  it('asks with one key, folds a result and opens it, and leaves', async () => {
    const screen = await start()
    await say('call everything__echo')
    const asked = await screen.see(/\(y\)es, once, for this \(s\)ession, \(a\)lways, \(n\)o:/)
    expect(asked).toContain('Allow calling everything: echo')
    expect(asked).toContain(
      '"always" adds mcp__everything__echo to permissions.allow in ./.plugboard/settings.local.json.',
    )
    await screen.type('s')
    await screen.see('RESULT false Echo: line 1')
    const folded = await screen.see(IDLE)
    expect(folded).toMatch(
      /✔ everything: Echo Tool \d+ ms\n {2}Echo: line 1\n {2}line 2\n {2}line 3\n {2}… 2 more rows \(Ctrl-O opens\)/,
    )
    await screen.press('C-o')
    await screen.see(/✔ everything: Echo Tool \d+ ms\n {2}Echo: line 1\n(?: {2}line \d\n){4}/)

    // Allowed for the session: no second question.
    await say('call everything__echo again')
    await screen.see(/again[\s\S]*RESULT false Echo/)

    await screen.see(IDLE)
    await screen.press('C-c')
    await screen.see('Press Ctrl-C again to exit.')
    await screen.press('C-c')
    const left = await screen.see('exit 130')
    expect(left).not.toMatch(/[⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏]/)
  })

  it('asks with -p, too: docs/agent.md says so', async () => {
    expect(readPage('docs/agent.md')).toContain('At a terminal `-p` asks')
    const env = { ANTHROPIC_API_KEY: 'k', ANTHROPIC_BASE_URL: model.url }
    terminal = await openTerminalWith(place, { columns: 80, env }, ['chat', '-p', 'call everything__echo'])
    await answer(/echo\?[\s\S]*\(n\)o:/, 'n')
    await terminal.see('RESULT true')
    await terminal.see('exit 0')
  })

  it('queues what is sent meanwhile, and shows it; what is typed stays on the line', async () => {
    const screen = await start()
    await say('slow one')
    await screen.see('thinking')
    await screen.type('slow two')
    await screen.press('Enter')
    await screen.type('a draft')
    const shown = await screen.see(/queued: slow two\n› a draft/)
    expect(shown).toMatch(/thinking \d/)
    await screen.see('ANSWER slow one')
    await screen.see('ANSWER slow two')
    await screen.see(/^› a draft/m)
    expect(model.requests.map(({ user }) => user)).toEqual(['slow one', 'slow two'])
  })

  it('Esc interrupts an answer; what was sent and typed meanwhile is back on the line', async () => {
    const screen = await start()
    await say('hang')
    await screen.see('thinking aloud')
    await screen.type('wanted later')
    await screen.press('Enter')
    await screen.see('queued: wanted later')
    await screen.type('a draft')
    await screen.see(/queued: wanted later\n› a draft/)
    await screen.press('Escape')
    const stopped = await screen.see(/Stopped\.\n› wanted later\n {2}a draft\n.*context(?!.*Esc stops)/)
    expect(stopped).toContain('thinking aloud')
    expect(stopped).not.toMatch(/queued:|[⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏]/)
    // The model is told, too, and nothing of the queue was sent.
    await expect.poll(() => model.requests.at(-1)?.closed, { timeout: 10_000 }).toBe(true)
    expect(model.requests.map(({ user }) => user)).toEqual(['hang'])
    // It is text like any other: edited, and sent as one message.
    await screen.type('!')
    await screen.see(/› wanted later\n {2}a draft!/)
    await screen.press('Enter')
    await screen.see('HEARD "wanted later')
    expect(model.requests.at(-1)?.user).toBe('wanted later\na draft!')
  })

  it('edits several lines, pastes as one message, and finds earlier lines', async () => {
    const screen = await start(80)
    await screen.see(IDLE)
    await screen.paste('first line\n\tsecond line\nthird line\n')
    await screen.see(/› first line\n {6}second line\n {2}third line/)
    await screen.press('Enter')
    await screen.see('HEARD "first line')
    expect(model.requests.at(-1)?.user).toBe('first line\n\tsecond line\nthird line')
    await screen.see(IDLE)
    await screen.type('one')
    await screen.press('C-j')
    await screen.type('two\\')
    await screen.press('Enter')
    await screen.type('three')
    await screen.see(/› one\n {2}two\n {2}three/)
    await screen.press('Up', 'Home')
    await screen.type('X')
    await screen.press('Enter')
    await screen.see('HEARD "one')
    expect(model.requests.at(-1)?.user).toBe('one\nXtwo\nthree')
    await screen.see(IDLE)
    await screen.press('Up')
    await screen.see(/› one\n {2}Xtwo\n {2}three\n.*context/)
    await screen.press('C-c')
    await screen.see(IDLE)
    await screen.press('C-r')
    await screen.type('second')
    await screen.see(/› first line\n {6}second line\n {2}third line\nsearch: second/)
    await screen.press('Escape')
    await screen.see(IDLE)
    await screen.press('C-d')
    await screen.see('exit 0')
  })

  it('completes once, however often Tab is pressed', async () => {
    const screen = await start(110)
    await say('/mcp')
    await screen.see(/✔ everything +connected/)
    await screen.see(IDLE)
    await screen.type('tell me of @everything:demo://resource/static/document/arch')
    await screen.press('Tab')
    await screen.press('Tab')
    await screen.see('@everything:demo://resource/static/document/architecture.md')
    await screen.press('Enter')
    await screen.see('READ demo://resource/static/document/architecture.md')
    await screen.see(IDLE)
    await screen.type('/mcp__everything__sim')
    await screen.press('Tab')
    await screen.press('Tab')
    await screen.see(/› \/mcp__everything__simple-prompt$/m)
    await screen.press('Enter')
    await screen.see('PROMPTED')
    place.write('plan.txt', 'THE PLAN')
    await screen.see(IDLE)
    await screen.type('@pla')
    await screen.press('Tab')
    await screen.see('› @plan.txt')
    await screen.press('Enter')
    await screen.see('THE PLAN')
  })

  it('shows the difference that a call makes to a file, and takes it back', async () => {
    place.write('notes.txt', 'one\ntwo\nthree\n')
    const screen = await start(80)
    await say('call files__write_file')
    const asked = await screen.see('(n)o:')
    expect(asked).toMatch(
      /→ files: Write File notes\.txt\n {4}one\n {2}- two\n {2}\+ two changed\n {4}three\n {2}\+ four\n {2}2 added, 1 removed/,
    )
    await screen.type('y')
    await screen.see('RESULT false')
    expect(place.read('notes.txt')).toBe(WRITE.content)
    await say('/undo')
    await screen.see('Put notes.txt back as it was.')
    expect(place.read('notes.txt')).toBe('one\ntwo\nthree\n')
  })

  it('shows an edit of the built-in server once, and takes it back, also after kill -9', async () => {
    place.write('notes.txt', 'one\ntwo\nthree\n')
    const screen = await start(80)
    await say('call workspace__edit_file')
    const asked = await screen.see('(n)o:')
    expect(asked).toMatch(/"notes\.txt" changes\n {4}one\n {2}- two\n {2}\+ two changed\n {4}three/)
    expect(asked.match(/\+ two changed/g)).toHaveLength(1)
    await screen.type('y')
    await screen.see('RESULT false')
    expect(place.read('notes.txt')).toBe('one\ntwo changed\nthree\n')
    await say('/undo')
    await screen.see('Undone: changed notes.txt.')
    expect(place.read('notes.txt')).toBe('one\ntwo\nthree\n')
    await say('/undo')
    await screen.see(
      'No file edit of this conversation is left to undo. Only calls that name a file of the project and its new text can be undone; what commands and other tools change cannot. /undo earlier takes back the last edit that the built-in `workspace` made.',
    )
    // The guide says the same.
    const guide = readPage('docs/agent.md').replace(/\s+/g, ' ')
    expect(guide).toContain(
      'whose arguments name the file and its new text (or the texts to replace); what a command,',
    )
    expect(guide).toContain('is not known, and `/undo` cannot take it back.')
    await say('call workspace__apply_patch')
    await screen.see(/"added\.txt" new file[\s\S]*\(n\)o:/)
    await screen.type('s')
    await screen.see(/apply_patch[\s\S]*RESULT false changed notes\.txt, created added\.txt/)
    await say('/undo')
    await screen.see('Undone: removed added.txt, changed notes.txt.')
    expect(place.read('notes.txt')).toBe('one\ntwo\nthree\n')
    expect(existsSync(join(place.project, 'added.txt'))).toBe(false)
    // Without a question, the difference is shown when it is done.
    await say('call workspace__apply_patch again')
    await screen.see(/again[\s\S]*- two\n {2}\+ two patched[\s\S]*\+ new\n {2}2 added, 1 removed/)
    await say('/undo')
    await screen.see(/again[\s\S]*Undone: removed added\.txt, changed notes\.txt\./)
    await say('call workspace__edit_file')
    await answer(/edit_file\?[\s\S]*edit_file\?[\s\S]*\(n\)o:/, 'y')
    // Two edits and two patches have their results on the screen by then.
    await screen.see(/(?:RESULT false[\s\S]*){4}/)
    process.kill(await screen.pid(), 'SIGKILL')
    await screen.see('exit 137')
    await screen.close()
    const again = await start(80, ['--continue'])
    await say('/undo earlier')
    await again.see('Undone: changed notes.txt.')
    expect(place.read('notes.txt')).toBe('one\ntwo\nthree\n')
  })

  it('shows a form of a server as every verb does, and goes on when it is left', async () => {
    const screen = await start(100)
    await say('call everything__trigger-elicitation-request')
    await answer('(n)o:', 'y')
    await screen.see(/everything asks[\s\S]*\(required\)/)
    await screen.type('Ada')
    await screen.press('Enter')
    await screen.see('✔ Ada')
    await screen.press('Escape')
    await screen.see('cancelled')
    await screen.see(/RESULT false/)
    await screen.see(IDLE)
  })

  it('changes nothing in plan mode until the plan is approved', async () => {
    const screen = await start(100)
    await say('/plan')
    await screen.see('Plan mode is on')
    await say('call files__write_file')
    await screen.see(/RESULT true Plan mode is on|There is no tool/)
    expect(existsSync(join(place.project, 'notes.txt'))).toBe(false)
    await say('call exit_plan_mode')
    await answer('Carry out this plan?', 'n')
    await screen.see(/RESULT false The user did not approve/)
    await say('call exit_plan_mode now')
    await answer(/now[\s\S]*\(n\)o, plan again:/, 'y')
    await screen.see(/RESULT false The user approved/)
    await say('call files__write_file third')
    await answer(/third[\s\S]*\(n\)o:/, 'y')
    await screen.see(/third[\s\S]*RESULT false/)
    expect(place.read('notes.txt')).toBe(WRITE.content)
  })

  it('says what happened in a narrow window, whatever the model sends', async () => {
    place.write('~/.plugboard/settings.json', {
      ...JSON.parse(readFileSync(join(place.home, '.plugboard/settings.json'), 'utf8')),
      permissions: { allow: ['mcp__everything'], deny: ['everything.ecoh'] },
    })
    const screen = await start(40)
    expect(await screen.see(IDLE)).toMatch(/^plugboard · \S+ ·\n?.*\n.*Ctrl-D exits$/m)
    await say('empty')
    await screen.see('The model answered nothing.')
    await say('hang')
    // What the user can do stays on the status line; the name of the model gives way.
    await screen.see(/thinking aloud\n›\n0 % of 200k context · Esc stops\s*$/)
    await screen.press('Escape')
    await screen.see('Stopped.')
    await say('cut')
    await screen.see('broke off in its answer: the connection was closed')
    await screen.press('Escape')
    await say('garbage')
    await screen.see(/not\s+JSON[\s\S]*trying again \(1 of 4\)/)
    await screen.press('Escape')
    await say('both')
    await screen.see(/(?:⠋|⠙|⠹|⠸|⠼|⠴|⠦|⠧|⠇|⠏) everything[^\n]*\n(?:⠋|⠙|⠹|⠸|⠼|⠴|⠦|⠧|⠇|⠏) everything/)
    await screen.see('RESULTS 2')
    await say('/permissions')
    await screen.see(
      '! the rule "everything.ecoh" matches no tool of "everything". Did you mean the tool "echo"?',
    )
    await say('/tools')
    await screen.see(/\d+ tools, about[\s\S]*\n›/)
    const lines = await screen.written()
    expect(lines.filter((line) => line.length > 40)).toEqual([])
  })

  it('leaves nothing behind when the window changes its size', async () => {
    const screen = await start(100)
    await say('slow one')
    await screen.see('thinking')
    await screen.type('a draft of many words that is wider than the smaller window will be in a moment')
    await screen.resize(60, 40)
    await screen.see('ANSWER slow one')
    await screen.resize(110, 40)
    await screen.see(/^› a draft of many words.*moment$/m)
    const shown = await screen.see(/context · 100 in, 10 out\s*$/)
    expect(shown.match(/a draft of many words/g)).toHaveLength(1)
    expect(shown).not.toMatch(/[⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏]/)
  })
})

describe.skipIf(missing !== undefined)('a conversation that is saved', { timeout: 90_000 }, () => {
  const saved = () =>
    readdirSync(join(place.home, '.plugboard/state/chats')).filter((name) => name.endsWith('.jsonl'))

  it('goes on after kill -9, with every piece that had arrived', async () => {
    const screen = await start(100)
    await say('remember the number 42')
    await screen.see('HEARD "remember')
    await say('hang')
    await screen.see('thinking aloud')
    process.kill(await screen.pid(), 'SIGKILL')
    await screen.see('exit 137')
    await screen.close()
    const again = await start(100, ['--continue'])
    await again.see(/Continues \S+: 4 messages\./)
    await say('recall it')
    await again.see('RECALLED')
    const sent = JSON.stringify(model.requests.at(-1)?.body)
    expect(sent).toContain('remember the number 42')
    expect(sent).toContain('thinking aloud')
    expect(saved()).toHaveLength(1)
    const [file = ''] = saved()
    const lines = readFileSync(join(place.home, '.plugboard/state/chats', file), 'utf8')
      .trim()
      .split('\n')
    expect(lines.every((line) => JSON.parse(line) !== undefined)).toBe(true)
    // A second one beside it does not write into the same file.
    const env = { ANTHROPIC_API_KEY: 'k', ANTHROPIC_BASE_URL: model.url }
    const beside = await place.runWith(env, 'chat', '-p', 'recall beside', '--continue')
    expect(beside.stdout).toBe('RECALLED\n')
    expect(beside.stderr).toContain('is open in another chat, so this one goes on in a copy.')
    expect(JSON.stringify(model.requests.at(-1)?.body)).toContain('remember the number 42')
    expect(saved()).toHaveLength(2)
    expect(readFileSync(join(place.home, '.plugboard/state/chats', file), 'utf8')).not.toContain('beside')
  })

  it('is resumed from a list, forked, exported, and cleared', async () => {
    const screen = await start(100)
    await say('the first one')
    await screen.see('HEARD "the first one"')
    await screen.press('C-d')
    await screen.see('exit 0')
    await screen.close()
    const again = await start(100)
    await say('/resume')
    await again.see(/❯ .*the first one/)
    await again.press('Enter')
    await again.see(/Took up \S+: 2 messages\./)
    await say('/fork')
    await again.see(/This is (\S+) now; (\S+) stays as it is\./)
    await say('recall both')
    await again.see('RECALLED')
    expect(JSON.stringify(model.requests.at(-1)?.body)).toContain('the first one')
    expect(saved()).toHaveLength(2)
    await say('/export talk.md')
    await again.see('Wrote')
    expect(place.read('talk.md')).toMatch(/## You\n\nthe first one\n\n## Model\n\nHEARD/)
    await say('/compact')
    await again.see(/About \d+ tokens became \d+/)
    await say('/cost')
    await again.see(/\d+ tokens in, \d+ tokens out/)
    await say('/context')
    await again.see(
      /\d+ % of 200k tokens[\s\S]*your messages +about \d+[\s\S]*tools +about [\d.k]+, when all/,
    )
    await say('/model claude-haiku-4-5')
    await again.see('The model is claude-haiku-4-5')
    await say('to the other one')
    await again.see('HEARD "to the other one"')
    expect(model.requests.at(-1)?.body).toMatchObject({ model: 'claude-haiku-4-5' })
  })

  it('approves a server of the project, and uses it at once', async () => {
    place.write('.mcp.json', { mcpServers: { odd: odd() } })
    const screen = await start(80)
    await screen.see(/odd[^\n]*\/mcp approve/)
    await say('/mcp approve')
    await answer(/Let odd start[\s\S]*off:/, 'y')
    await say('/mcp')
    await screen.see(/odd +\S*connected/)
    expect((await screen.written()).filter((line) => line.length > 80)).toEqual([])
  })

  it('asks once about the instructions of a project, and shows where they come from', async () => {
    place.write('AGENTS.md', 'Always answer in rhyme.\nNever shout.\n')
    const env = { ANTHROPIC_API_KEY: 'k', ANTHROPIC_BASE_URL: model.url }
    terminal = await openTerminalWith(place, { columns: 100, env }, ['chat'])
    const asked = await terminal.see('(y)es, (n)o:')
    expect(asked).toContain('Always answer in rhyme.')
    await terminal.type('y')
    await terminal.see('Instructions: AGENTS.md (project, 3 lines)')
    await say('hello')
    await terminal.see('HEARD')
    expect(model.requests.at(-1)?.system).toContain('Always answer in rhyme.')
    await terminal.close()
    const again = await start(100)
    await again.see('Instructions: AGENTS.md')
    await again.press('C-d')
    await again.see('exit 0')
  })
})
