// exposure.ts: which servers and tools a client sees. A pattern is written like a permission rule (`server`,
// `server.tool`, `mcp__server__get_*`); what no pattern matches does not exist for the client, neither in lists nor in calls.
import { InvalidInput } from '@plugboard/core/errors'
import { concernsServer, coversServer, coversTool, parseRule } from '@plugboard/core/permissions'

/** Which servers and tools a client may see and call. */
export interface Exposure {
  /** At least one tool of the server. */
  server(name: string): boolean
  /** `name` is the registry's name of the tool, where it is known. */
  tool(server: string, tool: string, name?: string): boolean
  /** Resources and prompts come with a server that is shown whole. */
  whole(server: string): boolean
}

/** Exposes every server and every tool. */
export const EVERYTHING: Exposure = { server: () => true, tool: () => true, whole: () => true }

/**
 * Rejects what cannot be a pattern: a client must not see more, or less, than the user meant.
 *
 * @example
 * const exposure = readExposure(['notes.say', 'docs'])
 * console.log(exposure.server('notes'), exposure.server('other')) // true false
 */
export function readExposure(patterns: readonly string[]): Exposure {
  if (patterns.length === 0) return EVERYTHING
  const rules = parsed(patterns, 'expose')
  return {
    whole: (server) => rules.some((rule) => coversServer(rule, server, 'expose')),
    server: (server) => rules.some((rule) => concernsServer(rule, server, 'expose')),
    tool: (server, tool, name) => rules.some((rule) => coversTool(rule, { server, tool, name }, 'expose')),
  }
}

function parsed(patterns: readonly string[], use: 'expose' | 'restrict') {
  return patterns.map((pattern) => {
    const read = parseRule(pattern, use)
    if (read.ok) return read
    throw new InvalidInput(`The pattern ${JSON.stringify(pattern)} ${read.problem}.`, { hint: read.hint })
  })
}

/** What is left of an exposure without what the patterns cover. Resources and prompts go with a server that is denied whole. */
export function without(exposure: Exposure, patterns: readonly string[]): Exposure {
  if (patterns.length === 0) return exposure
  const rules = parsed(patterns, 'restrict')
  const isClosed = (server: string) => rules.some((rule) => coversServer(rule, server, 'restrict'))
  return {
    server: (name) => exposure.server(name) && !isClosed(name),
    whole: (server) => exposure.whole(server) && !isClosed(server),
    tool: (server, tool, name) =>
      exposure.tool(server, tool, name) &&
      !rules.some((rule) => coversTool(rule, { server, tool, name }, 'restrict')),
  }
}

/** What at least one of them exposes. */
export function united(exposures: readonly Exposure[]): Exposure {
  const [only] = exposures
  if (only && exposures.length === 1) return only
  if (exposures.includes(EVERYTHING)) return EVERYTHING
  return {
    server: (name) => exposures.some((one) => one.server(name)),
    tool: (server, tool, name) => exposures.some((one) => one.tool(server, tool, name)),
    whole: (server) => exposures.some((one) => one.whole(server)),
  }
}

/** What both expose. */
export function narrowed(outer: Exposure, inner: Exposure): Exposure {
  if (outer === EVERYTHING) return inner
  if (inner === EVERYTHING) return outer
  return {
    server: (name) => outer.server(name) && inner.server(name),
    tool: (server, tool, name) => outer.tool(server, tool, name) && inner.tool(server, tool, name),
    whole: (server) => outer.whole(server) && inner.whole(server),
  }
}
