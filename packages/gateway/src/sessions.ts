// sessions.ts: conversations of the older era over HTTP: their ids, the stream each may keep open, and their end.
import { randomUUID } from 'node:crypto'
import type { ServerResponse } from 'node:http'
import { GATEWAY_LIMITS } from '@plugboard/core/limits'
import { type Answering, type Resumable, STREAM_HEADERS } from './answering.ts'
import type { Gateway } from './gateway.ts'
import type { Visitor } from './guard.ts'
import { LegacySession } from './legacy.ts'
import type { Id } from './protocol.ts'
import { Replay, type Rest, STANDALONE } from './replay.ts'

export class HttpSession {
  readonly id = randomUUID()
  readonly owner: string
  readonly session: LegacySession
  /** The answers under way, by the request they belong to. */
  readonly answers = new Map<Id, Answering>()
  lastUsed = Date.now()
  #stream: ServerResponse | undefined
  #timer: NodeJS.Timeout | undefined
  readonly #replay = new Replay()
  /** Up to here the client has been sent what belongs to no request. */
  #delivered = 0

  constructor(gateway: Gateway, visitor: Visitor) {
    this.owner = visitor.owner
    this.session = new LegacySession(gateway, { send: (message, about) => this.#send(message, about) })
    gateway.restrict(this.session, visitor.exposure)
  }

  get idle(): boolean {
    return !this.#stream && !this.session.busy
  }

  get resumable(): Resumable {
    return { replay: this.#replay, marks: (this.session.protocolVersion ?? '') >= '2025-11-25' }
  }

  /** A stream of the client's: the rest of one that broke, or the one for what belongs to no request. */
  open(res: ServerResponse, lastEventId: string | undefined): void {
    res.writeHead(200, { ...STREAM_HEADERS, 'Mcp-Session-Id': this.id })
    res.flushHeaders()
    const rest = lastEventId === undefined ? undefined : this.#replay.after(lastEventId)
    if (rest && rest.stream !== STANDALONE) this.#resume(res, rest)
    else this.#listen(res, rest?.frames ?? this.#replay.since(STANDALONE, this.#delivered))
  }

  #resume(res: ServerResponse, { stream, frames }: Rest): void {
    for (const frame of frames) res.write(frame)
    const answering = [...this.answers.values()].find((one) => one.stream === stream)
    if (answering) answering.resume(res)
    else res.end()
  }

  /** A new one takes the place of the old. */
  #listen(res: ServerResponse, frames: readonly string[]): void {
    this.#end()
    this.#stream = res
    const alive = setInterval(() => res.write(': still here\n\n'), GATEWAY_LIMITS.keepAliveMs)
    this.#timer = alive
    res.on('close', () => {
      clearInterval(alive)
      if (this.#stream === res) this.#stream = undefined
    })
    for (const frame of frames) res.write(frame)
    this.#delivered = this.#replay.lastId
  }

  async close(): Promise<void> {
    this.#end()
    await this.session.close()
  }

  #end(): void {
    clearInterval(this.#timer)
    this.#stream?.end()
    this.#stream = undefined
  }

  #send(message: object, about: Id | undefined): void {
    const answer = about === undefined ? undefined : this.answers.get(about)
    if (answer?.send(message)) return
    const frame = this.#replay.event(STANDALONE, message)
    const stream = this.#stream
    // Without a stream it waits for one; the oldest go first.
    if (!stream) return
    if (stream.writableLength > GATEWAY_LIMITS.unreadBytes) return void stream.destroy()
    stream.write(frame)
    this.#delivered = this.#replay.lastId
  }
}

export class Sessions {
  readonly #gateway: Gateway
  readonly #open = new Map<string, HttpSession>()
  readonly #sweep: NodeJS.Timeout

  constructor(gateway: Gateway) {
    this.#gateway = gateway
    this.#sweep = setInterval(() => this.#dropIdle(), GATEWAY_LIMITS.sessionIdleMs / 10)
    this.#sweep.unref()
  }

  get count(): number {
    return this.#open.size
  }

  /** A fresh session, or nothing when there are too many that are in use. Who has most makes room. */
  make(visitor: Visitor): HttpSession | undefined {
    if (this.#open.size >= GATEWAY_LIMITS.sessions) {
      const idle = this.#idleOfTheMany()
      if (!idle) return undefined
      this.drop(idle)
    }
    return new HttpSession(this.#gateway, visitor)
  }

  keep(session: HttpSession): void {
    this.#open.set(session.id, session)
  }

  /** Somebody else's session is as unknown as none. */
  find(id: string, visitor: Visitor): HttpSession | undefined {
    const session = this.#open.get(id)
    if (!session || session.owner !== visitor.owner) return undefined
    session.lastUsed = Date.now()
    return session
  }

  drop(session: HttpSession): void {
    this.#open.delete(session.id)
    void session.close()
  }

  async close(): Promise<void> {
    clearInterval(this.#sweep)
    const all = [...this.#open.values()]
    this.#open.clear()
    await Promise.all(all.map((session) => session.close()))
  }

  /** The longest idle session of whoever has most of them, so that nobody can push others out. */
  #idleOfTheMany(): HttpSession | undefined {
    const counts = new Map<string, number>()
    for (const { owner } of this.#open.values()) counts.set(owner, (counts.get(owner) ?? 0) + 1)
    const most = Math.max(...counts.values())
    return [...this.#open.values()]
      .filter((one) => one.idle && counts.get(one.owner) === most)
      .sort((a, b) => a.lastUsed - b.lastUsed)[0]
  }

  #dropIdle(): void {
    const oldest = Date.now() - GATEWAY_LIMITS.sessionIdleMs
    for (const session of [...this.#open.values()])
      if (session.idle && session.lastUsed < oldest) this.drop(session)
  }
}
