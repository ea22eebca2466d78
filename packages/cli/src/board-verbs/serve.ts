// serve: every server of the board behind one endpoint, over stdio or HTTP, until the client leaves or a signal arrives.
import { randomBytes } from 'node:crypto'
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { openBoard, type ServerEntry } from '@plugboard/core'
import { type Configuration, stateFolder } from '@plugboard/core/config'
import { startsCommand, urlOf } from '@plugboard/core/config/transport-traits'
import { InvalidInput } from '@plugboard/core/errors'
import { GATEWAY_LIMITS } from '@plugboard/core/limits'
import {
  type AccessGrant,
  type AskPolicy,
  type Exposure,
  type Gateway,
  type GatewayLimits,
  type GatewayOptions,
  openGateway,
  readExposure,
  serveHttp,
  serveStdio,
} from '@plugboard/gateway'
import {
  AuditStream,
  CallLimits,
  defaultIsolation,
  resourceOf,
  startOtlpExport,
} from '@plugboard/gateway/parts'
import { printConfigEvents } from '../config-events.ts'
import { type Invocation, refuseHttpOnly, words } from '../context.ts'
import { EXIT } from '../output.ts'
import { openAccessLog } from '../serve/access-log.ts'
import { openAdmin } from '../serve/admin.ts'
import { clientEntries, YOUR_TOKEN } from '../serve/client-entries.ts'
import { keepRequestsYoung } from '../serve/garbage-collection.ts'
import { type GatewayFile, gatewayOption } from '../serve/gateway-file.ts'
import { openLogin, type ServedLogin } from '../serve/local-login.ts'
import { onPort } from '../serve/port-errors.ts'
import { replicaUrl, storeUrl } from '../serve/replicas.ts'
import { lastingState } from '../serve/state.ts'
import { followCertificate, readCertificate } from '../serve/tls.ts'
import { followTokens, readTokens } from '../serve/token-grants.ts'
import { openUserLogins } from '../serve/user-logins.ts'
import { openUsers, type ServedUsers } from '../serve/users.ts'
import { servedExposure, tellListing, viewOptions } from '../serve/views.ts'
import { listenForInterrupt } from '../shared/interrupt.ts'
import { timeoutOption } from '../shared/timeouts.ts'
import { isTerminal, serviceLog, write } from '../streams.ts'

const LEAVE_MS = 1000

export async function run(invocation: Invocation): Promise<number> {
  if (invocation.positionals[0] === 'token') return await (await import('./serve-token.ts')).run(invocation)
  words(invocation, [])
  refuseTokenOptions(invocation)
  refuseHttpOnly(invocation, [
    'port',
    'host',
    'gateway',
    'ui',
    'store',
    'token-file',
    'login',
    'no-auth',
    'allow-origin',
    'allow-host',
  ])
  refuseLoopAndTerminal(invocation)
  serviceLog()
  // A SIGHUP before there is something to reload must not end the process, and what it asks for is done later.
  const reload: Reload = {
    early: false,
    again: () => {
      reload.early = true
    },
  }
  process.on('SIGHUP', () => reload.again())
  const exposure = await servedExposure(invocation)
  // The grants are read first: a wrong file is reported before any server starts.
  const http = invocation.flag('http') ? await httpOptions(invocation, exposure) : undefined
  const traces = startOtlpExport(invocation.host.env, (text) => write(2, `${text}\n`))
  const gateway = await open(invocation, exposure, http)
  const stopTelling = printConfigEvents(gateway.board, invocation.output, (line) => write(2, `${line}\n`))
  const stop = listenForInterrupt()
  const reread = rereader(invocation, gateway)
  if (reload.early) reread()
  reload.again = () => {
    reload.early = true
    reread()
  }
  try {
    const names = invocation.option('names') ?? 'mcp'
    if (names === 'mcp') void gateway.wake()
    else if (names === 'auto') void gateway.wake().then(() => gateway.keepNames())
    else if (!(await settleNames(gateway, stop.signal))) return EXIT.done
    void tellListing(invocation, gateway)
    if (http) await overHttp(invocation, gateway, { ...http, exposure }, stop.signal, reload)
    else await overStdio(gateway, stop.signal)
    return EXIT.done
  } finally {
    stopTelling()
    await gateway.close()
    await traces?.close()
    stop.release()
    // A log that is not read would hold the process, also after its client left.
    setTimeout(() => process.exit(), LEAVE_MS).unref()
  }
}

