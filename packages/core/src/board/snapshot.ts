// snapshot.ts: the current state of one server, as plain data.
import type { TransportType } from '../config/entry.ts'
import type { ConfiguredServer, Scope } from '../config/types.ts'
import type { Connection } from '../connection/connection.ts'
import type { ServerCapabilities, ServerInfo } from '../connection/server-info.ts'
import type { ServerState } from '../connection/states.ts'
import type { PlugboardError, Stage } from '../errors.ts'

/** One server at one moment: its state, its counts, its error. */
export interface ServerSnapshot {
  readonly name: string
  readonly scope: Scope
  readonly source: string
  readonly type: TransportType
  readonly state: ServerState['kind']
  readonly attempt?: number
  readonly of?: number
  readonly stage?: Stage
  readonly error?: PlugboardError
  readonly reason?: string
  /** Who listed its tools: the server, or the catalog of an earlier process; missing while they are not known. */
  readonly listedBy?: 'server' | 'catalog'
  readonly tools: number
  readonly resources: number
  readonly prompts: number
  readonly protocolVersion?: string
  readonly connectMs?: number
  readonly serverInfo?: ServerInfo
  /** The server's declared capabilities, verbatim. */
  readonly capabilities?: ServerCapabilities
  readonly instructions?: string
}

export function snapshot(server: ConfiguredServer, connection: Connection): ServerSnapshot {
  const { state, catalog } = connection
  return {
    name: server.name,
    scope: server.scope,
    source: server.source,
    type: connection.type,
    state: state.kind,
    ...(catalog.listedBy && { listedBy: catalog.listedBy }),
    tools: catalog.tools.count,
    resources: catalog.resources.count,
    prompts: catalog.prompts.count,
    ...stateFacts(state),
  }
}

function stateFacts(state: ServerState): Partial<ServerSnapshot> {
  switch (state.kind) {
    case 'pending':
      return { attempt: state.attempt, of: state.of, ...(state.attempt > 0 && { stage: state.stage }) }
    case 'connected': {
      const { protocolVersion, serverInfo, capabilities, instructions } = state.session
      return {
        protocolVersion,
        connectMs: state.connectMs,
        capabilities,
        ...(serverInfo && { serverInfo }),
        ...(instructions !== undefined && { instructions }),
      }
    }
    case 'failed':
      return { stage: state.stage, error: state.error }
    case 'needs-auth':
      return { stage: 'auth', error: state.error }
    case 'disabled':
      return { reason: state.reason.text }
  }
}
