// `serve --agent`: the agent as a tool. Its tools are the client's, its questions go to the client, and without a key the
// client's own model does the thinking.
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { afterEach, describe, expect, it } from 'vitest'
import { SERVERS, serverCommand } from '../../bench/lib/servers.mjs'
import {
  type ModelServer,
  modelServer,
  type Reply,
  type ScriptedRequest,
} from '../../packages/agent/src/fixtures/model-server.mjs'
import { type ServedGateway, serveGateway } from '../support/gateway.ts'

let served: ServedGateway | undefined
let model: ModelServer | undefined
let client: Client | undefined
afterEach(async () => {
  await client?.close()
  await served?.stop()
  await served?.remove()
  await model?.close()
  client = served = model = undefined
})

const ECHO = 'mcp__everything__echo'
const SUM = 'mcp__everything__get-sum'

/** Calls the echo tool once, then repeats what it said. */
const echoOnce = ({ results }: ScriptedRequest): Reply =>
  results.length === 0
    ? { calls: [{ name: ECHO, arguments: { message: 'ping' } }] }
    : { text: `It said: ${results[0]?.text}` }

async function start(script: ((request: ScriptedRequest) => Reply) | undefined, settings: object = {}) {
  if (script) model = await modelServer(script)
  served = await serveGateway({
    servers: { everything: { command: process.execPath, ...serverCommand(SERVERS.everything, '/') } },
    settings: { builtins: { codebase: false }, ...settings },
    args: ['--agent'],
    env: model ? { ANTHROPIC_API_KEY: 'secret', ANTHROPIC_BASE_URL: model.url } : {},
  })
  await served.start()
  return served.url
}

interface Wish {
  readonly era?: 'legacy' | 'auto'
  readonly capabilities?: Record<string, object>
  readonly prepare?: (client: Client) => void
}

async function connect(
  url: string,
  { era = 'legacy', capabilities = {}, prepare }: Wish = {},
): Promise<Client> {
  client = new Client({ name: 'test', version: '1' }, { capabilities, versionNegotiation: { mode: era } })
  prepare?.(client)
  await client.connect(new StreamableHTTPClientTransport(new URL(url)))
  // The tools of the servers are there once they are connected.
  await expect
    .poll(async () => (await client?.listTools())?.tools.map(({ name }) => name), { timeout: 30_000 })
    .toContain(ECHO)
  return client
}

const textOf = (result: { content?: unknown }) =>
  ((result.content ?? []) as { text?: string }[])[0]?.text ?? ''

describe('ask_agent', () => {
  it.each(['legacy', 'auto'] as const)(
    'asks the user of the client for a call, and tells its progress (%s)',
    async (era) => {
      const url = await start(echoOnce)
      const asked: string[] = []
      const one = await connect(url, {
        era,
        capabilities: { elicitation: {} },
        prepare: (each) =>
          each.setRequestHandler('elicitation/create', async ({ params }) => {
            asked.push(String(params.message))
            return { action: 'accept', content: { answer: asked.length === 1 ? 'once' : 'no' } }
          }),
      })
      const progress: string[] = []
      const ask = () =>
        one.callTool(
          { name: 'ask_agent', arguments: { prompt: 'say ping' } },
          { onprogress: ({ message }) => progress.push(String(message)) },
        )
      expect(textOf(await ask())).toBe('It said: Echo: ping')
      expect(asked[0]).toContain(`The agent wants to call ${ECHO}`)
      expect(asked[0]).toContain('ping')
      expect(progress).toContain(`Calls ${ECHO}`)
      expect(textOf(await ask())).toContain('the user said no')
    },
  )

  it('has no more than its client: rules, tools by name, and nothing without a user to ask', async () => {
    const url = await start(
      ({ results, tools }) => ({
        text: `${results[0]?.text ?? ''}|${tools.join()}`,
        ...(results.length === 0 && { calls: [{ name: ECHO, arguments: { message: 'x' } }] }),
      }),
      {
        permissions: { allow: [ECHO], deny: [SUM] },
      },
    )
    const one = await connect(url)
    const ask = async (args: Record<string, unknown>) =>
      await one.callTool({ name: 'ask_agent', arguments: { prompt: 'go', ...args } })
    const all = textOf(await ask({}))
    expect(all).toContain('Echo: x')
    // A tool that the client does not see is not there for the agent.
    expect(all).not.toContain(SUM)
    expect(textOf(await ask({ tools: ['mcp__everything__get-*'] }))).not.toContain(ECHO)
    for (const [wrong, said] of [
      [{ prompt: ' ' }, 'prompt'],
      [{ tools: 'echo' }, 'tools'],
      [{ max_turns: 0 }, 'max_turns'],
    ] as const)
      expect(await ask(wrong)).toMatchObject({
        isError: true,
        content: [{ text: expect.stringContaining(said) }],
      })
  })

  it('is refused a call that needs a permission when the client cannot be asked', async () => {
    const one = await connect(await start(echoOnce))
    expect(textOf(await one.callTool({ name: 'ask_agent', arguments: { prompt: 'x' } }))).toContain(
      'was not called',
    )
  })

  it('ends with its request', async () => {
    const url = await start(() => ({ text: 'One moment.', fault: 'hang' }))
    const one = await connect(url)
    const stop = new AbortController()
    const running = one.callTool({ name: 'ask_agent', arguments: { prompt: 'x' } }, { signal: stop.signal })
    running.catch(() => undefined)
    await expect.poll(() => model?.requests.length, { timeout: 30_000 }).toBe(1)
    stop.abort()
    await expect(running).rejects.toThrow()
    await expect.poll(() => model?.requests[0]?.closed, { timeout: 30_000 }).toBe(true)
  })

  it('thinks with the model of the client when it has no key, and says so when there is none', async () => {
    const url = await start(undefined, { permissions: { allow: [ECHO] } })
    const requests: { tools?: unknown }[] = []
    const one = await connect(url, {
      capabilities: { sampling: { tools: {} } },
      prepare: (each) =>
        each.setRequestHandler('sampling/createMessage', async ({ params }) => {
          requests.push(params)
          const isFirst = params.messages.length === 1
          return {
            role: 'assistant',
            model: 'mine',
            stopReason: isFirst ? 'toolUse' : 'endTurn',
            content: isFirst
              ? [{ type: 'tool_use', id: 'a', name: ECHO, input: { message: 'ping' } }]
              : { type: 'text', text: `Sampled: ${JSON.stringify(params.messages.at(-1)?.content)}` },
          }
        }),
    })
    const result = await one.callTool({ name: 'ask_agent', arguments: { prompt: 'x', tools: [ECHO] } })
    expect(textOf(result)).toMatch(/^Sampled: .*Echo: ping/)
    expect(requests[0]?.tools).toMatchObject([{ name: ECHO }])
    await one.close()
    const poor = await connect(url)
    expect(await poor.callTool({ name: 'ask_agent', arguments: { prompt: 'x' } })).toMatchObject({
      isError: true,
      content: [{ text: expect.stringContaining('no model') }],
    })
  })
})
