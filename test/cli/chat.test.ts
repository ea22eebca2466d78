// `plugboard chat` as a user runs it, against a scripted model on loopback.
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { SERVERS, serverCommand } from '../../bench/lib/servers.mjs'
import {
  type ModelServer,
  modelServer,
  type Reply,
  type ScriptedRequest,
} from '../../packages/agent/src/fixtures/model-server.mjs'
import { makePlace, type Place } from '../support/cli.ts'

let place: Place
let model: ModelServer | undefined

beforeEach(() => {
  place = makePlace()
})
afterEach(async () => {
  await model?.close()
  model = undefined
  place.remove()
})

async function scripted(
  script: (request: ScriptedRequest, count: number) => Reply | undefined,
): Promise<Record<string, string>> {
  model = await modelServer(script)
  return { ANTHROPIC_API_KEY: 'secret', ANTHROPIC_BASE_URL: model.url }
}

function withServer(name: 'everything' | 'memory'): void {
  const { args, env } = serverCommand(SERVERS[name], place.home)
  place.write('~/.plugboard/settings.json', {
    mcpServers: { [name]: { command: process.execPath, args, env } },
  })
}

/** Searches for the tool when it does not have it yet, calls it, and repeats the result. */
function echoScript({ results, tools }: ScriptedRequest): Reply {
  const echoed = results.find(({ name }) => name === 'mcp__everything__echo')
  if (echoed) return { text: `It said: ${echoed.text}` }
  if (!tools.includes('mcp__everything__echo') && results.length === 0)
    return { calls: [{ name: 'tool_search', arguments: { query: 'echo' } }] }
  return { text: 'One moment.\n', calls: [{ name: 'mcp__everything__echo', arguments: { message: 'ping' } }] }
}

