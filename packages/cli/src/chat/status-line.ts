// status-line.ts: how full the model's window is, what was used and what it cost, in one line.
import type { Model, Usage } from '@plugboard/agent'
import { width } from '../terminal/layout.ts'
import type { Session } from './session.ts'

/** In dollars for a million tokens. */
export interface Price {
  readonly input: number
  readonly output: number
}

/** Where it is too wide, figures and the name of the model give way to what the user has to know. */
export function statusLine(
  session: Session | undefined,
  model: Model,
  isRunning: boolean,
  columns: number,
): string {
  if (!session) return `${model.id} · starting`
  const { usage } = session
  const used = usage.inputTokens + usage.outputTokens > 0
  const [name, counts] = ['name', 'counts'] as const
  const parts: readonly (readonly [text: string, kind?: typeof name | typeof counts])[] = [
    [session.model.id, name],
    [`${percentOf(session)} % of ${short(session.model.contextTokens)} context`],
    ...(used ? [[`${short(usage.inputTokens)} in, ${short(usage.outputTokens)} out`, counts] as const] : []),
    ...(session.price ? [[costText(usage, session.price)] as const] : []),
    ...(session.plan?.isOn ? [['plan mode'] as const] : []),
    ...(session.controlsComputer ? [['COMPUTER CONTROL IS ON'] as const] : []),
    ...(isRunning ? [['Esc stops'] as const] : []),
  ]
  const without = (...left: readonly string[]) =>
    parts.flatMap(([text, kind = '']) => (left.includes(kind) ? [] : [text])).join(' · ')
  const lines = [without(), without(counts), without(name), without(counts, name)]
  return lines.find((line) => width(line) <= columns) ?? without(counts, name)
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
