// status.ts: how the servers behind the gateway are, for the client's model (instructions) and as a resource.
import type { Board, ServerSnapshot } from '@plugboard/core'
import { STATUS_URI } from './addresses.ts'
import type { Exposure } from './exposure.ts'
import type { Json } from './protocol.ts'

const INSTRUCTIONS_CHARS = 2000

export function instructions(board: Board, exposure: Exposure): string {
  const servers = board.servers().filter(({ name }) => exposure.server(name))
  const away = servers.filter(({ state }) => state === 'failed' || state === 'needs-auth')
  const lines = [
    'Plugboard: the tools of several MCP servers behind one endpoint.',
    `Read the resource ${STATUS_URI} to see which servers are up.`,
    ...away.map((server) => `- ${server.name} is away: ${whyOf(server)}`),
    ...servers.flatMap(({ name, instructions: own, state }) =>
      state === 'connected' && own && board.isReadable(name)
        ? [`\n# ${name}\n${own.slice(0, INSTRUCTIONS_CHARS)}`]
        : [],
    ),
  ]
  return lines.join('\n')
}

export function statusOf(board: Board, exposure: Exposure): Json {
  const servers = board
    .servers()
    .filter(({ name }) => exposure.server(name))
    .map((server) => ({
      name: server.name,
      state: server.state,
      tools: server.tools,
      resources: server.resources,
      prompts: server.prompts,
      ...(server.protocolVersion && { protocolVersion: server.protocolVersion }),
      ...(server.error && { error: server.error.toJSON() }),
      ...(server.reason && { reason: server.reason }),
    }))
  // What is wrong with a server's entry is for those who are shown the server; a file's own fault is for everyone.
  const configuration = board
    .configurationFaults()
    .filter(({ server }) => server === undefined || exposure.server(server))
    .map(({ severity, file, line, column, path, server, message, hint }) => ({
      severity,
      file,
      ...(line !== undefined && { line }),
      ...(column !== undefined && { column }),
      ...(path !== undefined && { path }),
      ...(server !== undefined && { server }),
      message,
      ...(hint !== undefined && { hint }),
    }))
  const status = { servers, ...(configuration.length > 0 && { configuration }) }
  return {
    contents: [{ uri: STATUS_URI, mimeType: 'application/json', text: JSON.stringify(status, null, 2) }],
  }
}

function whyOf({ error, state }: ServerSnapshot): string {
  if (!error) return state
  const [first = ''] = error.message.split('\n')
  return error.hint ? `${first} ${error.hint}` : first
}
