// protocol-recording.ts: the messages between a board and its servers as a file, one line each, and a stand-in server that answers
// from it. Pure but for the file's text: the verbs read, write and send.
import { InvalidInput } from '@plugboard/core/errors'
import { isObject } from '@plugboard/core/json'

const VERSION = 1

type Message = Readonly<Record<string, unknown>>

/** One message, as it was sent or received. */
export interface RecordedMessage {
  /** Milliseconds since the epoch. */
  readonly at: number
  readonly server: string
  /** A server that was connected again has another number. */
  readonly connection: number
  readonly from: 'client' | 'server'
  readonly message: Message
}

export function recordingHead(now: number): string {
  return `${JSON.stringify({ type: 'protocol-recording', version: VERSION, at: new Date(now).toISOString() })}\n`
}

/** Reads a recording; a last line that a crash has cut is left out. */
export function readRecording(text: string, file: string): readonly RecordedMessage[] {
  const lines = text.split('\n')
  const wrong = (line: number, why: string) =>
    new InvalidInput(`${file}, line ${line}: ${why}.`, {
      hint: 'Make a recording with `plugboard record FILE -- call SERVER.TOOL …`.',
    })
  const head = parsed(lines[0])
  if (head?.type !== 'protocol-recording') throw wrong(1, 'this is not a recording of the protocol')
  if (head.version !== VERSION) throw wrong(1, `version ${String(head.version)} of the format is not known`)
  return lines.slice(1).flatMap((line, index) => {
    if (line.trim() === '') return []
    const item = parsed(line)
    if (item && isRecorded(item)) return [item]
    if (item === undefined && index === lines.length - 2) return []
    throw wrong(index + 2, item ? 'this is no message' : 'this is not JSON')
  })
}

function parsed(line: string | undefined): Message | undefined {
  try {
    const value: unknown = JSON.parse(line ?? '')
    return isObject(value) ? value : undefined
  } catch {
    return undefined
  }
}

function isRecorded(item: Message): item is Message & RecordedMessage {
  const { server, from, message } = item
  return typeof server === 'string' && (from === 'client' || from === 'server') && isObject(message)
}

/** A request of the recording and everything that the server sent because of it. */
interface Exchange {
  readonly key: string
  readonly token: unknown
  /** What came before the answer, and after it while nothing else was asked. */
  readonly before: Message[]
  readonly after: Message[]
  answer?: Message
  uses: number
}

/** What the stand-in does with a message of its client. */
export interface Replies {
  readonly messages: readonly Message[]
  /** The recording has no answer to it. */
  readonly unknown?: string
}

/** Their parameters say who asks, not what: any of the recording is the answer. */
const ANY_PARAMETERS: ReadonlySet<string> = new Set([
  'initialize',
  'server/discover',
  'ping',
  'logging/setLevel',
])
/** Answered even where the recording has none. */
const HARMLESS: ReadonlySet<string> = new Set(['ping', 'logging/setLevel'])
/** Stays open: the server answers when it ends. */
const OPEN_ENDED: ReadonlySet<string> = new Set(['subscriptions/listen'])
const METHOD_NOT_FOUND = -32601
const INVALID_PARAMS = -32602

/** A server that says what the recorded one said. */
export class StandIn {
  readonly #exchanges: readonly Exchange[]
  #requests = 0

  constructor(messages: readonly RecordedMessage[]) {
    this.#exchanges = exchangesOf(messages)
  }

  answer(message: unknown): Replies {
    if (!isObject(message) || typeof message.method !== 'string') return { messages: [] }
    // Notifications, and answers to the requests that we repeated.
    if (message.id === undefined) return { messages: [] }
    const { id, method } = message
    const key = keyOf(method, message.params)
    const same = this.#exchanges.filter((one) => one.key === key)
    // In their order; when all were given, the last one again.
    const exchange = same.find(({ uses }) => uses === 0) ?? same.at(-1)
    if (!exchange) return this.#unknown(id, method, key)
    exchange.uses++
    const token = tokenOf(message.params)
    const repeated = (all: readonly Message[]) => all.flatMap((one) => this.#repeat(one, exchange, token))
    const answered = exchange.answer ? [{ ...exchange.answer, id }] : []
    if (!exchange.answer && !OPEN_ENDED.has(method))
      return this.#failure(id, INVALID_PARAMS, `The recording ends before the answer to ${method}.`)
    return { messages: [...repeated(exchange.before), ...answered, ...repeated(exchange.after)] }
  }

  /** A notification or a request of the server, with the names that this client knows. */
  #repeat(message: Message, exchange: Exchange, token: unknown): readonly Message[] {
    const params = isObject(message.params) ? message.params : {}
    if (params.progressToken !== undefined && params.progressToken === exchange.token)
      return token === undefined ? [] : [{ ...message, params: { ...params, progressToken: token } }]
    return message.id === undefined ? [message] : [{ ...message, id: `replay-${++this.#requests}` }]
  }

  #unknown(id: unknown, method: string, key: string): Replies {
    if (HARMLESS.has(method)) return { messages: [{ jsonrpc: '2.0', id, result: {} }] }
    // How a client finds out which protocol a server speaks; a legacy server does not know it either.
    const isProbe = method === 'server/discover'
    const known = this.#exchanges.some((one) => one.key.startsWith(`${method} `))
    const what = known ? `${key.slice(0, 300)} (with these parameters)` : method
    const failure = this.#failure(
      id,
      known ? INVALID_PARAMS : METHOD_NOT_FOUND,
      `The recording has no ${what}.`,
    )
    return isProbe ? { messages: failure.messages } : failure
  }

  #failure(id: unknown, code: number, message: string): Replies {
    return { messages: [{ jsonrpc: '2.0', id, error: { code, message } }], unknown: message }
  }
}

function exchangesOf(messages: readonly RecordedMessage[]): readonly Exchange[] {
  const all: Exchange[] = []
  const open = new Map<string, Exchange>()
  for (const { connection, from, message } of messages) {
    const { id, method } = message
    const place = `${connection} ${JSON.stringify(id)}`
    if (from === 'client') {
      if (typeof method !== 'string' || id === undefined) continue
      const { params } = message
      const exchange = { key: keyOf(method, params), token: tokenOf(params), before: [], after: [], uses: 0 }
      all.push(exchange)
      open.set(place, exchange)
    } else if (typeof method === 'string') {
      const token = isObject(message.params) ? message.params.progressToken : undefined
      const waiting = [...open.values()]
      const owner = waiting.find((one) => token !== undefined && one.token === token) ?? waiting.at(-1)
      if (owner) owner.before.push(message)
      else all.at(-1)?.after.push(message)
    } else {
      const exchange = open.get(place)
      if (exchange) exchange.answer = message
      open.delete(place)
    }
  }
  return all
}

/** The same for the same question, whatever the order of its members and whoever asks. */
function keyOf(method: string, params: unknown): string {
  if (ANY_PARAMETERS.has(method)) return `${method} `
  const { _meta, ...asked } = isObject(params) ? params : {}
  return `${method} ${JSON.stringify(sorted(asked))}`
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted)
  if (!isObject(value)) return value
  return Object.fromEntries(
    Object.entries(value)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([name, one]) => [name, sorted(one)]),
  )
}

function tokenOf(params: unknown): unknown {
  const meta = isObject(params) ? params._meta : undefined
  return isObject(meta) ? meta.progressToken : undefined
}
