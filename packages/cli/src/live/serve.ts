// serve: every server of the board behind one endpoint, over stdio or HTTP, until the client leaves or a signal comes.
import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { openBoard, type ServerEntry } from '@plugboard/core'
import { InvalidInput } from '@plugboard/core/errors'
import {
  type AskPolicy,
  type Gateway,
  type Grant,
  type Naming,
  narrowed,
  openGateway,
  readExposure,
  serveHttp,
  serveStdio,
} from '@plugboard/gateway'
import { tellConfigNews } from '../config-news.ts'
import { type Invocation, refuseHttpOnly, words } from '../context.ts'
import { EXIT } from '../output.ts'
import { timeoutOption } from '../plug.ts'
import { write } from '../streams.ts'
import { onPort } from './port.ts'

export async function run(invocation: Invocation): Promise<number> {
  words(invocation, [])
  refuseHttpOnly(invocation, ['port', 'host', 'token-file', 'no-auth', 'allow-origin', 'allow-host'])
  if (invocation.host.env['PLUGBOARD_CHILD'])
    throw new InvalidInput(
      'This `plugboard serve` was started by a board, which would then serve itself without end.',
      {
        hint: 'Leave it out of that board: `plugboard disable NAME`. To nest one on purpose, give it "env": {"PLUGBOARD_CHILD": ""} and other servers.',
      },
    )
  const stop = new AbortController()
  const onSignal = () => {
    if (stop.signal.aborted) process.exit(EXIT.interrupted)
    stop.abort()
  }
  // The grants are read first: a wrong file is told before any server starts.
  const http = invocation.flag('http') ? httpOptions(invocation) : undefined
  const gateway = await open(invocation, http?.port)
  const stopTelling = tellConfigNews(gateway.board, invocation.output, (line) => write(2, `${line}\n`))
  process.on('SIGINT', onSignal)
  process.on('SIGTERM', onSignal)
  try {
    const waking = gateway.wake()
    if (invocation.option('names') === 'plain' || invocation.option('names') === 'server.tool') {
      await waking
      refuseCollisions(gateway)
    }
    if (http) await overHttp(invocation, gateway, http, stop.signal)
    else await overStdio(gateway, stop.signal)
    return EXIT.done
  } finally {
    stopTelling()
    await gateway.close()
    process.off('SIGINT', onSignal)
    process.off('SIGTERM', onSignal)
  }
}

async function open(invocation: Invocation, port: number | undefined): Promise<Gateway> {
  const configuration = await invocation.configuration({
    // The client that reads this endpoint may have it in a file that we read too.
    refuse: ({ entry }) =>
      isOwnAddress(entry, port) ? 'it is the endpoint that is being served' : undefined,
  })
  const timeoutMs = timeoutOption(invocation)
  const patterns = invocation.options('expose')
  const expose = exposureOf(patterns, '--expose')
  for (const pattern of patterns)
    if (!configuration.servers.some(({ name }) => readExposure([pattern]).server(name)))
      invocation.output.note(`--expose ${pattern} fits no server that is there now.`)
  const root = configuration.place.root
  return await openGateway(
    (wiring) =>
      openBoard({
        host: invocation.host,
        configuration,
        watch: true,
        ...(timeoutMs !== undefined && { timeoutMs }),
        ...wiring,
      }),
    {
      // The parser has checked the choices.
      names: (invocation.option('names') ?? 'mcp') as Naming,
      ask: (invocation.option('ask') ?? 'client') as AskPolicy,
      expose,
      roots: () => ({ roots: [{ uri: pathToFileURL(root).href, name: root }] }),
    },
  )
}

function isOwnAddress(entry: ServerEntry, port: number | undefined): boolean {
  if (!port || !('url' in entry) || !entry.url || !URL.canParse(entry.url)) return false
  const url = new URL(entry.url)
  return ['localhost', '127.0.0.1', '[::1]'].includes(url.hostname) && url.port === String(port)
}

