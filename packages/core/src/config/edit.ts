// edit.ts: changes one member or item of a JSON-with-comments text and leaves every other byte as it was.
// Pure: text in, text out. store.ts reads and writes the files.
import { isDeepStrictEqual } from 'node:util'
import { InvalidInput } from '../errors.ts'
import { type JsonNode, nodeAt, parseDocument, toValue } from './parse.ts'

export type Change =
  | { readonly do: 'set'; readonly path: readonly string[]; readonly value: unknown }
  | { readonly do: 'remove'; readonly path: readonly string[] }
  | { readonly do: 'include'; readonly path: readonly string[]; readonly item: string }
  | { readonly do: 'exclude'; readonly path: readonly string[]; readonly item: string }

export function editText(text: string, change: Change, file: string): string {
  const mark = text.charCodeAt(0) === 0xfeff ? '\uFEFF' : ''
  const body = text.slice(mark.length)
  const document = parseDocument(body, file)
  if (document.broken) {
    const [first] = document.diagnostics.filter(({ severity }) => severity === 'error')
    throw new InvalidInput(`${file}:${first?.line ?? 1}: ${first?.message ?? 'this is not valid JSON'}.`, {
      hint: `Repair the file first; nothing was changed. ${first?.hint ?? ''}`.trim(),
    })
  }
  const root = document.root
  if (root && root.kind !== 'object')
    throw new InvalidInput(`${file} must hold an object.`, { hint: 'Nothing was changed.' })
  const edited = root ? apply(body, root, change, file) : freshDocument(body, change)
  assertOnlyThat(body, edited, change, file)
  return mark + edited
}

function apply(text: string, root: JsonNode, change: Change, file: string): string {
  switch (change.do) {
    case 'set':
      return setMember(text, root, change.path, change.value, file)
    case 'remove':
      return removeMember(text, root, change.path)
    case 'include':
      return includeItem(text, root, change.path, change.item, file)
    case 'exclude':
      return excludeItem(text, root, change.path, change.item)
  }
}

function setMember(
  text: string,
  root: JsonNode,
  path: readonly string[],
  value: unknown,
  file: string,
): string {
  let node = root
  for (const [depth, key] of path.entries()) {
    if (node.kind !== 'object')
      throw new InvalidInput(`${file}: "${path.slice(0, depth).join('.')}" must be an object.`, {
        hint: 'Repair the file first; nothing was changed.',
      })
    const existing = node.members.findLast((candidate) => candidate.key === key)?.value
    if (!existing) return insert(text, node, `${JSON.stringify(key)}: `, wrap(path.slice(depth + 1), value))
    if (depth === path.length - 1) {
      const shown = print(value, styleOf(text), indentAt(text, existing.offset), text.includes('\n'))
      return text.slice(0, existing.offset) + shown + text.slice(existing.end)
    }
    node = existing
  }
  return text
}

/** Removes every definition of the key: removing only the last one would bring an earlier one back. */
function removeMember(text: string, root: JsonNode, path: readonly string[]): string {
  const parent = nodeAt(root, path.slice(0, -1))
  if (parent?.kind !== 'object') return text
  const matching = parent.members.filter((candidate) => candidate.key === path.at(-1))
  return matching.reduceRight(
    (current, { offset, value }) => cutOut(current, offset, value?.end ?? offset),
    text,
  )
}

function includeItem(
  text: string,
  root: JsonNode,
  path: readonly string[],
  item: string,
  file: string,
): string {
  const list = nodeAt(root, path)
  if (!list) return setMember(text, root, path, [item], file)
  if (list.kind !== 'array')
    throw new InvalidInput(`${file}: "${path.join('.')}" must be a list.`, {
      hint: 'Repair the file first; nothing was changed.',
    })
  if (list.items.some((node) => node.kind === 'value' && node.value === item)) return text
  return insert(text, list, '', item)
}

function excludeItem(text: string, root: JsonNode, path: readonly string[], item: string): string {
  const list = nodeAt(root, path)
  if (list?.kind !== 'array') return text
  const matching = list.items.filter((node) => node.kind === 'value' && node.value === item)
  return matching.reduceRight((current, { offset, end }) => cutOut(current, offset, end), text)
}

