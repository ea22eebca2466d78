// with-board.ts: a board for the duration of one verb: opened from the configuration, closed whatever happens, and closed
// at once by Ctrl-C. A second Ctrl-C does not wait.

import { join, sep } from 'node:path'
import { type BoardBehaviour, Cancelled, type LocalBoard, openBoard } from '@plugboard/core'
import { type Configuration, neutralFolder, printable } from '@plugboard/core/config'
import { startsCommand } from '@plugboard/core/config/transport-traits'
import type { Invocation } from './context.ts'
import { listenForInterrupt } from './shared/interrupt.ts'
import { timeoutOption } from './shared/timeouts.ts'
import { saveCatalog } from './shared/tool-catalog.ts'
import { isTerminal } from './streams.ts'
import { WaitLine } from './terminal/wait-line.ts'

export interface OpenedBoard {
  readonly board: LocalBoard
  readonly configuration: Configuration
  /** Aborted by Ctrl-C. */
  readonly signal: AbortSignal
}

export async function withBoard<T>(
  invocation: Invocation,
  work: (opened: OpenedBoard) => Promise<T>,
  {
    showsWaits = true,
    ...options
  }: BoardBehaviour & {
    /** False for a verb that shows the states of the servers itself. */
    readonly showsWaits?: boolean
  } = {},
): Promise<T> {
  const configuration = await configurationToStart(invocation)
  const timeoutMs = timeoutOption(invocation)
  const note = (text: string) => invocation.output.note(printable(text))
  const { elicit } = options
  const board = await openBoard({
    host: invocation.host,
    configuration,
    // The user typed the command: that is consent wherever a rule says `ask`.
    caller: 'user',
    ...(timeoutMs !== undefined && { timeoutMs }),
    ...options,
    // The line of waits must not be drawn over a question.
    ...(elicit && { elicit: (...asked) => (waits ? waits.aside(() => elicit(...asked)) : elicit(...asked)) }),
  })
  const { json, quiet } = invocation.output
  const waits = showsWaits && !json && !quiet ? new WaitLine(board, invocation.output) : undefined
  board.on('warning', ({ text }) => note(text))
  const interrupt = listenForInterrupt(new Cancelled('Interrupted.'))
  try {
    return await work({ board, configuration, signal: interrupt.signal })
  } finally {
    waits?.end()
    saveCatalog(board, configuration.servers, board.stateDir)
    await board.close()
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
  const { place } = configuration
  if (!asksAboutFolder(configuration, output)) return configuration
  const { asksYes, meaning } = await import('./config-verbs/trust.ts')
  const { trustFolder } = await import('@plugboard/core/config/manage')
  output.note(meaning(place.root))
  const trusted = await asksYes(
    'Trust this folder? You are asked once; `plugboard trust` changes the answer.',
  )
  await trustFolder(configuration, host, trusted)
  return trusted ? invocation.configuration({ again: true }) : configuration
}

/** Whether the user is about to be asked. */
export function asksAboutFolder(
  { folder, place, servers }: Configuration,
  output: Invocation['output'],
): boolean {
  if (folder.trusted || folder.asked || output.json || output.quiet || !isTerminal(0) || !isTerminal(2))
    return false
  return servers.some(
    ({ disabled, entry }) =>
      !disabled && startsCommand(entry) && entry.cwd?.startsWith(join(neutralFolder(place), sep)) === true,
  )
}
