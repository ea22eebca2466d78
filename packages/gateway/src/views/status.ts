// status.ts: the state of the servers behind the gateway, for the client's model (instructions) and as a resource. Clients get
// codes and fixed sentences only: a server's own error output may hold secrets, and is only for the operator.
import type { LocalBoard, ServerSnapshot } from '@plugboard/core'
import type { Exposure } from '../access/exposure.ts'
import { SENTENCES } from '../errors.ts'
import type { Json } from '../json-rpc.ts'
import { STATUS_URI } from './resource-uris.ts'
import type { View } from './views.ts'

const INSTRUCTIONS_CHARS = 2000

/** Servers to which every user logs in: whether the gateway itself has a login there does not matter. */
type OwnLogin = (server: string) => boolean

export function instructions(
  board: LocalBoard,
  exposure: Exposure,
  searches: boolean,
  ownLogin: OwnLogin = () => false,
): string {
  const servers = board.servers().filter(({ name }) => exposure.server(name))
  const away = servers.filter(
    ({ name, state }) => state === 'failed' || (state === 'needs-auth' && !ownLogin(name)),
  )
  const lines = [
    'Plugboard: the tools of several MCP servers behind one endpoint.',
    `Read the resource ${STATUS_URI} to see which servers are up.`,
    ...(searches
      ? ['Find tools with search_tools, read their schemas with describe_tools, and run them with call_tool.']
      : []),
    ...away.map((server) => `- ${server.name} is away: ${faultOf(server)?.message ?? server.state}`),
    ...servers
      .filter(({ name }) => ownLogin(name))
      .map(({ name }) => `- ${name}: the user is asked to log in when it is first used.`),
    ...servers.flatMap((server) => {
      const own = instructionsOf(board, server)
      return own && board.link.isReadable(server.name)
        ? [`\n# ${server.name}\n${own.slice(0, INSTRUCTIONS_CHARS)}`]
        : []
    }),
  ]
  return lines.join('\n')
}

/** Those of a server that is still coming up are the ones it had in an earlier process. */
function instructionsOf(board: LocalBoard, { name, state, instructions: own }: ServerSnapshot) {
  if (state === 'connected') return own
  return state === 'pending' ? board.link.connection(name).catalog.remembered?.instructions : undefined
}

/** How tools are listed, and what that costs in a model's context (estimated tokens). */
export interface ToolListing {
  readonly mode: 'all' | 'search'
  readonly tools: number
  readonly tokens: number
  readonly listedTools: number
  readonly listedTokens: number
}

export interface StatusFacts {
  /** The exposure shows a part of what is served, so what is about all of it is left out. */
  readonly narrow: boolean
  readonly refusedNames: readonly string[]
  readonly listing: ToolListing | undefined
  readonly ownLogin?: OwnLogin
}

export function statusOf(
  board: LocalBoard,
  exposure: Exposure,
  view: View,
  { narrow, refusedNames, listing, ownLogin }: StatusFacts,
): Json {
  const servers = board
    .servers()
    .filter(({ name }) => exposure.server(name))
    .map((server) => {
      const isOwn = server.state === 'needs-auth' && ownLogin?.(server.name) === true
      const error = isOwn ? undefined : faultOf(server)
      return {
        name: server.name,
        state: isOwn ? 'own-login' : server.state,
        ...view.counts(server.name),
        ...(server.protocolVersion && { protocolVersion: server.protocolVersion }),
        ...(error && { error }),
      }
    })
  const names = narrow ? [] : refusedNames
  const configuration = narrow ? [] : board.configurationFaults()
  const status = {
    servers,
    ...(listing && { tools: listing }),
    ...(names.length > 0 && { names }),
    ...(configuration.length > 0 && { configuration }),
  }
  return {
    contents: [{ uri: STATUS_URI, mimeType: 'application/json', text: JSON.stringify(status, null, 2) }],
  }
}

function faultOf({
  error,
  state,
}: ServerSnapshot): { readonly code: string; readonly message: string } | undefined {
  if (state === 'disabled') return { code: 'DISABLED', message: SENTENCES['DISABLED'] ?? '' }
  if (!error) return undefined
  const message = SENTENCES[error.code] ?? 'The server does not work at the moment.'
  return { code: error.code, message }
}
