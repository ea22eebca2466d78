// redirects.ts: which redirects of an MCP request are followed: those that keep the method and stay within the origin.
// Anything else would send the entry's headers and the message to a server that the user did not name.

const STATUSES: ReadonlySet<number> = new Set([301, 302, 303, 307, 308])

interface RedirectResponse {
  readonly status: number
  header(name: string): string | undefined
}

/** Where a response points, whether or not it is followed. */
export function redirectLocation(from: URL, response: RedirectResponse): URL | undefined {
  const location = STATUSES.has(response.status) ? response.header('location') : undefined
  return location && URL.canParse(location, from.href) ? new URL(location, from) : undefined
}

/** The URL to follow, or undefined for a response that is no redirect or one that must not be followed. */
export function redirectTarget(from: URL, method: string, response: RedirectResponse): URL | undefined {
  if (response.status < 300 || response.status >= 400) return undefined
  const to = redirectLocation(from, response)
  const keepsMethod = method === 'GET' || response.status === 307 || response.status === 308
  return to && keepsMethod && isWithinOrigin(from, to) && keepsUserinfo(from, to) ? to : undefined
}

/** The same scheme, host and port, or the https form of an http URL with both on their default ports. */
function isWithinOrigin(from: URL, to: URL): boolean {
  if (from.protocol === to.protocol && from.host === to.host) return true
  const isUpgrade = from.protocol === 'http:' && to.protocol === 'https:'
  return isUpgrade && from.hostname === to.hostname && from.port === '' && to.port === ''
}

function keepsUserinfo(from: URL, to: URL): boolean {
  if (to.username === '' && to.password === '') return true
  return to.username === from.username && to.password === from.password
}