/** A board that would serve itself, and a terminal in the place of a client. */
function refuseLoopAndTerminal(invocation: Invocation): void {
  if (invocation.host.env['PLUGBOARD_CHILD'])
    throw new InvalidInput(
      'This `plugboard serve` was started by a board, so the board would serve itself in an endless loop.',
      {
        hint: 'Switch it off in that board: `plugboard disable NAME`. To nest a board on purpose, set "env": {"PLUGBOARD_CHILD": ""} in its entry and give it other servers.',
      },
    )
  // A client's pipe carries the protocol as it is; a terminal would obey what a server wrote into it.
  if (!invocation.flag('http') && isTerminal(1) && isTerminal(0))
    throw new InvalidInput('`plugboard serve` speaks MCP with the client that starts it, not with a user.', {
      hint: 'Put it into a client, as in `claude mcp add board -- plugboard serve`, or serve many clients with `plugboard serve --http`.',
    })
}

/** What SIGHUP does. */
interface Reload {
  again: () => void
  /** One came before everything could be read again: what was read before it may be old. */
  early: boolean
}

async function open(invocation: Invocation, exposure: Exposure, http: Http | undefined): Promise<Gateway> {
  const port = http?.port
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
  if (http?.gateway) tellShared(invocation, configuration, http.gateway)
  const root = configuration.place.root
  const accessLog = openAccessLog(http?.gateway)
  const state = await lastingState(invocation, root, http?.store)
  const userLogins = await openUserLogins(invocation, http?.gateway, configuration, state)
  const audit = auditStream(state, http?.gateway)
  return await openGateway(
    (wiring) =>
      openBoard({
        host: invocation.host,
        configuration,
        watch: true,
        catalog: true,
        ...(timeoutMs !== undefined && { timeoutMs }),
        ...(invocation.onMessage && { onMessage: invocation.onMessage }),
        ...(audit && { onAudit: audit.add }),
        ...wiring,
      }),
    {
      ...(await viewOptions(invocation, configuration, stateFolder(invocation.host))),
      ask: (invocation.option('ask') ?? 'client') as AskPolicy,
      expose: exposure,
      limits: limitsOf(invocation, configuration),
      ...state,
      ...userLogins,
      ...(http?.gateway && {
        callLimits: new CallLimits(http.gateway.config.limits ?? {}, state.replicas),
        isolation: http.gateway.config.isolation ?? {},
      }),
      ...(accessLog && { accessLog }),
      ...(invocation.flag('agent') && {
        ownTools: [(await import('../serve/agent.ts')).askAgentTool(invocation.host)],
      }),
      roots: () => ({ roots: [{ uri: pathToFileURL(root).href, name: root }] }),
    },
  )
}

/** What was decided about servers of which gateway.json says nothing: the operator has to know, most of all what users share. */
function tellShared({ output }: Invocation, { servers }: Configuration, { config }: GatewayFile): void {
  const decided = config.isolation?.servers ?? {}
  const open = servers.filter(({ name, entry }) => startsCommand(entry) && decided[name] === undefined)
  const own = open.filter((one) => defaultIsolation(one) === 'user')
  if (own.length > 0)
    output.note(
      `Each user has a process of its own of ${own.map(({ name }) => `"${name}"`).join(', ')}: such a server keeps something between calls. "isolation" in gateway.json can say otherwise.`,
    )
  const shared = open.filter((one) => !own.includes(one))
  if (shared.length === 0) return
  output.note(
    `All users share one process of ${shared.map(({ name }) => `"${name}"`).join(', ')}: what one user leaves in it, others can read. Say what is right for each in "isolation": {"servers": {"${shared[0]?.name}": "user"}}, or "shared" where nothing is kept.`,
  )
}

/** The audit lines in the store, where gateway.json wants them there. */
function auditStream(
  { replicas, keys }: Pick<GatewayOptions, 'replicas' | 'keys'>,
  file: GatewayFile | undefined,
): AuditStream | undefined {
  const config = file?.config.audit
  return replicas && keys && config?.stream ? new AuditStream(replicas, keys, config) : undefined
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
    hint: '`--names auto` puts the server before just these names; or leave a server out with `--expose`.',
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
  readonly gateway?: GatewayFile | undefined
  /** The address of the store that replicas share. */
  readonly store?: string | undefined
  /** Users by name, unless the token file or no token at all decides who is let in. */
  readonly users?: ServedUsers
  /** The token that was made for this run. */
  readonly token?: string
  readonly login?: ServedLogin | undefined
}

