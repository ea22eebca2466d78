// remote-list.ts: a list of servers at a URL, for the `managed` and `claudeai` scopes. The last good copy is on disk
// and is used when the network fails; it never replaces a refusal of the server.
import { createHash } from 'node:crypto'
import { join } from 'node:path'
import { Cancelled } from '../errors.ts'
import { readTextFile, writeFileAtomic } from '../files/index.ts'
import type { Host } from '../host.ts'
import { REMOTE_LIST_LIMITS } from '../limits.ts'
import { asServerList } from './connector-list.ts'
import { parseJson } from './import/tree.ts'
import { type RawDocument, readServers } from './plugins/raw-servers.ts'
import type { Diagnostic } from './types.ts'

export interface ServerListOptions {
  readonly url: string
  /** The name of the environment variable that holds the bearer token. */
  readonly bearerEnv?: string | undefined
  readonly cacheDir: string
  readonly host: Host
  readonly signal?: AbortSignal | undefined
}

export interface ServerList extends RawDocument {
  /** `none`: there is neither a response nor a copy, and a diagnostic says why. */
  readonly from: 'network' | 'not-modified' | 'cache' | 'none'
  /** When the list was last fetched from its URL, in milliseconds since the epoch. */
  readonly fetchedAt?: number
}

interface Copy {
  readonly etag?: string
  readonly fetchedAt: number
  readonly body: string
}

/** How one attempt ended. The copy may replace `unavailable`, but not `refused`. */
type ListAnswer =
  | { readonly kind: 'list'; readonly body: string; readonly etag: string | undefined }
  | { readonly kind: 'not-modified' }
  | Problem

interface Problem {
  readonly kind: 'unavailable' | 'refused'
  readonly message: string
  readonly hint: string
}

const MAX_REDIRECTS = 3
const DEAD_CONNECTION = ['UND_ERR_SOCKET', 'ECONNRESET', 'EPIPE']
const ONLINE = 'Check the address and the network.'
const KEEPER = 'Report it to the maintainer of the list.'
const SHAPE = { keys: ['mcpServers', 'servers'], flat: false } as const

/** Throws only on abort: any failure is a diagnostic. */
export async function fetchServerList(options: ServerListOptions): Promise<ServerList> {
  const { host } = options
  const target = targetOf(options)
  if ('message' in target) return nothing(shownUrl(options.url), target.message, target.hint)
  const { source } = target
  const file = join(options.cacheDir, 'lists', `${sha256(`${options.url}\n${options.bearerEnv ?? ''}`)}.json`)
  const copy = await readCopy(file)

  let answer = await ask(target, copy?.etag, options)
  // A cache on the way responded for a copy that we do not have.
  if (answer.kind === 'not-modified' && !copy) answer = await ask(target, undefined, options)

  if (answer.kind === 'list') return fromNetwork(answer, copy, file, source, host)
  if (answer.kind === 'not-modified') {
    if (!copy) return nothing(source, 'It says that nothing changed, but there is no copy.', KEEPER)
    const fetchedAt = host.now()
    const diagnostics = await saveCopy(file, { ...copy, fetchedAt }, source)
    return {
      source,
      servers: readList(copy.body, source).servers,
      diagnostics,
      from: 'not-modified',
      fetchedAt,
    }
  }
  return fromCopy(answer, copy, source, host)
}

async function fromNetwork(
  { body, etag }: Extract<ListAnswer, { kind: 'list' }>,
  copy: Copy | undefined,
  file: string,
  source: string,
  host: Host,
): Promise<ServerList> {
  const { readable, servers, diagnostics } = readList(body, source)
  if (!readable) {
    const fault = diagnostics[0]?.message ?? ''
    return fromCopy(unavailable(`The list of servers is not usable. ${fault}`, KEEPER), copy, source, host)
  }
  const fetchedAt = host.now()
  const saved = await saveCopy(file, { ...(etag !== undefined && { etag }), fetchedAt, body }, source)
  return { source, servers, diagnostics: [...diagnostics, ...saved], from: 'network', fetchedAt }
}

