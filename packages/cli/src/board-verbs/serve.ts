// serve: every server of the board behind one endpoint, over stdio or HTTP, until the client leaves or a signal arrives.
import { createHash, randomBytes } from 'node:crypto'
import { join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { openBoard, type ServerEntry } from '@plugboard/core'
import { type Configuration, stateFolder } from '@plugboard/core/config'
import { urlOf } from '@plugboard/core/config/transport-traits'
import { InvalidInput } from '@plugboard/core/errors'
import { GATEWAY_LIMITS } from '@plugboard/core/limits'
import {
  type AccessGrant,
  type AskPolicy,
  type Exposure,
  type Gateway,
  type GatewayLimits,
  type GatewayOptions,
  gatewayKeys,
  KeyRing,
  type Naming,
  openGateway,
  openNameStore,
  readExposure,
  type ServeMode,
  SpentIds,
  serveHttp,
  serveStdio,
} from '@plugboard/gateway'
import { printConfigEvents } from '../config-events.ts'
import { type Invocation, refuseHttpOnly, words } from '../context.ts'
import { EXIT } from '../output.ts'
import { listenForInterrupt } from '../shared/interrupt.ts'
import { timeoutOption } from '../shared/timeouts.ts'
import { serviceLog, write } from '../streams.ts'
import { onPort } from './port.ts'
import { exposureOf, followTokens, readTokens } from './token-grants.ts'

const LEAVE_MS = 1000
const KEYS_REFRESH_MS = 60 * 60 * 1000

export async function run(invocation: Invocation): Promise<number> {
  words(invocation, [])
  refuseHttpOnly(invocation, ['port', 'host', 'token-file', 'no-auth', 'allow-origin', 'allow-host'])
  if (invocation.host.env['PLUGBOARD_CHILD'])
    throw new InvalidInput(
      'This `plugboard serve` was started by a board, so the board would serve itself in an endless loop.',
      {
        hint: 'Switch it off in that board: `plugboard disable NAME`. To nest a board on purpose, set "env": {"PLUGBOARD_CHILD": ""} in its entry and give it other servers.',
      },
    )
  serviceLog()
  // A SIGHUP before there is something to reload does nothing; it must not end the process.
  const reload: Reload = { again: () => undefined }
  process.on('SIGHUP', () => reload.again())
  const exposure = exposureOf(invocation.options('expose'), '--expose')
  // The grants are read first: a wrong file is reported before any server starts.
  const http = invocation.flag('http') ? httpOptions(invocation, exposure) : undefined
  const gateway = await open(invocation, exposure, http?.port)
  const stopTelling = printConfigEvents(gateway.board, invocation.output, (line) => write(2, `${line}\n`))
  const stop = listenForInterrupt()
  const reread = rereader(invocation, gateway)
  reload.again = reread
  try {
    const names = invocation.option('names') ?? 'mcp'
    if (names === 'mcp') void gateway.wake()
    else if (!(await settleNames(gateway, stop.signal))) return EXIT.done
    void tellListing(invocation, gateway)
    if (http) await overHttp(invocation, gateway, { ...http, exposure }, stop.signal, reload)
    else await overStdio(gateway, stop.signal)
    return EXIT.done
  } finally {
    stopTelling()
    await gateway.close()
    stop.release()
    // A log that is not read would hold the process.
    setTimeout(() => process.exit(), LEAVE_MS).unref()
  }
}

/** What SIGHUP does. */
interface Reload {
  again: () => void
}

async function open(invocation: Invocation, exposure: Exposure, port: number | undefined): Promise<Gateway> {
  const configuration = await invocation.configuration({
    // The client of this endpoint may list it in a file that we read too.
    refuse: ({ entry }) =>
      isOwnAddress(entry, port) ? 'it is the endpoint that is being served' : undefined,
  })
  const timeoutMs = timeoutOption(invocation)
  const patterns = invocation.options('expose')
  for (const pattern of patterns)
    if (!configuration.servers.some(({ name }) => readExposure([pattern]).server(name)))
      invocation.output.note(`--expose ${pattern} matches no server of the current configuration.`)
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
      ...modeOptions(invocation),
      ask: (invocation.option('ask') ?? 'client') as AskPolicy,
      expose: exposure,
      limits: limitsOf(invocation, configuration),
      ...(await durable(invocation, root)),
      roots: () => ({ roots: [{ uri: pathToFileURL(root).href, name: root }] }),
    },
  )
}

function modeOptions(invocation: Invocation): Pick<GatewayOptions, 'mode' | 'searchAbove' | 'always'> {
  const mode = (invocation.option('mode') ?? 'all') as ServeMode
  const above = invocation.option('search-above')
  const always = invocation.options('always')
  if (above !== undefined && mode !== 'auto')
    throw new InvalidInput('--search-above belongs to `--mode auto`.', { hint: 'Add `--mode auto`.' })
  if (always.length > 0 && mode === 'all')
    throw new InvalidInput('--always belongs to `--mode search` or `--mode auto`.', {
      hint: 'Without a mode every tool is listed.',
    })
  if (above !== undefined && !/^\d{1,9}$/.test(above))
    throw new InvalidInput(`--search-above "${above}" is not a number of tokens.`, {
      hint: 'Give a whole number, as in `--search-above 10000`.',
    })
  return {
    mode,
    ...(above !== undefined && { searchAbove: { tokens: Number(above) } }),
    ...(always.length > 0 && { always: exposureOf(always, '--always') }),
  }
}

