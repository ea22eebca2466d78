// The interactive chat in a real terminal: tmux types and shows, a scripted model answers, a real server has the tools.
import { execFileSync, spawnSync } from 'node:child_process'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { SERVERS, serverCommand } from '../../bench/lib/servers.mjs'
import {
  type ModelServer,
  modelServer,
  type Reply,
  type ScriptedRequest,
} from '../../packages/agent/src/fixtures/model-server.mjs'
import { COMMAND, makePlace, type Place } from '../support/cli.ts'
import { answerAboutFolder } from '../support/terminal.ts'

const hasTmux = spawnSync('tmux', ['-V']).status === 0
const socket = `plugboard-test-${process.pid}`

let place: Place
let model: ModelServer

beforeEach(async () => {
  place = makePlace()
  model = await modelServer(script)
  const { args, env } = serverCommand(SERVERS['everything'], place.home)
  place.write('~/.plugboard/settings.json', {
    disabledServers: ['codebase'],
    mcpServers: { everything: { command: process.execPath, args, env } },
  })
  answerAboutFolder(place)
})
afterEach(async () => {
  tmux('kill-server')
  await model.close()
  place.remove()
})

function script({ user, results, tools }: ScriptedRequest): Reply {
  if (user === 'stream') return { text: ['# A title\n', 'one **two**', ' three\n', '- an item\n'], gapMs: 30 }
  if (user === 'hang') return { text: 'thinking aloud', fault: 'hang' }
  if (user.includes('@everything:')) return { text: `READ ${/Resource (\S+)/.exec(user)?.[1]}` }
  if (user.includes('simple prompt')) return { text: 'PROMPTED' }
  const echoed = results.find(({ name }) => name === 'mcp__everything__echo')
  if (echoed) return { text: `RESULT ${echoed.isError} ${echoed.text}` }
  if (results.length === 0 && !tools.includes('mcp__everything__echo'))
    return { calls: [{ name: 'tool_search', arguments: { query: 'echo' } }] }
  return { calls: [{ name: 'mcp__everything__echo', arguments: { message: user } }] }
}

function tmux(...args: string[]): string {
  return spawnSync('tmux', ['-L', socket, ...args], { encoding: 'utf8' }).stdout ?? ''
}

function start(): void {
  const env = {
    PATH: process.env['PATH'] ?? '',
    HOME: place.home,
    PLUGBOARD_MANAGED_DIR: `${place.home}/managed`,
    ANTHROPIC_API_KEY: 'k',
    ANTHROPIC_BASE_URL: model.url,
    LANG: 'C.UTF-8',
  }
  const words = [process.execPath, COMMAND, 'chat'].map((word) => `'${word}'`).join(' ')
  const vars = Object.entries(env)
    .map(([name, value]) => `${name}='${value}'`)
    .join(' ')
  execFileSync('tmux', [
    ...[
      '-L',
      socket,
      '-f',
      '/dev/null',
      'new-session',
      '-d',
      '-s',
      'chat',
      '-x',
      '110',
      '-y',
      '60',
      '-c',
      place.project,
    ],
    `env -i TERM=screen ${vars} ${words}; echo LEFT $?; sleep 60`,
  ])
}

const screen = () => tmux('capture-pane', '-p', '-t', 'chat')
const type = (text: string) => tmux('send-keys', '-t', 'chat', '-l', text)
const press = (...keys: string[]) => tmux('send-keys', '-t', 'chat', ...keys)

async function shows(text: string | RegExp, timeout = 15_000): Promise<void> {
  await expect.poll(screen, { timeout, interval: 50 }).toMatch(text)
}

/** The prompt is back, and the line is empty. */
const idle = () => shows(/› *\n*$/)

async function say(text: string): Promise<void> {
  await idle()
  type(text)
  press('Enter')
}

describe.skipIf(!hasTmux)('plugboard chat at a terminal', () => {
  it('streams, asks, stops, completes and leaves', async () => {
    start()
    await shows('plugboard')

    await say('stream')
    await shows('one two three')
    await shows('• an item')
    expect(screen()).not.toContain('**')

    await say('ping')
    await shows('Allow calling everything: echo')
    await shows(/\(y\)es, once.*\(s\)ession.*\(a\)lways.*\(n\)o/)
    type('s')
    press('Enter')
    await shows('RESULT false Echo: ping')
    await shows(/✔ everything: .* \d+ ms/)

    // Allowed for the session: no second question.
    await say('pong')
    await shows('RESULT false Echo: pong')

    await say('hang')
    await shows('thinking aloud')
    press('C-c')
    await shows('Stopped.')
    await expect.poll(() => model.requests.at(-1)?.closed, { timeout: 10_000 }).toBe(true)

    await say('/mcp')
    await shows(/✔ everything +connected/)

    await idle()
    type('tell me of @everything:demo://resource/static/document/arch')
    press('Tab')
    await shows('@everything:demo://resource/static/document/architecture.md')
    press('Enter')
    await shows('READ demo://resource/static/document/architecture.md')

    await say('/mcp__everything__simple-prompt')
    await shows('PROMPTED')

    await idle()
    press('C-c')
    await shows('Press Ctrl-C again to exit.')
    press('C-c')
    await shows('LEFT 130')
  }, 90_000)

  it('accepts a no, keeps the history, and leaves with Ctrl-D', async () => {
    start()
    await shows('plugboard')
    await say('first')
    await shows('Allow calling')
    type('n')
    press('Enter')
    await shows('RESULT true')
    await idle()
    press('Up')
    await shows(/› first *\n*$/)
    press('C-c')
    await idle()
    press('C-d')
    await shows('LEFT 0')
  }, 60_000)
})
