// guarded-fetch.ts: the only way an auth request leaves the process. https (or loopback), no redirects to other
// origins, no internal network addresses, bounded size and time. It knows nothing about OAuth.
import { type LookupAddress, lookup as systemLookup } from 'node:dns'
import type { IncomingMessage } from 'node:http'
import type { LookupFunction } from 'node:net'
import { Cancelled, IoError, PlugboardError, Timeout } from '../errors.ts'
import type { Host } from '../host.ts'
import { AUTH_LIMITS } from '../limits.ts'
import { AuthRefused, shownUrl } from './auth-refused.ts'
import { isLoopbackName, mayReach, type Zone, zoneOf } from './ip-ranges.ts'

/** Every address of a name. Injectable for tests and unusual resolvers; the system's resolver otherwise. */
export type Resolve = (hostname: string) => Promise<readonly LookupAddress[]>

export interface GuardOptions {
  readonly host: Host
  /** The server on whose behalf the requests are made; its location decides which zones are open. */
  readonly server: URL
  readonly serverName: string
  /** Origins that the user configured: these may be anywhere. */
  readonly trusted?: readonly string[]
  readonly resolve?: Resolve | undefined
}

export interface GuardedInit {
  readonly method?: string
  readonly headers?: Readonly<Record<string, string>> | Headers
  readonly body?: string | URLSearchParams | undefined
  readonly signal?: AbortSignal | undefined
  /** Leaves the body unread: an event stream has no end. */
  readonly headersOnly?: boolean
}

export type GuardedFetch = (url: string | URL, init?: GuardedInit) => Promise<Response>

interface GuardedAnswer {
  readonly status: number
  readonly headers: Headers
  readonly body: Buffer
}

export function guardedFetch(options: GuardOptions): GuardedFetch {
  const resolve = options.resolve ?? resolveName
  let home: Promise<ReadonlySet<Zone>> | undefined
  return async (target, init = {}) => {
    let url = parse(target, options)
    home ??= homeZones(options.server, resolve)
    const method = (init.method ?? 'GET').toUpperCase()
    for (let hop = 0; hop <= AUTH_LIMITS.redirects; hop++) {
      checkScheme(url, options)
      const answer = await send(url, method, init, options, await home, resolve)
      const location = answer.headers.get('location')
      if (answer.status < 300 || answer.status >= 400 || location === null) return toResponse(answer)
      url = redirectTarget(url, location, method, options)
    }
    throw new AuthRefused('too-many-redirects', `${shownUrl(url)} redirects in circles.`, who(options))
  }
}

const who = (options: GuardOptions) => ({ server: options.serverName })

function parse(target: string | URL, options: GuardOptions): URL {
  if (URL.canParse(String(target))) return new URL(String(target))
  throw new AuthRefused('insecure-url', `"${shownUrl(target)}" is not a URL.`, who(options))
}

/** https, or http when the name in the URL means this machine. */
export function isSecureUrl(url: URL): boolean {
  return url.protocol === 'https:' || (url.protocol === 'http:' && isLoopbackName(url.hostname))
}

function checkScheme(url: URL, options: GuardOptions): void {
  if (isSecureUrl(url) && url.username === '' && url.password === '') return
  throw new AuthRefused(
    'insecure-url',
    `An authorization request to ${shownUrl(url)} was refused: it has to be https (http only on this machine) and carry no password.`,
    { ...who(options), hint: 'Ask the operator of the server to offer https.' },
  )
}

function redirectTarget(from: URL, location: string, method: string, options: GuardOptions): URL {
  const to = URL.canParse(location, from.href) ? new URL(location, from) : undefined
  if (to && to.origin === from.origin && method === 'GET') return to
  throw new AuthRefused(
    'cross-origin-redirect',
    `${shownUrl(from)} redirects ${method === 'GET' ? 'to another origin' : 'a request that carries secrets'} (${shownUrl(location)}); that is not followed.`,
    { ...who(options), hint: 'The server is misconfigured or hostile; do not log in there.' },
  )
}

/**
 * The server's own zone. Loopback counts only when the user wrote it (`localhost`, `127.0.0.1`): a name whose DNS
 * record points at this machine opens nothing.
 */