/** Says once on stderr how tools are listed, when the servers have had their chance to come up. */
async function tellListing({ output, option }: Invocation, gateway: Gateway): Promise<void> {
  if ((option('mode') ?? 'all') === 'all') return
  await gateway.wake()
  const { mode, tools, tokens, listedTools, listedTokens } = gateway.listing({ exposure: gateway.expose })
  output.note(
    mode === 'search'
      ? `Mode search: ${listedTools} tools are listed in place of ${tools}, about ${listedTokens} tokens in place of ${tokens}.`
      : `Mode all: ${tools} tools are listed, about ${tokens} tokens.`,
  )
}

/** Keys and state that outlive the process, so that clients can go on after a restart. */
async function durable(
  invocation: Invocation,
  root: string,
): Promise<Pick<GatewayOptions, 'keys' | 'spent' | 'nameStore'>> {
  const { host, output } = invocation
  const stateDir = stateFolder(host)
  const lost = (error: unknown) =>
    output.note(
      `Sessions of clients may end when this process restarts, because ${stateDir} cannot be written: ${error instanceof Error ? error.message : error}`,
    )
  const keys = await openKeys(invocation, stateDir, lost)
  const spent = await new SpentIds(join(stateDir, 'gateway-spent'), () => host.now(), lost).open()
  const place = createHash('sha256').update(root).digest('hex').slice(0, 16)
  const names = invocation.option('names') ?? 'mcp'
  const file = join(stateDir, `gateway-names-${names}-${place}.json`)
  return { keys, spent, ...(names !== 'mcp' && { nameStore: await openNameStore(file, lost) }) }
}

/** Keys that can neither be read nor made are made for this process alone. */
async function openKeys(
  { host }: Invocation,
  stateDir: string,
  lost: (error: unknown) => void,
): Promise<KeyRing> {
  const read = () => gatewayKeys({ stateDir, env: host.env, now: () => host.now() })
  try {
    const keys = new KeyRing(await read())
    setInterval(() => read().then((next) => keys.replace(next), lost), KEYS_REFRESH_MS).unref()
    return keys
  } catch (error) {
    if (error instanceof InvalidInput) throw error
    lost(error)
    return KeyRing.ephemeral()
  }
}

function limitsOf(invocation: Invocation, { gateway }: Configuration): Partial<GatewayLimits> {
  const { limits, ...times } = gateway
  const text = invocation.option('drain-ms')
  if (text !== undefined && !/^\d{1,9}$/.test(text))
    throw new InvalidInput(`--drain-ms "${text}" is not a number of milliseconds.`, {
      hint: 'Give a whole number, as in `--drain-ms 30000`.',
    })
  const given = { ...limits, ...times, ...(text !== undefined && { drainMs: Number(text) }) }
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined))
}

/** Reloads the configuration; faults are reported as after any change of a file. */
function rereader({ output }: Invocation, gateway: Gateway): () => void {
  const tell = (text: string) => {
    if (!output.quiet) write(2, `${text}\n`)
  }
  return () => {
    gateway.board.reload().then(
      () => tell('The configuration was read again.'),
      (error: unknown) =>
        tell(`The configuration was not read again: ${error instanceof Error ? error.message : error}`),
    )
  }
}

function isOwnAddress(entry: ServerEntry, port: number | undefined): boolean {
  const address = urlOf(entry)
  if (!port || !address || !URL.canParse(address)) return false
  const url = new URL(address)
  return ['localhost', '127.0.0.1', '[::1]'].includes(url.hostname) && url.port === String(port)
}

/**
 * Waits for what every server has, because a collision is refused at the start only; not for long when an earlier process
 * settled the names. False when a signal came first.
 */
async function settleNames(gateway: Gateway, signal: AbortSignal): Promise<boolean> {
  const waitMs = gateway.knowsNames ? GATEWAY_LIMITS.listWaitMs : GATEWAY_LIMITS.namesWaitMs
  await Promise.race([gateway.wake(waitMs), aborted(signal)])
  if (signal.aborted) return false
  refuseCollisions(gateway)
  gateway.keepNames()
  return true
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
  readonly grants: readonly AccessGrant[]
  readonly tokenFile?: string
  /** The token that was made for this run. */
  readonly token?: string
}

async function overHttp(
  invocation: Invocation,
  gateway: Gateway,
  http: Http & { readonly exposure: Exposure },
  signal: AbortSignal,
  reload: Reload,
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
  const tokens =
    http.tokenFile === undefined
      ? undefined
      : followTokens(http.tokenFile, http.exposure, {
          changed: (grants) => handle.setGrants(grants),
          tell: (text) => {
            if (!output.quiet) write(2, `${text}\n`)
          },
        })
  const reread = reload.again
  reload.again = () => {
    tokens?.again()
    reread()
  }
  await aborted(signal)
  await handle.close()
  tokens?.stop()
}

function httpOptions(invocation: Invocation, exposure: Exposure): Http {
  const file = invocation.option('token-file')
  const none = invocation.flag('no-auth')
  if (none && file !== undefined)
    throw new InvalidInput('--no-auth and --token-file cannot be used together.')
  const shared = { port: portOption(invocation), host: invocation.option('host') ?? '127.0.0.1' }
  if (none) return { ...shared, grants: [] }
  if (file !== undefined) {
    const tokenFile = resolve(invocation.cwd, file)
    return { ...shared, tokenFile, grants: readTokens(tokenFile, exposure) }
  }
  const token = randomBytes(32).toString('base64url')
  return { ...shared, token, grants: [{ token, exposure }] }
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
