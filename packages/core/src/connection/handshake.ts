// handshake.ts: the handshake with a server: which era it uses, and what it says about itself. Its timers do not hold
// the process: a reconnect may run without a waiting caller.
import { PlugboardError } from '../errors.ts'
import type { Host } from '../host.ts'
import { CONNECT_LIMITS } from '../limits.ts'
import { httpStatus } from '../transports/transport-errors.ts'
import type { JsonRpcPeer } from './json-rpc.ts'
import { BadResponse, ChannelClosed, JsonRpcError, unwrapHttp, wasNeverSent } from './request-errors.ts'
import {
  type Discovery,
  type Era,
  isObject,
  type Json,
  LEGACY_VERSIONS,
  MODERN_VERSION,
  parseCapabilities,
  parseDiscovery,
  parseServerInfo,
  RPC,
  type ServerCapabilities,
  type ServerInfo,
} from './server-info.ts'

export interface Handshake {
  readonly wire: JsonRpcPeer
  readonly host: Host
  readonly clientInfo: { readonly name: string; readonly version: string }
  readonly capabilities: Json
  /** What every message of 2026-07-28 carries in its `_meta`. */
  readonly envelope: Json
  /** The server's known era; undefined means: find out. */
  readonly known: 'legacy' | Discovery | undefined
  readonly timeoutMs: number
  readonly signal: AbortSignal
}

export interface ProbeAnswer {
  readonly era: Era
  readonly version: string
  readonly capabilities: ServerCapabilities
  readonly serverInfo: ServerInfo | undefined
  readonly instructions: string | undefined
  readonly discovery?: Discovery
}

/** The server closed the connection instead of responding to the probe: it is legacy, and needs a fresh start. */
export class ClosedOnProbe extends Error {
  constructor() {
    super('The server closed the connection on the version probe.')
    this.name = 'ClosedOnProbe'
  }
}

/** Does the handshake in the server's known era, or finds the era out. */
export async function handshake(options: Handshake): Promise<ProbeAnswer> {
  const { known } = options
  if (known === 'legacy') return await initialize(options)
  return known ? modernFacts(known) : await findEra(options)
}

async function initialize(options: Handshake): Promise<ProbeAnswer> {
  const { wire, clientInfo, capabilities, timeoutMs, signal } = options
  const result = await wire.request(
    'initialize',
    { protocolVersion: LEGACY_VERSIONS[0], capabilities: capabilities, clientInfo },
    { timeoutMs, signal, background: true },
  )
  const version = result.protocolVersion
  if (typeof version !== 'string') throw new BadResponse('its initialize result names no protocol version')
  if (!LEGACY_VERSIONS.some((known) => known === version))
    throw new BadResponse(`it speaks protocol version ${JSON.stringify(version).slice(0, 40)}`)
  const instructions = result.instructions
  return {
    era: 'legacy',
    version,
    capabilities: parseCapabilities(result.capabilities),
    serverInfo: parseServerInfo(result.serverInfo),
    instructions: typeof instructions === 'string' ? instructions : undefined,
  }
}

/**
 * Sends `server/discover` on the same channel. No response within the probe time means a legacy server, or a slow
 * start: then `initialize` follows on the same channel, so the probe costs a legacy server nothing; a slow modern one
 * is recognised by its responses to both.
 */
