// apply-hunks.ts: the hunks of a patch put into a text. A hunk is found by its lines; the line number only chooses between
// several places. Pure.
import { WorkspaceError } from './errors.ts'
import type { Hunk } from './patch-syntax.ts'

export function applyHunks(text: string, hunks: readonly Hunk[], path: string): string {
  const isOpen = text !== '' && !text.endsWith('\n')
  const lines = text === '' ? [] : text.replace(/\n$/, '').split('\n')
  let endsOpen = isOpen
  /** Hunks are in order: the next one is below what the last one wrote. */
  let from = 0
  /** How many lines the hunks before added. */
  let shift = 0
  hunks.forEach((hunk, index) => {
    const old = hunk.lines.flatMap((line) => (line.kind === 'added' ? [] : [line.text]))
    const fresh = hunk.lines.flatMap((line) => (line.kind === 'removed' ? [] : [line.text]))
    const at = placeOf(lines, old, hunk, { from, shift, path, index })
    lines.splice(at, old.length, ...fresh)
    from = at + fresh.length
    shift += fresh.length - old.length
    if (hunk.endsOpen !== undefined) endsOpen = hunk.endsOpen
  })
  if (lines.length === 0) return ''
  return lines.join('\n') + (endsOpen ? '' : '\n')
}

interface Search {
  readonly from: number
  readonly shift: number
  readonly path: string
  readonly index: number
}

function placeOf(lines: readonly string[], old: readonly string[], hunk: Hunk, search: Search): number {
  const { shift, path, index } = search
  const from = belowLine(lines, hunk, search)
  const wanted = hunk.line === undefined ? undefined : Math.max(hunk.line - 1, 0) + shift
  // Only new lines: where the number says, or at the end.
  if (old.length === 0)
    return Math.min(wanted === undefined ? lines.length : wanted + (hunk.line === 0 ? 0 : 1), lines.length)
  const found: number[] = []
  for (let at = from; at + old.length <= lines.length; at++)
    if (old.every((text, n) => lines[at + n] === text)) found.push(at)
  const [first, second] = found
  if (first === undefined) throw noPlace(lines, old, path, index)
  if (second === undefined || hunk.below !== undefined) return first
  if (wanted === undefined)
    throw new WorkspaceError(
      'SEVERAL_MATCHES',
      `Hunk ${index + 1} fits ${found.length} places in ${path} (lines ${found
        .slice(0, 10)
        .map((at) => at + 1)
        .join(', ')}).`,
      'Add more lines of context.',
    )
  return found.reduce((best, at) => (Math.abs(at - wanted) < Math.abs(best - wanted) ? at : best), first)
}

function belowLine(lines: readonly string[], { below }: Hunk, { from, path, index }: Search): number {
  if (below === undefined) return from
  const at = lines.findIndex((line, n) => n >= from && line.trim() === below)
  if (at >= 0) return at + 1
  throw new WorkspaceError(
    'NO_MATCH',
    `Hunk ${index + 1} is to be below "${below.slice(0, 100)}", which is no line of ${path}.`,
    'Read the file again, or leave out the text after @@.',
  )
}

function noPlace(
  lines: readonly string[],
  old: readonly string[],
  path: string,
  index: number,
): WorkspaceError {
  const squeeze = (line: string | undefined) => (line ?? '').replaceAll(/\s+/g, ' ').trim()
  const near = lines.findIndex((_, at) => old.every((text, n) => squeeze(lines[at + n]) === squeeze(text)))
  return new WorkspaceError(
    'NO_MATCH',
    `Hunk ${index + 1} does not fit ${path}: its lines are not in the file one after another.`,
    near >= 0
      ? `They differ only in spaces from those at line ${near + 1}; copy them exactly.`
      : 'Read the file again and make the patch from what is there now.',
  )
}
