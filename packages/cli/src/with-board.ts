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
import { isTerminal } from './streams.ts'
import { WaitLine } from './terminal/wait-line.ts'
import type { BoardModule } from './verb-spec.ts'

export interface OpenedBoard {
  readonly board: Board
  /** Aborted by Ctrl-C. */
  readonly signal: AbortSignal
}

export interface OpenedLocalBoard extends OpenedBoard {
  readonly board: LocalBoard
  readonly configuration: Configuration
}

export interface WaitOptions {
  /** False for a verb that shows the states of the servers itself. */
  readonly showsWaits?: boolean
}

export async function withBoard<T>(
  invocation: Invocation,
  work: (opened: OpenedBoard) => Promise<T>,
  options: Pick<BoardBehaviour, 'elicit' | 'sample'> & WaitOptions = {},
): Promise<T> {
  // A user at a terminal may have to be asked about the folder first.
  if (isTerminal(0) && isTerminal(2)) await configurationToStart(invocation)
  const { showsWaits, ...behaviour } = options
  const waits = new Waits(invocation, showsWaits)
  // Its messages pass in another process.
  const remote = invocation.onMessage
    ? undefined
    : await openResidentBoard(invocation, waits.around(behaviour))
  if (!remote) return await withLocalBoard(invocation, work, options)
  return await during(invocation, { board: remote }, waits, work)
}

/** For verbs that need more than the interface of a board: it is opened in this process. */
export async function withLocalBoard<T>(
  invocation: Invocation,
  work: (opened: OpenedLocalBoard) => Promise<T>,
  { showsWaits, ...options }: BoardBehaviour & WaitOptions = {},
): Promise<T> {
  const configuration = await configurationToStart(invocation)
  const timeoutMs = timeoutOption(invocation)
  const waits = new Waits(invocation, showsWaits)
  const { openBoard } = await invocation.loadBoardVerb<BoardModule>('open-board')
  const board = await openBoard({
    host: invocation.host,
    configuration,
    catalog: true,
    // The user typed the command: that is consent wherever a rule says `ask`.
    caller: 'user',
    ...(timeoutMs !== undefined && { timeoutMs }),
    ...(invocation.onMessage && { onMessage: invocation.onMessage }),
    ...waits.around(options),
  })
  return await during(invocation, { board, configuration }, waits, work)
}

async function during<B extends { readonly board: Board }, T>(
  { output }: Invocation,
  opened: B,
  waits: Waits,
  work: (opened: B & { readonly signal: AbortSignal }) => Promise<T>,
): Promise<T> {
  waits.start(opened.board)
  opened.board.on('warning', ({ text }) => output.note(printable(text)))
  const interrupt = listenForInterrupt(new Cancelled('Interrupted.'))
  try {
    // Warnings about the start come first.
    await new Promise((done) => setImmediate(done))
    return await work({ ...opened, signal: interrupt.signal })
  } finally {
    waits.end()
    await opened.board.close()
    interrupt.release()
  }
}

/** The line that shows which servers are waited for, once there is a board; not drawn over a question. */
class Waits {
  readonly #invocation: Invocation
  readonly #isShown: boolean
  #line: WaitLine | undefined

  constructor(invocation: Invocation, showsWaits = true) {
    const { json, quiet } = invocation.output
    this.#invocation = invocation
    this.#isShown = showsWaits && !json && !quiet
  }

  start(board: Board): void {
    if (this.#isShown) this.#line = new WaitLine(board, this.#invocation.output)
  }

  around<O extends Pick<BoardBehaviour, 'elicit'>>(options: O): O {
    const { elicit } = options
    if (!elicit) return options
    return {
      ...options,
      elicit: (...asked: Parameters<typeof elicit>) =>
        this.#line ? this.#line.aside(() => elicit(...asked)) : elicit(...asked),
    }
  }

  end(): void {
    this.#line?.end()
  }
}

/**
 * The configuration for a verb that starts servers. The first time that the user's own servers would start in a folder,
 * the user is asked whether to trust it; the answer is kept either way.
 */
export async function configurationToStart(invocation: Invocation): Promise<Configuration> {
  const configuration = await invocation.configuration()
  const { output, host } = invocation
  if (!asksAboutFolder(configuration, output)) return configuration
  const { asksToTrust, trustFolder } = await import('./config-verbs/trust.ts')
  const trusted = await asksToTrust(configuration, invocation)
  await trustFolder(configuration, host, trusted)
  // Also after a no: the answer is part of the configuration now, and nothing asks again.
  return invocation.configuration({ again: true })
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
