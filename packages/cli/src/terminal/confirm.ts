// confirm.ts: a yes or a no at the terminal, by one key: the user sees the whole question first, and what was typed before it
// is no answer. Enter, Esc and Ctrl-D are a no.
import { type QuestionParts, questionText } from '@plugboard/core/text/question-text'
import type { Colors } from '../colors.ts'
import { columnsOf, screenRows } from '../streams.ts'
import { dropTypeAhead, PromptAborted, pressKey, questionFd, tell } from './keys.ts'
import { type Asker, askWhole, type Choice } from './permission-prompt.ts'

/** Shows and reads at the terminal of this process. */
export function terminalAsker(color: Colors): Asker {
  return {
    color,
    size: () => ({ columns: columnsOf(questionFd()), rows: screenRows(questionFd()) }),
    ready: async (signal) => (await unlessLeft(dropTypeAhead(signal).then(() => true))) ?? false,
    show: (text) => tell(`${text}\n`),
    key: (prompt, accept, signal) => unlessLeft(pressKey(prompt, accept, signal)),
  }
}

async function unlessLeft<T>(asked: Promise<T>): Promise<T | undefined> {
  try {
    return await asked
  } catch (error) {
    if (error instanceof PromptAborted) return undefined
    throw error
  }
}

export const YES: Choice<true> = { means: true, key: 'y', label: '(y)es', agrees: true }
export const NO: Choice<false> = { means: false, key: 'n', label: '(n)o', agrees: false, enter: true }

/** A yes to what is described: all of it is shown first, page by page where it is long. */
export async function confirms(question: QuestionParts, color: Colors): Promise<boolean> {
  const asker = terminalAsker(color)
  return await askWhole<boolean>(asker, questionText(question, layoutOf(asker)), [YES, NO], false)
}

/** Room for a question, its keys and what stands above it. */
export function layoutOf(asker: Asker): { readonly columns: number; readonly rows: number } {
  const { columns, rows } = asker.size()
  return { columns, rows: Math.max(6, rows - 10) }
}