/** Appends an element to an object or list, laid out like its neighbours. */
function insert(text: string, container: JsonNode, label: string, value: unknown): string {
  const style = styleOf(text)
  const starts = elementStarts(container)
  const first = starts[0]
  const last = lastEnd(container)
  const close = container.end - 1
  const multiline = text.slice(container.offset, container.end).includes('\n')
  if (first !== undefined && last !== undefined && !multiline) {
    const afterComma = commaAfter(text, last)
    const at = afterComma ?? last
    const gap = style.spaced ? ' ' : ''
    const shown = (style.spaced ? label : label.trimEnd()) + print(value, style, '', false)
    return `${text.slice(0, at)}${afterComma ? '' : ','}${gap}${shown}${afterComma ? ',' : ''}${text.slice(at)}`
  }
  const outer = indentAt(text, container.offset)
  const ownLine = first !== undefined && onlySpaceBefore(text, first)
  const indent = ownLine ? indentAt(text, first) : outer + style.unit
  const shown = `${style.eol}${indent}${label}${print(value, style, indent, true)}`
  if (last === undefined) {
    const at = endOfContent(text, container.offset + 1, close)
    const tail = text.slice(at, close).includes('\n') ? '' : style.eol + outer
    return text.slice(0, at) + shown + tail + text.slice(tail === '' ? at : close)
  }
  const afterComma = commaAfter(text, last)
  const at = endOfLineTrivia(text, afterComma ?? last, close)
  const comma = afterComma === undefined ? ',' : ''
  const tail = text.slice(at, close).includes('\n') ? '' : style.eol + outer
  return (
    text.slice(0, last) +
    comma +
    text.slice(last, at) +
    shown +
    (afterComma === undefined ? '' : ',') +
    tail +
    (tail === '' ? text.slice(at) : text.slice(at).trimStart())
  )
}

/** Removes an element with exactly one comma; comments and all other lines stay. */
function cutOut(text: string, start: number, end: number): string {
  const after = commaAfter(text, end)
  if (after !== undefined)
    return dropLine(text.slice(0, start) + text.slice(end, after - 1) + text.slice(after), start)
  const before = commaBefore(text, start)
  const without = dropLine(text.slice(0, start) + text.slice(end), start)
  return before === undefined ? without : without.slice(0, before) + without.slice(before + 1)
}

/** When the cut leaves a blank line, the line goes too; otherwise one gap is closed. */
function dropLine(text: string, at: number): string {
  const lineStart = text.lastIndexOf('\n', at - 1) + 1
  const newline = text.indexOf('\n', at)
  const lineEnd = newline === -1 ? text.length : newline + 1
  if (lineStart > 0 && text.slice(lineStart, lineEnd).trim() === '' && newline !== -1)
    return text.slice(0, lineStart) + text.slice(lineEnd)
  if (text[at] === ' ' && (text[at - 1] === ' ' || text[at - 1] === '{' || text[at - 1] === '['))
    return text.slice(0, at) + text.slice(at + 1)
  return text
}

function elementStarts(container: JsonNode): number[] {
  if (container.kind === 'object') return container.members.map(({ offset }) => offset)
  return container.kind === 'array' ? container.items.map(({ offset }) => offset) : []
}

function lastEnd(container: JsonNode): number | undefined {
  if (container.kind === 'object') return container.members.at(-1)?.value?.end
  return container.kind === 'array' ? container.items.at(-1)?.end : undefined
}

/** The offset after the comma that follows, skipping comments. */
function commaAfter(text: string, from: number): number | undefined {
  const at = skipTrivia(text, from)
  return text[at] === ',' ? at + 1 : undefined
}

/** The comma before an element. Comments may stand between, so every comma before it is tried from the start of trivia. */
function commaBefore(text: string, start: number): number | undefined {
  for (let at = text.lastIndexOf(',', start - 1); at !== -1; at = text.lastIndexOf(',', at - 1))
    if (skipTrivia(text, at + 1) === start && !insideComment(text, at)) return at
  return undefined
}

/** A comma inside a comment also has only trivia behind it; the scan from the top tells them apart. */
function insideComment(text: string, position: number): boolean {
  let at = 0
  while (at < position) {
    if (text[at] === '"') at = skipString(text, at)
    else {
      const next = skipComment(text, at)
      if (next > position) return true
      at = next > at ? next : at + 1
    }
  }
  return false
}

function skipString(text: string, from: number): number {
  let at = from + 1
  while (at < text.length && text[at] !== '"') at += text[at] === '\\' ? 2 : 1
  return at + 1
}

function skipComment(text: string, from: number): number {
  if (text.startsWith('//', from)) {
    let at = from
    while (at < text.length && text[at] !== '\n' && text[at] !== '\r') at++
    return at
  }
  if (text.startsWith('/*', from)) {
    const close = text.indexOf('*/', from + 2)
    return close === -1 ? text.length : close + 2
  }
  return from
}

