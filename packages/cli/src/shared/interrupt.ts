// interrupt.ts: Ctrl-C and SIGTERM as one abort signal for the time of a verb. The second one ends the process at once.
import { EXIT } from '../output.ts'

/** How long the reader of the output has after an interruption. */
const UNREAD_MS = 1000

export interface Interrupt {
  /** Aborted by the first Ctrl-C or SIGTERM. */
  readonly signal: AbortSignal
  /** From here on the signals do what they do by default, and output that is not read holds an interrupted process no longer. */
  release(): void
}

export function listenForInterrupt(reason?: Error): Interrupt {
  const controller = new AbortController()
  const onSignal = () => {
    if (controller.signal.aborted) process.exit(EXIT.interrupted)
    controller.abort(reason)
  }
  process.on('SIGINT', onSignal)
  process.on('SIGTERM', onSignal)
  return {
    signal: controller.signal,
    release: () => {
      process.off('SIGINT', onSignal)
      process.off('SIGTERM', onSignal)
      if (controller.signal.aborted) setTimeout(() => process.exit(), UNREAD_MS).unref()
    },
  }
}