function refuseCollisions(gateway: Gateway): void {
  const collisions = gateway.collisions()
  if (collisions.length === 0) return
  throw new InvalidInput(`Names collide: ${collisions.slice(0, 5).join('; ')}.`, {
    hint: 'Serve with the default names, or leave a server out with `--expose`.',
  })
}

async function overStdio(gateway: Gateway, signal: AbortSignal): Promise<void> {
  const handle = serveStdio(gateway)
  await Promise.race([handle.closed, aborted(signal)])
  await handle.close()
}

interface Http {
  readonly port: number
  readonly host: string
  readonly grants: readonly Grant[]
  /** The token that was made for this run. */
  readonly token?: string
}

async function overHttp(
  invocation: Invocation,
  gateway: Gateway,
  http: Http,
  signal: AbortSignal,
): Promise<void> {
  const { output } = invocation
  const handle = await onPort(() =>
    serveHttp(gateway, {
      ...http,
      allowedOrigins: invocation.options('allow-origin'),
      allowedHosts: invocation.options('allow-host'),
    }),
  )
  const { token } = http
  output.result({ url: handle.url, ...(token && { token }) }, () =>
    token ? `Serving on ${handle.url}\nAuthorization: Bearer ${token}` : `Serving on ${handle.url}`,
  )
  await aborted(signal)
  await handle.close()
}

function httpOptions(invocation: Invocation): Http {
  const file = invocation.option('token-file')
  const none = invocation.flag('no-auth')
  if (none && file !== undefined) throw new InvalidInput('--no-auth and --token-file exclude each other.')
  const shared = { port: portOption(invocation), host: invocation.option('host') ?? '127.0.0.1' }
  if (none) return { ...shared, grants: [] }
  const exposure = exposureOf(invocation.options('expose'), '--expose')
  if (file !== undefined) return { ...shared, grants: readTokens(resolve(invocation.cwd, file), exposure) }
  const token = randomBytes(32).toString('base64url')
  return { ...shared, token, grants: [{ token, exposure }] }
}

/** One token a line; what follows it on the line narrows what that client is shown. `#` starts a comment. */
function readTokens(file: string, exposure: Grant['exposure']): Grant[] {
  let text: string
  try {
    text = readFileSync(file, 'utf8')
  } catch (error) {
    throw new InvalidInput(`--token-file: ${file} cannot be read.`, { cause: error })
  }
  const grants = text
    .split('\n')
    .map((line) => line.replace(/(?:^|\s)#.*/, '').trim())
    .filter((line) => line !== '')
    .map((line) => {
      const [token = '', ...patterns] = line.split(/\s+/)
      return { token, exposure: narrowed(exposure, exposureOf(patterns, `--token-file: ${file}`)) }
    })
  const short = grants.find(({ token }) => token.length < 16)
  if (grants.length === 0 || short)
    throw new InvalidInput(`--token-file: ${file} ${short ? 'has a token that is too short' : 'is empty'}.`, {
      hint: 'Write one token of at least 16 characters a line.',
    })
  if (new Set(grants.map(({ token }) => token)).size < grants.length)
    throw new InvalidInput(`--token-file: ${file} has the same token twice.`, {
      hint: 'Write what one client is shown on one line, after its token.',
    })
  return grants
}

/** What cannot be a pattern is an error of the place it was written in. */
function exposureOf(patterns: readonly string[], place: string): Grant['exposure'] {
  try {
    return readExposure(patterns)
  } catch (error) {
    if (!(error instanceof InvalidInput)) throw error
    throw new InvalidInput(`${place}: ${error.message}`, { hint: error.hint, cause: error })
  }
}

function portOption(invocation: Invocation): number {
  const text = invocation.option('port') ?? '0'
  if (!/^\d{1,5}$/.test(text) || Number(text) > 65535)
    throw new InvalidInput(`--port "${text}" is not a port.`)
  return Number(text)
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((done) => {
    if (signal.aborted) return done()
    signal.addEventListener('abort', () => done(), { once: true })
  })
}
