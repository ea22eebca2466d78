// snapshot-rows.ts: the servers of an open board as rows of `list`.
import type { Board, ServerSnapshot } from '@plugboard/core'
import type { ServerRow } from '../server-table.ts'

export function rowsOf(board: Board): ServerRow[] {
  return board.servers().map(snapshotRow)
}

export function snapshotRow(server: ServerSnapshot): ServerRow {
  const { name, scope, source, type, state, tools, resources, prompts } = server
  const { stage, error, reason, protocolVersion, connectMs, serverInfo } = server
  return {
    name,
    scope,
    source,
    type,
    state,
    ...(stage && { stage }),
    ...(error && {
      error: error.message,
      code: error.code,
      ...(error.shellHint && { hint: error.shellHint }),
    }),
    ...(reason && { reason }),
    tools,
    resources,
    prompts,
    ...(protocolVersion && { protocolVersion }),
    ...(connectMs !== undefined && { connectMs: Math.round(connectMs) }),
    ...(serverInfo && { serverInfo }),
  }
}
