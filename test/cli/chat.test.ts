// `plugboard chat` as a user runs it, against a scripted model on loopback.
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
