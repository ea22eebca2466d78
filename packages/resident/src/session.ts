// session.ts: one client of the resident process: its hello, its board, its events and the questions to its terminal. A
// client that leaves, in whatever way, has its calls cancelled and its board closed; shared servers go on.
import { timingSafeEqual } from 'node:crypto'
import type { Socket } from 'node:net'
import type { BoardBehaviour, LocalBoard, Prompt, RawAnswer, SamplingRequest } from '@plugboard/core'
import { InvalidInput } from '@plugboard/core/errors'
import type { PermissionQuestion } from '@plugboard/core/permissions'
import { BOARD_METHODS } from './board-methods.ts'
import { encodeErrors } from './encoding.ts'
import {
  type HelloParams,
  type HelloResult,
  type OpenParams,
  type OpenResult,
  PROTOCOL,
  type StatusResult,
} from './protocol.ts'
import { noSuchMethod, Peer, type RequestContext } from './wire.ts'

export interface SessionHost {
  readonly token: string
  readonly version: string
  readonly startedAt: number
  /** Opens a board for the client; a text says why the client has to open its own. */
  open(params: OpenParams, behaviour: BoardBehaviour): Promise<LocalBoard | string>
  /** Why such a client has to open its own board; undefined when it need not. */
  refusal(params: OpenParams): Promise<string | undefined>
  status(): Promise<StatusResult>
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

  constructor(host: SessionHost, socket: Socket) {
    this.#host = host
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
    if (method === 'board/hello') return this.#hello(params as HelloParams)
    // A client of another protocol may still ask an old process to make room.
    if (this.#greeted === 'no' || (this.#greeted === 'for-leave' && method !== 'board/leave')) {
      setImmediate(() => this.#peer.close())
      throw new InvalidInput('The first message has to be board/hello, in this version of the protocol.')
    }
    switch (method) {
      case 'board/open':
        return await this.#open(params as OpenParams)
      case 'board/fits':
        return { why: await this.#host.refusal(params as OpenParams) }
      case 'board/status':
        return await this.#host.status()
      case 'board/leave':
        // The answer goes out first.
        setImmediate(() => this.#host.leave((params as { readonly why: string }).why))
        return {}
      case 'board/events':
        return this.#events(params as { readonly types: readonly string[] })
    }
    const row = Object.hasOwn(BOARD_METHODS, method) ? BOARD_METHODS[method] : undefined
    if (!row) throw noSuchMethod(method)
    if (!this.#board) throw new InvalidInput('board/open comes before other requests about a board.')
    return await row(this.#board, params ?? {}, context)
  }

  #hello({ token, protocol }: HelloParams): HelloResult {
    const { version, startedAt } = this.#host
    if (typeof token !== 'string' || !isSame(token, this.#host.token)) {
      // It gets no second try on this connection.
      setImmediate(() => this.#peer.close())
      throw new InvalidInput('The token is not the one of this process.')
    }
    this.#greeted = protocol === PROTOCOL ? 'yes' : 'for-leave'
    return { protocol: PROTOCOL, version, pid: process.pid, startedAt }
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
    return {
      kind: 'opened',
      stateDir: board.stateDir,
      diagnostics: board.configurationFaults(),
      servers: board.servers().map(encodeErrors),
    }
  }

  /** Questions go to the terminal of this client, and to no other. */
  #behaviour({ asks, caller, timeoutMs, watch }: OpenParams): BoardBehaviour {
    const put = async (method: string, params: unknown, signal?: AbortSignal) =>
      await this.#peer.request(method, params, { signal })
    return {
      caller,
      ...(timeoutMs !== undefined && { timeoutMs }),
      ...(watch && { watch }),
      ...(asks.elicit && {
        elicit: async (prompt: Prompt, signal?: AbortSignal) =>
          (await put('client/elicit', { prompt }, signal)) as RawAnswer,
      }),
      ...(asks.ask && {
        ask: async ({ signal, ...question }: PermissionQuestion) =>
          (await put('client/ask', { question }, signal)) as 'no',
      }),
      ...(asks.sample && {
        sample: {
          consent: async (request: SamplingRequest, signal?: AbortSignal) =>
            (await put('client/consent', { request }, signal)) as 'no',
          model: async (request: SamplingRequest, signal?: AbortSignal) =>
            (await put('client/sample', { request }, signal)) as never,
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
    for (const stop of this.#stops.values()) stop()
    this.#host.ended(this)
    // A board that does not close is not worth more than its own time limit.
    await this.#board?.close().catch(() => undefined)
  }
}

function isSame(given: string, expected: string): boolean {
  const [a, b] = [Buffer.from(given), Buffer.from(expected)]
  return a.length === b.length && timingSafeEqual(a, b)
}
