// permission-prompt.ts: a question as rows on a terminal: styled, page by page where it is long, and no yes before all of it was
// shown. The caller reads the lines.
import type { LineRole, QuestionLine, QuestionText } from '@plugboard/core/text/question-text'
import type { Colors } from '../colors.ts'

/** Shows lines and reads one; undefined when the user leaves the question. */
export interface Asker {
  show(text: string): void
  line(prompt: string, signal?: AbortSignal): Promise<string | undefined>
  readonly color: Colors
  /** The size of the screen. */
  size(): { readonly columns: number; readonly rows: number }
}

export interface Choice<T> {
  readonly means: T
  readonly words: readonly string[]
  readonly label: string
  /** A no is accepted at any time. */
  readonly agrees: boolean
}

const WRONG_WORDS = 3
const ROUNDS = 50

/** Asks until there is an answer; leaving it, or three unknown answers, is `otherwise`. */
export async function askWhole<T>(
  asker: Asker,
  question: QuestionText,
  choices: readonly Choice<T>[],
  otherwise: T,
  signal?: AbortSignal,
): Promise<T> {
  const { color } = asker
  for (const line of question.brief) asker.show(styled(line, color))
  if (!question.complete) {
    asker.show(color.red('  It is too large to be shown in full, so the answer is no.'))
    return otherwise
  }
  let seen = !question.folded
  let wrong = 0
  for (let round = 0; round < ROUNDS && wrong < WRONG_WORDS; round++) {
    const labels = choices.map(({ label }) => label)
    const view = question.folded ? ['(v)iew all'] : []
    const said = await asker.line(`  ${[...labels, ...view].join(', ')}: `, signal)
    if (said === undefined) return otherwise
    const word = said.trim().toLowerCase()
    if (question.folded && (word === 'v' || word === 'view')) {
      seen = (await page(asker, question.full, signal)) || seen
      continue
    }
    const choice = choices.find(({ words }) => words.includes(word))
    if (!choice) wrong++
    else if (seen || !choice.agrees) return choice.means
    else {
      asker.show(color.yellow('  Not all of it was shown yet. Here it is; then answer again.'))
      seen = await page(asker, question.full, signal)
    }
  }
  return otherwise
}

/** True when everything was shown. */
async function page(
  asker: Asker,
  lines: readonly QuestionLine[],
  signal: AbortSignal | undefined,
): Promise<boolean> {
  const { dim } = asker.color
  const height = Math.max(5, asker.size().rows - 3)
  for (let at = 0; at < lines.length; ) {
    for (const line of lines.slice(at, at + height)) asker.show(styled(line, asker.color))
    at += height
    if (at >= lines.length) break
    const prompt = `  -- ${lines.length - at} more lines. Enter: next page, a: all of it, q: stop -- `
    const said = await asker.line(dim(prompt), signal)
    if (said === undefined) return false
    const word = said.trim().toLowerCase()
    if (word === 'q' || word === 'n' || word === 'no') return false
    if (word !== 'a') continue
    for (const line of lines.slice(at)) asker.show(styled(line, asker.color))
    break
  }
  return true
}

export function styled({ role, text }: QuestionLine, color: Colors): string {
  return STYLES[role](text, color)
}

const STYLES: Readonly<Record<LineRole, (text: string, color: Colors) => string>> = {
  head: (text, { bold, yellow }) => `${yellow('?')} ${bold(text)}`,
  destructive: (text, { bold, red }) => bold(red(text)),
  writes: (text, { yellow }) => yellow(text),
  'read-only': (text, { green }) => green(text),
  note: (text, { dim }) => dim(text),
  value: (text) => text,
  fold: (text, { yellow }) => yellow(text),
  change: (text, { yellow }) => yellow(text),
}