async function overHttp(
  invocation: Invocation,
  gateway: Gateway,
  http: Http & { readonly exposure: Exposure },
  signal: AbortSignal,
  reload: Reload,
): Promise<void> {
  const { output } = invocation
  keepRequestsYoung()
  const handle = await onPort(() =>
    serveHttp(gateway, {
      ...http,
      ...(http.users && { authority: http.users.identity }),
      ...allowedNames(invocation, http.gateway),
      ...replicaUrl(invocation),
      certificate: readCertificate(http.gateway),
      beside: http.login?.login.answer,
    }),
  )
  const { token } = http
  output.result({ url: handle.url, ...(token && { token }) }, () =>
    token ? `Serving on ${handle.url}\nAuthorization: Bearer ${token}` : `Serving on ${handle.url}`,
  )
  tellClients(invocation, handle.url, http)
  const tokens =
    http.tokenFile === undefined
      ? undefined
      : followTokens(http.tokenFile, http.exposure, {
          changed: (grants) => handle.setGrants(grants),
          tell: (text) => {
            if (!output.quiet) write(2, `${text}\n`)
          },
        })
  const users = http.users?.follow(handle, ({ limits = {}, isolation = {}, userLogins }) => {
    if (userLogins) gateway.userServers?.logins.replace(userLogins)
    gateway.callLimits?.replace(limits)
    gateway.instances?.replace(isolation)
  })
  const stopTls = followCertificate(invocation, http.gateway, handle)
  const closeAdmin = await openAdmin(invocation, gateway, handle, http.users, http.gateway)
  const reread = reload.again
  if (reload.early) tokens?.again()
  reload.again = () => {
    tokens?.again()
    users?.again()
    reread()
  }
  await aborted(signal)
  stopTls()
  await closeAdmin()
  await handle.close()
  tokens?.stop()
  await users?.stop()
  await http.login?.login.close()
}

/** On stderr: how clients use the endpoint. */
function tellClients({ output }: Invocation, local: string, http: Http): void {
  if (output.json) return
  const { token, users, tokenFile, login } = http
  const { publicUrl, auth } = http.gateway?.config ?? {}
  // Clients reach it by its public address, and users of an identity provider log in there.
  const url = publicUrl === undefined ? local : resourceOf(publicUrl)
  const logsIn = login !== undefined || (users !== undefined && (auth?.issuers ?? []).length > 0)
  const needsToken = !logsIn && (users !== undefined || tokenFile !== undefined)
  const asked = token ?? (needsToken ? YOUR_TOKEN : undefined)
  output.note(clientEntries({ url, token: asked }))
  if (token !== undefined)
    output.note('This token ends with this process; `plugboard serve token add NAME` makes one that stays.')
  else if (asked !== undefined)
    output.note(
      `${YOUR_TOKEN} is ${tokenFile === undefined ? 'a token of `plugboard serve token add NAME`' : 'a line of the token file'}.`,
    )
}

/** Host names and origins that requests may name besides the usual ones. */
function allowedNames(invocation: Invocation, file: GatewayFile | undefined) {
  const own = file?.config.publicUrl === undefined ? undefined : new URL(file.config.publicUrl)
  return {
    allowedOrigins: [...invocation.options('allow-origin'), ...(own ? [own.origin] : [])],
    allowedHosts: [...invocation.options('allow-host'), ...(own ? [own.hostname] : [])],
  }
}

/** Options of `serve token`, which would have no effect here. */
function refuseTokenOptions(invocation: Invocation): void {
  for (const option of ['expires', 'role'])
    if (invocation.option(option) !== undefined)
      throw new InvalidInput(`--${option} belongs to \`serve token add\`.`, {
        hint: 'Write `plugboard serve token add NAME`, or leave it out.',
      })
}

async function httpOptions(invocation: Invocation, exposure: Exposure): Promise<Http> {
  const file = invocation.option('token-file')
  const none = invocation.flag('no-auth')
  if (none && file !== undefined)
    throw new InvalidInput('--no-auth and --token-file cannot be used together.')
  const gateway = gatewayOption(invocation)
  if (gateway && (none || file !== undefined))
    throw new InvalidInput(`--gateway and --${none ? 'no-auth' : 'token-file'} cannot be used together.`, {
      hint: 'The file of --gateway says who may connect: "auth" in it.',
    })
  const shared = {
    port: portOption(invocation),
    host: invocation.option('host') ?? '127.0.0.1',
    store: storeUrl(invocation, gateway),
  }
  const option = none ? 'no-auth' : file !== undefined ? 'token-file' : undefined
  if (option !== undefined && invocation.option('login') !== undefined)
    throw new InvalidInput(`--login and --${option} cannot be used together.`)
  if (none) return { ...shared, grants: [] }
  if (file !== undefined) {
    const tokenFile = resolve(invocation.cwd, file)
    return { ...shared, tokenFile, grants: readTokens(tokenFile, exposure) }
  }
  const login = await openLogin(invocation, gateway, shared)
  const users = await openUsers(invocation, gateway, exposure, login?.complete)
  if (gateway || login) return { ...shared, gateway, users, login, grants: [] }
  if (users.hasTokens) return { ...shared, users, grants: [] }
  const token = randomBytes(32).toString('base64url')
  return { ...shared, users, token, grants: [{ token, exposure }] }
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
