// page-session.ts: one page: its board, its events, and its requests. A page that leaves has its calls cancelled and its
// board closed; shared servers go on.
import type { BoardBehaviour, EventType, LocalBoard, Prompt } from '@plugboard/core'
import { InvalidInput } from '@plugboard/core/errors'
import type { PermissionQuestion } from '@plugboard/core/permissions'
import { encodeErrors } from '../board-encoding.ts'
import { BOARD_METHODS } from '../board-methods.ts'
import { noSuchMethod, Peer, type RequestContext } from '../json-rpc-socket.ts'
import { checked, elicitAnswer, permissionAnswer } from '../params.ts'
import type { OpenParams } from '../protocol.ts'
import type { BoardPlace, PageContext, PageHost } from './page-host.ts'
import { PAGE_METHODS } from './page-methods.ts'
import type { PageStream } from './page-stream.ts'
import { WEB_LIMITS } from './web-limits.ts'

const EVENTS: readonly EventType[] = [
  'state',
  'configuration-changed',
  'configuration-fault',
  'configuration-mended',
  'log',
  'list-changed',
  'resource-updated',
  'warning',
  'call-started',
  'call-ended',
]

export class PageSession {
  readonly #host: PageHost
  readonly #place: BoardPlace | undefined
  readonly #peer: Peer
  readonly #stops: (() => void)[] = []
  #opening: Promise<PageContext> | undefined
  #context: PageContext | undefined

  constructor(host: PageHost, stream: PageStream, board: string, ended: () => void) {
    this.#host = host
    this.#place = host.place(board)
    this.#peer = new Peer(stream, {
      request: (method, params, context) => this.#request(method, params, context),
      closed: () => {
        for (const stop of this.#stops) stop()
        ended()
        // A board that does not close is not worth more than its own time limit.
        void this.#context?.board.close().catch(() => undefined)
      },
    })
  }

  get hasBoard(): boolean {
    return this.#context !== undefined
  }

  close(): void {
    this.#peer.close()
  }

  async #request(method: string, params: unknown, context: RequestContext): Promise<unknown> {
    this.#opening ??= this.#open()
    const page = await this.#opening
    if (method === 'page/open') return this.#opened(page)
    const row = PAGE_METHODS.get(method)
    if (row) return await row(page, params, context)
    const ofBoard = BOARD_METHODS.get(method)
    if (!ofBoard) throw noSuchMethod(method)
    return await ofBoard(page.board, params, context)
  }

  #opened({ board, params }: PageContext): unknown {
    const { version, startedAt } = this.#host
    // The page shows the servers coming up, so it is drawn before the first of them takes the machine.
    const start = setTimeout(() => void board.ready().catch(() => undefined), WEB_LIMITS.startMs)
    this.#stops.push(() => clearTimeout(start))
    return {
      version,
      pid: process.pid,
      startedAt,
      cwd: params.cwd,
      isRestored: this.#place?.isRestored === true,
      appOrigin: this.#host.appOrigin(),
      faults: board.configurationFaults(),
      servers: board.servers().map(encodeErrors),
      questions: this.#host.questions.list(),
    }
  }

  async #open(): Promise<PageContext> {
    if (!this.#place)
      throw new InvalidInput('The board of this page is not known any more.', {
        hint: 'Run `plugboard ui` in its folder again.',
      })
    const { cwd, env } = this.#place
    const params: OpenParams = { cwd, env, caller: 'user', watch: true, asks: {} }
    const board = await this.#host.open(params, this.#behaviour())
    if (typeof board === 'string') throw new InvalidInput(`No board can be opened here: ${board}.`)
    if (this.#peer.isClosed) await board.close()
    this.#context = {
      host: this.#host,
      board,
      params,
      configuration: () => this.#host.configuration(params),
    }
    this.#follow(board)
    return this.#context
  }

  /** A click on a page is consent, as a typed command is. Questions of servers go to every page. */
  #behaviour(): BoardBehaviour {
    const { questions } = this.#host
    return {
      caller: 'user',
      watch: true,
      elicit: async (prompt: Prompt, signal?: AbortSignal) =>
        checked(
          'questions/answer',
          elicitAnswer,
          await questions.ask(
            { kind: 'elicitation', server: prompt.server, question: prompt, from: 'page' },
            undefined,
            signal,
          ),
        ),
      ask: async ({ signal, ...question }: PermissionQuestion) =>
        checked(
          'questions/answer',
          permissionAnswer,
          await questions.ask(
            { kind: 'permission', server: question.request.server, question, from: 'page' },
            undefined,
            signal,
          ),
        ),
    }
  }

  #follow(board: LocalBoard): void {
    for (const type of EVENTS)
      this.#stops.push(
        board.on(type, (event) => {
          const changes = type === 'state' || type === 'list-changed'
          const name = (event as { readonly server?: string }).server
          const snapshot = changes ? board.servers().find((one) => one.name === name) : undefined
          this.#peer.notifyIfRead('board/event', {
            event: { type, ...(encodeErrors(event) as object) },
            ...(snapshot && { snapshot: encodeErrors(snapshot) }),
            ...(type === 'configuration-changed' && { servers: board.servers().map(encodeErrors) }),
          })
        }),
      )
    this.#stops.push(
      this.#host.questions.onChange((event) => this.#peer.notify('questions/changed', event)),
      this.#host.traffic.onRecorded(() =>
        this.#peer.notifyIfRead('traffic/recorded', { last: this.#host.traffic.last }),
      ),
    )
  }
}
