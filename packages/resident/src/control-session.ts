// control-session.ts: one client of the resident process: its hello, its board, its events and the questions to its terminal. A
// client that leaves, in whatever way, has its calls cancelled and its board closed; shared servers go on.
import type { Socket } from 'node:net'
import type { BoardBehaviour, LocalBoard, Prompt, SamplingRequest, TrafficRecorder } from '@plugboard/core'
import { InvalidInput } from '@plugboard/core/errors'
import type { PermissionQuestion } from '@plugboard/core/permissions'
import type * as z from 'zod/mini'
import { encodeErrors } from './board-encoding.ts'
import { BOARD_METHODS } from './board-methods.ts'
import { noSuchMethod, Peer, type RequestContext } from './json-rpc-socket.ts'
import { RESIDENT_LIMITS } from './limits.ts'
import {
  checked,
  consentAnswer,
  elicitAnswer,
  events,
  hello,
  leave,
  open,
  page,
  permissionAnswer,
  sampleAnswer,
  traffic,
} from './params.ts'
import {
  type HelloResult,
  type OpenParams,
  type OpenResult,
  PROTOCOL,
  type StatusResult,
} from './protocol.ts'
import type { OpenQuestions, QuestionKind } from './questions.ts'
import { requireToken } from './token.ts'

export interface SessionHost {
  readonly token: string
  readonly version: string
  readonly startedAt: number
  /** Opens a board for the client; a text says why the client has to open its own. */
  open(params: OpenParams, behaviour: BoardBehaviour): Promise<LocalBoard | string>
  status(): Promise<StatusResult>
  /** Writes what servers have said so far to their log files. */
  flushLogs(): Promise<void>
  readonly questions: OpenQuestions
  readonly traffic: TrafficRecorder
  /** The address of a page that shows the board of this terminal. */
  page(place: z.output<typeof page>): Promise<{ readonly url: string }>
  /** Ends the process, for this reason. */
  leave(why: string): void
  ended(session: Session): void
}

export class Session {
  readonly #host: SessionHost
  readonly #peer: Peer
  #greeted: 'no' | 'for-leave' | 'yes' = 'no'
  #board: LocalBoard | undefined
  readonly #stops = new Map<string, () => void>()
  readonly #greeting: NodeJS.Timeout

