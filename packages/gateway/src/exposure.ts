// exposure.ts: which servers and tools a client is shown. A pattern is `server` or `server.tool`, with `*` for any
// text; what no pattern names does not exist for the client, neither in lists nor in calls.

export interface Exposure {
  /** Anything at all of the server. */
  server(name: string): boolean
  tool(server: string, tool: string): boolean
  /** Resources and prompts come with a server that is shown whole. */
  whole(server: string): boolean
}

export const EVERYTHING: Exposure = { server: () => true, tool: () => true, whole: () => true }

export function readExposure(patterns: readonly string[]): Exposure {
  if (patterns.length === 0) return EVERYTHING
  const rules = patterns.map(readPattern)
  const whole = (name: string) => rules.some((rule) => rule.server(name) || rule.all(name))
  return {
    whole,
    server: (name) => whole(name) || rules.some((rule) => rule.part(name)),
    tool: (server, tool) => whole(server) || rules.some((rule) => rule.tool(`${server}.${tool}`)),
  }
}

/** What both show. */
export function narrowed(outer: Exposure, inner: Exposure): Exposure {
  if (outer === EVERYTHING) return inner
  if (inner === EVERYTHING) return outer
  return {
    server: (name) => outer.server(name) && inner.server(name),
    tool: (server, tool) => outer.tool(server, tool) && inner.tool(server, tool),
    whole: (server) => outer.whole(server) && inner.whole(server),
  }
}

function readPattern(text: string) {
  const fits = matcher(text)
  // Either part may hold dots, so every dot may be the one between them.
  const heads = dots(text).map((at) => ({ head: matcher(text.slice(0, at)), rest: text.slice(at + 1) }))
  return {
    server: fits,
    all: (name: string) => heads.some(({ head, rest }) => rest === '*' && head(name)),
    part: (name: string) => heads.some(({ head }) => head(name)),
    tool: fits,
  }
}

function dots(text: string): number[] {
  return [...text].flatMap((char, at) => (char === '.' ? [at] : []))
}

function matcher(pattern: string): (text: string) => boolean {
  const pieces = pattern.split('*')
  if (pieces.length === 1) return (text) => text === pattern
  return (text) => matches(text, pieces)
}

/** Piece by piece from the left: linear, whatever the pattern. */
function matches(text: string, pieces: readonly string[]): boolean {
  const first = pieces[0] ?? ''
  const last = pieces.at(-1) ?? ''
  if (text.length < first.length + last.length || !text.startsWith(first) || !text.endsWith(last))
    return false
  let at = first.length
  const end = text.length - last.length
  for (const piece of pieces.slice(1, -1)) {
    const found = text.indexOf(piece, at)
    if (found < 0 || found + piece.length > end) return false
    at = found + piece.length
  }
  return true
}
