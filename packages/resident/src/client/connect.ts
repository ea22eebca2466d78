// connect.ts: the stdio end of `plugboard connect`: lines of an MCP client to the resident board and back. It parses no more
// than it needs to go on after the board was restarted: which requests are open, and how the session began.
import type { Socket } from 'node:net'
import type { Readable, Writable } from 'node:stream'
import { isObject } from '@plugboard/core/json'
import { LineSplitter } from '@plugboard/core/text/line-splitter'
import type { PeerHooks } from '../json-rpc-socket.ts'
import { RESIDENT_LIMITS } from '../limits.ts'
import { type McpResult, type OpenParams, PROTOCOL } from '../protocol.ts'
import { placeFault, type ResidentPlace } from '../socket-paths.ts'
import { connected, type Dialed, dial, isOlder } from './dial.ts'
import { readToken } from './read-token.ts'

export interface ConnectOptions {
  readonly place: ResidentPlace
  readonly version: string
  readonly params: OpenParams
  readonly input: Readable
  readonly output: Pick<Writable, 'on' | 'once' | 'write'>
  /** Only a process that runs now is used; it is started again when it ends later. */
  readonly onlyRunning?: boolean
  /** Starts the process when none runs. */
  start(hooks: PeerHooks): Promise<Dialed>
}

export type Connected =
  /** The client left. */
  | { readonly kind: 'ended' }
  /** Nothing was read: the caller serves the client itself. */
  | { readonly kind: 'none'; readonly why: string }
  /** The board ended, and there is no other. */
  | { readonly kind: 'lost'; readonly why: string }

type Id = string | number

interface Message {
  readonly id?: Id
  readonly method?: string
}

/** Requests that may be sent twice without harm. */
const READS = new Set([
  'ping',
  'tools/list',
  'resources/list',
  'resources/templates/list',
  'resources/read',
  'prompts/list',
  'prompts/get',
  'completion/complete',
  'server/discover',
  'initialize',
])
const OUTCOME_UNKNOWN = -32000

export async function connectStdio(options: ConnectOptions): Promise<Connected> {
  const first = options.onlyRunning ? await enter(options) : await reach(options)
  if (first === undefined) return { kind: 'none', why: 'no resident process runs' }
  if (typeof first === 'string') return { kind: 'none', why: first }
  return await new Relay(options, first).run()
}

class Relay {
  readonly #options: ConnectOptions
  readonly #open = new Map<Id, { readonly line: string; readonly method: string }>()
  /** How the client began its session, for the next board. */
  #initialize: { readonly line: string; readonly id: Id } | undefined
  #isInitialized = false
  /** The answer to a repeated `initialize`, which the client has had. */
  #unwanted: Id | undefined
  #socket: Socket
  #waiting: string[] | undefined
  #end: (how: Connected) => void = () => undefined

  constructor(options: ConnectOptions, socket: Socket) {
    this.#options = options
    this.#socket = socket
  }

  run(): Promise<Connected> {
    const { input } = this.#options
    const lines = new LineSplitter({
      maxBytes: RESIDENT_LIMITS.messageBytes,
      onLine: (line) => this.#fromClient(line),
    })
    return new Promise((done) => {
      this.#end = (how) => {
        done(how)
      }
      input.on('data', (chunk: Buffer | string) =>
        lines.push(typeof chunk === 'string' ? Buffer.from(chunk) : chunk),
      )
      input.once('end', () => this.#socket.end())
      input.once('close', () => this.#socket.end())
      this.#options.output.on('error', () => this.#socket.destroy())
      this.#attach(this.#socket)
    })
  }

  #attach(socket: Socket): void {
    this.#socket = socket
    const lines = new LineSplitter({
      maxBytes: RESIDENT_LIMITS.messageBytes,
      onLine: (line) => this.#fromBoard(line),
    })
    socket.on('data', (chunk) => lines.push(chunk))
    socket.on('error', () => undefined)
    socket.once('close', () => void this.#lost())
    socket.resume()
  }

  #fromClient(line: string): void {
    const { id, method } = parsed(line)
    if (id !== undefined && method !== undefined) this.#open.set(id, { line, method })
    if (method === 'initialize' && id !== undefined) this.#initialize = { line, id }
    if (method === 'notifications/initialized') this.#isInitialized = true
    if (this.#waiting) this.#waiting.push(line)
    else this.#write(line)
  }

  /** A board that does not read makes the client wait. */
  #write(line: string): void {
    const { input } = this.#options
    if (this.#socket.write(`${line}\n`)) return
    input.pause()
    this.#socket.once('drain', () => input.resume())
  }

  #fromBoard(line: string): void {
    const { id, method } = parsed(line)
    if (id !== undefined && method === undefined) {
      if (id === this.#unwanted) {
        this.#unwanted = undefined
        return
      }
      this.#open.delete(id)
    }
    this.#toClient(line)
  }