  constructor(host: SessionHost, socket: Socket) {
    this.#host = host
    // A client that does not say who it is must not keep the process from leaving.
    this.#greeting = setTimeout(() => this.close(), RESIDENT_LIMITS.helloMs)
    this.#peer = new Peer(socket, {
      request: (method, params, context) => this.#request(method, params, context),
      closed: () => void this.#ended(),
    })
  }

  /** Whether the client holds a board, rather than asking about the process. */
  get hasBoard(): boolean {
    return this.#board !== undefined
  }

  close(): void {
    this.#peer.close()
  }

  async #request(method: string, params: unknown, context: RequestContext): Promise<unknown> {
    if (method === 'board/hello') return this.#hello(params)
    // A client of another protocol may still ask an old process to make room.
    if (this.#greeted === 'no' || (this.#greeted === 'for-leave' && method !== 'board/leave')) {
      setImmediate(() => this.#peer.close())
      throw new InvalidInput('The first message has to be board/hello, in this version of the protocol.')
    }
    switch (method) {
      case 'board/open':
        return await this.#open(checked(method, open, params))
      case 'board/status':
        return await this.#host.status()
      case 'board/flushLogs':
        await this.#host.flushLogs()
        return {}
      case 'board/page':
        return await this.#host.page(checked(method, page, params))
      case 'board/traffic':
        return trafficOf(this.#host.traffic, checked(method, traffic, params))
      case 'board/leave': {
        const { why } = checked(method, leave, params)
        // The answer goes out first.
        setImmediate(() => this.#host.leave(why))
        return {}
      }
      case 'board/events':
        return this.#events(checked(method, events, params))
    }
    const row = BOARD_METHODS.get(method)
    if (!row) throw noSuchMethod(method)
    if (!this.#board) throw new InvalidInput('board/open comes before other requests about a board.')
    return await row(this.#board, params, context)
  }

  #hello(params: unknown): HelloResult {
    const { version, startedAt } = this.#host
    const { token, protocol } = this.#orClose(() => checked('board/hello', hello, params))
    this.#orClose(() => requireToken(token, this.#host.token))
    clearTimeout(this.#greeting)
    this.#greeted = protocol === PROTOCOL ? 'yes' : 'for-leave'
    return { protocol: PROTOCOL, version, pid: process.pid, startedAt }
  }

  /** A client that cannot say who it is gets no second try on this connection. */
  #orClose<T>(work: () => T): T {
    try {
      return work()
    } catch (error) {
      setImmediate(() => this.#peer.close())
      throw error
    }
  }

  async #open(params: OpenParams): Promise<OpenResult> {
    if (this.#board) throw new InvalidInput('This client has a board already.')
    const board = await this.#host.open(params, this.#behaviour(params))
    if (typeof board === 'string') return { kind: 'refused', why: board }
    // The client may have left meanwhile.
    if (this.#peer.isClosed) {
      await board.close()
      return { kind: 'refused', why: 'the client left' }
    }
    this.#board = board
    board.on('warning', (event) =>
      this.#peer.notifyIfRead('board/event', { event: { type: 'warning', ...event } }),
    )
    // What was wrong at the start is told before the answer.
    await new Promise((done) => setImmediate(done))
    return {
      kind: 'opened',
      stateDir: board.stateDir,
      diagnostics: board.configurationFaults(),
      servers: board.servers().map(encodeErrors),
    }
  }

  /** Questions go to the terminal of this client, and to no other. */
  #behaviour({ asks, caller, timeoutMs, watch }: OpenParams): BoardBehaviour {
    const put = (method: string, params: unknown, signal?: AbortSignal) =>
      this.#peer.request(method, params, { signal })
    /** At the terminal and at every page: the first answer counts. */
    const ask = (
      kind: QuestionKind,
      server: string,
      [method, params]: readonly [string, Readonly<Record<string, unknown>>],
      signal?: AbortSignal,
    ) => {
      const [question] = Object.values(params)
      return this.#host.questions.ask(
        { kind, server, question, from: 'terminal' },
        (other) => put(method, params, other),
        signal,
      )
    }
    return {
      caller,
      ...(timeoutMs !== undefined && { timeoutMs }),
      ...(watch && { watch }),
      ...(asks.elicit && {
        elicit: async (prompt: Prompt, signal?: AbortSignal) =>
          checked(
            'client/elicit',
            elicitAnswer,
            await ask('elicitation', prompt.server, ['client/elicit', { prompt }], signal),
          ),
      }),
      ...(asks.ask && {
        ask: async ({ signal, ...question }: PermissionQuestion) =>
          checked(
            'client/ask',
            permissionAnswer,
            await ask('permission', question.request.server, ['client/ask', { question }], signal),
          ),
      }),
      ...(asks.sample && {
        sample: {
          consent: async (request: SamplingRequest, signal?: AbortSignal) =>
            checked(
              'client/consent',
              consentAnswer,
              await ask('consent', request.server, ['client/consent', { request }], signal),
            ),
          model: async (request: SamplingRequest, signal?: AbortSignal) =>
            checked('client/sample', sampleAnswer, await put('client/sample', { request }, signal)),
        },
      }),
    }
  }

  #events({ types }: { readonly types: readonly string[] }): object {
    const board = this.#board
    if (!board) throw new InvalidInput('board/open comes before board/events.')
    for (const type of types) {
      if (this.#stops.has(type) || type === 'warning') continue
      const stop = board.on(type as 'state', (event) => {
        const changes = type === 'state' || type === 'list-changed'
        const snapshot = changes ? board.servers().find(({ name }) => name === event.server) : undefined
        this.#peer.notifyIfRead('board/event', {
          event: { type, ...(encodeErrors(event) as object) },
          ...(snapshot && { snapshot: encodeErrors(snapshot) }),
        })
      })
      this.#stops.set(type, stop)
    }
    return {}
  }

  async #ended(): Promise<void> {
    clearTimeout(this.#greeting)
    for (const stop of this.#stops.values()) stop()
    this.#host.ended(this)
    // A board that does not close is not worth more than its own time limit.
    await this.#board?.close().catch(() => undefined)
  }
}

/** The recording for `plugboard trace`, with the messages themselves where they are wanted. */
function trafficOf(recorder: TrafficRecorder, { after, limit, messages }: z.output<typeof traffic>): object {
  const entries = recorder.entries(after, limit)
  return {
    last: recorder.last,
    entries: messages ? entries.map((one) => ({ ...one, message: recorder.message(one.number) })) : entries,
  }
}
