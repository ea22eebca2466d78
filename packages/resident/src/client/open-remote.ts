// open-remote.ts: a board of the resident process for one command: connect or start, open, and answer its questions at this
// terminal.
import type { BoardBehaviour, Prompt, SamplingRequest } from '@plugboard/core'
import { isObject } from '@plugboard/core/json'
import type { PermissionQuestion } from '@plugboard/core/permissions'
import type { ResidentPlace } from '../place.ts'
import type { OpenParams, OpenResult } from '../protocol.ts'
import { noSuchMethod, type Peer, type PeerHooks, type RequestContext } from '../wire.ts'
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
  const hooks: PeerHooks = {
    request: (method, given, context) => answered(prompts, method, given, context),
    notification: (method, given) => {
      if (board) board.notified(method, given)
      else early.push([method, given])
    },
  }
  const dialed = await reach(options, hooks)
  if (typeof dialed === 'string') return { kind: 'none', why: dialed }
  const opened = await open(dialed, params)
  if (opened.kind === 'refused') {
    dialed.close()
    return { kind: 'none', why: opened.why }
  }
  board = new RemoteBoard({
    peer: dialed,
    params,
    opened,
    redial: async () => {
      const again = await reach(options, hooks)
      if (typeof again === 'string') return undefined
      const reopened = await open(again, params)
      return reopened.kind === 'opened' ? again : undefined
    },
  })
  for (const [method, given] of early) board.notified(method, given)
  return { kind: 'opened', board }
}

async function open(peer: Peer, params: OpenParams): Promise<OpenResult> {
  return (await peer.request('board/open', params)) as OpenResult
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
