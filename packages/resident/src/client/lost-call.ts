// lost-call.ts: what is said about a call whose resident process ended before it answered.
import { OutcomeUnknown } from '@plugboard/core/errors'

export interface LostCall {
  readonly server?: string
  readonly tool: string
}

export function outcomeUnknown({ server, tool }: LostCall, cause?: unknown): OutcomeUnknown {
  const what = server === undefined ? tool : `${server}.${tool}`
  return new OutcomeUnknown(
    `The resident board ended while ${what} was running; whether it was done is unknown.`,
    {
      ...(server !== undefined && { server }),
      hint: 'Check what happened before you call it again.',
      ...(cause !== undefined && { cause }),
    },
  )
}