function skipTrivia(text: string, from: number): number {
  let at = from
  for (;;) {
    while (at < text.length && /\s/.test(text[at] ?? '')) at++
    const next = skipComment(text, at)
    if (next === at) return at
    at = next
  }
}

/** The end of what stands on the same line: spaces and comments, up to the newline or the closing bracket. */
function endOfLineTrivia(text: string, from: number, close: number): number {
  let at = from
  let content = from
  while (at < close) {
    const char = text[at] ?? ''
    if (char === '\n' || char === '\r') return content
    const next = skipComment(text, at)
    if (next > at) {
      at = next
      content = at
    } else if (/\s/.test(char)) at++
    else return content
  }
  return content
}

/** The end of the last comment inside an empty container, or its opening bracket. */
function endOfContent(text: string, from: number, close: number): number {
  let at = from
  let content = from
  while (at < close) {
    const next = skipComment(text, at)
    if (next > at) {
      content = next
      at = next
    } else at++
  }
  return content
}

interface Style {
  readonly unit: string
  readonly eol: string
  /** A space after colons and commas, the common layout. */
  readonly spaced: boolean
}

function styleOf(text: string): Style {
  const indented = /\n([ \t]+)\S/.exec(text)?.[1] ?? '  '
  return {
    unit: indented.startsWith('\t') ? '\t' : indented,
    eol: text.includes('\r\n') ? '\r\n' : '\n',
    spaced: text.includes('\n') || !/":\S/.test(text),
  }
}

function indentAt(text: string, offset: number): string {
  const lineStart = text.lastIndexOf('\n', offset - 1) + 1
  return /^[ \t]*/.exec(text.slice(lineStart, offset))?.[0] ?? ''
}

function onlySpaceBefore(text: string, offset: number): boolean {
  return text.slice(text.lastIndexOf('\n', offset - 1) + 1, offset).trim() === ''
}

function print(value: unknown, style: Style, indent: string, multiline: boolean): string {
  if (!multiline) return style.spaced ? spaced(value) : JSON.stringify(value)
  return JSON.stringify(value, null, style.unit).replace(/\n/g, style.eol + indent)
}

function spaced(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(spaced).join(', ')}]`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  const members = Object.entries(value).map(([key, item]) => `${JSON.stringify(key)}: ${spaced(item)}`)
  return members.length === 0 ? '{}' : `{ ${members.join(', ')} }`
}

function wrap(path: readonly string[], value: unknown): unknown {
  return path.reduceRight<unknown>((inner, key) => ({ [key]: inner }), value)
}

function freshDocument(text: string, change: Change): string {
  if (change.do === 'remove' || change.do === 'exclude') return text
  const value = wrap(change.path, change.do === 'set' ? change.value : [change.item])
  const eol = text.includes('\r\n') ? '\r\n' : '\n'
  const head = text.trim() === '' ? '' : text.replace(/\s*$/, eol)
  return head + JSON.stringify(value, null, 2).replace(/\n/g, eol) + eol
}

/** Safety check: whatever the layout, the data must have changed in that one place and nowhere else. */
function assertOnlyThat(before: string, after: string, change: Change, file: string): void {
  const result = parseDocument(after, file)
  const wanted = (toValue(parseDocument(before, file).root) ?? {}) as Record<string, unknown>
  changeData(wanted, change)
  if (result.broken || !isDeepStrictEqual(toValue(result.root) ?? {}, wanted))
    throw new InvalidInput(`${file} is laid out in a way that cannot be edited safely.`, {
      hint: 'Nothing was changed. Edit it by hand, or reformat it and try again.',
    })
}

function changeData(data: Record<string, unknown>, change: Change): void {
  let at = data
  for (const key of change.path.slice(0, -1)) {
    if (typeof at[key] !== 'object' || at[key] === null || Array.isArray(at)) {
      if (change.do === 'remove' || change.do === 'exclude') return
      at[key] = {}
    }
    at = at[key] as Record<string, unknown>
  }
  if (Array.isArray(at)) return
  const key = change.path.at(-1) ?? ''
  const list = Array.isArray(at[key]) ? at[key] : undefined
  if (change.do === 'set') at[key] = JSON.parse(JSON.stringify(change.value))
  else if (change.do === 'remove') delete at[key]
  else if (change.do === 'include')
    at[key] = list?.includes(change.item) ? list : [...(list ?? []), change.item]
  else if (list) at[key] = list.filter((item) => item !== change.item)
}
