// forward-to-replica.ts: a client's HTTP request, forwarded to the replica that can answer it, and its response on the way
// back. The other replica checks the client's token itself, so forwarding gives no rights; the sealed header keeps a request
// from going round.
import { request as httpRequest, type IncomingMessage, type ServerResponse } from 'node:http'
import { request as httpsRequest } from 'node:https'
import type { Peer, Replicas } from './replicas.ts'

export const FORWARDED_BY_HEADER = 'plugboard-replica'

const CONNECT_MS = 2000
/** A machine that is gone is noticed by this. */
const KEEP_ALIVE_MS = 10_000

/** Headers that belong to one connection. */
const OF_CONNECTION: ReadonlySet<string> = new Set([
  'connection',
  'keep-alive',
  'transfer-encoding',
  'te',
  'trailer',
  'upgrade',
  'proxy-authorization',
  'expect',
  'content-length',
  FORWARDED_BY_HEADER,
])

/** False when the other replica could not be reached, or broke off before it answered: nothing was written to the client. */
export function forwardToReplica(
  replicas: Replicas,
  peer: Peer,
  req: IncomingMessage,
  res: ServerResponse,
  body: string | undefined,
): Promise<boolean> {
  return new Promise((done) => {
    const target = new URL(req.url ?? '/', peer.url)
    const headers: Record<string, string | string[] | number> = {
      [FORWARDED_BY_HEADER]: replicas.forwardToken(peer.id),
    }
    for (const [name, value] of Object.entries(req.headers))
      if (value !== undefined && !OF_CONNECTION.has(name)) headers[name] = value
    if (body !== undefined) headers['content-length'] = Buffer.byteLength(body)
    const send = target.protocol === 'https:' ? httpsRequest : httpRequest
    const passed = send(target, { method: req.method ?? 'POST', headers, agent: false })
    const late = setTimeout(() => passed.destroy(), CONNECT_MS)
    passed.on('socket', (socket) => {
      socket.setKeepAlive(true, KEEP_ALIVE_MS)
      socket.once('connect', () => clearTimeout(late))
    })
    const leave = () => passed.destroy()
    res.once('close', leave)
    passed.on('error', () => {
      clearTimeout(late)
      if (res.headersSent) return void res.destroy()
      res.off('close', leave)
      done(res.destroyed)
    })
    passed.on('response', (answer) => {
      for (const [name, value] of Object.entries(answer.headers))
        if (value !== undefined && !OF_CONNECTION.has(name)) res.setHeader(name, value)
      res.writeHead(answer.statusCode ?? 502)
      res.flushHeaders()
      answer.pipe(res)
      answer.on('error', () => res.destroy())
      done(true)
    })
    passed.end(body)
  })
}
