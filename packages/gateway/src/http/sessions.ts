// sessions.ts: legacy sessions over HTTP: their ids, the stream each may keep open, and their end. An id is
// sealed and holds what the session is, so a session that is no longer in memory is rebuilt when its client comes back.
import { randomInt } from 'node:crypto'
import type { ServerResponse } from 'node:http'
import { OpenRequests } from '@plugboard/core/async/open-requests'
import { GATEWAY_LIMITS } from '@plugboard/core/limits'
import { type AuthorizedClient, UNRESTRICTED } from '../access/access.ts'
import type { ConcurrencyLimit, ConcurrencySlot } from '../access/fair-slots.ts'
import { type Handshake, LegacySession, OPEN_SLOTS, type Outlet } from '../eras/legacy.ts'
import { outcomeUnknown } from '../errors.ts'
import type { Gateway } from '../gateway.ts'
import { type Id, isId, isObject, type Json } from '../json-rpc.ts'
import type { BusKind, Replicas } from '../replicas/replicas.ts'
import { SharedSession } from '../replicas/shared-session.ts'
import { SpentIds } from '../sealing/spent-ids.ts'
import type { OpenRequest } from './open-responses.ts'
import { Replay, type Rest, replicaOf, requestOf, STANDALONE } from './replay.ts'
import { frame, type McpHttpResponse, type Resumable, STREAM_HEADERS } from './response.ts'
import { type OpenedClaims, openSessionId, type SessionClaims, sealSessionId } from './session-ids.ts'

/** A session as an administrator sees it. */
export interface SessionInfo {
  readonly id: string
  readonly user: string
  /** Tells users with one name apart. */
  readonly userKey?: string
  readonly client?: string
  readonly protocolVersion?: string
  /** Its event stream is open here. */
  readonly streaming: boolean
  readonly busy: boolean
  readonly idleSeconds: number
}

export class HttpSession {
  readonly id: string
  readonly claims: SessionClaims
  readonly owner: string
  readonly session: LegacySession
  /** The answers under way, by the request they belong to. */
  readonly answers = new OpenRequests<OpenRequest<McpHttpResponse>>(OPEN_SLOTS)
  lastUsed = Date.now()
  #stream: ServerResponse | undefined
  #slot: ConcurrencySlot | undefined
  #timer: NodeJS.Timeout | undefined
  #leaving: NodeJS.Timeout | undefined
  readonly #shared: SharedSession | undefined
  readonly #replay: Replay
  readonly #restored: boolean
  /** News waits here for the stream: it was here last, or the session began here and has none yet. */
  #keepsNews: boolean
  /** Up to this event the client has been sent what belongs to no request. */
  #delivered: number

