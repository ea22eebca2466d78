// sessions.ts: legacy sessions over HTTP: their ids, the stream each may keep open, and their end. An id is
// sealed and holds what the session is, so a session that is no longer in memory is rebuilt when its client comes back.
import { randomBytes } from 'node:crypto'
import type { ServerResponse } from 'node:http'
import { GATEWAY_LIMITS } from '@plugboard/core/limits'
import { type AuthorizedClient, UNRESTRICTED } from '../access/access.ts'
import type { Quota, QuotaSlot } from '../access/concurrency-limits.ts'
import { type Handshake, LegacySession, type Outlet } from '../eras/legacy.ts'
import { outcomeUnknown } from '../errors.ts'
import type { Gateway } from '../gateway.ts'
import {
  clientNameOf,
  declared,
  type Id,
  isLegacyVersion,
  isObject,
  type Json,
  readCapabilities,
} from '../json-rpc.ts'
import { Replay, type Rest, requestOf, STANDALONE } from './replay.ts'
import { frame, type McpHttpResponse, type Resumable, STREAM_HEADERS } from './response.ts'

/** What a session id holds. */
interface SessionClaims {
  /** The id without its seal, by which an ended session is remembered. */
  readonly sid: string
  /** When its seal expires, in milliseconds since the epoch. */
  readonly until: number
}

export class HttpSession {
  readonly id: string
  readonly claims: SessionClaims
  readonly owner: string
  readonly session: LegacySession
  /** The answers under way, by the request they belong to. */
  readonly answers = new Map<Id, McpHttpResponse>()
  lastUsed = Date.now()
  #stream: ServerResponse | undefined
  #slot: QuotaSlot | undefined
  #timer: NodeJS.Timeout | undefined
  #leaving: NodeJS.Timeout | undefined
  readonly #replay: Replay
  readonly #restored: boolean
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
    this.#replay = new Replay(restored ? Date.now() : 0)
    this.#delivered = this.#replay.lastId
    const outlet: Outlet = {
      send: (message, about) => this.#send(message, about),
      away: (about) => this.answers.get(about)?.away ?? false,
    }
    this.session = new LegacySession(gateway, outlet, authorized.exposure)
    if (restored) this.session.restore(restored)
  }

  /** No request of it is running, and no stream is open. */
  get idle(): boolean {
    return !this.#stream && !this.session.busy
  }

  resumable(request: Id): Resumable {
    return { replay: this.#replay, request, marks: (this.session.protocolVersion ?? '') >= '2025-11-25' }
  }

  /** A stream of the client: the rest of one that broke, or the one for what belongs to no request. */
  open(res: ServerResponse, lastEventId: string | undefined, slot: QuotaSlot): void {
    res.on('close', () => slot.release())
    res.writeHead(200, { ...STREAM_HEADERS, 'Mcp-Session-Id': this.id })
    res.flushHeaders()
    const rest = lastEventId === undefined ? undefined : this.#replay.after(lastEventId)
    const lost = rest || !this.#restored ? undefined : requestOf(lastEventId ?? '')
    if (lost !== undefined) res.end(frame(outcomeUnknown(lost, 'the gateway was started anew while it ran')))
    else if (rest && rest.stream !== STANDALONE) this.#resume(res, rest)
    else this.#listen(res, rest?.frames ?? this.#replay.since(STANDALONE, this.#delivered), slot)
  }

  #resume(res: ServerResponse, { stream, frames }: Rest): void {
    for (const one of frames) res.write(one)
    const response = [...this.answers.values()].find((one) => one.stream === stream)
    if (response) response.resume(res)
    else res.end()
  }

  /** A new one replaces the old. */
  #listen(res: ServerResponse, frames: readonly string[], slot: QuotaSlot): void {
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
    if (answer?.send(message)) return
    const event = this.#replay.event(STANDALONE, message)
    const stream = this.#stream
    // Without a stream, messages wait for one; the oldest are dropped first.
    if (!stream) return
    if (stream.writableLength > GATEWAY_LIMITS.unreadBytes) return void stream.destroy()
    stream.write(event)
    this.#delivered = this.#replay.lastId
  }
}

