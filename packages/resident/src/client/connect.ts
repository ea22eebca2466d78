// connect.ts: the stdio end of `plugboard connect`: lines of an MCP client to the resident board and back. It parses no more
// than it needs to go on after the board was restarted: which requests are open, and how the session began.
import type { Writable } from 'node:stream'
import { isObject } from '@plugboard/core/json'
import { LineSplitter } from '@plugboard/core/text/line-splitter'
import type { PeerHooks } from '../json-rpc-socket.ts'
import { RESIDENT_LIMITS } from '../limits.ts'
import { type McpResult, type OpenParams, PROTOCOL } from '../protocol.ts'
import { placeFault, type ResidentPlace } from '../socket-paths.ts'
import type { Dialed } from './dial.ts'
import { type LightSocket, lightConnect, lightStdin } from './light-socket.ts'
import { readToken } from './read-token.ts'
import { isOlder } from './version-order.ts'

export interface ConnectOptions {
  readonly place: ResidentPlace
  readonly version: string
  readonly params: OpenParams
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

/** A socket that speaks MCP from here on. */
interface Entered {
  readonly socket: LightSocket
  /** What came with the answer to the first message. */
  readonly rest: Buffer
}

interface Message {
  readonly id?: Id
  readonly method?: string
  /** It is no message with an id of its own, and the board may answer it all the same. */
  readonly isUntracked?: boolean
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
  #socket: LightSocket
  #input: LightSocket | undefined
  #hasLeft = false
  /** A line of the client may have answers that cannot be told from others: a batch, or an id that is used twice. */
  #hasUntracked = false
  #waiting: string[] | undefined
  #end: (how: Connected) => void = () => undefined

  constructor(options: ConnectOptions, first: Entered) {
    this.#options = options
    this.#socket = this.#attach(first)
  }

