// connect.ts: one attempt to bring a server up: transport, handshake in the right era, first lists, all within one
// deadline. It holds no state between attempts; what it learns about the server goes to the era memory.

import { atMost, Deadline } from '../async/waits.ts'
import type { ServerEntry } from '../config/entry.ts'
import { asSse, fallsBackToSse, traitsOf } from '../config/transport-traits.ts'
import type { ConfiguredServer } from '../config/types.ts'
import type { Stage } from '../errors.ts'
import type { Host } from '../host.ts'
import { CONNECT_LIMITS } from '../limits.ts'
import { openTransport, type TransportAuth } from '../transports/open.ts'
import { httpStatus, UnreadableAnswer } from '../transports/transport-errors.ts'
import type { EraMemory, KnownEra } from './era-memory.ts'
import { ClosedOnProbe } from './handshake.ts'
import { BadResponse, ChannelClosed, isConnectionLost, JsonRpcError } from './request-errors.ts'
import type { Discovery, Json, Transport } from './server-info.ts'
import type { ServerLog } from './server-log.ts'
import type { RequestHandlers } from './server-requests.ts'
import { openSession, type Session } from './session.ts'
import type { TrafficSink } from './traffic.ts'

export interface ConnectAttempt {
  readonly server: ConfiguredServer
  readonly host: Host
  readonly eras: EraMemory
  readonly log: ServerLog
  readonly handlers: RequestHandlers
  readonly clientInfo: { readonly name: string; readonly version: string }
  readonly auth?: TransportAuth | undefined
  /** A value that logs, errors and events must not repeat. */
  readonly learnSecret?: ((value: string) => void) | undefined
  /** Takes those values out of a text. */
  readonly hide?: ((text: string) => string) | undefined
  readonly handOver?: ((name: string) => Promise<Transport> | Transport | undefined) | undefined
  readonly workspace?: readonly string[] | undefined
  readonly traffic?: TrafficSink | undefined
  readonly timeoutMs: number
  readonly signal: AbortSignal
  /** The attempt reached this step. */
  stage(stage: Stage): void
  /** A plain `url` turned out to be legacy SSE. */
  became(type: 'sse'): void
  notification(method: string, params: Json): void
  closed(session: Session | undefined, why: unknown): void
  trouble(error: unknown): void
}

/** Reads what a server must have listed before it counts as up. */
export type Establish = (session: Session, deadline: Deadline) => Promise<void>

export async function connectOnce(options: ConnectAttempt, establish: Establish): Promise<Session> {
  const { server, eras } = options
  const deadline = new Deadline(options)
  try {
    const known = await eras.recall(server.entry, server.signature)
    try {
      return await attempt(options, known, establish, deadline)
    } catch (error) {
      if (known && learned(server.entry)) eras.forget(server.entry, server.signature)
      // The remembered era may be wrong: probe the server itself, once.
      if (!known || !learned(server.entry) || !mayBeMisremembered(error, known)) throw error
      return await attempt(options, undefined, establish, deadline)
    }
  } catch (error) {
    throw deadline.explain(error)
  } finally {
    deadline.end()
  }
}

async function attempt(
  options: ConnectAttempt,
  known: KnownEra | undefined,
  establish: Establish,
  deadline: Deadline,
): Promise<Session> {
  const { server, eras } = options
  let entry = known?.became ? asSse(server.entry) : server.entry
  let session: Session
  let became = known?.became
  try {
    session = await startSession(options, entry, known?.era, deadline)
  } catch (error) {
    if (error instanceof ClosedOnProbe) {
      eras.remember(server.entry, server.signature, { era: 'legacy' })
      session = await startSession(options, entry, 'legacy', deadline)
    } else if (fallsBackToSse(entry) && wantsSse(error)) {
      entry = asSse(entry)
      session = await startSession(options, entry, 'legacy', deadline)
      became = 'sse'
    } else if (isConnectionLost(error) && !deadline.signal.aborted) {
      session = await startSession(options, entry, known?.era, deadline)
    } else throw error
  }
  const finish = (greeted: Session) =>
    readFirstLists(options, greeted, establish, deadline, known?.stale === true && greeted.era === 'modern')
  try {
    await finish(session)
  } catch (error) {
    if (!isConnectionLost(error) || deadline.signal.aborted) throw error
    // Everything so far was reading: a server that went away in the middle of it is met once more.
    const met = session.era === 'legacy' ? 'legacy' : session.discovery
    session = await startSession(options, entry, met, deadline)
    await finish(session)
  }
  if (became) options.became(became)
  const { discovery } = session
  // A remembered verdict keeps its date, so that it is checked again a day after it was found, not a day after its use.
  if (!known || known.stale || became !== known.became)
    eras.remember(server.entry, server.signature, {
      // After a handshake in both eras, a server that was slow to start is treated as modern the next time.
      era: discovery ? 'modern' : session.era,
      ...(discovery && { discovery }),
      ...(became && { became }),
    })
  return session
}

