// resource-uris.ts: resource URIs that stay unique when many servers share one endpoint, and lead back to the server.
// The server's own URI follows a prefix unchanged, so a template expands to what the server expects.

const PREFIX = 'plugboard://'
export const STATUS_URI = 'plugboard://status'

export interface ResourceUri {
  readonly server: string
  readonly uri: string
}

export function toPublic({ server, uri }: ResourceUri): string {
  return `${PREFIX}${encodeURIComponent(server)}/${uri}`
}

export function fromPublic(uri: string): ResourceUri | undefined {
  if (!uri.startsWith(PREFIX)) return undefined
  const slash = uri.indexOf('/', PREFIX.length)
  if (slash < 0) return undefined
  try {
    return { server: decodeURIComponent(uri.slice(PREFIX.length, slash)), uri: uri.slice(slash + 1) }
  } catch {
    // A stray % is in no server's name.
    return undefined
  }
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