async function findEra(options: Handshake): Promise<ProbeAnswer> {
  const { wire, host, timeoutMs, signal } = options
  const giveUp = new AbortController()
  const onAbort = () => giveUp.abort(signal.reason)
  signal.addEventListener('abort', onAbort, { once: true })
  const ask = () =>
    wire
      .request(
        'server/discover',
        { _meta: options.envelope },
        {
          timeoutMs,
          signal: giveUp.signal,
          quiet: true,
          background: true,
        },
      )
      .then(probeAnswered, probeFailed)
  const probe: Promise<Probed> = ask().then((found) => (found.kind === 'again' ? ask() : found))
  let stopTimer: (() => void) | undefined
  try {
    const silence = new Promise<'silent'>((resolve) => {
      stopTimer = host.backgroundTimer(CONNECT_LIMITS.probeMs, () => resolve('silent'))
    })
    const first = await Promise.race([probe, silence])
    if (first !== 'silent') return await conclude(options, first)
    const legacyAnswer = initialize(options)
    const modernAnswer = probe.then((found) =>
      found.kind === 'modern' ? modernFacts(found.discovery) : new Promise<never>(() => undefined),
    )
    const answered = await Promise.race([modernAnswer, legacyAnswer])
    if (answered.era === 'legacy') return { ...answered, ...(await alreadyFound(host, modernAnswer)) }
    if (wire.transport.hasPerRequestStream) return answered
    // On one channel a server that accepts `initialize` stays legacy, whatever it had said before: continuing in the
    // modern era would fail. One that rejects or ignores it is modern.
    const timeLimit = new Promise<ProbeAnswer>((resolve) => {
      stopTimer = host.backgroundTimer(CONNECT_LIMITS.probeMs, () => resolve(answered))
    })
    const { discovery } = answered
    const settled = legacyAnswer.then((facts) => ({ ...facts, ...(discovery && { discovery }) }))
    return await Promise.race([settled.catch(() => answered), timeLimit])
  } catch (error) {
    // It may have taken a while to crash on the probe.
    throw error instanceof ChannelClosed ? new ClosedOnProbe() : error
  } finally {
    stopTimer?.()
    signal.removeEventListener('abort', onAbort)
    giveUp.abort()
  }
}

/** Both responses may arrive in one chunk; the first must not be lost to the order of our own steps. */
async function alreadyFound(
  host: Host,
  modernAnswer: Promise<ProbeAnswer>,
): Promise<Pick<ProbeAnswer, 'discovery'>> {
  let stop: (() => void) | undefined
  const turn = new Promise<undefined>((resolve) => {
    stop = host.backgroundTimer(0, () => resolve(undefined))
  })
  const found = await Promise.race([modernAnswer, turn])
  stop?.()
  return found?.discovery ? { discovery: found.discovery } : {}
}

async function conclude(options: Handshake, verdict: Probed): Promise<ProbeAnswer> {
  switch (verdict.kind) {
    case 'modern':
      return modernFacts(verdict.discovery)
    case 'again':
    case 'legacy':
      return await initialize(options)
    case 'closed':
      throw new ClosedOnProbe()
    case 'fatal':
      throw verdict.error
  }
}

type Probed =
  | { readonly kind: 'modern'; readonly discovery: Discovery }
  | { readonly kind: 'legacy' }
  /** The server rejected the version, but listed that version among those it supports. */
  | { readonly kind: 'again' }
  | { readonly kind: 'closed' }
  | { readonly kind: 'fatal'; readonly error: unknown }

function probeAnswered(result: Json): Probed {
  const discovery = parseDiscovery(result)
  return discovery?.supportedVersions.includes(MODERN_VERSION)
    ? { kind: 'modern', discovery }
    : { kind: 'legacy' }
}

/** Only what would fail `initialize` too is fatal; every other failure is how a legacy server rejects the probe. */
function probeFailed(error: unknown): Probed {
  if (error instanceof ChannelClosed) return { kind: 'closed' }
  const status = httpStatus(error)
  // An auth error is not the server's response, and a second request would fail the same way.
  const isAuths = error instanceof PlugboardError && error.stage === 'auth'
  if (status === 401 || status === 403 || isAuths || wasNeverSent(error)) return { kind: 'fatal', error }
  return { kind: namesOurVersion(unwrapHttp(error)) ? 'again' : 'legacy' }
}

function namesOurVersion(error: unknown): boolean {
  if (!(error instanceof JsonRpcError) || error.code !== RPC.unsupportedVersion) return false
  const supported = isObject(error.data) ? error.data.supported : undefined
  return Array.isArray(supported) && supported.includes(MODERN_VERSION)
}

export function modernFacts(discovery: Discovery): ProbeAnswer {
  const { capabilities, serverInfo, instructions } = discovery
  return { era: 'modern', version: MODERN_VERSION, capabilities, serverInfo, instructions, discovery }
}