function fromCopy(problem: Problem, copy: Copy | undefined, source: string, host: Host): ServerList {
  if (problem.kind === 'refused' || !copy) return nothing(source, problem.message, problem.hint)
  const message = `${problem.message} The copy of ${age(host.now() - copy.fetchedAt)} ago is used.`
  return {
    source,
    servers: readList(copy.body, source).servers,
    diagnostics: [{ severity: 'warning', file: source, message, hint: problem.hint }],
    from: 'cache',
    fetchedAt: copy.fetchedAt,
  }
}

const readList = (body: string, source: string) => readServers(asServerList(body), source, SHAPE)
const unavailable = (message: string, hint: string): Problem => ({ kind: 'unavailable', message, hint })
const refused = (message: string, hint: string): Problem => ({ kind: 'refused', message, hint })
const sha256 = (text: string) => createHash('sha256').update(text).digest('hex')

function nothing(source: string, message: string, hint: string): ServerList {
  const diagnostic: Diagnostic = { severity: 'error', file: source, message, hint }
  return { source, servers: new Map(), diagnostics: [diagnostic], from: 'none' }
}

interface Target {
  readonly url: URL
  /** The URL without its query, which may hold a secret. */
  readonly source: string
  readonly token: string | undefined
}

function targetOf({
  url: text,
  bearerEnv,
  host,
}: ServerListOptions): Target | { message: string; hint: string } {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (!url)
    return { message: 'The address of the server list is not a URL.', hint: 'Give an https:// address.' }
  if (url.username || url.password)
    return {
      message: 'The address of the server list holds a password.',
      hint: 'Name a variable with the token instead.',
    }
  if (url.protocol !== 'https:' && !(url.protocol === 'http:' && isLoopback(url.hostname)))
    return {
      message: 'The server list is not fetched without encryption.',
      hint: 'Give an https:// address.',
    }
  const source = shownUrl(text)
  if (bearerEnv === undefined) return { url, source, token: undefined }
  const token = host.env[bearerEnv]?.trim()
  if (!token)
    return {
      message: `The variable ${bearerEnv} is not set.`,
      hint: `Put the token for the server list into ${bearerEnv}.`,
    }
  // A header allows no other characters, and the error about it would repeat the token.
  if (!/^[\x21-\x7e]+$/.test(token))
    return {
      message: `The variable ${bearerEnv} holds no usable token.`,
      hint: `Check the value of ${bearerEnv}.`,
    }
  return { url, source, token }
}

const isLoopback = (host: string) =>
  host === 'localhost' || host === '[::1]' || /^127(?:\.\d{1,3}){3}$/.test(host)

function shownUrl(text: string): string {
  if (!URL.canParse(text)) return 'server list'
  const { origin, protocol, host, pathname } = new URL(text)
  return origin === 'null' ? `${protocol}//${host}${pathname}` : `${origin}${pathname}`
}

/** One request including its redirects within the origin, under one timeout. */
async function ask(
  target: Target,
  etag: string | undefined,
  options: ServerListOptions,
): Promise<ListAnswer> {
  const { host, signal } = options
  if (signal?.aborted) throw new Cancelled()
  const stop = new AbortController()
  let late = false
  const onAbort = () => stop.abort()
  signal?.addEventListener('abort', onAbort, { once: true })
  const cancelTimer = host.awaitedTimer(REMOTE_LIST_LIMITS.timeoutMs, () => {
    late = true
    stop.abort()
  })
  try {
    const attempt = () => follow(target, etag, options, stop.signal)
    return await attempt().catch((error: unknown) => {
      // A kept-alive connection may be dead; a second request opens a new one.
      if (stop.signal.aborted || !DEAD_CONNECTION.includes(codeOf(error))) throw error
      return attempt()
    })
  } catch (error) {
    if (signal?.aborted) throw new Cancelled('Fetching the server list was cancelled.')
    if (late)
      return unavailable(
        `The server list did not arrive within ${REMOTE_LIST_LIMITS.timeoutMs / 1000} s.`,
        ONLINE,
      )
    return unavailable(`The server list could not be reached (${codeOf(error)}).`, ONLINE)
  } finally {
    cancelTimer()
    signal?.removeEventListener('abort', onAbort)
    stop.abort()
  }
}

/** The system's code, never the message: a message may repeat a header. */
function codeOf(error: unknown): string {
  for (let each = error, depth = 0; each instanceof Error && depth < 5; each = each.cause, depth++) {
    const code = (each as NodeJS.ErrnoException).code
    if (typeof code === 'string') return code
  }
  return 'network error'
}