describe('plugboard chat -p', () => {
  it('says in one line what to set when there is no key', async () => {
    const { code, stderr, stdout } = await place.run('chat', '-p', 'hi')
    expect(code).toBe(2)
    expect(stdout).toBe('')
    expect(stderr.trim().split('\n')).toHaveLength(1)
    expect(stderr).toContain('ANTHROPIC_API_KEY')
    expect(stderr).toContain('OPENAI_API_KEY')
  })

  it('prints the answer and nothing else on stdout', async () => {
    const env = await scripted(() => ({ text: ['Good ', 'day'] }))
    const { code, stdout } = await place.runWith(env, 'chat', '-p', 'hi')
    expect([code, stdout]).toEqual([0, 'Good day\n'])
    expect(model?.requests[0]?.headers['x-api-key']).toBe('secret')
  })

  it('talks to a local server by --base-url and --model', async () => {
    await scripted(() => ({ text: 'local' }))
    const { stdout } = await place.run(
      'chat',
      '-p',
      'hi',
      '--base-url',
      `${model?.url}/v1`,
      '--model',
      'llama',
    )
    expect(stdout).toBe('local\n')
    expect(model?.requests[0]).toMatchObject({ api: 'openai', body: { model: 'llama' } })
    expect(model?.requests[0]?.headers.authorization).toBeUndefined()
  })

  it('calls tools that --allow lets it call, and refuses the others when no user can be asked', async () => {
    withServer('everything')
    const env = await scripted(echoScript)
    const refused = await place.runWith(env, 'chat', '-p', 'echo')
    expect(refused.stdout).toContain('no user to ask')
    const granted = await place.runWith(env, 'chat', '-p', 'echo', '--allow', 'mcp__everything__echo')
    expect(granted.stdout).toContain('It said: Echo: ping')
    expect(granted.stderr).toContain('✔ mcp__everything__echo')
  }, 40_000)

  it('gives the same events from a recording, with no model and no servers', async () => {
    withServer('everything')
    const env = await scripted(echoScript)
    const live = await place.runWith(
      env,
      ...['chat', '-p', 'echo', '--json', '--record', 'talk.jsonl', '--allow', 'mcp__everything'],
    )
    expect(live.code).toBe(0)
    const events = live.stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line))
    expect(events.at(-1)).toMatchObject({ type: 'done', reason: 'end', text: 'It said: Echo: ping' })
    await model?.close()
    model = undefined
    place.write('~/.plugboard/settings.json', {})
    const played = await place.run('chat', '--replay', 'talk.jsonl', '--json')
    expect(played.stdout).toBe(live.stdout)
    expect(played.code).toBe(0)
  }, 40_000)

  it('joins what is piped in with the question, with and without -p', async () => {
    const env = await scripted(() => ({ text: 'ok' }))
    const key = ['--base-url', `${model?.url}/v1`, '--model', 'm']
    await place.runPiped('line one\nline two\n', 'chat', '-p', 'Summarize this:', ...key)
    await place.runPiped('a log', 'chat', 'Why', 'so?', ...key)
    await place.runPiped('only this', 'chat', '-p', '-', ...key)
    await place.runWith(env, 'chat', 'just words')
    expect(model?.requests.map(({ user }) => user)).toEqual([
      'Summarize this:\n\nline one\nline two\n',
      'Why so?\n\na log',
      'only this',
      'just words',
    ])
  }, 40_000)

  it('waits for servers that are starting, so that one answer can use them', async () => {
    withServer('everything')
    const seen: boolean[] = []
    const env = await scripted(({ tools }) => {
      seen.push(tools.includes('mcp__everything__echo'))
      return { text: 'ok' }
    })
    // In this order: what a server listed once is known from then on.
    await place.runWith(env, 'chat', '-p', 'x', '--wait', '0')
    await place.runWith(env, 'chat', '-p', 'x', '--wait', '30000')
    expect(seen).toEqual([false, true])
    const wrong = await place.runWith(env, 'chat', '-p', 'x', '--wait', 'soon')
    expect([wrong.code, wrong.stderr]).toEqual([2, expect.stringContaining('--wait "soon"')])
  }, 60_000)

  it('goes on with the last conversation, a named one, and a recording', async () => {
    const env = await scripted(({ user }) => ({ text: `re: ${user}` }))
    await place.runWith(env, 'chat', '-p', 'first', '--record', 'talk.jsonl')
    await place.runWith(env, 'chat', '-p', 'second', '--continue')
    const texts = () => JSON.stringify(model?.requests.at(-1)?.body.messages)
    expect(texts()).toMatch(/first.*re: first.*second/)
    await place.runWith(env, 'chat', '-p', 'third', '--resume', 'talk.jsonl')
    expect(texts()).toMatch(/first.*re: first.*third/)
    expect(texts()).not.toContain('second')
    const unknown = await place.runWith(env, 'chat', '-p', 'x', '--resume', 'nothing')
    expect([unknown.code, unknown.stderr]).toEqual([2, expect.stringContaining('There is no conversation')])
    const none = await place.runWith(env, 'chat', '-p', 'x', '--resume')
    expect([none.code, none.stderr]).toEqual([2, expect.stringContaining('needs the ID')])
    const count = () => readdirSync(join(place.home, '.plugboard/state/chats')).length
    const before = count()
    await place.runWith(env, 'chat', '-p', 'secret', '--no-save')
    expect(count()).toBe(before)
  }, 60_000)

  it('names the address and the cause when the model cannot be reached, and does not try again', async () => {
    await scripted(() => undefined)
    const url = `${model?.url}/v1`
    await model?.close()
    model = undefined
    const { code, stderr } = await place.run('chat', '-p', 'hi', '--base-url', url, '--model', 'm')
    expect(code).toBe(4)
    expect(stderr).toContain(`The model at ${url}/chat/completions cannot be reached`)
    expect(stderr).toContain('ECONNREFUSED')
    expect(stderr).not.toContain('rying again')
    const odd = await place.run('chat', '-p', 'hi', '--base-url', 'http://127.0.0.1:9/v1', '--model', 'm')
    expect(odd.stderr).toContain('cannot be reached: that port belongs to another protocol')
    expect(odd.stderr).not.toContain('rying again')
  })

  it('says why it tries again, in a sentence, and never with a web page', async () => {
    const page = '<html><head><title>502 Bad Gateway</title></head><body>x</body></html>'
    const env = await scripted((_, count) => (count === 0 ? { status: 502, page } : { text: 'ok' }))
    const { stdout, stderr } = await place.runWith(env, 'chat', '-p', 'hi')
    expect(stdout).toBe('ok\n')
    expect(stderr).toMatch(/answered 502: a web page, "502 Bad Gateway"\. Trying again in 1 s \(1 of 4\)\./)
    expect(stderr).not.toContain('<')
  })

  it('says what is wrong with a file that is not a recording', async () => {
    place.write('other.jsonl', '{"type":"something"}\n')
    const { code, stderr } = await place.run('chat', '--replay', 'other.jsonl')
    expect(code).toBe(2)
    expect(stderr).toContain('cannot be replayed')
  })

  it('ends with an error code when the model refuses the key', async () => {
    const env = await scripted(() => ({ status: 401, message: 'invalid x-api-key' }))
    const { code, stderr } = await place.runWith(env, 'chat', '-p', 'hi')
    expect(code, stderr).toBe(5)
    expect(stderr).toContain('invalid x-api-key')
    expect(stderr).toContain('ANTHROPIC_API_KEY')
  })

  it('needs a terminal for a conversation', async () => {
    const env = await scripted(() => ({ text: 'hi' }))
    const { code, stderr } = await place.runWith(env, 'chat')
    expect(code).toBe(2)
    expect(stderr).toContain('chat -p')
  })
})
