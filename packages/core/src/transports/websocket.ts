// websocket.ts: MCP over a WebSocket with the `mcp` subprotocol, one JSON message per frame. It detects a dead
// connection with pings; the connection layer reconnects.
import type { JSONRPCMessage, Transport } from '@modelcontextprotocol/client'
import type { ClientOptions, WebSocket } from 'ws'
import type { AuthResponse, LoginHeaders } from '../auth/request-auth.ts'
import type { WsEntry } from '../config/entry.ts'
import { AnswerTooLarge, Cancelled, IoError, ParseError, type PlugboardError } from '../errors.ts'
import { CONNECT_LIMITS, LOG_LIMITS, WEBSOCKET_LIMITS } from '../limits.ts'
import { EntryHeaders, type HeaderMap } from './entry-headers.ts'
import { trustedCertificates } from './http-agents.ts'
import { messagesIn } from './json-rpc-messages.ts'
import type { TransportContext } from './open.ts'
import { tooLargeAnswer } from './oversized-response.ts'
import { requestAuth } from './transport-auth.ts'
import { HttpStatusError } from './transport-errors.ts'
import { tunnelFor } from './websocket-proxy.ts'

type WsTarget = Pick<WsEntry, 'url' | 'headers' | 'headersHelper'>
type Connect = (options: ClientOptions) => WebSocket

const SUBPROTOCOL = 'mcp'
const EXCERPT_BYTES = 1024
const ORDERLY = 1000
/** The status of a handshake that succeeded. */
const SWITCHING = 101

export async function openWebSocket(entry: WsTarget, context: TransportContext): Promise<Transport> {
  const { WebSocket } = await import('./websocket-client.ts')
  return new WebSocketTransport(entry, context, (options) => new WebSocket(entry.url, [SUBPROTOCOL], options))
}

class WebSocketTransport implements Transport {
  onclose?: (() => void) | undefined
  onerror?: ((error: Error) => void) | undefined
  // The SDK's own signature; a method type would not be assignable to it.
  onmessage?: Transport['onmessage']
  readonly #url: string
  readonly #context: TransportContext
  readonly #connect: Connect
  readonly #headers: EntryHeaders
  #socket: WebSocket | undefined
  #state: 'new' | 'open' | 'closed' = 'new'
  #cancelHeartbeat: (() => void) | undefined
  #closing: Promise<void> | undefined

  constructor(entry: WsTarget, context: TransportContext, connect: Connect) {
    this.#url = entry.url
    this.#context = context
    this.#connect = connect
    this.#headers = new EntryHeaders(entry, context)
  }

