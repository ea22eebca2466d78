// Plain JSON-RPC when a conversation ends under a call that is still open.
import { McpServer } from '@modelcontextprotocol/server'
import { expect, it } from 'vitest'
import { eventually } from '../test-support.ts'
import { PlainEndpoint } from './plain.ts'

const ask = (id: number, method: string, params: object) => ({ jsonrpc: '2.0', id, method, params })
const HELLO = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'raw', version: '1' } }

it.each([
  ['is ended', (endpoint: PlainEndpoint) => endpoint.end(undefined)],
  ['goes with the server', (endpoint: PlainEndpoint) => endpoint.close()],
])('answers an open call when its conversation %s', async (_, finish) => {
  let isCalled = false
  const endpoint = new PlainEndpoint(
    () => {
      const server = new McpServer({ name: 'slow', version: '1' })
      server.registerTool('wait', {}, () => {
        isCalled = true
        return new Promise(() => undefined)
      })
      return server
    },
    () => undefined,
  )
  await endpoint.post(ask(1, 'initialize', HELLO), undefined)
  const answer = endpoint.post(ask(2, 'tools/call', { name: 'wait', arguments: {} }), undefined)
  await eventually(() => isCalled, 'the call')
  await finish(endpoint)
  expect(await answer).toEqual({
    status: 200,
    body: { jsonrpc: '2.0', id: 2, error: { code: -32603, message: 'The conversation was ended.' } },
  })
})
