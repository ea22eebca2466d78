// model-apis.ts: the request and response formats of four providers, without streaming, by a model that adds two numbers
// with a tool and then says what the tool answered.
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'

// biome-ignore lint/suspicious/noExplicitAny: requests of four formats, each looked into once
type Body = any

const ARGS = { a: 1, b: 2 }
const isSum = (name: unknown) => String(name).endsWith('get-sum')
const said = (text: unknown) => `The tool said: ${String(text)}`

/** Each provider: its path, and its answer to a request. It throws when the request is not as the provider wants it. */
const APIS: readonly (readonly [RegExp, (body: Body) => object])[] = [
  [
    /\/v1\/messages$/,
    ({ messages, tools, max_tokens }) => {
      const [result] = messages.at(-1).content
      if (result?.type === 'tool_result') {
        if (messages.at(-2).content[0].id !== result.tool_use_id) throw new Error('no such tool_use')
        return { stop_reason: 'end_turn', content: [{ type: 'text', text: said(result.content[0].text) }] }
      }
      if (!(max_tokens > 0)) throw new Error('max_tokens is missing')
      const { name } = tools.find((tool: Body) => isSum(tool.name) && tool.input_schema.type === 'object')
      return { stop_reason: 'tool_use', content: [{ type: 'tool_use', id: 't1', name, input: ARGS }] }
    },
  ],
  [
    /\/v1\/chat\/completions$/,
    ({ messages, tools }) => {
      const last = messages.at(-1)
      if (last.role === 'tool') {
        if (messages.at(-2).tool_calls[0].id !== last.tool_call_id) throw new Error('no such tool call')
        return { choices: [{ message: { role: 'assistant', content: said(last.content) } }] }
      }
      const { name } = tools.find((tool: Body) => isSum(tool.function.name)).function
      const call = { id: 'c1', type: 'function', function: { name, arguments: JSON.stringify(ARGS) } }
      return { choices: [{ message: { role: 'assistant', content: null, tool_calls: [call] } }] }
    },
  ],
  [
    /\/v1\/responses$/,
    ({ input, tools }) => {
      const last = Array.isArray(input) ? input.at(-1) : undefined
      if (last?.type === 'function_call_output') {
        if (!input.some((item: Body) => item.type === 'function_call' && item.call_id === last.call_id))
          throw new Error('no such function call')
        return { output: [{ type: 'message', content: [{ type: 'output_text', text: said(last.output) }] }] }
      }
      const { name } = tools.find((tool: Body) => tool.type === 'function' && isSum(tool.name))
      return { output: [{ type: 'function_call', call_id: 'r1', name, arguments: JSON.stringify(ARGS) }] }
    },
  ],
  [
    /:generateContent$/,
    ({ contents, tools }) => {
      const [part] = contents.at(-1).parts
      const content = (one: object) => ({ candidates: [{ content: { role: 'model', parts: [one] } }] })
      if (part.functionResponse) return content({ text: said(part.functionResponse.response.output) })
      const { name } = tools[0].functionDeclarations.find((tool: Body) => isSum(tool.name))
      return content({ functionCall: { name, args: ARGS } })
    },
  ],
]

export async function modelApis(): Promise<{ readonly url: string; close(): Promise<void> }> {
  const server = createServer(async (request, response) => {
    const api = APIS.find(([path]) => path.test(request.url ?? ''))
    try {
      const body = await bodyOf(request)
      const answer = api?.[1](body)
      response.writeHead(answer ? 200 : 404, { 'content-type': 'application/json' })
      response.end(JSON.stringify(answer ?? { error: { message: 'no such path' } }))
    } catch (error) {
      response.writeHead(400).end(JSON.stringify({ error: { message: String(error) } }))
    }
  })
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}`,
    close: async () => {
      server.closeAllConnections()
      server.close()
    },
  }
}

async function bodyOf(request: IncomingMessage): Promise<Body> {
  let text = ''
  for await (const chunk of request) text += chunk
  return JSON.parse(text)
}