/** Reads the lists of a server after the handshake; the session is closed if that fails. */
async function readFirstLists(
  options: ConnectAttempt,
  session: Session,
  establish: Establish,
  deadline: Deadline,
  rediscovers: boolean,
): Promise<void> {
  try {
    options.stage('capabilities')
    await Promise.all([
      establish(session, deadline),
      rediscovers && deadline.within(session.rediscover({ signal: deadline.signal })),
    ])
  } catch (error) {
    await session.close().catch(options.trouble)
    throw error
  }
}

async function startSession(
  options: ConnectAttempt,
  entry: ServerEntry,
  known: 'legacy' | Discovery | undefined,
  deadline: Deadline,
): Promise<Session> {
  const { host, server, log, traffic, hide = (text) => text } = options
  options.stage('transport')
  const link = traffic?.link(server.name)
  const opening = openTransport(entry, {
    host,
    server: server.name,
    log: (line) => log.add(line.stream, line.text),
    auth: options.auth,
    learnSecret: options.learnSecret,
    handOver: options.handOver,
    workspace: options.workspace,
    onExchange: link && traffic?.exchanged && ((exchange) => traffic.exchanged?.(link, exchange, hide)),
    signal: deadline.signal,
  })
  // A transport that is opened after the deadline is still closed here.
  opening.then(
    (transport) => (deadline.signal.aborted ? transport.close() : undefined),
    () => undefined,
  )
  const transport = await deadline.within(opening)
  options.stage('connect')
  let session: Session | undefined
  const open = openSession(transport, {
    host,
    server: server.name,
    clientInfo: options.clientInfo,
    handlers: options.handlers,
    known,
    timeoutMs: options.timeoutMs,
    record: link && ((direction, message) => traffic?.record(link, direction, message)),
    unanswered: link && ((direction, id, why) => traffic?.unanswered?.(link, direction, id, why)),
    signal: deadline.signal,
    onNotification: (method, params) => options.notification(method, params),
    onClosed: (why) => options.closed(session, why),
    onTrouble: options.trouble,
    onOdd: (text) => log.add('plugboard', `The server sent ${text}.`),
    onRefused: (text) => log.add('plugboard', text),
  })
  try {
    session = await deadline.within(open)
    return session
  } catch (error) {
    // Past the deadline the session is still closing; a caller that awaits this attempt waits for that too.
    await atMost(host, CONNECT_LIMITS.closeMs, open)
    throw error
  }
}

/** Lets a replaced session finish its open requests, then closes it. */
export function retire(host: Host, session: Session): void {
  const end = () => void session.close().catch(() => undefined) // No caller is left to report to.
  if (session.inFlight === 0) end()
  else host.backgroundTimer(CONNECT_LIMITS.closeMs, end)
}

/** These decide the verdict by themselves, not the memory. */
function learned(entry: ServerEntry): boolean {
  return traitsOf(entry).era === 'remembered'
}

function wantsSse(error: unknown): boolean {
  const status = httpStatus(error)
  if (status !== undefined) return status >= 400 && status < 500 && status !== 401 && status !== 403
  return error instanceof JsonRpcError
}

function mayBeMisremembered(error: unknown, known: KnownEra): boolean {
  if (error instanceof JsonRpcError || error instanceof BadResponse || error instanceof UnreadableAnswer)
    return true
  if (error instanceof ChannelClosed) return known.era !== 'legacy'
  const status = httpStatus(error)
  return status !== undefined && status >= 400 && status < 500 && status !== 401 && status !== 403
}
