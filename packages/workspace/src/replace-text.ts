// replace-text.ts: an exact replacement in a text. A text that is not found, or found more than once, is an error that says
// where to look. Pure.
import { WorkspaceError } from './errors.ts'

const SHOWN_LINES = 10

export interface Replacement {
  readonly oldText: string
  readonly newText: string
  readonly all: boolean
}

export function replaceText(text: string, { oldText, newText, all }: Replacement, path: string): string {
  if (oldText === '')
    throw new WorkspaceError('BAD_INPUT', 'old_string is empty.', 'To write a whole file, use write_file.')
  if (oldText === newText)
    throw new WorkspaceError('NO_CHANGE', 'old_string and new_string are the same, so nothing would change.')
  const found = positions(text, oldText)
  if (found.length === 0) throw noMatch(text, oldText, path)
  if (found.length > 1 && !all) {
    const lines = found.slice(0, SHOWN_LINES).map((at) => lineAt(text, at))
    throw new WorkspaceError(
      'SEVERAL_MATCHES',
      `old_string occurs ${found.length} times in ${path} (lines ${lines.join(', ')}${found.length > SHOWN_LINES ? ' …' : ''}).`,
      'Add lines around it until it occurs once, or set replace_all.',
    )
  }
  return text.split(oldText).join(newText)
}

function positions(text: string, part: string): number[] {
  const found: number[] = []
  for (let at = text.indexOf(part); at >= 0; at = text.indexOf(part, at + part.length)) found.push(at)
  return found
}

const lineAt = (text: string, at: number) => text.slice(0, at).split('\n').length

/** The usual reasons: other spaces, another indentation, or a text that was read before the file changed. */
function noMatch(text: string, part: string, path: string): WorkspaceError {
  const message = `old_string does not occur in ${path}.`
  const wanted = part.split('\n').map(squeezed).filter(Boolean)
  const [first] = wanted
  if (first === undefined) return new WorkspaceError('NO_MATCH', message, 'It holds only spaces.')
  const lines = text.split('\n')
  const near = lines.flatMap((line, at) => (squeezed(line) === first ? [at + 1] : []))
  if (near.length === 0)
    return new WorkspaceError(
      'NO_MATCH',
      message,
      'Read the file again: no line of it is like the first one.',
    )
  const where = near.slice(0, SHOWN_LINES).join(', ')
  return new WorkspaceError(
    'NO_MATCH',
    message,
    wanted.length === 1
      ? `Line ${where} differs only in spaces; copy it exactly.`
      : `Its first line is like line ${where}; compare spaces and the lines after it, and copy them exactly.`,
  )
}

const squeezed = (line: string) => line.replaceAll(/\s+/g, ' ').trim()
