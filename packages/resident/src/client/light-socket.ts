// light-socket.ts: a connection to the resident process, and the command's own input, without Node's streams: loading and using
// them takes longer than all else that a short command does. The handles below `node:net` are used where they are known to
// work, `node:net` everywhere else.
import type { Duplex, Readable } from 'node:stream'
import { lazyModule } from '@plugboard/core/lazy'

export interface LightSocketEvents {
  data(chunk: Buffer): void
  /** The other side ended it, or it could not be reached, or it was destroyed. */
  closed(): void
  /** What was too much for `write` has gone. */
  drained?(): void
}

export interface LightSocket {
  /** Who is told from now on. */
  events: LightSocketEvents
  /** Everything that was written has gone. */
  readonly isWritten: boolean
  /** False when the other side has much to read. */
  write(text: string): boolean
  /** Nothing more is written; the other side may still answer. */
  end(): void
  destroy(): void
  pause(): void
  resume(): void
}

/** As for Node's own streams. */
const HIGH_WATER_BYTES = 64 * 1024

export function lightConnect(path: string, events: LightSocketEvents): LightSocket {
  const bindings = lightBindings()
  if (!bindings) return new StreamSocket(lazyModule('node:net').connect(path), events)
  const socket = new HandleSocket(bindings, events)
  socket.connect(path)
  return socket
}

/** The input of this process. */
export function lightStdin(events: LightSocketEvents): LightSocket {
  const bindings = isPipe(0) ? lightBindings() : undefined
  // It is only read.
  if (!bindings) return new StreamSocket(process.stdin as Readable as Duplex, events)
  const socket = new HandleSocket(bindings, events)
  socket.open(0)
  return socket
}

function isPipe(fd: number): boolean {
  try {
    // With `bigint` for the reason that the command's terminal-device.ts gives.
    const info = lazyModule('node:fs').fstatSync(fd, { bigint: true })
    return info.isFIFO() || info.isSocket()
  } catch {
    return false
  }
}

class StreamSocket implements LightSocket {
  readonly #stream: Duplex
  events: LightSocketEvents

  constructor(stream: Duplex, events: LightSocketEvents) {
    this.#stream = stream
    this.events = events
    stream.on('data', (chunk: Buffer | string) =>
      this.events.data(typeof chunk === 'string' ? Buffer.from(chunk) : chunk),
    )
    stream.on('end', () => stream.destroy())
    stream.on('drain', () => this.events.drained?.())
    // Its close follows.
    stream.on('error', () => undefined)
    stream.on('close', () => this.events.closed())
  }

  get isWritten(): boolean {
    return this.#stream.writableLength === 0
  }

  write(text: string): boolean {
    return this.#stream.write(text)
  }

  end(): void {
    this.#stream.end()
  }

  destroy(): void {
    this.#stream.destroy()
  }

  pause(): void {
    this.#stream.pause()
  }

  resume(): void {
    this.#stream.resume()
  }
}

/** What is used of Node's handle of a pipe or a Unix socket. Its functions return 0, or the number of an error. */
interface Handle {
  onread: (bytes: ArrayBuffer | undefined) => void
  readonly writeQueueSize: number
  connect(request: object, path: string): number | undefined
  open(fd: number): number | undefined
  readStart(): number
  readStop(): number
  writeUtf8String(request: object, text: string): number
  shutdown(request: object): number
  close(done: () => void): void
}

type Request = new () => { oncomplete: (status: number) => void }

interface Bindings {
  readonly pipe: {
    readonly Pipe: new (kind: number) => Handle
    readonly PipeConnectWrap: Request
    readonly constants: { readonly SOCKET: number }
  }
  readonly stream: {
    readonly WriteWrap: Request
    readonly ShutdownWrap: Request
    /** What the handle says about the last read, at the places that follow. */
    readonly streamBaseState: Readonly<Record<number, number>>
    readonly kReadBytesOrError: number
    readonly kArrayBufferOffset: number
  }
}

class HandleSocket implements LightSocket {
  readonly #bindings: Bindings
  readonly #handle: Handle
  events: LightSocketEvents
  #isOpen = false
  #isPaused = false
  #isFull = false
  #isClosed = false

  constructor(bindings: Bindings, events: LightSocketEvents) {
    const { Pipe, constants } = bindings.pipe
    this.#bindings = bindings
    this.#handle = new Pipe(constants.SOCKET)
    this.#handle.onread = (bytes) => this.#read(bytes)
    this.events = events
  }

  connect(path: string): void {
    const request = new this.#bindings.pipe.PipeConnectWrap()
    request.oncomplete = (status) => this.#opened(status)
    const failed = this.#handle.connect(request, path)
    if (failed) this.destroy()
  }

  open(fd: number): void {
    this.#opened(this.#handle.open(fd) ?? 0)
  }

  get isWritten(): boolean {
    return this.#isClosed || this.#handle.writeQueueSize === 0
  }

  /** Before the connection is made, the handle keeps the text. */
  write(text: string): boolean {
    if (this.#isClosed) return true
    const request = new this.#bindings.stream.WriteWrap()
    request.oncomplete = () => this.#wrote()
    if (this.#handle.writeUtf8String(request, text) !== 0) this.destroy()
    this.#isFull = !this.#isClosed && this.#handle.writeQueueSize > HIGH_WATER_BYTES
    return !this.#isFull
  }

  end(): void {
    if (this.#isClosed) return
    const request = new this.#bindings.stream.ShutdownWrap()
    request.oncomplete = () => undefined
    if (this.#handle.shutdown(request) !== 0) this.destroy()
  }

  destroy(): void {
    if (this.#isClosed) return
    this.#isClosed = true
    this.#handle.close(() => this.events.closed())
  }

  pause(): void {
    this.#isPaused = true
    if (this.#isOpen && !this.#isClosed) this.#handle.readStop()
  }

  resume(): void {
    this.#isPaused = false
    if (this.#isOpen && !this.#isClosed) this.#handle.readStart()
  }

  #opened(status: number): void {
    this.#isOpen = status === 0
    if (!this.#isOpen) this.destroy()
    else if (!this.#isPaused) this.resume()
  }

  #read(bytes: ArrayBuffer | undefined): void {
    const { streamBaseState, kReadBytesOrError, kArrayBufferOffset } = this.#bindings.stream
    const length = streamBaseState[kReadBytesOrError] ?? 0
    // The end, or an error.
    if (length < 0) this.destroy()
    else if (bytes) this.events.data(Buffer.from(bytes, streamBaseState[kArrayBufferOffset], length))
  }

  #wrote(): void {
    if (!this.#isFull || this.#isClosed || this.#handle.writeQueueSize > 0) return
    this.#isFull = false
    this.events.drained?.()
  }
}

/** The versions of Node whose handles these are; a newer one may have others, or warn. */
const KNOWN_VERSIONS = /^(20|22|24)\./

/** Undefined where `node:net` has to be used: with options that may change what Node does, too. */
function lightBindings(): Bindings | undefined {
  const { NODE_OPTIONS, NODE_PENDING_DEPRECATION } = process.env
  const isPlain = process.execArgv.length === 0 && !NODE_OPTIONS && !NODE_PENDING_DEPRECATION
  if (!isPlain || process.platform === 'win32' || !KNOWN_VERSIONS.test(process.versions.node))
    return undefined
  try {
    // Node's types leave it out: it is deprecated, without a date for its end.
    const node = process as unknown as { binding(name: string): unknown }
    return {
      pipe: node.binding('pipe_wrap') as Bindings['pipe'],
      stream: node.binding('stream_wrap') as Bindings['stream'],
    }
  } catch {
    return undefined
  }
}