  constructor(
    gateway: Gateway,
    authorized: AuthorizedClient,
    id: string,
    claims: SessionClaims,
    restored?: Handshake,
  ) {
    this.id = id
    this.claims = claims
    this.owner = authorized.owner
    this.#restored = restored !== undefined
    this.#keepsNews = !this.#restored || gateway.replicas === undefined
    const { replicas } = gateway
    this.#shared = replicas && new SharedSession(replicas, claims.sid)
    this.#replay = new Replay(replicas ? randomBase() : restored ? Date.now() : 0, replicas?.id)
    this.#delivered = this.#replay.lastId
    const outlet: Outlet = {
      send: (message, about) => this.#send(message, about),
      away: (about) => this.answers.get(about)?.response.away ?? false,
    }
    this.session = new LegacySession(gateway, outlet, authorized.exposure, this.#shared)
    this.session.owner = authorized.owner
    this.session.user = authorized.user
    if (restored) this.session.restore(restored)
  }

  /** No request of it is running, and no stream is open. */
  get idle(): boolean {
    return !this.#stream && !this.session.busy
  }

  get info(): SessionInfo {
    const { name, protocolVersion, busy } = this.session
    const user = this.session.user?.name ?? this.owner.slice(0, 12)
    return {
      id: this.claims.sid,
      user,
      ...(this.session.user && { userKey: this.session.user.key }),
      ...(name !== undefined && { client: name }),
      ...(protocolVersion !== undefined && { protocolVersion }),
      streaming: this.#stream !== undefined,
      busy,
      idleSeconds: Math.round((Date.now() - this.lastUsed) / 1000),
    }
  }

  resumable(request: Id): Resumable {
    return { replay: this.#replay, request, marks: (this.session.protocolVersion ?? '') >= '2025-11-25' }
  }

  /** A stream of the client: the rest of one that broke, or the one for what belongs to no request. */
  open(res: ServerResponse, lastEventId: string | undefined, slot: ConcurrencySlot): void {
    res.on('close', () => slot.release())
    res.writeHead(200, { ...STREAM_HEADERS, 'Mcp-Session-Id': this.id })
    res.flushHeaders()
    const rest = lastEventId === undefined ? undefined : this.#replay.after(lastEventId)
    const isElsewhere = this.#restored || replicaOf(lastEventId ?? '') !== this.#shared?.replica
    const lost = rest || !isElsewhere ? undefined : requestOf(lastEventId ?? '')
    if (lost !== undefined) res.end(frame(outcomeUnknown(lost, 'the gateway process that ran it is gone')))
    else if (rest && rest.stream !== STANDALONE) this.#resume(res, rest)
    else this.#listen(res, rest?.frames ?? this.#replay.since(STANDALONE, this.#delivered), slot)
  }

  #resume(res: ServerResponse, { stream, frames }: Rest): void {
    for (const one of frames) res.write(one)
    const answer = this.answers.list().find(({ response }) => response.stream === stream)
    if (answer) answer.response.resume(res)
    else res.end()
  }

  /** A new one replaces the old. */
  #listen(res: ServerResponse, frames: readonly string[], slot: ConcurrencySlot): void {
    this.endStream()
    this.#stream = res
    this.#slot = slot
    const alive = setInterval(() => res.write(': still here\n\n'), GATEWAY_LIMITS.keepAliveMs)
    this.#timer = alive
    res.on('close', () => {
      clearInterval(alive)
      if (this.#stream !== res) return
      this.#stream = undefined
      this.#leaving = setTimeout(() => this.idle && this.session.absent(), GATEWAY_LIMITS.resumeMs)
      this.#leaving.unref()
    })
    for (const one of frames) res.write(one)
    this.#delivered = this.#replay.lastId
  }

  /** The stream of the session comes to this replica. True when news may have been missed here before. */
  async takeStream(): Promise<boolean> {
    if (!this.#shared) return false
    const before = await this.#shared.takeStream()
    const missed = !this.#keepsNews || (before !== undefined && before !== this.#shared.replica)
    this.#keepsNews = true
    return missed
  }

  /** Another replica has the stream now. */
  streamLeft(): void {
    this.#keepsNews = false
    this.endStream()
  }

  /** The client ended the session. */
  async ended(): Promise<void> {
    await this.#shared?.end()
  }

  /** A message of another replica for the stream, if it is here. */
  relay(message: object): void {
    if (this.#stream) this.#send(message, undefined)
  }

  async close(): Promise<void> {
    clearTimeout(this.#leaving)
    this.endStream()
    await this.session.close()
  }

  endStream(): void {
    clearInterval(this.#timer)
    this.#stream?.end()
    this.#slot?.release()
    this.#stream = undefined
  }

  #send(message: object, about: Id | undefined): void {
    const answer = about === undefined ? undefined : this.answers.get(about)
    if (answer?.response.send(message)) return
    const stream = this.#stream
    // News reaches the replica that has the stream by itself; what is meant for this client alone is sent there.
    if (!stream && !this.#keepsNews && isNews(message)) return
    if (!stream && !isNews(message)) this.#shared?.send(message)
    const event = this.#replay.event(STANDALONE, message)
    // Without a stream, messages wait for one; the oldest are dropped first.
    if (!stream) return
    if (stream.writableLength > GATEWAY_LIMITS.unreadBytes) return void stream.destroy()
    stream.write(event)
    this.#delivered = this.#replay.lastId
  }
}

export class Sessions {
  readonly #gateway: Gateway
  readonly #streams: ConcurrencyLimit
  readonly #open = new Map<string, HttpSession>()
  readonly #byOwner = new Map<string, Set<HttpSession>>()
  /** Rebuilding reads a file: two requests of one session wait for the same read. */
  readonly #restoring = new Map<string, Promise<HttpSession | 'full' | undefined>>()
  readonly #sweep: NodeJS.Timeout
  /** By the id without its seal, where other replicas speak of sessions. */
  readonly #bySid = new Map<string, HttpSession>()
  /** Sessions that were ended while it could not be recorded for others: they stay ended here. */
  readonly #endedHere = new SpentIds()

  constructor(gateway: Gateway, streams: ConcurrencyLimit) {
    this.#gateway = gateway
    this.#streams = streams
    const every = Math.max(1000, gateway.limits.sessionIdleMs / 10)
    this.#sweep = setInterval(() => this.#dropIdle(), every)
    this.#sweep.unref()
    if (gateway.replicas) this.#hear(gateway.replicas)
  }

  get count(): number {
    return this.#open.size
  }

  /** A fresh session, or undefined when this owner can have no more. */
  make(authorized: AuthorizedClient, handshake: Handshake, client?: Json): HttpSession | undefined {
    if (!this.#evictFor(authorized.owner)) return undefined
    const { id, ...claims } = sealSessionId(this.#gateway, 'session', authorized, handshake, client)
    return new HttpSession(this.#gateway, authorized, id, claims)
  }

  keep(session: HttpSession): void {
    this.#open.set(session.id, session)
    if (this.#gateway.replicas) this.#bySid.set(session.claims.sid, session)
    const own = this.#byOwner.get(session.owner) ?? new Set()
    this.#byOwner.set(session.owner, own.add(session))
  }

  /** The session of an id, where this process still has it. */
  inMemory(id: string, { owner }: AuthorizedClient): HttpSession | undefined {
    const known = this.#open.get(id)
    if (known?.owner !== owner) return undefined
    known.lastUsed = Date.now()
    known.session.returned()
    return known
  }

  /**
   * The session of an id, rebuilt if needed; undefined when the id is not ours, has expired or was ended. Another
   * owner's session is as unknown as none. `full` when there is no slot for it.
   */
  async find(id: string, authorized: AuthorizedClient): Promise<HttpSession | 'full' | undefined> {
    const known = this.inMemory(id, authorized)
    if (known) return known
    if (this.#open.has(id)) return undefined
    const read = openSessionId(this.#gateway, 'session', authorized, id)
    if (!read) return undefined
    const running = this.#restoring.get(id)
    if (running) return await running
    const restoring = this.#restore(id, authorized, read).finally(() => this.#restoring.delete(id))
    this.#restoring.set(id, restoring)
    return await restoring
  }

  async #restore(id: string, authorized: AuthorizedClient, read: OpenedClaims) {
    if (await this.#isEnded(read.sid)) return undefined
    if (!this.#evictFor(authorized.owner)) return 'full'
    const session = new HttpSession(this.#gateway, authorized, id, read, read.handshake)
    this.keep(session)
    await session.session.takeOver()
    // Another replica may have ended it after the first look, and its message came before the session was kept here.
    if (!(await this.#isEnded(read.sid))) return session
    this.drop(session)
    return undefined
  }

  /** What other replicas tell of sessions that are known here too. */
  #hear(replicas: Replicas): void {
    const about = (kind: BusKind, act: (session: HttpSession, value: Json) => unknown) =>
      replicas.on(kind, (value) => {
        const session = this.#bySid.get(String(value.sid))
        return session && act(session, value)
      })
    about('session', ({ session }) => session.takeOver())
    about('session-ended', (session) => this.drop(session))
    about('session-stream', (session) => session.streamLeft())
    about('session-message', (session, { message }) => isObject(message) && session.relay(message))
    about('cancelled', ({ session }, { request }) => isId(request) && session.cancel(request))
  }

  infos(): readonly SessionInfo[] {
    return [...this.#open.values()].map(({ info }) => info)
  }

  bySid(sid: string): HttpSession | undefined {
    return [...this.#open.values()].find(({ claims }) => claims.sid === sid)
  }

  /** A slot for one more stream; undefined when this owner can have none. */
  streamSlot(session: HttpSession): ConcurrencySlot | undefined {
    return this.#streams.tryAcquire(session.owner, () => session.endStream())
  }

  /** The client ended the session: its id opens nothing any more, here and after a restart. */
  async end(session: HttpSession): Promise<void> {
    // First: a request that arrives meanwhile, here or at another replica, must not rebuild it.
    const { sid, until } = session.claims
    if (!(await this.#gateway.spent.add(sid, until))) await this.#endedHere.add(sid, until)
    this.drop(session)
    await session.ended()
  }

  async #isEnded(sid: string): Promise<boolean> {
    return (await this.#endedHere.has(sid)) || (await this.#gateway.spent.has(sid))
  }

  /** Drops a session from memory; its id still opens it again. */
  drop(session: HttpSession): void {
    this.#open.delete(session.id)
    this.#bySid.delete(session.claims.sid)
    const own = this.#byOwner.get(session.owner)
    own?.delete(session)
    if (own?.size === 0) this.#byOwner.delete(session.owner)
    void session.close()
  }

  dropOwner(owner: string): void {
    for (const session of [...(this.#byOwner.get(owner) ?? [])]) this.drop(session)
  }

  /** The exposure of the owner changed. */
  restrict({ owner, exposure }: AuthorizedClient): void {
    for (const { session } of this.#byOwner.get(owner) ?? []) session.exposure = exposure
  }

  async close(): Promise<void> {
    clearInterval(this.#sweep)
    const all = [...this.#open.values()]
    this.#open.clear()
    this.#byOwner.clear()
    this.#bySid.clear()
    await Promise.all(all.map((session) => session.close()))
  }

  /**
   * An owner that has used its share gives up a slot itself. When all are taken, the owner that holds most does, so no
   * owner can push others out; of its sessions the longest idle one goes, or else one that only listens.
   */
  #evictFor(owner: string): boolean {
    const { sessions, sessionsPerOwner } = this.#gateway.limits
    const own = this.#byOwner.get(owner) ?? new Set()
    if (owner !== UNRESTRICTED && own.size >= sessionsPerOwner) return this.#dropOldest(own, false)
    if (this.#open.size < sessions) return true
    let most = own
    for (const theirs of this.#byOwner.values()) if (theirs.size > most.size) most = theirs
    return this.#dropOldest(most, most !== own && most.size > own.size + 1)
  }

  #dropOldest(of: ReadonlySet<HttpSession>, listeners: boolean): boolean {
    let oldest: HttpSession | undefined
    for (const one of of) {
      if (one.session.busy || (!one.idle && !listeners)) continue
      if (!oldest || rank(one) < rank(oldest)) oldest = one
    }
    if (oldest) this.drop(oldest)
    return oldest !== undefined
  }

  #dropIdle(): void {
    const oldest = Date.now() - this.#gateway.limits.sessionIdleMs
    for (const session of [...this.#open.values()])
      if (session.idle && session.lastUsed < oldest) this.drop(session)
  }
}

/** Numbers of events that those of another replica are not mistaken for. */
function randomBase(): number {
  return randomInt(1, 2 ** 36) * 1024
}

/** Said to every client that wants to hear it, whichever replica it is connected to. */
function isNews(message: object): boolean {
  const method = 'method' in message ? String(message.method) : ''
  return method.endsWith('/list_changed') || method === 'notifications/resources/updated'
}

/** Idle ones before those that listen, then by the time of last use. */
function rank(session: HttpSession): number {
  return session.lastUsed - (session.idle ? Number.MAX_SAFE_INTEGER / 2 : 0)
}