async function follow(
  target: Target,
  etag: string | undefined,
  { host, bearerEnv }: ServerListOptions,
  signal: AbortSignal,
): Promise<ListAnswer> {
  let url = target.url
  for (let hop = 0; hop <= MAX_REDIRECTS; hop++) {
    const response = await host.fetch(url, {
      redirect: 'manual',
      signal,
      headers: {
        Accept: 'application/json',
        ...(target.token !== undefined && { Authorization: `Bearer ${target.token}` }),
        ...(etag !== undefined && { 'If-None-Match': etag }),
      },
    })
    const next = redirectOf(response, url)
    if (next === undefined) return answerOf(response, bearerEnv)
    await response.body?.cancel()
    if (next === 'elsewhere')
      return unavailable(
        'The server list is redirected to another origin, which is not followed.',
        'Give its new address.',
      )
    url = next
  }
  return unavailable('The server list is redirected without end.', KEEPER)
}

function redirectOf(response: Response, from: URL): URL | 'elsewhere' | undefined {
  if (![301, 302, 303, 307, 308].includes(response.status)) return undefined
  const location = response.headers.get('location')
  if (location === null || !URL.canParse(location, from.href)) return 'elsewhere'
  const to = new URL(location, from.href)
  return to.origin === from.origin && !to.username && !to.password ? to : 'elsewhere'
}

async function answerOf(response: Response, bearerEnv: string | undefined): Promise<ListAnswer> {
  const { status } = response
  if (status === 200) {
    const body = await readBody(response)
    if (body === undefined)
      return unavailable(
        `The server list is larger than ${REMOTE_LIST_LIMITS.bytes / 1024 / 1024} MiB.`,
        KEEPER,
      )
    return { kind: 'list', body, etag: response.headers.get('etag') ?? undefined }
  }
  await response.body?.cancel()
  if (status === 304) return { kind: 'not-modified' }
  if (status === 401 || status === 403) {
    const hint = bearerEnv ? `Check the token in ${bearerEnv}.` : 'Name the variable that holds its token.'
    return refused(`The server list asks for other credentials (HTTP ${status}).`, hint)
  }
  const passing = status >= 500 || status === 408 || status === 425 || status === 429
  return passing
    ? unavailable(`The server list is not available (HTTP ${status}).`, 'Try again later.')
    : refused(`There is no server list at its address (HTTP ${status}).`, 'Check the address.')
}

/** The text, or undefined as soon as it is too long, whatever its headers say. */
async function readBody(response: Response): Promise<string | undefined> {
  if (!response.body) return ''
  const chunks: Uint8Array[] = []
  let total = 0
  for await (const chunk of response.body) {
    total += chunk.length
    // Leaving the loop cancels the stream.
    if (total > REMOTE_LIST_LIMITS.bytes) return undefined
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8')
}

async function readCopy(file: string): Promise<Copy | undefined> {
  // A text of that size grows at most sixfold inside JSON.
  const read = await readTextFile(file, REMOTE_LIST_LIMITS.bytes * 6 + 4096)
  if (read.kind !== 'text') return undefined
  try {
    const { etag, fetchedAt, body } = parseJson(read.text)
    if (typeof fetchedAt !== 'number' || typeof body !== 'string' || !readList(body, file).readable)
      return undefined
    return { ...(typeof etag === 'string' && { etag }), fetchedAt, body }
  } catch {
    // An unreadable copy counts as none; the next good response replaces it.
    return undefined
  }
}

async function saveCopy(file: string, copy: Copy, source: string): Promise<readonly Diagnostic[]> {
  try {
    await writeFileAtomic(file, JSON.stringify(copy), { mode: 0o600, forceMode: true, dirMode: 0o700 })
    return []
  } catch (error) {
    const message = `The server list could not be kept for later (${codeOf(error)}).`
    return [{ severity: 'warning', file: source, message, hint: `Check that ${file} may be written.` }]
  }
}

function age(ms: number): string {
  const minutes = Math.max(0, Math.round(ms / 60_000))
  if (minutes < 120) return `${minutes} min`
  return minutes < 48 * 60 ? `${Math.round(minutes / 60)} h` : `${Math.round(minutes / 60 / 24)} days`
}
