// interrupt.ts: Ctrl-C and SIGTERM as one abort signal for the time of a verb. The second one ends the process at once.
import { EXIT } from '../output.ts'

export interface Interrupt {
  /** Aborted by the first Ctrl-C or SIGTERM. */
  readonly signal: AbortSignal
  /** From here on the signals do what they do by default. */
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
    },
  }
}