  async start(): Promise<void> {
    if (this.#context.signal?.aborted === true) throw new Cancelled()
    await this.#opened()
    // Closed while it was still connecting.
    if (this.#closing) throw this.#error('was closed')
  }

  send(message: JSONRPCMessage): Promise<void> {
    const socket = this.#socket
    if (this.#state !== 'open' || socket === undefined) return Promise.reject(this.#error('is closed'))
    if (socket.bufferedAmount > WEBSOCKET_LIMITS.unsentBytes)
      return Promise.reject(this.#error('does not read what is sent to it'))
    return new Promise((resolve, reject) => {
      socket.send(JSON.stringify(message), (error) => {
        if (error) reject(this.#error('failed while a message was sent', error))
        else resolve()
      })
    })
  }

  close(): Promise<void> {
    this.#closing ??= this.#close()
    return this.#closing
  }

  async #close(): Promise<void> {
    const wasOpen = this.#state === 'open'
    this.#state = 'closed'
    this.#cancelHeartbeat?.()
    const socket = this.#socket
    if (socket !== undefined && socket.readyState !== socket.CLOSED)
      await new Promise<void>((resolve) => {
        const timer = setTimeout(() => socket.terminate(), WEBSOCKET_LIMITS.closeMs)
        socket.once('close', () => {
          clearTimeout(timer)
          resolve()
        })
        if (socket.readyState === socket.OPEN) socket.close(ORDERLY)
        else socket.terminate()
      })
    if (wasOpen) this.onclose?.()
  }

  /** The opening handshake is one HTTP request, which carries a login like any other. */
  async #opened(): Promise<void> {
    const { host, auth } = this.#context
    const url = new URL(this.#url.replace(/^ws/, 'http'))
    const login = requestAuth(auth, url, (input, init) => host.fetch(input, init))
    const handshake = (headers: LoginHeaders) => this.#asked(headers)
    const response = await (login ? login.send({ method: 'GET', url }, handshake) : handshake({}))
    if (response.status === SWITCHING) return
    response.discard()
    throw this.#error(
      `was refused with status ${response.status}`,
      new HttpStatusError(response.status, '', ''),
    )
  }

  /** Headers of a helper that the server rejects are renewed once. */
  async #asked(login: LoginHeaders): Promise<AuthResponse> {
    const response = await this.#handshake({ ...(await this.#headers.current()), ...login })
    const isRefusal = response.status === 401 || response.status === 403
    if (!isRefusal || !this.#headers.hasHelper) return response
    response.discard()
    return this.#handshake({ ...(await this.#headers.renew()), ...login })
  }

  #handshake(headers: HeaderMap): Promise<AuthResponse> {
    const { env } = this.#context.host
    const ca = trustedCertificates(env)
    const createConnection = tunnelFor(this.#url, env)
    const socket = this.#connect({
      headers,
      handshakeTimeout: WEBSOCKET_LIMITS.connectMs,
      maxPayload: WEBSOCKET_LIMITS.frameBytes,
      perMessageDeflate: false,
      followRedirects: false,
      ...(ca !== undefined && { ca }),
      ...(createConnection !== undefined && { createConnection }),
    })
    this.#socket = socket
    return new Promise((resolve, reject) => {
      const failed = (error: Error) => reject(this.#error('could not be opened', error))
      socket.once('open', () => {
        socket.off('error', failed)
        // At once: the first frames may arrive together with the handshake.
        this.#adopt(socket)
        resolve({ status: SWITCHING, header: () => undefined, discard: () => {} })
      })
      socket.once('error', failed)
      socket.once('unexpected-response', (request, { statusCode = 0, headers: said }) => {
        // The listener is ours alone now, and so is ending the request; later errors add nothing.
        socket.on('error', () => {})
        request.destroy()
        resolve({
          status: statusCode,
          header: (name) => String(said[name] ?? '') || undefined,
          discard: () => {},
        })
      })
    })
  }

  #adopt(socket: WebSocket): void {
    if (this.#closing) {
      socket.terminate()
      return
    }
    this.#state = 'open'
    socket.on('message', (data, isBinary) => {
      const bytes = bytesOf(data)
      if (bytes.length > WEBSOCKET_LIMITS.messageBytes) this.#skipped(bytes)
      else this.#receive(bytes.toString('utf8'), isBinary)
    })
    socket.on('error', (error) => this.#lost(this.#failure(error)))
    socket.on('close', (code, reason) => this.#ended(code, reason.toString()))
    this.#beat(socket)
  }

  #receive(text: string, isBinary: boolean): void {
    if (this.#state !== 'open') return
    let value: unknown
    try {
      value = isBinary ? undefined : JSON.parse(text)
    } catch {
      // Reported below, together with JSON that is not a message.
      value = undefined
    }
    const messages = messagesIn(value)
    if (messages === undefined)
      this.#context.log({ stream: 'stdout', text: text.slice(0, LOG_LIMITS.lineBytes) })
    for (const message of messages ?? []) this.#deliver(message)
  }

  /** A response that is too long fails its own call, not the connection. */
  #skipped(bytes: Buffer): void {
    const { server, log } = this.#context
    log({ stream: 'transport', text: `A message of ${bytes.length} bytes was skipped.` })
    const start = bytes.toString('utf8', 0, EXCERPT_BYTES)
    const end = bytes.toString('utf8', bytes.length - EXCERPT_BYTES)
    const answer = tooLargeAnswer({ start, end }, server, WEBSOCKET_LIMITS.messageBytes)
    if (answer && this.#state === 'open') this.#deliver(answer)
  }

  #deliver(message: JSONRPCMessage): void {
    try {
      this.onmessage?.(message)
    } catch (cause) {
      this.onerror?.(
        new ParseError('A message could not be handled.', { server: this.#context.server, cause }),
      )
    }
  }

  /** Past the frame limit the connection cannot be kept: the rest of the frame is not read, so nothing can follow. */
  #failure(error: Error): PlugboardError {
    const isLong = 'code' in error && error.code === 'WS_ERR_UNSUPPORTED_MESSAGE_LENGTH'
    if (isLong) return new AnswerTooLarge(this.#context.server, WEBSOCKET_LIMITS.messageBytes)
    return this.#error('failed', error)
  }

  /** A ping, a time limit for the pong, a pause, and again. */
  #beat(socket: WebSocket): void {
    const { host } = this.#context
    const onPong = () => {
      this.#cancelHeartbeat?.()
      rest()
    }
    const rest = () => {
      this.#cancelHeartbeat = host.backgroundTimer(CONNECT_LIMITS.heartbeatMs, () => {
        if (this.#state !== 'open') return
        socket.ping()
        this.#cancelHeartbeat = host.backgroundTimer(CONNECT_LIMITS.heartbeatTimeoutMs, () => {
          const silent = Object.assign(new Error('no pong'), { code: 'ETIMEDOUT' })
          this.#lost(this.#error('does not answer its pings', silent))
        })
      })
    }
    socket.on('pong', onPong)
    rest()
  }

  #ended(code: number, reason: string): void {
    if (this.#state !== 'open') return
    if (code === ORDERLY) {
      this.#context.log({ stream: 'transport', text: 'The server closed the connection.' })
      this.#finish()
      return
    }
    const why = reason === '' ? String(code) : `${code}, ${reason.slice(0, 120)}`
    const cause = Object.assign(new Error('closed'), { code: 'ECONNRESET' })
    this.#lost(this.#error(`was closed by the server (${why})`, cause))
  }

  #lost(error: PlugboardError): void {
    if (this.#state !== 'open') return
    this.onerror?.(error)
    this.#finish()
    this.#socket?.terminate()
  }

  #finish(): void {
    this.#state = 'closed'
    this.#cancelHeartbeat?.()
    this.onclose?.()
  }

  #error(what: string, cause?: unknown): IoError {
    return new IoError(`The connection to "${this.#context.server}" ${what}.`, {
      server: this.#context.server,
      stage: this.#state === 'open' ? 'call' : 'connect',
      hint: 'Check the URL, and whether the server is running.',
      ...(cause !== undefined && { cause }),
    })
  }
}

function bytesOf(data: Buffer | ArrayBuffer | readonly Buffer[]): Buffer {
  if (Buffer.isBuffer(data)) return data
  return data instanceof ArrayBuffer ? Buffer.from(data) : Buffer.concat(data)
}