  run(): Promise<Connected> {
    const lines = new LineSplitter({
      maxBytes: RESIDENT_LIMITS.messageBytes,
      onLine: (line) => this.#fromClient(line),
    })
    return new Promise((done) => {
      this.#end = done
      this.#options.output.on('error', () => this.#socket.destroy())
      this.#input = lightStdin({
        data: (chunk) => lines.push(chunk),
        closed: () => {
          this.#hasLeft = true
          this.#socket.end()
          this.#leaveWhenAnswered()
        },
      })
    })
  }

  #attach({ socket, rest }: Entered): LightSocket {
    this.#socket = socket
    const lines = new LineSplitter({
      maxBytes: RESIDENT_LIMITS.messageBytes,
      onLine: (line) => this.#fromBoard(line),
    })
    socket.events = {
      data: (chunk) => lines.push(chunk),
      closed: () => void this.#lost(),
      drained: () => this.#input?.resume(),
    }
    if (rest.length > 0) lines.push(rest)
    socket.resume()
    return socket
  }

  #fromClient(line: string): void {
    // Sent before it is looked at: the board works meanwhile.
    if (this.#waiting) this.#waiting.push(line)
    else this.#write(line)
    const { id, method, isUntracked } = parsed(line)
    if (isUntracked || (id !== undefined && this.#open.has(id))) this.#hasUntracked = true
    if (id !== undefined && method !== undefined) this.#open.set(id, { line, method })
    if (method === 'initialize' && id !== undefined) this.#initialize = { line, id }
    if (method === 'notifications/initialized') this.#isInitialized = true
  }

  /** A board that does not read makes the client wait. */
  #write(line: string): void {
    if (!this.#socket.write(`${line}\n`)) this.#input?.pause()
  }

  #fromBoard(line: string): void {
    const isExpected = this.#unwanted === undefined
    if (isExpected) this.#toClient(line)
    const { id, method } = parsed(line)
    const isAnswer = id !== undefined && method === undefined
    if (isAnswer && id === this.#unwanted) {
      this.#unwanted = undefined
      return
    }
    if (isAnswer) this.#open.delete(id)
    if (!isExpected) this.#toClient(line)
    if (this.#hasLeft) this.#leaveWhenAnswered()
  }

  /** A client that left and has its answers does not wait until the board has put its session away. */
  #leaveWhenAnswered(): void {
    const hasAll = this.#open.size === 0 && !this.#hasUntracked && !this.#waiting
    if (hasAll && this.#socket.isWritten) this.#socket.destroy()
  }

  #toClient(line: string): void {
    const { output } = this.#options
    if (output.write(`${line}\n`)) return
    const socket = this.#socket
    socket.pause()
    output.once('drain', () => socket.resume())
  }

  async #lost(): Promise<void> {
    if (this.#hasLeft) return this.#end({ kind: 'ended' })
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
    // The last board may have made it wait.
    this.#input?.resume()
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
    // It left meanwhile.
    if (this.#hasLeft) next.socket.end()
    // What is listed may have changed with the board.
    if (this.#isInitialized)
      for (const list of ['tools', 'resources', 'prompts'])
        this.#toClient(`{"jsonrpc":"2.0","method":"notifications/${list}/list_changed"}`)
  }
}

/** A socket that speaks MCP from here on, or why there is none. */
async function reach(options: ConnectOptions): Promise<Entered | string> {
  const { place, version } = options
  const first = await enter(options)
  // An ordinary start is one connection; anything else is sorted out as for every other command.
  if (first !== undefined && typeof first !== 'string') return first
  const hooks: PeerHooks = { request: () => Promise.reject(new Error('Nothing is asked here.')) }
  const { dial } = await import('./dial.ts')
  const running = await dial(place, version, hooks)
  const dialed =
    running.kind === 'absent' || running.kind === 'replaced' ? await options.start(hooks) : running
  if (dialed.kind !== 'connected') return dialed.kind === 'unusable' ? dialed.why : 'no resident process runs'
  dialed.peer.close()
  return (await enter(options)) ?? 'the resident process ended'
}

/** Asks the running process for MCP on a connection of its own: the socket, its refusal, or undefined when none fits. */
async function enter({ place, version, params }: ConnectOptions): Promise<Entered | string | undefined> {
  if (placeFault(place) !== undefined) return undefined
  // A process writes its token before it listens; one that took over since refuses an old one.
  const token = readToken(place)
  if (token === undefined) return undefined
  const hello = { protocol: PROTOCOL, version, token, open: params }
  const message = `${JSON.stringify({ jsonrpc: '2.0', method: 'board/mcp', params: hello })}\n`
  const { socket, result, rest } = await firstAnswer(place.socket, message)
  // One that is older has to make room first.
  if (result && result.why === undefined && !isOlder(result.version, version)) return { socket, rest }
  socket.destroy()
  return result?.why
}

function firstAnswer(
  path: string,
  message: string,
): Promise<Entered & { readonly result?: McpResult | undefined }> {
  return new Promise((done) => {
    let text = Buffer.alloc(0)
    const end = (result: McpResult | undefined, rest = text) => {
      clearTimeout(timer)
      socket.pause()
      done({ socket, result, rest })
    }
    const socket = lightConnect(path, {
      data: (chunk) => {
        text = Buffer.concat([text, chunk])
        const at = text.indexOf(10)
        if (at !== -1) end(resultIn(text.subarray(0, at).toString('utf8')), text.subarray(at + 1))
      },
      closed: () => end(undefined),
    })
    const timer = setTimeout(() => end(undefined), RESIDENT_LIMITS.openMs)
    socket.write(message)
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

const UNTRACKED: Message = { isUntracked: true }

function parsed(line: string): Message {
  try {
    const message: unknown = JSON.parse(line)
    if (!isObject(message)) return UNTRACKED
    const { id, method } = message
    const isId = typeof id === 'string' || typeof id === 'number'
    if (!isId && id !== undefined) return UNTRACKED
    return { ...(isId && { id }), ...(typeof method === 'string' && { method }) }
  } catch {
    // The board answers what is not JSON.
    return UNTRACKED
  }
}

function unknownOutcome(id: Id, method: string): string {
  const message = `The resident board ended while ${method} was running; whether it was done is unknown. Check before you call again.`
  return JSON.stringify({ jsonrpc: '2.0', id, error: { code: OUTCOME_UNKNOWN, message } })
}
