// request-headers.ts: single headers of a client's request, read leniently.
import type { IncomingMessage } from 'node:http'

export function isJson(type: string | undefined): boolean {
  return type === 'application/json' || /^application\/json\s*(?:;|$)/i.test(type ?? '')
}

export function headerVersion(req: IncomingMessage): string {
  const value = req.headers['mcp-protocol-version']
  return typeof value === 'string' ? value.trim() : ''
}

export function lastEventId(req: IncomingMessage): string | undefined {
  const value = req.headers['last-event-id']
  return typeof value === 'string' ? value : undefined
}

/** The token of a request that was let in by it. */
export function bearerOf({ headers }: IncomingMessage): string {
  return (headers.authorization ?? '').replace(/^Bearer +/i, '')
}
