// permission-prompt.ts: a question as rows on a terminal: styled, page by page where it is long, and no yes before all of it was
// shown. One key answers. The caller reads the keys.
import type { LineRole, QuestionLine, QuestionText } from '@plugboard/core/text/question-text'
import type { Colors } from '../colors.ts'

/** Shows lines and reads one key; undefined when the user leaves the question. */
export interface Asker {
  /** Drops what was typed before the question; false when the user left it. */
  ready(signal?: AbortSignal): Promise<boolean>
  show(text: string): void
  key<T>(prompt: string, accept: (key: string) => T | undefined, signal?: AbortSignal): Promise<T | undefined>
  readonly color: Colors
  /** The size of the screen. */
  size(): { readonly columns: number; readonly rows: number }
}

export interface Choice<T> {
  readonly means: T
  readonly key: string
  readonly label: string
  /** A no is accepted at any time. */
  readonly agrees: boolean
  /** Enter means it too. */
  readonly enter?: boolean
}

const ROUNDS = 50

/** Asks until there is an answer; leaving it is `otherwise`. A key that means nothing here is no answer. */
export async function askWhole<T>(
  asker: Asker,
  question: QuestionText,
  choices: readonly Choice<T>[],
  otherwise: T,
  signal?: AbortSignal,
): Promise<T> {
  const { color } = asker
  if (!(await asker.ready(signal))) return otherwise
  for (const line of question.brief) asker.show(styled(line, color))
  if (!question.complete) {
    asker.show(color.red('  It is too large to be shown in full, so the answer is no.'))
    return otherwise
  }
  let seen = !question.folded
  const labels = [...choices.map(({ label }) => label), ...(question.folded ? ['(v)iew all'] : [])]
  for (let round = 0; round < ROUNDS; round++) {
    const said = await asker.key(
      `  ${labels.join(', ')}: `,
      (key) => {
        if (key === 'v' && question.folded) return 'view'
        return choices.find((choice) => choice.key === key || (choice.enter && key === 'enter'))
      },
      signal,
    )
    if (said === undefined) return otherwise
    if (said !== 'view' && (seen || !said.agrees)) {
      asker.show(color.dim(`  → ${said.label.replace(/[()]/g, '')}`))
      return said.means
    }
    if (said !== 'view')
      asker.show(color.yellow('  Not all of it was shown yet. Here it is; then answer again.'))
    seen = (await page(asker, question.full, signal)) || seen
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
    const said = await asker.key(dim(prompt), (key) => PAGE_KEYS[key], signal)
    if (said === undefined || said === 'stop') return false
    if (said === 'next') continue
    for (const line of lines.slice(at)) asker.show(styled(line, asker.color))
    break
  }
  return true
}

const PAGE_KEYS: Readonly<Record<string, 'next' | 'all' | 'stop' | undefined>> = {
  enter: 'next',
  ' ': 'next',
  space: 'next',
  pagedown: 'next',
  a: 'all',
  q: 'stop',
  n: 'stop',
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
  added: (text, { green }) => green(text),
  removed: (text, { red }) => red(text),
}