async function homeZones(server: URL, resolve: Resolve): Promise<ReadonlySet<Zone>> {
  if (isLoopbackName(server.hostname)) return new Set(['loopback'])
  const literal = zoneOf(server.hostname)
  if (literal) return new Set([literal])
  const addresses = await resolve(server.hostname).catch(() => [])
  const zones = addresses.map(({ address }) => zoneOf(address))
  return new Set(zones.filter((zone): zone is Zone => zone !== undefined && zone !== 'loopback'))
}

const resolveName: Resolve = (hostname) =>
  new Promise((done, fail) => {
    systemLookup(hostname, { all: true, verbatim: true }, (error, addresses) =>
      error ? fail(error) : done(addresses),
    )
  })

function refusePrivate(
  url: URL,
  address: string,
  zone: Zone | undefined,
  options: GuardOptions,
): AuthRefused {
  return new AuthRefused(
    'private-address',
    `An authorization request to ${shownUrl(url)} was refused: ${address} is a ${zone ?? 'strange'} address, and "${options.serverName}" itself is not at such an address.`,
    {
      ...who(options),
      hint: 'If that address really is your authorization server, name it in `oauth.authServerMetadataUrl`.',
    },
  )
}

async function send(
  url: URL,
  method: string,
  init: GuardedInit,
  options: GuardOptions,
  home: ReadonlySet<Zone>,
  resolve: Resolve,
): Promise<GuardedAnswer> {
  const open = (options.trusted ?? []).includes(url.origin) || url.host === options.server.host
  const judge = (address: string): AuthRefused | undefined => {
    const zone = zoneOf(address)
    return open || (zone && mayReach(zone, home)) ? undefined : refusePrivate(url, address, zone, options)
  }
  const hostname = url.hostname.replace(/^\[|\]$/g, '')
  const literal = zoneOf(hostname) === undefined ? undefined : judge(hostname)
  if (literal) throw literal
  // Resolving here, inside the connect, leaves no gap between the check and the use.
  const lookup: LookupFunction = (name, { all }, done) => {
    resolve(name).then(
      (addresses) => {
        const refused = addresses.map(({ address }) => judge(address)).find(Boolean)
        const first = addresses[0]
        if (refused) done(refused, [])
        else if (!first) done(Object.assign(new Error(`no address for ${name}`), { code: 'ENOTFOUND' }), [])
        else if (all) done(null, [...addresses])
        else done(null, first.address, first.family)
      },
      (error) => done(error, []),
    )
  }
  const body = init.body === undefined ? undefined : String(init.body)
  const headers = Object.fromEntries(new Headers(init.headers as Record<string, string> | undefined))
  if (init.body instanceof URLSearchParams) headers['content-type'] ??= 'application/x-www-form-urlencoded'
  headers.accept ??= 'application/json'
  headers['accept-encoding'] = 'identity'
  const proxy = proxyFor(url, options.host.env)
  if (proxy) {
    // A proxy resolves names itself; the addresses this machine knows for the name are still checked first.
    const addresses = await resolve(hostname).catch(() => [])
    const refused = addresses.map(({ address }) => judge(address)).find(Boolean)
    if (refused) throw refused
  }
  const headersOnly = init.headersOnly === true
  return sendRequest({ url, method, headers, body, lookup, proxy, signal: init.signal, headersOnly, options })
}

interface PreparedRequest {
  readonly url: URL
  readonly method: string
  readonly headers: Record<string, string>
  readonly body: string | undefined
  readonly lookup: LookupFunction
  readonly proxy: string | undefined
  readonly signal: AbortSignal | undefined
  readonly headersOnly: boolean
  readonly options: GuardOptions
}

