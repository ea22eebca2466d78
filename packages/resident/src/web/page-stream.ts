// page-stream.ts: a page as a stream of lines, whatever its WebSocket does: the page may lose it and come back with another
// within a while. Backpressure reaches the writer; what the messages mean is not known here.
import { Duplex } from 'node:stream'
import type { WebSocket } from 'ws'
import { CONFIRM_EVERY, Inbox, Outbox, readFrame, seenFrame, type Welcome } from './resume.ts'
import { WEB_LIMITS } from './web-limits.ts'

/** A page that says goodbye is not waited for. */
export const PAGE_LEFT = 4000
const PROTOCOL_ERROR = 4002
const REPLACED = 4001

export class PageStream extends Duplex {
  readonly id: string
  readonly #outbox = new Outbox()
  readonly #inbox = new Inbox()
  #socket: WebSocket | undefined
  #isAlive = true
  #unconfirmed = 0
  #giveUp: NodeJS.Timeout | undefined
  #waiting: (() => void) | undefined
  readonly #heartbeat: NodeJS.Timeout

  constructor(id: string) {
    super({ decodeStrings: false, emitClose: true })
    this.id = id
    this.#heartbeat = setInterval(() => this.#beat(), WEB_LIMITS.heartbeatMs)
    this.#waitForPage()
  }

  /** From now on the page is reached over this socket. */
  attach(socket: WebSocket, seen: number, fresh: boolean): void {
    this.#socket?.close(REPLACED)
    clearTimeout(this.#giveUp)
    this.#socket = socket
    this.#isAlive = true
    socket.on('message', (data, isBinary) => {
      if (isBinary) socket.close(PROTOCOL_ERROR)
      else this.#received(socket, String(data))
    })
    socket.on('pong', () => {
      this.#isAlive = true
    })
    socket.on('error', () => socket.terminate())
    socket.on('close', (code) => {
      if (this.#socket !== socket) return
      this.#socket = undefined
      if (code === PAGE_LEFT || code === PROTOCOL_ERROR) this.destroy()
      else this.#waitForPage()
    })
    const welcome: Welcome = { session: this.id, seen: this.#inbox.seen, fresh }
    socket.send(JSON.stringify(welcome))
    for (const frame of this.#outbox.after(seen)) socket.send(frame)
    this.#goOn()
  }

  override _read(): void {
    // What arrives is pushed; the peer pauses the socket's reader through the stream's own buffer.
  }

  /** Each write of the peer is one line. */
  override _write(chunk: string | Buffer, _encoding: string, done: (error?: Error | null) => void): void {
    const frame = this.#outbox.add(String(chunk).trimEnd())
    this.#socket?.send(frame)
    if (this.#outbox.chars <= WEB_LIMITS.unseenChars) done()
    else this.#waiting = () => done()
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    clearInterval(this.#heartbeat)
    clearTimeout(this.#giveUp)
    this.#socket?.close(1001)
    this.#socket = undefined
    this.#goOn()
    done(error)
  }

  #received(socket: WebSocket, data: string): void {
    const frame = readFrame(data)
    if (frame?.kind === 'seen') {
      this.#outbox.seen(frame.number)
      this.#goOn()
      return
    }
    const taken = frame && !frame.text.includes('\n') ? this.#inbox.take(frame.number) : 'gap'
    if (!frame || taken === 'gap') {
      socket.close(PROTOCOL_ERROR)
      return
    }
    if (++this.#unconfirmed >= CONFIRM_EVERY) {
      this.#unconfirmed = 0
      socket.send(seenFrame(this.#inbox.seen))
    }
    if (taken === 'new') this.push(`${frame.text}\n`)
  }

  #goOn(): void {
    if (this.#outbox.chars > WEB_LIMITS.unseenChars && !this.destroyed) return
    const waiting = this.#waiting
    this.#waiting = undefined
    waiting?.()
  }

  #beat(): void {
    const socket = this.#socket
    if (!socket) return
    if (this.#isAlive) socket.ping()
    else socket.terminate()
    this.#isAlive = false
  }

  #waitForPage(): void {
    clearTimeout(this.#giveUp)
    this.#giveUp = setTimeout(() => this.destroy(), WEB_LIMITS.resumeMs)
  }
}
