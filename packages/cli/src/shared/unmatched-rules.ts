// unmatched-rules.ts: permission rules that match no tool of the server they name, as far as its tools are known: from an open
// board, or from what was listed last. What a rule matches: core/config/rule-matcher.ts.
import type { Board } from '@plugboard/core'
import { type Configuration, stateFolder } from '@plugboard/core/config'
import type { Host } from '@plugboard/core/host'
import { rulesOfUnknownTools, type ToolNames, type UnmatchedToolRule } from '@plugboard/core/permissions'

/** By the tools of the servers that are connected. */
export function unmatchedRulesOf(board: Board, configuration: Configuration): readonly UnmatchedToolRule[] {
  if (configuration.rules.length === 0) return []
  const states = new Map(board.servers().map(({ name, state }) => [name, state]))
  const tools = board.tools()
  return rulesOfUnknownTools(configuration, (server) =>
    states.get(server) === 'connected'
      ? tools
          .filter(({ mcpInfo }) => mcpInfo.serverName === server)
          .map(({ name, mcpInfo }) => ({ server, tool: mcpInfo.toolName, name }))
      : undefined,
  )
}

/** By what one server listed when it was last connected. */
export async function unmatchedRulesOfCatalog(
  name: string,
  configuration: Configuration,
  host: Host,
): Promise<readonly UnmatchedToolRule[]> {
  const server = configuration.servers.find((one) => one.name === name)
  if (!server || configuration.rules.length === 0) return []
  const { CatalogStore } = await import('@plugboard/core/connection/catalog-store')
  const record = new CatalogStore(stateFolder(host), host).recall(server)
  const refs = record?.tools.map((tool) => ({ server: name, tool: tool.name }))
  const find = (tools: readonly ToolNames[] | undefined) =>
    rulesOfUnknownTools(configuration, (other) => (other === name ? tools : undefined))
  if (!refs || find(refs).length === 0) return []
  // A rule may use the name that a long one was shortened to.
  const { NameRegistry } = await import('@plugboard/core/tools')
  const names = new NameRegistry().update(refs)
  return find(refs.map((ref, at) => ({ ...ref, name: names[at] })))
}
