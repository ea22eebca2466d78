// with-board.ts: a board for the duration of one verb: that of the resident process where there is one, else one in this
// process. Closed whatever happens, and at once by Ctrl-C. A second Ctrl-C does not wait.

import { join, sep } from 'node:path'
import type { Board, BoardBehaviour, LocalBoard } from '@plugboard/core'
import { type Configuration, neutralFolder, printable } from '@plugboard/core/config'
import { startsCommand } from '@plugboard/core/config/transport-traits'
import { Cancelled } from '@plugboard/core/errors'
import type { Invocation } from './context.ts'
import { openResidentBoard } from './resident/open-board.ts'
import { listenForInterrupt } from './shared/interrupt.ts'
import { timeoutOption } from './shared/timeouts.ts'
import type { BoardModule } from './spec.ts'
import { isTerminal } from './streams.ts'

export interface OpenedBoard {
  readonly board: Board
  /** Aborted by Ctrl-C. */
  readonly signal: AbortSignal
}

export interface OpenedLocalBoard extends OpenedBoard {
  readonly board: LocalBoard
  readonly configuration: Configuration
}

export async function withBoard<T>(
  invocation: Invocation,
  work: (opened: OpenedBoard) => Promise<T>,
  options: Pick<BoardBehaviour, 'elicit' | 'sample'> = {},
): Promise<T> {
  // A user at a terminal may have to be asked about the folder first.
  if (isTerminal(0) && isTerminal(2)) await configurationToStart(invocation)
  const remote = await openResidentBoard(invocation, options)
  return remote
    ? await during(invocation, { board: remote }, work)
    : withLocalBoard(invocation, work, options)
}

/** For verbs that need more than the interface of a board: it is opened in this process. */
export async function withLocalBoard<T>(
  invocation: Invocation,
  work: (opened: OpenedLocalBoard) => Promise<T>,
  options: BoardBehaviour = {},
): Promise<T> {
  const configuration = await configurationToStart(invocation)
  const timeoutMs = timeoutOption(invocation)
  const { openBoard } = await invocation.loadBoardVerb<BoardModule>('open-board')
  const board = await openBoard({
    host: invocation.host,
    configuration,
    // The user typed the command: that is consent wherever a rule says `ask`.
    caller: 'user',
    ...(timeoutMs !== undefined && { timeoutMs }),
    ...options,
  })
  return await during(invocation, { board, configuration }, work)
}

async function during<B extends { readonly board: Board }, T>(
  { output }: Invocation,
  opened: B,
  work: (opened: B & { readonly signal: AbortSignal }) => Promise<T>,
): Promise<T> {
  opened.board.on('warning', ({ text }) => output.note(printable(text)))
  const interrupt = listenForInterrupt(new Cancelled('Interrupted.'))
  try {
    return await work({ ...opened, signal: interrupt.signal })
  } finally {
    await opened.board.close()
    interrupt.release()
  }
}

/**
 * The configuration for a verb that starts servers. The first time that the user's own servers would start in a folder,
 * the user is asked whether to trust it; the answer is kept either way.
 */
export async function configurationToStart(invocation: Invocation): Promise<Configuration> {
  const configuration = await invocation.configuration()
  const { output, host } = invocation
  const { folder, place, servers } = configuration
  const concerned = servers.some(
    ({ disabled, entry }) =>
      !disabled && startsCommand(entry) && entry.cwd?.startsWith(join(neutralFolder(place), sep)),
  )
  if (folder.trusted || folder.asked || !concerned || output.json || output.quiet) return configuration
  if (!isTerminal(0) || !isTerminal(2)) return configuration
  const { asksYes, meaning, trustFolder } = await import('./config-verbs/trust.ts')
  output.note(meaning(place.root))
  const trusted = await asksYes(
    'Trust this folder? You are asked once; `plugboard trust` changes the answer.',
  )
  await trustFolder(configuration, host, trusted)
  return trusted ? invocation.configuration({ again: true }) : configuration
}
