// sessions.ts: conversations of the older era over HTTP: their ids, the stream each may keep open, and their end.
import { randomUUID } from 'node:crypto'
import type { ServerResponse } from 'node:http'
import { GATEWAY_LIMITS } from '@plugboard/core/limits'
import { type Answering, frame, STREAM_HEADERS } from './answering.ts'
import type { Gateway } from './gateway.ts'
import type { Visitor } from './guard.ts'
import { LegacySession } from './legacy.ts'
import type { Id } from './protocol.ts'

const WAITING_MAX = 100

export class HttpSession {
  readonly id = randomUUID()
  readonly owner: string
  readonly session: LegacySession
  /** The answers under way, by the request they belong to. */
  readonly answers = new Map<Id, Answering>()
  lastUsed = Date.now()
  #stream: ServerResponse | undefined
  #timer: NodeJS.Timeout | undefined
  #waiting: object[] = []

  constructor(gateway: Gateway, visitor: Visitor) {
    this.owner = visitor.owner
    this.session = new LegacySession(gateway, { send: (message, about) => this.#send(message, about) })
    gateway.restrict(this.session, visitor.exposure)
  }

  get idle(): boolean {
    return !this.#stream && !this.session.busy
  }

  /** The client's stream for what belongs to no request; a new one takes the place of the old. */
  open(res: ServerResponse): void {
    this.#end()
    this.#stream = res
    res.writeHead(200, { ...STREAM_HEADERS, 'Mcp-Session-Id': this.id })
    res.flushHeaders()
    const alive = setInterval(() => res.write(': still here\n\n'), GATEWAY_LIMITS.keepAliveMs)
    this.#timer = alive
    res.on('close', () => {
      clearInterval(alive)
      if (this.#stream === res) this.#stream = undefined
    })
    for (const message of this.#waiting.splice(0)) res.write(frame(message))
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
    const stream = this.#stream
    if (!stream) {
      // Without a stream a few messages wait for one; the oldest go first.
      if (this.#waiting.push(message) > WAITING_MAX) this.#waiting.shift()
      return
    }
    if (stream.writableLength > GATEWAY_LIMITS.unreadBytes) stream.destroy()
    else stream.write(frame(message))
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

  /** A fresh session, or nothing when there are too many that are in use. */
  make(visitor: Visitor): HttpSession | undefined {
    if (this.#open.size >= GATEWAY_LIMITS.sessions) {
      const idle = [...this.#open.values()]
        .filter((one) => one.idle)
        .sort((a, b) => a.lastUsed - b.lastUsed)[0]
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

  #dropIdle(): void {
    const oldest = Date.now() - GATEWAY_LIMITS.sessionIdleMs
    for (const session of [...this.#open.values()])
      if (session.idle && session.lastUsed < oldest) this.drop(session)
  }
}
