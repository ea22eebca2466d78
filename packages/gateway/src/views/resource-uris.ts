// resource-uris.ts: resource URIs that stay unique when many servers share one endpoint, and lead back to the server.
// The server's own URI follows a prefix unchanged, so a template expands to what the server expects.

const PREFIX = 'plugboard://'
/** Hosts of MCP Apps accept no address with another scheme. */
const UI_SCHEME = 'ui://'
const UI_PREFIX = 'ui://plugboard/'
export const STATUS_URI = 'plugboard://status'
const RESULTS_URI = 'plugboard://results/'
/** The replica that has the result, where there are several, and its id there. */
const KEPT_RESULT = /^plugboard:\/\/results\/(?:([0-9a-f]{12})\.)?([\w-]{22})(?:\?(.*))?$/s

export interface ResourceUri {
  readonly server: string
  readonly uri: string
}

export function toPublic({ server, uri }: ResourceUri): string {
  const name = encodeURIComponent(server)
  if (uri.startsWith(UI_SCHEME)) return `${UI_PREFIX}${name}/${uri.slice(UI_SCHEME.length)}`
  return `${PREFIX}${name}/${uri}`
}

export function fromPublic(uri: string): ResourceUri | undefined {
  const isUi = uri.startsWith(UI_PREFIX)
  const prefix = isUi ? UI_PREFIX : PREFIX
  if (!uri.startsWith(prefix)) return undefined
  const slash = uri.indexOf('/', prefix.length)
  if (slash < 0 || isKeptResult(uri)) return undefined
  try {
    const own = uri.slice(slash + 1)
    return {
      server: decodeURIComponent(uri.slice(prefix.length, slash)),
      uri: isUi ? `${UI_SCHEME}${own}` : own,
    }
  } catch {
    // A stray % is in no server's name.
    return undefined
  }
}

/** A result that was kept back. A server may be called "results" too, but then a URI with a scheme follows. */
export function isKeptResult(uri: string): boolean {
  return KEPT_RESULT.test(uri)
}

export function keptResultUri(id: string, replica: string | undefined): string {
  return `${RESULTS_URI}${replica === undefined ? '' : `${replica}.`}${id}`
}

/** The parts of the address of a result that was kept back. */
export function keptResultOf(
  uri: unknown,
): { readonly replica: string | undefined; readonly id: string; readonly query: string } | undefined {
  // Every call comes by here; hardly any has such an address.
  if (typeof uri !== 'string' || !uri.startsWith(RESULTS_URI)) return undefined
  const [, replica, id = '', query = ''] = KEPT_RESULT.exec(uri) ?? []
  return id === '' ? undefined : { replica, id, query }
}

/** Could the URI have been made from the template? Variables stand for any text; nothing else is understood. */
export function fitsTemplate(uri: string, template: string): boolean {
  const pieces = template.split(/\{[^{}]*\}/)
  const first = pieces[0] ?? ''
  if (!uri.startsWith(first)) return false
  let at = first.length
  for (const piece of pieces.slice(1, -1)) {
    const found = uri.indexOf(piece, at)
    if (found < 0) return false
    at = found + piece.length
  }
  const last = pieces.length > 1 ? (pieces.at(-1) ?? '') : ''
  return pieces.length === 1 ? uri === template : uri.length - last.length >= at && uri.endsWith(last)
}
