// with-board.ts: a board for the duration of one verb: opened from the configuration, closed whatever happens, and closed
// at once by Ctrl-C. A second Ctrl-C does not wait.

import { join, sep } from 'node:path'
import { type BoardBehaviour, Cancelled, type LocalBoard, openBoard } from '@plugboard/core'
import { type Configuration, neutralFolder, printable } from '@plugboard/core/config'
import { startsCommand } from '@plugboard/core/config/transport-traits'
import { InvalidInput } from '@plugboard/core/errors'
import { CONNECT_LIMITS } from '@plugboard/core/limits'
import type { Invocation } from './context.ts'
import { listenForInterrupt } from './shared/interrupt.ts'
import { isTerminal } from './streams.ts'

export interface OpenedBoard {
  readonly board: LocalBoard
  readonly configuration: Configuration
  /** Aborted by Ctrl-C. */
  readonly signal: AbortSignal
}

export async function withBoard<T>(
  invocation: Invocation,
  work: (opened: OpenedBoard) => Promise<T>,
  options: BoardBehaviour = {},
): Promise<T> {
  const configuration = await configurationToStart(invocation)
  const timeoutMs = timeoutOption(invocation)
  const note = (text: string) => invocation.output.note(printable(text))
  const board = await openBoard({
    host: invocation.host,
    configuration,
    // The user typed the command: that is consent wherever a rule says `ask`.
    caller: 'user',
    ...(timeoutMs !== undefined && { timeoutMs }),
    ...options,
  })
  board.on('warning', ({ text }) => note(text))
  const interrupt = listenForInterrupt(new Cancelled('Interrupted.'))
  try {
    return await work({ board, configuration, signal: interrupt.signal })
  } finally {
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
  const { folder, place, servers } = configuration
  const concerned = servers.some(
    ({ disabled, entry }) =>
      !disabled && startsCommand(entry) && entry.cwd?.startsWith(join(neutralFolder(place), sep)),
  )
  if (folder.trusted || folder.asked || !concerned || output.json || output.quiet) return configuration
  if (!isTerminal(0) || !isTerminal(2)) return configuration
  const { asksYes, meaning } = await import('./config-verbs/trust.ts')
  const { trustFolder } = await import('@plugboard/core/config/manage')
  output.note(meaning(place.root))
  const trusted = await asksYes(
    'Trust this folder? You are asked once; `plugboard trust` changes the answer.',
  )
  await trustFolder(configuration, host, trusted)
  return trusted ? invocation.configuration({ again: true }) : configuration
}

export function timeoutOption(invocation: Invocation): number | undefined {
  const text = invocation.option('timeout')
  if (text === undefined) return undefined
  const value = Number(text)
  if (!Number.isInteger(value) || value <= 0 || value > 2 ** 31 - 1)
    throw new InvalidInput(`--timeout "${text}" is not a number of milliseconds.`)
  return value
}

/** How long one connect may take, and so how long showing the board may. */
export function connectTimeout(invocation: Invocation): number {
  const fromEnv = Number(invocation.host.env['MCP_TIMEOUT'])
  const usual = Number.isInteger(fromEnv) && fromEnv > 0 ? fromEnv : CONNECT_LIMITS.timeoutMs
  return timeoutOption(invocation) ?? usual
}