export class Sessions {
  readonly #gateway: Gateway
  readonly #streams: Quota
  readonly #open = new Map<string, HttpSession>()
  readonly #byOwner = new Map<string, Set<HttpSession>>()
  /** Rebuilding reads a file: two requests of one session wait for the same read. */
  readonly #restoring = new Map<string, Promise<HttpSession | 'full' | undefined>>()
  readonly #sweep: NodeJS.Timeout

  constructor(gateway: Gateway, streams: Quota) {
    this.#gateway = gateway
    this.#streams = streams
    const every = Math.max(1000, gateway.limits.sessionIdleMs / 10)
    this.#sweep = setInterval(() => this.#dropIdle(), every)
    this.#sweep.unref()
  }

  get count(): number {
    return this.#open.size
  }

  /** A fresh session, or undefined when this owner can have no more. */
  make(authorized: AuthorizedClient, handshake: Handshake, client?: Json): HttpSession | undefined {
    if (!this.#evictFor(authorized.owner)) return undefined
    const now = Date.now()
    const sid = randomBytes(16).toString('base64url')
    const id = this.#gateway.keys.seal('session', {
      sid,
      owner: shortOwner(authorized.owner),
      version: handshake.protocolVersion,
      can: declared(handshake.capabilities),
      ...(client && { client }),
      iat: now,
    })
    return new HttpSession(this.#gateway, authorized, id, {
      sid,
      until: now + this.#gateway.limits.sessionMaxMs,
    })
  }

  keep(session: HttpSession): void {
    this.#open.set(session.id, session)
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
    const read = this.#read(id, authorized)
    if (!read) return undefined
    const running = this.#restoring.get(id)
    if (running) return await running
    const restoring = this.#restore(id, authorized, read).finally(() => this.#restoring.delete(id))
    this.#restoring.set(id, restoring)
    return await restoring
  }

  async #restore(id: string, authorized: AuthorizedClient, read: OpenedClaims) {
    if (await this.#gateway.spent.has(read.sid)) return undefined
    if (!this.#evictFor(authorized.owner)) return 'full'
    const session = new HttpSession(this.#gateway, authorized, id, read, read.handshake)
    this.keep(session)
    return session
  }

  #read(id: string, authorized: AuthorizedClient): OpenedClaims | undefined {
    const value = this.#gateway.keys.open('session', id)
    if (!value || value.owner !== shortOwner(authorized.owner)) return undefined
    const { sid, version, can, iat } = value
    if (typeof sid !== 'string' || typeof version !== 'string' || typeof iat !== 'number') return undefined
    const until = iat + this.#gateway.limits.sessionMaxMs
    if (!isLegacyVersion(version) || until <= Date.now()) return undefined
    const clientName = clientNameOf(value.client)
    return {
      sid,
      until,
      handshake: { protocolVersion: version, capabilities: readCapabilities(can), clientName },
    }
  }

  /** A slot for one more stream; undefined when this owner can have none. */
  streamSlot(session: HttpSession): QuotaSlot | undefined {
    return this.#streams.tryAcquire(session.owner, () => session.endStream())
  }

  /** The client ended the session: its id opens nothing any more, here and after a restart. */
  async end(session: HttpSession): Promise<void> {
    this.drop(session)
    await this.#gateway.spent.add(session.claims.sid, session.claims.until)
  }

  /** Drops a session from memory; its id still opens it again. */
  drop(session: HttpSession): void {
    this.#open.delete(session.id)
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

interface OpenedClaims extends SessionClaims {
  readonly handshake: Handshake
}

/** Idle ones before those that listen, then by the time of last use. */
function rank(session: HttpSession): number {
  return session.lastUsed - (session.idle ? Number.MAX_SAFE_INTEGER / 2 : 0)
}

/** Enough of a digest to tell owners apart, and short in a header. */
function shortOwner(owner: string): string {
  return owner.slice(0, 32)
}

/** The client's own name for itself, bounded. */
export function clientName(params: Json): Json | undefined {
  const { clientInfo } = params
  if (!isObject(clientInfo)) return undefined
  const short = (value: unknown) => (typeof value === 'string' ? value.slice(0, 64) : undefined)
  return { name: short(clientInfo.name), version: short(clientInfo.version) }
}