  #toClient(line: string): void {
    const { output } = this.#options
    if (output.write(`${line}\n`)) return
    this.#socket.pause()
    output.once('drain', () => this.#socket.resume())
  }

  async #lost(): Promise<void> {
    const { input } = this.#options
    if (input.readableEnded || input.destroyed) return this.#end({ kind: 'ended' })
    this.#waiting = []
    const again = [...this.#open].filter(([, { method }]) => READS.has(method))
    for (const [id, { method }] of this.#open)
      if (!READS.has(method)) {
        this.#open.delete(id)
        this.#toClient(unknownOutcome(id, method))
      }
    const next = await reach(this.#options)
    if (typeof next === 'string') return this.#end({ kind: 'lost', why: next })
    this.#attach(next)
    if (this.#initialize && !this.#open.has(this.#initialize.id)) {
      this.#unwanted = this.#initialize.id
      this.#write(this.#initialize.line)
      if (this.#isInitialized) this.#write('{"jsonrpc":"2.0","method":"notifications/initialized"}')
    }
    for (const [, { line }] of again) this.#write(line)
    const kept = this.#waiting
    this.#waiting = undefined
    const sent = new Set(again.map(([, { line }]) => line))
    for (const line of kept) if (!sent.has(line)) this.#write(line)
    // What is listed may have changed with the board.
    if (this.#isInitialized)
      for (const list of ['tools', 'resources', 'prompts'])
        this.#toClient(`{"jsonrpc":"2.0","method":"notifications/${list}/list_changed"}`)
  }
}

/** A socket that speaks MCP from here on, or why there is none. */
async function reach(options: ConnectOptions): Promise<Socket | string> {
  const { place, version } = options
  const first = await enter(options)
  // An ordinary start is one connection; anything else is sorted out as for every other command.
  if (first !== undefined && typeof first !== 'string') return first
  const hooks: PeerHooks = { request: () => Promise.reject(new Error('Nothing is asked here.')) }
  const running = await dial(place, version, hooks)
  const dialed =
    running.kind === 'absent' || running.kind === 'replaced' ? await options.start(hooks) : running
  if (dialed.kind !== 'connected') return dialed.kind === 'unusable' ? dialed.why : 'no resident process runs'
  dialed.peer.close()
  return (await enter(options)) ?? 'the resident process ended'
}

/** Asks the running process for MCP on a connection of its own: the socket, its refusal, or undefined when none fits. */
async function enter({ place, version, params }: ConnectOptions): Promise<Socket | string | undefined> {
  if (placeFault(place) !== undefined) return undefined
  const socket = await connected(place.socket)
  const token = socket && readToken(place)
  if (!socket || token === undefined) return undefined
  const hello = { protocol: PROTOCOL, version, token, open: params }
  socket.write(`${JSON.stringify({ jsonrpc: '2.0', method: 'board/mcp', params: hello })}\n`)
  const result = await firstAnswer(socket)
  // One that is older has to make room first.
  if (result && result.why === undefined && !isOlder(result.version, version)) return socket
  socket.destroy()
  return result?.why
}

function firstAnswer(socket: Socket): Promise<McpResult | undefined> {
  return new Promise((done) => {
    let text = Buffer.alloc(0)
    const end = (result: McpResult | undefined) => {
      clearTimeout(timer)
      socket.off('data', onData)
      socket.off('close', onClose)
      socket.off('error', onClose)
      socket.pause()
      done(result)
    }
    const onClose = () => end(undefined)
    const onData = (chunk: Buffer) => {
      text = Buffer.concat([text, chunk])
      const at = text.indexOf(10)
      if (at === -1) return
      const rest = text.subarray(at + 1)
      end(resultIn(text.subarray(0, at).toString('utf8')))
      if (rest.length > 0) socket.unshift(rest)
    }
    const timer = setTimeout(onClose, RESIDENT_LIMITS.openMs)
    socket.on('data', onData)
    socket.once('close', onClose)
    socket.once('error', onClose)
  })
}

function resultIn(line: string): McpResult | undefined {
  try {
    const { result } = JSON.parse(line) as { result?: unknown }
    return isObject(result) && typeof result.version === 'string'
      ? (result as unknown as McpResult)
      : undefined
  } catch {
    // Another protocol.
    return undefined
  }
}

function parsed(line: string): Message {
  try {
    const message: unknown = JSON.parse(line)
    if (!isObject(message)) return {}
    const { id, method } = message
    return {
      ...((typeof id === 'string' || typeof id === 'number') && { id }),
      ...(typeof method === 'string' && { method }),
    }
  } catch {
    // The board answers what is not JSON.
    return {}
  }
}

function unknownOutcome(id: Id, method: string): string {
  const message = `The resident board ended while ${method} was running; whether it was done is unknown. Check before you call again.`
  return JSON.stringify({ jsonrpc: '2.0', id, error: { code: OUTCOME_UNKNOWN, message } })
}
