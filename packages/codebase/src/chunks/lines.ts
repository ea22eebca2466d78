// chunks/lines.ts: cutting without a grammar: by size at empty lines, and Markdown by its headings.
import { CHUNK_LIMITS } from '../limits.ts'
import type { Piece } from './chunk-types.ts'

type Label = Pick<Piece, 'kind' | 'name' | 'within'>

/** Cuts [start, end) into stretches that fit, at an empty line where one is near, else at a line, else anywhere. */
export function cutByLines(text: string, start: number, end: number, label: Label): Piece[] {
  const pieces: Piece[] = []
  let from = start
  while (end - from > CHUNK_LIMITS.maxChars) {
    const to = cutPoint(text, from)
    pieces.push({ start: from, end: to, ...label })
    from = to
  }
  if (from < end) pieces.push({ start: from, end, ...label })
  return pieces
}

function cutPoint(text: string, from: number): number {
  const furthest = from + CHUNK_LIMITS.maxChars
  const window = text.slice(from, furthest)
  const empty = window.lastIndexOf('\n\n')
  if (empty >= CHUNK_LIMITS.maxChars / 2) return from + empty + 2
  const line = window.lastIndexOf('\n')
  if (line > 0) return from + line + 1
  const code = text.charCodeAt(furthest - 1)
  return code >= 0xd800 && code <= 0xdbff ? furthest - 1 : furthest
}

/** One chunk a section, named by its heading and placed inside the headings above it. */
export function cutByHeadings(text: string): Piece[] {
  const pieces: Piece[] = []
  const open: { level: number; title: string }[] = []
  let label: Label = { kind: 'section', within: [] }
  let from = 0
  let fence: string | undefined
  for (let at = 0; at < text.length; ) {
    const next = text.indexOf('\n', at)
    const stop = next < 0 ? text.length : next + 1
    const line = text.slice(at, stop)
    const mark = /^ {0,3}(`{3,}|~{3,})/.exec(line)?.[1]
    if (mark)
      fence = fence === undefined ? mark.slice(0, 3) : line.trim().startsWith(fence) ? undefined : fence
    const heading = fence === undefined ? /^ {0,3}(#{1,6})\s+(.+?)\s*#*\s*$/.exec(line) : null
    if (heading) {
      if (at > from) pieces.push(...cutByLines(text, from, at, label))
      from = at
      const level = heading[1]?.length ?? 1
      while (open.length > 0 && (open.at(-1)?.level ?? 0) >= level) open.pop()
      const title = (heading[2] ?? '').slice(0, 80)
      label = { kind: 'section', name: title, within: open.map((outer) => outer.title) }
      open.push({ level, title })
    }
    at = stop
  }
  pieces.push(...cutByLines(text, from, text.length, label))
  return pieces
}
