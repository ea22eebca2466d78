// What every peer of these tests answers: a small legacy server with one tool that only reads and one that writes.
const tool = (name, annotations) => ({
  name,
  description: `${name} something`,
  inputSchema: { type: 'object' },
  ...(annotations && { annotations }),
})

const TOOLS = [tool('look', { readOnlyHint: true }), tool('write')]

/** The answer to a request; undefined for a notification. */
export function answer({ id, method, params }) {
  if (id === undefined) return undefined
  const result = (value) => ({ jsonrpc: '2.0', id, result: value })
  switch (method) {
    case 'initialize':
      return result({
        protocolVersion: params.protocolVersion,
        capabilities: { tools: {} },
        serverInfo: { name: 'peer', version: '1' },
        instructions: 'Look before you write.',
      })
    case 'ping':
      return result({})
    case 'tools/list':
      return result({ tools: TOOLS })
    case 'tools/call':
      return result({ content: [{ type: 'text', text: `the answer of ${params.name}` }] })
    default:
      return { jsonrpc: '2.0', id, error: { code: -32601, message: 'Method not found' } }
  }
}
