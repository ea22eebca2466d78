// open-remote.ts: a board of the resident process for one command: connect or start, open, and answer its questions at this
// terminal.
import type { BoardBehaviour, Prompt, SamplingRequest } from '@plugboard/core'
import { isObject } from '@plugboard/core/json'
import type { PermissionQuestion } from '@plugboard/core/permissions'
import {
  noSuchMethod,
  type Peer,
  PeerClosed,
  type PeerHooks,
  type RequestContext,
} from '../json-rpc-socket.ts'
import type { OpenParams, OpenResult } from '../protocol.ts'
import { ANSWERED_IN_PAGE } from '../questions.ts'
import type { ResidentPlace } from '../socket-paths.ts'
import { type Dialed, dial } from './dial.ts'
import { RemoteBoard } from './remote-board.ts'

/** What the terminal can be asked. */
export type Prompts = Pick<BoardBehaviour, 'elicit' | 'ask' | 'sample'>

export interface OpenRemoteOptions {
  readonly place: ResidentPlace
  readonly version: string
  readonly params: Omit<OpenParams, 'asks'>
  readonly prompts: Prompts
  /** Starts the process when none runs; left out, none is started. */
  readonly start?: ((hooks: PeerHooks) => Promise<Dialed>) | undefined
}

export type OpenedRemote =
  | { readonly kind: 'opened'; readonly board: RemoteBoard }
  /** The command opens its own board. */
  | { readonly kind: 'none'; readonly why: string }

export async function openRemote(options: OpenRemoteOptions): Promise<OpenedRemote> {
  const { prompts } = options
  const params: OpenParams = {
    ...options.params,
    asks: {
      ...(prompts.elicit && { elicit: true }),
      ...(prompts.ask && { ask: true }),
      ...(prompts.sample && { sample: true }),
    },
  }
  let board: RemoteBoard | undefined
  const early: (readonly [string, unknown])[] = []
  const tell = (text: string) => board?.warn(text)
  const withdrawn = new WithdrawnQuestions(tell)
  const hooks: PeerHooks = {
    request: (method, given, context) =>
      withdrawn.follow(answered(prompts, method, given, context), context.signal),
    cancelledTooLate: (reason) => {
      if (reason === ANSWERED_IN_PAGE)
        tell('The question was answered in the browser first; your answer was not used.')
    },
    notification: (method, given) => {
      if (board) board.notified(method, given)
      else early.push([method, given])
    },
  }
  const first = await opened(options, params, hooks)
  if (first.kind === 'none') return first
  const remote = new RemoteBoard({
    peer: first.peer,
    params,
    opened: first.result,
    questionsClosed: () => withdrawn.closed(),
    redial: async () => {
      const again = await opened(options, params, hooks)
      return again.kind === 'opened' ? again.peer : undefined
    },
  })
  // The caller listens as soon as it has the board.
  setImmediate(() => {
    board = remote
    for (const [method, given] of early) remote.notified(method, given)
  })
  return { kind: 'opened', board: remote }
}

/**
 * Questions at this terminal that a page of the board was quicker to answer. The user is told when the prompt is off the screen,
 * and the answer of the call waits for that: both can arrive in one piece.
 */
class WithdrawnQuestions {
  readonly #closing = new Set<Promise<unknown>>()
  readonly #tell: (text: string) => void

  constructor(tell: (text: string) => void) {
    this.#tell = tell
  }

  follow<T>(asking: Promise<T>, signal: AbortSignal): Promise<T> {
    const onAbort = () => {
      const done = asking
        .catch(() => undefined)
        .then(() => {
          this.#closing.delete(done)
          const { reason } = signal
          if (reason instanceof Error && reason.message === ANSWERED_IN_PAGE)
            this.#tell('The question was answered in the browser.')
        })
      this.#closing.add(done)
    }
    signal.addEventListener('abort', onAbort, { once: true })
    const over = () => signal.removeEventListener('abort', onAbort)
    asking.then(over, over)
    return asking
  }

  async closed(): Promise<void> {
    await Promise.all(this.#closing)
  }
}

type Opened = {
  readonly kind: 'opened'
  readonly peer: Peer
  readonly result: Extract<OpenResult, { kind: 'opened' }>
}

/** A board on a process that runs or is started. One that ends in between is looked for once more. */
async function opened(
  options: OpenRemoteOptions,
  params: OpenParams,
  hooks: PeerHooks,
  attempts = 2,
): Promise<Opened | { readonly kind: 'none'; readonly why: string }> {
  const peer = await reach(options, hooks)
  if (typeof peer === 'string') return { kind: 'none', why: peer }
  try {
    const result = (await peer.request('board/open', params)) as OpenResult
    if (result.kind === 'opened') return { kind: 'opened', peer, result }
    peer.close()
    return { kind: 'none', why: result.why }
  } catch (error) {
    peer.close()
    if (!(error instanceof PeerClosed)) throw error
    return attempts > 1
      ? await opened(options, params, hooks, attempts - 1)
      : { kind: 'none', why: error.message }
  }
}

/** A connection, or why there is none. */
async function reach({ place, version, start }: OpenRemoteOptions, hooks: PeerHooks): Promise<Peer | string> {
  const running = await dial(place, version, hooks)
  const dialed =
    start && (running.kind === 'absent' || running.kind === 'replaced') ? await start(hooks) : running
  if (dialed.kind === 'connected') return dialed.peer
  return dialed.kind === 'unusable' ? dialed.why : 'no resident process runs'
}

/** A question of a server or of the permissions, asked at this terminal. */
async function answered(
  { elicit, ask, sample }: Prompts,
  method: string,
  given: unknown,
  { signal }: RequestContext,
): Promise<unknown> {
  const params = isObject(given) ? given : {}
  // The process sends what these types describe: it is the same program.
  if (method === 'client/elicit' && elicit) return await elicit(promptOf(params.prompt as Prompt), signal)
  if (method === 'client/ask' && ask) return await ask({ ...(params.question as PermissionQuestion), signal })
  if (method === 'client/consent' && sample)
    return await sample.consent(params.request as SamplingRequest, signal)
  if (method === 'client/sample' && sample)
    return await sample.model(params.request as SamplingRequest, signal)
  throw noSuchMethod(method)
}

/** A URL travels as text. */
function promptOf(prompt: Prompt): Prompt {
  return prompt.mode === 'url' ? { ...prompt, url: new URL(String(prompt.url)) } : prompt
}