async function sendRequest(what: PreparedRequest): Promise<GuardedAnswer> {
  const { url, options } = what
  const abort = new AbortController()
  const forward = () => abort.abort(new Cancelled('The authorization request was cancelled.'))
  if (what.signal?.aborted) forward()
  what.signal?.addEventListener('abort', forward, { once: true })
  const cancelTimer = options.host.awaitedTimer(AUTH_LIMITS.requestMs, () =>
    abort.abort(
      new Timeout(`${shownUrl(url)} did not answer within ${AUTH_LIMITS.requestMs / 1000} s.`, {
        ...who(options),
        stage: 'auth',
        hint: 'Try again; if it stays silent, the authorization server is down.',
      }),
    ),
  )
  try {
    return await (what.proxy ? viaProxy(what, what.proxy, abort.signal) : direct(what, abort.signal))
  } catch (error) {
    if (abort.signal.aborted && abort.signal.reason instanceof PlugboardError) throw abort.signal.reason
    if (error instanceof PlugboardError) throw error
    const code = (error as NodeJS.ErrnoException).code ?? 'unknown error'
    throw new IoError(`${shownUrl(url)} could not be reached (${code}).`, {
      ...who(options),
      stage: 'auth',
      hint: 'Check the network, the proxy settings and the certificate of that server.',
    })
  } finally {
    cancelTimer()
    what.signal?.removeEventListener('abort', forward)
  }
}

async function direct(what: PreparedRequest, signal: AbortSignal): Promise<GuardedAnswer> {
  const { request } = what.url.protocol === 'https:' ? await import('node:https') : await import('node:http')
  const message = await new Promise<IncomingMessage>((done, fail) => {
    const sent = request(
      what.url,
      { method: what.method, headers: what.headers, lookup: what.lookup, agent: false, signal },
      done,
    )
    sent.once('error', fail)
    sent.end(what.body)
  })
  const headers = new Headers()
  for (let index = 0; index + 1 < message.rawHeaders.length; index += 2)
    headers.append(message.rawHeaders[index] ?? '', message.rawHeaders[index + 1] ?? '')
  try {
    return { status: message.statusCode ?? 0, headers, body: await bounded(message, headers, what) }
  } finally {
    message.destroy()
  }
}

async function viaProxy(what: PreparedRequest, proxy: string, signal: AbortSignal): Promise<GuardedAnswer> {
  const { ProxyAgent, request } = await import('undici')
  const dispatcher = new ProxyAgent(proxy)
  try {
    const answer = await request(what.url, {
      method: what.method as 'GET',
      headers: what.headers,
      body: what.body ?? null,
      dispatcher,
      signal,
    })
    const headers = new Headers()
    for (const [name, value] of Object.entries(answer.headers))
      for (const one of [value ?? []].flat()) headers.append(name, one)
    return { status: answer.statusCode, headers, body: await bounded(answer.body, headers, what) }
  } finally {
    await dispatcher.destroy()
  }
}

async function bounded(
  stream: AsyncIterable<Buffer>,
  headers: Headers,
  what: PreparedRequest,
): Promise<Buffer> {
  const tooLarge = () =>
    new AuthRefused(
      'response-too-large',
      `${shownUrl(what.url)} answered with more than ${AUTH_LIMITS.responseBytes / 1024} KiB; an authorization answer is small.`,
      who(what.options),
    )
  if (what.headersOnly) return Buffer.alloc(0)
  if (Number(headers.get('content-length') ?? 0) > AUTH_LIMITS.responseBytes) throw tooLarge()
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of stream) {
    size += chunk.length
    if (size > AUTH_LIMITS.responseBytes) throw tooLarge()
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

function toResponse({ status, headers, body }: GuardedAnswer): Response {
  const empty = status === 204 || status === 205 || status === 304
  return new Response(empty ? null : new Uint8Array(body), { status, headers })
}

/** The proxy that the usual variables name for this URL; never for this machine itself. */
export function proxyFor(url: URL, env: Host['env']): string | undefined {
  if (isLoopbackName(url.hostname)) return undefined
  const from = (name: string) => env[name.toLowerCase()] || env[name.toUpperCase()] || undefined
  const proxy = (url.protocol === 'https:' ? from('https_proxy') : from('http_proxy')) ?? from('all_proxy')
  if (!proxy || !URL.canParse(proxy)) return undefined
  const bypass = (from('no_proxy') ?? '').split(/[\s,]+/).filter(Boolean)
  const bypassed = bypass.some((rule) => {
    const [, name = '', port] = /^(.*?)(?::(\d+))?$/.exec(rule) ?? []
    const bare = name.replace(/^\*?\./, '').toLowerCase()
    const hostname = url.hostname.toLowerCase()
    const portFits = !port || port === (url.port || (url.protocol === 'https:' ? '443' : '80'))
    return rule === '*' || (portFits && (hostname === bare || hostname.endsWith(`.${bare}`)))
  })
  return bypassed ? undefined : proxy
}
