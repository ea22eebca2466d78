// status-line.ts: how full the model's window is, what was used and what it cost, in one line.
import type { Model, Usage } from '@plugboard/agent'
import type { Session } from './session.ts'

/** In dollars for a million tokens. */
export interface Price {
  readonly input: number
  readonly output: number
}

export function statusLine(session: Session | undefined, model: Model, isRunning: boolean): string {
  if (!session) return `${model.id} · starting`
  const { usage } = session
  const parts = [
    session.model.id,
    `${percentOf(session)} % of ${short(session.model.contextTokens)} context`,
    ...(usage.inputTokens + usage.outputTokens > 0
      ? [`${short(usage.inputTokens)} in, ${short(usage.outputTokens)} out`]
      : []),
    ...(session.price ? [costText(usage, session.price)] : []),
    ...(session.plan?.isOn ? ['plan mode'] : []),
    ...(session.controlsComputer ? ['COMPUTER CONTROL IS ON'] : []),
    ...(isRunning ? ['Esc stops'] : []),
  ]
  return parts.join(' · ')
}

export function percentOf(session: Session): number {
  return Math.min(100, Math.round((100 * session.contextTokens) / Math.max(1, session.model.contextTokens)))
}

export function costText({ inputTokens, outputTokens }: Usage, { input, output }: Price): string {
  const dollars = (inputTokens * input + outputTokens * output) / 1_000_000
  return `$${dollars.toFixed(dollars < 1 ? 4 : 2)}`
}

/** 1234 → 1.2k */
export function short(tokens: number): string {
  if (tokens < 1000) return String(tokens)
  if (tokens < 1_000_000) return `${(tokens / 1000).toFixed(tokens < 10_000 ? 1 : 0)}k`
  return `${(tokens / 1_000_000).toFixed(1)}M`
}
