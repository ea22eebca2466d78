// line-diff.ts: what differs between two texts, line by line, with a few lines around each change. Bounded: beyond a size
// it gives up the search for the smallest difference and shows the middle as replaced.

export interface DiffLine {
  readonly kind: 'same' | 'added' | 'removed' | 'gap'
  readonly text: string
}

const AROUND = 2
/** Of the table that finds the smallest difference. */
const MOST_CELLS = 4_000_000

export function lineDiff(before: string, after: string): readonly DiffLine[] {
  const [a, b] = [linesOf(before), linesOf(after)]
  let start = 0
  while (start < a.length && start < b.length && a[start] === b[start]) start++
  let end = 0
  while (end < a.length - start && end < b.length - start && a[a.length - 1 - end] === b[b.length - 1 - end])
    end++
  const same = (text: string): DiffLine => ({ kind: 'same', text })
  return withGaps([
    ...a.slice(0, start).map(same),
    ...middle(a.slice(start, a.length - end), b.slice(start, b.length - end)),
    ...a.slice(a.length - end).map(same),
  ])
}

function linesOf(text: string): readonly string[] {
  if (text === '') return []
  return text.replace(/\n$/, '').split('\n')
}

function middle(a: readonly string[], b: readonly string[]): readonly DiffLine[] {
  const removed = a.map((text): DiffLine => ({ kind: 'removed', text }))
  const added = b.map((text): DiffLine => ({ kind: 'added', text }))
  if (a.length === 0 || b.length === 0 || a.length * b.length > MOST_CELLS) return [...removed, ...added]
  // The length of the longest common part from here to the end, for every pair of lines.
  const width = b.length + 1
  const common = new Uint32Array((a.length + 1) * width)
  const at = (row: number, column: number) => common[row * width + column] ?? 0
  for (let row = a.length - 1; row >= 0; row--)
    for (let column = b.length - 1; column >= 0; column--)
      common[row * width + column] =
        a[row] === b[column]
          ? at(row + 1, column + 1) + 1
          : Math.max(at(row + 1, column), at(row, column + 1))
  const lines: DiffLine[] = []
  let [row, column] = [0, 0]
  while (row < a.length || column < b.length) {
    if (row < a.length && column < b.length && a[row] === b[column]) {
      lines.push({ kind: 'same', text: a[row++] ?? '' })
      column++
    } else if (column >= b.length || (row < a.length && at(row + 1, column) >= at(row, column + 1)))
      lines.push({ kind: 'removed', text: a[row++] ?? '' })
    else lines.push({ kind: 'added', text: b[column++] ?? '' })
  }
  return lines
}

function withGaps(lines: readonly DiffLine[]): readonly DiffLine[] {
  const near = new Set<number>()
  lines.forEach(({ kind }, at) => {
    if (kind === 'same') return
    for (let index = at - AROUND; index <= at + AROUND; index++) near.add(index)
  })
  const shown: DiffLine[] = []
  let skipped = 0
  const gap = () => {
    if (skipped > 0) shown.push({ kind: 'gap', text: `${skipped} equal ${skipped === 1 ? 'line' : 'lines'}` })
    skipped = 0
  }
  lines.forEach((line, at) => {
    if (!near.has(at)) {
      skipped++
      return
    }
    gap()
    shown.push(line)
  })
  gap()
  return shown
}
