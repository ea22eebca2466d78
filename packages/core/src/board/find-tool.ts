// find-tool.ts: from a name to a tool: connects the servers that the name can mean, and says what is wrong with a name
// that means none.
import type { DisabledReason } from '../config/types.ts'
import type { Connection } from '../connection/connection.ts'
import { Cancelled, Disabled, NotFound } from '../errors.ts'
import { nearest } from '../text/nearest.ts'
import type { BoundTool, ToolLookup } from '../tools/index.ts'
import { candidateServers, type ToolRegistry } from './tool-registry.ts'

/** Finds a tool by either spelling, connecting only the servers that the name can mean. */
export async function findTool(
  on: { pool: ToolRegistry; servers: readonly string[]; connection(server: string): Connection },
  name: string,
  signal?: AbortSignal,
): Promise<BoundTool> {
  const { pool } = on
  const known = pool.resolve(name)
  if (known.kind === 'found' && !known.tool.remembered) return known.tool
  // Of a tool that an earlier process listed, the server is known, and has to list it again.
  const servers = known.kind === 'found' ? [known.tool.server] : candidateServers(name, on.servers)
  const settled = Promise.all(servers.map((server) => on.connection(server).needed(signal)))
  const states = await settled.catch((cause: unknown) => {
    throw signal?.aborted ? new Cancelled(undefined, { stage: 'call', cause }) : cause
  })
  const found = pool.resolve(name)
  if (found.kind === 'found' && !found.tool.remembered) return found.tool
  for (const [at, state] of states.entries()) {
    if (state.kind === 'failed' || state.kind === 'needs-auth') throw state.error
    if (state.kind === 'disabled') throw disabledError(servers[at] ?? '', state.reason)
  }
  if (found.kind !== 'ambiguous' && servers.length === 0) throw toolWithoutServer(name, on.servers)
  throw unknownTool(name, found.kind === 'found' ? { kind: 'none' } : found, servers, pool)
}

function unknownTool(
  name: string,
  found: Exclude<ToolLookup, { kind: 'found' }>,
  servers: readonly string[],
  pool: ToolRegistry,
): NotFound {
  const [server] = servers
  if (found.kind === 'ambiguous')
    return new NotFound('tool', name, {
      stage: 'call',
      hint: `It could be any of ${found.names.join(', ')}.`,
    })
  if (server === undefined) return toolWithoutServer(name, [])
  const word = name
    .replace(/^mcp__/, '')
    .slice(server.length)
    .replace(/^[._]+/, '')
  const theirs = pool.tools().filter(({ server: of }) => servers.includes(of))
  const suggestion = nearest(
    word,
    theirs.map(({ definition }) => definition.name),
  )
  const misspelled = theirs.filter(({ definition }) => definition.name === suggestion)
  const meant = pool.search(word, 20).filter(({ tool }) => servers.includes(tool.mcpInfo.serverName))
  const near = [
    ...new Set([
      ...misspelled.map((tool) => `${tool.server}.${tool.definition.name}`),
      ...meant.map(({ tool }) => `${tool.mcpInfo.serverName}.${tool.mcpInfo.toolName}`),
    ]),
  ].slice(0, 3)
  return new NotFound('tool', name, {
    server,
    stage: 'call',
    hint:
      near.length > 0
        ? `Did you mean ${near.join(', ')}?`
        : `Run \`plugboard tools ${server}\` to see what it has.`,
  })
}

/** No server has the name that the tool's name begins with. */
function toolWithoutServer(name: string, known: readonly string[]): NotFound {
  const prefix = name.startsWith('mcp__') ? 'mcp__' : ''
  const [typed = ''] = name.slice(prefix.length).split(/\.|__/)
  const rest = name.slice(prefix.length + typed.length)
  const meant = nearest(typed, known)
  return new NotFound('tool', name, {
    stage: 'call',
    hint:
      meant === undefined
        ? 'A tool is called `server.tool` or `mcp__server__tool`, and no server here matches that. Run `plugboard tools` to see them.'
        : meant === typed
          ? `That is a server. Run \`plugboard tools ${meant}\` to see its tools.`
          : `There is no server "${typed}". Did you mean ${prefix}${meant}${rest}?`,
  })
}

const APPROVE =
  'It came with this project: approve it with `approve()` of @plugboard/core/config/manage, or open the board with `config: { approveProject: true }`.'

export function disabledError(server: string, reason: DisabledReason): Disabled {
  const hints: Readonly<Partial<Record<DisabledReason['kind'], string>>> = {
    trust: `It came with this project: run \`plugboard approve ${server}\` to let it start.`,
    user: `Run \`plugboard enable ${server}\` to switch it on.`,
    config: `Give it what it lacks, or run \`plugboard enable ${server}\` if its entry switches it off.`,
  }
  return new Disabled(server, reason.text, {
    hint: hints[reason.kind],
    ...(reason.kind === 'trust' && { programHint: APPROVE }),
  })
}
